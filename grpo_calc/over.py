"""``over``: the finer rows under each coarser row, and what is reduced of them; on arrays, and as symbols.

A formula that reduces takes ``over`` as a parameter and calls ``over.sum(x)``: on arrays a value a segment, on symbols
the reduction of a named column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grpo_calc.ops import Array, known, maximum, namespace, sqrt, where
from grpo_calc.sym import Name, Reduce, Sym, Verb, sym

SUM = Verb("sum", "SUM({0})", r"\sum {0}", "sum({0})")
MEAN = Verb("mean", "AVERAGE({0})", r"\operatorname{{mean}}\left({0}\right)", "mean({0})")
STD = Verb(
    "std",
    "IF({1}=0,STDEVP({0}),STDEV({0}))",
    r"\operatorname{{std}}_{{\text{{ddof}}={1}}}\left({0}\right)",
    "std({0}, ddof {1})",
)
COUNT = Verb("count", "COUNT({0})", r"\#\,{0}", "count({0})")
NUMBERS = Verb("numbers", "COUNT({0})", r"\#\,{0}", "count({0})")
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

    def sum_single(self, x: Name) -> Sym:
        """The sum in single precision: shown as a sum, since no sheet can compute it."""
        return self._reduce(SUM, x)

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
        self._no_gap = bool(self._full.all())
        # reduceat reads a row at every start; an empty segment would repeat its neighbour's, so it is left out.
        self._starts = offsets[:-1] if self._no_gap else offsets[:-1][self._full]

    def _reduce(self, x: Array, ufunc: str) -> Array:
        if self._no_gap and len(self._starts):
            return getattr(namespace(x), ufunc).reduceat(x, self._starts)
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
        return xp.where(
            place < self.counts, xp.append(ranked, xp.nan)[xp.minimum(self.offsets[:-1] + place, len(x))], xp.nan
        )

    def sum_single(self, x: Array) -> Array:
        """The sum in single precision, each addition rounded as torch's on a CPU. No sheet can."""
        import numpy as np

        rows = (np.asarray(x[a:b], dtype=np.float32) for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True))
        return namespace(x).asarray(np.array([float(_single_sum(row)) for row in rows]))

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


def _single_sum(row: Array) -> Array:
    """The sum of a row of single-precision numbers: what is left beyond eights, then eight lanes, one after another."""
    import numpy as np

    whole = len(row) - len(row) % 8
    if not whole:
        return _four_sums(row[:, None])[0]
    return np.concatenate((row[whole:], _four_sums(row[:whole].reshape(-1, 8)))).cumsum()[-1]


def _four_sums(rows: Array) -> Array:
    """Rows added in four running sums, then those; what is left beyond fours goes to the first."""
    import numpy as np

    whole = len(rows) - len(rows) % 4
    sums = (
        rows[:whole].reshape(-1, 4, rows.shape[1]).cumsum(axis=0)[-1]
        if whole
        else np.zeros_like(rows, shape=(4, rows.shape[1]))
    )
    for row in rows[whole:]:
        sums[0] += row
    return sums.cumsum(axis=0)[-1]


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

    def quantile(self, x: Array, q: Array) -> Array:
        """The ``q`` quantile of the rows that count under each row."""
        import numpy as np

        counts = np.asarray(self._weight) > 0
        kept = np.concatenate(([0], np.cumsum(counts)))[self._every.offsets]
        return Segments(kept).quantile(np.asarray(x)[counts], q)

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
        xp, place = self._xp, int(k if isinstance(k, (int, float)) else self._xp.max(k))
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
