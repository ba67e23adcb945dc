"""A golden file as a case: the table and recipe it comes to, and how its outputs are named here."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from grpo_calc.column import Level
from grpo_calc.recipe import Recipe
from grpo_calc.table import Table
from grpo_calc.work import Worked

Golden = Mapping[str, Any]
Reading = Callable[[Worked], Any] | str

SCHEMAS = Path(__file__).parent / "schemas"
KINDS: Mapping[str, Callable[[Any], bool]] = {
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


class UnknownKeys(Exception):
    """Harness options or inputs that the peer's schema does not know."""


@dataclass(frozen=True)
class Case:
    """What a peer makes of a golden file.

    ``outputs`` maps a golden output's name to our column's name or to a function of ``Worked``; ``metrics`` likewise
    for the entries of ``outputs.metrics`` (those that the trainer's own ``metrics`` give need no entry). ``left_out``
    maps an output that is not compared to the reason (a metric as ``metrics/<name>``). ``masks`` gives the positions
    at which an output is compared, where they are not those of the inputs' mask. An output of several parts is read
    by a function that gives them by name; a part that the trainer refused, named by its exception, must be a
    :class:`~grpo_calc.say.Problem` of ours.
    """

    table: Table
    recipe: Recipe
    outputs: Mapping[str, Reading] = field(default_factory=dict)
    metrics: Mapping[str, Reading] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    masks: Mapping[str, Any] = field(default_factory=dict)


@functools.cache
def schema(peer: str) -> Mapping[str, Any]:
    """What a peer's harness takes: ``options`` and ``inputs``, each key with its types, meaning and default."""
    found: Mapping[str, Any] = json.loads((SCHEMAS / f"{peer}.json").read_text(encoding="utf-8"))
    return found


def check(golden: Golden, peer: str) -> None:
    """Every option and input is one that the peer's schema knows, and of its type.

    Errors: :class:`UnknownKeys` naming every other key; ``ValueError`` for a value of another type.
    """
    known = schema(peer)
    unknown, wrong = [], []
    for part in ("options", "inputs"):
        for path, key, value in _entries(golden[part], known[part], part):
            row = known[part].get(key)
            if row is None:
                unknown.append(path)
            elif not any(KINDS[kind](value) for kind in row["type"]):
                wrong.append(f"{path} is {value!r}, not {' or '.join(row['type'])}")
            elif "values" in row and value not in row["values"]:
                wrong.append(f"{path} is {value!r}, not one of {row['values']}")
    if unknown:
        raise UnknownKeys(f"not in the schema of {peer}: {', '.join(unknown)}")
    if wrong:
        raise ValueError("; ".join(wrong))


def _entries(given: Golden, known: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, Any]]:
    """Each key with its value. A nested one is looked up as ``outer.inner``, one of records as ``outer[].inner``."""
    for key, value in given.items():
        yield f"{path}.{key}", key, value
        if isinstance(value, dict) and any(name.startswith(f"{key}.") for name in known):
            for inner, _, entry in _entries(value, known, f"{path}.{key}"):
                yield inner, inner.removeprefix(f"{path}."), entry
        elif isinstance(value, list) and any(name.startswith(f"{key}[].") for name in known):
            for place, record in enumerate(value):
                for name, entry in record.items():
                    yield f"{path}.{key}[{place}].{name}", f"{key}[].{name}", entry


def padded_table(inputs: Golden, mask: Any = None, **more: Any) -> Table:
    """The table of padded (B, T) inputs; each token keeps its place in the padding as its row."""
    names = {
        "new_logps": "logp_new",
        "old_logps": "logp_old",
        "ref_logps": "logp_ref",
        "sampling_logps": "logp_sampler",
        "entropies": "entropy",
    }
    columns = {ours: inputs[theirs] for theirs, ours in names.items() if inputs.get(theirs) is not None}
    columns.update(more)
    if (
        "reward" not in columns
        and inputs.get("rewards") is not None
        and not any(name.startswith("reward_") for name in more)
    ):
        columns["reward"] = inputs["rewards"]
    return Table.from_arrays(group_id=inputs.get("group_ids"), mask=inputs["mask"] if mask is None else mask, **columns)


def with_advantages(table: Table, advantages: Any) -> Table:
    """The table with these advantages given: (B,), or (B, T) in the inputs' layout."""
    theirs = np.asarray(advantages, dtype=np.float64)
    if theirs.ndim == 1:
        rows = [int(i) - 1 for i in table.completion_id]
        given = replace(table, completions={**table.completions, "advantage": theirs[rows]})
    else:
        given = replace(table, tokens={**table.tokens, "advantage": theirs.flat[table.row - 1]})
    return given if table.masked is None else replace(given, masked=with_advantages(table.masked, advantages))


def padded(worked: Worked, name: str, shape: tuple[int, int]) -> np.ndarray:
    """A column laid out as the inputs were: (B, T) for a token column, 0 where masked; (B,) for a completion column."""
    table = worked.table
    values = worked[name]
    level = worked.level(name)
    if level is Level.TOKEN:
        grid = np.zeros(shape)
        grid.flat[table.row - 1] = values
        return grid
    if level is Level.COMPLETION:
        row = np.zeros(shape[0])
        row[[int(i) - 1 for i in table.completion_id]] = values
        return row
    raise ValueError(f"{name} lives at {level.name.lower()} level")
