"""Working a plan: blocks of tokens cut at completions, one pass or more, each column dropped at its last use.

The same code runs on NumPy, and on any array namespace when the whole table is one block (as the tests do).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grpo_calc.column import Level
from grpo_calc.ops import Array, Segments
from grpo_calc.plan import BEFORE, Plan, Step

BLOCK = 10_000
"""Tokens a block: about a dozen float64 columns of it stay in a 512 KiB cache."""

Form = tuple[str, Level]
"""A name's value laid out for the rows of a level: ``("advantage", Level.TOKEN)`` is the advantage spread to tokens."""


@dataclass(frozen=True)
class Operation:
    """One thing to do: call ``function`` on values held under ``reads``, keep it under ``gives``, forget ``drops``."""

    function: Callable[..., Any]
    reads: tuple[Any, ...]
    gives: Any
    drops: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Shape:
    """The rows of a table: how tokens make completions, completions groups, and groups the batch."""

    token_offsets: Any
    group_offsets: Any

    def over(self, finer: Level, coarser: Level) -> Segments:
        """The finer rows under each coarser row, tokens apart."""
        if coarser is Level.BATCH:
            rows = len(self.group_offsets) - 1 if finer is Level.GROUP else len(self.token_offsets) - 1
            return Segments(np.array([0, rows]))
        assert (finer, coarser) == (Level.COMPLETION, Level.GROUP)
        return Segments(self.group_offsets)

    def blocks(self, size: int) -> Iterator[tuple[int, int]]:
        """Runs of completions of about ``size`` tokens each."""
        offsets, last, first = self.token_offsets, len(self.token_offsets) - 1, 0
        while first < last:
            end = int(np.searchsorted(offsets, offsets[first] + size, side="right")) - 1
            end = min(max(end, first + 1), last)
            yield first, end
            first = end


def run(plan: Plan, inputs: Mapping[str, Array], shape: Shape, wanted: Sequence[str], block: int = BLOCK) -> dict[str, Array]:
    """The values of the wanted names (where the plan leads them), one entry a row of the name's level.

    ``inputs`` are flat arrays by name. Every batch, group and completion value worked on the way is given too.
    """
    whole: dict[str, Array] = {**plan.recipe.parameters, **inputs}
    spreads = {(a, b): shape.over(a, b) for a, b in ((Level.COMPLETION, Level.GROUP), (Level.COMPLETION, Level.BATCH), (Level.GROUP, Level.BATCH))}
    last = max((step.time for step in plan.steps), default=BEFORE)
    for time in range(BEFORE, last + 1):
        if time >= 0 and time % 2 == 0:
            _pass(plan, time, whole, shape, wanted, block)
        else:
            for step in plan.steps:
                if step.time == time:
                    whole[step.name] = _work_whole(step, plan, whole, spreads)
    return whole


def _work_whole(step: Step, plan: Plan, whole: Mapping[str, Array], spreads: Mapping[tuple[Level, Level], Segments]) -> Array:
    arguments = []
    for parameter, name in step.arguments.items():
        if parameter == "over":
            arguments.append(_counter(step, plan, whole, spreads))
            continue
        to = step.consumes if parameter in step.column.consumes and step.consumes is not None else step.level
        arguments.append(_spread_whole(whole[name], plan.levels[name], to, spreads))
    return step.column.function(*arguments)


def _counter(step: Step, plan: Plan, whole: Mapping[str, Array], spreads: Mapping[tuple[Level, Level], Segments]) -> Segments:
    if step.consumes is Level.TOKEN:
        return Segments(whole["token_offsets"])
    assert step.consumes is not None
    return spreads[step.consumes, step.level]


def _spread_whole(value: Array, at: Level, to: Level, spreads: Mapping[tuple[Level, Level], Segments]) -> Array:
    if at == Level.BATCH or at >= to:
        return value
    assert (at, to) == (Level.GROUP, Level.COMPLETION)
    return spreads[to, at].spread(value)


# -- a pass over the tokens ------------------------------------------------------------------------------------------


def _pass(plan: Plan, time: int, whole: dict[str, Array], shape: Shape, wanted: Sequence[str], block: int) -> None:
    """One pass: every token step and completion step of this time, block by block."""
    due = [step for step in plan.steps if step.time == time]
    kept = {step.name for step in due if step.level is Level.COMPLETION}
    kept |= {step.name for step in due if step.name in wanted}
    if not kept:
        return
    program = _compile(plan, time, kept)
    blocks = list(shape.blocks(block))
    groups = Segments(shape.group_offsets)
    group_of = None if len(blocks) == 1 else np.repeat(np.arange(len(groups.counts)), groups.counts)
    for first, end in blocks:
        a, b = int(shape.token_offsets[first]), int(shape.token_offsets[end])
        segments = Segments(shape.token_offsets[first : end + 1] - a)
        single = len(blocks) == 1
        held: dict[Any, Any] = {"over": segments}
        loaders = {
            Level.TOKEN: (lambda x: x) if single else (lambda x, a=a, b=b: x[a:b]),
            Level.COMPLETION: (lambda x: x) if single else (lambda x, f=first, e=end: x[f:e]),
            Level.GROUP: groups.spread if group_of is None else (lambda x, f=first, e=end: x[group_of[f:e]]),
        }
        for operation in program:
            if operation.function is _LOAD:
                name, level = operation.reads
                held[operation.gives] = whole[name] if level is Level.BATCH else loaders[level](whole[name])
            elif operation.function is _SPREAD:
                held[operation.gives] = segments.spread(held[operation.reads[0]])
            else:
                held[operation.gives] = operation.function(*[held[key] for key in operation.reads])
            for key in operation.drops:
                del held[key]
        for name in kept:
            level = plan.levels[name]
            value = held[name, level]
            if single:
                whole[name] = value
                continue
            if name not in whole:
                whole[name] = np.empty(int(shape.token_offsets[-1]) if level is Level.TOKEN else len(shape.token_offsets) - 1)
            start, stop = (a, b) if level is Level.TOKEN else (first, end)
            whole[name][start:stop] = value


def _LOAD() -> None:  # noqa: N802  (a marker, never called)
    """Take a block's rows of a whole column."""


def _SPREAD() -> None:  # noqa: N802
    """Repeat a completion's value for its tokens."""


def _compile(plan: Plan, time: int, kept: set[str]) -> list[Operation]:
    """The operations of one pass in order, each value dropped right after its last use."""
    steps = {step.name: step for step in plan.steps}
    operations: list[Operation] = []
    done: set[Form] = set()

    def need(name: str, level: Level) -> Form:
        """Make ``name`` available for the rows of ``level``."""
        form = (name, level)
        if form in done:
            return form
        at = plan.levels[name]
        step = steps.get(name)
        if at == level and step is not None and (step.time == time or (at is Level.TOKEN and step.time >= 0)):
            work(step)
        elif at is Level.BATCH or at == level or (at, level) == (Level.GROUP, Level.COMPLETION):
            operations.append(Operation(_LOAD, (name, at), form))
        else:
            operations.append(Operation(_SPREAD, (need(name, Level.COMPLETION),), form))
        done.add(form)
        return form

    def work(step: Step) -> None:
        reads: list[Any] = []
        for parameter, name in step.arguments.items():
            if parameter == "over":
                reads.append("over")
            elif parameter in step.column.consumes and step.consumes is not None:
                reads.append(need(name, step.consumes))
            else:
                reads.append(need(name, step.level))
        operations.append(Operation(step.column.function, tuple(reads), (step.name, step.level)))

    for name in sorted(kept):
        need(name, plan.levels[name])
    return _drop_at_last_use(operations, {(name, plan.levels[name]) for name in kept})


def _drop_at_last_use(operations: list[Operation], kept: set[Form]) -> list[Operation]:
    seen: set[Any] = {"over", *kept}
    result = []
    for operation in reversed(operations):
        drops = tuple(dict.fromkeys(key for key in operation.reads if isinstance(key, tuple) and key not in seen))
        seen.update(drops)
        result.append(Operation(operation.function, operation.reads, operation.gives, drops))
    return result[::-1]
