"""The verbs that formulas are written with, each one row: its value on arrays and its printed forms.

A verb looks at the array namespace of its arguments, so the same formula runs on NumPy, on any array of the Python
array API standard, and on symbols. The list is closed and small: this is neither a spreadsheet engine nor an algebra
system. What is reduced over rows is in ``over``.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from grpo_calc.sym import ADD, ATOM, Apply, Sym, Verb, sym

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
    """One value two ways: from its series where ``|x| < 0.01``, where the closed form cancels; else the closed form.

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
def known(_xp: Any, x: Array) -> Array:
    """1 where ``x`` is a number, 0 where it is missing (NaN; in a sheet an empty cell).

    >>> known(0.5), known(float("nan"))
    (1.0, 0.0)
    """
    return where(x == x, 1.0, 0.0)


@_verb(Verb("single", "{0}", "{0}", "{0}"))
def single(xp: Any, x: Array) -> Array:
    """``x`` rounded to single precision, as trainers cast. A sheet cannot: only for ``live=False``.

    >>> single(0.1)
    0.10000000149011612
    """
    return xp.astype(xp.astype(x, xp.float32), xp.float64) if hasattr(x, "dtype") else x


MISSING = float("nan")
"""A value that is not there: NaN in an array, an empty cell in a sheet. See :func:`known`."""
