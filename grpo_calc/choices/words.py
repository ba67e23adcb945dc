"""Other words for roles, parameters and their values, as trainers and reports of trouble spell them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

KEY_ALIASES: Mapping[str, str] = {
    "adv": "advantage",
    "agg": "reduction",
    "aggregation": "reduction",
    "loss_agg_mode": "reduction",
    "ratio_level": "ratio",
    "importance_sampling_level": "ratio",
    "epsilon": "eps",
    "clip_range": "eps",
    "clip_eps": "eps",
    "clip_ratio": "eps",
    "epsilon_high": "eps_high",
    "clip_ratio_high": "eps_high",
    "epsilon_low": "eps_low",
    "clip_ratio_low": "eps_low",
    "dual_clip_c": "dual_clip",
    "clip_ratio_c": "dual_clip",
    "ratio_clip_c": "dual_clip",
    "singleton": "lone",
    "clamp_input": "kl_clamp_in",
    "clamp_output": "kl_clamp_out",
    "kl_penalty": "kl",
    "kl_type": "kl",
    "kl_estimator": "kl",
    "kl_loss_type": "kl",
    "kl_loss_coef": "beta",
    "max_completion_length": "max_length",
    "loss_scale_factor": "max_length",
    "L_max": "overlong_max",
    "L_cache": "overlong_cache",
    "overlong_buffer_len": "overlong_cache",
    "sapo_temperature_pos": "tau_pos",
    "sapo_temperature_neg": "tau_neg",
    "off_policy_mask_threshold": "off_policy_limit",
    "scale_rewards": "divide_by",
    "missing_reward": "missing",
    "weights": "reward_weights",
}
VALUE_ALIASES: Mapping[str, Mapping[str, str]] = {
    "reduction": {
        "seq-mean-token-mean": "completion_mean",
        "token-mean": "token_mean",
        "seq-mean-token-sum": "completion_sum",
        "token-sum": "token_sum",
        "seq-mean-token-sum-norm": "constant_length",
        "group-token-mean": "group_token_mean",
    },
    "ratio": {
        "sequence_geometric": "sequence",
        "geometric": "sequence",
        "product": "sequence_product",
        "gspo_token": "sequence_token",
    },
    "kl": {"kl_proxy": "proxy", "(r-1)^2": "proxy", "low_var_kl": "k3", "mse": "k2"},
    "scale": {"std": "group_std", "loo_std": "leave_one_out_std"},
    "std_eps": {"clamp": "at_least", "root": "inside_root", "plus": "add"},
    "lone": {"raw_reward": "raw"},
}

# Keys that stand for several at once: what each value changes. An earlier key gives way to a later one, and all of them
# to a role or parameter said by its own name. Where a key is a role's own, its other values are the role's.
SPREAD_KEYS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "advantage": {
        "given": {"baseline": "given", "scale": "none"},
        "group_mean": {"baseline": "group_mean", "scale": "none"},
        "group_mean_std": {"baseline": "group_mean", "scale": "group_std"},
        "group_mean_batch_std": {"baseline": "group_mean", "scale": "batch_std"},
        "leave_one_out": {"baseline": "leave_one_out", "scale": "none"},
        "loo": {"baseline": "leave_one_out", "scale": "none"},
        "rloo": {"baseline": "leave_one_out", "scale": "none"},
        "batch_mean": {"baseline": "batch_mean", "scale": "none"},
        "none": {"baseline": "none", "scale": "none"},
        "gdpo": {"baseline": "group_mean", "scale": "group_std", "rewards": "normalise_first"},
        "maxrl": {"baseline": "group_mean", "scale": "group_mean"},
    },
    "divide_by": {
        "none": {"scale": "none"},
        "false": {"scale": "none"},
        "std": {"scale": "group_std"},
        "true": {"scale": "group_std"},
        "group": {"scale": "group_std"},
        "group_std": {"scale": "group_std"},
        "batch": {"scale": "batch_std"},
        "batch_std": {"scale": "batch_std"},
        # Where the others are all alike there is nothing to divide by.
        "loo_std": {"scale": "leave_one_out_std", "std_eps": "add_if_any"},
        "leave_one_out_std": {"scale": "leave_one_out_std", "std_eps": "add_if_any"},
        "mean": {"scale": "group_mean"},
        "group_mean": {"scale": "group_mean"},
    },
    "missing": {key: {"unscored": "left_out"} for key in ("skip term", "skip_term", "skip")},
    "kl_in_reward": {"true": {"reward_kl": "summed_k1", "beta": 0.0}, "false": {"reward_kl": "none"}},
    "kl": {f"{kl}+": {"kl": kl, "kl_gradient": "k2"} for kl in ("k1", "abs", "k3")}
    | {"low_var_kl+": {"kl": "k3", "kl_gradient": "k2"}},
}


class Implied(NamedTuple):
    """A parameter that is given: its role's choice ``was`` becomes ``is_now``, unless the role is given too."""

    role: str
    was: str
    is_now: str


IMPLIED: Mapping[str, Implied] = {
    "log_ratio_clamp": Implied("ratio", "token", "token_clamped"),
    "dual_clip": Implied("objective", "ppo", "dual_clip"),
    "delta": Implied("objective", "ppo", "delta"),
    "kl_clamp_in": Implied("kl_clamp", "none", "in_out"),
    "kl_clamp_out": Implied("kl_clamp", "none", "in_out"),
    "overlong_cache": Implied("overlong", "none", "soft"),
    "off_policy_limit": Implied("off_policy", "none", "against_old"),
    "top_entropy": Implied("entropy", "all", "top"),
}

# A coefficient whose place the recipe says: of the KL in the loss, or of the one taken from the reward.
KL_COEFFICIENT = "kl_coef"

# Words that are taken and change nothing: what is worked here is the whole batch, whatever steps it is split into.
STEPS = ("grad_accum_steps", "gradient_accumulation_steps")


NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def strict_number(value: Any) -> float:
    """A number as files write it, or one of Python's; NaN for anything else.

    >>> strict_number(" 1e-3"), strict_number(2), strict_number("1_000"), strict_number("")
    (0.001, 2.0, nan, nan)
    """
    if isinstance(value, bool) or (isinstance(value, str) and not NUMBER.fullmatch(value.strip(" \t\r\n"))):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def word(value: Any) -> str:
    """A choice as a word; true and false are told apart from nothing else.

    >>> word(True), word("k3")
    ('true', 'k3')
    """
    told = str(value)
    return told.lower() if told in ("True", "False") else told
