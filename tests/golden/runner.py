"""Runs one golden file: build its case, work it, compare every output it holds at its own tolerance.

Most trainers compute advantages in single precision and hand them to a loss in double. So the comparison has the
trainer's two steps: our advantages are compared with theirs at the advantages' tolerance; where they agree, the loss
and its gradient are worked from theirs, at the loss's own tolerance. Where they do not agree, or the file holds none,
all is worked from ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from grpo_calc.trainers import NAMES, trainer
from grpo_calc.work import Worked, work
from tests.golden.case import Case, Golden, check, padded, with_advantages
from tests.golden.compare import Comparison, flat

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
    """Work a golden file and compare. ``compared`` holds each output's largest difference, ``failed`` what is beyond.

    A file of several training steps is worked step by step; its loss, advantages and gradient are then lists. A file
    without outputs is worked all the same; there is nothing to compare then.
    """
    golden = {"outputs": {}, "verified": {"tolerance": {}}, **golden}
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
    """The batches of a golden file, each a golden of its own: one, or one a training step with what it logged."""
    steps = golden["inputs"].get("steps")
    if steps is None:
        yield "", golden
        return
    check(golden, golden["peer"])
    logged = golden["outputs"].get("log_history", [])
    for place, inputs in enumerate(steps):
        step = golden["outputs"].get("steps", [{}] * len(steps))[place]
        outputs = {**step, "metrics": logged[place] if place < len(logged) else None}
        yield f"steps[{place}]/", {**golden, "inputs": inputs, "outputs": outputs}


def _run(golden: Golden, prefix: str) -> Result:
    case: Case = import_module(f"tests.golden.peers.{PEERS[golden['peer']]}").case(golden)
    inputs = golden["inputs"]
    shape = (len(inputs["mask"]), len(inputs["mask"][0]))
    readings = {"advantages": "advantage", "grad_new_logps": "gradient", "loss": "loss", **case.outputs}
    found = Comparison(golden["verified"]["tolerance"])
    ours = worked = work(case.table, case.recipe)
    mask = _counting(worked, shape)
    given = golden["outputs"].get("advantages")
    if given is not None and "advantages" not in case.left_out:
        found.numbers("advantages", _read(ours, readings["advantages"], shape), given, mask)
        if not found.failed and readings["advantages"] == "advantage":
            worked = work(with_advantages(case.table, given), case.recipe.change(advantage="given"))
    for name, theirs in golden["outputs"].items():
        if theirs is None or found.done(name):
            continue
        if name in case.left_out:
            found.left_out[name] = case.left_out[name]
        elif name == "metrics":
            _metrics(found, theirs, case, ours, worked)
        elif name not in readings:
            found.failed[name] = "no column of ours is named for it"
        elif isinstance(theirs, dict) or (isinstance(theirs, list) and theirs and isinstance(theirs[0], dict)):
            found.parts(name, readings[name](worked), theirs)
        else:
            here = np.asarray(case.masks[name], dtype=bool) if name in case.masks else mask
            found.numbers(name, _read(worked, readings[name], shape), theirs, here)
    return Result(
        id=golden["id"],
        recipe=case.recipe.name,
        loss=worked.loss if worked.has("loss") else None,
        advantages=_laid_out(_read(ours, "advantage", shape), inputs["mask"]) if ours.has("advantage") else None,
        gradient=_read(worked, "gradient", shape).tolist() if worked.has("gradient") else None,
        compared={prefix + name: value for name, value in found.compared.items()},
        failed={prefix + name: value for name, value in found.failed.items()},
        left_out={prefix + name: value for name, value in found.left_out.items()},
    )


def _laid_out(values: Any, mask: Any) -> list[list[float]]:
    """A value a completion or a token as (B, T), 0 where masked."""
    counts = np.asarray(mask) != 0
    rows = values[:, None] if values.ndim == 1 else values
    laid: list[list[float]] = np.where(counts, rows, 0.0).tolist()
    return laid


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


def _metrics(found: Comparison, theirs: Golden, case: Case, ours: Worked, worked: Worked) -> None:
    """Figures of rewards are worked from the rewards, those of the loss from the trainer's advantages.

    There the sign of an advantage next to 0 decides what counts as clipped.
    """
    name = case.recipe.name.split("@")[0]
    logs = name in NAMES and trainer(name).metrics is not None
    figures = {**ours.metrics(name), **worked.metrics(name)} if logs else {}
    for figure, value in flat(theirs):
        key = f"metrics/{figure}"
        if key in case.left_out:
            found.left_out[key] = case.left_out[key]
        elif value is not None:
            if figure in case.metrics:
                reading = case.metrics[figure]
                figures[figure] = reading(ours) if callable(reading) else ours[reading]
            if figure in figures:
                found.numbers(key, figures[figure], value)
            else:
                found.failed[key] = "not among our metrics"
