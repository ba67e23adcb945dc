"""Runs one golden file: build its case, work it, compare every output it holds at its own tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from grpo_calc.work import Worked, work
from tests.golden.case import Case, Golden, padded

PEERS = {
    "trl": "trl",
    "verl": "verl",
    "openrlhf": "openrlhf",
    "areal": "areal",
    "liger-kernel": "liger",
    "nemo-rl": "nemo_rl",
    "open-instruct": "open_instruct",
    "prime-rl": "prime_rl",
    "roll": "roll",
    "slime": "slime",
    "ms-swift": "ms_swift",
    "torchrl": "torchrl",
    "unsloth-zoo": "unsloth",
}


@dataclass(frozen=True)
class Result:
    """What a golden file came to."""

    id: str
    recipe: str
    loss: float | None
    advantages: Any
    gradient: Any
    compared: dict[str, float]
    failed: dict[str, str]
    left_out: dict[str, str]


def run(golden: Golden) -> Result:
    """Work a golden file and compare. ``compared`` holds the largest difference of each output, ``failed`` what is beyond."""
    case: Case = import_module(f"tests.golden.peers.{PEERS[golden['peer']]}").case(golden)
    worked = work(case.table, case.recipe)
    inputs = golden["inputs"]
    shape = (len(inputs["mask"]), len(inputs["mask"][0]))
    compared: dict[str, float] = {}
    failed: dict[str, str] = {}
    left_out = dict(case.left_out)
    readings = {"advantages": "advantage", "grad_new_logps": "gradient", "loss": "loss", **case.outputs}
    mask = np.asarray(inputs["mask"], dtype=bool)
    for name, theirs in golden["outputs"].items():
        if name in left_out or theirs is None:
            continue
        if name == "metrics":
            _compare_metrics(golden, case, worked, compared, failed, left_out)
            continue
        if name not in readings:
            failed[name] = "no column of ours is named for it"
            continue
        _compare(name, _read(worked, readings[name], shape), theirs, _tolerance(golden, name), mask, compared, failed)
    return Result(
        id=golden["id"],
        recipe=case.recipe.name,
        loss=worked.loss if worked.has("loss") else None,
        advantages=_read(worked, "advantage", shape).tolist() if worked.has("advantage") else None,
        gradient=_read(worked, "gradient", shape).tolist() if worked.has("gradient") else None,
        compared=compared,
        failed=failed,
        left_out=left_out,
    )


def _read(worked: Worked, reading: Any, shape: tuple[int, int]) -> Any:
    if callable(reading):
        return np.asarray(reading(worked), dtype=np.float64)
    value = worked[reading]
    return np.float64(value) if isinstance(value, float) else padded(worked, reading, shape)


def _tolerance(golden: Golden, name: str) -> float:
    tolerance = golden["verified"]["tolerance"]
    if name in ("advantages", "returns"):
        return float(tolerance["advantages"])
    return float(tolerance.get(name, tolerance["loss"]))


def _compare(name: str, ours: Any, theirs: Any, tolerance: float, mask: Any, compared: dict[str, float], failed: dict[str, str]) -> None:
    """Differences where the token counts: |ours - theirs| <= tolerance max(1, |theirs|). NaN equals NaN."""
    theirs = np.asarray([[np.nan if x is None else x for x in row] if isinstance(row, list) else np.nan if row is None else row for row in theirs] if isinstance(theirs, list) else theirs, dtype=np.float64)
    ours = np.asarray(ours, dtype=np.float64)
    if theirs.ndim == 2 and theirs.shape[1] == 1:
        theirs = theirs[:, 0]
    if ours.ndim == 1 and theirs.ndim == 2:
        ours = np.broadcast_to(ours[:, None], theirs.shape)
    if ours.ndim == 2 and theirs.ndim == 1 and theirs.shape[0] == ours.shape[0]:
        theirs = np.broadcast_to(theirs[:, None], ours.shape)
    if ours.shape != theirs.shape:
        failed[name] = f"shape {ours.shape} against {theirs.shape}"
        return
    counts = mask if theirs.shape == mask.shape else np.ones(theirs.shape, dtype=bool)
    both = np.isnan(ours) & np.isnan(theirs)
    difference = np.where(both | ~counts, 0.0, abs(ours - theirs) / np.maximum(1.0, abs(theirs)))
    worst = float(np.max(difference, initial=0.0))
    compared[name] = worst
    if not worst <= tolerance:
        failed[name] = f"differs by {worst:.3g}, tolerance {tolerance:.3g}"


def _compare_metrics(golden: Golden, case: Case, worked: Worked, compared: dict[str, float], failed: dict[str, str], left_out: dict[str, str]) -> None:
    from grpo_calc.trainers import trainer

    logged = trainer(case.recipe.name.split("@")[0]).metrics
    ours = dict(logged(worked)) if logged is not None else {}
    theirs = golden["outputs"]["metrics"]
    for name, value in theirs.items():
        key = f"metrics/{name}"
        if key in left_out or value is None:
            continue
        if name in case.metrics:
            reading = case.metrics[name]
            ours[name] = reading(worked) if callable(reading) else worked[reading]
        if name not in ours:
            failed[key] = "not among our metrics"
            continue
        tolerance = float(golden["verified"]["tolerance"].get("metrics", golden["verified"]["tolerance"]["loss"]))
        _compare(key, ours[name], value, tolerance, np.ones((0, 0), dtype=bool), compared, failed)
