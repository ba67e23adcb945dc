"""PPO, arXiv:1707.06347, eq. 7: L_CLIP = E_t[min(r_t A_t, clip(r_t, 1 - eps, 1 + eps) A_t)], with given advantages."""

import pytest

import grpo_calc as gc
from tests.core.tables import random_table
from tests.reference.loops import Batch, agrees, clip, mean

EPS = 0.2


@pytest.mark.parametrize("seed", range(5))
def test_clipped_objective(seed: int) -> None:
    advantages = random_table(seed).completions["advantage"].tolist()

    def loss(batch: Batch) -> float:
        answers = [answer for group in batch for answer in group]
        terms = []
        for answer, advantage in zip(answers, advantages, strict=True):
            terms += [min(r * advantage, clip(r, 1 - EPS, 1 + EPS) * advantage) for r in answer.ratios]
        return -mean(terms)

    agrees(gc.recipe("chapter", advantage="given", reduction="token_mean", eps=EPS), seed, loss)
