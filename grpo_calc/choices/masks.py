"""Which tokens and completions move the policy, the entropy bonus, and the geometric mean of GMPO."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.bind import Absent, Bindings, Use, weighted

Choices = Mapping[str, Bindings]


def _off_policy(behaviour: str) -> Bindings:
    """Completions with A < 0 that the policy has drifted from are left out of the policy part."""
    return {
        "logp_behaviour": behaviour,
        "mean_drift": Use("mean_within", x="drift"),
        **weighted("off_policy", "on_policy_enough"),
    }


def counted_on_policy(behaviour: str) -> Bindings:
    """Completions with A < 0 that the policy has drifted from count nowhere; advantage and drift are of all tokens."""
    return {
        "counted": Use("completion_counts"),
        "logp_behaviour": behaviour,
        "mean_drift": Use("mean_within", x="drift", counted="given_counted"),
        "given_counted": Absent(),
        "advantage_counted": Absent(),
    }


OFF_POLICY: Choices = {
    "none": {},
    "against_old": _off_policy("logp_old"),
    "against_sampler": _off_policy("logp_sampler"),
}

TOP: Bindings = {
    "entropy_threshold": Use("entropy_threshold", counted="given_counted"),
    "entropy_kept": Use("high_entropy", entropy_limit="entropy_threshold"),
    "bonus_entropy": Use("kept_entropy"),
    "completion_kept": Use("sum_within", x="entropy_kept"),
    "kept_tokens": Use("sum_across", x="completion_kept"),
}
ENTROPY: Choices = {
    "all": {},
    "top": {**TOP, **weighted("entropy", "entropy_kept")},
    "top_geometric": {
        **TOP,
        "kept_log_ratio": Use("weighted", x="clipped_log_ratio", weight="entropy_kept"),
        "kept_log_ratio_sum": Use("sum_within", x="kept_log_ratio"),
        "mean_log_ratio": Use("kept_mean", total="kept_log_ratio_sum"),
        "sequence_pull": Use("sequence_pull", length="kept_length"),
        "wrap:policy_gradient:entropy": Use("weighted", x="@", weight="entropy_kept"),
    },
}

BONUS: Bindings = {
    "wrap:objective:entropy": Use("objective_with_entropy", x="@"),
    "bonus_entropy": "entropy",
    "completion_entropy": Use("sum_within", x="bonus_entropy"),
    "entropy_total": Use("sum_across", x="completion_entropy"),
    "kept_tokens": "tokens",
}
ENTROPY_BONUS: Choices = {
    "none": {},
    "mean": {**BONUS, "entropy_bonus": Use("mean_entropy")},
    "over_tokens": {**BONUS, "entropy_bonus": Use("mean_entropy", kept_tokens="tokens")},
    "summed": {**BONUS, "entropy_bonus": "entropy_total"},
    "over_completions": {
        **BONUS,
        "completion_entropy": Use("mean_within", x="bonus_entropy"),
        "entropy_bonus": Use("mean_across", x="completion_entropy"),
    },
}

# A sampler correction that is not a weight of the objective: VESPO takes it into its own weight.
UNWEIGHTED: Bindings = {f"wrap:{chain}:sampler": Absent() for chain in ("weighted_objective", "slope")}
SAMPLER_PLACE: Choices = {
    "objective": {},
    "vespo_token": {**UNWEIGHTED, "vespo_correction": Use("sum_within", x="log_sampler_weight")},
    "vespo_sequence": {**UNWEIGHTED, "vespo_correction": "log_sampler_weight"},
    "logged": UNWEIGHTED,
    "geometric": {
        **weighted("sampler", "sampler_weight_mean"),
        "sampler_weight_mean": Use("mismatch", x="sampler_log_mean"),
        "sampler_log_mean": Use("constant_within", x="log_weight_plus", max_length="length_plus"),
    },
}

GMPO: Bindings = {
    "mean_log_ratio": Use("mean_log_ratio", log_ratio="clipped_log_ratio"),
    "ratio": Use("sequence_ratio"),
    "token_objective": "surrogate",
    "slope": "geometric_slope",
    "policy_gradient": Use("geometric_pull", x="sequence_pull"),
    "surrogate_gradient": Use("geometric_pull", x="sequence_slope"),
    "kl_through_ratio": Use("geometric_pull", x="mean_kl_through_ratio"),
    "mean_kl_through_ratio": Use("mean_within", x="token_kl"),
    "proxy_through_ratio": Use("geometric_pull", x="kl_proxy_slope"),
    "own_proxy_slope": Use("geometric_pull", x="sequence_proxy_slope"),
    "sequence_proxy_slope": Use("sequence_slope", slope="kl_proxy_slope"),
}
