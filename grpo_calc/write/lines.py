"""The worked lines of one token, from reward to gradient: each formula, its numbers put in, the result, the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from grpo_calc.column import Label, Level, counted, label
from grpo_calc.over import BELOW
from grpo_calc.plan import Step
from grpo_calc.say import Problem
from grpo_calc.sym import plain
from grpo_calc.sym import worked as substituted
from grpo_calc.work import Worked
from grpo_calc.write.numbers import short
from grpo_calc.write.rows import STAGES, called, stage

LISTED = 8
"""A reduction over more rows than this lists the first ones and the last."""

AIMS = ("token_loss", "token_gradient", "loss", "gradient")


class Line(NamedTuple):
    """One quantity at one token's place: ``formula`` is empty for what is given; ``value`` NaN is undefined."""

    name: str
    label: Label
    stage: str
    level: Level
    formula: str
    numbers: str
    value: float
    source: str


def lines(worked: Worked, row: int) -> list[Line]:
    """The worked lines of the token in a row (1-based, as the table prints it), in the order they are worked.

    Errors: :class:`~grpo_calc.say.Problem` for a row that is masked, or that there is none of.
    """
    if "logp_new" not in worked.table.tokens:
        raise Problem("cli.no_tokens", source=worked.table.source or "table")
    place = _Place(worked, _token(worked, row))
    aims = [name for name in AIMS if worked.has(name)]
    plan = worked.plan.upstream(aims)
    computed = [place.line(step) for step in _by_stage(plan.steps) if step.reads or step.consumes is not None]
    given = sorted((place.given(name) for name in place.needed(plan.steps)), key=lambda line: line.source)
    told: dict[tuple[str, str, str], Line] = {}
    for line in computed:  # the same step under two names is told once
        told.setdefault((line.label.symbol, line.formula, line.numbers), line)
    return [*given, *told.values()]


def _by_stage(steps: Sequence[Step]) -> Iterator[Step]:
    """Steps in an order they can be worked in, each stage told as far as it goes before the next one is."""
    waiting = {step.name: step for step in steps}
    while waiting:
        ready = [step for step in waiting.values() if not waiting.keys() & set(step.reads)]
        first = min(ready, key=lambda step: STAGES.index(stage(step, step.name)))
        yield waiting.pop(first.name)


def _token(worked: Worked, row: int) -> int:
    table = worked.table
    found = np.flatnonzero(table.row == row)
    if found.size:
        return int(found[0])
    whole = table.masked if table.masked is not None else table
    if (whole.row == row).any():
        raise Problem("cli.masked_token", row=row)
    raise Problem("cli.no_token", row=row, last=int(whole.row.max(initial=0)))


class _Place:
    """One token, its completion, its group, and the batch: which row of each level the lines speak of."""

    def __init__(self, worked: Worked, token: int) -> None:
        self.worked = worked
        table = worked.table
        completion = int(table.completion_of_token[token])
        group = int(table.group_of_completion[completion])
        self.at = {Level.TOKEN: token, Level.COMPLETION: completion, Level.GROUP: group, Level.BATCH: 0}
        self.offsets = {
            (Level.TOKEN, Level.COMPLETION): table.token_offsets,
            (Level.COMPLETION, Level.GROUP): table.group_offsets,
        }
        self.values = worked.columns([*(step.name for step in worked.plan.steps), *self.needed(worked.plan.steps)])

    def needed(self, steps: Sequence[Step]) -> list[str]:
        """The inputs and parameters that the steps read."""
        made = {step.name for step in steps}
        return list(dict.fromkeys(n for step in steps for n in step.reads if n not in made))

    def number(self, name: str) -> float:
        """A name's value at this place."""
        level = self.worked.plan.levels[name]
        value = self.values[name]
        return float(value) if level is Level.BATCH else float(value[self.at[level]])

    def given(self, name: str) -> Line:
        parameter = name in self.worked.recipe.parameters
        kind = "parameter" if parameter else "given"
        return Line(name, label(name), "inputs", self.worked.plan.levels[name], "", "", self.number(name), kind)

    def line(self, step: Step) -> Line:
        shown = stage(step, step.name)
        formula = plain(step.expression, lambda name: self.symbol(step, name), counted(step.column))
        numbers = substituted(
            step.expression, lambda name: self.spelled(step, name), lambda name: self.listed(step, name)
        )
        numbers = "" if formula.startswith("count(") else numbers  # a count of rows: the result says it
        return Line(
            step.name, step.label, shown, step.level, formula, numbers, self.number(step.name), step.column.source
        )

    def symbol(self, step: Step, name: str) -> str:
        """What a step's formula calls a name; its own value one row below is called ``[t+1]``."""
        return f"{step.label.symbol}[t+1]" if name == BELOW else called(self.worked.plan, name).symbol

    def spelled(self, step: Step, name: str) -> str:
        """A name's number in a step's worked line; below a completion's last token there is nothing, and it is 0."""
        if name != BELOW:
            return short(self.number(name))
        token, (_, last) = self.at[Level.TOKEN], self._under(Level.TOKEN, Level.COMPLETION)
        return short(float(self.values[step.name][token + 1])) if token + 1 < last else "0"

    def listed(self, step: Step, name: str | None) -> str:
        """The numbers a reduction reads, shortened where they are many."""
        assert step.consumes is not None
        start, stop = self._under(step.consumes, step.level)
        if name is None:
            return counted(step.column)
        values = self._rows(name, step.consumes)[start:stop]
        texts = [short(value) for value in values.tolist()]
        if len(texts) > LISTED:
            texts = [*texts[: LISTED - 3], "…", *texts[-2:]]
        return ", ".join(texts)

    def _under(self, finer: Level, coarser: Level) -> tuple[int, int]:
        if coarser is Level.BATCH:
            return 0, len(self._rows(None, finer))
        offsets = self.offsets[finer, coarser]
        at = self.at[coarser]
        return int(offsets[at]), int(offsets[at + 1])

    def _rows(self, name: str | None, level: Level) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """A column at a level, repeated where it is coarser; ``None`` gives one entry a row."""
        table = self.worked.table
        count = {
            Level.TOKEN: table.token_count,
            Level.COMPLETION: table.completion_count,
            Level.GROUP: table.group_count,
        }[level]
        if name is None:
            return np.zeros(count)
        at, value = self.worked.plan.levels[name], self.values[name]
        if at == level:
            return np.asarray(value)
        if at is Level.BATCH:
            return np.full(count, value)
        index = table.completion_of_token if level is Level.TOKEN else np.arange(count)
        if at is Level.GROUP:
            index = table.group_of_completion[index]
        return np.asarray(value)[index]


def text(line: Line, undefined: str) -> str:
    """The line as one text: ``formula = numbers = result``, repeats left out."""
    result = short(line.value) if line.value == line.value else undefined
    steps: Iterator[str] = (part for part in (line.formula, line.numbers, result) if part)
    return " = ".join(dict.fromkeys(steps))
