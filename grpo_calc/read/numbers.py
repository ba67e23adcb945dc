"""The strict number: what a cell may hold, and nothing that a language would merely accept.

``1_000``, full-width digits, ``12%`` or a thousands comma are faults, never a guess.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from grpo_calc.read.faults import Fault
from grpo_calc.table import Floats

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
COMMA_NUMBER = re.compile(r"[+-]?(?:[0-9]+,?[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?")
WITH_COMMAS = re.compile(r"[+-]?[0-9.,]*,[0-9.,]*(?:[eE][+-]?[0-9]+)?")
WORDS = {
    "": Fault.MISSING,
    **dict.fromkeys(("nan", "+nan", "-nan"), Fault.NAN),
    **dict.fromkeys(("-inf", "-infinity"), Fault.MINUS_INFINITY),
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), Fault.TEXT_INFINITY),
}
TRUTHS = {"true": 1.0, "false": 0.0}
BLANKS = " \t\r\n"


def number(cell: Any, decimal: str = ".") -> float | Fault:
    """The number in a cell, or the fault in it.

    >>> number("-0.5"), number(" 1e-3 "), number(7), number("0,5", ",")
    (-0.5, 0.001, 7.0, 0.5)
    >>> number("1_000").name, number("1,234").name, number("").name, number("1e400").name, number(True).name
    ('TEXT', 'COMMA', 'MISSING', 'LARGE', 'BOOLEAN')
    """
    if isinstance(cell, str):
        return _written(cell.strip(BLANKS), decimal)
    if cell is None:
        return Fault.MISSING
    if isinstance(cell, (bool, np.bool_)):
        return Fault.BOOLEAN
    return _finite(cell) if isinstance(cell, (int, float)) else Fault.TEXT


def _finite(cell: float) -> float | Fault:
    try:
        value = float(cell)
    except OverflowError:
        return Fault.LARGE
    if math.isfinite(value):
        return value
    return Fault.NAN if math.isnan(value) else Fault.INFINITY if value > 0 else Fault.MINUS_INFINITY


def _written(text: str, decimal: str) -> float | Fault:
    if (NUMBER if decimal == "." else COMMA_NUMBER).fullmatch(text):
        value = float(text if decimal == "." else text.replace(",", "."))
        return value if math.isfinite(value) else Fault.LARGE
    if decimal == "." and WITH_COMMAS.fullmatch(text):
        return Fault.COMMA
    if decimal == "," and NUMBER.fullmatch(text):
        return Fault.POINT
    return WORDS.get(text.lower(), Fault.TEXT)


def numbers(cells: Sequence[Any], decimal: str = ".") -> tuple[Floats, dict[int, Fault]]:
    """The numbers of many cells, NaN where there is none, and the faults by place.

    >>> numbers([1, None, 0.5])
    (array([1. , nan, 0.5]), {1: <Fault.MISSING: 'missing'>})
    """
    if set(map(type, cells)) <= {float, int}:
        try:
            values = np.array(cells, dtype=np.float64)
        except OverflowError:
            pass
        else:
            if np.isfinite(values).all():
                return values, {}
    values = np.full(len(cells), np.nan)
    faults = {}
    for place, cell in enumerate(cells):
        value = number(cell, decimal)
        if isinstance(value, Fault):
            faults[place] = value
            values[place] = -np.inf if value is Fault.MINUS_INFINITY else np.nan
        else:
            values[place] = value
    return values, faults


def truth(cell: Any) -> float | None:
    """A 0/1 cell: also ``true`` and ``false`` in any case; ``None`` for anything else.

    >>> truth("TRUE"), truth(False), truth("0"), truth(2)
    (1.0, 0.0, 0.0, None)
    """
    if isinstance(cell, (bool, np.bool_)):
        return float(cell)
    if isinstance(cell, str) and cell.strip(BLANKS).lower() in TRUTHS:
        return TRUTHS[cell.strip(BLANKS).lower()]
    value = number(cell)
    return value if isinstance(value, float) and value in {0.0, 1.0} else None


def whole(cell: Any) -> int | None:
    """The integer in a cell, or ``None``.

    >>> whole("3"), whole(3.0), whole("3.5")
    (3, 3, None)
    """
    value = number(cell)
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else None
