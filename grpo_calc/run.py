"""Working a plan: blocks of tokens cut at completions, one pass or more, each column dropped at its last use.

The same code runs on NumPy in blocks, and on any other array namespace (in tests) with the whole table as one block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from grpo_calc.column import Level
from grpo_calc.ops import Array, namespace
from grpo_calc.over import Counted, Segments, segments
from grpo_calc.plan import BEFORE, Plan, Step

BLOCK = 32_000
"""Tokens a block: large enough that calls cost little, small enough that a block's few live columns stay in cache."""

Form = tuple[str, Level]
"""A name's value laid out for the rows of a level: ``("advantage", Level.TOKEN)`` is the advantage spread to tokens."""

Spans = Mapping[tuple[Level, Level], Segments]
"""For a finer and a coarser level, the finer rows under each coarser row."""

RANK = (Level.TOKEN, Level.BATCH)
"""What a reduction consumes and gives when it needs every token at once: those tokens' columns are held whole."""

OVER: Form = ("over", Level.TOKEN)
"""Where a block holds its segments: the tokens under each of its completions."""


class Operation(NamedTuple):
    """One thing to do: call ``function`` on values held under ``reads``, keep it under ``gives``, forget ``drops``."""

    function: Callable[..., Any]
    reads: tuple[Form, ...]
    gives: Form
    drops: tuple[Form, ...] = ()


class Shape(NamedTuple):
    """The rows of a table: how tokens make completions, completions groups, and groups the batch."""

    token_offsets: Any
    group_offsets: Any

    @property
    def tokens(self) -> int:
        """How many tokens there are."""
        return int(self.token_offsets[-1])

    @property
    def completions(self) -> int:
        """How many completions there are."""
        return len(self.token_offsets) - 1

    def spans(self, xp: Any) -> Spans:
        """The segments of every pair of levels that a reduction joins, for arrays of ``xp``."""
        groups = len(self.group_offsets) - 1
        return {
            (Level.TOKEN, Level.COMPLETION): segments(self.token_offsets, xp),
            (Level.TOKEN, Level.BATCH): segments(np.array([0, self.tokens]), xp),
            (Level.COMPLETION, Level.GROUP): segments(self.group_offsets, xp),
            (Level.COMPLETION, Level.BATCH): segments(np.array([0, self.completions]), xp),
            (Level.GROUP, Level.BATCH): segments(np.array([0, groups]), xp),
        }

    def blocks(self, size: int) -> Iterator[tuple[int, int]]:
        """Runs of completions of about ``size`` tokens each: the first, and the one after the last."""
        first = 0
        while first < self.completions:
            fitting = int(np.searchsorted(self.token_offsets, self.token_offsets[first] + size, side="right")) - 1
            end = max(fitting, first + 1)
            yield first, end
            first = end


def run(
    plan: Plan, inputs: Mapping[str, Array], shape: Shape, wanted: Sequence[str], block: int = BLOCK
) -> dict[str, Array]:
    """The values of the wanted names (where the plan leads them), one entry a row of the name's level.

    ``inputs`` are flat arrays by name. Every batch, group and completion value worked on the way is given too.
    """
    xp = namespace(*inputs.values())
    whole: dict[str, Array] = {**inputs, **plan.recipe.parameters}
    spans = shape.spans(xp)
    blocks = list(shape.blocks(block if xp is np else max(shape.tokens, 1)))
    last = max((step.time for step in plan.steps), default=BEFORE)
    held = {*wanted, *(read for step in plan.steps if (step.consumes, step.level) == RANK for read in step.reads)}
    for time in range(BEFORE, last + 1):
        due = [step for step in plan.steps if step.time == time]
        if time >= 0 and time % 2 == 0:
            kept = [step for step in due if step.level is Level.COMPLETION or step.name in held]
            _pass(plan, time, kept, whole, spans, blocks)
        else:
            for step in due:
                whole[step.name] = _work_whole(step, plan, whole, spans)
    return whole


def _work_whole(step: Step, plan: Plan, whole: Mapping[str, Array], spans: Spans) -> Array:
    """A step without tokens, worked on all its rows at once."""
    arguments = []
    for parameter, name in step.arguments.items():
        if parameter == "over":
            assert step.consumes is not None
            over = spans[step.consumes, step.level]
            arguments.append(over if step.counted is None else Counted(over, whole[step.counted]))
        else:
            at, to = plan.levels[name], step.row(parameter)
            value = whole[name] if at is Level.TOKEN else _sound(whole[name])
            arguments.append(value if at in (Level.BATCH, to) else spans[to, at].spread(value))
    return step.column.function(*arguments)


def _sound(value: Any) -> Any:
    """A value without infinities: what overflowed is undefined (NaN), or dividing by it would give 0.

    >>> _sound(np.array([1.0, np.inf])).tolist()
    [1.0, nan]
    """
    if isinstance(value, (np.ndarray, np.floating)) and np.isinf(value).any():
        return np.where(np.isinf(value), np.nan, value)
    return value


# -- a pass over the tokens ------------------------------------------------------------------------------------------


def _pass(
    plan: Plan,
    time: int,
    kept: Sequence[Step],
    whole: dict[str, Array],
    spans: Spans,
    blocks: Sequence[tuple[int, int]],
) -> None:
    """One pass: the kept steps of this time and all that they need, block by block."""
    if not kept:
        return
    loads, operations = _compile(plan, time, kept)
    by_group = spans[Level.COMPLETION, Level.GROUP]
    loaded = {}
    for name, level in loads:
        value = whole[name] if level is Level.TOKEN and plan.levels[name] is not Level.BATCH else _sound(whole[name])
        loaded[name, level] = by_group.spread(value) if plan.levels[name] is Level.GROUP else value
    offsets = spans[Level.TOKEN, Level.COMPLETION].offsets
    if len(blocks) > 1:
        for step in kept:
            rows = int(offsets[-1]) if step.level is Level.TOKEN else len(offsets) - 1
            whole[step.name] = np.empty(rows)
    for first, end in blocks:
        single = len(blocks) == 1
        a, b = int(offsets[first]), int(offsets[end])
        rows_of = {Level.TOKEN: slice(a, b), Level.COMPLETION: slice(first, end)}
        held: dict[Form, Any] = {
            (name, level): value if plan.levels[name] is Level.BATCH else value[rows_of[level]]
            for (name, level), value in loaded.items()
        }
        held[OVER] = spans[Level.TOKEN, Level.COMPLETION] if single else Segments(offsets[first : end + 1] - a)
        for operation in operations:
            held[operation.gives] = operation.function(*[held[form] for form in operation.reads])
            for form in operation.drops:
                del held[form]
        for step in kept:
            value = held[step.name, step.level]
            if single:
                whole[step.name] = value
            else:
                whole[step.name][rows_of[step.level]] = value


def _spread(over: Segments, x: Array) -> Array:
    """A completion's value for each of its tokens."""
    return over.spread(x)


def _compile(plan: Plan, time: int, kept: Sequence[Step]) -> tuple[list[Form], list[Operation]]:
    """What one pass takes from whole columns, and its operations in order, each value dropped after its last use."""
    steps = {step.name: step for step in plan.steps}
    loads: list[Form] = []
    operations: list[Operation] = []
    done: set[Form] = set()

    def need(name: str, level: Level) -> Form:
        """Make ``name`` available for the rows of ``level``."""
        form = (name, level)
        if form in done:
            return form
        at, step = plan.levels[name], steps.get(name)
        if at == level and step is not None and (step.time == time or (at is Level.TOKEN and step.time >= 0)):
            over = counting(step) if "over" in step.arguments else OVER
            reads = [over if p == "over" else need(read, step.row(p)) for p, read in step.arguments.items()]
            operations.append(Operation(step.column.function, tuple(reads), form))
        elif at in (Level.BATCH, level) or (at, level) == (Level.GROUP, Level.COMPLETION):
            loads.append(form)
        else:
            operations.append(Operation(_spread, (OVER, need(name, Level.COMPLETION)), form))
        done.add(form)
        return form

    def counting(step: Step) -> Form:
        """The segments of the tokens that a step counts."""
        if step.counted is None:
            return OVER
        form = (f"over {step.counted}", Level.TOKEN)
        if form not in done:
            operations.append(Operation(Counted, (OVER, need(step.counted, Level.TOKEN)), form))
            done.add(form)
        return form

    results = {need(step.name, step.level) for step in kept}
    return loads, _drop_at_last_use(operations, results | {OVER})


def _drop_at_last_use(operations: Sequence[Operation], keep: set[Form]) -> list[Operation]:
    seen = set(keep)
    result = []
    for operation in reversed(operations):
        drops = tuple(dict.fromkeys(form for form in operation.reads if form not in seen))
        seen.update(drops)
        result.append(Operation(operation.function, operation.reads, operation.gives, drops))
    return result[::-1]
