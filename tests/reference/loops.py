"""What every reference shares: a batch as plain lists, group by group, completion by completion, token by token."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from grpo_calc.recipe import Recipe
from grpo_calc.work import work
from tests.core.tables import random_table


@dataclass
class Answer:
    """One completion: its reward, and its log-probs token by token."""

    reward: float
    new: Sequence[float]
    old: Sequence[float]
    ref: Sequence[float]

    @property
    def ratios(self) -> list[float]:
        """pi / pi_old, token by token."""
        return [math.exp(a - b) for a, b in zip(self.new, self.old, strict=True)]


Group = list[Answer]
Batch = list[Group]


def batch(seed: int) -> Batch:
    """The random table of a seed, as lists."""
    table = random_table(seed)
    tokens = {name: table.tokens[f"logp_{name}"].tolist() for name in ("new", "old", "ref")}
    answers = [
        Answer(
            float(table.completions["reward"][i]),
            *(tokens[name][table.token_offsets[i] : table.token_offsets[i + 1]] for name in ("new", "old", "ref")),
        )
        for i in range(table.completion_count)
    ]
    return [answers[a:b] for a, b in itertools.pairwise(table.group_offsets)]


def clip(x: float, low: float, high: float) -> float:
    """``x`` held between two bounds."""
    return low if x < low else min(x, high)


def mean(values: Sequence[float]) -> float:
    """The mean, worked in exact fractions and rounded once; 0 of nothing."""
    return statistics.mean(values) if values else 0.0


def std(values: Sequence[float], ddof: int) -> float:
    """The standard deviation, divisor n - ddof; 0 where that is not positive."""
    if len(values) <= ddof:
        return 0.0
    return statistics.stdev(values) if ddof else statistics.pstdev(values)


def agrees(recipe: Recipe, seed: int, loss: Callable[[Batch], float]) -> None:
    """``work()`` gives the loss that the reference gives, to the last digits."""
    expected = loss(batch(seed))
    ours = work(random_table(seed), recipe).loss
    assert ours == pytest.approx(expected, rel=1e-13, abs=1e-14), (ours, expected)
