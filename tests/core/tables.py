"""Random batches that reach every corner, and the combinations of roles to work them with."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from grpo_calc.recipe import Recipe
from grpo_calc.recipes import RECIPES, recipe
from grpo_calc.roles import PARAMETERS
from grpo_calc.table import Table
from grpo_calc.work import work

SIZES = (4, 3, 1, 2)
"""Members a group: mixed rewards, equal rewards, one member, two members."""

GIVEN = {"max_length": 9, "divisor": 7, "delta": 1.4}
"""Parameters without a default; each further one gets the value 2."""

TIGHT = {
    "eps_low": 0.1,
    "eps_high": 0.12,
    "dual_clip": 1.15,
    "log_ratio_clamp": 0.5,
    "sampler_cap": 1.3,
    "ratio_cap": 1.2,
    "kl_clamp_in": 0.3,
    "kl_clamp_out": 0.2,
}
"""Bounds that random batches cross, on tokens and on whole sequences."""

COMBINED: Mapping[str, Sequence[str]] = {
    "baseline": ("given", "group_mean", "leave_one_out", "batch_mean"),
    "scale": ("none", "group_std", "leave_one_out_std", "batch_std"),
    "std_eps": ("add", "add_if_any", "at_least", "inside_root"),
    "ratio": ("token", "token_clamped", "sequence", "sequence_token", "sequence_product"),
    "objective": ("ppo", "dual_clip", "delta", "sapo", "cispo", "cispo_cap", "policy_gradient"),
    "sampler": (
        "none",
        "token_truncate",
        "token_mask",
        "sequence_truncate",
        "sequence_mask",
        "mean_truncate",
        "mean_mask",
    ),
    "counted": ("all", "mask"),
    "kl_base": ("ref", "old"),
    "reduction": (
        *("completion_mean", "token_mean", "completion_sum", "constant_length", "token_sum", "given_divisor"),
        "group_token_mean",
    ),
    "kl": ("k1", "k2", "k3", "abs", "proxy", "none"),
}
"""The choices that are combined, two by two; what trainers add to these is proved against their own outputs."""

EDGE = 1e-6
"""Draws this near to a bound are thrown away: there a derivative has two sides."""


def random_arrays(seed: int) -> dict[str, Any]:
    """Padded arrays of ten completions in four groups: ragged, a mask with holes, one completion all masked."""
    rng = np.random.default_rng(seed)
    count, width = sum(SIZES), 6
    mask = np.arange(width) < rng.integers(2, width + 1, count)[:, None]
    mask[0, 1] = mask[4, 0] = False  # holes
    mask[2] = False  # an empty completion
    new = -rng.exponential(1.0, (count, width)) - 0.9
    drift = rng.normal(0.0, 0.12, (count, 1))
    rewards = rng.choice([0.0, 0.25, 1.0, 3.0], count)
    rewards[:4] = rng.permutation([0.0, 0.25, 1.0, 3.0])
    rewards[4:7] = 0.1
    rewards[8:] = rng.permutation([0.0, 1.0])
    return {
        "group_id": [name for name, size in zip("abcd", SIZES, strict=True) for _ in range(size)],
        "reward": rewards,
        "advantage": rng.normal(0.0, 1.0, count),
        "logp_new": new,
        "logp_old": new + drift + rng.normal(0.0, 0.25, new.shape),
        "logp_ref": new + rng.normal(0.0, 0.4, new.shape) * rng.choice([1.0, 0.01], new.shape),
        "logp_sampler": new + drift + rng.normal(0.0, 0.3, new.shape),
        "mask": mask.astype(int),
    }


def table(arrays: Mapping[str, Any]) -> Table:
    """The table of such arrays."""
    return Table.from_arrays(**arrays)


@cache
def random_table(seed: int) -> Table:
    """A random batch that reaches every corner, and where no value lies at a bound of ``TIGHT`` or of the defaults."""
    for attempt in itertools.count():
        drawn = table(random_arrays(seed + 1000 * attempt))
        if min(distances(drawn)) > EDGE and all(corners(drawn).values()):
            return drawn
    raise AssertionError


def corners(drawn: Table) -> dict[tuple[str, str], int]:
    """How many tokens lie on each side of the clip range, for each sign of the advantage under ``grpo``."""
    worked = work(drawn, recipe("grpo"))
    advantage = np.repeat(worked["advantage"], np.diff(drawn.token_offsets))
    sides = {"low": worked["ratio"] < 0.8, "high": worked["ratio"] > 1.2}
    signs = {"negative": advantage < 0, "positive": advantage > 0}
    return {(side, sign): int((sides[side] & signs[sign]).sum()) for side in sides for sign in signs}


def distances(drawn: Table) -> Iterator[float]:
    """How far each bounded quantity stays from its bounds."""
    new, old, ref, sampler = (drawn.tokens[f"logp_{name}"] for name in ("new", "old", "ref", "sampler"))
    parts = [slice(a, b) for a, b in itertools.pairwise(drawn.token_offsets) if b > a]

    def every_level(x: Any) -> Any:
        return np.concatenate([x, [x[p].mean() for p in parts], [x[p].sum() for p in parts]])

    k1 = np.concatenate([new - ref, new - old])
    for values, bounds in (
        (
            np.exp(every_level(new - old)),
            (0.8, 1.2, 0.9, 1.12, 1.28, 1.4, 1.15, 3.0, 2.0, 1 - 3e-4, 1 + 4e-4, np.exp(0.5), np.exp(-0.5)),
        ),
        (np.exp(every_level(old - sampler)), (1.3, 2.0)),
        (k1, (0.3, -0.3, 0.2, -0.2, 0.0)),
        (np.exp(-k1) + k1 - 1, (0.2,)),
        (k1**2 / 2, (0.2,)),
        ((np.exp(every_level(new - old)) - 1) ** 2, (0.2,)),
    ):
        yield from (float(np.abs(values - bound).min()) for bound in bounds)


def with_parameters(worked_by: Recipe) -> Recipe:
    """The recipe with a value for each parameter that has none."""
    return with_values(worked_by, {n: GIVEN.get(n, 2) for n in PARAMETERS if n not in worked_by.parameters})


def with_values(worked_by: Recipe, values: Mapping[str, float]) -> Recipe:
    """The recipe with other parameters and the same roles: said by a user, a bound may imply the role that has it."""
    return replace(worked_by, parameters={**worked_by.parameters, **values})


def named() -> list[Recipe]:
    """Every published recipe, as it is and with ``TIGHT``, so that batches cross its bounds."""
    rows = [with_parameters(recipe(name)) for name in RECIPES]
    return [*rows, *(with_values(row, TIGHT) for row in rows)]


def combined() -> list[Recipe]:
    """Recipes in which every two of the ``COMBINED`` choices meet at least once."""
    grpo = with_values(with_parameters(recipe("grpo")), TIGHT)
    return [grpo.change(**roles) for roles in pairwise(COMBINED)]


def pairwise(choices: Mapping[str, Sequence[str]], seed: int = 0) -> list[dict[str, str]]:
    """Rows of one choice a key, in which every pair of choices of two keys occurs: greedy, repeatable.

    >>> rows = pairwise({"a": ["1", "2"], "b": ["x", "y"], "c": ["p", "q"]})
    >>> sorted({(row["a"], row["c"]) for row in rows})
    [('1', 'p'), ('1', 'q'), ('2', 'p'), ('2', 'q')]
    """
    rng = np.random.default_rng(seed)
    keys = list(choices)
    unmet = {((a, x), (b, y)) for a, b in itertools.combinations(keys, 2) for x in choices[a] for y in choices[b]}
    rows: list[dict[str, str]] = []
    while unmet:
        (a, x), (b, y) = min(unmet)
        drawn = [{key: str(rng.choice(list(choices[key]))) for key in keys} | {a: x, b: y} for _ in range(40)]
        best = max(drawn, key=lambda row: len(_pairs(row) & unmet))
        rows.append(best)
        unmet -= _pairs(best)
    return rows


def _pairs(row: Mapping[str, str]) -> set[tuple[tuple[str, str], tuple[str, str]]]:
    return set(itertools.combinations(row.items(), 2))


def title(worked_by: Recipe) -> str:
    """A recipe's name in a test's name: its own, and the roles that differ from ``grpo``."""
    plain = recipe("grpo").roles
    return "-".join([worked_by.name, *(word for role, word in worked_by.roles.items() if plain[role] != word)])
