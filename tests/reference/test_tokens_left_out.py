"""Tokens that do not move: Clip-Cov and KL-Cov (2505.22617), DPPO by total variation and by binary KL (2602.04879)."""

from typing import Any

from tests.reference.loops import Answer, Batch, exp, held, log, mean, reference
from tests.reference.test_grpo import advantage

Token = tuple[float, Any, float]
"""A token's advantage, new and old log-prob."""


def rows(batch: Batch) -> list[list[Token]]:
    """Each answer's tokens."""

    def row(one: Answer, a: float) -> list[Token]:
        return [(a, new, old) for new, old in zip(one.new, one.old, strict=True)]

    return [row(one, advantage(one, group)) for group in batch for one in group]


def covariances(every: list[Token]) -> list[Any]:
    """Centred log-prob times centred advantage, both over all tokens."""
    a, p = mean([t[0] for t in every]), mean([held(t[1]) for t in every])
    return [(t[0] - a) * (held(t[1]) - p) for t in every]


LOW, HIGH, SHARE, BETA = 0.1, 0.9, 0.2, 0.7


@reference("clip-cov", cov_low=LOW, cov_high=HIGH)
def clip_cov(batch: Batch) -> float:
    every = [token for row in rows(batch) for token in row]
    terms = [
        0.0 if LOW < cov < HIGH else exp(new - old) * a
        for cov, (a, new, old) in zip(covariances(every), every, strict=True)
    ]
    assert 0.0 in terms
    return -mean(terms)


@reference("kl-cov", cov_share=SHARE, cov_coef=BETA)
def kl_cov(batch: Batch) -> float:
    every = [token for row in rows(batch) for token in row]
    covs = covariances(every)
    least = sorted(covs)[-int(SHARE * len(covs))]
    penalties = [BETA * abs(new - old) if cov >= least else 0.0 for cov, (_, new, old) in zip(covs, every, strict=True)]
    return -mean([exp(new - old) * a - x for x, (a, new, old) in zip(penalties, every, strict=True)])


TV, KL = 0.03, 0.004


def trusted(batch: Batch, kind: str, bound: float) -> Any:
    """The mean over answers of the mean of r A, tokens that moved too far counting 0."""
    assert any(moved_too_far(token, kind, bound) for row in rows(batch) for token in row)
    return mean(
        [mean([0.0 if moved_too_far(t, kind, bound) else exp(t[1] - t[2]) * t[0] for t in row]) for row in rows(batch)]
    )


def moved_too_far(token: Token, kind: str, bound: float) -> bool:
    """Whether the divergence is above its bound and the probability moved the way the advantage asks."""
    a, new, old = token
    p, q = exp(new), exp(old)
    divergence = abs(p - q)
    if kind == "kl":
        divergence = q * (old - new) + (1 - q) * log((1 - q + 1e-8) / (1 - p + 1e-8))
    return bool(divergence > bound and (p > q if a > 0 else p < q))


@reference("dppo", trust_low=TV, trust_high=TV)
def dppo(batch: Batch) -> float:
    return -trusted(batch, "tv", TV)


@reference("dppo-kl", trust_low=KL, trust_high=KL)
def dppo_kl(batch: Batch) -> float:
    return -trusted(batch, "kl", KL)
