"""A plan run on arrays of any namespace, and what its derivatives are compared with, the same for every framework."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from grpo_calc.column import Level
from grpo_calc.recipe import Recipe
from grpo_calc.run import Shape, run
from grpo_calc.table import Table
from grpo_calc.work import Worked, work

SUMS = 1e-14
"""Frameworks take a sum in an order of their own, and tokens of size 10 may cancel; all else is equal to 2e-16."""


class Case:
    """A table worked by a recipe on NumPy, and ready to be run through the very same plan on other arrays."""

    def __init__(self, table: Table, recipe: Recipe) -> None:
        self.worked: Worked = work(table, recipe)
        self.plan = self.worked.plan
        self.shape = Shape(self.worked.table.token_offsets, self.worked.table.group_offsets)
        self.names = [step.name for step in self.plan.steps]
        self.inputs: Mapping[str, Any] = self.worked.inputs

    def values(self, asarray: Callable[[Any], Any]) -> Mapping[str, Any]:
        """Every step's value on arrays that ``asarray`` makes."""
        return run(self.plan, {name: asarray(value) for name, value in self.inputs.items()}, self.shape, self.names)

    def loss(self, inputs: Mapping[str, Any]) -> Any:
        """The batch loss, one element."""
        return run(self.plan, inputs, self.shape, ["loss"])["loss"].sum()

    def token_loss(self, inputs: Mapping[str, Any]) -> Any:
        """The loss of every token, one value a token under every ratio level."""
        value = run(self.plan, inputs, self.shape, ["token_loss"])["token_loss"]
        return value if self.worked.level("token_loss") is Level.TOKEN else value[self.completion_of_token]

    @property
    def completion_of_token(self) -> np.ndarray:
        """The completion of each token."""
        return self.worked.table.completion_of_token

    def places(self) -> Iterator[np.ndarray]:
        """One token of each completion at a time, as zeros and ones: no two of them meet in one token's loss."""
        offsets = self.worked.table.token_offsets
        place = np.arange(len(self.completion_of_token)) - offsets[:-1][self.completion_of_token]
        return ((place == k).astype(np.float64) for k in range(int(place.max()) + 1))

    @property
    def counted(self) -> np.ndarray:
        """Which tokens count: a masked one's own loss is shown, but nothing is made of it."""
        tokens = self.worked.table.tokens
        return tokens["mask"] > 0 if "mask" in tokens else np.ones(len(self.completion_of_token), dtype=bool)

    def by_token(self, name: str) -> np.ndarray:
        """A column of ours, one value a token."""
        value = self.worked[name]
        return value if self.worked.level(name) is Level.TOKEN else value[self.completion_of_token]

    def furthest(self, values: Mapping[str, Any]) -> tuple[float, str]:
        """The largest difference from NumPy's values, over ``max(1, |value|)``, and the column it is in."""
        return max((_difference(self.worked[name], values[name]), name) for name in self.names)


def _difference(ours: Any, theirs: Any) -> float:
    ours, theirs = np.atleast_1d(ours), np.asarray(theirs, dtype=np.float64)
    if not ours.size:
        return 0.0
    return float((np.abs(theirs - ours) / np.maximum(1.0, np.abs(ours))).max())
