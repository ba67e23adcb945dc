"""ms-swift: harness options are short words for the trainer's own names."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.trainers import recipe
from grpo_calc.work import Worked
from tests.golden.case import Case, Golden, Reading, check, padded_table

NAMES = {
    "epsilon_low": "epsilon",
    "rollout_mode": "rollout_importance_sampling_mode",
    "threshold": "rollout_importance_sampling_threshold",
    "opsm": "off_policy_sequence_mask_delta",
}
FIGURES = {
    "low_clip_mean": "clip_ratio/low_mean",
    "low_clip_min": "clip_ratio/low_min",
    "high_clip_mean": "clip_ratio/high_mean",
    "high_clip_max": "clip_ratio/high_max",
    "region_clip_mean": "clip_ratio/region_mean",
    "cispo_clip_ratio": "cispo_clip_ratio",
}
METRICS: Mapping[str, Reading] = {
    f"clipping/{theirs}": lambda worked, ours=ours: _figure(worked, ours) for theirs, ours in FIGURES.items()
}
OUTPUTS: Mapping[str, Reading] = {"per_token_loss": "token_loss", "rollout_is_weights": "sampler_weight"}


def case(golden: Golden) -> Case:
    """The case of an ms-swift golden.

    The harness keeps the KL in the loss unless told otherwise, and hands over the sampler's log-probs only with a
    correction's mode.
    """
    check(golden, "ms-swift")
    options = {NAMES.get(key, key): value for key, value in golden["options"].items()}
    made = recipe("ms-swift", **{"kl_in_reward": False, **options})
    if options.get("rollout_importance_sampling_mode") is None and made.roles["counted"] == "on_policy_of_sampler":
        made = made.change(counted="on_policy")
    if not golden["inputs"].get("old_logps"):
        made = made.change(old="new")
    return Case(padded_table(golden["inputs"]), made, OUTPUTS, metrics=METRICS)


def _figure(worked: Worked, name: str) -> float:
    return worked.metrics("ms-swift")[name]
