"""slime (source of August 2026): ppo_utils, reduced as the mean over samples of their token means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grpo_calc.trainers.figures import given, per_token, token_mean, within
from grpo_calc.trainers.trainer import Chosen, Trainer, Version, option

Options = Mapping[str, Any]

OPTIONS = {
    "advantage_estimator": option("grpo", "grpo, gspo (one ratio a sequence) or cispo", kind=("grpo", "gspo", "cispo")),
    "grpo_std_normalization": option(True, "rewards are divided by the group's std + 1e-6"),
    "eps_clip": option(0.2, "clip range below 1"),
    "eps_clip_high": option(None, "clip range above 1; none: as below"),
    "eps_clip_c": option(None, "dual-clip bound; none: off"),
    "use_kl_loss": option(False, "the loss has a KL term"),
    "kl_loss_coef": option(0.0, "its coefficient"),
    "kl_loss_type": option("k1", "its estimate; low_var_kl is k3 held in +-10", kind=("k1", "k2", "k3", "low_var_kl")),
    "use_unbiased_kl": option(False, "the KL is weighted by the token's ratio"),
    "use_tis": option(False, "the policy part is weighted by old over sampling probability"),
    "tis_clip": option(2.0, "upper bound of that weight"),
    "tis_clip_low": option(0.0, "lower bound of that weight"),
    "custom_tis_function_path": option(None, "none: held in the bounds; icepop_function: dropped outside", kind=str),
    "use_opsm": option(False, "off-policy sequences with A < 0 are masked"),
    "opsm_delta": option(1e-4, "their limit of mean log-drift"),
    "use_rollout_logprobs": option(False, "the sampling engine's log-probs are the old ones"),
    "calculate_per_token_loss": option(False, "token mean instead"),
    "entropy_coef": option(0.0, "entropy bonus, reduced as the loss", ignored=True),
}
ALIASES = {name.replace("_", "-"): name for name in OPTIONS if "_" in name}


def choose(options: Options, _version: Version) -> Chosen:
    """The roles and parameters that slime's options come to."""
    return Chosen({**_policy(options), **_sampler(options), **_kl(options)})


def _policy(options: Options) -> dict[str, Any]:
    low, high, dual = options["eps_clip"], options["eps_clip_high"], options["eps_clip_c"]
    estimator = options["advantage_estimator"]
    return {
        "baseline": "group_mean",
        "scale": "group_std" if options["grpo_std_normalization"] else "none",
        "std_eps": "add",
        "adv_eps": 1e-6,
        "ddof": 1,
        "old": "sampler" if options["use_rollout_logprobs"] else "given",
        "ratio": "sequence" if estimator == "gspo" else "token",
        "objective": "cispo" if estimator == "cispo" else "ppo" if dual is None else "dual_clip",
        "eps_low": low,
        "eps_high": low if high is None else high,
        "reduction": "token_mean" if options["calculate_per_token_loss"] else "completion_mean",
        **({} if dual is None else {"dual_clip": dual}),
    }


def _sampler(options: Options) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if options["use_opsm"]:
        changes |= {"off_policy": "against_old", "off_policy_limit": options["opsm_delta"]}
    if options["use_tis"]:
        icepop = "icepop" in (options["custom_tis_function_path"] or "")
        changes |= {
            "sampler": "token_mask" if icepop else "token_truncate",
            "sampler_floor": options["tis_clip_low"],
            "sampler_cap": options["tis_clip"],
        }
    return changes


def _kl(options: Options) -> dict[str, Any]:
    if not options["use_kl_loss"]:
        return {"kl": "none", "beta": 0}
    kind = options["kl_loss_type"]
    return {
        "beta": options["kl_loss_coef"],
        "kl": "k3" if kind == "low_var_kl" else kind,
        "kl_score": "token_ratio" if options["use_unbiased_kl"] else "none",
        "kl_clamp": "out" if kind == "low_var_kl" else "none",
        "kl_clamp_out": 10.0,
    }


def metrics(worked: Any) -> dict[str, float]:
    """What slime logs of a loss; each figure is reduced as the loss is."""
    roles = worked.recipe.roles
    drift = worked["logp_old"] - worked["logp_new"]
    if roles["ratio"] == "sequence":
        drift = np.repeat(within(worked, drift), np.diff(worked.table.token_offsets))
    clipped = per_token(worked, "clipped")
    logged = {
        "loss": worked["loss"],
        "pg_loss": worked["policy_loss"],
        "pg_clipfrac": _reduced(worked, clipped),
        "ppo_kl": _reduced(worked, drift),
    }
    if worked.has("kl"):
        logged["kl_loss"] = worked["kl"]
    if "logp_sampler" in worked.table.tokens:
        difference = abs(worked["logp_old"] - given(worked, "logp_sampler"))
        logged["train_rollout_logprob_abs_diff"] = _reduced(worked, difference)
    if roles["sampler"] != "none":
        ratio, weight = per_token(worked, "mismatch"), per_token(worked, "sampler_weight")
        logged |= {
            "ois": _reduced(worked, np.exp(-drift)),
            "tis": _reduced(worked, ratio),
            "tis_abs": _reduced(worked, abs(ratio - 1)),
            "tis_clipfrac": _reduced(worked, weight != ratio),
        }
    if roles["off_policy"] != "none":
        masked = (1 - worked["on_policy_enough"]) * (np.diff(worked.table.token_offsets) > 0)
        logged["opsm_clipfrac"] = float(masked.sum())
    return logged


def _reduced(worked: Any, x: Any) -> float:
    return token_mean(x) if worked.recipe.roles["reduction"] == "token_mean" else float(within(worked, x).mean())


TRAINER = Trainer(
    name="slime",
    latest="2026.08.21",
    versions=("2026.08.21",),
    options=OPTIONS,
    choose=choose,
    source="slime, commit 624b824a: utils/ppo_utils.py, backends/megatron_utils/loss.py",
    en="slime's policy loss",
    zh="slime 的策略损失",
    metrics=metrics,
    aliases=ALIASES,
)
