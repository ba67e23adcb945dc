"""torchrl: harness options are the loss class and its arguments."""

from __future__ import annotations

from grpo_calc.trainers import recipe
from tests.golden.case import Case, Golden, check, padded_table


def case(golden: Golden) -> Case:
    """The case of a torchrl golden."""
    check(golden, "torchrl")
    options = dict(golden["options"])
    if options.get("aggregation", "") is None:
        del options["aggregation"]  # none is the default
    return Case(padded_table(golden["inputs"]), recipe("torchrl", golden["version"], **options), {"loss_objective": "policy_loss"})
