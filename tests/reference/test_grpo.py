"""GRPO, arXiv:2402.03300: eq. 3 (objective), eq. 4 (KL), sec. 4.1.2 (the advantage under outcome supervision)."""

import numpy as np
import pytest

import grpo_calc as gc
from tests.core.tables import random_table
from tests.reference.loops import Answer, Batch, Group, batch, clip, exp, mean, reference, std

EPS, BETA, ADV_EPS = 0.2, 0.04, 1e-4


def advantage(answer: Answer, group: Group, ddof: int = 1) -> float:
    rewards = [other.reward for other in group]
    return (answer.reward - mean(rewards)) / (std(rewards, ddof) + ADV_EPS)


def kl(new: float, ref: float) -> float:
    """Eq. 4: pi_ref / pi - log(pi_ref / pi) - 1."""
    return exp(ref - new) - (ref - new) - 1


def objective(batch: Batch) -> float:
    """Eq. 3, with every group of the batch taken together: the mean over completions of the mean over tokens."""
    completions = []
    for group in batch:
        for answer in group:
            a = advantage(answer, group)
            terms = []
            for ratio, new, ref in zip(answer.ratios, answer.new, answer.ref, strict=True):
                terms.append(min(ratio * a, clip(ratio, 1 - EPS, 1 + EPS) * a) - BETA * kl(new, ref))
            completions.append(mean(terms))
    return mean(completions)


@reference("grpo")
def grpo(batch: Batch) -> float:
    return -objective(batch)


@pytest.mark.parametrize("seed", range(5))
def test_advantage(seed: int) -> None:
    expected = [advantage(answer, group) for group in batch(seed) for answer in group]
    ours = gc.work(random_table(seed), gc.recipe("grpo"))["advantage"]
    np.testing.assert_allclose(ours, expected, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_kl(seed: int) -> None:
    expected = [
        kl(new, ref)
        for group in batch(seed)
        for answer in group
        for new, ref in zip(answer.new, answer.ref, strict=True)
    ]
    ours = gc.work(random_table(seed), gc.recipe("grpo"))["k3"]
    np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-15)
