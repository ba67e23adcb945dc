"""prime-rl: each sample's loss summed over the batch, over the number of tokens; old log-probs are the engine's."""

from __future__ import annotations

from grpo_calc.trainers import recipe
from grpo_calc.trainers.prime_rl import per_sample
from tests.golden.case import Case, Golden, check, padded_table


def case(golden: Golden) -> Case:
    """The case of a prime-rl golden."""
    check(golden, "prime-rl")
    table = padded_table(golden["inputs"])
    return Case(table, recipe("prime-rl", **golden["options"]), {"metrics_per_sample": per_sample})
