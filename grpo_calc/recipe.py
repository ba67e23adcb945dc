"""A recipe: which column plays each role, and the parameters. A variant is a choice of roles, never a copy of code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from grpo_calc.say import Note, Problem, note


@dataclass(frozen=True)
class Use:
    """A column bound to a name, with some of its parameters read from other names.

    ``Use("mean_within", x="token_loss")`` is the mean of the token losses.
    """

    column: str
    renamed: Mapping[str, str]

    def __init__(self, column: str, **renamed: str) -> None:
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "renamed", MappingProxyType(renamed))


@dataclass(frozen=True)
class Absent:
    """A name that this recipe does not have."""


Binding = str | Use | Absent
Bindings = Mapping[str, Binding]

NO_KL: Bindings = {
    "token_kl": Absent(),
    "kl": Absent(),
    "completion_kl": Absent(),
    "kl_slope": Absent(),
    "kl_gradient": Absent(),
    "token_loss": Use("token_loss_without_kl"),
    "token_gradient": Use("token_gradient_without_kl"),
    "gradient": Use("gradient_without_kl"),
    "objective": "surrogate_objective",
}


def _within(column: str, slope: str) -> Bindings:
    """How tokens are joined in a completion, for each quantity that is reduced."""
    joined = {f"completion_{name}": Use(column, x=f"token_{name}") for name in ("objective", "kl", "loss")}
    return {**joined, "within": Use(slope)}


def _across(column: str, slope: str) -> Bindings:
    """How completions are joined in the batch."""
    return {
        "surrogate_objective": Use(column, x="completion_objective"),
        "kl": Use(column, x="completion_kl"),
        "across": Use(slope),
        "kl_share": "share",
    }


MEAN_WITHIN = _within("mean_within", "mean_within_slope")
SUM_WITHIN = _within("sum_within", "sum_slope")
MEAN_ACROSS = _across("mean_across", "mean_across_slope")

# Each role: its choices, and what each choice binds. Roles are merged in this order; a later one may rebind.
ROLES: Mapping[str, Mapping[str, Bindings]] = {
    "baseline": {
        "given": {"advantage": "advantage_given"},
        "group_mean": {"baseline": "group_mean"},
        "leave_one_out": {"baseline": "leave_one_out_mean"},
    },
    "scale": {
        "none": {"advantage": Use("centred_advantage")},
        "group_std": {"advantage": Use("scaled_advantage")},
    },
    "std_eps": {
        "add": {"scale": "std_plus_eps"},
        "at_least": {"scale": "std_at_least_eps"},
        "inside_root": {"scale": "root_of_variance_plus_eps"},
    },
    "ratio": {
        "token": {"surrogate_gradient": "surrogate_slope", "policy_gradient": "shared_slope"},
        "sequence": {
            "ratio": Use("sequence_ratio"),
            "surrogate_gradient": Use("sequence_slope"),
            "policy_gradient": Use("sequence_pull"),
        },
    },
    "kl_base": {"ref": {"logp_base": "logp_ref"}, "old": {"logp_base": "logp_old"}},
    "reduction": {
        "completion_mean": {**MEAN_WITHIN, **MEAN_ACROSS},
        "token_mean": {**SUM_WITHIN, **_across("tokens_across", "tokens_across_slope")},
        "completion_sum": {**SUM_WITHIN, **MEAN_ACROSS},
        "constant_length": {**_within("constant_within", "constant_within_slope"), **MEAN_ACROSS},
        "token_sum": {**SUM_WITHIN, **_across("sum_across", "sum_slope")},
        "given_divisor": {**SUM_WITHIN, **_across("divisor_across", "divisor_across_slope")},
    },
    "kl": {
        "k1": {"token_kl": "k1", "kl_slope": "k1_slope"},
        "k2": {"token_kl": "k2", "kl_slope": "k1"},
        "k3": {"token_kl": "k3", "kl_slope": "k3_slope"},
        "proxy": {"token_kl": "kl_proxy", "kl_slope": "kl_proxy_slope"},
        "none": NO_KL,
    },
}

# The parameters: default, least and greatest value.
PARAMETERS: Mapping[str, tuple[float, float, float]] = {
    "eps_low": (0.2, 0.0, math.inf),
    "eps_high": (0.2, 0.0, math.inf),
    "beta": (0.04, -math.inf, math.inf),
    "adv_eps": (1e-4, 0.0, math.inf),
    "ddof": (1.0, 0.0, 1.0),
    "tie_tol": (1e-12, 0.0, 1.0),
    "max_length": (math.nan, 1e-300, math.inf),
    "divisor": (math.nan, 1e-300, math.inf),
}

# Other words for a role or parameter and for its values, as trainers and reports spell them.
KEY_ALIASES: Mapping[str, str] = {
    "adv": "advantage",
    "agg": "reduction",
    "aggregation": "reduction",
    "loss_agg_mode": "reduction",
    "ratio_level": "ratio",
    "epsilon": "eps",
    "clip_range": "eps",
    "epsilon_high": "eps_high",
    "epsilon_low": "eps_low",
}
VALUE_ALIASES: Mapping[str, Mapping[str, str]] = {
    "reduction": {
        "seq-mean-token-mean": "completion_mean",
        "token-mean": "token_mean",
        "seq-mean-token-sum": "completion_sum",
        "token-sum": "token_sum",
        "seq-mean-token-sum-norm": "constant_length",
    },
    "kl": {"kl_proxy": "proxy", "(r-1)^2": "proxy"},
    "scale": {"std": "group_std"},
    "std_eps": {"clamp": "at_least", "root": "inside_root", "plus": "add"},
}
# Keys that stand for several at once: what each value changes.
SPREAD_KEYS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "advantage": {
        "given": {"baseline": "given", "scale": "none"},
        "group_mean": {"baseline": "group_mean", "scale": "none"},
        "group_mean_std": {"baseline": "group_mean", "scale": "group_std"},
        "leave_one_out": {"baseline": "leave_one_out", "scale": "none"},
        "loo": {"baseline": "leave_one_out", "scale": "none"},
    },
}


@dataclass(frozen=True)
class Recipe:
    """A name, a choice for each role, the parameters, and where they come from.

    Immutable; ``recipe.change(beta=0)`` gives another. ``chosen`` says what was changed from the named recipe.
    """

    name: str
    roles: Mapping[str, str]
    parameters: Mapping[str, float]
    source: str = ""
    en: str = ""
    zh: str = ""
    notes: tuple[Note, ...] = field(default=())

    def change(self, **changes: Any) -> Recipe:
        """The recipe with roles or parameters changed, by their own words or by an alias.

        Errors: :class:`~grpo_calc.say.Problem` for an unknown key or value, listing the known ones.

        >>> from grpo_calc.recipes import recipe
        >>> recipe("grpo").change(agg="token-mean", beta=0.1).roles["reduction"]
        'token_mean'
        """
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
            elif key in PARAMETERS:
                parameters[key] = _number(key, value)
            else:
                raise Problem("recipe.unknown_key", key=given_key, known=", ".join(known_keys()))
        return replace(self, roles=MappingProxyType(roles), parameters=MappingProxyType(parameters))

    def with_notes(self, *notes: Note) -> Recipe:
        """The recipe with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    @property
    def bindings(self) -> Bindings:
        """Every name this recipe binds: the roles' choices, merged in the order of ``ROLES``."""
        merged: dict[str, Binding] = {}
        for role, choices in ROLES.items():
            merged.update(choices[self.roles[role]])
            if role == "std_eps" and self.roles["baseline"] == "given":
                merged.update(ROLES["baseline"]["given"])  # a given advantage is neither centred nor scaled
        return merged

    def settle(self, inputs: Mapping[str, Any]) -> Recipe:
        """The recipe as it works on these inputs: what it lacks is an error or, where it weighs nothing, said.

        - reward missing, advantage given: the given one is taken, and said.
        - KL base missing: an error with beta != 0; with beta 0 the KL columns are absent, and said.
        """
        settled = self
        if "reward" not in inputs and "advantage_given" in inputs and self.roles["baseline"] != "given":
            settled = settled.change(advantage="given").with_notes(note("note.advantage_given"))
        base = f"logp_{self.roles['kl_base']}"
        if self.roles["kl"] in ("k1", "k2", "k3") and base not in inputs and "logp_new" in inputs:
            if self.parameters["beta"] != 0:
                raise Problem("recipe.no_kl_base", base=base, beta=self.parameters["beta"], kl=self.roles["kl"])
            settled = settled.change(kl="none").with_notes(note("note.no_kl_base", base=base))
        return settled


def known_keys() -> list[str]:
    """What ``--set`` takes: roles, parameters, and keys that stand for several."""
    return sorted([*ROLES, *PARAMETERS, *SPREAD_KEYS, "eps"])


def _known(key: str, value: str, choices: Mapping[str, Any]) -> Any:
    if value not in choices:
        known = [*choices, *(alias for alias, meant in VALUE_ALIASES.get(key, {}).items() if meant in choices)]
        raise Problem("recipe.unknown_value", key=key, seen=value, known=", ".join(known))
    return choices[value]


def _number(key: str, value: Any) -> float:
    _, least, greatest = PARAMETERS[key]
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    whole = key != "ddof" or number == int(number if math.isfinite(number) else 0)
    if not (math.isfinite(number) and least <= number <= greatest and whole):
        raise Problem("recipe.bad_number", key=key, seen=value, least=least, greatest=greatest)
    return number
