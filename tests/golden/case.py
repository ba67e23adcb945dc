"""A golden file as a case: the table and recipe it comes to, and how its outputs are named here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grpo_calc.column import Level
from grpo_calc.recipe import Recipe
from grpo_calc.table import Table
from grpo_calc.work import Worked

Golden = Mapping[str, Any]
Reading = Callable[[Worked], Any] | str


class UnknownKeys(Exception):
    """Harness options or inputs that the peer's schema does not know."""


@dataclass(frozen=True)
class Case:
    """What a peer makes of a golden file.

    ``outputs`` maps a golden output's name to our column's name or to a function of ``Worked``; ``metrics`` likewise for the
    entries of ``outputs.metrics`` (those that the trainer's own ``metrics`` give need no entry). ``left_out`` maps an output
    that is not compared to the reason.
    """

    table: Table
    recipe: Recipe
    outputs: Mapping[str, Reading] = field(default_factory=dict)
    metrics: Mapping[str, Reading] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)


def padded_table(inputs: Golden, mask: Any = None, **more: Any) -> Table:
    """The table of padded (B, T) inputs; each token keeps its place in the padding as its row."""
    names = {"new_logps": "logp_new", "old_logps": "logp_old", "ref_logps": "logp_ref", "sampling_logps": "logp_sampler", "entropies": "entropy"}
    columns = {ours: inputs[theirs] for theirs, ours in names.items() if inputs.get(theirs) is not None}
    columns.update(more)
    if "reward" not in columns and inputs.get("rewards") is not None:
        columns["reward"] = inputs["rewards"]
    return Table.from_arrays(group_id=inputs.get("group_ids"), mask=inputs["mask"] if mask is None else mask, **columns)


def padded(worked: Worked, name: str, shape: tuple[int, int]) -> np.ndarray:
    """A column laid out as the inputs were: (B, T) for a token column, 0 where masked; (B,) for a completion column."""
    table = worked.table
    values = worked[name]
    level = worked.level(name)
    if level is Level.TOKEN:
        grid = np.zeros(shape)
        grid.flat[table.row - 1] = values
        return grid
    if level is Level.COMPLETION:
        row = np.zeros(shape[0])
        row[[int(i) - 1 for i in table.completion_id]] = values
        return row
    raise ValueError(f"{name} lives at {level.name.lower()} level")
