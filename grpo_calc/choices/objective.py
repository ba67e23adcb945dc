"""Objectives beyond PPO's own, and gates: tokens that an objective leaves out by a rule of its own."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.bind import Absent, Bindings, Use, weighted
from grpo_calc.choices.masks import GMPO

Choices = Mapping[str, Bindings]

# An objective without a clipped side has no clip figures.
NO_CLIP: Bindings = {name: Absent() for name in ("clipped_ratio", "clipped_surrogate", "clipped")}
# An objective that moves log pi directly, not through the ratio: nothing is pulled back through a ratio or its clamp.
DIRECT: Bindings = {"surrogate_gradient": "slope", "policy_gradient": "shared_slope", "wrap:slope:clamp": Absent()}

COVARIANCE: Bindings = {
    "cov_advantage_sum": Use("sum_within", x="advantage"),
    "cov_advantage_mean": Use("tokens_across", x="cov_advantage_sum"),
    "cov_logp_sum": Use("sum_within", x="logp_new"),
    "cov_logp_mean": Use("tokens_across", x="cov_logp_sum"),
}
"""The centres of a token's covariance: means over all tokens of the batch."""

# The geometric mean divides by the length plus a small number, and takes the mean of a token's advantages.
GMPO_PLUS: Bindings = {
    **GMPO,
    "mean_log_ratio": Use("constant_within", x="clipped_log_ratio", max_length="length_plus"),
    "sequence_pull": Use("sequence_pull", length="length_plus"),
    "sequence_slope": Use("sequence_slope", length="length_plus"),
    "completion_advantage": Use("constant_within", x="advantage", max_length="length_plus"),
    "surrogate": Use("surrogate", advantage="completion_advantage"),
    "slope": Use("geometric_slope", advantage="completion_advantage"),
}

OBJECTIVE: Choices = {
    "ratio": {"token_objective": "surrogate", "slope": "geometric_slope", **NO_CLIP},
    "gmpo_plus": {**GMPO_PLUS, **NO_CLIP, "clipped": "log_clipped"},
    "kl_cov": {"token_objective": Use("kl_cov_objective"), "slope": "kl_cov_slope", **COVARIANCE, **NO_CLIP},
    "dro": {"token_objective": Use("dro_objective"), "slope": "dro_slope", **DIRECT, **NO_CLIP},
}


def _gate(rule: str) -> Bindings:
    return {"gate": rule, **weighted("gate", "gate")}


GATE: Choices = {
    "none": {},
    "total_variation": _gate("inside_total_variation"),
    "binary_kl": _gate("inside_binary_kl"),
    # Without a clip beside it.
    "covariance_alone": {
        **COVARIANCE,
        **_gate("outside_covariance_band"),
        "outside_covariance_band": Use("outside_covariance_band", clipped="not_clipped"),
        "not_clipped": Use("no_correction"),
    },
    "covariance": {**COVARIANCE, **_gate("outside_covariance_band")},
    # Drawn at random inside the band: which, is given.
    "covariance_drawn": {**COVARIANCE, **_gate("not_drawn_from_band")},
}
