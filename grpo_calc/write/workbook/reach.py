"""What a value depends on: which parameters, which inputs, and whose rows of them. From the plan alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grpo_calc.column import Level
from grpo_calc.plan import Plan


@dataclass(frozen=True)
class Reach:
    """What a row's values depend on.

    ``rows`` holds pairs (level of the ancestor, level of the inputs): ``(GROUP, COMPLETION)`` says that the inputs of
    every completion of the row's group count. A pair is left out where a coarser ancestor covers it.
    """

    parameters: frozenset[str]
    inputs: frozenset[str]
    rows: frozenset[tuple[Level, Level]]


def reach(plan: Plan, names: Iterable[str], level: Level) -> Reach:
    """What the values of these names depend on, for a row of a level."""
    steps = {step.name: step for step in plan.steps}
    parameters, inputs = set(), set()
    ancestors: dict[Level, Level] = {}
    seen: set[tuple[str, Level]] = set()

    def visit(name: str, through: Level) -> None:
        # ``through`` is the coarsest level passed on the way: all of its finer rows are read below a reduction.
        if (name, through) in seen:
            return
        seen.add((name, through))
        if name in plan.recipe.parameters:
            parameters.add(name)
            return
        at = plan.levels[name]
        step = steps.get(name)
        if step is None:
            inputs.add(name)
            ancestors[at] = min(ancestors.get(at, at), through, at)
            return
        along = step.consumes is at  # it reads other rows of its own level, under the same coarser row
        for read in step.reads:
            visit(read, min(through, Level(at - 1) if along else at))

    for name in names:
        visit(plan.leads.get(name, name), level)
    return Reach(frozenset(parameters), frozenset(inputs), frozenset((above, of) for of, above in ancestors.items()))
