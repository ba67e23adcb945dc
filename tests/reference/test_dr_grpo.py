"""Dr. GRPO, arXiv:2503.20783, sec. 3.2: A = R - mean, no std; token sums over a constant length, not over their own."""

import pytest

import grpo_calc as gc
from tests.reference.loops import Batch, agrees, clip, mean

LENGTH, EPS = 9, 0.2


@pytest.mark.parametrize("seed", range(5))
def test_objective(seed: int) -> None:
    def loss(batch: Batch) -> float:
        completions = []
        for group in batch:
            for answer in group:
                a = answer.reward - mean([other.reward for other in group])
                completions.append(sum(min(r * a, clip(r, 1 - EPS, 1 + EPS) * a) for r in answer.ratios) / LENGTH)
        return -mean(completions)

    agrees(gc.recipe("dr-grpo", max_length=LENGTH), seed, loss)
