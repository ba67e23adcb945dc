"""The roles of a recipe: for each role its choices, and for each choice the names it binds. Data, and one composition.

Names lead to columns. A plain string leads one name to another (``token_kl`` to ``k3``); a :class:`Use` gives a name a column
of its own, with some of the column's parameters read from other names; :class:`Absent` takes a name away.

The chain that roles plug into, from ratio to gradient::

    log_ratio -> ratio -> (objective) token_objective -> [weights] weighted_objective -> completion_objective -> surrogate_objective
    slope = d(-token_objective) in log r, or directly in log pi  -> [weights] -> shared_slope -> policy_gradient -> gradient
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


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
    joined = {"objective": "weighted_objective", "kl": "token_kl", "loss": "token_loss"}
    return {**{f"completion_{name}": Use(column, x=x) for name, x in joined.items()}, "within": Use(slope)}


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
        "token": {"surrogate_gradient": "slope", "policy_gradient": "shared_slope"},
        "sequence": {
            "ratio": Use("sequence_ratio"),
            "surrogate_gradient": Use("sequence_slope"),
            "policy_gradient": Use("sequence_pull"),
        },
    },
    "objective": {"ppo": {"slope": "surrogate_slope"}},
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




def compose(bindings: Bindings) -> Bindings:
    """The bindings with the active weights multiplied in, one after another.

    A choice that weighs tokens binds ``weight:<role>`` to the name of its weight (a constant under the gradient). The
    objective and its slope are then multiplied by every such weight, in the order of the roles.
    """
    merged: dict[str, Binding] = {"weighted_objective": "token_objective", **bindings}
    for key in [key for key in merged if key.startswith("weight:")]:
        weight, role = merged.pop(key), key.removeprefix("weight:")
        assert isinstance(weight, str)
        for chain in ("weighted_objective", "slope"):
            unweighted = f"{chain}_before_{role}"
            merged[unweighted] = merged[chain]
            merged[chain] = Use("weighted", x=unweighted, weight=weight)
    return merged
