"""Every computed cell is a formula, and every formula recalculates to NumPy: cached values taken out, formualizer."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batches import batch
from recalc import Cells, formualizer, letters, read

import grpo_calc as gc
from grpo_calc.column import Level
from grpo_calc.plan import Step
from grpo_calc.recipes import RECIPES
from grpo_calc.roles import PARAMETERS, ROLES
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


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["grpo", "article", "chapter", "dapo", "gspo"])
def test_a_recipe_recalculates(name: str, seed: int, tmp_path: Path) -> None:
    worked = gc.work(batch(seed), recipe(name))
    hold(worked, tmp_path / "book.xlsx")


@pytest.mark.parametrize(
    "name", [name for name in RECIPES if name not in {"grpo", "article", "chapter", "dapo", "gspo"}]
)
def test_every_published_variant_recalculates(name: str, tmp_path: Path) -> None:
    hold(gc.work(batch(4), recipe(name)), tmp_path / "book.xlsx")


def covering() -> list[tuple[str, str]]:
    """Choices of roles that together use every column that any single choice uses, the most telling first."""
    used: dict[tuple[str, str], set[str]] = {}
    for role, choices in ROLES.items():
        for choice in choices:
            try:
                steps = gc.work(batch(5), recipe(**{role: choice})).plan.steps
            except gc.Problem:
                continue  # it needs what this batch or recipe has not
            used[role, choice] = {f"{step.name} {step.column.key} {step.counted}" for step in steps}
    chosen, rest = [], set().union(*used.values())
    while rest:
        best = max(used, key=lambda pair: len(used[pair] & rest))
        chosen.append(best)
        rest -= used[best]
    return chosen


COVERING = covering()


@pytest.mark.parametrize(("role", "choice"), COVERING, ids=[f"{role}-{choice}" for role, choice in COVERING])
def test_every_column_recalculates(role: str, choice: str, tmp_path: Path) -> None:
    hold(gc.work(batch(5), recipe(**{role: choice})), tmp_path / "book.xlsx")


@pytest.mark.parametrize("reduction", list(ROLES["reduction"]))
@pytest.mark.parametrize("kl", ["k1", "k2", "k3", "proxy", "none"])
def test_each_reduction_with_each_kl(reduction: str, kl: str, tmp_path: Path) -> None:
    try:
        worked = gc.work(batch(6), recipe(reduction=reduction, kl=kl, ratio="token"))
    except gc.Problem as lacks:
        pytest.skip(str(lacks))
    hold(worked, tmp_path / "book.xlsx")


def test_the_batch_hits_every_corner() -> None:
    table = batch(0)
    worked = gc.work(table, "grpo")
    sides = set(
        zip(
            np.sign(np.repeat(worked["advantage"], np.diff(table.token_offsets))),
            worked["ratio"] > 1.2,
            worked["ratio"] < 0.8,
            strict=True,
        )
    )
    assert {(1.0, True, False), (-1.0, True, False), (1.0, False, True), (-1.0, False, True)} <= sides
    assert worked["clip_low_fraction"] > 0
    assert worked["clip_high_fraction"] > 0
    assert (worked["zero_spread"] > 0).sum() == 2
    assert (np.diff(table.token_offsets) == 0).any()
    assert (np.diff(table.group_offsets) == 1).any()
    assert table.masked is not None


def test_a_sequence_ratio_goes_down_and_up_and_down_again(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    gc.write_workbook(gc.work(batch(2), recipe("gspo")), path)
    written, values = read(path)
    keys = keys_of(values)
    tokens, completions = keys["Tokens"], keys["Completions"]
    chain = written["Completions"]
    assert chain[f"{completions['mean_log_ratio']}6"].startswith(f"=AVERAGE(Tokens!{tokens['log_ratio']}6:")
    assert chain[f"{completions['ratio']}6"] == f"=EXP({completions['mean_log_ratio']}6)"
    assert written["Tokens"][f"{tokens['ratio']}6"] == f"=Completions!{completions['ratio']}6"
    assert chain[f"{completions['mean_ratio']}6"].startswith(f"=AVERAGE(Tokens!{tokens['ratio']}6:")
    assert written["Loss"][f"C{keys['Loss']['surrogate_objective']}"].startswith("=AVERAGE(Completions!")
