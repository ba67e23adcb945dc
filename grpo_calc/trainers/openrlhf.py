"""OpenRLHF 0.11: PolicyLoss, compute_approx_kl and the advantages of RemoteExperienceMaker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from grpo_calc.choices.words import KEY_ALIASES
from grpo_calc.trainers.figures import given, per_token, token_mean
from grpo_calc.trainers.trainer import Chosen, Trainer, Version, option

Options = Mapping[str, Any]

ESTIMATORS: Mapping[str, Mapping[str, Any]] = {
    "gae": {"baseline": "given", "scale": "none"},
    "group_norm": {"baseline": "group_mean", "scale": "group_std", "std_eps": "add", "adv_eps": 1e-9, "ddof": 1},
    "dr_grpo": {"baseline": "group_mean", "scale": "none"},
    "reinforce_baseline": {"baseline": "group_mean", "scale": "none"},
    "rloo": {"baseline": "leave_one_out", "scale": "none"},
    "reinforce": {"baseline": "none", "scale": "none"},
    "flash_reinforce": {"baseline": "batch_mean", "scale": "none"},
}
WHITENED = ("gae", "reinforce", "reinforce_baseline")
GATES = {"ratio": "ratio", "binary_kl": "binary_kl", "tv": "total_variation"}


def shortened(name: str) -> set[str]:
    """The short forms of an option's name.

    >>> sorted(shortened("algo.kl.estimator"))
    ['estimator', 'kl_estimator']
    """
    words = name.split(".")
    return {words[-1], "_".join(words[-2:])} - {name}


AGGREGATION = ("token-mean", "seq-mean-token-mean")

OPTIONS = {
    "actor.eps_clip": option(0.2, "clip range on both sides, where eps_clip_low_high is not given"),
    "actor.eps_clip_low_high": option(None, "clip range below and above 1", kind=list, form="LOW,HIGH"),
    "actor.dual_clip": option(None, "dual-clip bound c > 1; none: off"),
    "actor.policy_loss_type": option(
        "ppo", "ppo, or gspo: one ratio a sequence, reduced by samples", kind=("ppo", "gspo")
    ),
    "actor.loss_agg_mode": option("token-mean", "token mean, or mean over samples that have tokens", kind=AGGREGATION),
    "actor.entropy_coef": option(None, "entropy bonus: mean entropy over tokens; none: off"),
    "algo.kl.init_coef": option(0.01, "KL coefficient"),
    "algo.kl.use_loss": option(False, "the KL is part of the loss (always a token mean), not of the reward"),
    "algo.kl.estimator": option("k1", "the estimate, held in +-10", kind=("k1", "k2", "k3")),
    "algo.kl.unbiased_gradient": option(False, "the loss's KL has the gradient min(ratio, 10) k1, whatever its value"),
    "algo.advantage.estimator": option(
        "group_norm",
        "how the reward becomes an advantage; gae, OpenRLHF's own default, needs a critic: it is given",
        kind=tuple(ESTIMATORS),
    ),
    "algo.advantage.gamma": option(1.0, "discount a position; only reinforce has one"),
    "algo.advantage.lambd": option(1.0, "GAE's lambda", ignored=True),
    "algo.advantage.no_std_norm": option(False, "whitening takes the token mean off and scales nothing"),
    "whiten_in": option(
        "single",
        "precision of whitening's mean and variance: single, as OpenRLHF casts, or double",
        kind=("single", "double"),
    ),
    "algo.advantage.is_correction_level": option("off", "what the statistic is taken of", kind=("off", "token", "seq")),
    "algo.advantage.is_correction_mode": option(
        "mask", "outside the band: dropped, or held in it", kind=("mask", "clip")
    ),
    "algo.advantage.is_correction_gating": option("ratio", "the statistic", kind=tuple(GATES)),
    "algo.advantage.is_correction_threshold": option(
        [0.5, 5.0], "the band: low and high, or high alone", form="HIGH | LOW,HIGH"
    ),
    "reward.clip_range": option([-10.0, 10.0], "range that the shaped reward is held in", form="LOW,HIGH"),
    "rewards_in": option(
        "double",
        "precision of group_norm: single gives groups of equal rewards advantages of ±59 (a bug)",
        kind=("double", "single"),
    ),
    "dp_size": option(1, "data-parallel ranks: multiplies the loss where a global divisor is given"),
    "batch_num_tokens": option(None, "tokens of the global batch: the divisor of a token mean"),
    "global_batch_size": option(None, "samples of the global batch: the divisor of a mean over samples"),
}
SHORT = Counter(name for option in OPTIONS for name in shortened(option))
ALIASES = {
    name: option
    for option in OPTIONS
    for name in shortened(option)
    if SHORT[name] == 1 and name not in OPTIONS and KEY_ALIASES.get(name) != "eps"
} | {"eps_clip": "actor.eps_clip"}
"""The end of an option's name, or its last two words with _ between them, where no other option's is the same."""


def choose(options: Options, _version: Version) -> Chosen:
    """The roles and parameters that OpenRLHF's options come to."""
    changes = {**_policy(options), **_advantage(options), **_correction(options), **_kl(options)}
    unused = {"algo.advantage.gamma"} if options["algo.advantage.estimator"] != "reinforce" else set()
    return Chosen(changes, ignored=frozenset(unused))


def _policy(options: Options) -> dict[str, Any]:
    low, high = options["actor.eps_clip_low_high"] or (options["actor.eps_clip"],) * 2
    sequence = options["actor.policy_loss_type"] == "gspo"
    samples = sequence or options["actor.loss_agg_mode"] == "seq-mean-token-mean"
    total = options["global_batch_size"] if samples else options["batch_num_tokens"]
    changes = {
        "eps_low": low,
        "eps_high": high,
        "ratio": "sequence" if sequence else "token_clamped",
        "objective": "ppo" if options["actor.dual_clip"] is None else "dual_clip",
        "reduction": "completion_mean_plus" if samples else "token_mean",
        "length_eps": 1e-8,
    }
    if options["actor.dual_clip"] is not None:
        changes["dual_clip"] = options["actor.dual_clip"]
    if total is not None:
        changes |= {"divisor_of": "given", "divisor": total / options["dp_size"]}
    elif samples:
        changes["divisor_of"] = "nonempty"
    if options["actor.entropy_coef"]:
        changes |= {"entropy_bonus": "over_tokens", "entropy_coef": options["actor.entropy_coef"]}
    return changes


def _advantage(options: Options) -> dict[str, Any]:
    estimator = options["algo.advantage.estimator"]
    changes = dict(ESTIMATORS[estimator])
    if estimator == "group_norm" and options["rewards_in"] == "single":
        changes["baseline"] = "group_norm_single"
    gamma = options["algo.advantage.gamma"] if estimator == "reinforce" else 1.0
    penalty = 0.0 if options["algo.kl.use_loss"] else max(options["algo.kl.init_coef"], 0.0)
    if estimator != "gae":
        changes |= {
            "shaped_clip": "range",
            "reward_low": options["reward.clip_range"][0],
            "reward_high": options["reward.clip_range"][1],
        }
    if penalty:
        changes |= {"returns": f"less_{options['algo.kl.estimator']}", "gamma": gamma, "reward_beta": penalty}
    elif gamma != 1.0:
        changes |= {"returns": "discounted", "gamma": gamma}
    if estimator in WHITENED:
        whiten = "tokens_centred" if options["algo.advantage.no_std_norm"] else "tokens_floored"
        changes["whiten"] = whiten if options["whiten_in"] == "double" else f"{whiten}_single"
        changes["whiten_eps"] = 1e-8
    return changes


def _correction(options: Options) -> dict[str, Any]:
    level = options["algo.advantage.is_correction_level"]
    band = list(options["algo.advantage.is_correction_threshold"])
    low, high = band if len(band) == 2 else (0.0, band[0])
    if level == "off":
        return {}
    if options["actor.policy_loss_type"] == "gspo":
        return {"ratio": "sequence_against_sampler"}  # and nothing is weighted
    if options["algo.advantage.is_correction_mode"] == "clip":
        return {"sampler": "token_truncate", "sampler_floor": low, "sampler_cap": high}
    gate = GATES[options["algo.advantage.is_correction_gating"]]
    return {
        "sampler": "token",
        "sampler_gate": f"mean_{gate}" if level == "seq" else gate,
        "gate_low": low,
        "gate_high": high,
    }


def _kl(options: Options) -> dict[str, Any]:
    if not options["algo.kl.use_loss"]:
        return {"kl": "none", "beta": 0}
    tokens = options["batch_num_tokens"]
    over = {"kl_reduction": "token_mean"}
    return {
        "beta": options["algo.kl.init_coef"],
        "kl": options["algo.kl.estimator"],
        "kl_clamp": "out",
        "kl_clamp_out": 10.0,
        "kl_gradient": "importance" if options["algo.kl.unbiased_gradient"] else "own",
        **(over if tokens is None else {**over, "kl_divisor_of": "given", "kl_divisor": tokens / options["dp_size"]}),
    }


def metrics(worked: Any) -> dict[str, float]:
    """What OpenRLHF logs of a loss. ``is_filter_ratio`` is of the statistic's own rows: tokens, or completions."""
    logged = {
        "policy_loss": worked["policy_loss"],
        "ppo_clip_ratio": worked["clip_fraction"] if worked.has("clip_fraction") else 0.0,
        "ppo_kl": token_mean(given(worked, "logp_old") - worked["logp_new"]),
    }
    if worked.has("kl"):
        logged["kl"] = worked["kl"]
        logged["logprobs_diff"] = token_mean(worked["logp_new"] - given(worked, "logp_ref"))
    if worked.recipe.roles["sampler"] != "none":
        logged["vllm_kl"] = token_mean(given(worked, "logp_sampler") - given(worked, "logp_old"))
        logged["is_filter_ratio"] = _filtered(worked)
    return logged


def _filtered(worked: Any) -> float:
    if worked.recipe.roles["sampler_gate"] != "none":
        kept = worked["gate_open"]
        if worked.level("gate_open").name == "COMPLETION":
            kept = kept * (np.diff(worked.table.token_offsets) > 0)  # an empty completion's mean is undefined: not kept
        return float(1 - kept.mean())
    weight, parameters = per_token(worked, "mismatch"), worked.recipe.parameters
    return token_mean((weight < parameters["sampler_floor"]) | (weight > parameters["sampler_cap"]))


TRAINER = Trainer(
    name="openrlhf",
    latest="0.11.2",
    versions=("0.11.2",),
    options=OPTIONS,
    choose=choose,
    source="OpenRLHF 0.11.2: models/{loss,utils}.py, trainer/ppo_utils/experience_maker.py, trainer/ray/ppo_actor.py",
    en="OpenRLHF's policy loss",
    zh="OpenRLHF 的策略损失",
    metrics=metrics,
    aliases=ALIASES,
    replaced=MappingProxyType({"algo.advantage.estimator": "gae"}),
)
