"""No min: CISPO (2506.13585, eq. 4), SAPO (2511.20347), GMPO (2507.20673, eq. 4), VESPO (2602.10693)."""

from collections.abc import Callable
from typing import Any

from tests.reference.loops import Answer, Batch, clip, exp, held, mean, reference
from tests.reference.test_grpo import advantage

LOW, HIGH = 0.1, 0.12
TAU_POS, TAU_NEG = 1.0, 1.05
K_POS, LAMBDA_POS, K_NEG, LAMBDA_NEG = 2.0, 3.0, 3.0, 2.0
Terms = Callable[[Answer, float], list[Any]]


def of_tokens(batch: Batch, terms: Terms) -> list[list[Any]]:
    """The terms of every answer's tokens."""
    return [terms(one, advantage(one, group)) for group in batch for one in group]


def over_tokens(batch: Batch, terms: Terms) -> Any:
    return mean([x for row in of_tokens(batch, terms) for x in row])


@reference("cispo", eps_low=LOW, eps_high=HIGH)
def cispo(batch: Batch) -> float:
    """sg(clip(r)) A log pi, over all tokens."""

    def terms(one: Answer, a: float) -> list[Any]:
        return [held(clip(r, 1 - LOW, 1 + HIGH)) * a * new for r, new in zip(one.ratios, one.new, strict=True)]

    return -over_tokens(batch, terms)


@reference("sapo")
def sapo(batch: Batch) -> float:
    """sigmoid(tau (r - 1)) 4 / tau A, tau by the sign of A."""

    def terms(one: Answer, a: float) -> list[Any]:
        tau = TAU_POS if a > 0 else TAU_NEG
        return [4 / tau / (1 + exp(-tau * (r - 1))) * a for r in one.ratios]

    return -mean([mean(row) for row in of_tokens(batch, terms)])


@reference("gmpo", eps_low=LOW, eps_high=HIGH)
def gmpo(batch: Batch) -> float:
    """The geometric mean of ratios, each clipped only on the side that A asks for; in logarithms."""

    def terms(one: Answer, a: float) -> list[Any]:
        side = (a > 0) - (a < 0)
        logs = [new - old for new, old in zip(one.new, one.old, strict=True)]
        return [exp(mean([side * min(side * x, side * clip(x, -LOW, HIGH)) for x in logs])) * a] if logs else []

    return -mean([mean(row) for row in of_tokens(batch, terms)])


@reference("vespo")
def vespo(batch: Batch) -> float:
    """sg(w^k exp(lambda (1 - w))) A log pi, w the sequence's ratio; over all tokens."""

    def terms(one: Answer, a: float) -> list[Any]:
        k, rate = (K_POS, LAMBDA_POS) if a >= 0 else (K_NEG, LAMBDA_NEG)
        w = exp(sum(new - old for new, old in zip(one.new, one.old, strict=True))) if one.new else 1.0
        return [held(w**k * exp(rate * (1 - w))) * a * new for new in one.new]

    return -over_tokens(batch, terms)
