"""Public cases as tables and recipes of ours, and how a figure of theirs is read from what was worked."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import grpo_calc as gc

COLUMNS = (
    *("group_id", "reward", "rewards", "advantage", "logp_new", "logp_old", "logp_ref", "logp_sampler", "mask"),
    *("truncated", "seq_kl"),
)
"""What a table takes of a case's input; the rest (a micro-batch's rows, a cap) is for the reading."""


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of a file."""
    return json.loads((Path(__file__).parent / "data" / f"{name}.json").read_text(encoding="utf-8"))


def table(given: Mapping[str, Any]) -> gc.Table:
    """The table of a case's input; without old log-probs, the batch is the policy's own."""
    names = {"logp_rollout": "logp_sampler"}
    known = {names.get(key, key): value for key, value in given.items() if names.get(key, key) in COLUMNS}
    built = gc.Table.from_arrays(**known)
    on_policy = "logp_new" in built.tokens and "logp_old" not in built.tokens
    return built.on_policy() if on_policy else built


def completions(worked: gc.Worked, name: str) -> list[float]:
    """A column with one value a completion, in the order of the input."""
    table = worked.table
    value = np.atleast_1d(worked[name])
    if worked.level(name).name == "GROUP":
        value = value[table.group_of_completion]
    place = np.argsort([int(each) for each in table.completion_id])
    return value[place].tolist()


def tokens(worked: gc.Worked, name: str) -> list[list[float | None]]:
    """A column with one value a token, a completion a row in the order of the input; None where it is masked."""
    table = worked.table
    value = np.atleast_1d(worked[name])
    if worked.level(name).name == "COMPLETION":
        value = value[table.completion_of_token]
    whole = table.masked or table
    kept = whole.tokens.get("mask", np.ones(whole.token_count))
    laid = np.full(whole.token_count, None, dtype=object)
    laid[kept != 0] = value
    parts = np.split(laid, whole.token_offsets[1:-1])
    return [parts[place].tolist() for place in np.argsort([int(each) for each in whole.completion_id])]


def leaves(value: Any) -> Iterator[Any]:
    """Every number or word of nested lists, in order."""
    if isinstance(value, list | tuple | np.ndarray):
        for entry in value:
            yield from leaves(entry)
    else:
        yield value


def agrees(found: Any, expected: Any, rtol: float, atol: float) -> bool:
    """Whether a figure of ours is the expected one: null is an undefined value; a masked place of ours is not read."""
    ours, theirs = list(leaves(found)), list(leaves(expected))
    return len(ours) == len(theirs) and all(_equal(a, b, rtol, atol) for a, b in zip(ours, theirs, strict=True))


def _equal(ours: Any, theirs: Any, rtol: float, atol: float) -> bool:
    if ours is None:
        return True
    if theirs is None:
        return math.isnan(ours)
    if isinstance(theirs, bool | str | dict):
        return bool(ours == theirs)
    return math.isclose(ours, theirs, rel_tol=rtol, abs_tol=atol)
