"""A recipe: which column plays each role, and the parameters. A variant is a choice of roles, never a copy of code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol

from grpo_calc.bind import Absent, Binding, Bindings
from grpo_calc.choices.rewards import LONE, many_rewards, reward_names
from grpo_calc.roles import KEY_ALIASES, NEUTRAL, PARAMETERS, ROLES, SPREAD_KEYS, TOLD, VALUE_ALIASES, compose
from grpo_calc.say import Note, Problem, note


class OwnWords(Protocol):
    """What a recipe may have been made from, in words of its own: a trainer's options."""

    def takes(self, key: str) -> bool:
        """Whether a key is one of these words."""

    def recipe(self, changes: Mapping[str, Any]) -> Recipe:
        """The recipe with some of them changed."""

    def unknown(self, key: str) -> Problem:
        """What to say of a key that is none of these words, nor one of ours."""


@dataclass(frozen=True)
class Recipe:
    """A name, a choice for each role, the parameters, and where they come from.

    Immutable; ``recipe.change(beta=0)`` gives another. ``changed`` says what was changed from the named recipe; ``own`` is
    what a trainer's recipe was made from: a change in the trainer's own words makes it anew. ``rewards`` names the rewards
    that a settled recipe adds up, ``reward_weights`` weighs them in the table's order.
    """

    name: str
    roles: Mapping[str, str]
    parameters: Mapping[str, float]
    source: str = ""
    en: str = ""
    zh: str = ""
    notes: tuple[Note, ...] = field(default=())
    rewards: tuple[str, ...] = ()
    reward_weights: tuple[float, ...] = ()
    changed: Mapping[str, Any] = field(default_factory=dict, compare=False)
    own: OwnWords | None = field(default=None, compare=False, repr=False)

    def change(self, **changes: Any) -> Recipe:
        """The recipe with roles or parameters changed, by their own words or by an alias.

        Errors: :class:`~grpo_calc.say.Problem` for an unknown key or value, listing the known ones.

        >>> from grpo_calc.recipes import recipe
        >>> recipe("grpo").change(agg="token-mean", beta=0.1).roles["reduction"]
        'token_mean'
        """
        own = {key: value for key, value in changes.items() if self.own is not None and self.own.takes(key)}
        if self.own is not None and own:
            rest = {key: value for key, value in changes.items() if key not in own}
            return self.own.recipe(own).change(**{**self.changed, **rest})
        changed = replace(self, changed={**self.changed, **changes})
        roles, parameters = dict(self.roles), dict(self.parameters)
        for given_key, value in changes.items():
            key = KEY_ALIASES.get(given_key, given_key)
            if key in SPREAD_KEYS:
                roles.update(_known(key, str(value), SPREAD_KEYS[key]))
            elif key == "eps":
                parameters["eps_low"] = parameters["eps_high"] = _number("eps_low", value)
            elif key in ROLES:
                word = VALUE_ALIASES.get(key, {}).get(str(value), str(value))
                _known(key, word, ROLES[key])
                roles[key] = word
            elif key == "reward_weights":
                weights = value.split(",") if isinstance(value, str) else value
                changed = replace(changed, reward_weights=tuple(_number("reward_weight", w) for w in weights))
            elif key in PARAMETERS:
                parameters[key] = _number(key, value)
            elif self.own is not None:
                raise self.own.unknown(given_key)
            else:
                raise Problem("recipe.unknown_key", key=given_key, known=", ".join(known_keys()))
        return replace(changed, roles=MappingProxyType(roles), parameters=MappingProxyType(parameters))

    def with_notes(self, *notes: Note) -> Recipe:
        """The recipe with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    @property
    def told(self) -> Mapping[str, str]:
        """The choices worth telling: the main roles, and every other that is not as in GRPO as published."""
        return {role: choice for role, choice in self.roles.items() if role in TOLD or choice != NEUTRAL[role]}

    @property
    def bindings(self) -> Bindings:
        """Every name this recipe binds: the roles' choices, merged in the order of ``ROLES``."""
        merged: dict[str, Binding] = {}
        for role, choices in ROLES.items():
            merged.update(choices[self.roles[role]])
        if self.rewards:
            merged.update(many_rewards(self.rewards, self.roles["rewards"], self.roles["unscored"]))
        baseline = ROLES["baseline"][self.roles["baseline"]]
        if "advantage" in baseline:  # an advantage worked as a whole is neither centred nor scaled
            merged["advantage"] = baseline["advantage"]
        if self.roles["baseline"] == "given":  # a given one is taken as it is
            merged.update({key: Absent() for key in merged if key.startswith("wrap:advantage:")})
        return compose(merged)

    def settle(self, inputs: Mapping[str, Any]) -> Recipe:
        """The recipe as it works on these inputs: what it lacks is an error or, where it weighs nothing, said.

        - reward missing, advantage given: the given one is taken, and said.
        - KL base missing: an error with beta != 0; with beta 0 the KL columns are absent, and said.
        """
        settled = self._with_rewards(inputs)
        if not settled.rewards and "reward" not in inputs and "advantage_given" in inputs and self.roles["baseline"] != "given":
            settled = settled.change(advantage="given").with_notes(note("note.advantage_given"))
        if self.roles["dropped"] != "none" and "dropped" not in inputs:
            settled = settled.change(dropped="none")  # no filter dropped anything
        base = f"logp_{self.roles['kl_base']}"
        if self.roles["kl"] not in ("none", "proxy") and base not in inputs and "logp_new" in inputs:
            if self.parameters["beta"] != 0:
                raise Problem("recipe.no_kl_base", base=base, beta=self.parameters["beta"], kl=self.roles["kl"])
            settled = settled.change(kl="none").with_notes(note("note.no_kl_base", base=base))
        if (self.roles["reward_kl"] != "none" or self.roles["returns"].startswith("less")) and "logp_ref" not in inputs and self.parameters["beta"] != 0:
            raise Problem("recipe.no_kl_base", base="logp_ref", beta=self.parameters["beta"], kl="reward_kl")
        return settled

    def _with_rewards(self, inputs: Mapping[str, Any]) -> Recipe:
        """The recipe with the names of the table's rewards, and a weight for each (1 where none is given).

        A table's single ``reward`` is taken before rewards by name, unless the recipe weighs or normalises each.
        """
        names = reward_names(inputs)
        each = bool(self.reward_weights) or self.roles["rewards"].startswith("normalise")
        if "reward" in inputs and not (names and each):
            names = (LONE,) if each else ()
        if self.roles["baseline"] == "given" or not names:
            return self
        weights = self.reward_weights or (1.0,) * len(names)
        if len(weights) != len(names):
            raise Problem("recipe.reward_weights", seen=len(weights), expected=len(names), names=", ".join(names))
        parameters = {**self.parameters, **{f"weight_{name}": w for name, w in zip(names, weights, strict=True)}}
        return replace(self, rewards=names, parameters=MappingProxyType(parameters))


def known_keys() -> list[str]:
    """What ``--set`` takes: roles, parameters, and keys that stand for several."""
    return sorted([*ROLES, *PARAMETERS, *SPREAD_KEYS, "eps", "reward_weights"])


def _known(key: str, value: str, choices: Mapping[str, Any]) -> Any:
    if value not in choices:
        known = [*choices, *(alias for alias, meant in VALUE_ALIASES.get(key, {}).items() if meant in choices)]
        raise Problem("recipe.unknown_value", key=key, seen=value, known=", ".join(known))
    return choices[value]


def _number(key: str, value: Any) -> float:
    _, least, greatest = PARAMETERS.get(key, (0.0, -math.inf, math.inf))
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    whole = key != "ddof" or number == int(number if math.isfinite(number) else 0)
    if not (math.isfinite(number) and least <= number <= greatest and whole):
        raise Problem("recipe.bad_number", key=key, seen=value, least=least, greatest=greatest)
    return number
