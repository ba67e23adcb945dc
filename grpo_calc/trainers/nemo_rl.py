"""NeMo-RL (source of August 2026): ClippedPGLossFn and GRPOAdvantageEstimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grpo_calc.trainers.figures import chosen, given, per_token, token_mean
from grpo_calc.trainers.trainer import Chosen, Trainer, Version, option

Options = Mapping[str, Any]

OPTIONS = {
    "normalize_rewards": option(True, "advantages are divided by std + 1e-6, where there is any spread"),
    "use_leave_one_out_baseline": option(True, "mean and std are those of the group's other completions"),
    "ratio_clip_min": option(0.2, "clip range below 1"),
    "ratio_clip_max": option(0.2, "clip range above 1"),
    "ratio_clip_c": option(None, "dual-clip bound; none: off"),
    "disable_ppo_ratio": option(False, "REINFORCE: advantage times log-prob, no ratio"),
    "force_on_policy_ratio": option(False, "the old policy is the new one: every ratio is 1"),
    "use_cispo": option(False, "the clipped ratio is a weight of the log-prob"),
    "token_level_loss": option(True, "token mean, else the mean over samples of token means"),
    "sequence_level_importance_ratios": option(False, "GSPO: one ratio, and one sampler correction, a sequence"),
    "reference_policy_kl_penalty": option(0.01, "KL coefficient"),
    "reference_policy_kl_type": option("k3", "the KL estimate", kind=("k1", "k2", "k3")),
    "kl_input_clamp_value": option(20.0, "clamp of the log-ratio inside the KL; none: off", optional=True),
    "kl_output_clamp_value": option(10.0, "clamp of the KL's value; none: off", optional=True),
    "use_kl_in_reward": option(False, "the KL is not part of the loss"),
    "use_on_policy_kl_approximation": option(False, "the KL is weighted by new over sampling probability"),
    "use_importance_sampling_correction": option(False, "the policy part is weighted by old over sampling probability"),
    "truncated_importance_sampling_type": option(
        None, "how that weight is bounded", kind=("tis", "icepop", "seq-mask-tis")
    ),
    "truncated_importance_sampling_ratio": option(None, "its upper bound"),
    "truncated_importance_sampling_ratio_min": option(None, "its lower bound"),
    "positive_example_nll_weight": option(0.0, "weight of the log-likelihood of completions with reward > 0"),
}
ALIASES = {
    f"{section}.{name}": name
    for section in ("loss_fn", "loss", "grpo", "grpo.adv_estimator", "advantage")
    for name in OPTIONS
}


def choose(options: Options, _version: Version) -> Chosen:
    """The roles and parameters that NeMo-RL's options come to."""
    return Chosen({**_advantage(options), **_policy(options), **_sampler(options), **_kl(options)})


def _advantage(options: Options) -> dict[str, Any]:
    others = options["use_leave_one_out_baseline"]
    scale = ("leave_one_out_std" if others else "group_std") if options["normalize_rewards"] else "none"
    return {
        "baseline": "leave_one_out" if others else "group_mean",
        "scale": scale,
        "std_eps": "add_if_any",
        "adv_eps": 1e-6,
        "ddof": 1,
    }


def _policy(options: Options) -> dict[str, Any]:
    token, forced = options["token_level_loss"], options["force_on_policy_ratio"]
    objective = "ppo" if options["ratio_clip_c"] is None else "dual_clip"
    if options["disable_ppo_ratio"] and not forced:
        objective = "policy_gradient"
    elif options["use_cispo"]:
        objective = "cispo"
    sequence = options["sequence_level_importance_ratios"] and not forced and objective != "policy_gradient"
    nll = options["positive_example_nll_weight"]
    return {
        "eps_low": options["ratio_clip_min"],
        "eps_high": options["ratio_clip_max"],
        "objective": objective,
        "old": "new" if forced else "given",
        "ratio": "sequence_plus" if sequence else "token",
        "reduction": "token_mean" if token else "completion_mean_plus",
        "divisor_of": "tokens_plus" if token else "completions_plus",
        "length_eps": 1e-8,
        **({"dual_clip": options["ratio_clip_c"]} if options["ratio_clip_c"] is not None else {}),
        **({"likelihood": "positive", "nll_weight": nll} if nll else {}),
    }


def _sampler(options: Options) -> dict[str, Any]:
    if not options["use_importance_sampling_correction"]:
        return {}
    level = "sequence" if options["sequence_level_importance_ratios"] else "token"
    kind, low, high = (options[f"truncated_importance_sampling_{name}"] for name in ("type", "ratio_min", "ratio"))
    if kind is None:
        return {"sampler": level}
    if kind == "seq-mask-tis":
        return {"sampler": level, "sampler_gate": "mean_ratio", "gate_low": low, "gate_high": high}
    bound = "truncate" if kind == "tis" else "mask"
    return {"sampler": f"{level}_{bound}", "sampler_floor": low or 0.0, "sampler_cap": high}


def _kl(options: Options) -> dict[str, Any]:
    inside, outside = options["kl_input_clamp_value"], options["kl_output_clamp_value"]
    if options["use_kl_in_reward"] or not options["reference_policy_kl_penalty"]:
        return {"kl": "none", "beta": 0}
    clamp = "_".join([*(["in_all"] if inside is not None else []), *(["out"] if outside is not None else [])])
    return {
        "beta": options["reference_policy_kl_penalty"],
        "kl": options["reference_policy_kl_type"],
        "kl_score": "sampler_ratio" if options["use_on_policy_kl_approximation"] else "one",
        "kl_clamp": clamp or "none",
        **({"kl_clamp_in": inside} if inside is not None else {}),
        **({"kl_clamp_out": outside} if outside is not None else {}),
    }


def metrics(worked: Any) -> dict[str, float]:
    """What NeMo-RL logs of a loss: ratios, and how far the sampling engine is from the trained policy."""
    roles = worked.recipe.roles
    new, sampler, old = worked["logp_new"], given(worked, "logp_sampler"), worked["logp_old"]
    ratio, held = _ratios(worked)
    mixture = np.log((np.exp(old) + np.exp(sampler)) / 2)
    divergence = (_estimate("k3", mixture - old) + _estimate("k3", mixture - sampler)) / 2
    kind = chosen(worked, TRAINER, "reference_policy_kl_type")
    logged = {
        "loss": worked["loss"],
        "probs_ratio": token_mean(ratio),
        "probs_ratio_clamped": token_mean(held),
        "probs_ratio_min": float(ratio.min()),
        "probs_ratio_max": float(ratio.max()),
        "probs_ratio_clamped_min": float(held.min()),
        "probs_ratio_clamped_max": float(held.max()),
        "kl_penalty": worked["kl"] if worked.has("kl") else 0.0,
        "token_mult_prob_error": token_mean(np.exp(abs(sampler - old))),
        "gen_kl_error": token_mean(_estimate(kind, sampler - old)),
        "policy_kl_error": token_mean(_estimate(kind, old - sampler)),
        "js_divergence_error": token_mean(divergence),
        "sampling_importance_ratio": _sampling_ratio(worked, old - sampler),
        "num_valid_samples": float(worked.table.completion_count),
        "approx_entropy": -token_mean(np.exp(new - sampler) * new),
        "positive_nll_loss": worked["positive_nll"] if roles["likelihood"] != "none" else 0.0,
    }
    return {**logged, **_out_of_bounds(worked)}


def _ratios(worked: Any) -> tuple[Any, Any]:
    """The ratio and the ratio held in its range, a value a token; without a ratio the log-prob takes their place."""
    roles, parameters = worked.recipe.roles, worked.recipe.parameters
    if roles["objective"] == "policy_gradient":
        return worked["logp_new"], worked["logp_new"]
    ratio = per_token(worked, "ratio")
    if roles["old"] == "new":
        return ratio, ratio
    return ratio, np.clip(ratio, 1 - parameters["eps_low"], 1 + parameters["eps_high"])


def _estimate(kind: str, k1: Any) -> Any:
    return {"k1": k1, "k2": k1**2 / 2, "k3": np.exp(-k1) - 1 + k1}[kind]


def _sampling_ratio(worked: Any, log_mismatch: Any) -> float:
    """The mean sampler weight of tokens; of sequences NeMo-RL logs the sum, by a shape that broadcasts (a bug)."""
    table, roles = worked.table, worked.recipe.roles
    if roles["sampler"] != "none":
        weight = np.asarray(worked["sampler_weight"])
        return float(weight.sum() if worked.level("sampler_weight").name == "COMPLETION" else weight.mean())
    if not chosen(worked, TRAINER, "sequence_level_importance_ratios"):
        return token_mean(np.exp(log_mismatch))
    sums = np.bincount(table.completion_of_token, weights=log_mismatch, minlength=table.completion_count)
    return float(np.exp(sums).sum())


def _out_of_bounds(worked: Any) -> dict[str, float]:
    roles, parameters = worked.recipe.roles, worked.recipe.parameters
    if roles["sampler_gate"] != "none":
        return {"is_oob_ratio": float(1 - worked["gate_open"].mean())}
    if not roles["sampler"].endswith(("truncate", "mask")):
        return {}
    weight = per_token(worked, "mismatch")
    return {"is_oob_ratio": token_mean((weight < parameters["sampler_floor"]) | (weight > parameters["sampler_cap"]))}


TRAINER = Trainer(
    name="nemo-rl",
    latest="2026.08.22",
    versions=("2026.08.22",),
    options=OPTIONS,
    choose=choose,
    source="NeMo-RL, commit 7ea279ab, algorithms: loss/loss_functions.py, advantage_estimator.py, utils.py",
    en="NeMo-RL's clipped policy-gradient loss",
    zh="NeMo-RL 的裁剪策略梯度损失",
    metrics=metrics,
    aliases=ALIASES,
)
