"""GSPO, arXiv:2507.18071: eq. 5 (the objective), eq. 6 (the advantage), eq. 7 (the ratio), eq. 10 (the gradient)."""

import math

import numpy as np
import pytest

import grpo_calc as gc
from tests.core.tables import random_table
from tests.reference.loops import Answer, Batch, agrees, batch, clip, mean
from tests.reference.test_grpo import advantage

LOW, HIGH = 0.1, 0.12


def ratio(answer: Answer) -> float:
    """Eq. 7: the geometric mean of the token ratios."""
    return math.exp(mean([new - old for new, old in zip(answer.new, answer.old, strict=True)]))


@pytest.mark.parametrize("name", ["gspo", "gspo-token"])
@pytest.mark.parametrize("seed", range(5))
def test_objective(seed: int, name: str) -> None:
    def loss(batch: Batch) -> float:
        completions = []
        for group in batch:
            for answer in group:
                a, s = advantage(answer, group), ratio(answer)
                completions.append(min(s * a, clip(s, 1 - LOW, 1 + HIGH) * a) if answer.new else 0.0)
        return -mean(completions)

    agrees(gc.recipe(name, eps_low=LOW, eps_high=HIGH), seed, loss)


@pytest.mark.parametrize("name", ["gspo", "gspo-token"])
@pytest.mark.parametrize("seed", range(5))
def test_gradient(seed: int, name: str) -> None:
    found = []
    answers = [(answer, group) for group in batch(seed) for answer in group]
    for answer, group in answers:
        a, s = advantage(answer, group), ratio(answer)
        unclipped = s * a <= clip(s, 1 - LOW, 1 + HIGH) * a
        found += [-s * a / len(answer.new) / len(answers) if unclipped else 0.0 for _ in answer.new]
    ours = gc.work(random_table(seed), gc.recipe(name, eps_low=LOW, eps_high=HIGH))["gradient"]
    np.testing.assert_allclose(ours, found, rtol=1e-13, atol=1e-15)
