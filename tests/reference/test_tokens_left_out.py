"""Tokens that do not move: Clip-Cov and KL-Cov (2505.22617), DPPO by total variation and by binary KL (2602.04879)."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

import grpo_calc as gc
from tests.core.tables import random_table
from tests.reference.loops import Batch, agrees, mean
from tests.reference.test_grpo import advantage

Token = tuple[float, float, float]
"""A token's advantage, new and old log-prob."""


def tokens(batch: Batch) -> Iterator[Token]:
    for group in batch:
        for answer in group:
            for new, old in zip(answer.new, answer.old, strict=True):
                yield advantage(answer, group), new, old


def covariances(every: list[Token]) -> list[float]:
    """Centred log-prob times centred advantage, both over all tokens."""
    a, p = mean([t[0] for t in every]), mean([t[1] for t in every])
    return [(t[0] - a) * (t[1] - p) for t in every]


LOW, HIGH, SHARE, BETA = 0.1, 0.9, 0.2, 0.7


@pytest.mark.parametrize("seed", range(5))
def test_clip_cov(seed: int) -> None:
    def loss(batch: Batch) -> float:
        every = list(tokens(batch))
        terms = [
            0.0 if LOW < cov < HIGH else math.exp(new - old) * a
            for cov, (a, new, old) in zip(covariances(every), every, strict=True)
        ]
        assert 0.0 in terms
        return -mean(terms)

    agrees(gc.recipe("clip-cov", cov_low=LOW, cov_high=HIGH), seed, loss)


@pytest.mark.parametrize("seed", range(5))
def test_kl_cov(seed: int) -> None:
    def loss(batch: Batch) -> float:
        every = list(tokens(batch))
        covs = covariances(every)
        least = sorted(covs)[-int(SHARE * len(covs))]
        return -mean(
            [
                math.exp(new - old) * a - (BETA * abs(new - old) if cov >= least else 0.0)
                for cov, (a, new, old) in zip(covs, every, strict=True)
            ]
        )

    agrees(gc.recipe("kl-cov", cov_share=SHARE, cov_coef=BETA), seed, loss)


def moved_too_far(token: Token, kind: str, bound: float) -> bool:
    """Whether the divergence is above its bound and the probability moved the way the advantage asks."""
    a, new, old = token
    p, q = math.exp(new), math.exp(old)
    divergence = abs(p - q)
    if kind == "dppo-kl":
        divergence = q * (old - new) + (1 - q) * math.log((1 - q + 1e-8) / (1 - p + 1e-8))
    return divergence > bound and (p > q if a > 0 else p < q)


@pytest.mark.parametrize("name", ["dppo", "dppo-kl"])
@pytest.mark.parametrize("seed", range(5))
def test_dppo(name: str, seed: int) -> None:
    bound = 0.03 if name == "dppo" else 0.004

    def loss(batch: Batch) -> float:
        rows = [
            [(advantage(answer, group), new, old) for new, old in zip(answer.new, answer.old, strict=True)]
            for group in batch
            for answer in group
        ]
        assert any(moved_too_far(token, name, bound) for row in rows for token in row)
        return -mean(
            [
                mean([0.0 if moved_too_far(t, name, bound) else math.exp(t[1] - t[2]) * t[0] for t in row])
                for row in rows
            ]
        )

    agrees(gc.recipe(name, trust_low=bound, trust_high=bound), seed, loss)


@pytest.mark.parametrize("name", ["clip-cov", "kl-cov", "dppo", "dppo-kl"])
def test_a_token_that_is_left_out_has_no_gradient(name: str) -> None:
    changes = (
        {"cov_low": LOW, "cov_high": HIGH, "cov_share": SHARE}
        if "cov" in name
        else {"trust_low": 0.03, "trust_high": 0.03}
    )
    worked = gc.work(random_table(0), gc.recipe(name, **changes))
    advantages = np.repeat(worked["advantage"], np.diff(worked.table.token_offsets))
    kept = worked["gate"] if worked.has("gate") else 1 - worked["top_covariance"]
    plain = -advantages * worked["ratio"] * worked["share"] if worked.level("share").name == "TOKEN" else None
    left = worked["gradient"][kept == 0]
    assert (left == 0).all() if worked.has("gate") else (left != 0).any()
    if plain is not None:
        np.testing.assert_allclose(worked["gradient"][kept > 0], plain[kept > 0], rtol=1e-13, atol=1e-15)
