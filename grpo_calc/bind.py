"""What a name can be bound to: another name, a column of its own, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Use:
    """A column bound to a name, with some of its parameters read from other names.

    ``Use("mean_within", x="token_loss")`` is the mean of the token losses.
    """

    column: str
    renamed: Mapping[str, str]

    def __init__(self, column: str, **renamed: str) -> None:
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "renamed", MappingProxyType(renamed))


@dataclass(frozen=True)
class Absent:
    """A name that this recipe does not have."""


Binding = str | Use | Absent
Bindings = Mapping[str, Binding]


def weighted(role: str, weight: str) -> Bindings:
    """A weight of each token's policy part: a constant under the gradient, so it multiplies the slope alike."""
    return {f"wrap:{chain}:{role}": Use("weighted", x="@", weight=weight) for chain in ("weighted_objective", "slope")}
