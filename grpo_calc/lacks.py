"""What a recipe and a table do not have of each other: an input that the loss lacks, a parameter that nothing reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from grpo_calc.choices.words import KEY_ALIASES, KL_COEFFICIENT
from grpo_calc.column import Level
from grpo_calc.plan import Plan, plan
from grpo_calc.recipe import Recipe
from grpo_calc.roles import NEUTRAL, PARAMETERS
from grpo_calc.say import Note, Problem, note

GIVEN = {"advantage_given": "advantage", "reward_given": "reward"}
"""Inputs that a table calls otherwise."""


def no_loss(worked: Plan, inputs: Mapping[str, Level]) -> Problem | None:
    """What to say of a loss that lacks an input: which, and the trainer's option or the role that asks for it.

    Nothing where no choice asks for it: without a reward and an advantage there are ratios and KL, and a note says so.
    """
    recipe, lacks = worked.recipe, worked.missing["loss"]
    column = GIVEN.get(lacks, lacks)
    role = next((role for role in _changed_roles(recipe) if _lacks(_neutral(recipe, role), inputs) != lacks), None)
    if role is None:
        return None
    asks = f"{role}={recipe.roles[role]}"
    own = recipe.own
    if own is not None and role not in {KEY_ALIASES.get(key, key) for key in recipe.changed}:
        for option, value, without in own.alternatives():
            neutral = without.roles[role] == NEUTRAL[role]
            if neutral and _lacks(replace(recipe, roles=without.roles, parameters=without.parameters), inputs) != lacks:
                asks = f"{option}={value} ({asks})"
                break
    return Problem("work.no_loss", recipe=recipe.name, lacks=column, asks=asks)


def _changed_roles(recipe: Recipe) -> Iterator[str]:
    return (role for role, choice in recipe.roles.items() if choice != NEUTRAL[role])


def _neutral(recipe: Recipe, role: str) -> Recipe:
    return replace(recipe, roles=MappingProxyType({**recipe.roles, role: NEUTRAL[role]}))


def _lacks(recipe: Recipe, inputs: Mapping[str, Level]) -> str | None:
    return plan(recipe, inputs, ["loss"]).missing.get("loss")


def unread(recipe: Recipe, read: Iterable[str]) -> Iterator[Note]:
    """A note for each parameter that was given and that nothing reads; beta 0 where there is no KL says just that."""
    read = set(read)
    for key in recipe.changed:
        name = KEY_ALIASES.get(key, key)
        names = {"eps": {"eps_low", "eps_high"}, KL_COEFFICIENT: {"beta", "reward_beta"}}.get(name, {name})
        if not names <= PARAMETERS.keys() or names & read:
            continue
        if "beta" not in names:
            yield note("note.parameter_unread", key=key, recipe=recipe.name)
        elif recipe.parameters["beta"] != 0:
            yield note("note.beta_unread", beta=recipe.parameters["beta"])
    if recipe.own is not None:
        for option in recipe.own.idle(set(read)):
            yield note("note.option_ignored", trainer=recipe.own.title, option=option)
