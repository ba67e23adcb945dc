"""Policy gradients with other baselines: OPO (2505.23585), pass@k (2503.19595), GPG (2504.02546)."""

from collections.abc import Callable

import numpy as np
import pytest

import grpo_calc as gc
from tests.core.tables import random_table
from tests.reference.loops import Batch, agrees, batch, mean

Advantages = Callable[[Batch], list[float]]


def opo(batch: Batch) -> list[float]:
    """R less the mean reward of the group, each answer weighing as its length."""
    found = []
    for group in batch:
        lengths = [len(answer.new) for answer in group]
        baseline = sum(n * answer.reward for n, answer in zip(lengths, group, strict=True)) / sum(lengths)
        found += [answer.reward - baseline for answer in group]
    return found


def pass_at_k(batch: Batch) -> list[float]:
    """The best of the group less the best of the others: 0 for all but the best."""
    found = []
    for group in batch:
        for i, answer in enumerate(group):
            others = [other.reward for j, other in enumerate(group) if j != i]
            best = max(answer.reward, *others)
            found.append(best - max(others))
    return found


def gpg(batch: Batch) -> list[float]:
    """R less the group's mean, times B over the answers of groups whose rewards differ."""
    moving = sum(len(group) for group in batch if len({answer.reward for answer in group}) > 1)
    alpha = sum(len(group) for group in batch) / moving
    return [alpha * (a.reward - mean([other.reward for other in group])) for group in batch for a in group]


CASES: dict[str, tuple[Advantages, bool]] = {"opo": (opo, False), "gpg": (gpg, True)}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(5))
def test_objective(name: str, seed: int) -> None:
    advantages, over_tokens = CASES[name]

    def loss(batch: Batch) -> float:
        answers = [answer for group in batch for answer in group]
        sums = [a * sum(answer.new) for a, answer in zip(advantages(batch), answers, strict=True)]
        count = sum(len(answer.new) for answer in answers) if over_tokens else len(answers)
        return -sum(sums) / count

    agrees(gc.recipe(name), seed, loss)


@pytest.mark.parametrize("seed", range(5))
def test_pass_at_k(seed: int) -> None:
    """A group of one has no other: it does not move."""
    ours = gc.work(random_table(seed), gc.recipe("pass@k"))["advantage"]
    groups = batch(seed)
    found = iter(pass_at_k([group for group in groups if len(group) > 1]))
    expected = [next(found) if len(group) > 1 else 0.0 for group in groups for _ in group]
    np.testing.assert_allclose(ours, expected, rtol=1e-13, atol=1e-15)
