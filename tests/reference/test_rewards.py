"""Other advantages under GRPO's objective: GDPO (2601.05242, sec. 3.1) and NGRPO (2509.18851)."""

from typing import Any

import numpy as np

import grpo_calc as gc
from tests.reference.loops import Batch, answers, clip, mean, reference, std

EPS = 1e-4


def normalised(values: list[float]) -> list[float]:
    return [(x - mean(values)) / (std(values, 1) + EPS) for x in values]


def clipped(batch: Batch, advantages: list[float], low: float, high: float) -> Any:
    """GRPO's objective without its KL."""
    pairs = zip(answers(batch), advantages, strict=True)
    return mean([mean([min(r * a, clip(r, 1 - low, 1 + high) * a) for r in one.ratios]) for one, a in pairs])


def gdpo_advantages(groups: list[list[list[float]]]) -> list[float]:
    """Groups of answers of rewards: each reward normalised in its group, the sum of an answer's over the batch."""
    sums: list[float] = []
    for group in groups:
        columns = [normalised(list(rewards)) for rewards in zip(*group, strict=True)]
        sums += [sum(scores) for scores in zip(*columns, strict=True)]
    return normalised(sums)


@reference("gdpo")
def gdpo(batch: Batch) -> float:
    advantages = gdpo_advantages([[[one.reward] for one in group] for group in batch])
    return -clipped(batch, advantages, 0.2, 0.2)


def test_gdpo_of_two_rewards() -> None:
    math, form = [1.0, 0.0, 1.0, 0.0, 1.0], [0.5, 0.0, 1.0, 1.0, 1.0]
    group = [0, 0, 0, 1, 1]
    logps = [-1.0] * 5
    table = gc.Table.from_arrays(
        group_id=group, reward_math=math, reward_form=form, logp_new=logps, logp_old=logps, logp_ref=logps
    )
    pairs = [[a, b] for a, b in zip(math, form, strict=True)]
    expected = gdpo_advantages([pairs[:3], pairs[3:]])
    np.testing.assert_allclose(gc.work(table, gc.recipe("gdpo"))["advantage"], expected, rtol=1e-12)


HIGHEST = 3.0


@reference("ngrpo", reward_high=HIGHEST)
def ngrpo(batch: Batch) -> float:
    """Mean and std of a group are those with one more answer, which has the highest reward."""
    advantages = []
    for group in batch:
        rewards = [*(one.reward for one in group), HIGHEST]
        advantages += [(one.reward - mean(rewards)) / (std(rewards, 1) + EPS) for one in group]
    return -clipped(batch, advantages, 0.16, 0.24)
