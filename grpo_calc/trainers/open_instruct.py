"""open-instruct (source of August 2026): grouped advantages, compute_rho_correction and compute_grpo_loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grpo_calc.trainers.figures import per_token, token_mean
from grpo_calc.trainers.trainer import Chosen, Trainer, Version, option

Options = Mapping[str, Any]

NO_BOUND = 1e300
"""What 0, "no bound", comes to for an upper bound."""

ADVANTAGES: Mapping[str, Mapping[str, Any]] = {
    "centered": {"scale": "none"},
    "standard": {"scale": "group_std", "std_eps": "add", "adv_eps": 1e-8, "ddof": 0},
}
ESTIMATORS = {0: "k1", 1: "k2", 2: "k3", 3: "k1"}

OPTIONS = {
    "advantage_normalization_type": option(
        "centered", "reward minus group mean; standard: over std + 1e-8", kind=tuple(ADVANTAGES)
    ),
    "loss_fn": option(
        "dapo", "dapo: clipped; cispo: the ratio, capped, is a weight of the log-prob", kind=("dapo", "cispo")
    ),
    "clip_lower": option(0.2, "clip range below 1"),
    "clip_higher": option(0.272, "clip range above 1"),
    "beta": option(0.05, "KL coefficient"),
    "kl_estimator": option(2, "0: k1, 1: k2, 2: k3, 3: ratio times k1", kind=tuple(ESTIMATORS)),
    "load_ref_policy": option(True, "there is a reference policy; without one, no KL"),
    "loss_denominator": option(
        "token", "token, or a constant that the sum over tokens is divided by", kind=str, form="token | NUMBER"
    ),
    "use_vllm_logprobs": option(False, "the sampling engine's log-probs are the old ones"),
    "use_rho_correction": option(True, "the policy part is weighted by rho, old over sampling probability"),
    "rho_clamp_lower_bound": option(0.0, "lower bound of rho; 0: none"),
    "rho_clamp_upper_bound": option(2.0, "upper bound of rho; 0: none"),
    "rho_mask_lower_bound": option(0.0, "tokens whose statistic is below are dropped; 0: none"),
    "rho_mask_upper_bound": option(0.0, "tokens whose statistic is above are dropped; 0: none"),
    "rho_mask_sequence_level": option(False, "rho is a sequence's geometric mean"),
    "rho_mask_tv_divergence": option(
        False, "the statistic is a sequence's mean |rho - 1|, for tokens that move away only"
    ),
}


def choose(options: Options, _version: Version) -> Chosen:
    """The roles and parameters that open-instruct's options come to."""
    return Chosen({**_policy(options), **_rho(options), **_kl(options)})


def _policy(options: Options) -> dict[str, Any]:
    cispo = options["loss_fn"] == "cispo"
    constant = options["loss_denominator"] != "token"
    return {
        "baseline": "group_mean",
        **ADVANTAGES[options["advantage_normalization_type"]],
        "old": "sampler" if options["use_vllm_logprobs"] else "given",
        "objective": "cispo_cap" if cispo else "ppo",
        "ratio_cap": 1 + options["clip_higher"],
        "eps_low": options["clip_lower"],
        "eps_high": options["clip_higher"],
        "reduction": "given_divisor" if constant else "token_mean",
        **({"divisor": float(options["loss_denominator"])} if constant else {}),
    }


def _rho(options: Options) -> dict[str, Any]:
    if not options["use_rho_correction"] or options["use_vllm_logprobs"]:
        return {}
    low, high = options["rho_mask_lower_bound"], options["rho_mask_upper_bound"]
    mean = options["rho_mask_sequence_level"]
    gate = "none"
    if low or high:
        gate = "mean_deviation_away" if options["rho_mask_tv_divergence"] else "mean_ratio" if mean else "ratio"
    return {
        "sampler": "mean_truncate" if mean else "token_truncate",
        "sampler_floor": options["rho_clamp_lower_bound"],
        "sampler_cap": options["rho_clamp_upper_bound"] or NO_BOUND,
        "sampler_gate": gate,
        "gate_low": low,
        "gate_high": high or NO_BOUND,
        "mismatch_clamp": "held",
        "mismatch_clamp_at": 10.0,
    }


def _kl(options: Options) -> dict[str, Any]:
    if not options["load_ref_policy"]:
        return {"kl": "none", "beta": 0}
    return {
        "beta": options["beta"],
        "kl": ESTIMATORS[options["kl_estimator"]],
        "kl_score": "token_ratio" if options["kl_estimator"] == 3 else "none",
        "kl_clamp": "in_all",
        "kl_clamp_in": 40.0,
    }


def metrics(worked: Any) -> dict[str, float]:
    """What open-instruct logs of a loss; a token whose rho is 0 is not counted as clipped."""
    clipped = per_token(worked, "clipped")
    logged = {"loss": worked["loss"], "ratio": token_mean(per_token(worked, "ratio"))}
    if worked.recipe.roles["sampler"] != "none":
        weight = per_token(worked, "sampler_weight")
        held = (
            weight if worked.recipe.roles["sampler_gate"] == "none" else per_token(worked, "sampler_weight_before_gate")
        )
        clipped = clipped * (weight != 0)
        logged |= {
            "val/rho_weight": token_mean(weight),
            "val/rho_clipfrac": token_mean(held != per_token(worked, "mismatch")),
        }
    logged["clipfrac"] = token_mean(clipped)
    if worked.has("token_kl"):
        logged["kl"] = token_mean(per_token(worked, "token_kl"))
    return logged


TRAINER = Trainer(
    name="open-instruct",
    latest="2026.08.20",
    versions=("2026.08.20",),
    options=OPTIONS,
    choose=choose,
    source="open-instruct, commit e6c3044a: grpo_utils.py, model_utils.py",
    en="open-instruct's GRPO loss",
    zh="open-instruct 的 GRPO 损失",
    metrics=metrics,
)
