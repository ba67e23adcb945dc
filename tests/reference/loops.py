"""What every reference shares: a batch as plain lists, group by group, completion by completion, token by token.

A reference is a plain function from such a batch to a loss, registered by :func:`reference` under the recipe's name.
Its numbers are Python's, or JAX's where its gradient is taken: ``exp``, ``log``, ``mean`` and ``held`` serve both.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
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
        return [exp(a - b) for a, b in zip(self.new, self.old, strict=True)]


Group = list[Answer]
Batch = list[Group]
Loss = Callable[[Batch], float]


class Reference(NamedTuple):
    """A recipe's loss by its paper, and what the recipe is worked with."""

    loss: Loss
    changes: dict[str, Any]


REFERENCES: dict[str, Reference] = {}
"""The reference of each recipe, by its name."""


def reference(name: str, **changes: Any) -> Callable[[Loss], Loss]:
    """Register a loss as the reference of the recipe ``name``, worked with some changes."""

    def registered(loss: Loss) -> Loss:
        REFERENCES[name] = Reference(loss, changes)
        return loss

    return registered


def exp(x: Any) -> Any:
    """e to the power of x."""
    return math.exp(x) if isinstance(x, float) else jnp.exp(x)


def log(x: Any) -> Any:
    """The natural logarithm."""
    return math.log(x) if isinstance(x, float) else jnp.log(x)


def held(x: Any) -> Any:
    """A number that is constant under the gradient."""
    return x if isinstance(x, float) else jax.lax.stop_gradient(x)


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


def mean(values: Sequence[Any]) -> Any:
    """The mean, of Python's numbers worked in exact fractions and rounded once; 0 of nothing."""
    if all(isinstance(x, int | float) for x in values):
        return statistics.mean(values) if values else 0.0
    return sum(values) / len(values)


def std(values: Sequence[float], ddof: int) -> float:
    """The standard deviation, divisor n - ddof; 0 where that is not positive."""
    if len(values) <= ddof:
        return 0.0
    return statistics.stdev(values) if ddof else statistics.pstdev(values)


def answers(groups: Batch) -> Group:
    """Every answer of the batch."""
    return [answer for group in groups for answer in group]


def agrees(recipe: Recipe, seed: int, loss: Loss) -> None:
    """``work()`` gives the loss that the reference gives, to the last digits."""
    expected = loss(batch(seed))
    ours = work(random_table(seed), recipe).loss
    assert ours == pytest.approx(expected, rel=1e-13, abs=1e-14), (ours, expected)


def gradient_agrees(recipe: Recipe, seed: int, loss: Loss) -> None:
    """``work()`` gives the gradient that JAX takes through the reference."""
    table = random_table(seed)

    def of(new: Any) -> Any:
        logps = iter(new)
        return loss([[replace(one, new=[next(logps) for _ in one.new]) for one in group] for group in batch(seed)])

    expected = jax.grad(of)(jnp.asarray(table.tokens["logp_new"]))
    np.testing.assert_allclose(work(table, recipe)["gradient"], expected, rtol=1e-12, atol=1e-14)
