"""prime-rl (August 2026): a gate by probability difference, a squared log-ratio, all tokens in one mean."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from grpo_calc.trainers.figures import given, per_token
from grpo_calc.trainers.trainer import Chosen, Option, Trainer, Version, option

OPTIONS: Mapping[str, Option] = {
    "dppo_mask_low": option(0.2, "fall in probability beyond which a token with A <= 0 is left out"),
    "dppo_mask_high": option(0.2, "rise in probability beyond which a token with A > 0 is left out"),
    "adv_tau": option(1.0, "factor of the advantage"),
    "kl_tau": option(1e-3, "coefficient of the squared log-ratio"),
}


def choose(o: Mapping[str, Any], _: Version) -> Chosen:
    """The changes to the grpo recipe: the old policy is the inference engine's; k2 is half the squared log-ratio."""
    return Chosen(
        {
            "baseline": "group_mean",
            "scale": "none",
            "ratio": "token",
            "objective": "ratio",
            "gate": "total_variation",
            "trust_low": o["dppo_mask_low"],
            "trust_high": o["dppo_mask_high"],
            "objective_scale": "factor" if o["adv_tau"] != 1 else "none",
            "objective_factor": o["adv_tau"],
            "reduction": "token_mean",
            "kl": "k2",
            "kl_base": "old",
            "beta": 2 * o["kl_tau"],
        }
    )


def per_sample(worked: Any) -> list[dict[str, float]]:
    """The figures of each completion, in the table's order: means over its masked and its other tokens."""
    advantage = per_token(worked, "advantage")
    log_ratio = given(worked, "logp_new") - given(worked, "logp_old")
    mismatch = np.exp(log_ratio) - log_ratio - 1
    shut = per_token(worked, "gate") == 0
    difference = np.exp(given(worked, "logp_new")) - np.exp(given(worked, "logp_old"))
    parameters = worked.recipe.parameters
    high = (advantage > 0) & (difference > parameters["trust_high"])
    low = (advantage < 0) & (difference < -parameters["trust_low"])
    offsets = worked.table.token_offsets

    def over(x: Any, mask: Any, rows: slice) -> float:
        count = mask[rows].sum()
        return float(x[rows][mask[rows]].sum() / max(count, 1))

    everything = np.ones(len(shut), dtype=bool)
    figures = {
        "masked_mismatch_kl": (mismatch, shut),
        "unmasked_mismatch_kl": (mismatch, ~shut),
        "is_masked": (shut, everything),
        "is_masked_low": (low, everything),
        "is_masked_high": (high, everything),
        "masked_advantage_positive": (advantage > 0, shut),
        "masked_advantage_negative": (advantage < 0, shut),
    }
    spans = [slice(a, b) for a, b in pairwise(offsets)]
    return [{name: over(np.asarray(x, float), mask, rows) for name, (x, mask) in figures.items()} for rows in spans]


def metrics(worked: Any) -> Mapping[str, float]:
    """The means over completions of each completion's figures."""
    samples = per_sample(worked)
    return {name: float(np.mean([sample[name] for sample in samples])) for name in samples[0]}


TRAINER = Trainer(
    name="prime-rl",
    latest="2026.8",
    versions=("2026.8",),
    options=OPTIONS,
    choose=choose,
    source="prime-rl, git 559b4477 (2026-08-21), default_loss_fn",
    en="prime-rl",
    zh="prime-rl",
    metrics=metrics,
    aliases={f"trainer.loss.{name}": name for name in OPTIONS} | {f"loss.{name}": name for name in OPTIONS},
)
