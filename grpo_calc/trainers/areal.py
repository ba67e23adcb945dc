"""AReaL 1.0.4: normalised rewards to go, PPO or SAPO over tokens or sequences, and filters by staleness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grpo_calc.say import Problem
from grpo_calc.trainers.figures import given, per_token, token_mean
from grpo_calc.trainers.trainer import Chosen, Option, Trainer, Version, option

Options = Mapping[str, Any]
Changes = dict[str, Any]

LEVELS = (None, "batch", "group")
UNBOUNDED = -1e300

OPTIONS: Mapping[str, Option] = {
    "eps_clip": option(0.2, "clip range; below 1, and above 1 where eps_clip_higher is none"),
    "eps_clip_higher": option(None, "clip range above 1"),
    "c_clip": option(None, "the bound of dual clip, above 1"),
    "importance_sampling_level": option("token", "a ratio a token, or one a sequence", kind=("token", "sequence")),
    "use_sapo_loss": option(False, "a soft gate in place of the clip"),
    "sapo_tau_pos": option(1.0, "temperature of the gate where A > 0"),
    "sapo_tau_neg": option(1.05, "temperature of the gate elsewhere"),
    "reward_scaling": option(1.0, "factor of the reward, after reward_bias is added"),
    "reward_bias": option(0.0, "constant added to the reward"),
    "reward_clip": option(20.0, "bound of the scaled reward, both sides"),
    "reward_norm.mean_level": option(None, "the mean taken off the reward", kind=("batch", "group")),
    "reward_norm.std_level": option(None, "the standard deviation that it is divided by", kind=("batch", "group")),
    "reward_norm.mean_leave1out": option(False, "the mean of the others"),
    "reward_norm.std_unbiased": option(True, "divisor n - 1"),
    "reward_norm.eps": option(1e-5, "small number added to the standard deviation"),
    "reward_norm.group_size": option(1, "completions a prompt: taken from the table's groups", ignored=True),
    "adv_norm.mean_level": option(None, "the mean over the batch's tokens taken off advantages", kind=("batch",)),
    "adv_norm.std_level": option(None, "the standard deviation that they are divided by", kind=("batch",)),
    "adv_norm.eps": option(1e-5, "small number added to the standard deviation"),
    "discount": option(1.0, "discount a token"),
    "gae_lambda": option(1.0, "the other factor a token, without a critic"),
    "kl_ctl": option(0.1, "coefficient of the KL of old policy from reference in the reward"),
    "use_decoupled_loss": option(False, "the old log-probs are the proximal policy's, the sampler's the behaviour's"),
    "rejection_sampling.level": option("token", "filter tokens, or sequences", kind=("token", "sequence")),
    "rejection_sampling.action": option("mask", "leave out, or hold the weight at its bounds", kind=("mask", "clamp")),
    "rejection_sampling.metric": option(
        None, "what is compared; none: no filter", kind=("ratio", "kl_k1", "kl_k2", "kl_k3")
    ),
    "rejection_sampling.agg": option("mean", "how a sequence's tokens are joined", kind=("sum", "mean", "max")),
    "rejection_sampling.upper": option(5.0, "upper bound"),
    "rejection_sampling.lower": option(None, "lower bound"),
}


def choose(o: Options, _: Version) -> Chosen:
    """The changes to the grpo recipe. The loss is divided by all tokens, also by those that the filter leaves out."""
    sapo = o["use_sapo_loss"]
    if sapo and o["use_decoupled_loss"]:
        raise _bad("use_sapo_loss", True, "false beside use_decoupled_loss")
    if o["c_clip"] is not None and not o["c_clip"] > 1:
        raise _bad("c_clip", o["c_clip"], "a number above 1")
    changes: Changes = {
        "ratio": o["importance_sampling_level"],
        "eps_low": o["eps_clip"],
        "eps_high": o["eps_clip"] if o["eps_clip_higher"] is None else o["eps_clip_higher"],
        "objective": "sapo" if sapo else "ppo" if o["c_clip"] is None else "dual_clip",
        "tau_pos": o["sapo_tau_pos"],
        "tau_neg": o["sapo_tau_neg"],
        "reduction": "token_sum",
        "divisor_of": "all_tokens",
        "length_eps": 1e-300,
        "kl": "none",
        "beta": 0.0,
    }
    if o["c_clip"] is not None:
        changes["dual_clip"] = o["c_clip"]
    return Chosen({**changes, **_advantage(o), **_filtered(o)})


def _advantage(o: Options) -> Changes:
    """The reward, normalised; then to go where it is discounted or has a KL; then whitened over tokens."""
    mean, std, others = (o[f"reward_norm.{name}"] for name in ("mean_level", "std_level", "mean_leave1out"))
    if mean is None and std is not None:
        raise _bad("reward_norm.mean_level", None, "batch or group beside std_level")
    if others and (mean != "group" or std is not None):
        raise _bad("reward_norm.mean_leave1out", True, "true with mean_level group and no std_level")
    changes: Changes = {
        "reward_clip": "scaled_range",
        "reward_shift": o["reward_bias"],
        "reward_scale": o["reward_scaling"],
        "reward_low": -o["reward_clip"],
        "reward_high": o["reward_clip"],
        "baseline": "leave_one_out" if others else _baseline(mean, std),
        "scale": "none" if std is None else f"{std}_std",
        "std_eps": "add",
        "adv_eps": o["reward_norm.eps"],
        "ddof": 1 if o["reward_norm.std_unbiased"] else 0,
    }
    factor = o["discount"] * o["gae_lambda"]
    if o["kl_ctl"]:
        changes |= {"returns": "less_k1", "reward_beta": o["kl_ctl"], "gamma": factor}
    elif factor != 1:
        changes |= {"returns": "discounted", "gamma": factor}
    if o["adv_norm.mean_level"] is not None:
        if o["adv_norm.std_level"] is None:
            raise _bad("adv_norm.std_level", None, "batch beside mean_level batch")
        changes |= {"whiten": "tokens_std", "whiten_eps": o["adv_norm.eps"]}
    return changes


def _baseline(mean: str | None, std: str | None) -> str:
    whole = "batch_mean" if std is None else "batch_standard"
    return {None: "none", "group": "group_mean", "batch": whole}[mean]


def _filtered(o: Options) -> Changes:
    """Weights of the proximal against the behaviour policy, and the filter; none without the decoupled loss.

    A sequence's ratio is a geometric mean, as filter and as weight; KL filters leave each token its own weight.
    """
    metric, level, join = (o[f"rejection_sampling.{name}"] for name in ("metric", "level", "agg"))
    if metric is None or not o["use_decoupled_loss"]:
        return {}
    low, high = o["rejection_sampling.lower"], o["rejection_sampling.upper"]
    if metric == "ratio" and not high > 1:
        raise _bad("rejection_sampling.upper", high, "a number above 1 for ratio")
    whole = level == "sequence"
    by_sequence = whole and metric == "ratio"
    if o["rejection_sampling.action"] == "clamp":
        if metric != "ratio":
            raise _bad("rejection_sampling.metric", metric, "ratio beside action clamp")
        bounds: Changes = {"sampler_floor": low or 0.0, "sampler_cap": high}
        if not whole or join == "mean":
            return {**bounds, "sampler": "mean_truncate" if whole else "token_truncate"}
        return {
            **bounds,
            "sampler": "mean",
            "sampler_gate": f"{join}_ratio_hold",
            "gate_low": low or 0.0,
            "gate_high": high,
        }
    return {
        "sampler": "mean" if by_sequence else "token",
        "sampler_gate": f"{join}_{metric}" if whole else metric,
        "gate_low": UNBOUNDED if low is None else low,
        "gate_high": high,
        "rejection_place": "loss_by_gate",
    }


def _bad(name: str, seen: Any, takes: str) -> Problem:
    return Problem("trainer.bad_value", trainer="areal", option=name, seen=seen, takes=takes)


def metrics(worked: Any) -> Mapping[str, float]:
    """The actor's figures, means over the tokens that count."""
    counts = per_token(worked, "kept") > 0 if worked.recipe.roles["rejection_place"] != "nowhere" else slice(None)
    figures = {
        "importance_weight": per_token(worked, "ratio"),
        "approx_kl": given(worked, "logp_new") - given(worked, "logp_old"),
        "clip_ratio": per_token(worked, "clipped") if worked.has("clipped") else np.zeros(worked.table.token_count),
        "dual_clip_ratio": per_token(worked, "dual_clipped")
        if worked.has("dual_clipped")
        else np.zeros(worked.table.token_count),
        "actor_loss": -per_token(worked, "weighted_objective"),
    }
    return {name: token_mean(value[counts]) for name, value in figures.items()}


TRAINER = Trainer(
    name="areal",
    latest="1.0.4",
    versions=("1.0.4",),
    options=OPTIONS,
    choose=choose,
    source="AReaL 1.0.4, areal/utils/functional and areal/trainer/ppo/actor.py",
    en="AReaL",
    zh="AReaL",
    metrics=metrics,
    aliases={f"actor.{name}": name for name in OPTIONS},
)
