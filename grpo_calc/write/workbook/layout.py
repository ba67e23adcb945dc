"""Where everything stands: which name is in which column of which sheet, and how a formula there refers to it.

A sheet of rows (Tokens, Completions, Groups) is a list of fields. References are templates: ``OWN``, ``COMPLETION``
and ``GROUP`` stand for the row numbers of the row itself and of the rows it belongs to, ``FIRST`` and ``LAST`` for the
finer rows under it. A batch figure is a defined name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from openpyxl.utils import get_column_letter

from grpo_calc.column import Label, Level, label
from grpo_calc.plan import Plan, Step
from grpo_calc.say import Problem
from grpo_calc.table import Integers
from grpo_calc.work import NAMES, Worked
from grpo_calc.write.workbook.extent import EXCEL_COLUMNS, FIRST_ROW, Extent
from grpo_calc.write.workbook.reach import Reach, reach
from grpo_calc.write.workbook.stages import STAGES, stage

OWN, COMPLETION, GROUP, FIRST, LAST, NEXT = "\x01\x02\x03\x04\x05\x06"
TITLES: Mapping[Level, str] = {
    Level.TOKEN: "Tokens",
    Level.COMPLETION: "Completions",
    Level.GROUP: "Groups",
    Level.BATCH: "Loss",
}
CHECKED: Mapping[Level, tuple[str, ...]] = {
    Level.TOKEN: ("token_loss", "gradient"),
    Level.COMPLETION: ("advantage", "completion_loss"),
    Level.GROUP: ("group_mean", "group_std"),
}
"""The figures whose frozen NumPy values stand beside a row; the sum of all its computed cells is frozen too."""

FIXED = ("positions", "gap")
"""Inputs that follow from which row is which: shown where a formula reads them, not to be edited."""

PAGE_TOKENS = 24
"""The most tokens that fit on one page."""

_LIKE_A_CELL = re.compile(r"[A-Za-z]{1,3}\d+|[RrCc]\d*([RrCc]\d*)?")


@dataclass(frozen=True)
class Field:
    """One column of a sheet of rows.

    ``kind``: ``number`` and ``text`` say which row it is, ``mask`` whether it counts; ``input`` is given, ``fixed`` is
    given and stays; ``step`` is computed; ``spread`` shows a coarser row's value (``of``); ``frozen`` is NumPy's of
    ``of``; ``check`` compares; ``given`` is a frozen copy of the input ``of``; ``edited`` counts edited inputs.
    """

    key: str
    kind: str
    stage: str
    label: Label
    letter: str = ""
    step: Step | None = None
    of: str = ""

    @property
    def computed(self) -> bool:
        """Whether its cells are formulas made from a column, or refer to such a cell."""
        return self.kind in ("step", "spread")


@dataclass(frozen=True)
class Sheet:
    """A sheet of rows: one level's fields, in order."""

    level: Level
    fields: tuple[Field, ...]
    reach: Reach

    @property
    def title(self) -> str:
        """The sheet's name, the same in every language."""
        return TITLES[self.level]

    @cached_property
    def letters(self) -> Mapping[str, str]:
        """The column letter of each key."""
        return {field.key: field.letter for field in self.fields}

    def of_kind(self, *kinds: str) -> list[Field]:
        """The fields of some kinds, in order."""
        return [field for field in self.fields if field.kind in kinds]

    @property
    def computed(self) -> list[Field]:
        """The computed fields: they stand side by side."""
        return self.of_kind("step", "spread")


class Layout:
    """The sheets of one worked batch and every address on them."""

    def __init__(self, worked: Worked, part: Extent) -> None:
        self.worked, self.part = worked, part
        self.plan: Plan = worked.plan
        self.has_tokens = bool(worked.table.tokens) or bool(worked.table.texts)
        self.sheets: dict[Level, Sheet] = {}
        levels = (Level.TOKEN, Level.COMPLETION, Level.GROUP) if self.has_tokens else (Level.COMPLETION, Level.GROUP)
        for level in levels:
            self.sheets[level] = self._sheet(level)

    # -- what stands where -------------------------------------------------------------------------------------------

    @property
    def small(self) -> bool:
        """Whether the whole batch fits on one page."""
        lead = self.plan.leads.get("token_loss")
        return self.part.whole and 0 < self.part.tokens <= PAGE_TOKENS and lead is not None

    @cached_property
    def batch(self) -> tuple[str, ...]:
        """The batch figures: those of the contract first, then what they are made of."""
        shown = {step.name for step in self.shown}
        named = [name for name in NAMES[Level.BATCH] if self.plan.leads.get(name) in shown]
        rest = [step.name for step in self.steps(Level.BATCH) if step.name not in named]
        return (*named, *rest)

    @cached_property
    def batch_rows(self) -> Mapping[str, int]:
        """The row of each batch figure on the Loss sheet."""
        return {name: FIRST_ROW + place for place, name in enumerate(self.batch)}

    def inputs(self, level: Level) -> list[str]:
        """The given columns of a level, by the names formulas know them by; a fixed one only where it is read."""
        read = {name for step in self.plan.steps for name in step.reads}
        here = [name for name in self.worked.inputs if self.plan.levels.get(name) is level]
        return [name for name in here if name in read or name not in FIXED]

    @cached_property
    def shown(self) -> tuple[Step, ...]:
        """The steps that the sheets show: all, but without token rows none that counts them."""
        if self.has_tokens:
            return self.plan.steps
        counting: set[str] = set()
        for step in self.plan.steps:
            if step.consumes is Level.TOKEN or counting.intersection(step.reads):
                counting.add(step.name)
        return tuple(step for step in self.plan.steps if step.name not in counting)

    def steps(self, level: Level) -> list[Step]:
        """The shown steps of a level."""
        return [step for step in self.shown if step.level is level]

    def _spreads(self, level: Level) -> list[str]:
        """Coarser names that this sheet shows: the contract's own of this level, and what a reduction here reads."""
        shown = ["advantage", *NAMES[Level.TOKEN]] if level is Level.TOKEN else []
        leads = [self.plan.leads[name] for name in shown if name in self.plan.leads]
        read = [name for step in self.shown if step.consumes is level for name in _consumed(step)]
        return [
            name
            for name in dict.fromkeys([*leads, *read])
            if self.plan.levels[name] < level and name not in self.worked.recipe.parameters
        ]

    def _sheet(self, level: Level) -> Sheet:
        fields = [*self._which(level), *self._given(level)]
        steps = {step.name: step for step in self.steps(level)}
        computed = [
            *(self._field(name, "spread", stage(self.plan.step(name)), of=name) for name in self._spreads(level)),
            *(Field(name, "step", stage(step), step.label, step=step) for name, step in steps.items()),
        ]
        fields += sorted(computed, key=lambda field: STAGES.index(field.stage))
        reached = reach(self.plan, [field.key for field in computed], level)
        read = {name for found in self._reaches().values() for name in found.inputs}
        if computed:
            names = {field.key for field in computed}
            frozen = [name for name in CHECKED[level] if self.plan.leads.get(name, name) in names]
            fields += [
                self._field(f"numpy_{name}", "frozen", "check", of=self.plan.leads.get(name, name)) for name in frozen
            ]
            fields += [self._field("numpy_sum", "frozen", "check", of="sum"), self._field("check", "check", "check")]
        copied = [name for name in self.inputs(level) if name in read and name not in FIXED]
        fields += [self._field(f"given_{name}", "given", "given", of=name) for name in copied]
        fields += [self._field(key, "edited", "given") for key in self._edited(level, copied)]
        if len(fields) > EXCEL_COLUMNS:
            raise Problem("workbook.too_many_columns", seen=len(fields), most=EXCEL_COLUMNS)
        placed = tuple(_lettered(fields))
        return Sheet(level, placed, reached)

    def _which(self, level: Level) -> Iterator[Field]:
        """The fields that say which row one is looking at."""
        yield self._field("row", "number", "row")
        yield self._field("group_id", "text", "row")
        if level >= Level.COMPLETION:
            yield self._field("completion_id", "text", "row")
        if level is Level.TOKEN:
            yield self._field("token_index", "number", "row")
            for name in self.worked.table.texts:
                yield self._field(name, "text", "row")
            if self.part.rows is not self.part.table:
                yield self._field("mask", "mask", "row")

    def _given(self, level: Level) -> Iterator[Field]:
        for name in self.inputs(level):
            yield self._field(name, "fixed" if name in FIXED else "input", "inputs")

    def _field(self, key: str, kind: str, stage: str, of: str = "") -> Field:
        step = self.plan.step(of) if of else None
        return Field(key, kind, stage, step.label if step is not None else label(of or key), of=of)

    def _reaches(self) -> Mapping[str, Reach]:
        """What each step's row depends on."""
        return {step.name: reach(self.plan, [step.name], step.level) for step in self.plan.steps}

    def _edited(self, level: Level, copied: list[str]) -> Iterator[str]:
        """The counts of edited inputs that checks ask for: of the row itself, and of finer rows under it."""
        if copied:
            yield edited_key(level, level)
        asked = {pair for found in self._reaches().values() for pair in found.rows}
        for finer in (Level.TOKEN, Level.COMPLETION):
            if finer > level and any(Level.BATCH < at <= level and of is finer for at, of in asked):
                yield edited_key(level, finer)

    # -- how a formula refers to it ----------------------------------------------------------------------------------

    def cell(self, name: str, at: Level) -> str:
        """The reference to a name's value from a row of a level: on its own sheet where that shows it."""
        if at in self.sheets and name in self.sheets[at].letters:
            return f"{self.sheets[at].letters[name]}{OWN}"
        return self.above(name, at)

    def above(self, name: str, at: Level) -> str:
        """The reference to a name's value where it lives, at the row's own level or a coarser one."""
        level = self.plan.levels.get(name, Level.BATCH)
        if level is Level.BATCH:
            return self.batch_cell(name)
        return self.on_sheet(name, level, at)

    def on_sheet(self, key: str, level: Level, at: Level) -> str:
        """The reference to a field of the sheet of a level, in the row that a row of level ``at`` belongs to."""
        mark = OWN if level is at else COMPLETION if level is Level.COMPLETION else GROUP
        sheet = "" if level is at else f"{TITLES[level]}!"
        return f"{sheet}{self.sheets[level].letters[key]}{mark}"

    def batch_cell(self, name: str) -> str:
        """The reference to a parameter or batch figure: its own name, unless a program would take that for a cell."""
        if name in self.worked.recipe.parameters or not _LIKE_A_CELL.fullmatch(name):
            return name
        return f"{TITLES[Level.BATCH]}!$C${self.batch_rows[name]}"

    def area(self, name: str | None, finer: Level, at: Level) -> str:
        """The range of a name's values (of the row numbers, to count) on the finer sheet, under a row of a level."""
        letter = self.sheets[finer].letters[name or "row"]
        first, last = (
            (FIRST, LAST) if at is not Level.BATCH else (str(FIRST_ROW), str(FIRST_ROW + self.count(finer) - 1))
        )
        return f"{TITLES[finer]}!{letter}{first}:{letter}{last}"

    def token_rows(self) -> Integers:
        """The row of each live token on the Tokens sheet."""
        part = self.part
        if part.rows is part.table:
            return FIRST_ROW + np.arange(part.tokens)
        return FIRST_ROW + np.flatnonzero(part.rows.tokens["mask"][: part.token_rows] != 0)

    def count(self, level: Level) -> int:
        """How many rows a sheet lists."""
        part = self.part
        return {
            Level.TOKEN: part.token_rows,
            Level.COMPLETION: part.listed_completions,
            Level.GROUP: part.listed_groups,
        }[level]


def _consumed(step: Step) -> list[str]:
    """The finer names that a reduction reads."""
    read = [
        name for parameter, name in step.arguments.items() if parameter in step.column.consumes and parameter != "over"
    ]
    return read if step.counted is None else [*read, step.counted]


def edited_key(level: Level, of: Level) -> str:
    """The key of the count of edited inputs of level ``of`` under one row of ``level``."""
    return "edited" if level is of else f"edited_{TITLES[of].lower()}"


def _lettered(fields: Iterable[Field]) -> Iterator[Field]:
    for place, field in enumerate(fields, start=1):
        yield Field(field.key, field.kind, field.stage, field.label, get_column_letter(place), field.step, field.of)
