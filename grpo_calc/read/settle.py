"""From cells to numbers that count: masks, log-probs, probabilities.

A masked token's cells may hold anything harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from grpo_calc.read.faults import HARMLESS, SENTENCE, Fault
from grpo_calc.read.numbers import truth
from grpo_calc.read.words import Flags
from grpo_calc.say import Problem
from grpo_calc.table import SENTINELS, Floats

Fail = Callable[[Fault | str, int, Any], Problem]
"""Makes the problem of (fault, place in the column, what was seen)."""
Seen = Callable[[int], Any]
"""The cell at a place, as it was written."""

TOKEN_NUMBERS = (
    "logp_new",
    "logp_old",
    "logp_ref",
    "logp_sampler",
    "prob_new",
    "prob_old",
    "prob_ref",
    "prob_sampler",
    "entropy",
)


def mask_of(values: Floats, faults: Mapping[int, Fault], fail: Fail, seen: Seen) -> Floats:
    """A mask: 0 or 1 in every place.

    >>> mask_of(np.array([1.0, np.nan]), {1: Fault.TEXT}, None, lambda place: "False")
    array([1., 0.])
    """
    for place in faults:
        value = truth(seen(place))
        if value is None:
            raise fail("mask", place, seen(place))
        values[place] = value
    other = (values != 0) & (values != 1)
    if other.any():
        place = int(np.argmax(other))
        raise fail("mask", place, seen(place))
    return values


def token_numbers(
    name: str, masked: Flags | None, values: Floats, faults: Mapping[int, Fault], fail: Fail, seen: Seen
) -> Floats:
    """A token column, log-probs where it holds probabilities; ``masked`` are the tokens that do not count.

    >>> token_numbers("prob_new", np.array([False, True]), np.array([1.0, np.nan]), {1: Fault.MISSING}, None, None)
    array([ 0., nan])

    Errors: a fault, a probability outside of (0, 1], a sentinel, each only where the token counts.
    """
    blank_is_fine = name == "entropy"
    for place, fault in faults.items():
        off = masked is not None and masked[place]
        if not (off and fault in HARMLESS) and not (blank_is_fine and fault is Fault.MISSING):
            raise fail(fault, place, seen(place))
    if name.startswith("prob_"):
        outside = ~((values > 0) & (values <= 1))
        if outside.any():
            counted = outside if masked is None else outside & ~masked
            if counted.any():
                place = int(np.argmax(counted))
                raise fail("probability", place, seen(place))
            values = np.where(outside, np.nan, values)
        return np.log(values)
    if name.startswith("logp_") and len(values) and np.nanmin(values, initial=0.0) <= max(SENTINELS):
        sentinel = np.isin(values, SENTINELS)
        if masked is not None:
            sentinel &= ~masked
        if sentinel.any():
            place = int(np.argmax(sentinel))
            raise fail("sentinel", place, seen(place))
    return values


def shared_numbers(
    name: str, masked: Flags | None, values: Floats, faults: Mapping[int, Fault], fail: Fail, seen: Seen
) -> Floats:
    """A column that a whole completion shares (reward, advantage); an empty cell is missing, never 0."""
    for place, fault in faults.items():
        if name == "truncated" and truth(seen(place)) is not None:
            values[place] = float(truth(seen(place)) or 0.0)
        elif fault is not Fault.MISSING and not (fault in HARMLESS and masked is not None and masked[place]):
            finite = name == "advantage" or SENTENCE.get(fault) != "not_finite"
            raise fail(fault if finite else "not_finite_shared", place, seen(place))
        else:
            values[place] = np.nan
    return values


def canonical(name: str) -> str:
    """The name under which the table holds a token column.

    >>> canonical("prob_old"), canonical("entropy")
    ('logp_old', 'entropy')
    """
    return name.replace("prob_", "logp_", 1) if name.startswith("prob_") else name


def shared_names(columns: Sequence[str]) -> list[str]:
    """Those of the columns that a completion has one value of."""
    return [name for name in columns if name in {"truncated", "reward", "seq_kl"} or name.startswith("reward_")]
