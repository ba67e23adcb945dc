"""ROLL: harness options are the pipeline's own names; the samples that a filter dropped are a column of the table."""

from __future__ import annotations

from grpo_calc.trainers import recipe
from tests.golden.case import Case, Golden, check, padded_table
from tests.golden.peers.layout import token_column


def case(golden: Golden) -> Case:
    """The case of a ROLL golden."""
    check(golden, "roll")
    options, inputs = dict(golden["options"]), golden["inputs"]
    dropped = set(options.pop("dropped_samples", None) or ())
    column = [float(place in dropped) for place in range(len(inputs["mask"]))]
    made = recipe("roll", **options)
    return Case(
        padded_table(inputs, dropped=column), made, {"per_token_loss": token_column("weighted_objective", -1.0)}
    )
