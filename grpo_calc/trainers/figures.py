"""What trainers' figures share: a column with one value a token, and means over tokens and completions."""

from __future__ import annotations

from typing import Any

import numpy as np

from grpo_calc.say import Problem

Array = Any


def per_token(worked: Any, name: str) -> Array:
    """A column with one value a token: a coarser one repeated for each of its tokens."""
    value, table = np.asarray(worked[name]), worked.table
    if value.ndim == 0:
        return np.full(table.token_count, float(value))
    return value if worked.level(name).name == "TOKEN" else np.repeat(value, np.diff(table.token_offsets))


def given(worked: Any, name: str) -> Array:
    """A token column as the table gives it, whatever the recipe takes in its place."""
    if name not in worked.table.tokens:
        raise Problem("trainer.figure_lacks", lacks=name)
    return worked.table.tokens[name]


def chosen(worked: Any, trainer: Any, name: str) -> Any:
    """A trainer's option as the recipe was made with it; its default where the recipe is of other making."""
    own = worked.recipe.own
    mine = own is not None and own.trainer.name == trainer.name
    return own.options[name] if mine else trainer.recipe().own.options[name]


def token_mean(x: Array) -> float:
    """The mean of one value a token; undefined where there is no token.

    >>> token_mean(np.array([1.0, 3.0]))
    2.0
    """
    return float(np.mean(x)) if len(x) else float("nan")


def within(worked: Any, x: Array) -> Array:
    """The mean over each completion's tokens; 0 where it has none."""
    table = worked.table
    sums = np.bincount(table.completion_of_token, weights=x, minlength=table.completion_count)
    return sums / np.maximum(np.diff(table.token_offsets), 1)
