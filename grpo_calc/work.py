"""``work(table, recipe)``: every column of a recipe on a table, worked when asked for, in blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grpo_calc.column import Level, catalogue
from grpo_calc.lacks import no_loss, unread
from grpo_calc.near import near
from grpo_calc.plan import Plan, plan
from grpo_calc.recipe import Recipe
from grpo_calc.recipes import recipe as named_recipe
from grpo_calc.roles import PARAMETERS
from grpo_calc.run import BLOCK, Shape, run
from grpo_calc.say import Note, Problem, note
from grpo_calc.table import LOGPS, Floats, Table

NAMES: Mapping[Level, tuple[str, ...]] = MappingProxyType(
    {
        Level.TOKEN: (
            *("logp_new", "logp_old", "logp_ref", "logp_sampler", "advantage_given"),
            *("log_ratio", "ratio", "clipped_ratio", "surrogate", "clipped_surrogate", "token_objective"),
            *(
                "clipped",
                "outside",
                "k1",
                "k2",
                "k3",
                "kl_proxy",
                "token_kl",
                "token_loss",
                "token_gradient",
                "gradient",
            ),
        ),
        Level.COMPLETION: ("length", "reward", "advantage_given", "advantage", "mean_ratio", "completion_loss"),
        Level.GROUP: ("group_size", "group_mean", "group_std"),
        Level.BATCH: (
            *("surrogate_objective", "kl", "kl_token_mean", "objective", "policy_loss", "loss"),
            *("clip_fraction", "clip_low_fraction", "clip_high_fraction", "tokens", "completions", "groups"),
        ),
    }
)
"""The names every output knows, by the level they have under a token ratio (``contract``: one function, one key)."""

SIGN = "objective is to be raised; loss = -objective is to be lowered"


class Worked:
    """A table worked by a recipe. Immutable; a column is computed when it is asked for.

    ``worked["ratio"]`` is an array, one value a row of the name's level (``worked.level("ratio")``); a batch figure is
    a float. NaN means undefined (``|log r| > 700``, or too large for a float64); nothing is infinite. ``worked.notes``
    says what is worth knowing about the result.
    """

    def __init__(self, table: Table, recipe: Recipe) -> None:
        if recipe.roles["truncated"] == "dropped" and "truncated" in table.completions:
            table = table.without_tokens(table.completions["truncated"] > 0)
        if recipe.roles["counted"] == "mask":
            table = table.masked or table
        self.table = table
        inputs = _inputs(table)
        if "logp_new" in inputs and "logp_old" not in inputs and recipe.roles["old"] == "given":
            missing = "work.no_old_but_sampler" if "logp_sampler" in inputs else "work.no_old"
            raise Problem(missing, source=table.source or "table")
        self.recipe = recipe.settle(inputs)
        if "reward" in self.recipe.bindings and "reward" in inputs:
            inputs = {("reward_given" if name == "reward" else name): value for name, value in inputs.items()}
        levels = {name: _level(name, value, table) for name, value in inputs.items()}
        self._not_given = () if any(name in table.tokens for name in LOGPS) else ("length", "tokens")  # they are not 0
        targets = [name for names in NAMES.values() for name in names if name not in self._not_given]
        self.plan: Plan = plan(self.recipe, levels, targets)
        if "gap" in self.plan.missing.values():  # worked only for a recipe that goes along a completion
            inputs["gap"] = table.gap
            levels["gap"] = Level.TOKEN
            self.plan = plan(self.recipe, levels, targets)
        unset = next((lacks for lacks in self.plan.missing.values() if lacks in PARAMETERS), None)
        if unset is not None:
            raise Problem("work.no_parameter", recipe=self.recipe.name, parameter=unset)
        if "logp_new" in inputs and self.plan.missing.get("loss"):
            problem = no_loss(self.plan, levels)
            if problem is not None:
                raise problem
        self._wide = self.plan
        self._inputs, self._levels = inputs, levels
        self._shape = Shape(table.token_offsets, table.group_offsets)
        self._known: dict[str, Any] = {}
        self._overflown: dict[str, int] = {}

    @property
    def inputs(self) -> Mapping[str, Floats]:
        """What is given, by the names formulas know it by: one value a row of the name's level."""
        return MappingProxyType(self._inputs)

    @cached_property
    def parameters(self) -> Mapping[str, float]:
        """The parameters that some column here reads, in the recipe's order."""
        read = {name for step in self.plan.steps for name in step.reads}
        return {name: value for name, value in self.recipe.parameters.items() if name in read}

    def level(self, name: str) -> Level:
        """The level a name lives at in this recipe."""
        lead = self._lead(name)
        return self._wide.levels[lead]

    def has(self, name: str) -> bool:
        """Whether this recipe on this table has the name."""
        return (name in self.plan.leads or name in self.plan.levels) and name not in self._not_given

    def __getitem__(self, name: str) -> Any:
        return self.columns([name])[name]

    def columns(self, names: Iterable[str]) -> dict[str, Any]:
        """Several columns in one run over the tokens: arrays, floats for the batch's."""
        names = list(names)
        leads = {name: self._lead(name) for name in names}
        lacking = [lead for lead in leads.values() if lead not in self._known]
        fresh = self._run(lacking) if lacking else {}
        return {name: self._known.get(lead, fresh.get(lead)) for name, lead in leads.items()}

    def _run(self, leads: list[str]) -> dict[str, Any]:
        small = self.table.token_count <= BLOCK
        part = self._wide if small else self._wide.upstream(leads)
        wanted = list(part.levels) if small else leads
        with np.errstate(all="ignore"):
            values = run(part, self._inputs, self._shape, wanted)
        fresh = {}
        for name in (*(step.name for step in part.steps), *leads):
            if name not in values:
                continue
            level = self._wide.levels[name]
            value, overflown = _finished(values[name], level, self._rows(level))
            if overflown and name not in self._inputs:
                self._overflown[name] = overflown
            fresh[name] = value
            if small or level is not Level.TOKEN:
                self._known[name] = value
        return fresh

    def _rows(self, level: Level) -> int:
        return {
            Level.TOKEN: self.table.token_count,
            Level.COMPLETION: self.table.completion_count,
            Level.GROUP: self.table.group_count,
            Level.BATCH: 1,
        }[level]

    def _lead(self, name: str) -> str:
        if name not in self._wide.leads and name not in self._wide.levels and name not in self._wide.missing:
            self._widen(name)
        lead = self._wide.leads.get(name, name)
        if lead in self._wide.levels:
            return lead
        lacks = self._wide.missing.get(name)
        if lacks:
            raise Problem("work.lacks", name=name, lacks=lacks).of(self.table.source)
        usual = ", ".join(dict.fromkeys(n for names in NAMES.values() for n in names if self.has(n)))
        close = near(name, [n for n in self.plan.leads if n not in self.recipe.parameters])
        if close is None:
            raise Problem("work.no_column", name=name, recipe=self.recipe.name, known=usual)
        raise Problem("work.no_column_near", name=name, recipe=self.recipe.name, known=usual, close=close)

    def _widen(self, name: str) -> None:
        """Plan one more name: a column that is asked for and that no output of this recipe needs."""
        if name in catalogue() or name in self.recipe.bindings:
            self._wide = plan(self.recipe, self._levels, [*self._wide.leads, *self._wide.missing, name])

    @property
    def loss(self) -> float:
        """The batch loss, to be lowered: ``-objective``."""
        return float(self["loss"])

    def metrics(self, trainer: str) -> dict[str, float]:
        """What a trainer logs for this batch, under its own names.

        Errors: :class:`~grpo_calc.say.Problem` for an unknown trainer, or one whose figures are not known.
        """
        from grpo_calc import trainers

        known = trainers.trainer(trainer).metrics
        if known is None:
            raise Problem("trainer.no_metrics", name=trainer)
        return dict(known(self))

    @property
    def overflown(self) -> Mapping[str, int]:
        """Of the columns worked so far, those with values too large for a float64, which are undefined: how many."""
        found = {name: self._overflown[lead] for name, lead in self._wide.leads.items() if lead in self._overflown}
        usual = {name for names in NAMES.values() for name in names}
        return {name: count for name, count in found.items() if name in usual} or found or dict(self._overflown)

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What is worth knowing: of the table, of the recipe, and of the result."""
        given = unread(self.recipe, self.parameters) if "logp_new" in self._inputs else ()
        return (*self.table.notes, *self.recipe.notes, *given, *_findings(self))


def work(table: Table, recipe: Recipe | str = "grpo") -> Worked:
    """Work a table by a recipe (or its name).

    Errors: :class:`~grpo_calc.say.Problem` where the recipe needs an input that the table lacks.

    >>> table = Table.from_arrays(group_id=["q", "q"], reward=[1, 0], logp_new=[-1.0, -2.0], logp_old=[-1.0, -2.0])
    >>> work(table, named_recipe("grpo", beta=0)).loss
    0.0
    """
    recipe = named_recipe(recipe) if isinstance(recipe, str) else recipe
    try:
        return Worked(table, recipe)
    except Problem as problem:
        raise problem.of(table.source) from None


def _inputs(table: Table) -> dict[str, Floats]:
    """The table's columns by the names formulas know them by: its advantage is a given one; what we compute is ours."""
    columns = {"positions": table.positions, **table.completions, **table.tokens}
    given = {("advantage_given" if name == "advantage" else name): value for name, value in columns.items()}
    return {name: value for name, value in given.items() if name not in catalogue() and name not in PARAMETERS}


def _level(name: str, value: Floats, table: Table) -> Level:
    given = "advantage" if name == "advantage_given" else name
    return Level.TOKEN if table.tokens.get(given) is value else Level.COMPLETION


def _finished(value: Any, level: Level, rows: int) -> tuple[Any, int]:
    """A batch figure as a float, another column as a read-only array with a value a row; and how many overflowed.

    What is not finite is undefined: NaN.

    >>> _finished(np.array([1.0, np.inf]), Level.GROUP, 2)
    (array([ 1., nan]), 1)
    """
    if level is Level.BATCH:
        figure = float(np.asarray(value).reshape(-1)[0]) + 0.0  # a zero without a sign
        return (math.nan, 1) if math.isinf(figure) else (figure, 0)
    array = np.broadcast_to(np.asarray(value, dtype=np.float64), (rows,)).view()
    with np.errstate(all="ignore"):
        suspect = not math.isfinite(array.sum())  # one sum clears most columns
    overflown = 0
    if suspect and (infinite := np.isinf(array)).any():
        array, overflown = np.where(infinite, np.nan, array), int(infinite.sum())
    array.flags.writeable = False
    return array, overflown


def _findings(worked: Worked) -> Iterable[Note]:
    table = worked.table
    if "logp_new" in worked.inputs and not worked.has("loss"):
        yield note("note.no_reward")
    if worked.recipe.roles["truncated"] == "dropped" and "truncated" not in table.completions:
        yield note("note.no_truncated")
    if worked.has("zero_spread") and worked.recipe.roles["baseline"] != "given":
        sizes = np.diff(table.group_offsets)
        flat = worked["zero_spread"] > 0
        if (sizes == 1).any() and worked.recipe.roles["lone"] == "zero":
            yield note("note.one_member", count=int((sizes == 1).sum()))
        if (flat & (sizes > 1)).any():
            yield note("note.zero_spread", count=int((flat & (sizes > 1)).sum()))
        yield from _disagreement(worked)
    yield from _held(worked)
    yield from _undefined(worked)


def _undefined(worked: Worked) -> Iterable[Note]:
    """What has no value, and why: a log-ratio beyond what can be raised to, or a number too large for a float64."""
    if any(worked.has(name) and np.isnan(worked[name]) for name in ("loss", "kl")):
        ratio = _undefined_tokens(worked, "ratio")
        kl = _undefined_tokens(worked, "token_kl") & ~ratio
        if ratio.any():
            yield note("note.undefined", count=int(ratio.sum()))
        if kl.any() and worked.recipe.roles["kl"] == "k3":
            base = f"logp_{worked.recipe.roles['kl_base']}"
            yield note("note.undefined_kl", count=int(kl.sum()), base=base)
        worked.columns([name for name in NAMES[Level.TOKEN] if worked.has(name)])  # whatever overflows is found
    if worked.overflown:
        columns = ", ".join(f"{name} ({count})" for name, count in worked.overflown.items())
        yield note("note.overflow", columns=columns)


def _undefined_tokens(worked: Worked, name: str) -> NDArray[np.bool_]:
    """The tokens for which a column, theirs or their completion's, has no value."""
    if not worked.has(name):
        return np.zeros(worked.table.token_count, dtype=np.bool_)
    undefined = np.isnan(worked[name])
    if worked.level(name) is Level.COMPLETION:
        return np.repeat(undefined, np.diff(worked.table.token_offsets))
    return np.broadcast_to(undefined, worked.table.token_count)


def _held(worked: Worked) -> Iterable[Note]:
    """What a recipe holds back: a division by no spread, a log-ratio at its clamp."""
    if worked.recipe.roles["scale"] == "leave_one_out_std" and worked.has("leave_one_out_std"):
        spread = worked["group_spread"][worked.table.group_of_completion]
        alike = (worked["leave_one_out_std"] == 0) & (spread > 0)
        if alike.any():
            yield note("note.others_alike", count=int(alike.sum()))
    if worked.recipe.roles["ratio"] == "token_clamped" and worked.has("ratio"):
        limit = worked.recipe.parameters["log_ratio_clamp"]
        beyond = np.abs(worked["log_ratio"]) > limit
        if beyond.any():
            yield note("note.clamped", count=int(beyond.sum()), limit=limit)


def _disagreement(worked: Worked) -> Iterable[Note]:
    """A given advantage beside a reward: the reward counts, and a difference is said."""
    given = worked.table.completions.get("advantage")
    if given is None:
        spread = worked.table.tokens.get("advantage")
        if spread is None:
            return
        ours, given = np.repeat(worked["advantage"], np.diff(worked.table.token_offsets)), spread
    else:
        ours = worked["advantage"]
    differs = ~np.isclose(given, ours, rtol=1e-4, atol=1e-6)
    if differs.any():
        first = int(np.argmax(differs))
        yield note(
            "note.advantage_differs", count=int(differs.sum()), given=float(given[first]), ours=float(ours[first])
        )
