"""The figures of verl's rollout correction: weights, rejections, and how far trained policy and sampler are apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grpo_calc.choices.reject import RULES
from grpo_calc.trainers.figures import given, per_token

Array = Any
SAFE = 20.0
"""Log-ratios are held in +-20 before they are exponents."""


def correction_figures(worked: Any) -> Mapping[str, float]:
    """Every ``rollout_corr/`` figure; none where the batch has no sampler, or the recipe does not correct for it."""
    roles = worked.recipe.roles
    corrects = roles["sampler"] != "none" or roles["rejection"] != "none"
    bypass = roles["mismatch_of"] == "new"
    if not bypass and not corrects:
        return {}
    trained, sampler = ("logp_new", "logp_old") if bypass else ("logp_old", "logp_sampler")
    batch = _Batch(worked, given(worked, trained), given(worked, sampler))
    figures = {**_weights(worked, batch), **_rejections(worked, batch), **_apart(batch)}
    return {f"rollout_corr/{name}": float(value) for name, value in figures.items()}


class _Batch:
    """Log-probs of two policies, and means as verl takes them: over counts plus its small number."""

    def __init__(self, worked: Any, trained: Array, sampler: Array) -> None:
        self.offsets = worked.table.token_offsets
        self.lengths = np.diff(self.offsets).astype(float)
        self.eps = worked.recipe.parameters["length_eps"]
        self.trained, self.sampler = trained, sampler
        self.log_ratio = trained - sampler
        self.held = np.clip(self.log_ratio, -SAFE, SAFE)

    def sums(self, x: Array) -> Array:
        """The sum over each completion."""
        return np.diff(np.concatenate(([0.0], np.cumsum(x)))[self.offsets])

    def means(self, x: Array) -> Array:
        """The mean over each completion; 0 where it is empty."""
        return self.sums(x) / (self.lengths + self.eps)

    def largest(self, x: Array) -> Array:
        """The largest of each completion; 0 where it is empty."""
        pairs = zip(self.offsets[:-1], self.offsets[1:], strict=True)
        return np.array([x[a:b].max() if b > a else 0.0 for a, b in pairs])

    def mean(self, x: Array) -> float:
        """The mean over all tokens."""
        return float(np.sum(x) / (len(x) + self.eps))

    def held_std(self, x: Array, low: float, high: float) -> float:
        """The standard deviation of values held between bounds."""
        held = np.clip(x, low, high)
        return float(np.sqrt(max(self.mean(held**2) - self.mean(held) ** 2, 0.0))) if len(x) > 1 else 0.0


def _std(x: Array) -> float:
    return float(np.std(x, ddof=1)) if len(x) > 1 else 0.0


def _weights(worked: Any, batch: _Batch) -> Mapping[str, float]:
    """The figures of the weights, before they are divided by their mean."""
    roles, parameters = worked.recipe.roles, worked.recipe.parameters
    if roles["sampler"] == "none":
        return {}
    by_token, normed = roles["sampler"].startswith("token"), roles["sampler_norm"] != "none"
    high, banded = parameters["sampler_cap"], roles["sampler"].endswith("mask")
    low = parameters["sampler_floor"] if banded else 1 / high
    weight = per_token(worked, "sampler_weight_before_norm" if normed else "sampler_weight")
    raw = per_token(worked, "mismatch")
    logs = batch.log_ratio if by_token else batch.sums(batch.log_ratio)
    by_completion, raw_by_completion = batch.means(weight), batch.means(raw)
    seen = raw if by_token else np.exp(logs)
    held = np.clip(weight, 0, high)
    figures = {
        "rollout_is_mean": batch.mean(weight),
        "rollout_is_max": weight.max() if by_token else np.exp(min(logs.max(), SAFE)),
        "rollout_is_min": weight.min() if by_token else np.exp(logs.min()),
        "rollout_is_ratio_fraction_high": np.mean(seen > high),
        "rollout_is_ratio_fraction_low": np.mean(seen < low),
        "rollout_is_std": batch.held_std(weight, 0, high),
        "rollout_is_eff_sample_size": 1 / batch.mean((held / (batch.mean(held) + 1e-8)) ** 2),
        "rollout_is_seq_mean": by_completion.mean(),
        "rollout_is_seq_std": _std(by_completion),
        "rollout_is_seq_max": by_completion.max(),
        "rollout_is_seq_min": by_completion.min(),
        "rollout_is_seq_max_deviation": np.abs(by_completion - 1).max(),
        "rollout_is_seq_fraction_high": np.mean(raw_by_completion > high),
        "rollout_is_seq_fraction_low": np.mean(raw_by_completion < low),
    }
    if banded:
        figures["rollout_is_oob_ratio"] = batch.mean((raw < low) | (raw > high))
    if normed:
        factor = float(worked["sampler_mean"])
        figures["rollout_is_batch_norm_factor"] = factor if factor > 1e-8 else 1.0
    return figures


def _rejections(worked: Any, batch: _Batch) -> Mapping[str, float]:
    """The figures of each rejection rule, and of all together."""
    if worked.recipe.roles["rejection"] == "none":
        return {}
    figures: dict[str, float] = {}
    for rule in worked.recipe.roles["rejection"].split(","):
        figures |= {f"rollout_rs_{rule}_{name}": value for name, value in _rule(worked, batch, rule).items()}
    dropped = 1 - per_token(worked, "kept")
    figures["rollout_rs_masked_fraction"] = batch.mean(dropped)
    figures["rollout_rs_seq_masked_fraction"] = np.mean(batch.sums(dropped) > 0)
    return figures


def _rule(worked: Any, batch: _Batch, rule: str) -> Mapping[str, float]:
    """The figures of one rule: of its statistic by token and by completion, and of what it masks."""
    parameters = worked.recipe.parameters
    signed = rule.endswith("k1")
    high, low = parameters[f"{rule}_high"], parameters.get(f"{rule}_low", 1.0)
    high, low = (np.log(high), np.log(low)) if signed else (high, 0.0)
    join = RULES[rule][0]
    by_token = per_token(worked, f"statistic@{rule}")
    full = batch.lengths > 0
    estimate = per_token(worked, f"mismatch_{rule[-2:]}") if join else by_token
    joined = {"": batch.means, "sum_within": batch.sums, "mean_within": batch.means, "max_within": batch.largest}[join]
    completions = joined(estimate)[full]
    rows = completions if join else by_token
    dropped = 1 - per_token(worked, f"kept@{rule}")
    figures = {
        "mean": batch.mean(by_token),
        "max": rows.max(),
        "min": rows.min(),
        "fraction_high": np.mean(rows > high),
        "fraction_low": np.mean(rows < low) if signed else 0.0,
        "std": batch.held_std(by_token, low, high),
        "seq_mean": completions.mean(),
        "seq_std": _std(completions),
        "seq_max": completions.max(),
        "seq_min": completions.min(),
        "seq_max_deviation": np.abs(completions).max(),
        "seq_fraction_high": np.mean(completions > high),
        "masked_fraction": batch.mean(dropped),
        "seq_masked_fraction": np.mean(batch.sums(dropped)[full] > 0),
    }
    return {**figures, "seq_fraction_low": np.mean(completions < low)} if signed else figures


def _apart(batch: _Batch) -> Mapping[str, float]:
    """How far the two policies are apart."""
    trained, sampler = batch.means(batch.trained), batch.means(batch.sampler)
    difference = sampler - trained
    with np.errstate(over="ignore"):
        k3 = np.exp(batch.log_ratio) - batch.log_ratio - 1
    return {
        "training_ppl": np.exp(-trained).mean(),
        "training_log_ppl": -trained.mean(),
        "kl": batch.mean(-batch.log_ratio),
        "k3_kl": batch.mean(k3),
        "rollout_ppl": np.exp(-sampler).mean(),
        "rollout_log_ppl": -sampler.mean(),
        "log_ppl_diff": difference.mean(),
        "log_ppl_abs_diff": np.abs(difference).mean(),
        "log_ppl_diff_max": difference.max(),
        "log_ppl_diff_min": difference.min(),
        "ppl_ratio": np.exp(difference).mean(),
        "chi2_token": batch.mean(np.exp(batch.held) ** 2) - 1,
        "chi2_seq": np.mean(np.exp(2 * np.clip(batch.sums(batch.log_ratio), -SAFE, SAFE))) - 1,
    }
