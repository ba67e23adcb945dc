"""Gates of the sampler correction: a weight is kept where a statistic of the two policies lies in a band, else 0."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.bind import Bindings, Use

BINARY: Bindings = {
    "sampler_probability": Use("held_probability", x="logp_sampler"),
    "old_probability": Use("held_probability", x="logp_old"),
}
STATISTICS: Mapping[str, Bindings] = {
    "ratio": {"gate_statistic": Use("mismatch", x="log_mismatch")},
    "mean_ratio": {"gate_statistic": Use("mismatch", x="log_mismatch_mean")},
    "binary_kl": {**BINARY, "gate_statistic": "sampled_binary_kl"},
    "mean_binary_kl": {**BINARY, "gate_statistic": Use("mean_within", x="sampled_binary_kl")},
    "total_variation": {**BINARY, "gate_statistic": "sampled_total_variation"},
    "mean_total_variation": {**BINARY, "gate_statistic": Use("mean_within", x="sampled_total_variation")},
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
    # Only tokens whose update would move the policies further apart are dropped.
    "mean_deviation_away": {
        **STATISTICS["mean_deviation"],
        "wrap:sampler_weight:gate": Use("gated_weight", x="@", gate_open="gate_open_or_back"),
    },
}
