"""The ratio: one a token or one a sequence, and how a slope in it comes back to log pi."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.bind import Bindings, Use

Choices = Mapping[str, Bindings]

# How the slope in log r comes back to log pi: each token's own, or a sequence's spread over its tokens.
TOKEN_PULL: Bindings = {
    "surrogate_gradient": "slope",
    "policy_gradient": "shared_slope",
    "kl_through_ratio": "token_kl",
    "proxy_through_ratio": "kl_proxy_slope",
    "own_proxy_slope": "kl_proxy_slope",
}
CLAMPED_PULL: Bindings = {
    name: Use("inside_clamp", x=x) for name, x in TOKEN_PULL.items() if isinstance(x, str)
}  # beyond the clamp nothing moves
SEQUENCE_PULL: Bindings = {
    "surrogate_gradient": "slope",
    "policy_gradient": Use("sequence_pull"),
    "completion_slope": Use("completion_slope", shared_slope="weighted_slope"),
    "weighted_slope": Use("shared_slope"),  # in log s: not yet the gradient
    "kl_through_ratio": Use("mean_within", x="token_kl"),
    "proxy_through_ratio": "kl_proxy_slope",
    "own_proxy_slope": Use("sequence_slope", slope="kl_proxy_slope"),
    # A weighted KL moves its sequence's ratio, of which a token holds a share: what its own loss feels.
    "own_ratio_kl_gradient": Use("kl_gradient", kl_slope="own_ratio_kl_slope"),
    "own_ratio_kl_slope": Use(
        "ratio_weighted_kl_slope", slope="own_base_slope", kl_through_ratio="own_kl_through_ratio"
    ),
    "own_kl_through_ratio": Use("sequence_slope", slope="token_kl"),
}
# One ratio a sequence, its mean log-ratio divided by the length plus a small number.
SEQUENCE_PLUS: Bindings = {
    **SEQUENCE_PULL,
    "length_plus": Use("count_plus", x="length"),
    "ratio": Use("sequence_ratio"),
    "mean_log_ratio": Use("constant_within", x="log_ratio", max_length="length_plus"),
    "policy_gradient": Use("sequence_pull", length="length_plus"),
    "surrogate_gradient": Use("sequence_slope", length="length_plus"),
    "kl_through_ratio": Use("constant_within", x="token_kl", max_length="length_plus"),
    "proxy_through_ratio": Use("constant_within", x="kl_proxy_slope", max_length="length_plus"),
    "own_proxy_slope": Use("sequence_slope", slope="kl_proxy_slope", length="length_plus"),
    "own_kl_through_ratio": Use("sequence_slope", slope="token_kl", length="length_plus"),
}

RATIO: Choices = {
    "token": TOKEN_PULL,
    "token_clamped": {"ratio": Use("clamped_ratio"), **CLAMPED_PULL},
    "sequence": {"ratio": Use("sequence_ratio"), **SEQUENCE_PULL, "surrogate_gradient": Use("sequence_slope")},
    "sequence_plus": SEQUENCE_PLUS,
    "sequence_against_sampler": {
        "ratio": Use("sequence_ratio"),
        **SEQUENCE_PULL,
        "surrogate_gradient": Use("sequence_slope"),
        "mean_log_ratio": Use("mean_log_ratio", log_ratio="sampler_log_ratio"),
        "sampler_log_ratio": Use("log_ratio", logp_old="logp_sampler"),
    },
    "sequence_token": {"ratio": Use("sequence_token_ratio"), **TOKEN_PULL},
    "sequence_token_held": {
        "ratio": Use("sequence_token_ratio_held"),
        "wrap:slope:clamp": Use("below_log_cap", x="@"),
        **TOKEN_PULL,
    },
    "sequence_product": {
        "ratio": Use("product_ratio"),
        **SEQUENCE_PULL,
        "policy_gradient": "completion_slope",
        "kl_through_ratio": Use("sum_within", x="token_kl"),
        "proxy_through_ratio": Use("sum_within", x="kl_proxy_slope"),
        "own_proxy_slope": "kl_proxy_slope",
        "own_kl_through_ratio": "token_kl",
    },
}
