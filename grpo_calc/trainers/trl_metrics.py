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
    found: dict[str, Any] = {}
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
    found: dict[str, Any] = {}
    for name, values in (("sampling_logp_difference", gap), ("importance_sampling_ratio", weight)):
        some = values if values.size else np.zeros(1)
        found |= {f"sampling/{name}/{of.__name__}": of(some) for of in (np.min, np.mean, np.max)}
    del found["sampling/sampling_logp_difference/min"]
    return found


def _loss(worked: Any, at: Version) -> dict[str, Any]:
    """KL, entropy, clipping."""
    roles, table = worked.recipe.roles, worked.table
    found: dict[str, Any] = {}
    if at < (0, 16):
        found |= {"completion_length": np.mean(worked["length"])}
        return found | ({"kl": np.mean(by_completion(worked, "token_kl"))} if worked.has("token_kl") else {})
    if roles["reward_kl"] != "none":
        found["kl"] = mean(worked, "old_k1")
    elif worked.has("token_kl"):
        found["kl"] = mean(worked, "token_kl")
    if "entropy" in table.tokens and at >= (0, 20):
        found["entropy"] = mean(worked, "entropy")
    if roles["entropy_bonus"] != "none":
        steps = 1.0 if _per_token(worked) else worked.recipe.parameters["accumulated_steps"]
        found |= {
            "policy_loss": -worked["objective_before_entropy"] * steps,
            "entropy_coef": worked.recipe.parameters["entropy_coef"],
        }
    if roles["objective"] in CLIPPED and at < (0, 17):
        beyond = (
            worked["surrogate"] < worked["clipped_surrogate"]
        )  # a bug of 0.16: it counts the side that is not clipped
        found["clip_ratio"] = mean(worked, "ratio", beyond.astype(float))
    elif roles["objective"] in CLIPPED:
        found |= clipping(worked, by_batch=at < (1, 9))
    elif roles["objective"] == "cispo_cap":
        found["cispo_clip_ratio"] = capped(worked)
    elif roles["objective"] == "vespo":
        found["vespo/phi_seq_mean"] = np.mean(worked["vespo_weight"])
    return found


def _per_token(worked: Any) -> bool:
    """Whether the loss is divided by the tokens of the generation batch, so that no step is left to divide by."""
    own = worked.recipe.own
    return own is not None and own.options.get("loss_type") in ("dapo", "cispo", "vespo")


def capped(worked: Any, *, by_token: bool = False) -> Any:
    """The share with A > 0 and the weight at the cap: of tokens; of sequences by sequence, unless ``by_token``."""
    rows = "logp_new" if by_token else "ratio"
    beyond = _beside(worked, "ratio", rows) > worked.recipe.parameters["ratio_cap"]
    return mean(worked, rows, (beyond & (_beside(worked, "advantage", rows) > 0)).astype(float))


def clipping(worked: Any, *, by_batch: bool, by_token: bool = False) -> dict[str, Any]:
    """How many tokens lie beyond the clip range where it clips; sequences under a sequence ratio, unless ``by_token``.

    The least and greatest are of completions; ``by_batch``: of processes, here the one batch.
    """
    parameters, objective = worked.recipe.parameters, worked.recipe.roles["objective"]
    name, centre = ("log_ratio", 0.0) if objective == "gmpo" else ("ratio", 1.0)
    rows = "logp_new" if by_token else name
    value, advantage = _beside(worked, name, rows), _beside(worked, "advantage", rows)
    value = np.minimum(value, parameters["delta"]) if objective == "delta" else value
    low = ((value < centre - parameters["eps_low"]) & (advantage < 0)).astype(float)
    high = ((value > centre + parameters["eps_high"]) & (advantage > 0)).astype(float)
    least, most = mean(worked, rows, low), mean(worked, rows, high)
    found = {"low_mean": least, "high_mean": most, "region_mean": mean(worked, rows, low + high)}
    if not by_batch:
        least, most = np.nanmin(by_completion(worked, rows, low)), np.nanmax(by_completion(worked, rows, high))
    return {f"clip_ratio/{which}": figure for which, figure in {**found, "low_min": least, "high_max": most}.items()}


def _beside(worked: Any, name: str, other: str) -> Floats:
    """A completion's column laid out for the rows of another."""
    values: Floats = worked[name]
    if worked.level(name) is Level.COMPLETION and worked.level(other) is Level.TOKEN:
        return np.repeat(values, np.diff(worked.table.token_offsets))
    return values


def mean(worked: Any, name: str, values: Floats | None = None) -> Any:
    """The mean over the rows of a column's level, of tokens those that count; 0 where there is none."""
    values = worked[name] if values is None else values
    if worked.level(name) is Level.TOKEN and worked.has("counted"):
        values = values[worked["counted"] > 0]
    return np.sum(values) / max(values.size, 1)


def by_completion(worked: Any, name: str, values: Floats | None = None) -> Floats:
    """A column's mean in each completion; undefined in an empty one. A completion's own value as it is."""
    values = worked[name] if values is None else values
    if worked.level(name) is not Level.TOKEN:
        return np.asarray(values)
    offsets = worked.table.token_offsets
    weight = worked["counted"] if worked.has("counted") else np.ones(values.size)
    totals, counts = (np.diff(np.concatenate(([0.0], np.cumsum(x)))[offsets]) for x in (values * weight, weight))
    return np.asarray(totals / counts)
