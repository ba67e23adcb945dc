"""Runs one golden file: build its case, work it, compare every output it holds at its own tolerance.

Most trainers compute advantages in single precision and hand them to a loss in double. So the comparison has the trainer's
two steps: ours are compared with theirs at the advantages' tolerance; where they agree, the loss and its gradient are worked
from theirs, at the loss's own tolerance. Where they do not agree, or the file holds none, all is worked from ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from grpo_calc.say import Problem
from grpo_calc.trainers import NAMES, trainer
from grpo_calc.work import Worked, work
from tests.golden.case import Case, Golden, check, padded, with_advantages

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
    loss: Any
    advantages: Any
    gradient: Any
    compared: dict[str, float]
    failed: dict[str, str]
    left_out: dict[str, str]


def run(golden: Golden) -> Result:
    """Work a golden file and compare. ``compared`` holds the largest difference of each output, ``failed`` what is beyond.

    A file of several training steps is worked step by step; its loss, advantages and gradient are then lists.
    """
    results = [_run(part, prefix) for prefix, part in parts(golden)]
    first = results[0]
    if len(results) == 1:
        return first

    def merged(name: str) -> dict[str, Any]:
        return {key: value for result in results for key, value in getattr(result, name).items()}

    return Result(
        id=golden["id"],
        recipe=first.recipe,
        loss=[result.loss for result in results],
        advantages=[result.advantages for result in results],
        gradient=[result.gradient for result in results],
        compared=merged("compared"),
        failed=merged("failed"),
        left_out=merged("left_out"),
    )


def parts(golden: Golden) -> Iterator[tuple[str, Golden]]:
    """The batches of a golden file, each a golden of its own: one, or one a training step with what was logged there."""
    steps = golden["inputs"].get("steps")
    if steps is None:
        yield "", golden
        return
    check(golden, golden["peer"])
    logged = golden["outputs"].get("log_history", [])
    for place, inputs in enumerate(steps):
        outputs = {**golden["outputs"]["steps"][place], "metrics": logged[place] if place < len(logged) else None}
        yield f"steps[{place}]/", {**golden, "inputs": inputs, "outputs": outputs}


def _run(golden: Golden, prefix: str) -> Result:
    case: Case = import_module(f"tests.golden.peers.{PEERS[golden['peer']]}").case(golden)
    ours = worked = work(case.table, case.recipe)
    inputs = golden["inputs"]
    shape = (len(inputs["mask"]), len(inputs["mask"][0]))
    compared: dict[str, float] = {}
    failed: dict[str, str] = {}
    left_out: dict[str, str] = {}
    readings = {"advantages": "advantage", "grad_new_logps": "gradient", "loss": "loss", **case.outputs}
    mask = _counting(worked, shape)
    theirs = golden["outputs"].get("advantages")
    if theirs is not None and "advantages" not in case.left_out:
        _compare("advantages", _read(ours, readings["advantages"], shape), theirs, _tolerance(golden, "advantages"), mask, compared, failed)
        if not failed and readings["advantages"] == "advantage":
            worked = work(with_advantages(case.table, theirs), case.recipe.change(advantage="given"))
    for name, theirs in golden["outputs"].items():
        if theirs is None or name in compared or name in failed:
            continue
        if name in case.left_out:
            left_out[name] = case.left_out[name]
        elif name == "metrics":
            _compare_metrics(golden, case, (ours, worked), compared, failed, left_out)
        elif name not in readings:
            failed[name] = "no column of ours is named for it"
        elif isinstance(theirs, dict) or (isinstance(theirs, list) and theirs and isinstance(theirs[0], dict)):
            _compare_parts(name, readings[name], worked, golden, compared, failed)
        else:
            here = np.asarray(case.masks[name], dtype=bool) if name in case.masks else mask
            _compare(name, _read(worked, readings[name], shape), theirs, _tolerance(golden, name), here, compared, failed)
    return Result(
        id=golden["id"],
        recipe=case.recipe.name,
        loss=worked.loss if worked.has("loss") else None,
        advantages=_read(ours, "advantage", shape).tolist() if ours.has("advantage") else None,
        gradient=_read(worked, "gradient", shape).tolist() if worked.has("gradient") else None,
        compared={prefix + name: value for name, value in compared.items()},
        failed={prefix + name: value for name, value in failed.items()},
        left_out={prefix + name: value for name, value in left_out.items()},
    )


def _counting(worked: Worked, shape: tuple[int, int]) -> Any:
    """The positions of the inputs' layout whose tokens count."""
    grid = np.zeros(shape, dtype=bool)
    grid.flat[worked.table.row - 1] = worked["counted"] > 0 if worked.has("counted") else True
    return grid


def _read(worked: Worked, reading: Any, shape: tuple[int, int]) -> Any:
    if callable(reading):
        return np.asarray(reading(worked), dtype=np.float64)
    value = worked[reading]
    return np.float64(value) if isinstance(value, float) else padded(worked, reading, shape)


def _tolerance(golden: Golden, name: str) -> float:
    tolerance = golden["verified"]["tolerance"]
    if name in ("advantages", "returns"):
        return float(tolerance["advantages"])
    if "metrics" in name:
        return float(tolerance.get("metrics", tolerance["loss"]))
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


def _named_parts(value: Any) -> dict[str, Any]:
    """The parts of an output by name; of a list of them, each record's by its place too."""
    if isinstance(value, list):
        return {f"{place}/{name}": part for place, record in enumerate(value) for name, part in record.items()}
    return dict(value)


def _compare_parts(name: str, reading: Any, worked: Worked, golden: Golden, compared: dict[str, float], failed: dict[str, str]) -> None:
    """An output of several parts, each a number, or the name of the exception with which the trainer refused it."""
    ours, tolerance = _named_parts(reading(worked)), _tolerance(golden, name)
    for part, value in _named_parts(golden["outputs"][name]).items():
        key = f"{name}/{part}"
        if part not in ours:
            failed[key] = "not among ours"
        elif isinstance(value, str) and value.lower() != "nan":
            if not isinstance(ours[part], Problem):
                failed[key] = f"the trainer refuses it ({value}), we do not"
            compared[key] = 0.0
        elif isinstance(ours[part], Problem):
            failed[key] = str(ours[part])
        else:
            _compare(key, ours[part], float(value), tolerance, np.ones((0, 0), dtype=bool), compared, failed)


def _compare_metrics(
    golden: Golden, case: Case, steps: tuple[Worked, Worked], compared: dict[str, float], failed: dict[str, str], left_out: dict[str, str]
) -> None:
    """Figures of rewards are of the first step, those of the loss of the second: the sign of an advantage next to 0 decides."""
    worked, last = steps
    trainer_name = case.recipe.name.split("@")[0]
    ours = {**worked.metrics(trainer_name), **last.metrics(trainer_name)} if _logs(case) else {}
    tolerance = float(golden["verified"]["tolerance"].get("metrics", golden["verified"]["tolerance"]["loss"]))
    for name, value in _flat(golden["outputs"]["metrics"]):
        key = f"metrics/{name}"
        if key in case.left_out:
            left_out[key] = case.left_out[key]
            continue
        if value is None:
            continue
        if name in case.metrics:
            reading = case.metrics[name]
            ours[name] = reading(worked) if callable(reading) else worked[reading]
        if name not in ours:
            failed[key] = "not among our metrics"
            continue
        _compare(key, ours[name], value, tolerance, np.ones((0, 0), dtype=bool), compared, failed)


def _flat(figures: Golden, above: str = "") -> Iterator[tuple[str, Any]]:
    """Figures by name, those of a record as ``record/name``."""
    for name, value in figures.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}/")
        else:
            yield above + name, value


def _logs(case: Case) -> bool:
    name = case.recipe.name.split("@")[0]
    return name in NAMES and trainer(name).metrics is not None
