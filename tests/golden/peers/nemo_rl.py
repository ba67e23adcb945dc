"""NeMo-RL: harness options are the two configurations, nested."""

from __future__ import annotations

from grpo_calc.trainers import recipe
from tests.golden.case import Case, Golden, check, padded_table


def case(golden: Golden) -> Case:
    """The case of a NeMo-RL golden."""
    check(golden, "nemo-rl")
    advantage = {key: value for key, value in golden["options"].get("advantage", {}).items() if key != "name"}
    return Case(
        padded_table(golden["inputs"]), recipe("nemo-rl", loss=golden["options"].get("loss", {}), advantage=advantage)
    )
