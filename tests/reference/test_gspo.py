"""GSPO, arXiv:2507.18071: eq. 5 to 7 (objective, advantage, ratio), 13, 14 (GSPO-token); LUSPO, arXiv:2602.05261."""

from collections.abc import Callable
from typing import Any

from tests.reference.loops import Answer, Batch, clip, exp, held, mean, reference
from tests.reference.test_grpo import advantage

LOW, HIGH = 0.1, 0.12


def ratio(answer: Answer) -> Any:
    """Eq. 7: the geometric mean of the token ratios."""
    return exp(mean([new - old for new, old in zip(answer.new, answer.old, strict=True)]))


def objective(batch: Batch, of_answer: Callable[[Answer, float], Any]) -> Any:
    """The mean over answers; an empty one has nothing to say."""
    return mean([of_answer(one, advantage(one, group)) if one.new else 0.0 for group in batch for one in group])


def clipped(s: Any, a: float) -> Any:
    return min(s * a, clip(s, 1 - LOW, 1 + HIGH) * a)


@reference("gspo", eps_low=LOW, eps_high=HIGH)
def gspo(batch: Batch) -> float:
    return -objective(batch, lambda answer, a: clipped(ratio(answer), a))


@reference("gspo-token", eps_low=LOW, eps_high=HIGH)
def gspo_token(batch: Batch) -> float:
    """Each token's ratio has the sequence's value, and its own gradient."""

    def of_answer(answer: Answer, a: float) -> Any:
        s = held(ratio(answer))
        return mean([clipped(s * exp(new - held(new)), a) for new in answer.new])

    return -objective(batch, of_answer)


@reference("luspo", eps_low=LOW, eps_high=HIGH)
def luspo(batch: Batch) -> float:
    """GSPO, each answer times its length."""
    return -objective(batch, lambda answer, a: len(answer.new) * clipped(ratio(answer), a))
