"""Every computed cell is a formula, and every formula recalculates to NumPy: cached values taken out, formualizer."""

from pathlib import Path

import numpy as np
import pytest
from batches import batch
from held import hold, keys_of, recipe
from recalc import read

import grpo_calc as gc
from grpo_calc.recipes import RECIPES
from grpo_calc.roles import ROLES


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


@pytest.mark.parametrize("reduction", [name for name in ROLES["reduction"] if name != "completion_each"])
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
    assert f"AVERAGE(Tokens!{tokens['ratio']}6:" in chain[f"{completions['mean_ratio']}6"]
    assert written["Loss"][f"C{keys['Loss']['surrogate_objective']}"].startswith("=AVERAGE(Completions!")


def test_what_no_formula_can_say_is_a_value_with_a_note(tmp_path: Path) -> None:
    names = [
        pair
        for pair in COVERING
        if any(not step.column.live for step in gc.work(batch(5), recipe(**{pair[0]: pair[1]})).plan.steps)
    ]
    assert names
    role, choice = names[0]
    worked = gc.work(batch(5), recipe(**{role: choice}))
    notes = gc.write_workbook(worked, tmp_path / "book.xlsx")
    (said,) = [note for note in notes if note.key == "workbook.values_alone"]
    assert all(step.name in said.text() for step in worked.plan.steps if not step.column.live)
