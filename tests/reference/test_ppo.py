"""PPO, arXiv:1707.06347, eq. 7; dual clip, arXiv:1912.09729, eq. 5; the article's table and the course's loss."""

from collections.abc import Callable
from typing import Any

import pytest

import grpo_calc as gc
from tests.core.tables import random_table
from tests.reference.loops import Answer, Batch, Group, agrees, answers, clip, mean, reference, std
from tests.reference.test_grpo import advantage

EPS, C = 0.2, 1.15
Advantage = Callable[[Answer, Group], float]


def clipped(r: Any, a: float) -> Any:
    """Eq. 7: min(r A, clip(r, 1 - eps, 1 + eps) A)."""
    return min(r * a, clip(r, 1 - EPS, 1 + EPS) * a)


def over_answers(batch: Batch, advantage: Advantage, term: Callable[[Any, float], Any]) -> Any:
    """The mean over answers of the mean over tokens."""
    return mean([mean([term(r, advantage(one, group)) for r in one.ratios]) for group in batch for one in group])


def above_mean(answer: Answer, group: Group) -> float:
    return answer.reward - mean([other.reward for other in group])


@reference("dual-clip", dual_clip=C)
def dual_clip(batch: Batch) -> float:
    """For A < 0, no lower than c A."""
    return -over_answers(batch, advantage, lambda r, a: max(clipped(r, a), C * a) if a < 0 else clipped(r, a))


@reference("article")
def article(batch: Batch) -> float:
    return -over_answers(batch, above_mean, lambda r, a: clipped(r, a) - 0.1 * (r - 1) ** 2)


@reference("chapter")
def chapter(batch: Batch) -> float:
    def scaled(answer: Answer, group: Group) -> float:
        return above_mean(answer, group) / max(std([other.reward for other in group], 0), 1e-6)

    return -over_answers(batch, scaled, clipped)


@pytest.mark.parametrize("seed", range(5))
def test_given_advantages(seed: int) -> None:
    advantages = random_table(seed).completions["advantage"].tolist()

    def loss(batch: Batch) -> float:
        pairs = zip(answers(batch), advantages, strict=True)
        return -mean([clipped(r, a) for answer, a in pairs for r in answer.ratios])

    agrees(gc.recipe("chapter", advantage="given", reduction="token_mean", eps=EPS), seed, loss)
