"""What every output shows: the rows of one level, each field a column of them, in the order of the contract's keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from grpo_calc.column import Label, Level, label
from grpo_calc.near import near
from grpo_calc.plan import Plan, Step
from grpo_calc.say import Problem
from grpo_calc.table import Floats, Integers, Table
from grpo_calc.work import NAMES, Worked

IDS: Mapping[Level, tuple[str, ...]] = {
    Level.TOKEN: ("row", "group_id", "completion_id", "token_index"),
    Level.COMPLETION: ("group_id", "completion_id"),
    Level.GROUP: ("group_id",),
    Level.BATCH: (),
}
"""The fields that say which row one is looking at."""

GIVEN_ON_TOKENS = ("reward", "advantage")
"""Completion values that a token's row repeats, so that it can be read back."""

LABELS: Mapping[str, Label] = {
    "row": Label("#", r"\#", "row", "行号"),
    "group_id": Label("group", r"\text{group}", "group", "组"),
    "completion_id": Label("completion", r"\text{completion}", "completion", "回答"),
    "token_index": Label("t", "t", "place in the completion", "在回答中的位置"),
    "token": Label("token", r"\text{token}", "token", "token"),
    "token_id": Label("token id", r"\text{id}", "token id", "token 编号"),
    "mask": Label("mask", r"\text{mask}", "1 counts, 0 is masked", "1 计入，0 被掩码"),
}

STAGES = ("inputs", "advantage", "ratio", "surrogate", "kl", "loss", "gradient")
_STAGE_OF_FILE = {
    **dict.fromkeys(("advantage", "baseline", "overlong", "rewards", "to_go", "whiten"), "advantage"),
    **dict.fromkeys(("clip", "counted", "geometric", "masks", "ratio", "reject", "sampler"), "ratio"),
    **dict.fromkeys(
        ("covariance", "dual_clip", "gate", "likelihood", "soft", "surrogate", "trust", "vespo"), "surrogate"
    ),
    **{name: name for name in ("kl", "gradient")},
}
_STAGE_OF_NAME = {
    **dict.fromkeys(("logp_new", "logp_old", "logp_ref", "logp_sampler", "reward", "advantage_given"), "inputs"),
    **dict.fromkeys(("clipped", "clipped_low", "clipped_high"), "surrogate"),
    **dict.fromkeys(("token_loss", "token_loss_without_kl"), "loss"),
    **dict.fromkeys(("within", "across", "share"), "gradient"),
}


class Field(NamedTuple):
    """One column of the rows: numbers (NaN is undefined), or texts; ``stage`` is its part in the story."""

    key: str
    label: Label
    stage: str
    numbers: Floats | None = None
    texts: Callable[[int, int], Sequence[str]] | None = None


class Rows(NamedTuple):
    """The rows of one level. ``kept`` is false where a row is masked: shown, counted nowhere (``None``: all count)."""

    level: Level
    length: int
    fields: tuple[Field, ...]
    kept: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] | None = None

    def field(self, key: str) -> Field | None:
        """The field of a key, if these rows have it."""
        return next((field for field in self.fields if field.key == key), None)


def stage(step: Step | None, name: str) -> str:
    """The stage of a name: its own, else that of the file its column lives in."""
    if name in _STAGE_OF_NAME or step is None:
        return _STAGE_OF_NAME.get(name, "inputs")
    if step.column.key in _STAGE_OF_NAME:
        return _STAGE_OF_NAME[step.column.key]
    file = step.column.function.__module__.rpartition(".")[2]
    return _STAGE_OF_FILE.get(file, "loss")


def called(plan: Plan, name: str) -> Label:
    """What a name is called in a plan: as its own step is, else as the quantity is."""
    step = plan.step(name)
    return step.label if step is not None and step.name == name else label(name)


def level_of(worked: Worked) -> Level:
    """The finest level there is something to say at: tokens, or completions where no log-probs are given."""
    return Level.TOKEN if "logp_new" in worked.table.tokens else Level.COMPLETION


def rows(
    worked: Worked,
    level: Level,
    columns: Sequence[str] | None = None,
    *,
    masked: bool = False,
    complete: bool = False,
    between: Sequence[str] = (),
) -> Rows:
    """The rows of a level, with every column the contract names there, or with the chosen ones.

    A coarser column is repeated; ``masked`` shows masked tokens too, without computed values; ``complete`` gives every
    completion a token row, a masked one where it has no token, so that none is lost when the rows are read back;
    ``between`` are columns to show after the log-ratio where the recipe has them.

    Errors: :class:`~grpo_calc.say.Problem` for a column that is unknown or finer than the rows, listing the known ones.
    """
    view = _View(worked, level, masked=masked, complete=complete)
    known = view.known()
    chosen = list(columns) if columns else view.usual(between)
    for name in chosen:
        if name not in known:
            raise _unknown(name, level, known, view.usual())
    computed = worked.columns([name for name in chosen if name not in view.texts and name != "mask"])
    fields = tuple(view.field(name, computed.get(name)) for name in chosen)
    return Rows(level, view.count, fields, view.kept)


def _unknown(name: str, level: Level, known: Sequence[str], usual: Sequence[str]) -> Problem:
    """What to say of a column that these rows do not have: the closest that they have, and the usual ones."""
    close, told = near(name, known), {"name": name, "level": level.name.lower(), "known": ", ".join(usual)}
    return (
        Problem("cli.unknown_column", **told)
        if close is None
        else Problem("cli.unknown_column_near", close=close, **told)
    )


class _View:
    def __init__(self, worked: Worked, level: Level, *, masked: bool, complete: bool) -> None:
        self.worked, self.level = worked, level
        self.table = worked.table
        if level is Level.TOKEN and masked and self.table.masked is not None:
            self.table = self.table.masked
        if level is Level.TOKEN and complete and (np.diff(self.table.token_offsets) == 0).any():
            self.table = _all_with_rows(worked.table)
        self.kept = self.table.tokens["mask"] != 0 if self.table is not worked.table else None
        self.texts: dict[str, Callable[[int, int], Sequence[str]]] = self._texts()

    @property
    def count(self) -> int:
        return {
            Level.TOKEN: self.table.token_count,
            Level.COMPLETION: self.table.completion_count,
            Level.GROUP: self.table.group_count,
            Level.BATCH: 1,
        }[self.level]

    @cached_property
    def completion(self) -> Integers:
        """Each row's completion, at token or completion level."""
        return self.table.completion_of_token if self.level is Level.TOKEN else np.arange(self.table.completion_count)

    @cached_property
    def group(self) -> Integers:
        """Each row's group."""
        return (
            np.arange(self.table.group_count)
            if self.level is Level.GROUP
            else self.table.group_of_completion[self.completion]
        )

    def _texts(self) -> dict[str, Callable[[int, int], Sequence[str]]]:
        table = self.table
        texts: dict[str, Callable[[int, int], Sequence[str]]] = {}
        if self.level is not Level.BATCH:
            texts["group_id"] = lambda a, b: [table.group_id[i] for i in self.group[a:b]]
        if self.level in (Level.COMPLETION, Level.TOKEN):
            texts["completion_id"] = lambda a, b: [table.completion_id[i] for i in self.completion[a:b]]
        if self.level is Level.TOKEN:
            texts["row"] = lambda a, b: [str(i) if i else "" for i in table.row[a:b].tolist()]
            texts["token_index"] = lambda a, b: [str(i) for i in self.index[a:b].tolist()]
            texts |= {name: _part(value) for name, value in table.texts.items()}
        return texts

    @cached_property
    def index(self) -> Integers:
        """Each token's 0-based place in its completion, masked tokens counted."""
        dropped = self.worked.table.masked if self.table is self.worked.table else None
        whole = dropped or self.table
        place = np.arange(whole.token_count) - whole.token_offsets[:-1][whole.completion_of_token]
        return place if dropped is None else place[dropped.tokens["mask"] != 0]

    def known(self) -> list[str]:
        """Every field these rows can show."""
        plan = self.worked.plan
        names = dict.fromkeys([*self.usual(), *plan.levels, *plan.leads])
        return [
            n
            for n in names
            if n in self.texts or n == "mask" or (self.worked.has(n) and self.worked.level(n) <= self.level)
        ]

    def usual(self, between: Sequence[str] = ()) -> list[str]:
        """The fields these rows show unless told otherwise."""
        texts = [*IDS[self.level], *(name for name in self.table.texts if self.level is Level.TOKEN)]
        mask = ["mask"] if self.kept is not None else []
        values = list(NAMES[self.level])
        if self.level is Level.TOKEN:
            values = [*GIVEN_ON_TOKENS, *values]
        elif self.level is Level.COMPLETION:  # under a sequence ratio, ratio and clip live here
            values += NAMES[Level.TOKEN]
        if "log_ratio" in values:
            values[values.index("log_ratio") + 1 : 0] = between
        here = [name for name in dict.fromkeys(values) if self.worked.has(name)]
        if self.level is not Level.TOKEN:
            here = [name for name in here if self.worked.level(name) is self.level]
        return [*texts, *mask, *here]

    def field(self, name: str, value: object) -> Field:
        called = LABELS.get(name) or label(name)
        if name in self.texts:
            return Field(name, called, "inputs", texts=self.texts[name])
        if name == "mask":
            return Field(name, called, "inputs", numbers=self.table.tokens["mask"])
        return Field(name, called, stage(self.worked.plan.step(name), name), numbers=self._spread(name, value))

    def _spread(self, name: str, value: object) -> Floats:
        """A column as one number a row: repeated where it is coarser, with gaps at masked rows."""
        at = self.worked.level(name)
        if at is Level.BATCH:
            return np.full(self.count, value, dtype=np.float64)
        values = np.asarray(value, dtype=np.float64)
        if at is Level.TOKEN and self.kept is not None:
            given = self.table.tokens.get(name)
            if given is not None:  # a masked token may hold anything
                return np.where(np.isfinite(given), given, np.nan)
            full = np.full(self.count, np.nan)
            full[self.kept] = values
            return full
        if at == self.level:
            return values
        return values[self.group if at is Level.GROUP else self.completion]


def _all_with_rows(table: Table) -> Table:
    """The table with its masked tokens, and a masked row in each completion that has no token at all."""
    whole = table.masked or replace(table, tokens={**table.tokens, "mask": np.ones(table.token_count)})
    lengths = np.diff(whole.token_offsets)
    places = whole.token_offsets[:-1][lengths == 0]
    tokens = {name: np.insert(value, places, np.nan) for name, value in whole.tokens.items()}
    return replace(
        whole,
        tokens={**tokens, "mask": np.insert(whole.tokens["mask"], places, 0.0)},
        texts={name: np.insert(np.array(value, object), places, "").tolist() for name, value in whole.texts.items()},
        token_offsets=np.concatenate(([0], np.cumsum(np.maximum(lengths, 1)))),
        row=np.insert(whole.row, places, 0),
    )


def _part(texts: Sequence[str]) -> Callable[[int, int], Sequence[str]]:
    return lambda start, stop: texts[start:stop]
