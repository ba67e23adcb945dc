"""AReaL: one loss function on group-standardised rewards; old log-probs are the proximal policy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from grpo_calc.trainers import recipe
from grpo_calc.trainers.figures import per_token
from grpo_calc.work import Worked
from tests.golden.case import Case, Golden, Reading, check, padded_table

HARNESS = {"reward_norm.mean_level": "group", "reward_norm.std_level": "group", "reward_clip": 1e300, "kl_ctl": 0.0}
"""What the harness does to rewards before it calls the loss."""

NAMES = {"sapo": "use_sapo_loss", "tau_pos": "sapo_tau_pos", "tau_neg": "sapo_tau_neg"}


def case(golden: Golden) -> Case:
    """The case of an AReaL golden."""
    check(golden, "areal")
    inputs = golden["inputs"]
    shape = (len(inputs["mask"]), len(inputs["mask"][0]))

    def tokens(name: str, sign: float = 1.0) -> Reading:
        def read(worked: Worked) -> np.ndarray:
            grid = np.zeros(shape)
            grid.flat[worked.table.row - 1] = sign * per_token(worked, name) if worked.has(name) else 0.0
            return grid

        return read

    readings = {
        "per_token_loss": tokens("weighted_objective", -1.0),
        "clip_mask": tokens("clipped"),
        "dual_clip_mask": tokens("dual_clipped"),
        "importance_weight": tokens("ratio"),
        "behave_imp_weight": tokens("sampler_weight"),
    }
    return Case(padded_table(inputs), recipe("areal", **trainer_options(golden["options"])), readings)


def trainer_options(options: Golden) -> dict[str, Any]:
    """The harness's options under the trainer's names; its filter is called directly, as beside a decoupled loss."""
    named = {**HARNESS, **{NAMES.get(name, name): value for name, value in options.items()}}
    filtered = named.pop("rejection_sampling", None)
    if filtered is not None:
        named |= {"use_decoupled_loss": True, "rejection_sampling": {"metric": "ratio", **filtered}}
    return named
