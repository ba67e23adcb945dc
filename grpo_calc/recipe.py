"""A recipe: which column plays each role, and the parameters. A variant is a choice of roles, never a copy of code."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol

from grpo_calc.bind import Absent, Binding, Bindings
from grpo_calc.choices.rewards import LONE, many_rewards, reward_names
from grpo_calc.choices.words import (
    IMPLIED,
    KEY_ALIASES,
    KL_COEFFICIENT,
    SPREAD_KEYS,
    STEPS,
    VALUE_ALIASES,
    strict_number,
    word,
)
from grpo_calc.near import near
from grpo_calc.roles import NEUTRAL, PARAMETERS, ROLES, TOLD, compose
from grpo_calc.say import Note, Problem, note


class OwnWords(Protocol):
    """What a recipe may have been made from, in words of its own: a trainer's options."""

    @property
    def title(self) -> str:
        """Whose words they are."""

    @property
    def given(self) -> Mapping[str, Any]:
        """Those that were given."""

    def alternatives(self) -> Iterable[tuple[str, Any, Recipe]]:
        """Each word with its value, and the recipe that another value of it would make."""

    def idle(self, read: Collection[str]) -> Iterable[str]:
        """The words given that change no role, nor any parameter that is read."""

    def deciding(self, parameters: Collection[str]) -> str | None:
        """A word given that decides one of these parameters."""

    def takes(self, key: str) -> bool:
        """Whether a key is one of these words."""

    def recipe(self, changes: Mapping[str, Any]) -> Recipe:
        """The recipe with some of them changed."""

    def unknown(self, key: str) -> Problem:
        """What to say of a key that is none of these words, nor one of ours."""


@dataclass(frozen=True)
class Recipe:
    """A name, a choice for each role, the parameters, and where they come from.

    Immutable; ``recipe.change(beta=0)`` gives another. ``changed`` says what was changed from the named recipe;
    ``own`` is what a trainer's recipe was made from: a change in the trainer's own words makes it anew. ``rewards``
    names the rewards that a settled recipe adds up, ``reward_weights`` weighs them in the table's order.
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
        changed = self.in_our_words(**changes)
        return changed if self.own is None else changed.with_notes(*_own_keys(self.own, changes))

    @property
    def changes(self) -> Mapping[str, Any]:
        """What was changed from the named recipe: the trainer's options, our words by what they are now."""
        ours = {}
        for key, value in self.changed.items():
            name = KEY_ALIASES.get(key, key)
            ours[key] = self.parameters.get(name, self.roles.get(name, value))
        return {**(self.own.given if self.own is not None else {}), **ours}

    def in_our_words(self, **changes: Any) -> Recipe:
        """The recipe with changes in our words, whatever words of its own it knows."""
        changed = replace(self, changed={**self.changed, **changes})
        for given_key, value in _one_by_one(changes).items():
            changed = _changed(changed, given_key, value, changes.keys())
        return changed

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
        if (
            not settled.rewards
            and "reward" not in inputs
            and "advantage_given" in inputs
            and self.roles["baseline"] != "given"
        ):
            settled = settled.in_our_words(advantage="given").with_notes(note("note.advantage_given"))
        if self.roles["counted"] == "mask" and "mask" not in inputs:
            settled = settled.in_our_words(counted="all")  # nothing is masked
            if self.roles["reduction"].startswith("padded"):
                settled = settled.in_our_words(reduction="completion_sum").with_notes(note("note.no_padding"))
        if self.roles["dropped"] != "none" and "dropped" not in inputs:
            settled = settled.in_our_words(dropped="none")  # no filter dropped anything
        base = f"logp_{self.roles['kl_base']}"
        if self.roles["kl"] not in ("none", "proxy") and base not in inputs and "logp_new" in inputs:
            if self.parameters["beta"] != 0:
                raise Problem("recipe.no_kl_base", base=base, beta=self.parameters["beta"], kl=self.roles["kl"])
            settled = settled.in_our_words(kl="none").with_notes(note("note.no_kl_base", base=base))
        if self.roles["reward_kl"].startswith("summed") and "logp_ref" not in inputs and "seq_kl" in inputs:
            settled = settled.in_our_words(reward_kl="given").with_notes(note("note.seq_kl"))
        coefficient = self.parameters[_kl_coefficient(self.roles)]
        takes_kl = settled.roles["reward_kl"] not in ("none", "given") or self.roles["returns"].startswith("less")
        if takes_kl and "logp_ref" not in inputs and coefficient != 0:
            raise Problem("recipe.no_kl_base", base="logp_ref", beta=coefficient, kl="reward_kl")
        return replace(settled, changed=self.changed)

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


USUAL_KEYS = ("eps_low", "eps_high", "beta", "kl_base", "adv_eps", "ddof")
"""The keys besides the main roles that are told where one is not known."""


def known_keys() -> list[str]:
    """What ``--set`` takes: roles, parameters, and keys that stand for several."""
    return sorted({*ROLES, *PARAMETERS, *SPREAD_KEYS, "eps", "reward_weights", KL_COEFFICIENT, *STEPS})


def _changed(recipe: Recipe, given_key: str, value: Any, told: Collection[str]) -> Recipe:
    """The recipe with one change, where ``told`` are the keys of all that were given together."""
    key = KEY_ALIASES.get(given_key, given_key)
    if key == KL_COEFFICIENT:
        key = _kl_coefficient(recipe.roles)
    if key == "eps":
        return _changed(_changed(recipe, "eps_low", value, told), "eps_high", value, told)
    if key in ROLES:
        choice = VALUE_ALIASES.get(key, {}).get(word(value), word(value))
        _known(key, choice, ROLES[key])
        return replace(recipe, roles=MappingProxyType({**recipe.roles, key: choice}))
    if key == "reward_weights":
        weights = value.split(",") if isinstance(value, str) else value
        return replace(recipe, reward_weights=tuple(_number("reward_weight", w) for w in weights))
    if key in PARAMETERS:
        changed = replace(recipe, parameters=MappingProxyType({**recipe.parameters, key: _number(key, value)}))
        implied = IMPLIED.get(key)
        if implied and implied.role not in told and recipe.roles[implied.role] == implied.was:
            return replace(changed, roles=MappingProxyType({**recipe.roles, implied.role: implied.is_now}))
        return changed
    if key in STEPS:
        return recipe.with_notes(note("note.whole_batch", key=given_key, steps=_number(key, value)))
    if recipe.own is not None:
        raise recipe.own.unknown(given_key)
    usual, close = ", ".join([*TOLD, *USUAL_KEYS]), near(given_key, known_keys())
    if close is None:
        raise Problem("recipe.unknown_key", key=given_key, known=usual)
    raise Problem("recipe.unknown_key_near", key=given_key, close=close, known=usual)


def _one_by_one(changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The changes with keys that stand for several spelled out, what implies a role or reads one last."""
    several: dict[str, Mapping[str, Any]] = {}
    alone: dict[str, Any] = {}
    for given_key, value in changes.items():
        key = KEY_ALIASES.get(given_key, given_key)
        choices = SPREAD_KEYS.get(key, {})
        if word(value) in choices or (choices and key not in ROLES):
            several[key] = _known(key, word(value), choices)
        else:
            alone[given_key] = value
    spread = {key: value for name in SPREAD_KEYS for key, value in several.get(name, {}).items()}
    last = {key: alone.pop(key) for key in tuple(alone) if KEY_ALIASES.get(key, key) in (*IMPLIED, KL_COEFFICIENT)}
    return {**spread, **alone, **last}


def _kl_coefficient(roles: Mapping[str, str]) -> str:
    """The parameter that weighs the recipe's KL: in the loss, or taken from the reward."""
    in_reward = roles["reward_kl"] not in ("none", "sum_k1") or roles["returns"].startswith("less")
    return "reward_beta" if in_reward else "beta"


def _known(key: str, value: str, choices: Mapping[str, Any]) -> Any:
    if value not in choices:
        known = [*choices, *(alias for alias, meant in VALUE_ALIASES.get(key, {}).items() if meant in choices)]
        raise Problem("recipe.unknown_value", key=key, seen=value, known=", ".join(known))
    return choices[value]


def _number(key: str, value: Any) -> float:
    _, least, greatest = PARAMETERS.get(key, (0.0, -math.inf, math.inf))
    number = strict_number(value)
    whole = key != "ddof" or number == int(number if math.isfinite(number) else 0)
    if not (math.isfinite(number) and least <= number <= greatest and whole):
        seen = value if str(value).strip() else '""'
        told = f"recipe.bad_number_{_range(key, least, greatest)}"
        raise Problem(told, key=key, seen=seen, least=round(least, 6), greatest=greatest)
    return number


def _range(key: str, least: float, greatest: float) -> str:
    """How the numbers that a parameter takes are told."""
    if key == "ddof":
        return "whole"
    if math.isinf(greatest):
        return "any" if math.isinf(least) else "above" if round(least, 6) < least else "at_least"
    return "between"


def _own_keys(own: OwnWords, changes: Mapping[str, Any]) -> Iterable[Note]:
    """A note for each change of a trainer's recipe that is none of its words.

    Errors: :class:`~grpo_calc.say.Problem` where a word that was given says the same parameter.
    """
    for key in changes:
        name = KEY_ALIASES.get(key, key)
        deciding = own.deciding({"eps": ("eps_low", "eps_high")}.get(name, (name,)))
        if deciding is not None:
            raise Problem("trainer.collides", trainer=own.title, key=key, option=deciding)
        if name not in STEPS:
            yield note("note.own_key", trainer=own.title, key=key)
