"""DAPO, arXiv:2503.14476, eq. 8: two clip ranges, and one mean over all tokens.

The paper divides by the tokens of a prompt's group; trainers divide by those of the batch, and so do we. With one group
both are the same number.
"""

import itertools

import pytest

import grpo_calc as gc
from grpo_calc.work import work
from tests.core.tables import random_arrays, table
from tests.reference.loops import Answer, Batch, Group, agrees, clip, mean
from tests.reference.test_grpo import advantage

LOW, HIGH = 0.2, 0.28


def terms(group: Group) -> list[float]:
    found = []
    for answer in group:
        a = advantage(answer, group)
        found += [min(ratio * a, clip(ratio, 1 - LOW, 1 + HIGH) * a) for ratio in answer.ratios]
    return found


@pytest.mark.parametrize("seed", range(5))
def test_objective_over_the_batch(seed: int) -> None:
    def loss(batch: Batch) -> float:
        return -mean([term for group in batch for term in terms(group)])

    agrees(gc.recipe("dapo"), seed, loss)


@pytest.mark.parametrize("seed", range(5))
def test_one_group_is_the_papers_own(seed: int) -> None:
    first = {name: value[:4] for name, value in random_arrays(seed).items()}
    answers = table(first)
    group = _group(answers)
    assert work(answers, gc.recipe("dapo")).loss == pytest.approx(-mean(terms(group)), rel=1e-13)


def _group(answers: gc.Table) -> Group:
    parts = [slice(a, b) for a, b in itertools.pairwise(answers.token_offsets)]
    logps = [answers.tokens[f"logp_{name}"].tolist() for name in ("new", "old", "ref")]
    rewards = answers.completions["reward"].tolist()
    return [Answer(reward, *(x[part] for x in logps)) for reward, part in zip(rewards, parts, strict=True)]
