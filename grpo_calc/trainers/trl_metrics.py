"""What TRL logs, under its own names: means and extremes of columns that are worked anyway."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grpo_calc.column import Level
from grpo_calc.trainers.option import Version, parsed

Floats = NDArray[np.float64]
CLIPPED = ("ppo", "delta", "gmpo")


def metrics(worked: Any) -> dict[str, float]:
    """The figures TRL logs for one batch. A recipe that is not TRL's own is logged as the latest version would."""
    own = worked.recipe.own
    at = parsed(own.version) if own is not None and own.trainer.name.startswith("trl") else parsed("1.16.0")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nothing to average
        found = {**_rewards(worked), **_sampler(worked), **_loss(worked, at)}
    return {name: float(value) for name, value in found.items()}


def _std(values: Floats) -> Any:
    """The sample standard deviation of what is known; undefined for fewer than two."""
    known = values[~np.isnan(values)]
    return np.std(known, ddof=1) if known.size > 1 else np.nan


def _rewards(worked: Any) -> dict[str, Any]:
    """The rewards by function, their weighted sum, and the share of completions whose group (or batch) says nothing."""
    table, recipe = worked.table, worked.recipe
    if not worked.has("reward") or recipe.roles["baseline"] == "given":
        return {}
    found = {}
    for name in recipe.rewards:
        each = table.completions[f"reward_{name}"] if f"reward_{name}" in table.completions else worked["reward_given"]
        found |= {f"rewards/{name}/mean": np.nanmean(each), f"rewards/{name}/std": _std(each)}
    reward = worked["reward_given"] if worked.has("reward_given") else worked["reward"]
    found |= {"reward": np.nanmean(reward), "reward_std": _std(reward)}
    shaped = worked["score"] if worked.has("score") else worked["reward"]
    if recipe.roles["rewards"] == "normalise_first" or recipe.roles["scale"] == "batch_std":
        spread = np.array([_std(shaped) if shaped.size > 1 else 0.0])
    else:
        bounds = zip(table.group_offsets[:-1], table.group_offsets[1:], strict=True)
        group = np.array([_std(shaped[a:b]) if b - a > 1 else 0.0 for a, b in bounds])
        spread = np.repeat(group, np.diff(table.group_offsets))
    return {**found, "frac_reward_zero_std": np.mean(np.isclose(spread, 0.0))}


def _sampler(worked: Any) -> dict[str, Any]:
    """The mismatch with the sampler, and the weight that corrects it."""
    if worked.recipe.roles["sampler"] == "none":
        return {}
    gap = abs(worked["log_mismatch"])
    weight = worked["sampler_weight"]
    found = {}
    for name, values in (("sampling_logp_difference", gap), ("importance_sampling_ratio", weight)):
        values = values if values.size else np.zeros(1)
        found |= {f"sampling/{name}/{of.__name__}": of(values) for of in (np.min, np.mean, np.max)}
    del found["sampling/sampling_logp_difference/min"]
    return found


def _loss(worked: Any, at: Version) -> dict[str, Any]:
    """KL, entropy, clipping."""
    roles, table = worked.recipe.roles, worked.table
    found: dict[str, Any] = {}
    if at < (0, 16):
        found |= {"completion_length": np.mean(worked["length"])}
        return found | ({"kl": np.mean(_by_completion(worked, "token_kl"))} if worked.has("token_kl") else {})
    if roles["reward_kl"] != "none":
        found["kl"] = _mean(worked, "old_k1")
    elif worked.has("token_kl"):
        found["kl"] = _mean(worked, "token_kl")
    if "entropy" in table.tokens and at >= (0, 20):
        found["entropy"] = np.sum(table.tokens["entropy"]) / max(table.token_count, 1)
    if roles["entropy_bonus"] != "none":
        steps = worked.recipe.parameters["accumulated_steps"] if roles["reduction"] != "token_mean" or _bnpo(worked) else 1.0
        found |= {"policy_loss": -worked["objective_before_entropy"] * steps, "entropy_coef": worked.recipe.parameters["entropy_coef"]}
    if roles["objective"] in CLIPPED:
        found |= _clipping(worked, at)
    elif roles["objective"] == "cispo_cap":
        capped = (worked["ratio"] > worked.recipe.parameters["ratio_cap"]).astype(float)
        found["cispo_clip_ratio"] = _mean(worked, "ratio", capped * (_beside(worked, "advantage", "ratio") > 0))
    elif roles["objective"] == "vespo":
        found["vespo/phi_seq_mean"] = np.mean(worked["vespo_weight"])
    return found


def _bnpo(worked: Any) -> bool:
    own = worked.recipe.own
    return own is not None and own.options.get("loss_type") == "bnpo"


def _clipping(worked: Any, at: Version) -> dict[str, Any]:
    """How many tokens (sequences, under a sequence ratio) lie beyond the clip range on the side that clips.

    From 1.9 on the least and greatest are of completions; before, of processes: here the batch.
    """
    parameters, geometric = worked.recipe.parameters, worked.recipe.roles["objective"] == "gmpo"
    name = "log_ratio" if geometric else "ratio"
    value, centre = worked[name], 0.0 if geometric else 1.0
    if worked.recipe.roles["objective"] == "delta":
        value = np.minimum(value, parameters["delta"])
    advantage = _beside(worked, "advantage", name)
    low = ((value < centre - parameters["eps_low"]) & (advantage < 0)).astype(float)
    high = ((value > centre + parameters["eps_high"]) & (advantage > 0)).astype(float)
    means = [_mean(worked, name, flags) for flags in (low, high, low + high)]
    if at < (0, 17):
        beyond = worked["surrogate"] < worked["clipped_surrogate"]  # a bug of 0.16: it counts the side that is not clipped
        return {"clip_ratio": _mean(worked, name, beyond.astype(float))}
    if at < (1, 9):
        least, most = means[0], means[1]
    else:
        least, most = np.nanmin(_by_completion(worked, name, low)), np.nanmax(_by_completion(worked, name, high))
    return {
        "clip_ratio/low_mean": means[0],
        "clip_ratio/high_mean": means[1],
        "clip_ratio/region_mean": means[2],
        "clip_ratio/low_min": least,
        "clip_ratio/high_max": most,
    }


def _beside(worked: Any, name: str, other: str) -> Floats:
    """A completion's column laid out for the rows of another."""
    values: Floats = worked[name]
    if worked.level(name) is Level.COMPLETION and worked.level(other) is Level.TOKEN:
        return np.repeat(values, np.diff(worked.table.token_offsets))
    return values


def _mean(worked: Any, name: str, values: Floats | None = None) -> Any:
    """The mean over the rows of a column's level; 0 where there is none."""
    values = worked[name] if values is None else values
    return np.sum(values) / max(values.size, 1)


def _by_completion(worked: Any, name: str, values: Floats | None = None) -> Floats:
    """A column's mean in each completion; undefined in an empty one. A completion's own value as it is."""
    values = worked[name] if values is None else values
    if worked.level(name) is not Level.TOKEN:
        return np.asarray(values)
    offsets = worked.table.token_offsets
    totals = np.diff(np.concatenate(([0.0], np.cumsum(values)))[offsets])
    return np.asarray(totals / np.diff(offsets))
