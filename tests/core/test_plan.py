"""Plans: passes are derived, values are spread and never guessed, cycles and values too fine are errors."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import grpo_calc.column as columns
from grpo_calc.bind import Absent, Use
from grpo_calc.column import Batch, Completion, Group, Level, Token, catalogue, column
from grpo_calc.ops import sqrt
from grpo_calc.plan import BEFORE, Plan, plan
from grpo_calc.recipes import recipe
from grpo_calc.run import Shape, run
from grpo_calc.say import Problem
from tests.core.tables import named, random_table, title

LABEL: dict[str, Any] = {"en": "a test's", "zh": "测试", "source": "a test"}


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalogue that a test may add to."""
    monkeypatch.setattr(columns, "_catalogue", dict(catalogue()))


class Bound:
    """A recipe with other bindings."""

    def __init__(self, **bindings: Any) -> None:
        self.bindings = {**recipe("grpo").bindings, **bindings}
        self.parameters = recipe("grpo").parameters
        self.roles = recipe("grpo").roles


def planned(*targets: str, **bindings: Any) -> Plan:
    inputs = dict.fromkeys(("logp_new", "logp_old", "logp_ref"), Level.TOKEN) | {"reward": Level.COMPLETION}
    return plan(Bound(**bindings), inputs, targets)


# -- passes ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def whitening(scratch: None) -> None:
    """Token columns that need a batch statistic of tokens, twice over: log-ratios, probe over the batch."""

    @column("t", **LABEL)
    def drift_total(log_ratio: Token, over) -> Completion:
        return over.sum(log_ratio)

    @column("T", **LABEL)
    def drift_mean(drift_total: Completion, tokens, over) -> Batch:
        return over.sum(drift_total) / tokens

    @column("c2", **LABEL)
    def drift_squared(log_ratio, drift_mean):
        return (log_ratio - drift_mean) ** 2

    @column("S", **LABEL)
    def drift_squares(drift_squared: Token, over) -> Completion:
        return over.sum(drift_squared)

    @column("V", **LABEL)
    def drift_variance(drift_squares: Completion, tokens, over) -> Batch:
        return over.sum(drift_squares) / tokens

    @column("w", **LABEL)
    def probe(log_ratio, drift_mean, drift_variance):
        return (log_ratio - drift_mean) / sqrt(drift_variance)

    @column("W", **LABEL)
    def probe_mean(probe: Token, over) -> Completion:
        return over.mean(probe)

    @column("g", **LABEL)
    def probe_group(probe_mean: Completion, over) -> Group:
        return over.max(probe_mean)

    @column("f", **LABEL)
    def probe_beside(probe, probe_group):
        return probe - probe_group


@pytest.mark.parametrize("block", [1, 5, 10_000])
def test_passes_are_derived(whitening: None, block: int) -> None:
    made = planned("probe", "probe_mean", "probe_beside")
    times = {step.name: step.time for step in made.steps}
    assert times["tokens"] == BEFORE
    assert {name: times[name] for name in times if "drift" in name or "probe" in name} == {
        "drift_total": 0,
        "drift_mean": 1,
        "drift_squared": 2,
        "drift_squares": 2,
        "drift_variance": 3,
        "probe": 4,
        "probe_mean": 4,
        "probe_group": 5,
        "probe_beside": 6,
    }
    table = random_table(0)
    log_ratio = table.tokens["logp_new"] - table.tokens["logp_old"]
    expected = (log_ratio - log_ratio.mean()) / log_ratio.std()
    names = ["probe", "probe_mean", "probe_beside"]
    values = run(
        made, {**table.tokens, **table.completions}, Shape(table.token_offsets, table.group_offsets), names, block
    )
    np.testing.assert_allclose(values["probe"], expected, rtol=1e-12)
    sums = np.add.reduceat(np.append(expected, 0.0), table.token_offsets[:-1])
    sizes = np.diff(table.token_offsets)
    means = np.where(sizes > 0, sums / np.maximum(sizes, 1), 0.0)
    np.testing.assert_allclose(values["probe_mean"], means, rtol=1e-12, atol=1e-12)
    groups = np.maximum.reduceat(means, table.group_offsets[:-1])
    beside = expected - np.repeat(np.repeat(groups, np.diff(table.group_offsets)), sizes)
    np.testing.assert_allclose(values["probe_beside"], beside, rtol=1e-12, atol=1e-12)


def test_grpo_is_one_pass() -> None:
    assert max(step.time for step in planned("loss", "gradient", "clip_fraction").steps) == 1


def test_what_needs_no_token_is_worked_before() -> None:
    made = planned("advantage", "share", "loss")
    before = {step.name for step in made.steps if step.time == BEFORE}
    assert {"advantage", "group_mean", "group_std", "length", "completions", "share"} <= before
    assert "token_objective" not in before


@pytest.mark.parametrize("worked_by", named(), ids=title)
def test_steps_come_after_what_they_read(worked_by: Any) -> None:
    from grpo_calc.work import work

    made = work(random_table(0), worked_by).plan
    seen = set(made.levels) - {step.name for step in made.steps}
    for step in made.steps:
        assert set(step.reads) <= seen, step.name
        seen.add(step.name)
        if step.consumes is None and step.column.gives is None:
            assert step.level == max((made.levels[name] for name in step.reads), default=Level.BATCH)


def test_upstream_keeps_only_what_is_needed() -> None:
    made = planned("loss", "gradient", "clip_fraction")
    part = made.upstream(["kl"])
    assert {step.name for step in part.steps} == {"k1", "base_ratio", "k3", "completion_kl", "kl"}
    assert [step.name for step in made.upstream(["reward"]).steps] == []


# -- names -----------------------------------------------------------------------------------------------------------


def test_a_name_leads_to_its_column() -> None:
    made = planned("token_kl", "loss")
    assert made.leads["token_kl"] == "k3"
    step = made.step("token_kl")
    assert step is not None
    assert step.column.key == "k3"
    assert made.step("reward") is None


def test_what_is_missing_is_said_by_the_input_it_lacks() -> None:
    inputs = {"logp_new": Level.TOKEN, "logp_old": Level.TOKEN}
    made = plan(recipe("grpo"), inputs, ["ratio", "advantage", "loss", "token_kl"])
    assert dict(made.missing) == {"advantage": "reward", "loss": "reward", "token_kl": "logp_ref"}
    absent = plan(recipe("chapter"), inputs, ["kl", "ratio"])
    assert dict(absent.missing) == {"kl": ""}


def test_names_that_depend_on_each_other_are_an_error() -> None:
    with pytest.raises(Problem, match="baseline -> advantage"):
        planned("loss", baseline="advantage")
    with pytest.raises(Problem, match="depend on each other"):
        planned("loss", token_kl=Use("kl_proxy", ratio="token_kl"))


def test_an_absent_name_takes_away_what_needs_it() -> None:
    made = planned("clipped_ratio", "loss", "ratio", clipped_ratio=Absent())
    assert set(made.missing) == {"clipped_ratio", "loss"}


def test_a_value_too_fine_for_its_place_is_an_error() -> None:
    inputs = dict.fromkeys(("logp_new", "logp_old", "logp_ref", "reward"), Level.TOKEN)
    with pytest.raises(Problem, match="reward once a completion, but it is given once a token"):
        plan(recipe("grpo"), inputs, ["loss"])


def test_a_token_level_advantage_needs_no_new_code() -> None:
    table = random_table(0)
    spread = np.repeat(table.completions["advantage"], np.diff(table.token_offsets))
    given = recipe("grpo", advantage="given")
    shape = Shape(table.token_offsets, table.group_offsets)
    losses = []
    for level, advantage in ((Level.COMPLETION, table.completions["advantage"]), (Level.TOKEN, spread)):
        inputs = dict.fromkeys(table.tokens, Level.TOKEN) | {"advantage_given": level}
        made = plan(given, inputs, ["loss"])
        losses.append(run(made, {**table.tokens, "advantage_given": advantage}, shape, ["loss"])["loss"][0])
    assert losses[0] == losses[1]


# -- the law of columns ----------------------------------------------------------------------------------------------


def test_a_reduction_consumes_one_finer_level(scratch: None) -> None:
    def wrong(function: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            column("x", **LABEL)(function)

    def not_finer(reward: Completion, over) -> Completion: ...
    def two(reward: Completion, ratio: Token, over) -> Group: ...
    def nothing(over) -> Group: ...
    def no_result(ratio: Token, over): ...
    def without_over(ratio: Token): ...
    def too_far(ratio: Token, over) -> Group: ...
    def ratio(log_ratio): ...

    for function in (not_finer, two, nothing, no_result):
        wrong(function, "one finer level")
    wrong(without_over, "only a reduction")
    wrong(too_far, "reduced to completions")
    wrong(ratio, "two columns are called ratio")


def test_blocks_are_cut_at_completions() -> None:
    def blocks(lengths: list[int], size: int) -> Iterator[tuple[int, int]]:
        return Shape(np.concatenate(([0], np.cumsum(lengths))), np.array([0, len(lengths)])).blocks(size)

    assert list(blocks([3, 3, 3], 6)) == [(0, 2), (2, 3)]
    assert list(blocks([3, 3, 3], 1)) == [(0, 1), (1, 2), (2, 3)]
    assert list(blocks([9, 0, 1, 0], 4)) == [(0, 1), (1, 4)]
    assert list(blocks([0, 0], 5)) == [(0, 2)]
    assert list(blocks([], 5)) == []


def test_a_plan_says_what_each_reduction_reads() -> None:
    step = planned("completion_loss").step("completion_loss")
    assert step is not None
    assert (step.consumes, step.level, step.row("x")) == (Level.TOKEN, Level.COMPLETION, Level.TOKEN)
    assert step.arguments == MappingProxyType({"x": "token_loss", "over": "over"})
