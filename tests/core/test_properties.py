"""What holds for every batch, whatever is in it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grpo_calc as gc
from grpo_calc.column import Level
from grpo_calc.recipe import Recipe
from grpo_calc.run import Shape, run
from tests.core.tables import named, random_arrays, random_table, table, title

LOGP = st.floats(-6.0, -0.01)
DRIFT = st.floats(-2.0, 2.0)
REWARD = st.floats(-10.0, 10.0)
ANSWER = st.tuples(REWARD, st.lists(st.tuples(LOGP, DRIFT, DRIFT), min_size=1, max_size=4))
BATCH = st.lists(st.tuples(st.sampled_from("abc"), ANSWER), min_size=1, max_size=8)

grpo = gc.recipe("grpo")
every_recipe = pytest.mark.parametrize("recipe", named(), ids=title)


def made(batch: list[Any]) -> gc.Table:
    return gc.Table.from_arrays(
        group_id=[group for group, _ in batch],
        reward=[reward for _, (reward, _) in batch],
        logp_new=[[new for new, _, _ in tokens] for _, (_, tokens) in batch],
        logp_old=[[new - drift for new, drift, _ in tokens] for _, (_, tokens) in batch],
        logp_ref=[[new - drift for new, _, drift in tokens] for _, (_, tokens) in batch],
    )


@given(BATCH)
def test_kl_estimates_are_never_negative(batch: list[Any]) -> None:
    worked = gc.work(made(batch), grpo)
    for name in ("k2", "k3", "kl_proxy"):
        assert (worked[name] >= 0).all(), name
    assert worked["kl"] >= 0


@given(BATCH)
def test_the_objective_is_below_both_surrogates(batch: list[Any]) -> None:
    worked = gc.work(made(batch), grpo)
    assert (worked["token_objective"] <= worked["surrogate"]).all()
    assert (worked["token_objective"] <= worked["clipped_surrogate"]).all()
    assert set(np.unique(worked["clipped"])) <= {0.0, 1.0}
    assert worked["clip_fraction"] == pytest.approx(
        worked["clip_low_fraction"] + worked["clip_high_fraction"], abs=1e-15
    )


@given(BATCH, st.sampled_from(["group_mean", "leave_one_out"]), st.sampled_from(["none", "group_std"]))
def test_advantages_sum_to_zero_in_a_group(batch: list[Any], baseline: str, scale: str) -> None:
    worked = gc.work(made(batch), gc.recipe("grpo", baseline=baseline, scale=scale))
    advantage, offsets = worked["advantage"], worked.table.group_offsets
    for a, b in itertools.pairwise(offsets):
        assert abs(advantage[a:b].sum()) <= 1e-8 * max(1.0, float(abs(advantage[a:b]).max()))


@given(st.floats(-1e6, 1e6), st.integers(1, 9), st.sampled_from(["add", "at_least", "inside_root"]), st.integers(0, 1))
def test_equal_rewards_give_exactly_zero(reward: float, count: int, std_eps: str, ddof: int) -> None:
    same = gc.Table.from_arrays(
        group_id=["q"] * count, reward=[reward] * count, logp_new=[-1.0] * count, logp_old=[-1.5] * count
    )
    worked = gc.work(same, gc.recipe("grpo", beta=0, std_eps=std_eps, ddof=ddof, adv_eps=0))
    assert worked["advantage"].tolist() == [0.0] * count
    assert worked["group_std"].tolist() == [0.0]
    assert worked.loss == 0.0


@pytest.mark.parametrize(
    "rewards", [[0.1] * 3, [0.1, 0.1 + 2e-17, 0.1], [1e5 + 0.1] * 7, [1e5, 1e5 + 1e-8], [-0.3] * 6]
)
def test_rewards_equal_to_rounding_are_equal(rewards: list[float]) -> None:
    count = len(rewards)
    same = gc.Table.from_arrays(
        group_id=["q"] * count, reward=rewards, logp_new=[-1.0] * count, logp_old=[-1.0] * count
    )
    assert gc.work(same, gc.recipe("grpo", beta=0))["advantage"].tolist() == [0.0] * count


@given(BATCH, st.randoms(use_true_random=False))
def test_the_order_of_completions_does_not_matter(batch: list[Any], random: Any) -> None:
    order = list(range(len(batch)))
    random.shuffle(order)
    ids = [f"c{i}" for i in range(len(batch))]
    arrays = _arrays(batch)
    first = gc.work(gc.Table.from_arrays(completion_id=ids, **arrays), grpo)
    moved = {name: [value[i] for i in order] for name, value in arrays.items()}
    second = gc.work(gc.Table.from_arrays(completion_id=[ids[i] for i in order], **moved), grpo)
    assert second.loss == pytest.approx(first.loss, rel=1e-12, abs=1e-12)
    for name in ("advantage", "completion_loss"):
        found = dict(zip(second.table.completion_id, second[name], strict=True))
        wanted = dict(zip(first.table.completion_id, first[name], strict=True))
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def _arrays(batch: list[Any]) -> dict[str, list[Any]]:
    return {
        "group_id": [group for group, _ in batch],
        "reward": [reward for _, (reward, _) in batch],
        "logp_new": [[new for new, _, _ in tokens] for _, (_, tokens) in batch],
        "logp_old": [[new - drift for new, drift, _ in tokens] for _, (_, tokens) in batch],
        "logp_ref": [[new - drift for new, _, drift in tokens] for _, (_, tokens) in batch],
    }


@given(BATCH, st.floats(0.1, 100.0), st.floats(-100.0, 100.0))
def test_a_scaled_and_shifted_reward_gives_the_same_advantage(batch: list[Any], factor: float, shift: float) -> None:
    spread = [(group, (float(i % 3) + 0.5 * i, tokens)) for i, (group, (_, tokens)) in enumerate(batch)]
    changed = [(group, (factor * reward + shift, tokens)) for group, (reward, tokens) in spread]
    recipe = gc.recipe("grpo", adv_eps=0)
    ours, theirs = (gc.work(made(each), recipe)["advantage"] for each in (spread, changed))
    np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-9)


@given(BATCH)
def test_on_policy_every_ratio_is_one(batch: list[Any]) -> None:
    worked = gc.work(made(batch).on_policy(), gc.recipe("grpo", beta=0))
    assert (worked["ratio"] == 1.0).all()
    assert worked["clip_fraction"] == 0.0
    sizes = np.diff(worked.table.token_offsets)
    expected = np.repeat(-worked["advantage"] / sizes / len(sizes), sizes)
    np.testing.assert_allclose(worked["gradient"], expected, rtol=1e-14, atol=0)


@every_recipe
def test_the_loss_is_the_shared_sum_of_token_losses(recipe: Recipe) -> None:
    worked = gc.work(random_table(1), recipe)

    def by_token(name: str) -> np.ndarray:
        level, table, values = worked.level(name), worked.table, worked[name]
        if level is Level.TOKEN:
            return values
        if level is Level.BATCH:
            return np.full(table.token_count, values)
        rows = values if level is Level.COMPLETION else np.repeat(values, np.diff(table.group_offsets))
        return np.repeat(rows, np.diff(table.token_offsets))

    assert worked.loss == pytest.approx(float((by_token("share") * by_token("token_loss")).sum()), rel=1e-13, abs=1e-14)


@every_recipe
@pytest.mark.parametrize("block", [1, 7, 20])
def test_the_size_of_a_block_does_not_matter(recipe: Recipe, block: int) -> None:
    worked = gc.work(random_table(2), recipe)
    plan, shape = worked.plan, Shape(worked.table.token_offsets, worked.table.group_offsets)
    names = [step.name for step in plan.steps]
    pieces = run(plan, worked.inputs, shape, names, block=block)
    for name in names:
        np.testing.assert_allclose(np.atleast_1d(pieces[name]), np.atleast_1d(worked[name]), rtol=0, atol=1e-15)


@pytest.mark.parametrize("junk", [0.0, -9999.0, math.nan, math.inf, -math.inf, 50.0])
def test_masked_tokens_have_no_influence(junk: float) -> None:
    arrays = random_arrays(3)
    kept = arrays["mask"] == 1
    changed = {name: np.where(kept, x, junk) if np.ndim(x) == 2 and name != "mask" else x for name, x in arrays.items()}
    ours, theirs = (gc.work(table(each), grpo) for each in (arrays, changed))
    assert theirs.loss == ours.loss
    for name in ("gradient", "k3", "advantage", "length"):
        np.testing.assert_array_equal(theirs[name], ours[name])


@pytest.mark.parametrize("log_ratio", [701.0, -701.0, 5000.0])
def test_a_log_ratio_beyond_700_is_undefined_and_never_inf(log_ratio: float) -> None:
    far = gc.Table.from_arrays(
        group_id=["q", "q"], reward=[1, 0], logp_new=[-5001.0, -1.0], logp_old=[-5001.0 - log_ratio, -1.0]
    )
    worked = gc.work(far, gc.recipe("chapter"))
    assert math.isnan(worked["ratio"][0])
    assert worked["ratio"][1] == 1.0
    assert math.isnan(worked.loss)
    for step in worked.plan.steps:
        assert not np.isinf(worked[step.name]).any(), step.name
    assert [note.values["count"] for note in worked.notes if note.key == "note.undefined"] == [1]


@pytest.mark.parametrize("log_ratio", [700.0, -700.0])
def test_700_itself_is_worked(log_ratio: float) -> None:
    far = gc.Table.from_arrays(
        group_id=["q", "q"], reward=[1, 0], logp_new=[-801.0, -1.0], logp_old=[-801.0 - log_ratio, -1.0]
    )
    assert gc.work(far, gc.recipe("chapter"))["ratio"][0] == math.exp(log_ratio)


@settings(max_examples=30)
@given(BATCH)
def test_a_batch_figure_is_never_minus_zero(batch: list[Any]) -> None:
    for recipe in ("grpo", "article", "chapter", "gspo"):
        worked = gc.work(made(batch).on_policy(), recipe)
        for step in worked.plan.steps:
            if step.level is Level.BATCH:
                assert math.copysign(1.0, worked[step.name]) > 0 or worked[step.name] != 0, step.name


@every_recipe
def test_arrays_are_read_only(recipe: Recipe) -> None:
    worked = gc.work(random_table(0), recipe)
    for step in worked.plan.steps:
        value = worked[step.name]
        if step.level is Level.BATCH:
            assert isinstance(value, float)
        else:
            with pytest.raises(ValueError, match="read-only"):
                value[...] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        worked["logp_new"][0] = 0.0
