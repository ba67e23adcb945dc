"""What can be wrong with a cell, and the one line that says so: file, line, column, what was seen, what to do."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

from grpo_calc.say import Problem


class Fault(Enum):
    """Why a cell is not a finite number; the value is the key of its sentence."""

    MISSING = "missing"
    TEXT = "not_a_number"
    COMMA = "comma"
    POINT = "point"
    BOOLEAN = "boolean"
    NAN = "nan"
    MINUS_INFINITY = "minus_infinity"
    INFINITY = "infinity"
    TEXT_INFINITY = "text_infinity"
    LARGE = "large"


SENTENCE = {
    Fault.MISSING: "missing",
    Fault.COMMA: "comma",
    Fault.POINT: "point",
    **dict.fromkeys(
        (Fault.NAN, Fault.MINUS_INFINITY, Fault.INFINITY, Fault.TEXT_INFINITY, Fault.LARGE),
        "not_finite",
    ),
}

HARMLESS = frozenset({Fault.MISSING, Fault.NAN, Fault.MINUS_INFINITY, Fault.INFINITY})
"""What the cell of a masked token may hold."""


def shown(value: Any, width: int = 60) -> str:
    r"""A value as a person can read it on one line, cut to ``width`` characters.

    >>> shown("a\nb"), shown(None), shown(True), shown([1, 2]), shown("x" * 99, 5)
    ('a\\nb', 'null', 'true', '[...]', 'xxxxx...')
    """
    if isinstance(value, str):
        text = value
    elif value is None or isinstance(value, bool):
        text = {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, float) and not math.isfinite(value):
        text = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    elif isinstance(value, (list, tuple)):
        text = "[...]" if value else "[]"
    elif isinstance(value, dict):
        text = "{...}" if value else "{}"
    else:
        text = str(value)
    cut = text[:width]
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut) + (
        "..." if len(text) > width else ""
    )


def shown_cell(value: Any) -> str:
    r"""A cell as it was seen, with the code point of a character that only looks like part of a number.

    >>> shown_cell("\u22120.5"), shown_cell("12%")
    ('\u22120.5 (U+2212)', '12%')
    """
    strange = next((c for c in value if ord(c) > 127), None) if isinstance(value, str) else None
    return shown(value) + (f" (U+{ord(strange):04X})" if strange else "")


def cell_problem(
    fault: Fault | str, *, source: str, line: int, column: str, seen: Any, item: int | None = None, **more: Any
) -> Problem:
    """The problem with one cell; ``item`` is the place of a token in a list, from 0."""
    key = fault if isinstance(fault, str) else SENTENCE.get(fault, "not_a_number")
    name = shown(column) + ("" if item is None else f"[{item}]")
    return Problem(f"read.{key}", source=source, line=line, column=name, seen=shown_cell(seen), **more)
