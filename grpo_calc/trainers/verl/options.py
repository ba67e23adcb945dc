"""verl's options under the names of its configuration, their defaults by version, and the longer names they go by."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.trainers.option import Option, option

VERSIONS = (
    *("0.2.0", "0.3.0", "0.4.0", "0.4.1", "0.5.0", "0.6.0", "0.6.1"),
    *("0.7.0", "0.7.1", "0.8.0", "0.9.0", "0.9.1"),
)

LOSS_MODES = (
    "vanilla",
    *(("clip_cov", "0.4.1"), ("kl_cov", "0.4.1"), ("gpg", "0.5.0"), ("gspo", "0.6.0"), ("geo_mean", "0.6.0")),
    *(("sapo", "0.7.0"), ("cispo", "0.7.0"), ("bypass_mode", "0.7.1"), ("dppo_tv", "0.7.1"), ("dppo_kl", "0.7.1")),
    ("dro", "0.9.0"),
)
ESTIMATORS = (
    *("grpo", "reinforce_plus_plus", "remax"),
    *(("rloo", "0.3.0"), ("reinforce_plus_plus_baseline", "0.4.0"), ("opo", "0.4.0"), ("grpo_passk", "0.4.0")),
    *(("gpg", "0.5.0"), ("grpo_vectorized", "0.6.0"), ("rloo_vectorized", "0.6.0"), ("gdpo", "0.7.1")),
)
AGGREGATIONS = (
    *("token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"),
    ("token-sum", "0.9.0"),
)
PLUS = "0.8.0"
KL_TYPES = (
    *("kl", "abs", "mse", "low_var_kl"),
    *(("k1", "0.4.0"), ("k2", "0.4.0"), ("k3", "0.4.0")),
    *((f"{name}+", PLUS) for name in ("kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3")),
)

GLOBAL = "of the whole step over all ranks, where the loss is worked for one rank's part of it"

OPTIONS: Mapping[str, Option] = {
    "adv_estimator": option(
        "grpo",
        "the advantage; verl's own default, gae, needs a critic's values, which a table does not have",
        kind=ESTIMATORS,
    ),
    "norm_adv_by_std_in_grpo": option(True, "divide by the group's standard deviation", since="0.4.0"),
    "gamma": option(1.0, "discount a token of reinforce_plus_plus"),
    "gdpo_reward_weights": option(None, "a weight for each reward of gdpo, 1 where none", since="0.7.1", kind=list),
    "use_kl_in_reward": option(False, "take the KL of old policy from reference off the reward"),
    "kl_penalty": option("kl", "the estimate of the KL in the reward", kind=KL_TYPES),
    "kl_coef": option(0.001, "coefficient of the KL in the reward"),
    "clip_ratio": option(0.2, "clip range, where clip_ratio_low or clip_ratio_high is none"),
    "clip_ratio_low": option(0.2, "clip range below 1", since="0.4.0", optional=True),
    "clip_ratio_high": option(0.2, "clip range above 1", since="0.4.0", optional=True),
    "clip_ratio_c": option(3.0, "the bound c of dual clip; the cap of the weight in dppo", since="0.4.0"),
    "loss_agg_mode": option("token-mean", "how tokens are reduced to the loss", since="0.4.0", kind=AGGREGATIONS),
    "loss_mode": option("vanilla", "the token's objective", kind=LOSS_MODES, since="0.4.1"),
    "tau_pos": option(1.0, "temperature of sapo's gate where A > 0", since="0.7.0"),
    "tau_neg": option(1.05, "temperature of sapo's gate elsewhere", since="0.7.0"),
    "clip_cov_ratio": option(0.0002, "share of tokens that clip_cov draws at random from its band", since="0.4.1"),
    "clip_cov_lb": option(1.0, "lower bound of clip_cov's covariance band", since="0.4.1"),
    "clip_cov_ub": option(5.0, "upper bound of clip_cov's covariance band", since="0.4.1"),
    "kl_cov_ratio": option(0.0002, "share of tokens, of the largest covariance, with kl_cov's penalty", since="0.4.1"),
    "ppo_kl_coef": option(0.1, "coefficient of kl_cov's penalty", since="0.4.1"),
    "dro_beta": option(None, "coefficient of dro's quadratic penalty", since="0.9.0"),
    "use_kl_loss": option(False, "add the KL to the loss"),
    "kl_loss_coef": option(0.001, "coefficient of the KL in the loss"),
    "kl_loss_type": option(
        "low_var_kl", "the estimate of the KL in the loss; with a +, its gradient is k2's", kind=KL_TYPES
    ),
    "entropy_coeff": option(0, "coefficient of the entropy; only 0: a table has no logits", kind=(0, 0.0)),
    "max_response_length": option(512, "the padded length that seq-mean-token-sum-norm divides by", kind=float),
    "loss_scale_factor": option(None, "what seq-mean-token-sum-norm divides by instead", since="0.7.0"),
    "dp_size": option(1, f"data-parallel ranks {GLOBAL}", since="0.7.0"),
    "batch_num_tokens": option(None, f"tokens {GLOBAL}", since="0.7.0"),
    "global_batch_size": option(None, f"completions {GLOBAL}", since="0.7.0"),
    "rollout_is": option(None, "a weight a token, or one a sequence", since="0.7.1", kind=("token", "sequence")),
    "rollout_is_threshold": option(
        "2.0", "cap of the weight; two bounds, low_high, leave out what lies beyond (from 0.8)", since="0.7.1", kind=str
    ),
    "rollout_is_batch_normalize": option(False, "divide weights by their mean", since="0.7.1"),
    "rollout_rs": option(None, "rules that reject tokens or sequences, with commas between", since="0.7.1", kind=str),
    "rollout_rs_threshold": option(
        None, "a bound a rule, with commas between: low_high for k1, an upper one else", since="0.7.1", kind=str
    ),
    "bypass_mode": option(False, "the old log-probs are the sampler's; corrected in the loss", since="0.7.1"),
    "loss_type": option("ppo_clip", "the loss of bypass_mode", since="0.7.1", kind=("ppo_clip", "reinforce")),
}

_HOMES: Mapping[str, tuple[str, ...]] = {
    "algorithm": (
        "adv_estimator",
        "norm_adv_by_std_in_grpo",
        "gamma",
        "gdpo_reward_weights",
        "use_kl_in_reward",
        "kl_penalty",
    ),
    "algorithm.kl_ctrl": ("kl_coef",),
    "algorithm.rollout_correction": (
        *("rollout_is", "rollout_is_threshold", "rollout_is_batch_normalize", "rollout_rs", "rollout_rs_threshold"),
        *("bypass_mode", "loss_type"),
    ),
    "actor_rollout_ref.actor": (
        *("clip_ratio", "clip_ratio_low", "clip_ratio_high", "clip_ratio_c", "loss_agg_mode", "loss_scale_factor"),
        *("tau_pos", "tau_neg", "use_kl_loss", "kl_loss_coef", "kl_loss_type", "entropy_coeff"),
    ),
    "actor_rollout_ref.actor.policy_loss": (
        *("loss_mode", "clip_cov_ratio", "clip_cov_lb", "clip_cov_ub", "kl_cov_ratio", "ppo_kl_coef", "dro_beta"),
    ),
    "actor_rollout_ref.actor.global_batch_info": (
        "dp_size",
        "batch_num_tokens",
        "global_batch_size",
        "loss_scale_factor",
    ),
    "data": ("max_response_length",),
}
"""Where each option stands in the configuration."""


def _names(home: str, name: str) -> set[str]:
    """The dotted names of an option: from the configuration's root, and from each part below it."""
    parts = home.split(".")
    return {".".join([*parts[start:], name]) for start in range(len(parts))}


ALIASES: Mapping[str, str] = {
    alias: name for home, names in _HOMES.items() for name in names for alias in _names(home, name)
}
"""``actor_rollout_ref.actor.clip_ratio``, ``actor.clip_ratio``, ``policy_loss.clip_cov_lb`` ... and what they mean."""
