"""The lessons: built-in inputs that a learner works without a file of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

import numpy as np

from grpo_calc.lessons.figure import Figure, Lesson, Vector
from grpo_calc.say import Problem
from grpo_calc.softmax import log_softmax_at
from grpo_calc.table import Floats, Table

__all__ = ["LESSONS", "Figure", "Lesson", "Vector", "lesson"]

# Each lesson: the file of its inputs, and the module of its recipe, figures and audit.
LESSONS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "six-tokens": ("six_tokens.csv", "six_tokens"),
        "six-tokens-of-ten": ("six_tokens_of_ten.csv", "six_tokens_of_ten"),
        "chapter": ("chapter.csv", "chapter"),
    }
)


def lesson(name: str = "six-tokens") -> Lesson:
    """A lesson by its name.

    >>> lesson("chapter").table.group_count
    2
    """
    if name not in LESSONS:
        raise Problem("lesson.unknown", name=name, known=", ".join(LESSONS))
    file, module = LESSONS[name]
    told = import_module(f"grpo_calc.lessons.{module}")
    rows = _rows(file)
    return Lesson(
        name,
        _table(rows, name),
        told.RECIPE,
        told.FIGURES,
        told.STATUS,
        told.AUDIT,
        told.FACTS,
        getattr(told, "TABLES", ()),
        _vectors(rows),
    )


def _rows(file: str) -> list[dict[str, str]]:
    head, *lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    return [dict(zip(head.split(","), line.split(","), strict=True)) for line in lines]


def _vectors(rows: Sequence[Mapping[str, str]]) -> tuple[Vector, ...]:
    if "action" not in rows[0]:
        return ()
    old, new = ([name for name in rows[0] if name.startswith(letter)] for letter in "xy")
    return tuple(
        Vector(tuple(float(row[name]) for name in old), tuple(float(row[name]) for name in new), int(row["action"]))
        for row in rows
    )


def _table(rows: Sequence[Mapping[str, str]], name: str) -> Table:

    def numbers(column: str) -> Floats:
        return np.array([float(row[column]) for row in rows])

    logits = "action" in rows[0]
    return Table.from_arrays(
        group_id=[row.get("group_id", "1") for row in rows],
        reward=numbers("reward"),
        logp_new=_log_softmax(rows, "y") if logits else numbers("logp_new"),
        logp_old=_log_softmax(rows, "x") if logits else numbers("logp_old"),
        texts={"token": [row["token"] for row in rows]} if "token" in rows[0] else {},
        source=name,
    )


def _log_softmax(rows: Sequence[Mapping[str, str]], logits: str) -> Floats:
    """The log-probability of each row's chosen ``action`` under its ``logits``: ``x1``, ``x2`` ..."""
    names = [name for name in rows[0] if name.startswith(logits)]
    scores = np.array([[float(row[name]) for name in names] for row in rows])
    return log_softmax_at(scores, np.array([names.index(f"{logits}{row['action']}") for row in rows]))
