"""Unsloth: harness options are the loss function's own arguments."""

from __future__ import annotations

from grpo_calc.trainers import recipe
from tests.golden.case import Case, Golden, check, padded_table


def case(golden: Golden) -> Case:
    """The case of an Unsloth golden."""
    check(golden, "unsloth-zoo")
    made = recipe("unsloth", **golden["options"])
    return Case(padded_table(golden["inputs"]), made, {"per_token_loss": "token_loss"})
