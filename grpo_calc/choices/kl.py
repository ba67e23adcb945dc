"""The KL's own choices: clamps, and what its gradient goes through, and a second KL beside it."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.bind import Absent, Bindings, Use


def _held_in(k1: str) -> Bindings:
    """The log-ratio held in ``[-K_in, K_in]`` before k3 reads it."""
    return {"k3": Use("k3", k1=k1), "base_ratio": Use("base_ratio", k1=k1)}


# Every estimator reads the log-ratio held in [-K_in, K_in]; beyond, nothing moves.
IN: Bindings = {
    "k1": Use("k1_clamped", k1="k1_as_it_is"),
    "k1_as_it_is": Use("k1"),
    "wrap:kl_slope:clamp_in": Use("inside_clamp", x="@", log_ratio="k1_as_it_is", log_ratio_clamp="kl_clamp_in"),
}
# The estimate held in [-K_out, K_out]; beyond, nothing moves.
OUT: Bindings = {
    "wrap:token_kl:clamp": Use("kl_clamped", x="@"),
    "wrap:kl_slope:clamp": Use(
        "inside_clamp", x="@", log_ratio="token_kl_before_clamp", log_ratio_clamp="kl_clamp_out"
    ),
}
KL_CLAMP: Mapping[str, Bindings] = {
    "none": {},
    "in_out": {
        **_held_in("k1_clamped"),
        "wrap:token_kl:clamp": Use("kl_clamped", x="@"),
        "wrap:kl_slope:clamp": Use("kl_clamped_slope", slope="@", x="token_kl_before_clamp"),
    },
    "out": OUT,
    "in_all": IN,
    "in_all_out": {**IN, **OUT},
}


def _scored(weight: Bindings) -> Bindings:
    """A KL times a weight of the token's own probability, whose gradient is kept; before any clamp of the value."""
    return {
        **weight,
        "wrap:token_kl:score": Use("ratio_weighted_kl", ratio="score_weight", x="@"),
        "wrap:kl_slope:score": Use("scored_kl_slope", slope="@", x="token_kl_before_score"),
    }


KL_SCORE: Mapping[str, Bindings] = {
    "none": {},
    "one": _scored(
        {"score_weight": Use("ratio", log_ratio="no_drift"), "no_drift": Use("log_ratio", logp_old="held_logp")}
    ),
    "token_ratio": _scored({"score_weight": Use("ratio")}),
    "sampler_ratio": _scored(
        {"score_weight": Use("ratio", log_ratio="log_drift"), "log_drift": Use("log_ratio", logp_old="logp_sampler")}
    ),
}

KL_GRADIENT: Mapping[str, Bindings] = {
    "own": {},
    "k2": {
        "wrap:token_kl:straight": Use("kl_by_k2", x="@"),
        "kl_slope": "k1",
        **{f"wrap:kl_slope:{clamp}": Absent() for clamp in ("clamp", "clamp_in")},
    },
    "importance": {
        "wrap:token_kl:straight": Use("kl_by_importance", x="@"),
        "kl_weight_capped": Use("cispo_cap_weight", ratio="token_ratio", ratio_cap="kl_weight_cap"),
        "token_ratio": Use("ratio"),
        "kl_slope": Use("kl_importance_slope"),
        **{f"wrap:kl_slope:{clamp}": Absent() for clamp in ("clamp", "clamp_in")},
    },
}


# A second KL, k3 of the new policy from the old one, with a coefficient of its own and the first one's reduction.
OLD_KL: Mapping[str, Bindings] = {
    "none": {},
    "positions": {
        "old_policy_k1": Use("k1", logp_base="logp_old"),
        "old_policy_ratio": Use("base_ratio", k1="old_policy_k1"),
        "old_policy_kl": Use("k3", k1="old_policy_k1", base_ratio="old_policy_ratio"),
        "completion_old_kl": Use("sum_within", x="old_policy_kl"),
        "old_kl": Use("divisor_across", x="completion_old_kl", divisor="area"),
        "old_kl_share": Use("divisor_across_slope", divisor="area"),
        "old_kl_slope": Use("k3_slope", base_ratio="old_policy_ratio"),
        "old_kl_gradient": Use("kl_gradient", beta="old_beta", kl_slope="old_kl_slope"),
        "wrap:objective:old_kl": Use("objective", surrogate_objective="@", beta="old_beta", kl="old_kl"),
        "wrap:gradient:old_kl": Use(
            "gradient", policy_gradient="@", kl_share="old_kl_share", kl_gradient="old_kl_gradient"
        ),
        "wrap:token_gradient:old_kl": Use("token_gradient", surrogate_gradient="@", own_kl_gradient="old_kl_gradient"),
    },
}
