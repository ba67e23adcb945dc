"""torchrl 0.14: MCAdvantage, GRPOLoss and CISPOLoss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grpo_calc.trainers.figures import given, per_token
from grpo_calc.trainers.trainer import Chosen, Trainer, Version, option

Options = Mapping[str, Any]

CLASSES = ("GRPOLoss", "DAPO", "CISPOLoss")
AGGREGATIONS = {"token_mean": "token_mean", "prompt_mean": "completion_mean", "none": "token_sum"}
BONUS = {"token_mean": "over_tokens", "prompt_mean": "over_completions", "none": "summed"}
OPTIONS = {
    "cls": option("GRPOLoss", "CISPOLoss: the clipped surrogate alone, no log-prob, nothing detached", kind=CLASSES),
    "clip_epsilon": option([0.2], "clip range on both sides, or below and above 1", form="BOTH | LOW,HIGH"),
    "aggregation": option("token_mean", "how tokens are joined; none: the sum of them", kind=tuple(AGGREGATIONS)),
    "entropy_bonus": option(True, "the loss has an entropy term"),
    "entropy_coeff": option(0.01, "its coefficient"),
    "kl_to_ref_coeff": option(None, "coefficient of k3 against the reference; none: off"),
    "kl_to_inference_coeff": option(None, "coefficient of k3 against the sampling policy; none: off"),
    "kl_mask_threshold": option(None, "tokens whose squared log-ratio, halved, is above do not count; none: off"),
    "positions_counted": option("all", "a KL is a mean over padding too (a bug); kept: not", kind=("all", "kept")),
    "reduction": option(None, "none is aggregation none; the others change nothing", kind=("none", "mean", "sum")),
}


def choose(options: Options, _version: Version) -> Chosen:
    """The roles and parameters that torchrl's options come to."""
    clip = options["clip_epsilon"]
    aggregation = "none" if options["reduction"] == "none" else options["aggregation"]
    threshold = options["kl_mask_threshold"]
    changes: dict[str, Any] = {
        "baseline": "group_mean",
        "scale": "group_std",
        "std_eps": "at_least",
        "adv_eps": 1e-6,
        "ddof": 1,
        "objective": "clipped" if options["cls"] == "CISPOLoss" else "ppo",
        "eps_low": clip[0],
        "eps_high": clip[-1],
        "reduction": AGGREGATIONS[aggregation],
        **_kl(options),
    }
    if threshold:
        changes |= {"counted": "near_old", "drift_limit": threshold}
    if options["entropy_bonus"]:
        changes |= {"entropy_bonus": BONUS[aggregation], "entropy_coef": options["entropy_coeff"]}
    return Chosen(changes, ignored=frozenset(() if options["reduction"] == "none" else ("reduction",)))


def _kl(options: Options) -> dict[str, Any]:
    ref, inference = options["kl_to_ref_coeff"], options["kl_to_inference_coeff"]
    over = {
        "kl_reduction": "token_mean",
        **({"kl_divisor_of": "positions"} if options["positions_counted"] == "all" else {}),
    }
    return {
        **({"kl": "k3", "beta": ref, **over} if ref is not None and ref > 0 else {"kl": "none", "beta": 0}),
        **({"old_kl": "positions", "old_beta": inference} if inference is not None else {}),
    }


def metrics(worked: Any) -> dict[str, float]:
    """What torchrl logs of a loss. The clip fraction and the approximate KL are means over padding too."""
    log_ratio = worked["log_ratio"]
    ratio, positions = np.exp(log_ratio), float(worked.table.completion_count * worked.table.positions.max())
    outside = per_token(worked, "outside")
    logged = {
        "loss_objective": worked["policy_loss"],
        "clip_fraction": float(outside.sum() / positions),
        "kl_approx": float(-log_ratio.sum() / positions),
        "ESS": _effective_share(ratio[worked["counted"] > 0] if worked.has("counted") else ratio),
    }
    if worked.has("kl"):
        logged |= {"kl_to_ref": worked["kl"], "loss_kl_to_ref": worked.recipe.parameters["beta"] * worked["kl"]}
    if worked.recipe.roles["old_kl"] != "none":
        logged["kl_to_inference"] = worked["old_kl"]
        logged["loss_kl_to_inference"] = worked.recipe.parameters["old_beta"] * worked["old_kl"]
    if worked.recipe.roles["entropy_bonus"] != "none":
        given(worked, "entropy")
        logged["entropy"] = float((worked.table.masked or worked.table).tokens["entropy"].sum() / positions)
        logged["loss_entropy"] = -worked.recipe.parameters["entropy_coef"] * worked["entropy_bonus"]
    return logged


def _effective_share(ratio: Any) -> float:
    """The effective number of tokens that the ratios leave, over their number."""
    return float(ratio.sum() ** 2 / (ratio**2).sum() / len(ratio))


TRAINER = Trainer(
    name="torchrl",
    latest="0.14.1",
    versions=("0.14.1",),
    options=OPTIONS,
    choose=choose,
    source="torchrl 0.14.1: objectives/llm/grpo.py",
    en="torchrl's GRPO and CISPO losses",
    zh="torchrl 的 GRPO 与 CISPO 损失",
    metrics=metrics,
)
