"""Trainer presets: any trainer's own options become a recipe of the same roles as every published variant."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from grpo_calc.recipe import Recipe
from grpo_calc.say import Problem
from grpo_calc.trainers.trainer import Trainer

NAMES = {
    "trl": "trl",
    "trl-gmpo": "trl:GMPO",
    "trl-rloo": "trl:RLOO",
    "liger": "liger",
    "unsloth": "unsloth",
    "ms-swift": "ms_swift",
    "verl": "verl",
    "areal": "areal",
    "prime-rl": "prime_rl",
    "openrlhf": "openrlhf",
    "nemo-rl": "nemo_rl",
    "slime": "slime",
    "roll": "roll",
    "open-instruct": "open_instruct",
    "torchrl": "torchrl",
}
"""Each trainer's name, and the file that describes it (and which of the file's, where it describes several)."""


def trainer(name: str) -> Trainer:
    """A trainer by name."""
    if name not in NAMES:
        raise Problem("trainer.unknown", name=name, known=", ".join(NAMES))
    file, _, constant = NAMES[name].partition(":")
    found: Trainer = getattr(import_module(f"grpo_calc.trainers.{file}"), constant or "TRAINER")
    return found


def recipe(name: str, version: str | None = None, **options: Any) -> Recipe:
    """The recipe of a trainer's version with its own options: ``recipe("trl", "1.16.0", loss_type="dapo")``."""
    return trainer(name).recipe(version, **options)
