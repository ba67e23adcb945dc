"""DAPO, arXiv:2503.14476, eq. 8: two clip ranges, and one mean over all tokens of a prompt's group.

Trainers take that mean over the batch. With one group both are the same number.
"""

import pytest

import grpo_calc as gc
from tests.reference.loops import Batch, Group, agrees, clip, mean, reference
from tests.reference.test_grpo import advantage

LOW, HIGH = 0.2, 0.28


def terms(group: Group) -> list[float]:
    found = []
    for answer in group:
        a = advantage(answer, group)
        found += [min(ratio * a, clip(ratio, 1 - LOW, 1 + HIGH) * a) for ratio in answer.ratios]
    return found


@reference("dapo")
def dapo(batch: Batch) -> float:
    return -mean([mean(terms(group)) for group in batch])


@pytest.mark.parametrize("seed", range(5))
def test_as_trainers_have_it(seed: int) -> None:
    def loss(batch: Batch) -> float:
        return -mean([term for group in batch for term in terms(group)])

    agrees(gc.recipe("dapo", reduction="token_mean"), seed, loss)
