"""REINFORCE++, arXiv:2501.03262: reward less KL to go, whitened over the batch's tokens; its baseline variant."""

from typing import Any

import numpy as np
import pytest

import grpo_calc as gc
from tests.core.tables import random_table
from tests.reference.loops import Batch, answers, batch, clip, mean, reference, std

BETA = 0.3


def to_go(batch: Batch) -> list[list[float]]:
    """Each token's reward to go: R less beta times the log-ratios of old policy to reference from there on."""
    return [
        [
            answer.reward - BETA * sum(o - r for o, r in zip(answer.old[t:], answer.ref[t:], strict=True))
            for t in range(len(answer.new))
        ]
        for group in batch
        for answer in group
    ]


def above_group(batch: Batch) -> list[list[float]]:
    """Each token's reward less the group's mean."""
    return [
        [answer.reward - mean([other.reward for other in group]) for _ in answer.new]
        for group in batch
        for answer in group
    ]


def whitened(values: list[list[float]]) -> list[list[float]]:
    """Over all tokens: less their mean, over their standard deviation."""
    flat = [x for row in values for x in row]
    centre, scale = mean(flat), std(flat, 0)
    return [[(x - centre) / scale for x in row] for row in values]


CASES = {
    "reinforce++": (to_go, {"reward_beta": BETA}),
    "reinforce++-baseline": (above_group, {"kl": "none", "beta": 0}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(5))
def test_advantage(name: str, seed: int) -> None:
    values, changes = CASES[name]
    worked = gc.work(random_table(seed), gc.recipe(name, **changes))
    ours = worked["advantage"]
    if worked.level("advantage").name == "COMPLETION":
        ours = np.repeat(ours, np.diff(worked.table.token_offsets))
    np.testing.assert_allclose(ours, [x for row in whitened(values(batch(seed))) for x in row], rtol=1e-12, atol=1e-13)


def objective(batch: Batch, values: list[list[float]]) -> Any:
    rows = zip(whitened(values), answers(batch), strict=True)
    return mean(
        [mean([min(r * a, clip(r, 0.8, 1.2) * a) for r, a in zip(one.ratios, row, strict=True)]) for row, one in rows]
    )


@reference("reinforce++", reward_beta=BETA)
def reinforce(batch: Batch) -> float:
    return -objective(batch, to_go(batch))


@reference("reinforce++-baseline")
def reinforce_baseline(batch: Batch) -> float:
    """The KL is k2, in the loss: 0.01 times."""
    k2 = [mean([(new - ref) ** 2 / 2 for new, ref in zip(one.new, one.ref, strict=True)]) for one in answers(batch)]
    return -objective(batch, above_group(batch)) + 0.01 * mean(k2)
