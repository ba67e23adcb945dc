"""verl's rollout correction: weights and rejections from the mismatch of trained policy and sampler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grpo_calc.choices.reject import RULES
from grpo_calc.say import Problem
from grpo_calc.trainers.option import Version


def corrected(o: Mapping[str, Any], mode: str, at: Version) -> dict[str, Any]:
    """The roles of the correction: before advantages are worked, or (bypass mode) inside the loss, with the new policy.

    In bypass mode the ratio already holds the correction: weights are only logged, but for ``loss_type=reinforce``.
    """
    if "rollout_is" not in o:
        return {}
    bypass = mode == "bypass_mode"
    clipped = bypass and o["loss_type"] == "ppo_clip"
    changes: dict[str, Any] = {"mismatch_of": "new" if bypass else "old"}
    if o["rollout_is"] is not None or o["rollout_rs"] is not None:
        changes |= {"mismatch_clamp": "held", "mismatch_clamp_at": 20.0}
    if o["rollout_is"] is not None and o["rollout_is_threshold"] is not None:
        low, high = weight_bounds(o["rollout_is_threshold"])
        changes |= {
            "sampler": f"{o['rollout_is']}_{'truncate' if low is None else 'mask'}",
            "sampler_cap": high,
            "sampler_floor": low or 0.0,
            "sampler_place": "logged" if clipped else "geometric" if mode == "geo_mean" else "objective",
        }
        if o["rollout_is_batch_normalize"]:
            changes["sampler_norm"] = {"token": "token_mean", "sequence": "completion_mean"}[o["rollout_is"]]
    if o["rollout_rs"] is not None:
        reset = o["adv_estimator"] == "reinforce_plus_plus" and at < (0, 9)
        changes |= rejections(o["rollout_rs"], o["rollout_rs_threshold"])
        changes["rejection_place"] = "policy" if bypass else "before_advantage_reset" if reset else "before_advantage"
    return changes


def weight_bounds(threshold: Any) -> tuple[float | None, float]:
    """Lower bound (none: weights are truncated, not left out) and upper bound of a threshold.

    >>> weight_bounds("2.0"), weight_bounds("0.5_2")
    ((None, 2.0), (0.5, 2.0))
    """
    low, _, high = str(threshold).rpartition("_")
    bounds = (_positive("rollout_is_threshold", low) if low else None, _positive("rollout_is_threshold", high))
    if bounds[0] is not None and bounds[0] > bounds[1]:
        raise _bad("rollout_is_threshold", threshold, "low_high with low <= high")
    return bounds


def rejections(rules: str, thresholds: Any) -> dict[str, Any]:
    """The rejection role and the bounds of its rules.

    >>> rejections("token_k1,seq_max_k3", "1.25,0.5")["token_k1_low"]
    0.8
    """
    names = list(dict.fromkeys(rule.strip() for rule in rules.split(",") if rule.strip()))
    unknown = [name for name in names if name not in RULES]
    if unknown or not names:
        raise _bad("rollout_rs", rules, ", ".join(RULES))
    given = [part.strip() for part in str(thresholds or "").split(",") if part.strip()]
    if len(given) not in (1, len(names)):
        raise _bad("rollout_rs_threshold", thresholds, f"one bound, or {len(names)} with commas between")
    changes: dict[str, Any] = {"rejection": ",".join(names)}
    for name, text in zip(names, given if len(given) == len(names) else given * len(names), strict=True):
        low, _, high = text.rpartition("_")
        changes[f"{name}_high"] = upper = _positive("rollout_rs_threshold", high)
        if name.endswith("k1"):
            changes[f"{name}_low"] = lower = _positive("rollout_rs_threshold", low) if low else 1 / upper
            if lower > upper:
                raise _bad("rollout_rs_threshold", text, "low_high with low <= high")
        elif low:
            raise _bad("rollout_rs_threshold", text, f"one upper bound for {name}")
    return changes


def _positive(option: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not 0 < number < float("inf"):
        raise _bad(option, text, "a number above 0, or low_high")
    return number


def _bad(option: str, seen: Any, takes: str) -> Problem:
    return Problem("trainer.bad_value", trainer="verl", option=option, seen=seen, takes=takes)
