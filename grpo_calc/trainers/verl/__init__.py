"""verl 0.2 to 0.9.1: what its options mean for advantage, loss and logged figures."""

from __future__ import annotations

from grpo_calc.trainers.trainer import Trainer
from grpo_calc.trainers.verl.choose import choose
from grpo_calc.trainers.verl.metrics import metrics
from grpo_calc.trainers.verl.options import ALIASES, OPTIONS, VERSIONS

TRAINER = Trainer(
    name="verl",
    latest="0.9.1",
    versions=VERSIONS,
    options=OPTIONS,
    choose=choose,
    source="verl, trainer/ppo/core_algos.py and rollout_corr_helper.py",
    en="verl",
    zh="verl",
    metrics=metrics,
    aliases=ALIASES,
)
