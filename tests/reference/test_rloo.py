"""RLOO, arXiv:2402.14740, sec. 2: A_i = R_i - mean of the other rewards; the gradient is A_i grad log pi(y_i)."""

import numpy as np
import pytest

import grpo_calc as gc
from tests.core.tables import random_table
from tests.reference.loops import Batch, answers, batch, mean, reference


def advantages(batch: Batch) -> list[float]:
    found = []
    for group in batch:
        for i, answer in enumerate(group):
            others = [other.reward for j, other in enumerate(group) if j != i]
            found.append(answer.reward - mean(others) if others else 0.0)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_advantage(seed: int) -> None:
    ours = gc.work(random_table(seed), gc.recipe("rloo"))["advantage"]
    np.testing.assert_allclose(ours, advantages(batch(seed)), rtol=1e-13, atol=1e-15)


@reference("rloo")
def rloo(batch: Batch) -> float:
    return -mean([a * sum(one.new) for a, one in zip(advantages(batch), answers(batch), strict=True)])
