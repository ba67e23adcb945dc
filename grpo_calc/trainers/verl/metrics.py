"""What verl logs of a batch, under its own names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grpo_calc.trainers.figures import given, per_token
from grpo_calc.trainers.verl.mismatch import correction_figures

Array = Any


def metrics(worked: Any) -> Mapping[str, float]:
    """The actor's figures, those of advantages and lengths, and those of the rollout correction."""
    counts = (
        per_token(worked, "kept") > 0
        if worked.recipe.roles["rejection"] != "none"
        else np.ones(worked.table.token_count, bool)
    )
    figures = dict(_actor(worked, counts)) if worked.has("loss") else {}
    if worked.has("advantage"):
        figures |= _batch(worked, counts)
    return {**figures, **correction_figures(worked)}


def _mean(x: Array, counts: Array, eps: float) -> float:
    """The mean over the tokens that count; where none does 0, or undefined where nothing is added to the count."""
    with np.errstate(invalid="ignore"):
        return float(np.sum(np.where(counts, x, 0.0)) / (counts.sum() + eps))


def _actor(worked: Any, counts: Array) -> Mapping[str, float]:
    roles, parameters = worked.recipe.roles, worked.recipe.parameters
    held = roles["ratio"] == "token_clamped"
    log_ratio = given(worked, "logp_new") - given(worked, "logp_old")
    if held:
        log_ratio = np.clip(log_ratio, -parameters["log_ratio_clamp"], parameters["log_ratio_clamp"])
    drift = np.abs(log_ratio) if roles["objective"] == "kl_cov" else -log_ratio
    figures = {"actor/pg_loss": float(worked["policy_loss"])}
    if not (roles["objective"] == "policy_gradient" and roles["mismatch_of"] == "old"):
        figures["actor/ppo_kl"] = _mean(drift, counts, parameters["length_eps"])
    figures |= {name: _mean(x, counts, parameters["length_eps"]) for name, x in _clipped(worked, log_ratio).items()}
    if worked.has("kl"):
        figures |= {"actor/kl_loss": float(worked["kl"]), "actor/kl_coef": parameters["beta"]}
    return figures


def _clipped(worked: Any, log_ratio: Array) -> Mapping[str, Array]:
    """Which tokens the clip fraction counts, and the lower one, by the gate or else the objective."""
    roles, parameters = worked.recipe.roles, worked.recipe.parameters
    objective, gate = roles["objective"], roles["gate"]
    nothing = np.zeros(len(log_ratio))
    found: tuple[Array, Array]
    if gate.startswith("covariance"):
        found = (1 - per_token(worked, "gate"), None)
    elif gate != "none":
        allowed = per_token(worked, "gate")
        found = (1 - allowed, (np.exp(log_ratio) > parameters["ratio_cap"]) * allowed)
    elif objective == "dual_clip":
        found = (per_token(worked, "clipped"), per_token(worked, "dual_clipped"))
    elif objective == "gmpo_plus":
        outside = (log_ratio < -parameters["eps_low"]) | (log_ratio > parameters["eps_high"])
        sign = np.sign(per_token(worked, "advantage"))
        found = (outside * (sign > 0), outside * (sign < 0))
    elif objective in ("ppo", "cispo", "sapo"):
        clipped = nothing if objective == "sapo" else per_token(worked, "clipped")
        found = (clipped, None if roles["ratio"] == "token" else nothing)
    else:
        found = (None, None)
    names = ("actor/pg_clipfrac", "actor/pg_clipfrac_lower")
    return {name: tokens for name, tokens in zip(names, found, strict=True) if tokens is not None}


def _batch(worked: Any, counts: Array) -> Mapping[str, float]:
    """Advantages over tokens, and lengths of completions."""
    advantage = per_token(worked, "advantage")[counts]
    lengths = np.diff(worked.table.token_offsets).astype(float)
    figures = {"critic/advantages": advantage, "response_length": lengths}
    if "reward" in worked.table.completions:
        figures["critic/score"] = worked.table.completions["reward"]
    return {
        f"{name}/{kind}": float(getattr(np, kind)(x))
        for name, x in figures.items()
        if len(x)
        for kind in ("mean", "max", "min")
    }
