"""open-instruct: harness options are the configuration's own names."""

from __future__ import annotations

from grpo_calc.trainers import recipe
from tests.golden.case import Case, Golden, check, padded_table
from tests.golden.peers.layout import token_column

OUTPUTS = {"rho_weights": token_column("sampler_weight"), "per_token_loss": token_column("token_loss")}


def case(golden: Golden) -> Case:
    """The case of an open-instruct golden."""
    check(golden, "open-instruct")
    options = dict(golden["options"])
    made = recipe("open-instruct", advantage_normalization_type=options.pop("advantage", "centered"), **options)
    return Case(padded_table(golden["inputs"]), made, OUTPUTS)
