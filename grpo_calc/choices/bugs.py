"""Choices that are a trainer's bug: a preset takes them to give that trainer's number, no published variant does."""

from __future__ import annotations

from collections.abc import Mapping

_PADDED = (
    "TRL 0.28 to 1.9 and Liger 0.8.5, luspo: the mean is over every position of the padded batch, so that what stands"
    " where the mask is 0 enters the loss; TRL 1.10 sums a completion's tokens and takes the mean over completions"
)

BUGS: Mapping[tuple[str, str], str] = {
    ("reduction", "padded_luspo"): _PADDED,
    ("reduction", "padded_luspo_sequence"): f"{_PADDED}; here with a ratio a sequence",
    ("reduction", "completion_mean_bare"): (
        "verl up to 0.6.0, seq-mean-token-mean: a completion is divided by its length as it is, and an empty one makes"
        " the loss undefined"
    ),
    ("dropped", "left_out_of_the_divisor"): (
        "ROLL of August 2026, token-mean: dropped completions stay in the policy loss's sum, and not in its divisor"
    ),
    ("baseline", "group_norm_single"): (
        "OpenRLHF 0.11.2, group_norm: statistics in single precision, whose rounding is above the 1e-9 beside the"
        " standard deviation, so that equal rewards get advantages of ±59"
    ),
    ("to_go", "reset"): "verl up to 0.8, reinforce_plus_plus: what is to come is lost at a masked token",
}
"""Each such choice of a role: whose bug it is, and what it does."""
