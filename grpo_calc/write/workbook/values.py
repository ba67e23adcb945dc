"""The numbers of a workbook: coarse columns whole, token columns a block at a time, by the columns' own functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from grpo_calc.column import Level
from grpo_calc.run import Shape
from grpo_calc.table import Floats
from grpo_calc.work import Worked
from grpo_calc.write.workbook.extent import Extent

BLOCK = 1_000
"""Tokens a block: its numbers and their texts together stay small."""


@dataclass(frozen=True)
class Block:
    """The columns of some tokens: those of completions ``first`` to ``end``, by name."""

    first: int
    end: int
    columns: Mapping[str, Floats]


class Values:
    """Every column of a worked batch, for the sheets."""

    def __init__(self, worked: Worked, part: Extent) -> None:
        self.worked, self.part, self.plan = worked, part, worked.plan

    @cached_property
    def coarse(self) -> Mapping[str, Any]:
        """Every step above the tokens, and the given completion columns: arrays, floats for the batch."""
        names = [step.name for step in self.plan.steps if step.level is not Level.TOKEN]
        given = {name: x for name, x in self.worked.inputs.items() if self.plan.levels[name] is not Level.TOKEN}
        return {**given, **self.worked.columns(names)}

    def rows(self, level: Level, a: int, b: int) -> dict[str, Any]:
        """The coarse columns for the rows ``a`` to ``b`` of Completions or Groups: a coarser one is repeated."""
        groups = self.worked.table.group_of_completion[a:b]
        found = {}
        for name, value in self.coarse.items():
            at = self.plan.levels[name]
            if at is level:
                found[name] = value[a:b]
            elif at < level:
                found[name] = value if at is Level.BATCH else value[groups]
        return found

    def blocks(self) -> Iterator[Block]:
        """The live tokens, block by block."""
        shape = Shape(self.part.table.token_offsets[: self.part.completions + 1], self.part.table.group_offsets)
        for first, end in shape.blocks(BLOCK):
            yield Block(first, end, self._tokens(first, end))

    def _tokens(self, first: int, end: int) -> dict[str, Floats]:
        table = self.part.table
        a, b = int(table.token_offsets[first]), int(table.token_offsets[end])
        counts = np.diff(table.token_offsets[first : end + 1])
        given = {n: x[a:b] for n, x in self.worked.inputs.items() if self.plan.levels[n] is Level.TOKEN}
        here = _Spreading(
            {**self.worked.recipe.parameters, **given}, self.coarse, self.plan.levels, slice(first, end), counts
        )
        here.groups = table.group_of_completion
        with np.errstate(all="ignore"):
            for step in self.plan.steps:
                if step.level is not Level.TOKEN:
                    continue
                if "over" in step.arguments:  # a token that reads other tokens of its completion
                    here.known[step.name] = self._reading_others[step.name][a:b]
                    continue
                value = step.column.function(*(here[name] for name in step.arguments.values()))
                here.known[step.name] = np.broadcast_to(np.asarray(value, dtype=np.float64), (b - a,))
        for name in self.plan.levels:
            here[name]
        return here.known

    @cached_property
    def _reading_others(self) -> Mapping[str, Floats]:
        steps = [step.name for step in self.plan.steps if step.level is Level.TOKEN and "over" in step.arguments]
        return self.worked.columns(steps)


class _Spreading:
    """Values for the tokens of a block by name: a coarser one is repeated when it is first asked for."""

    groups: Any

    def __init__(
        self, known: dict[str, Any], coarse: Mapping[str, Any], levels: Mapping[str, Level], rows: slice, counts: Any
    ) -> None:
        self.known, self.coarse, self.levels, self.rows, self.counts = known, coarse, levels, rows, counts

    def __getitem__(self, name: str) -> Any:
        if name not in self.known:
            value, level = self.coarse[name], self.levels[name]
            if level is not Level.BATCH:
                value = np.repeat((value if level is Level.COMPLETION else value[self.groups])[self.rows], self.counts)
            self.known[name] = value
        return self.known[name]
