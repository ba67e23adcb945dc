"""Advantages beyond a group's mean and std: baselines of other kinds, the reward to go, and whitening over tokens."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.bind import Bindings, Use

Choices = Mapping[str, Bindings]

# An advantage worked as a whole, not as baseline and scale.
BASELINE: Choices = {
    "none": {"advantage": "reward"},
    "batch_standard": {
        "advantage": Use("scaled_advantage", baseline="batch_mean", zero_spread="batch_flat"),
        "batch_flat": Use("zero_spread", group_spread="known_batch_spread", group_mean="batch_mean"),
    },
    "length_weighted": {
        "baseline": Use("length_weighted_mean"),
        "length_reward": Use("times", x="advantage_length", y="reward"),
        "advantage": Use("reward_above", baseline="baseline"),
    },
    "given_baseline": {"advantage": Use("reward_above", baseline="baseline_reward")},
    "virtual_best": {"advantage": Use("calibrated_advantage")},
    "best_margin": {"advantage": Use("best_margin")},
    "best_margin_std": {"advantage": Use("best_margin_scaled")},
    "reward_to_go": {"advantage": "reward_to_go"},
    "reward_to_go_above_baseline": {
        "advantage": Use("reward_above", reward="reward_to_go", baseline="baseline_reward")
    },
}
TO_GO: Choices = {
    "carry": {"to_go_step": "carried_step"},
    "reset": {"to_go_step": "reset_step"},
}
LONE: Choices = {
    "zero": {},
    "raw": {"wrap:advantage:lone": Use("lone_reward", x="@")},
}
ADVANTAGE_FACTOR: Choices = {
    "none": {},
    "non_zero_share": {
        "wrap:advantage:factor": Use("per_non_zero", x="@"),
        "non_zero": Use("sum_across", x="non_zero_reward"),
    },
    "moving_share": {"wrap:advantage:factor": Use("per_non_zero", x="@", non_zero="moving_completions")},
}
WHITEN_TOKENS: Bindings = {
    "wrap:advantage:whiten": Use("whitened", x="@"),
    "whiten_sum": Use("sum_within", x="advantage_before_whiten", counted="advantage_counted"),
    "whiten_mean": Use("token_mean", x="whiten_sum"),
    "whiten_square": Use("squared_deviation", x="advantage_before_whiten", mean="whiten_mean"),
    "whiten_square_sum": Use("sum_within", x="whiten_square", counted="advantage_counted"),
    "whiten_variance": Use("token_variance", x="whiten_square_sum"),
}
"""An advantage centred and scaled by every token of the batch."""

COUNTS: Bindings = {
    "advantage_length": Use("length", counted="advantage_counted"),
    "advantage_tokens": Use("tokens", length="advantage_length"),
}
"""The tokens an advantage counts: all of the table, unless tokens were rejected before advantages were worked."""

# The KL of old policy from reference, taken from the reward: summed over a completion, or each token's own.
ESTIMATES: Mapping[str, Bindings] = {
    "k1": {"reward_token_kl": "reward_k1"},
    "abs": {"reward_token_kl": Use("k1_absolute", k1="reward_k1")},
    "k2": {"reward_token_kl": Use("k2", k1="reward_k1")},
    "k3": {
        "reward_k1_held": Use("k1_clamped", k1="reward_k1"),
        "reward_base_ratio": Use("base_ratio", k1="reward_k1_held"),
        "reward_k3": Use("k3", k1="reward_k1_held", base_ratio="reward_base_ratio"),
        "reward_token_kl": Use("kl_clamped", x="reward_k3"),
    },
}
REWARD_K1: Bindings = {"reward_k1": Use("k1", logp_new="logp_old", logp_base="logp_ref")}
REWARD_SUM: Bindings = {
    **REWARD_K1,
    "reward": "reward_given",
    "reward_kl": Use("sum_within", x="reward_token_kl", counted="given_counted"),
    "wrap:reward:kl": Use("reward_less_kl", x="@", beta="reward_beta"),
}
REWARD_TOKENS: Bindings = {
    **REWARD_K1,
    "wrap:token_reward:kl": Use("penalised_token_reward", x="@", reward_kl="reward_token_kl"),
}
REWARD_KL: Choices = {
    f"{place}_{estimate}": {**where, **bound}
    for place, where in (("summed", REWARD_SUM), ("token", REWARD_TOKENS))
    for estimate, bound in ESTIMATES.items()
}
