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
    # The advantages are the harness's own: it adds 1e-6 to the std, where MCAdvantage holds the std above it.
    made = recipe("torchrl", golden["version"], **options).change(std_eps="add")
    return Case(
        padded_table(golden["inputs"]), made, {"loss_objective": lambda worked: _shaped(golden, worked["policy_loss"])}
    )


def _shaped(golden: Golden, loss: float) -> object:
    """A loss in the shape that the aggregation leaves: one number, or a list of one."""
    return [loss] if isinstance(golden["outputs"].get("loss_objective"), list) else loss
