"""The verbs that formulas are written with, each one row: its value on arrays and its printed forms.

A verb looks at the array namespace of its arguments, so the same formula runs on NumPy, on any array of the Python array
API standard, and on symbols. The list is closed and small: this is neither a spreadsheet engine nor an algebra system.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from grpo_calc.sym import ADD, ATOM, Apply, Name, Reduce, Sym, Verb, sym

Array = Any

LARGEST_EXPONENT = 700.0
"""Beyond |x| = 700 our ``exp`` is undefined (NaN): float64 overflows at 709.8, and no log-ratio there is honest."""


def namespace(*values: Any) -> Any:
    """The array namespace of the first array among the values (``None`` when there is none: plain numbers)."""
    for value in values:
        if hasattr(value, "__array_namespace__"):
            return value.__array_namespace__()
        if type(value).__module__ == "torch":  # torch tensors do not name their namespace themselves
            import array_api_compat

            return array_api_compat.array_namespace(value)
    return None


def _verb(verb: Verb) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A verb's value on arrays becomes the verb: on symbols it builds an expression instead."""

    def decorate(value: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(value)
        def call(*arguments: Any) -> Any:
            xp = namespace(*arguments)
            if xp is Sym:
                return Apply(verb, tuple(sym(argument) for argument in arguments))
            if xp is None:
                import numpy

                return float(value(numpy, *map(numpy.float64, arguments)))
            return value(xp, *arguments)

        call.__dict__["verb"] = verb
        return call

    return decorate


def _arrays(xp: Any, *values: Any) -> list[Any]:
    """Numbers among arrays become arrays of the same kind, as the array API standard wants for min, max and where."""
    if xp.__name__ == "numpy":
        return list(values)
    like = next(value for value in values if hasattr(value, "dtype"))
    return [value if hasattr(value, "dtype") else xp.asarray(value, dtype=like.dtype) for value in values]


@_verb(Verb("exp", "EXP({0})", r"\exp\left({0}\right)", "exp({0})"))
def exp(xp: Any, x: Array) -> Array:
    """e to the x; undefined (NaN) beyond ``|x| = LARGEST_EXPONENT``, never inf.

    >>> exp(0.0), exp(701.0)
    (1.0, nan)
    """
    if xp.__name__ == "numpy" and x.size and -LARGEST_EXPONENT <= x.min() and x.max() <= LARGEST_EXPONENT:
        return xp.exp(x)  # the common case, without a mask
    return xp.exp(where(abs(x) <= LARGEST_EXPONENT, x, float("nan")))


@_verb(Verb("log", "LN({0})", r"\ln\left({0}\right)", "ln({0})"))
def log(xp: Any, x: Array) -> Array:
    """The natural logarithm."""
    return xp.log(x)


@_verb(Verb("sqrt", "SQRT({0})", r"\sqrt{{{0}}}", "sqrt({0})"))
def sqrt(xp: Any, x: Array) -> Array:
    """The square root."""
    return xp.sqrt(x)


@_verb(Verb("absolute", "ABS({0})", r"\left|{0}\right|", "|{0}|"))
def absolute(xp: Any, x: Array) -> Array:
    """The absolute value."""
    return xp.abs(x)


@_verb(Verb("sign", "SIGN({0})", r"\operatorname{{sign}}\left({0}\right)", "sign({0})"))
def sign(xp: Any, x: Array) -> Array:
    """-1, 0 or 1."""
    return xp.sign(x)


@_verb(Verb("minimum", "MIN({0},{1})", r"\min\left({0}, {1}\right)", "min({0}, {1})"))
def minimum(xp: Any, a: Array, b: Array) -> Array:
    """The smaller of two values, row by row."""
    return xp.minimum(*_arrays(xp, a, b))


@_verb(Verb("maximum", "MAX({0},{1})", r"\max\left({0}, {1}\right)", "max({0}, {1})"))
def maximum(xp: Any, a: Array, b: Array) -> Array:
    """The larger of two values, row by row."""
    return xp.maximum(*_arrays(xp, a, b))


@_verb(
    Verb(
        "clip",
        "MIN({2},MAX({1},{0}))",
        r"\operatorname{{clip}}\left({0}, {1}, {2}\right)",
        "clip({0}, {1}, {2})",
    )
)
def clip(xp: Any, x: Array, low: Array, high: Array) -> Array:
    """``x`` held between ``low`` and ``high``.

    >>> clip(1.3, 0.8, 1.2)
    1.2
    """
    if xp.__name__ == "numpy":
        return xp.clip(x, low, high)  # one sweep
    x, low, high = _arrays(xp, x, low, high)
    return xp.minimum(xp.maximum(x, low), high)


@_verb(
    Verb(
        "where",
        "IF({0},{1},{2})",
        r"\begin{{cases}} {1} & {0} \\ {2} & \text{{otherwise}} \end{{cases}}",
        "({1} if {0} else {2})",
    )
)
def where(xp: Any, condition: Array, a: Array, b: Array) -> Array:
    """``a`` where the condition holds, ``b`` elsewhere. Both are computed: keep the dead one finite."""
    if xp.__name__ == "numpy":
        return xp.where(condition, a, b)
    if not any(hasattr(value, "dtype") for value in (a, b)):
        a = xp.asarray(a, dtype=xp.float64)
    return xp.where(condition, *_arrays(xp, a, b))


@_verb(Verb("above", "IF({0}>{1},1,0)", r"\left[{0} > {1}\right]", "[{0} > {1}]", ATOM, (ADD, ADD), (ADD, ADD)))
def above(xp: Any, x: Array, limit: Array) -> Array:
    """1 where ``x > limit``, else 0; undefined (NaN) where ``x`` is, as a spreadsheet's IF hands an error on.

    >>> above(2.0, 1.0), above(1.0, 1.0), above(float("nan"), 1.0)
    (1.0, 0.0, nan)
    """
    if xp.__name__ == "numpy":
        flags = (x > limit).astype(xp.float64)
        return xp.where(x == x, flags, x) if x.size and xp.isnan(x.min()) else flags
    zero, one = xp.zeros_like(x), xp.ones_like(x)
    return xp.where(x > limit, one, xp.where(x <= limit, zero, x))


@_verb(Verb("near_zero", "IF(ABS({0})<0.01,{1},{2})", "{2}", "{2}"))
def _near_zero(xp: Any, x: Array, series: Array, closed: Array) -> Array:
    return xp.where(abs(x) < 0.01, series, closed)


def near_zero(x: Array, series: Callable[[Array], Array], closed: Array) -> Array:
    """One value two ways: from its series where ``|x| < 0.01``, since there the closed form cancels; else the closed form.

    ``series`` is a function of ``x``; on NumPy arrays it is worked only where it is needed. Texts print the closed form
    only: it is the same number.

    >>> near_zero(0.001, lambda x: 5.0 + x, 6.0), near_zero(-2.0, lambda x: 5.0 + x, 6.0)
    (5.001, 6.0)
    """
    if getattr(namespace(x), "__name__", "") != "numpy" or not x.ndim:
        return _near_zero(x, series(x), closed)
    near = (abs(x) < 0.01).nonzero()[0]
    result = closed.copy()
    result[near] = series(x[near])
    return result


@_verb(Verb("stop_gradient", "{0}", r"\operatorname{{sg}}\left[{0}\right]", "sg[{0}]"))
def stop_gradient(xp: Any, x: Array) -> Array:
    """The value of ``x``, with no gradient through it."""
    if hasattr(x, "detach"):
        return x.detach()
    jax = sys.modules.get("jax")
    if jax is not None and xp.__name__.startswith("jax"):
        return jax.lax.stop_gradient(x)
    return x


@_verb(Verb("straight", "{0}", "{0}", "{0}"))
def straight(xp: Any, value: Array, gradient_of: Array) -> Array:
    """``value`` in value, with the gradient of ``gradient_of``: the straight-through form.

    >>> straight(2.0, 5.0)
    2.0
    """
    if xp.__name__ == "numpy":
        return value
    return stop_gradient(value) + (gradient_of - stop_gradient(gradient_of))


@_verb(Verb("whole", "INT({0})", r"\left\lfloor {0} \right\rfloor", "floor({0})"))
def whole(xp: Any, x: Array) -> Array:
    """The largest whole number that is not above ``x``.

    >>> whole(7.9), whole(-0.5)
    (7.0, -1.0)
    """
    return xp.floor(x)


@_verb(Verb("known", "IF(ISNUMBER({0}),1,0)", r"\left[{0}\ \text{{known}}\right]", "[{0} known]"))
def known(xp: Any, x: Array) -> Array:
    """1 where ``x`` is a number, 0 where it is missing (NaN; in a sheet an empty cell).

    >>> known(0.5), known(float("nan"))
    (1.0, 0.0)
    """
    return where(x == x, 1.0, 0.0)


@_verb(Verb("single", "{0}", "{0}", "{0}"))
def single(xp: Any, x: Array) -> Array:
    """``x`` rounded to single precision, as trainers cast before some comparisons. A sheet cannot: only for ``live=False``.

    >>> single(0.1)
    0.10000000149011612
    """
    return xp.astype(xp.astype(x, xp.float32), xp.float64) if hasattr(x, "dtype") else x


MISSING = float("nan")
"""A value that is not there: NaN in an array, an empty cell in a sheet. See :func:`known`."""


# -- reductions ------------------------------------------------------------------------------------------------------

SUM = Verb("sum", "SUM({0})", r"\sum {0}", "sum({0})")
MEAN = Verb("mean", "AVERAGE({0})", r"\operatorname{{mean}}\left({0}\right)", "mean({0})")
STD = Verb(
    "std",
    "IF({1}=0,STDEVP({0}),STDEV({0}))",
    r"\operatorname{{std}}_{{\text{{ddof}}={1}}}\left({0}\right)",
    "std({0}, ddof {1})",
)
COUNT = Verb("count", "COUNT({0})", r"\#{0}", "count({0})")
NUMBERS = Verb("numbers", "COUNT({0})", r"\#{0}", "count({0})")
KNOWN_MEAN = Verb("mean", "IF(COUNT({0})=0,0,AVERAGE({0}))", r"\operatorname{{mean}}\left({0}\right)", "mean({0})")
QUANTILE = Verb("quantile", "PERCENTILE({0},{1})", r"Q_{{{1}}}\left({0}\right)", "quantile({0}, {1})")
LARGEST = Verb("max", "MAX({0})", r"\max {0}", "max({0})")
SMALLEST = Verb("min", "MIN({0})", r"\min {0}", "min({0})")
RANKED = Verb("largest", "LARGE({0},{1})", r"\operatorname{{largest}}_{{{1}}} {0}", "largest({0}, {1})")

# The same over the rows that count: {1} is the 0/1 column that says which.
COUNTED = {
    SUM: Verb("sum", "SUMIF({1},1,{0})", r"\sum_{{{1}}} {0}", "sum({0} where {1})"),
    MEAN: Verb(
        "mean",
        "IFERROR(AVERAGEIF({1},1,{0}),0)",
        r"\operatorname{{mean}}_{{{1}}}\left({0}\right)",
        "mean({0} where {1})",
    ),
    LARGEST: Verb("max", "MAXIFS({0},{1},1)", r"\max_{{{1}}} {0}", "max({0} where {1})"),
    SMALLEST: Verb("min", "MINIFS({0},{1},1)", r"\min_{{{1}}} {0}", "min({0} where {1})"),
}


BELOW = "@below"
"""The name that stands for the value of the column itself, one row below."""


class Symbolic:
    """``over`` for symbols: each reduction becomes a :class:`~grpo_calc.sym.Reduce` of a named column.

    ``counted`` names the 0/1 column of the rows that count; all of them do without it.
    """

    def __init__(self, counted: str | None = None) -> None:
        self._counted = None if counted is None else Name(counted)

    def _reduce(self, verb: Verb, x: Any, *arguments: Any) -> Sym:
        if not isinstance(x, Name):
            raise TypeError("a reduction reads one column, not an expression: a sheet reduces a range")
        if self._counted is not None:
            if verb not in COUNTED:
                raise TypeError(f"no cell formula takes the {verb.name} of the rows that count")
            verb = COUNTED[verb]
        return Reduce(verb, x, tuple(sym(argument) for argument in arguments), self._counted)

    def sum(self, x: Name) -> Sym:
        """The sum of ``x``."""
        return self._reduce(SUM, x)

    def mean(self, x: Name) -> Sym:
        """The mean of ``x``."""
        return self._reduce(MEAN, x)

    def std(self, x: Name, ddof: Any) -> Sym:
        """The standard deviation of ``x``."""
        return self._reduce(STD, x, ddof)

    def max(self, x: Name) -> Sym:
        """The largest ``x``."""
        return self._reduce(LARGEST, x)

    def min(self, x: Name) -> Sym:
        """The smallest ``x``."""
        return self._reduce(SMALLEST, x)

    def count(self) -> Sym:
        """The number of rows; of those that count."""
        return Reduce(COUNT, None) if self._counted is None else Reduce(SUM, self._counted)

    def quantile(self, x: Name, q: Any) -> Sym:
        """The ``q`` quantile of ``x``."""
        return self._reduce(QUANTILE, x, q)

    def largest(self, x: Name, k: Any) -> Sym:
        """The ``k``-th largest ``x``."""
        return self._reduce(RANKED, x, k)

    def to_go(self, x: Sym, step: Sym) -> Sym:
        """``x`` plus ``step`` times the value of this very column one row below."""
        return x + step * Name(BELOW)

    @property
    def known(self) -> SymbolicKnown:
        """The reductions that skip missing values."""
        return SymbolicKnown()


class SymbolicKnown(Symbolic):
    """:class:`Known` for symbols: a sheet's reductions skip an empty cell by themselves."""

    def numbers(self, x: Name) -> Sym:
        """How many values of ``x`` are known."""
        return self._reduce(NUMBERS, x)

    def mean(self, x: Name) -> Sym:
        """The mean of the known ``x``; 0 where there is none."""
        return self._reduce(KNOWN_MEAN, x)


class Segments:
    """``over`` for arrays: the finer rows under each coarser row, as offsets.

    ``offsets`` has one more entry than there are segments; segment *i* is the rows ``offsets[i]:offsets[i + 1]``. An
    empty segment has sum, mean, count, std, max and min 0: a completion with no kept token adds nothing.

    >>> import numpy as np
    >>> over = Segments(np.array([0, 2, 2, 3]))
    >>> over.mean(np.array([1.0, 3.0, 5.0])).tolist()
    [2.0, 0.0, 5.0]
    """

    def __init__(self, offsets: Any) -> None:
        self.offsets = offsets
        self.counts = offsets[1:] - offsets[:-1]
        self._full = self.counts > 0
        # reduceat reads a row at every start; an empty segment would repeat its neighbour's, so it is left out.
        self._starts = offsets[:-1][self._full]

    def _reduce(self, x: Array, ufunc: str) -> Array:
        result = self.counts * 0.0
        if len(self._starts):
            result[self._full] = getattr(namespace(x), ufunc).reduceat(x, self._starts)
        return result

    def count(self) -> Array:
        """The number of finer rows under each row."""
        return self.counts * 1.0

    def sum(self, x: Array) -> Array:
        """The sum under each row."""
        return self._reduce(x, "add")

    def max(self, x: Array) -> Array:
        """The largest under each row; 0 where there is none."""
        return self._reduce(x, "maximum")

    def min(self, x: Array) -> Array:
        """The smallest under each row; 0 where there is none."""
        return self._reduce(x, "minimum")

    def largest(self, x: Array, k: Array) -> Array:
        """The ``k``-th largest under each row; undefined (NaN) where there are fewer."""
        xp = namespace(x)
        ranked = x[xp.lexsort((-x, self.spread(xp.arange(len(self.counts)))))]
        place = xp.asarray(k, dtype=int) - 1 + xp.zeros_like(self.counts)
        return xp.where(place < self.counts, xp.append(ranked, xp.nan)[xp.minimum(self.offsets[:-1] + place, len(x))], xp.nan)

    def to_go(self, x: Array, step: Array) -> Array:
        """``y = x + step * (y one row below)`` down to each last row, whose ``step`` is 0.

        Worked by doubling: after ``n`` turns a row has seen the ``2^n`` rows from itself on.

        >>> import numpy as np
        >>> Segments(np.array([0, 3])).to_go(np.array([1.0, 1.0, 1.0]), np.array([0.5, 0.5, 0.0])).tolist()
        [1.75, 1.5, 1.0]
        """
        xp = namespace(x)
        reach, rows = 1, int(self.offsets[-1])
        while reach < rows and reach < int(self.counts.max()):
            nothing = xp.zeros_like(x[:reach])
            x = x + step * xp.concat((x[reach:], nothing))
            step = step * xp.concat((step[reach:], nothing))
            reach *= 2
        return x

    def quantile(self, x: Array, q: Array) -> Array:
        """The ``q`` quantile under each row, between two values by their distance; 0 where there is none."""
        import numpy as np

        rows, level = np.asarray(x), float(q)
        bounds = zip(self.offsets[:-1], self.offsets[1:], strict=True)
        found = [np.quantile(rows[a:b], level) if b > a else 0.0 for a, b in bounds]
        return namespace(x).asarray(np.array(found))

    @property
    def known(self) -> Known:
        """The reductions that skip missing values."""
        return Known(self)

    def spread(self, x: Array) -> Array:
        """A coarser column repeated for the finer rows under each row."""
        return x.repeat(self.counts)

    def mean(self, x: Array) -> Array:
        """The mean under each row; 0 where there is none."""
        return self.sum(x) / maximum(self.count(), 1.0)

    def std(self, x: Array, ddof: float) -> Array:
        """The standard deviation about the mean, divisor n - ddof; 0 where n <= ddof."""
        deviation = x - self.spread(self.mean(x))
        freedom = self.count() - ddof
        variance = self.sum(deviation * deviation) / maximum(freedom, 1.0)
        return where(freedom > 0, sqrt(variance), 0.0)


class Counted(Segments):
    """Segments of which only the rows with weight 1 count; the others add nothing, whatever they hold.

    >>> import numpy as np
    >>> over = Counted(Segments(np.array([0, 2, 3])), np.array([1.0, 0.0, 0.0]))
    >>> over.mean(np.array([1.0, np.nan, 5.0])).tolist(), over.count().tolist()
    ([1.0, 0.0], [1.0, 0.0])
    """

    def __init__(self, every: Segments, weight: Array) -> None:
        self._every, self._weight = every, weight

    def count(self) -> Array:
        """The number of rows that count under each row."""
        return self._every.sum(self._weight)

    def sum(self, x: Array) -> Array:
        """The sum of the rows that count under each row."""
        return self._every.sum(where(self._weight > 0, x, 0.0))

    def max(self, x: Array) -> Array:
        """The largest of the rows that count under each row; 0 where there is none."""
        return where(self.count() > 0, self._every.max(where(self._weight > 0, x, float("-inf"))), 0.0)

    def min(self, x: Array) -> Array:
        """The smallest of the rows that count under each row; 0 where there is none."""
        return where(self.count() > 0, self._every.min(where(self._weight > 0, x, float("inf"))), 0.0)

    def largest(self, x: Array, k: Array) -> Array:
        """The ``k``-th largest of the rows that count; undefined (NaN) where there are fewer."""
        found = self._every.largest(where(self._weight > 0, x, float("-inf")), k)
        return where(self.count() >= k, found, float("nan"))

    def spread(self, x: Array) -> Array:
        """A coarser column repeated for the finer rows under each row, for those that do not count too."""
        return self._every.spread(x)


class Known:
    """Reductions over the values that are known (not NaN), as a sheet's AVERAGE skips an empty cell.

    >>> import numpy as np
    >>> over = Segments(np.array([0, 3, 4])).known
    >>> x = np.array([1.0, float("nan"), 5.0, float("nan")])
    >>> over.mean(x).tolist(), over.numbers(x).tolist(), over.max(x).tolist()
    ([3.0, 0.0], [2.0, 0.0], [5.0, 0.0])
    """

    def __init__(self, over: Segments) -> None:
        self._over = over

    def numbers(self, x: Array) -> Array:
        """How many values are known under each row."""
        return self._over.sum(known(x))

    def sum(self, x: Array) -> Array:
        """The sum of the known values."""
        return self._over.sum(where(x == x, x, 0.0))

    def mean(self, x: Array) -> Array:
        """The mean of the known values; 0 where there is none."""
        return self.sum(x) / maximum(self.numbers(x), 1.0)

    def std(self, x: Array, ddof: float) -> Array:
        """The standard deviation of the known values, divisor n - ddof; 0 where n <= ddof."""
        deviation = x - self._over.spread(self.mean(x))
        freedom = self.numbers(x) - ddof
        return where(freedom > 0, sqrt(self.sum(deviation * deviation) / maximum(freedom, 1.0)), 0.0)

    def max(self, x: Array) -> Array:
        """The largest known value; 0 where there is none."""
        return where(self.numbers(x) > 0, self._over.max(where(x == x, x, float("-inf"))), 0.0)

    def min(self, x: Array) -> Array:
        """The smallest known value; 0 where there is none."""
        return where(self.numbers(x) > 0, self._over.min(where(x == x, x, float("inf"))), 0.0)


class Membership(Segments):
    """:class:`Segments` for any array namespace ``xp``: a matrix, a row a segment, 1 where a finer row belongs to it.

    Every reduction is a product with it, so automatic differentiation passes through. It is large (segments times rows)
    and a NaN reaches every segment: for proofs on small, finite tables.
    """

    def __init__(self, offsets: Any, xp: Any) -> None:
        super().__init__(offsets)
        self._xp = xp
        rows = xp.arange(int(offsets[-1]))[None, :]
        starts, ends = (xp.asarray(side.tolist(), dtype=rows.dtype)[:, None] for side in (offsets[:-1], offsets[1:]))
        self._inside = (rows >= starts) & (rows < ends)
        self._matrix = xp.astype(self._inside, xp.float64)

    def count(self) -> Array:
        """The number of finer rows under each row."""
        return self._xp.sum(self._matrix, axis=1)

    def sum(self, x: Array) -> Array:
        """The sum under each row."""
        return self._xp.matmul(self._matrix, x)

    def max(self, x: Array) -> Array:
        """The largest under each row; 0 where there is none."""
        return self._extreme(x, self._xp.max, "-inf")

    def min(self, x: Array) -> Array:
        """The smallest under each row; 0 where there is none."""
        return self._extreme(x, self._xp.min, "inf")

    def largest(self, x: Array, k: Array) -> Array:
        """The ``k``-th largest under each row; undefined (NaN) where there are fewer."""
        xp, place = self._xp, int(k if isinstance(k, (int, float)) else k.max())
        rows = where(self._inside, xp.broadcast_to(x[None, :], self._inside.shape), float("-inf"))
        short = self.count() < place
        return where(short, float("nan"), xp.sort(rows, axis=1)[:, max(rows.shape[1] - place, 0)])

    def _extreme(self, x: Array, of: Callable[..., Array], beyond: str) -> Array:
        rows = where(self._inside, self._xp.broadcast_to(x[None, :], self._inside.shape), float(beyond))
        return where(self.count() > 0, of(rows, axis=1), 0.0)

    def spread(self, x: Array) -> Array:
        """A coarser column repeated for the finer rows under each row."""
        return self._xp.matmul(self._xp.permute_dims(self._matrix, (1, 0)), x)


def segments(offsets: Any, xp: Any) -> Segments:
    """The segments of NumPy ``offsets``, for columns that are arrays of ``xp``."""
    return Segments(offsets) if xp.__name__ == "numpy" else Membership(offsets, xp)
