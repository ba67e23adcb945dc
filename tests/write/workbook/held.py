"""Holding a workbook to NumPy: every computed column is a formula, and recalculates to the column's own value."""

from pathlib import Path
from typing import Any

import numpy as np
from recalc import Cells, formualizer, letters, read

import grpo_calc as gc
from grpo_calc.column import Level
from grpo_calc.plan import Step
from grpo_calc.roles import PARAMETERS
from grpo_calc.work import Worked
from grpo_calc.write.workbook.layout import TITLES

FIRST = 6
NEEDED = {"max_length": 16.0, "divisor": 7.0, "kl_divisor": 9.0}


def recipe(name: str = "grpo", **changes: Any) -> gc.Recipe:
    """A recipe with the parameters that some choices ask for."""
    given = {key: value for key, value in NEEDED.items() if key in PARAMETERS}
    return gc.recipe(name, **changes).change(**given)


def agree(worked: Worked, written: Cells, found: Cells, keys: dict[str, dict[str, str]]) -> set[str]:
    """Hold every computed column against NumPy; gives the names that were found as formulas."""
    seen: set[str] = set()
    for step in worked.plan.steps:
        read = [name for name in step.reads if name not in worked.recipe.parameters]
        scale = max([1.0, *(_size(worked[name]) for name in read)])
        sheet = TITLES[step.level]
        for place, number in enumerate(np.atleast_1d(worked[step.name]).tolist()):
            key = keys[sheet][step.name]
            cell = f"C{key}" if step.level is Level.BATCH else f"{key}{FIRST + place}"
            if cell not in written[sheet]:
                assert constant(worked, step, place), f"{sheet}!{cell} ({step.name}) is no formula"
                continue
            seen.add(step.name)
            value = found[sheet][cell]
            assert isinstance(value, int | float), f"{sheet}!{cell} ({step.name}) is {value!r}"
            assert abs(value - number) <= 1e-12 * scale, f"{sheet}!{cell} ({step.name}): {value} for {number}"
    return seen


def _size(value: Any) -> float:
    finite = np.abs(np.atleast_1d(value))
    finite = finite[np.isfinite(finite)]
    return float(finite.max()) if finite.size else 0.0


def constant(worked: Worked, step: Step, place: int) -> bool:
    """What no formula can say: an undefined value, one that reads an undefined one, a reduction of no rows."""
    hollow = step.consumes is Level.TOKEN > step.level and np.diff(worked.table.token_offsets)[place] == 0
    read = [np.atleast_1d(worked[read]) for read in step.reads if worked.plan.step(read)]
    undefined = not np.isfinite(np.atleast_1d(worked[step.name])[place])
    return not step.column.live or hollow or undefined or not all(np.isfinite(x).all() for x in read)


def keys_of(values: Cells) -> dict[str, dict[str, str]]:
    """For each sheet of rows the letter of each key; for the Loss sheet the row of each key."""
    found = {sheet: letters(values[sheet]) for sheet in TITLES.values() if sheet in values and sheet != "Loss"}
    rows = {str(value): cell[1:] for cell, value in values["Loss"].items() if cell[0] == "G" and cell[1:].isdigit()}
    return {**found, "Loss": dict(reversed(rows.items()))}


def hold(worked: Worked, path: Path) -> None:
    """Write, recalculate, compare; nothing missing, no error, no check but a tick."""
    gc.write_workbook(worked, path)
    written, values = read(path)
    found = formualizer(path)
    seen = agree(worked, written, found, keys_of(values))
    for step in worked.plan.steps:
        rows = np.atleast_1d(worked[step.name]).size
        assert step.name in seen or all(constant(worked, step, place) for place in range(rows))
    made = [value for cells in found.values() for value in cells.values()]
    assert not [value for value in made if isinstance(value, dict) or value is None or str(value).startswith("#")]
    assert not {"✗", "edited"} & {value for value in made if isinstance(value, str)}
