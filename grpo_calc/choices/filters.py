"""Completions that a filter dropped, and a sequence ratio whose length has a small number added."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.bind import Bindings, Use
from grpo_calc.choices.reduction import REDUCTION

# One ratio a sequence, its mean log-ratio divided by the length plus a small number.
SEQUENCE_PLUS: Bindings = {
    "length_plus": Use("count_plus", x="length"),
    "ratio": Use("sequence_ratio"),
    "mean_log_ratio": Use("constant_within", x="log_ratio", max_length="length_plus"),
    "policy_gradient": Use("sequence_pull", length="length_plus"),
    "surrogate_gradient": Use("sequence_slope", length="length_plus"),
    "kl_through_ratio": Use("constant_within", x="token_kl", max_length="length_plus"),
    "proxy_through_ratio": Use("constant_within", x="kl_proxy_slope", max_length="length_plus"),
    "own_proxy_slope": Use("sequence_slope", slope="kl_proxy_slope", length="length_plus"),
}

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
