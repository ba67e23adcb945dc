"""TRL's GRPOTrainer, GMPOTrainer and RLOOTrainer, 0.14 to 1.16: their options, and what they choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grpo_calc.trainers.trainer import Chosen, Option, Trainer, Version, option
from grpo_calc.trainers.trl_metrics import metrics
from grpo_calc.trainers.trl_unused import UNUSED

VERSIONS = tuple(
    """
    0.14.0 0.15.0 0.15.1 0.15.2 0.16.0 0.16.1 0.17.0 0.18.0 0.18.1 0.18.2 0.19.0 0.19.1 0.20.0 0.21.0 0.22.0
    0.22.1 0.22.2 0.23.0 0.23.1 0.24.0 0.25.0 0.25.1 0.26.0 0.26.1 0.26.2 0.27.0 0.27.1 0.27.2 0.28.0 0.29.0
    0.29.1 1.0.0 1.1.0 1.2.0 1.3.0 1.4.0 1.5.0 1.5.1 1.6.0 1.7.0 1.7.1 1.8.0 1.9.0 1.9.1 1.9.2 1.10.0 1.11.0
    1.12.0 1.13.0 1.14.0 1.14.1 1.14.2 1.15.0 1.16.0
    """.split()  # noqa: SIM905  (a list to read)
)

CLIPPED = {"grpo", "bnpo", "dr_grpo", "dapo", "luspo"}
PER_TOKEN = {"dapo", "cispo", "vespo"}
"""Losses divided by the number of tokens of the whole generation batch."""

UNBOUNDED = 1e300
"""What an absent cap of the sampler correction comes to."""

NEITHER_LOSS_NOR_ADVANTAGE = "does not enter the loss of a given batch"

SHARED: Mapping[str, Option] = {
    "beta": option(
        0.04, "coefficient of the KL to the reference; 0 leaves the KL out", ("0.19.0", 0.0), since="0.14.0"
    ),
    "epsilon": option(0.2, "clip range below 1", since="0.16.0"),
    "epsilon_high": option(None, "clip range above 1, epsilon where none; for cispo the cap itself", since="0.16.0"),
    "reward_weights": option(None, "a weight for each reward function, 1 where none", since="0.15.2", kind=list),
    "mask_truncated_completions": option(False, "leave truncated completions' tokens out", since="0.17.0"),
    "gradient_accumulation_steps": option(
        1, "steps whose gradients are added up: the loss is divided by them", since="0.14.0"
    ),
    "num_iterations": option(
        1,
        "optimisation passes over a batch: with aligned steps and 1, TRL takes old = new (on policy)",
        since="0.16.0",
        ignored=True,
    ),
}

OPTIONS: Mapping[str, Option] = {
    **SHARED,
    "loss_type": option(
        "bnpo",
        "the objective, and how it is reduced",
        ("0.22.0", "dapo"),
        since="0.17.0",
        kind=(
            "grpo",
            "bnpo",
            "dr_grpo",
            ("dapo", "0.22"),
            ("cispo", "0.26"),
            ("sapo", "0.26"),
            ("luspo", "0.28"),
            ("vespo", "1.0"),
        ),
    ),
    "importance_sampling_level": option(
        "token", "a ratio a token, or one a sequence (GSPO)", since="0.20.0", kind=("token", "sequence")
    ),
    "delta": option(None, "upper bound of the ratio on the unclipped side", since="0.18.0"),
    "scale_rewards": option(
        True,
        "the standard deviation that advantages are divided by",
        ("0.22.0", "group"),
        since="0.16.0",
        kind=(True, False, ("group", "0.22"), ("batch", "0.22"), ("none", "0.22")),
    ),
    "multi_objective_aggregation": option(
        "sum_then_normalize",
        "several rewards: summed and normalised, or each normalised and summed",
        since="0.27.0",
        kind=("sum_then_normalize", "normalize_then_sum"),
    ),
    "max_completion_length": option(256, "the constant length of dr_grpo", ("1.10.0", 512), since="0.14.0"),
    "steps_per_generation": option(
        None, "steps a generation batch is used for; gradient_accumulation_steps where none", since="0.18.0", kind=int
    ),
    "top_entropy_quantile": option(1.0, "share of the most uncertain tokens that move the policy", since="0.20.0"),
    "entropy_coef": option(0.0, "coefficient of the entropy bonus", since="1.8.0"),
    "off_policy_mask_threshold": option(
        None, "mean drift beyond which a completion with A < 0 is left out", since="0.27.0"
    ),
    "use_bias_correction_kl": option(False, "multiply the KL by the ratio", ("1.10.0", True), since="0.26.0"),
    "sapo_temperature_pos": option(1.0, "temperature of the soft gate where A > 0", since="0.26.0"),
    "sapo_temperature_neg": option(1.05, "temperature of the soft gate elsewhere", since="0.26.0"),
    "vespo_k_pos": option(2.0, "shape of the gamma weight where A >= 0", since="1.0.0"),
    "vespo_lambda_pos": option(3.0, "rate of the gamma weight where A >= 0", since="1.0.0"),
    "vespo_k_neg": option(3.0, "shape of the gamma weight where A < 0", since="1.0.0"),
    "vespo_lambda_neg": option(2.0, "rate of the gamma weight where A < 0", since="1.0.0"),
    "use_vllm": option(False, "sample with vLLM, whose log-probs then correct for the mismatch", since="0.14.0"),
    "vllm_importance_sampling_correction": option(True, "correct for the mismatch with the sampler", since="0.23.0"),
    "vllm_importance_sampling_mode": option(
        "sequence_mask",
        "a weight a token or a sequence, truncated at the bounds or left out beyond them",
        since="0.26.0",
        kind=("token_truncate", "token_mask", "sequence_truncate", "sequence_mask"),
    ),
    "vllm_importance_sampling_cap": option(
        2.0, "cap of the weight; from 1.6 another word for clip_max", ("0.26.0", 3.0), ("1.6.0", None), since="0.23.0"
    ),
    "vllm_importance_sampling_clip_max": option(None, "cap of the weight", ("1.6.0", 3.0), since="1.6.0"),
    "vllm_importance_sampling_clip_min": option(None, "floor of the weight", since="1.6.0"),
    **{name: option(None, NEITHER_LOSS_NOR_ADVANTAGE, ignored=True, kind=str) for name in UNUSED},
}

RLOO_OPTIONS: Mapping[str, Option] = {
    **SHARED,
    "beta": option(
        0.05, "coefficient of the KL to the reference, taken off the reward; 0 leaves it out", since="0.22.0"
    ),
    "gradient_accumulation_steps": option(1, NEITHER_LOSS_NOR_ADVANTAGE, ignored=True),
    "normalize_advantages": option(False, "standardise the advantages over the batch", since="0.22.0"),
    "reward_clip_range": option(None, "least and greatest reward", since="0.22.0", kind=list, form="LOW,HIGH"),
    **{
        name: option(None, NEITHER_LOSS_NOR_ADVANTAGE, ignored=True, kind=str)
        for name in ("max_completion_length", *UNUSED)
    },
}

GMPO_OPTIONS: Mapping[str, Option] = {
    **OPTIONS,
    "epsilon": option(0.4, "clip range of the log-ratio below 0", since="1.7.0"),
    "epsilon_high": option(None, "clip range of the log-ratio above 0, epsilon where none", since="1.7.0"),
}


def _clip(o: Mapping[str, Any]) -> dict[str, float]:
    low = o.get("epsilon", 0.2)
    return {"eps_low": low, "eps_high": low if o.get("epsilon_high") is None else o["epsilon_high"]}


def _rewards(o: Mapping[str, Any], at: Version) -> dict[str, Any]:
    """The rewards and the advantage. Before 1.6 a completion that no function scores counts with reward 0."""
    scale = {True: "group", False: "none"}.get(o.get("scale_rewards", True), o.get("scale_rewards", True))
    return {
        "baseline": "group_mean",
        "scale": scale if scale == "none" else f"{scale}_std",
        "std_eps": "add",
        "adv_eps": 1e-4,
        "ddof": 1,
        "rewards": "normalise_first" if o.get("multi_objective_aggregation") == "normalize_then_sum" else "sum_first",
        "unscored": "left_out" if at >= (1, 6) else "zero",
        "truncated": "dropped" if o.get("mask_truncated_completions") else "counted",
        **({"reward_weights": o["reward_weights"]} if o.get("reward_weights") else {}),
    }


def _objective(o: Mapping[str, Any], loss: str) -> dict[str, Any]:
    """The token's objective."""
    if loss == "cispo":
        return {"objective": "cispo_cap", "ratio_cap": _clip(o)["eps_high"]}
    if loss == "sapo":
        return {"objective": "sapo", "tau_pos": o["sapo_temperature_pos"], "tau_neg": o["sapo_temperature_neg"]}
    if loss == "vespo":
        return {"objective": "vespo", **{name: o[name] for name in o if name.startswith("vespo_")}}
    return {"objective": "ppo"} if o.get("delta") is None else {"objective": "delta", "delta": o["delta"]}


def _reduction(o: Mapping[str, Any], loss: str, at: Version) -> dict[str, Any]:
    """How tokens and completions are joined, and the accumulated steps that the loss is divided by.

    From 0.28 to 1.9 luspo averaged over every position of the padded batch, masked ones too (a bug, fixed in 1.10):
    where its terms differ along a completion that is ``padded_luspo``.
    """
    over = {"grpo": "completion_mean", "sapo": "completion_mean", "bnpo": "token_mean", "dr_grpo": "constant_length"}
    changes: dict[str, Any] = {"reduction": over.get(loss, "token_mean")}
    if loss == "dr_grpo":
        changes["max_length"] = o["max_completion_length"]
    if loss == "luspo":
        padded = "padded_luspo_sequence" if o["importance_sampling_level"] == "sequence" else "padded_luspo"
        changes |= (
            {"reduction": "completion_sum"}
            if at >= (1, 10) or not _by_token(o)
            else {"reduction": padded, "counted": "mask"}
        )
    return changes


def _by_token(o: Mapping[str, Any]) -> bool:
    """Whether a term of the loss differs along a completion."""
    corrected = o["use_vllm"] and o["vllm_importance_sampling_correction"]
    by_weight = corrected and o["vllm_importance_sampling_mode"].startswith("token")
    token = o["importance_sampling_level"] == "token"
    return bool(token or o["beta"] != 0 or o["top_entropy_quantile"] < 1 or by_weight)


def _steps(o: Mapping[str, Any], loss: str, at: Version) -> float:
    """The accumulated steps that the loss is divided by: by the trainer itself, not by what runs it, from 0.22 on."""
    every = o["gradient_accumulation_steps"]
    if loss in PER_TOKEN:
        return every / (o.get("steps_per_generation") or every) if at >= (1, 9) else 1.0
    return float(every) if at >= (0, 22) else 1.0


def _accumulation(steps: float) -> dict[str, Any]:
    return {} if steps == 1 else {"accumulation": "steps", "accumulated_steps": steps}


def _entropy(o: Mapping[str, Any], loss: str, at: Version) -> dict[str, Any]:
    """The most uncertain tokens, and the entropy bonus."""
    changes: dict[str, Any] = {}
    if o.get("top_entropy_quantile", 1.0) < 1:
        changes |= {"entropy": "top", "top_entropy": o["top_entropy_quantile"]}
    if o.get("entropy_coef"):
        early = loss in PER_TOKEN and at < (1, 10)
        steps = _steps(o, loss, at) if early else o["gradient_accumulation_steps"]
        changes |= {
            "entropy_bonus": "over_tokens" if early else "mean",
            "entropy_coef": o["entropy_coef"],
            "entropy_steps": steps,
        }
    return changes


def _sampler(o: Mapping[str, Any], loss: str) -> dict[str, Any]:
    """The correction for vLLM, and the mask of completions that the policy has drifted from."""
    changes: dict[str, Any] = {}
    if o.get("off_policy_mask_threshold") is not None:
        against = "against_sampler" if o["use_vllm"] else "against_old"
        changes |= {"off_policy": against, "off_policy_limit": o["off_policy_mask_threshold"]}
    if not (o["use_vllm"] and o.get("vllm_importance_sampling_correction")):
        return changes
    mode = o.get("vllm_importance_sampling_mode", "token_truncate")
    cap = o["vllm_importance_sampling_cap"]
    cap = o["vllm_importance_sampling_clip_max"] if cap is None else cap
    floor = o.get("vllm_importance_sampling_clip_min")
    changes |= {
        "sampler": mode,
        "sampler_cap": UNBOUNDED if cap is None else cap,
        "sampler_floor": 0.0 if floor is None else floor,
    }
    if loss == "vespo":
        changes["sampler_place"] = f"vespo_{mode.split('_')[0]}"
    return changes


def _kl(o: Mapping[str, Any], at: Version) -> dict[str, Any]:
    """The KL. Up to 0.15 it is worked whatever beta is; later it is left out where beta is 0."""
    if o["beta"] == 0 and at >= (0, 16):
        return {"kl": "none", "beta": 0.0}
    return {"kl": "k3", "beta": o["beta"], "kl_weight": "ratio" if o.get("use_bias_correction_kl") else "none"}


def _loss(o: Mapping[str, Any], at: Version) -> str:
    """The loss by name. 0.14 and 0.15 have one, a mean of completion means; 0.16 a mean over tokens."""
    return str(o.get("loss_type", "bnpo" if at >= (0, 16) else "grpo"))


def grpo(o: Mapping[str, Any], at: Version) -> Chosen:
    """The roles of GRPOTrainer. Up to 0.15 it has no ratio: the old policy is the new one."""
    loss = _loss(o, at)
    changes = {
        **_rewards(o, at),
        **_clip(o),
        "old": "new" if at < (0, 16) else "given",
        "ratio": o.get("importance_sampling_level", "token"),
        **_objective(o, loss),
        **_reduction(o, loss, at),
        **_accumulation(_steps(o, loss, at)),
        **_entropy(o, loss, at),
        **_sampler(o, loss),
        **_kl(o, at),
    }
    return Chosen(changes, ignored=_unused(o, loss, at))


def _unused(o: Mapping[str, Any], loss: str, at: Version) -> frozenset[str]:
    """The options that do not matter beside the others."""
    corrected = o["use_vllm"] and o.get("vllm_importance_sampling_correction")
    unused = {
        "delta": loss not in CLIPPED,
        "epsilon": loss in ("sapo", "vespo") or (loss == "cispo" and o["epsilon_high"] is not None),
        "epsilon_high": loss in ("sapo", "vespo"),
        "importance_sampling_level": loss == "vespo" and not (o["beta"] and o["use_bias_correction_kl"]),
        "max_completion_length": loss != "dr_grpo",
        "steps_per_generation": loss not in PER_TOKEN or at < (1, 9),
        "gradient_accumulation_steps": at < (0, 22) or (loss in PER_TOKEN and at < (1, 9)),
        "use_bias_correction_kl": o["beta"] == 0,
        "use_vllm": at < (0, 23),
        "vllm_importance_sampling_correction": not o["use_vllm"],
        **{
            name: not corrected
            for name in OPTIONS
            if name.startswith("vllm_importance_sampling_") and not name.endswith("correction")
        },
        **{name: loss != name.split("_")[0] for name in OPTIONS if name.startswith(("sapo_", "vespo_"))},
    }
    return frozenset(name for name, is_unused in unused.items() if is_unused)


def gmpo(o: Mapping[str, Any], at: Version) -> Chosen:
    """The roles of GMPOTrainer: the rewards of GRPOTrainer, an objective of its own."""
    steps = float(o["gradient_accumulation_steps"])
    top = o["top_entropy_quantile"]
    changes = {
        **_rewards(o, at),
        **_clip(o),
        "objective": "gmpo",
        "reduction": "completion_each",
        **_accumulation(steps),
        **({"entropy": "top_geometric", "top_entropy": top} if top < 1 else {}),
        **_kl(o, at),
        "kl_weight": "none",
    }
    used = {*SHARED, "scale_rewards", "multi_objective_aggregation", "top_entropy_quantile"}
    return Chosen(changes, ignored=frozenset(o) - used)


def rloo(o: Mapping[str, Any], at: Version) -> Chosen:
    """The roles of RLOOTrainer: leave-one-out, the KL in the reward, the sequence as one action."""
    low, high = o["reward_clip_range"] or (None, None)
    changes = {
        **_rewards({**o, "scale_rewards": False}, at),
        "baseline": "leave_one_out",
        **({"reward_clip": "range", "reward_low": low, "reward_high": high} if low is not None else {}),
        "reward_kl": "sum_k1" if o["beta"] else "none",
        "beta": o["beta"],
        "whiten": "batch" if o["normalize_advantages"] else "none",
        **_clip(o),
        "ratio": "sequence_product",
        "reduction": "completion_each",
        "kl": "none",
    }
    return Chosen(changes)


TRAINER = Trainer(
    name="trl",
    latest=VERSIONS[-1],
    versions=VERSIONS,
    options=OPTIONS,
    choose=grpo,
    metrics=metrics,
    source="TRL, trl/trainer/grpo_trainer.py",
    en="TRL GRPOTrainer",
    zh="TRL GRPOTrainer",
)
GMPO = Trainer(
    name="trl-gmpo",
    latest=VERSIONS[-1],
    versions=VERSIONS[VERSIONS.index("1.7.0") :],
    options=GMPO_OPTIONS,
    choose=gmpo,
    metrics=metrics,
    source="TRL, trl/experimental/gmpo/gmpo_trainer.py",
    en="TRL GMPOTrainer",
    zh="TRL GMPOTrainer",
)
RLOO = Trainer(
    name="trl-rloo",
    latest=VERSIONS[-1],
    versions=VERSIONS[VERSIONS.index("0.22.0") :],
    options=RLOO_OPTIONS,
    choose=rloo,
    metrics=metrics,
    source="TRL, trl/trainer/rloo_trainer.py",
    en="TRL RLOOTrainer",
    zh="TRL RLOOTrainer",
)
