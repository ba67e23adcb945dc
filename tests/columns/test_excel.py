"""Every column's formula as a spreadsheet engine works it, cell by cell, against the same function on NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import formualizer
import numpy as np
import pytest
from openpyxl.utils import get_column_letter

from grpo_calc.column import Column, Level, catalogue
from grpo_calc.over import BELOW, COUNTED, Counted, Segments
from grpo_calc.roles import PARAMETERS
from grpo_calc.sym import Reduce, Sym, excel, names

LIVE = {key: column for key, column in catalogue().items() if column.live}
ELEMENTWISE = [key for key, column in LIVE.items() if "over" not in column.arguments]
REDUCTIONS = [key for key, column in LIVE.items() if column.gives is not Level.TOKEN and "over" in column.arguments]
SCANS = [key for key, column in LIVE.items() if column.gives is Level.TOKEN and "over" in column.arguments]

ENDS = np.array([0, 3, 4, 8, 10, 15])
"""Where the segments of a reduction end, in rows."""

POSITIVE = {name for name, (_, least, _) in PARAMETERS.items() if least >= 0} | {"reject_low", "reject_high"}
"""Parameters that are never negative."""

Values = Mapping[str, np.ndarray]


class Sheet:
    """One sheet: a column of cells a name, and the formulas of one more column."""

    def __init__(self, values: Values) -> None:
        self.letters = {name: get_column_letter(place + 1) for place, name in enumerate(values)}
        self.letters[BELOW] = get_column_letter(len(values) + 1)
        self.book = formualizer.Workbook()
        self.book.add_sheet("S")
        for place, column in enumerate(values.values()):
            for row, value in enumerate(column):
                if not np.isnan(value):
                    self.book.set_value("S", row + 1, place + 1, float(value))

    def cell(self, name: str, row: int) -> str:
        """The cell of a name in a row; of the formula's own column one row below."""
        return f"{self.letters[name]}{row + 1 + (name == BELOW)}"

    def area(self, name: str | None, rows: range) -> str:
        """The cells of a name in some rows; of any name for a count of rows."""
        letter = self.letters[next(iter(self.letters)) if name is None else name]
        return f"{letter}{rows.start + 1}:{letter}{rows.stop}"

    def work(self, formulas: Mapping[int, str]) -> dict[int, float]:
        """What the engine makes of formulas, by row; NaN for an error."""
        last = len(self.letters)
        for row, formula in formulas.items():
            self.book.set_formula("S", row + 1, last, "=" + formula)
        self.book.evaluate_all()
        found = {row: self.book.get_value("S", row + 1, last) for row in formulas}
        return {row: float(v) if isinstance(v, int | float) else float("nan") for row, v in found.items()}


def drawn(arguments: list[str], rows: int) -> Values:
    """Values of every kind for each argument: positive, of both signs, 0 and 1, small whole numbers."""
    rng = np.random.default_rng(0)
    kinds = (
        lambda: rng.exponential(1.0, rows) + 0.01,
        lambda: rng.normal(0.0, 1.0, rows),
        lambda: rng.integers(0, 2, rows).astype(float),
        lambda: rng.integers(1, 5, rows).astype(float),
        lambda: rng.normal(0.0, 0.005, rows),  # small: k3 near 0
    )
    values = {name: np.concatenate([kind() for kind in kinds]) for name in arguments}
    return {name: np.abs(value) + 0.01 if name in POSITIVE else value for name, value in values.items()}


def agree(ours: np.ndarray, theirs: Mapping[int, float], operands: Mapping[int, float]) -> None:
    """The contract's tolerance: 1e-12 of the largest operand; where ours is undefined the sheet shows an error."""
    for row, value in theirs.items():
        expected = float(ours[row])
        if not np.isfinite(expected):
            assert np.isnan(value), f"row {row}: {value} where NumPy has {expected}"
        else:
            assert abs(value - expected) <= 1e-12 * max(1.0, operands[row]), f"row {row}: {value}, NumPy {expected}"


def forms(column: Column) -> list[str]:
    """The ways a reduction can be asked for: over all rows, over those that count, over those that are known."""

    def verbs(expression: Sym) -> list[Any]:
        own = [expression.verb] if isinstance(expression, Reduce) else []
        return own + [verb for part in getattr(expression, "arguments", ()) for verb in verbs(part)]

    may_count = Level.TOKEN in column.consumes.values()  # only a token may not count, and a rank has no such formula
    may_count = may_count and all(verb in COUNTED or verb.name == "count" for verb in verbs(column.expression()))
    return ["all", *(["counted"] if may_count else []), *(["known"] if column.key.startswith("known") else [])]


@pytest.mark.parametrize("key", ELEMENTWISE)
def test_an_elementwise_column(key: str) -> None:
    column = LIVE[key]
    values = drawn(list(column.arguments), 6) if column.arguments else {"nothing": np.zeros(3)}
    rows = len(next(iter(values.values())))
    with np.errstate(all="ignore"):
        ours = np.broadcast_to(column.function(*(values[name] for name in column.arguments)), (rows,))
    sheet = Sheet(values)
    expression = column.expression()
    formulas = {
        row: excel(expression, lambda name, row=row: sheet.cell(name, row), lambda _: "") for row in range(rows)
    }
    largest = {row: max(abs(float(v[row])) for v in values.values()) for row in range(rows)}
    agree(ours, sheet.work(formulas), largest)


@pytest.mark.parametrize(("key", "which"), [(key, which) for key in REDUCTIONS for which in forms(LIVE[key])])
def test_a_reduction(key: str, which: str) -> None:
    column = LIVE[key]
    counted = which == "counted"
    ends = ENDS[[0, -1]] if column.gives is Level.BATCH else ENDS
    finer, coarser = int(ends[-1]), len(ends) - 1
    rng = np.random.default_rng(1)
    consumed = [name for name in column.arguments if name in column.consumes and name != "over"]
    values = {name: rng.normal(0.0, 1.0, finer) for name in consumed} or {"rows": np.zeros(finer)}
    if counted:
        values["counted"] = np.array([1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 0.0])
    if which == "known":
        values[consumed[0]][[1, 5, 11]] = np.nan
    others = {name: _other(name, coarser) for name in column.arguments if name not in (*consumed, "over")}
    over: Any = Counted(Segments(ends), values["counted"]) if counted else Segments(ends)
    given = {**values, **others, "over": over}
    ours = np.broadcast_to(column.function(*(given[name] for name in column.arguments)), (coarser,))
    sheet = Sheet({name: np.atleast_1d(value) for name, value in {**values, **others}.items()})
    expression = column.expression(counted="counted" if counted else None)
    formulas = {
        row: excel(
            expression,
            lambda name, row=row: sheet.cell(name, row),
            lambda name, row=row: sheet.area(name, range(ends[row], ends[row + 1])),
        )
        for row in range(coarser)
    }
    agree(ours, sheet.work(formulas), dict.fromkeys(range(coarser), 20.0))


def _other(name: str, rows: int) -> Any:
    """An argument that stands beside a reduction: a divisor, a switch, a rank or a share."""
    if name == "ddof":
        return np.arange(rows) % 2.0
    if name in {"zero_spread", "batch_flat"}:
        return np.array([0.0, 1.0, 0.0, 0.0, 0.0])[:rows]
    if name == "top_entropy":
        return 0.3
    return np.full(rows, 2.0)


@pytest.mark.parametrize("key", SCANS)
def test_a_scan(key: str) -> None:
    column = LIVE[key]
    rng = np.random.default_rng(2)
    values = {name: rng.normal(0.0, 1.0, int(ENDS[-1])) for name in column.arguments if name != "over"}
    step = next(name for name in values if "step" in name)
    values[step][ENDS[1:] - 1] = 0.0
    given = {**values, "over": Segments(ENDS)}
    ours = column.function(*(given[name] for name in column.arguments))
    sheet = Sheet(values)
    formulas = {
        row: excel(column.expression(), lambda name, row=row: sheet.cell(name, row), lambda _: "")
        for row in range(int(ENDS[-1]))
    }
    assert BELOW in set(names(column.expression()))
    agree(ours, sheet.work(formulas), dict.fromkeys(formulas, 20.0))
