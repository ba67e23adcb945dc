"""The plan: a recipe's names resolved to columns in working order, each with its level and the pass that works it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from grpo_calc.bind import Absent, Use
from grpo_calc.column import Column, Label, Level, catalogue, label
from grpo_calc.recipe import Recipe
from grpo_calc.say import Problem
from grpo_calc.sym import Sym

BEFORE = -1
"""When a step needs no token it is worked once, before any pass over the tokens; pass p is time 2p, its end 2p + 1."""


class Step(NamedTuple):
    """One column of a plan under its name here.

    ``arguments`` maps each parameter of the column to the name it reads (``over`` to ``"over"``); ``consumes`` is the
    finer level of a reduction, else ``None``; ``time`` says when it can be worked (see ``BEFORE``); ``counted`` names
    the 0/1 token column that says which tokens a reduction counts, ``None`` where all do.
    """

    name: str
    column: Column
    level: Level
    arguments: Mapping[str, str]
    consumes: Level | None
    time: int
    counted: str | None = None

    @property
    def label(self) -> Label:
        """What the quantity is called: by its name here, else by its column."""
        own = label(self.name)
        return own if own.symbol != self.name else self.column.label

    @property
    def expression(self) -> Sym:
        """The formula over the names it reads."""
        return self.column.expression({p: name for p, name in self.arguments.items() if p != "over"}, self.counted)

    def row(self, parameter: str) -> Level:
        """The level whose rows a parameter's value is laid out for: what a reduction consumes, else the step's own."""
        return self.column.consumes.get(parameter, self.level)

    @property
    def reads(self) -> tuple[str, ...]:
        """The names it reads, ``over`` apart, and which tokens count."""
        names = tuple(name for parameter, name in self.arguments.items() if parameter != "over")
        return names if self.counted is None else (*names, self.counted)


class Plan(NamedTuple):
    """Steps in working order, the levels of every name, and where a name leads (``token_kl`` to ``k3``)."""

    recipe: Recipe
    steps: tuple[Step, ...]
    levels: Mapping[str, Level]
    leads: Mapping[str, str]
    missing: Mapping[str, str] = MappingProxyType({})

    def step(self, name: str) -> Step | None:
        """The step that gives a name, or ``None`` for an input or parameter."""
        return next((step for step in self.steps if step.name == self.leads.get(name, name)), None)

    def upstream(self, names: Iterable[str]) -> Plan:
        """The part of the plan that these names need."""
        wanted = {self.leads.get(name, name) for name in names}
        for step in reversed(self.steps):
            if step.name in wanted:
                wanted.update(step.reads)
        return Plan(
            self.recipe, tuple(s for s in self.steps if s.name in wanted), self.levels, self.leads, self.missing
        )


class _Missing(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def plan(recipe: Recipe, inputs: Mapping[str, Level], targets: Iterable[str]) -> Plan:
    """The plan of a settled recipe for the targets that these inputs allow.

    ``inputs`` gives each input's level. A target that lacks an input, or that the recipe does not have, is left out;
    ``missing`` says what each one lacks (the recipe itself: ``""``).

    Errors: :class:`~grpo_calc.say.Problem` where a column depends on itself.
    """
    build = _Build(recipe, inputs)
    missing = {}
    for target in targets:
        try:
            build.resolve(target)
        except _Missing as lacks:
            missing[target] = lacks.name
    return Plan(
        recipe,
        tuple(build.steps.values()),
        MappingProxyType(build.levels),
        MappingProxyType(build.leads),
        MappingProxyType(missing),
    )


class _Build:
    def __init__(self, recipe: Recipe, inputs: Mapping[str, Level]) -> None:
        self.bindings = recipe.bindings
        self.columns = catalogue()
        self.levels: dict[str, Level] = dict(inputs)
        self.levels.update(dict.fromkeys(recipe.parameters, Level.BATCH))
        self.times = dict.fromkeys(self.levels, BEFORE) | {n: 0 for n, level in inputs.items() if level is Level.TOKEN}
        self.steps: dict[str, Step] = {}
        self.leads: dict[str, str] = {}
        self.open: list[str] = []

    def resolve(self, name: str) -> str:
        """The name that holds the value of ``name``, with every step it needs added."""
        if name in self.leads:
            return self.leads[name]
        binding = self.bindings.get(name)
        if isinstance(binding, str):
            self.leads[name] = self._guarded(name, binding)
        elif name in self.levels:
            return name
        else:
            use = binding if binding is not None else Use(name)
            if isinstance(use, Absent) or use.column not in self.columns:
                raise _Missing("" if isinstance(use, Absent) else name)
            self.leads[name] = self._add(name, use)
        return self.leads[name]

    def _guarded(self, name: str, target: str) -> str:
        if name in self.open:
            raise Problem("recipe.cycle", names=" -> ".join([*self.open, name]))
        self.open.append(name)
        try:
            return self.resolve(target)
        finally:
            self.open.pop()

    def _add(self, name: str, use: Use) -> str:
        column = self.columns[use.column]
        arguments = {}
        for parameter in column.arguments:
            wanted = use.renamed.get(parameter, parameter)
            arguments[parameter] = "over" if parameter == "over" else self._guarded(name, wanted)
        consumes = next(iter(column.consumes.values()), None)
        # A scan along a completion passes every token; what does not count is said by its own columns.
        counted = self._counted(name, use) if consumes is Level.TOKEN is not column.gives else None
        reads = [read for parameter, read in arguments.items() if parameter != "over"]
        level = column.gives if column.gives is not None else max((self.levels[r] for r in reads), default=Level.BATCH)
        time = self._time(level, consumes, reads if counted is None else [*reads, counted])
        step = Step(name, column, level, MappingProxyType(arguments), consumes, time, counted)
        for parameter, read in arguments.items():
            if parameter != "over" and self.levels[read] > step.row(parameter):
                raise Problem(
                    "recipe.too_fine",
                    name=name,
                    read=read,
                    level=self.levels[read].name.lower(),
                    wants=step.row(parameter).name.lower(),
                )
        self.steps[name] = step
        self.levels[name], self.times[name] = level, step.time
        return name

    def _counted(self, name: str, use: Use) -> str | None:
        """Which tokens a reduction counts: the column bound to ``counted``, or to what this use reads in its place."""
        wanted = use.renamed.get("counted", "counted")
        bound = self.bindings.get(wanted)
        return None if bound is None or isinstance(bound, Absent) else self._guarded(name, wanted)

    def _time(self, level: Level, consumes: Level | None, reads: list[str]) -> int:
        """A token's step waits for the next pass where it reads the end of one; a batch's or group's for the end."""
        latest = max((self.times[read] for read in reads), default=BEFORE)
        if not reads:
            return BEFORE  # a count: offsets alone
        if consumes is Level.TOKEN and level is Level.BATCH:
            return max(latest, 0) | 1  # a rank among all tokens
        if level is Level.TOKEN or consumes is Level.TOKEN:
            return max(latest + latest % 2, 0)
        if latest >= 0 and level <= Level.GROUP:
            return latest | 1
        return latest
