"""Gates of the sampler correction: a weight is kept where a statistic of the two policies lies in a band, else 0."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.bind import Bindings, Use

EVERY = "given_counted"
"""What a statistic reads in place of ``counted``: the tokens that count before any is rejected."""

BINARY: Bindings = {
    "sampler_probability": Use("held_probability", x="logp_sampler"),
    "old_probability": Use("held_probability", x="logp_old"),
}
# Estimates of the KL of trained from sampling policy, a token at a time.
KL: Mapping[str, Bindings] = {
    "kl_k1": {"mismatch_kl": "log_mismatch"},
    "kl_k2": {"mismatch_kl": Use("k2", k1="log_mismatch")},
    "kl_k3": {
        "mismatch_base": Use("base_ratio", k1="log_mismatch"),
        "mismatch_kl": Use("k3", k1="log_mismatch", base_ratio="mismatch_base"),
    },
}


def _joined(join: str, estimate: Bindings) -> Bindings:
    return {**estimate, "gate_statistic": Use(f"{join}_within", x="mismatch_kl", counted=EVERY)}


def _ratio(join: str) -> Bindings:
    """A completion's log-mismatches joined, as a ratio."""
    joined = {"gate_log": Use(f"{join}_within", x="log_mismatch", counted=EVERY)}
    return {**joined, "gate_statistic": Use("mismatch", x="gate_log")}


STATISTICS: Mapping[str, Bindings] = {
    "sum_ratio": _ratio("sum"),
    "max_ratio": _ratio("max"),
    **{name: {**estimate, "gate_statistic": "mismatch_kl"} for name, estimate in KL.items()},
    **{f"{join}_{name}": _joined(join, estimate) for join in ("sum", "mean", "max") for name, estimate in KL.items()},
    "ratio": {"gate_statistic": Use("mismatch", x="log_mismatch")},
    "mean_ratio": _ratio("mean"),
    "binary_kl": {**BINARY, "gate_statistic": "sampled_binary_kl"},
    "mean_binary_kl": {**BINARY, "gate_statistic": Use("mean_within", x="sampled_binary_kl", counted=EVERY)},
    "total_variation": {**BINARY, "gate_statistic": "sampled_total_variation"},
    "mean_total_variation": {
        **BINARY,
        "gate_statistic": Use("mean_within", x="sampled_total_variation", counted=EVERY),
    },
    "mean_deviation": {
        "gate_statistic": Use("mean_within", x="mismatch_deviation"),
        "mismatch_deviation": Use("mismatch_deviation", mismatch="token_mismatch"),
        "token_mismatch": Use("mismatch", x="log_mismatch"),
    },
}
GATED: Bindings = {"wrap:sampler_weight:gate": Use("gated_weight", x="@")}

SAMPLER_GATE: Mapping[str, Bindings] = {
    "none": {},
    **{name: {**statistic, **GATED} for name, statistic in STATISTICS.items()},
    # Beyond the band the weight is held at its bounds instead.
    **{
        f"{name}_hold": {**STATISTICS[name], "wrap:sampler_weight:gate": Use("held_beyond", x="@")}
        for name in ("sum_ratio", "max_ratio")
    },
    # Only tokens whose update would move the policies further apart are dropped.
    "mean_deviation_away": {
        **STATISTICS["mean_deviation"],
        "wrap:sampler_weight:gate": Use("gated_weight", x="@", gate_open="gate_open_or_back"),
    },
}
