"""Inputs at the edge, and what five trainers' own losses make of them beside ours."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grpo_calc import trainers
from grpo_calc.recipe import Recipe
from grpo_calc.work import Worked, work
from tests.golden.case import Golden, padded, padded_table

FOLDER = Path(__file__).parent / "edge"

VERL: Mapping[str, Any] = {"clip_ratio_c": 3.0}
OPENRLHF: Mapping[str, Any] = {"algo.kl.init_coef": 0.0}
TRL: Mapping[str, Any] = {"beta": 0.0, "epsilon": 0.2}
LOSSES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "trl grpo": ("trl", {**TRL, "loss_type": "grpo"}),
    "trl dapo": ("trl", {**TRL, "loss_type": "dapo"}),
    "trl gspo": ("trl", {**TRL, "loss_type": "grpo", "importance_sampling_level": "sequence"}),
    "trl cispo": ("trl", {**TRL, "loss_type": "cispo", "epsilon_high": 2.0}),
    "trl sapo": ("trl", {**TRL, "loss_type": "sapo"}),
    "verl token-mean": ("verl", {**VERL, "loss_agg_mode": "token-mean"}),
    "verl seq-mean-token-mean": ("verl", {**VERL, "loss_agg_mode": "seq-mean-token-mean"}),
    "verl gspo": ("verl", {**VERL, "loss_mode": "gspo", "loss_agg_mode": "seq-mean-token-mean"}),
    "verl cispo": ("verl", {**VERL, "loss_mode": "cispo"}),
    "verl geo_mean": ("verl", {**VERL, "loss_mode": "geo_mean"}),
    "openrlhf token": ("openrlhf", {**OPENRLHF}),
    "openrlhf sample": ("openrlhf", {**OPENRLHF, "actor.loss_agg_mode": "seq-mean-token-mean"}),
    "liger grpo": ("liger", {"beta": 0.0, "epsilon_low": 0.2, "epsilon_high": 0.2, "loss_type": "grpo"}),
    "areal": ("areal", {"eps_clip": 0.2}),
}
"""Each loss of the files: the trainer, and the options it was run with (the harness gives them once for all files)."""

LOGGED: Mapping[str, str] = {"ppo_clip_ratio": "clip_ratio"}
"""Names of the files for what a trainer logs by another."""


@dataclass(frozen=True)
class Edge:
    """One loss on one input: theirs and ours, the gradients laid out as the inputs were.

    ``tied``: a ratio is on the clip's bound but for rounding; single precision may take it to either side.
    """

    theirs: float
    ours: float
    their_gradient: np.ndarray
    our_gradient: np.ndarray
    their_metrics: Mapping[str, float]
    our_metrics: Mapping[str, float]
    tied: np.ndarray

    def both_finite(self) -> np.ndarray:
        """Where their gradient can be compared: it and their loss are numbers, and no ratio is on a bound."""
        finite = np.isfinite(self.their_gradient) & np.isfinite(self.theirs)
        return np.asarray(finite & ~self.tied)


def inputs() -> tuple[str, ...]:
    """The names of the inputs."""
    return tuple(path.stem for path in sorted(FOLDER.glob("*.json")))


@functools.cache
def golden(name: str) -> Golden:
    """An input with what every loss made of it."""
    read: Golden = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return read


def recipe(loss: str) -> Recipe:
    """A loss's recipe: the trainer's options, with the advantage given."""
    name, options = LOSSES[loss]
    return trainers.recipe(name, **options).change(advantage="given")


@functools.cache
def edge(name: str, loss: str) -> Edge:
    """One loss on one input."""
    given, theirs = golden(name)["inputs"], golden(name)["outputs"][loss]
    columns = {key: _grid(given[key]) for key in ("new_logps", "old_logps", "ref_logps")}
    worked = work(padded_table({**columns, "mask": given["mask"]}, advantage=given["advantages"]), recipe(loss))
    shape = np.shape(given["mask"])
    with np.errstate(invalid="ignore"):  # what is masked may be -inf
        distance = np.abs(np.exp(columns["new_logps"] - columns["old_logps"]) - 1)
    return Edge(
        theirs=float(theirs["loss"]),
        ours=worked.loss,
        their_gradient=_grid(theirs["grad_new_logps"]),
        our_gradient=padded(worked, "gradient", shape) if worked.table.token_count else np.zeros(shape),
        their_metrics={key: float(value) for key, value in theirs["metrics"].items() if not isinstance(value, list)},
        our_metrics=_logged(worked, loss),
        tied=np.abs(distance - golden(name)["options"]["epsilon"]) < 1e-6,
    )


def _logged(worked: Worked, loss: str) -> Mapping[str, float]:
    """What the trainer logs, by the names of the files."""
    name, _ = LOSSES[loss]
    found: Mapping[str, float] = worked.metrics(name) if trainers.trainer(name).metrics is not None else {}
    return {LOGGED.get(key, key): value for key, value in found.items()}


def _grid(values: Any) -> np.ndarray:
    """Nested lists in which ``nan`` and ``inf`` are words."""
    return np.array([[float(one) for one in row] for row in values])
