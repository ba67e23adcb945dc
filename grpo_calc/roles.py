"""The roles of a recipe: for each role its choices, and for each choice the names it binds. Data, and one composition.

Names lead to columns. A plain string leads one name to another (``token_kl`` to ``k3``); a :class:`Use` gives a name a
column of its own, with some of the column's parameters read from other names; :class:`Absent` takes a name away.

Roles with many choices have a file of their own in ``choices``. The chain roles plug into, from ratio to gradient::

    log_ratio -> ratio -> (objective) token_objective
        -> [weights] weighted_objective -> completion_objective -> surrogate_objective
    slope = d(-token_objective) in log r, or directly in log pi
        -> [weights] -> shared_slope -> policy_gradient -> gradient
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from grpo_calc.bind import Absent, Binding, Bindings, Use, weighted
from grpo_calc.choices.filters import DROPPED
from grpo_calc.choices.kl import KL_CLAMP, KL_GRADIENT, KL_SCORE, OLD_KL
from grpo_calc.choices.likelihood import LIKELIHOOD
from grpo_calc.choices.masks import ENTROPY, ENTROPY_BONUS, GMPO, OFF_POLICY, SAMPLER_PLACE, counted_on_policy
from grpo_calc.choices.mismatch import MISMATCH
from grpo_calc.choices.objective import DIRECT, GATE, NO_CLIP, OBJECTIVE
from grpo_calc.choices.padded import PADDED
from grpo_calc.choices.ratio import RATIO
from grpo_calc.choices.reduction import DIVISOR, KL_DIVISOR, KL_REDUCTION, REDUCTION, SHARED
from grpo_calc.choices.reject import (
    MISMATCH_CLAMP,
    MISMATCH_OF,
    REJECTION_PLACE,
    RULES,
    SAMPLER_NORM,
    Rejections,
    bounds,
)
from grpo_calc.choices.returns import ADVANTAGE_FACTOR, BASELINE, COUNTS, LONE, TO_GO, WHITEN_TOKENS
from grpo_calc.choices.returns import REWARD_KL as RETURN_KL
from grpo_calc.choices.rewards import OVERLONG, REWARD_CLIP, REWARD_KL, WHITEN
from grpo_calc.choices.sampler import SAMPLER_GATE
from grpo_calc.choices.scale import SCALE, STD_EPS
from grpo_calc.choices.shaped import RETURNS, SHAPED_CLIP, WHITEN_SHAPED

NO_KL: Bindings = {
    "token_kl": Absent(),
    "kl": Absent(),
    "completion_kl": Absent(),
    "kl_slope": Absent(),
    "kl_gradient": Absent(),
    "token_loss": Use("token_loss_without_kl"),
    "token_gradient": Use("token_gradient_without_kl"),
    "gradient": Use("gradient_without_kl"),
    "objective": "surrogate_objective",
}


def _counted() -> Bindings:
    """Where some tokens do not count: their gradient is 0, whatever their own slope is."""
    return {f"wrap:{name}:counted": Use("where_counted", x="@") for name in ("policy_gradient", "kl_gradient")}


def _sampler(log_weight: str, bound: str) -> Bindings:
    """A correction for another sampling engine: which mismatch, and how it is bounded."""
    return {
        "log_weight": log_weight if log_weight == "log_mismatch" else Use(log_weight, counted="given_counted"),
        "mismatch": Use("mismatch", x="log_weight"),
        "sampler_weight": Use(bound, x="mismatch"),
        **weighted("sampler", "sampler_weight"),
    }


CISPO: Bindings = {
    "token_objective": Use("cispo_objective"),
    "slope": "cispo_slope",
    "clipped_ratio": "cispo_weight",
    "clipped": "cispo_capped",
    **DIRECT,
}

# Each role: its choices, and what each choice binds. Roles are merged in this order; a later one may rebind.
ROLES: Mapping[str, Mapping[str, Bindings]] = {
    "baseline": {
        "given": {"advantage": "advantage_given"},
        "group_mean": {"baseline": "group_mean"},
        "leave_one_out": {"baseline": "leave_one_out_mean"},
        "batch_mean": {"advantage": Use("reward_above", baseline="batch_mean")},
        "group_norm_single": {"advantage": Use("group_norm_single")},
        **BASELINE,
    },
    "scale": SCALE,
    "std_eps": STD_EPS,
    # What these bind depends on the rewards' names.
    "rewards": {"sum_first": {}, "normalise_each": {}, "normalise_first": {}},
    "unscored": {"left_out": {}, "zero": {}},
    "reward_clip": REWARD_CLIP,
    "overlong": OVERLONG,
    "reward_kl": {**REWARD_KL, **RETURN_KL},
    "to_go": TO_GO,
    "lone": LONE,
    "advantage_factor": ADVANTAGE_FACTOR,
    "shaped_clip": SHAPED_CLIP,
    "returns": RETURNS,
    "whiten": {**WHITEN, "tokens": WHITEN_TOKENS, **WHITEN_SHAPED},
    "old": {"given": {}, "new": {"logp_old": "held_logp"}, "sampler": {"logp_old": "logp_sampler"}},
    "ratio": RATIO,
    "objective": {
        "ppo": {"slope": "surrogate_slope"},
        "dual_clip": {"token_objective": Use("dual_clip_objective"), "slope": "dual_clip_slope"},
        "delta": {"surrogate": Use("delta_surrogate"), "slope": "delta_slope"},
        "clipped": {
            "token_objective": "clipped_surrogate",
            "slope": Use("surrogate_slope", clipped="outside"),
            "clipped": "outside",
        },
        "sapo": {"token_objective": Use("sapo_objective"), "slope": "sapo_slope", **NO_CLIP},
        "cispo": {**CISPO, "cispo_weight": "cispo_clip_weight"},
        "cispo_cap": {**CISPO, "cispo_weight": "cispo_cap_weight"},
        "vespo": {**CISPO, **NO_CLIP, "cispo_weight": "vespo_weight", "vespo_correction": "no_correction"},
        "gmpo": {**GMPO, "clipped_log_ratio": Use("one_sided_log_ratio"), **NO_CLIP, "clipped": "log_clipped"},
        "policy_gradient": {
            "token_objective": Use("policy_gradient_objective"),
            "slope": "policy_gradient_slope",
            **DIRECT,
            **NO_CLIP,
        },
        **OBJECTIVE,
    },
    "objective_scale": {"none": {}, "factor": weighted("scale", "objective_factor")},
    "gate": GATE,
    "sampler": {
        "none": {},
        "token_truncate": _sampler("log_mismatch", "truncated_weight"),
        "token_mask": _sampler("log_mismatch", "masked_weight"),
        "sequence_truncate": _sampler("log_mismatch_sum", "truncated_weight"),
        "sequence_mask": _sampler("log_mismatch_sum", "masked_weight"),
        "mean_truncate": _sampler("log_mismatch_mean", "truncated_weight"),
        "mean_mask": _sampler("log_mismatch_mean", "masked_weight"),
        "token": {**_sampler("log_mismatch", "mismatch"), "sampler_weight": "mismatch"},
        "sequence": {**_sampler("log_mismatch_sum", "mismatch"), "sampler_weight": "mismatch"},
        "mean": {**_sampler("log_mismatch_mean", "mismatch"), "sampler_weight": "mismatch"},
    },
    "sampler_gate": SAMPLER_GATE,
    "sampler_place": SAMPLER_PLACE,
    "mismatch_of": MISMATCH_OF,
    "mismatch_clamp": MISMATCH_CLAMP,
    "sampler_norm": SAMPLER_NORM,
    "off_policy": OFF_POLICY,
    "entropy_bonus": ENTROPY_BONUS,
    "entropy": ENTROPY,
    "truncated": {"counted": {}, "dropped": {}},  # dropped from the table before anything is worked
    "counted": {
        "all": {},
        "mask": {"counted": Use("unmasked"), **_counted()},
        "near_old": {"counted": Use("near_old"), **_counted()},
        "on_policy": {**_counted(), **counted_on_policy("logp_old")},
        "on_policy_of_sampler": {**_counted(), **counted_on_policy("logp_sampler")},
    },
    "rejection": Rejections(),
    "rejection_place": REJECTION_PLACE,
    "kl_base": {"ref": {"logp_base": "logp_ref"}, "old": {"logp_base": "logp_old"}},
    "reduction": {
        **REDUCTION,
        "completion_each": {**REDUCTION["completion_mean"], "completion_objective": "weighted_objective"},
        **PADDED,
    },
    "divisor_of": DIVISOR,
    "kl_reduction": KL_REDUCTION,
    "kl_divisor_of": KL_DIVISOR,
    "accumulation": {
        "one": {},
        "steps": {
            f"wrap:{name}:accumulation": Use("accumulated", x="@") for name in ("surrogate_objective", "kl", "across")
        },
    },
    "dropped": DROPPED,
    "kl": {
        "k1": {"token_kl": "k1", "kl_slope": "k1_slope"},
        "k2": {"token_kl": "k2", "kl_slope": "k1"},
        "k3": {"token_kl": "k3", "kl_slope": "k3_slope"},
        "abs": {"token_kl": "k1_absolute", "kl_slope": "k1_absolute_slope"},
        "proxy": {
            "token_kl": "kl_proxy",
            "kl_slope": "proxy_through_ratio",
            "own_kl_gradient": Use("kl_gradient", kl_slope="own_proxy_slope"),
            "own_base_slope": "own_proxy_slope",
        },
        "none": NO_KL,
    },
    "kl_score": KL_SCORE,
    "kl_clamp": KL_CLAMP,
    "kl_gradient": KL_GRADIENT,
    "kl_weight": {
        "none": {},
        "ratio": {
            "wrap:token_kl:ratio": Use("ratio_weighted_kl", x="@"),
            "wrap:kl_slope:ratio": Use("ratio_weighted_kl_slope", slope="@"),
            "own_kl_gradient": "own_ratio_kl_gradient",
        },
        "sampler": {
            f"wrap:{kl}:sampler": Use("weighted", x="@", weight="sampler_weight") for kl in ("token_kl", "kl_slope")
        },
    },
    "old_kl": OLD_KL,
    "likelihood": LIKELIHOOD,
}

NEUTRAL: Mapping[str, str] = MappingProxyType(
    {
        "baseline": "group_mean",
        "scale": "group_std",
        "std_eps": "add",
        "rewards": "sum_first",
        "unscored": "left_out",
        "reward_clip": "none",
        "overlong": "none",
        "reward_kl": "none",
        "to_go": "carry",
        "lone": "zero",
        "advantage_factor": "none",
        "shaped_clip": "none",
        "returns": "none",
        "whiten": "none",
        "old": "given",
        "ratio": "token",
        "objective": "ppo",
        "objective_scale": "none",
        "gate": "none",
        "sampler": "none",
        "sampler_gate": "none",
        "sampler_place": "objective",
        "mismatch_of": "old",
        "mismatch_clamp": "none",
        "sampler_norm": "none",
        "off_policy": "none",
        "entropy_bonus": "none",
        "entropy": "all",
        "truncated": "counted",
        "counted": "all",
        "rejection": "none",
        "rejection_place": "nowhere",
        "kl_base": "ref",
        "reduction": "completion_mean",
        "divisor_of": "own",
        "kl_reduction": "same",
        "kl_divisor_of": "own",
        "dropped": "none",
        "accumulation": "one",
        "kl": "k3",
        "kl_score": "none",
        "kl_clamp": "none",
        "kl_gradient": "own",
        "kl_weight": "none",
        "old_kl": "none",
        "likelihood": "none",
    }
)
"""Each role's choice in GRPO as published: what a variant changes."""

TOLD = ("baseline", "scale", "ratio", "objective", "kl", "reduction")
"""The roles that a reader is always told; any other only where it is not the neutral choice."""

# The parameters: default, least and greatest value.
PARAMETERS: Mapping[str, tuple[float, float, float]] = {
    "eps_low": (0.2, 0.0, math.inf),
    "eps_high": (0.2, 0.0, math.inf),
    "beta": (0.04, -math.inf, math.inf),
    "adv_eps": (1e-4, 0.0, math.inf),
    "ddof": (1.0, 0.0, 1.0),
    "tie_tol": (1e-12, 0.0, 1.0),
    "max_length": (math.nan, 1e-300, math.inf),
    "divisor": (math.nan, 1e-300, math.inf),
    "dual_clip": (3.0, 1 + 1e-12, math.inf),
    "delta": (math.nan, 0.0, math.inf),
    "ratio_cap": (2.0, 0.0, math.inf),
    "tau_pos": (1.0, 1e-300, math.inf),
    "tau_neg": (1.05, 1e-300, math.inf),
    "sampler_cap": (2.0, 0.0, math.inf),
    "sampler_floor": (0.0, 0.0, math.inf),
    "off_policy_limit": (math.nan, -math.inf, math.inf),
    "top_entropy": (0.2, 0.0, 1.0),
    "entropy_coef": (0.01, -math.inf, math.inf),
    "entropy_steps": (1.0, 1e-300, math.inf),
    "accumulated_steps": (1.0, 1e-300, math.inf),
    "reward_shift": (0.0, -math.inf, math.inf),
    "reward_scale": (1.0, -math.inf, math.inf),
    "reward_low": (-10.0, -math.inf, math.inf),
    "reward_high": (10.0, -math.inf, math.inf),
    "vespo_k_pos": (2.0, -math.inf, math.inf),
    "vespo_lambda_pos": (3.0, -math.inf, math.inf),
    "vespo_k_neg": (3.0, -math.inf, math.inf),
    "vespo_lambda_neg": (2.0, -math.inf, math.inf),
    "log_ratio_clamp": (20.0, 0.0, 700.0),
    "kl_clamp_in": (20.0, 0.0, 700.0),
    "kl_clamp_out": (10.0, 0.0, math.inf),
    "kl_weight_cap": (10.0, 0.0, math.inf),
    "old_beta": (0.0, -math.inf, math.inf),
    "length_eps": (1e-8, 0.0, math.inf),
    "kl_divisor": (math.nan, 1e-300, math.inf),
    "overlong_max": (math.nan, 0.0, math.inf),
    "overlong_cache": (math.nan, 1e-300, math.inf),
    "gamma": (1.0, 0.0, 1.0),
    "reward_beta": (0.001, -math.inf, math.inf),
    "lone_scale": (1.0, 1e-300, math.inf),
    "whiten_eps": (1e-8, 0.0, math.inf),
    "log_ratio_cap": (10.0, -700.0, 700.0),
    "objective_factor": (1.0, -math.inf, math.inf),
    "trust_low": (math.nan, 0.0, math.inf),
    "trust_high": (math.nan, 0.0, math.inf),
    "cov_low": (1.0, -math.inf, math.inf),
    "cov_high": (5.0, -math.inf, math.inf),
    "cov_share": (0.0002, 0.0, 1.0),
    "cov_coef": (1.0, -math.inf, math.inf),
    "dro_beta": (math.nan, 0.0, math.inf),
    "mismatch_clamp_at": (20.0, 0.0, 700.0),
    **{name: (math.nan, 0.0, math.inf) for rule in RULES for name in bounds(rule)},
    "nll_weight": (0.0, -math.inf, math.inf),
    "drift_limit": (math.nan, 0.0, math.inf),
    "gate_low": (0.0, -math.inf, math.inf),
    "gate_high": (math.nan, -math.inf, math.inf),
}


def compose(bindings: Bindings) -> Bindings:
    """The bindings with every wrap put around its name, in the order of the roles.

    A choice that changes a value other roles give binds ``wrap:<name>:<role>`` to a :class:`Use` that reads ``@``, the
    value so far; that value keeps a name of its own, ``<name>_before_<role>``. A name that the recipe has not stays
    absent.
    """
    defaults = {
        "weighted_objective": "token_objective",
        "own_kl_gradient": "kl_gradient",
        "own_ratio_kl_gradient": "kl_gradient",
        "own_base_slope": "kl_slope_before_ratio",
        "scale_std": "group_std",
        **COUNTS,
        **SHARED,
        **MISMATCH,
    }
    if bindings.get("counted") not in (None, "kept"):  # counted for another reason than that the rest was rejected
        defaults |= {"given_counted": "counted", "advantage_counted": "counted"}
    merged: dict[str, Binding] = {**defaults, **bindings}
    for key in [key for key in merged if key.startswith("wrap:")]:
        _, name, role = key.split(":")
        wrap = merged.pop(key)
        if not isinstance(wrap, Use) or isinstance(merged.get(name), Absent):
            continue
        before = f"{name}_before_{role}"
        merged[before] = merged.get(name, Use(name))
        merged[name] = Use(wrap.column, **{p: before if n == "@" else n for p, n in wrap.renamed.items()})
    return merged
