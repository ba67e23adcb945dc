"""The JSON that our own ``table --format json`` writes, read back: its inputs only, every figure is worked anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grpo_calc.read.block import written
from grpo_calc.read.settle import TOKEN_NUMBERS, shared_names

TOKEN_INPUTS = (*TOKEN_NUMBERS, "mask", "token", "token_id")


def is_ours(value: Any) -> bool:
    """Whether a JSON value has the shape of our own output.

    >>> is_ours({"recipe": {}, "tokens": [], "completions": []}), is_ours({"tokens": [["a"]]})
    (True, False)
    """
    return (
        isinstance(value, dict)
        and "recipe" in value
        and all(_rows(value.get(key)) is not None for key in ("tokens", "completions"))
    )


def _rows(value: Any) -> list[Mapping[str, Any]] | None:
    """Row objects, also from an object of columns."""
    if isinstance(value, list) and all(isinstance(row, dict) for row in value):
        return value
    if (
        isinstance(value, dict)
        and all(isinstance(column, list) for column in value.values())
        and len({len(column) for column in value.values()}) <= 1
    ):
        return [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
    return None


def ours(value: Mapping[str, Any]) -> tuple[dict[str, Sequence[Any]], int]:
    """Its completions, one a row, with their tokens as lists.

    >>> completions = [{"group_id": "a", "completion_id": "1", "reward": 1.0, "length": 1}]
    >>> tokens = [{"group_id": "a", "completion_id": "1", "logp_new": -1.0, "ratio": 1.0}]
    >>> ours({"recipe": {}, "completions": completions, "tokens": tokens})[0]
    {'group_id': ['a'], 'completion_id': ['1'], 'reward': [1.0], 'logp_new': [[-1.0]]}
    """
    tokens, completions = _rows(value["tokens"]) or [], _rows(value["completions"]) or []
    places = {_key(row): place for place, row in enumerate(completions)}
    given = [name for name in TOKEN_INPUTS if any(row.get(name) is not None for row in tokens)]
    lists: dict[str, list[list[Any]]] = {name: [[] for _ in completions] for name in given}
    for row in tokens:
        place = places.get(_key(row))
        if place is not None:
            for name, column in lists.items():
                column[place].append(row.get(name))
    keys = dict.fromkeys(key for row in completions for key in row)
    own = [key for key in keys if key in ("group_id", "completion_id", "advantage") or key in shared_names(list(keys))]
    columns: dict[str, Sequence[Any]] = {key: [row.get(key) for row in completions] for key in own}
    return {
        **{key: column for key, column in columns.items() if any(cell is not None for cell in column)},
        **lists,
    }, len(completions)


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return written(row.get("group_id")), written(row.get("completion_id"))
