"""Runs of rows that belong to one completion, and the value that such a run shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grpo_calc.read.faults import shown
from grpo_calc.say import Problem
from grpo_calc.table import Floats, Integers


def per_run(values: Floats, starts: Integers) -> tuple[Floats, int | None]:
    """The first known value of each run, and the first row that holds another.

    >>> per_run(np.array([1.0, np.nan, 1.0, np.nan, 2.0]), np.array([0, 3]))
    (array([1., 2.]), None)
    >>> per_run(np.array([1.0, 3.0]), np.array([0]))[1]
    1
    """
    count = len(values)
    if len(starts) == count:
        return values, None
    lengths = np.diff(np.append(starts, count))
    first = values[starts]
    same = np.repeat(first, lengths) == values
    if same.all():
        return first, None
    known = np.where(np.isnan(values), count, np.arange(count))
    first = np.append(values, np.nan)[np.minimum.reduceat(known, starts)]
    other = (np.repeat(first, lengths) != values) & ~np.isnan(values)
    return first, int(np.argmax(other)) if other.any() else None


def known_rows(values: Floats, starts: Integers) -> Integers:
    """The row of the first known value of each run; its first row where there is none.

    >>> known_rows(np.array([np.nan, 1.0, np.nan]), np.array([0, 2]))
    array([1, 2])
    """
    missing = np.isnan(values)
    if not missing.any():
        return starts
    first = np.minimum.reduceat(np.where(missing, len(values), np.arange(len(values))), starts)
    ends = np.append(starts[1:], len(values))
    return np.where(first < ends, first, starts)


def rows_of(starts: Integers, lengths: Integers) -> Integers:
    """The rows of runs, one run after another.

    >>> rows_of(np.array([5, 0]), np.array([2, 1]))
    array([5, 6, 0])
    """
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(int(ends[-1]))


def differs(column: str, source: str, lines: Sequence[int], key: tuple[str, str]) -> Problem:
    """The problem of two values in one completion."""
    first, second = sorted(lines)
    values = {"first": first, "second": second, "column": shown(column), "completion": shown(key[1])}
    return Problem("read.differs", source=source, **values)
