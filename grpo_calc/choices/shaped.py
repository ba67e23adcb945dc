"""What becomes of a shaped reward: held in a range, carried back from the last token, whitened."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.bind import Bindings, Use
from grpo_calc.choices.returns import WHITEN_TOKENS

Choices = Mapping[str, Bindings]

SHAPED_CLIP: Choices = {"none": {}, "range": {"wrap:advantage:shaped_clip": Use("clipped_reward", x="@")}}

# The shaped reward stands at a completion's last token, and each token's advantage is what is still to come.
DISCOUNTED: Bindings = {
    "wrap:advantage:returns": Use("reward_to_go", token_reward="token_return", to_go_step="distance_step"),  # noqa: S106  (a column, no password)
    "token_return": "last_return",
    "last_return": Use("token_reward", reward="advantage_before_returns"),
}
ESTIMATES: Choices = {
    "k1": {"return_estimate": "return_k1"},
    "k2": {"return_estimate": Use("k2", k1="return_k1")},
    "k3": {
        "return_base_ratio": Use("base_ratio", k1="return_k1"),
        "return_estimate": Use("k3", k1="return_k1", base_ratio="return_base_ratio"),
    },
}
RETURNS: Choices = {
    "none": {},
    "discounted": DISCOUNTED,
    **{
        f"less_{estimate}": {
            **DISCOUNTED,
            **bound,
            "return_k1": Use("k1", logp_new="logp_old", logp_base="logp_ref"),
            "return_kl": Use("kl_clamped", x="return_estimate"),
            "token_return": Use("penalised_token_reward", x="last_return", reward_kl="return_kl"),
        }
        for estimate, bound in ESTIMATES.items()
    },
}

# Whitened over tokens with the population's variance: scaled by its root, not below a floor, or not scaled at
# all; ``tokens_std`` with the sample's, its root plus a small number.
_POPULATION: Bindings = {
    **WHITEN_TOKENS,
    "whiten_mean": Use("tokens_across", x="whiten_sum", tokens="advantage_tokens"),
    "whiten_variance": Use("tokens_across", x="whiten_square_sum", tokens="advantage_tokens"),
}
# As OpenRLHF computes it: statistics of the returns cast to single precision.
_SINGLE: Bindings = {
    **_POPULATION,
    "return_single": Use("in_single", x="advantage_before_whiten"),
    "whiten_sum": Use("sum_within", x="return_single", counted="advantage_counted"),
    "whiten_square": Use("squared_deviation_single", x="return_single", mean="whiten_mean"),
}
WHITEN_SHAPED: Choices = {
    "tokens_std": {
        **WHITEN_TOKENS,
        "whiten_std": Use("root", x="whiten_variance"),
        "wrap:advantage:whiten": Use(
            "standard_advantage", x="@", advantage_mean="whiten_mean", advantage_std="whiten_std", adv_eps="whiten_eps"
        ),
    },
    "tokens_floored": {**_POPULATION, "wrap:advantage:whiten": Use("whitened_floored", x="@")},
    "tokens_centred": {**_POPULATION, "wrap:advantage:whiten": Use("reward_above", reward="@", baseline="whiten_mean")},
    "tokens_floored_single": {**_SINGLE, "wrap:advantage:whiten": Use("whitened_floored", x="@")},
    "tokens_centred_single": {
        **_SINGLE,
        "wrap:advantage:whiten": Use("reward_above", reward="@", baseline="whiten_mean"),
    },
}
