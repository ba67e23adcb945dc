"""Unsloth's GRPO loss, as its outputs show it: TRL's advantages and clip, with and without delta; k3 in the loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grpo_calc.trainers.trainer import Chosen, Trainer, Version, option
from grpo_calc.trainers.trl_metrics import by_completion

OVER = {"grpo": "completion_mean", "bnpo": "token_mean", "dapo": "token_mean", "dr_grpo": "constant_length"}

OPTIONS = {
    "loss_type": option("grpo", "how the loss is reduced", kind=("grpo", "bnpo", "dapo", "dr_grpo")),
    "beta": option(0.04, "coefficient of the KL to the reference; 0 leaves it out"),
    "epsilon_low": option(0.2, "clip range below 1"),
    "epsilon_high": option(0.2, "clip range above 1"),
    "delta": option(None, "upper bound of the ratio on the unclipped side"),
    "importance_sampling_level": option(
        "token", "a ratio a token, or one a sequence (GSPO)", kind=("token", "sequence")
    ),
    "max_completion_length": option(8192, "the constant length of dr_grpo"),
}


def choose(o: Mapping[str, Any], _at: Version) -> Chosen:
    """The roles of Unsloth's loss."""
    changes = {
        "eps_low": o["epsilon_low"],
        "eps_high": o["epsilon_high"],
        "ratio": o["importance_sampling_level"],
        **({"objective": "ppo"} if o["delta"] is None else {"objective": "delta", "delta": o["delta"]}),
        "reduction": OVER[o["loss_type"]],
        **({"max_length": o["max_completion_length"]} if o["loss_type"] == "dr_grpo" else {}),
        "beta": o["beta"],
        "kl": "none" if o["beta"] == 0 else "k3",
    }
    return Chosen(changes, ignored=frozenset() if o["loss_type"] == "dr_grpo" else frozenset({"max_completion_length"}))


def metrics(worked: Any) -> dict[str, float]:
    """What the loss function returns beside the loss: the mean length, and the mean of completions' mean KL."""
    found = {"mean_completion_length": float(np.mean(worked["length"]))}
    if worked.has("token_kl"):
        found["mean_kl"] = float(np.mean(by_completion(worked, "token_kl")))
    return found


TRAINER = Trainer(
    name="unsloth",
    latest="2026.8",
    versions=("2026.8",),
    options=OPTIONS,
    choose=choose,
    metrics=metrics,
    source="unsloth-zoo, grpo_compute_loss: what it gives, not how",
    en="Unsloth GRPO",
    zh="Unsloth GRPO",
)
