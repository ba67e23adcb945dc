"""What a name can be bound to: another name, a column of its own, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class _Column(NamedTuple):
    column: str
    renamed: Mapping[str, str]


class Use(_Column):
    """A column bound to a name, with some of its parameters read from other names.

    ``Use("mean_within", x="token_loss")`` is the mean of the token losses.
    """

    def __new__(cls, column: str, **renamed: str) -> Use:
        """Take the renamed parameters by name."""
        return super().__new__(cls, column, MappingProxyType(renamed))


class Absent:
    """A name that this recipe does not have."""


Binding = str | Use | Absent
Bindings = Mapping[str, Binding]


def weighted(role: str, weight: str) -> Bindings:
    """A weight of each token's policy part: a constant under the gradient, so it multiplies the slope alike."""
    return {f"wrap:{chain}:{role}": Use("weighted", x="@", weight=weight) for chain in ("weighted_objective", "slope")}
