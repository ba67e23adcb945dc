"""TRL: harness options are the trainer's own names."""

from __future__ import annotations

from grpo_calc.trainers import recipe
from tests.golden.case import Case, Golden, padded_table


def case(golden: Golden) -> Case:
    """The case of a TRL golden."""
    return Case(padded_table(golden["inputs"]), recipe("trl", golden["version"], **golden["options"]))
