"""A small batch that trainers' presets are tried on: two groups, unequal lengths."""

from __future__ import annotations

from typing import Any

from grpo_calc.table import Table

NEW = [[-0.5, -1.0, -0.2], [-0.7, -0.1], [-1.5], [-0.3, -0.4]]
OLD = [[-0.6, -0.5, -0.2], [-0.9, -0.1], [-1.1], [-0.3, -0.9]]
REF = [[-0.5, -0.8, -0.3], [-0.6, -0.2], [-1.2], [-0.5, -0.4]]
SAMPLER = [[-0.6, -0.9, -0.2], [-0.8, -0.1], [-1.3], [-0.2, -0.9]]


def small(**more: Any) -> Table:
    """The batch, with more columns or other rewards."""
    columns: dict[str, Any] = {"reward": [1.0, 0.0, 0.5, 2.0], "logp_ref": REF, "logp_sampler": SAMPLER, **more}
    return Table.from_arrays(group_id=["a", "a", "b", "b"], logp_new=NEW, logp_old=OLD, **columns)
