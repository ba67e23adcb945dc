"""Completions that a filter dropped."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.bind import Bindings, Use
from grpo_calc.choices.reduction import REDUCTION

_KL_UNCOUNTED: Bindings = {"wrap:kl_gradient:dropped": Use("where_counted", x="@")}
DROPPED: Mapping[str, Bindings] = {
    "none": {},
    "left_out": {
        "counted": Use("not_dropped"),
        "wrap:policy_gradient:dropped": Use("where_counted", x="@"),
        **_KL_UNCOUNTED,
    },
    # A trainer's bug in its token mean: dropped completions stay in the sum of the policy loss, and not in its divisor.
    "left_out_of_the_divisor": {
        **REDUCTION["token_mean"],
        "counted": Use("not_dropped"),
        "completion_objective": Use("sum_within", x="weighted_objective", counted="every_token"),
        **_KL_UNCOUNTED,
    },
}
