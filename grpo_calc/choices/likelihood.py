"""A likelihood term beside the policy's: the log-prob of completions whose reward is above 0."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.bind import Bindings, Use

LIKELIHOOD: Mapping[str, Bindings] = {
    "none": {},
    "positive": {
        "completion_surprise": Use("sum_within", x="surprise"),
        "positive_surprise": Use("times", x="completion_surprise", y="positive"),
        "positive_length": Use("times", x="length", y="positive"),
        "positive_tokens": Use("sum_across", x="positive_length"),
        "positive_divisor": Use("count_plus", x="positive_tokens"),
        "positive_nll": Use("divisor_across", x="positive_surprise", divisor="positive_divisor"),
        "positive_share": Use("divisor_across_slope", divisor="positive_divisor"),
        "positive_slope": Use("kl_gradient", beta="nll_weight", kl_slope="surprise_slope"),
        "wrap:objective:likelihood": Use("objective", surrogate_objective="@", beta="nll_weight", kl="positive_nll"),
        "wrap:gradient:likelihood": Use(
            "gradient", policy_gradient="@", kl_share="positive_share", kl_gradient="positive_slope"
        ),
        "wrap:token_gradient:likelihood": Use(
            "token_gradient", surrogate_gradient="@", own_kl_gradient="positive_slope"
        ),
    },
}
