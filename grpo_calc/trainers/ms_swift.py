"""ms-swift's GRPO trainer: its options, and what they choose.

Names that it shares with TRL mean other things here: a sequence's sampler correction is a geometric mean, whose mask
leaves the tokens' own weights; the correction weighs the KL too; and a completion that the off-policy mask leaves out
counts nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grpo_calc.trainers.trainer import Chosen, Trainer, Version, option
from grpo_calc.trainers.trl_metrics import capped, clipping, mean

OVER = {
    "grpo": "completion_mean",
    "sapo": "completion_mean",
    "bnpo": "token_mean",
    "dapo": "token_mean",
    "cispo": "token_mean",
    "dr_grpo": "constant_length",
}
ESTIMATORS = ("grpo", "rloo", "reinforce_plus_plus")
ADDED_LATER = "does not enter the loss of a given batch"

OPTIONS = {
    "loss_type": option(
        "grpo", "the objective, and how it is reduced", kind=("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo")
    ),
    "beta": option(0.04, "coefficient of the KL to the reference; 0 leaves it out"),
    "epsilon": option(0.2, "clip range below 1"),
    "epsilon_high": option(None, "clip range above 1, epsilon where none; for cispo the cap itself"),
    "delta": option(None, "upper bound of the ratio on the unclipped side"),
    "importance_sampling_level": option("token", "the ratio's level", kind=("token", "sequence", "sequence_token")),
    "tau_pos": option(1.0, "temperature of the soft gate where A > 0"),
    "tau_neg": option(1.05, "temperature of the soft gate elsewhere"),
    "max_completion_length": option(512, "the constant length of dr_grpo"),
    "advantage_estimator": option("grpo", "how rewards are centred", kind=ESTIMATORS),
    "scale_rewards": option(
        None,
        "what advantages are divided by; where none: group, none for rloo, batch for reinforce_plus_plus",
        kind=("group", "batch", "none", "gdpo"),
    ),
    "kl_in_reward": option(None, "take the KL off the reward; where none: not for grpo, else yes", kind=bool),
    "reward_weights": option(None, "a weight for each reward function, 1 where none", kind=list),
    "rollout_importance_sampling_mode": option(
        None,
        "the sampler's correction",
        kind=("token_truncate", "token_mask", "sequence_truncate", "sequence_mask"),
    ),
    "rollout_importance_sampling_threshold": option(2.0, "cap of that correction"),
    "off_policy_sequence_mask_delta": option(None, "mean drift beyond which a completion with A < 0 counts nowhere"),
    "top_entropy_quantile": option(1.0, "share of the most uncertain tokens that move the policy"),
    "overlong_filter": option(False, "leave truncated completions' tokens out"),
    "num_iterations": option(1, ADDED_LATER, ignored=True),
    "num_generations": option(8, ADDED_LATER, ignored=True),
    "log_entropy": option(False, ADDED_LATER, ignored=True),
    "log_rollout_offpolicy_metrics": option(False, ADDED_LATER, ignored=True),
}


def choose(o: Mapping[str, Any], _at: Version) -> Chosen:
    """The roles of ms-swift's trainer."""
    loss = o["loss_type"]
    high = o["epsilon"] if o["epsilon_high"] is None else o["epsilon_high"]
    changes = {
        **_rewards(o),
        "eps_low": o["epsilon"],
        "eps_high": high,
        "ratio": o["importance_sampling_level"],
        **_objective(o, loss, high),
        "reduction": OVER[loss],
        **({"max_length": o["max_completion_length"]} if loss == "dr_grpo" else {}),
        **_kl(o),
        **_sampler(o, loss),
    }
    if o["top_entropy_quantile"] < 1:
        changes |= {"entropy": "top", "top_entropy": o["top_entropy_quantile"]}
    unused = {
        "delta": loss in ("cispo", "sapo"),
        "epsilon": loss == "sapo" or (loss == "cispo" and o["epsilon_high"] is not None),
        "epsilon_high": loss == "sapo",
        "tau_pos": loss != "sapo",
        "tau_neg": loss != "sapo",
        "max_completion_length": loss != "dr_grpo",
        "rollout_importance_sampling_threshold": o["rollout_importance_sampling_mode"] is None,
        "advantage_estimator": o["scale_rewards"] == "gdpo",
        "kl_in_reward": o["beta"] == 0 or o["scale_rewards"] == "gdpo",
    }
    return Chosen(changes, ignored=frozenset(name for name, is_unused in unused.items() if is_unused))


def _in_reward(o: Mapping[str, Any]) -> bool:
    """Whether the KL is taken off the reward. gdpo never does."""
    asked = o["advantage_estimator"] != "grpo" if o["kl_in_reward"] is None else o["kl_in_reward"]
    return bool(asked) and o["scale_rewards"] != "gdpo"


def _rewards(o: Mapping[str, Any]) -> dict[str, Any]:
    """The rewards and the advantage. A missing reward adds nothing; a completion without any counts with reward 0."""
    estimator = o["advantage_estimator"]
    scale = o["scale_rewards"] or {"grpo": "group", "rloo": "none", "reinforce_plus_plus": "batch"}[estimator]
    if estimator == "reinforce_plus_plus" and scale == "gdpo":
        scale = "none"  # gdpo is not among its scales, and is passed over
    changes: dict[str, Any] = {
        "baseline": "leave_one_out" if estimator == "rloo" else "group_mean",
        "scale": {"group": "group_std", "batch": "batch_std", "none": "none", "gdpo": "group_std"}[scale],
        "std_eps": "add",
        "adv_eps": 1e-8 if scale == "gdpo" else 1e-4,
        "ddof": 1,
        "rewards": "normalise_first" if scale == "gdpo" else "sum_first",
        "unscored": "zero",
        "truncated": "dropped" if o["overlong_filter"] else "counted",
    }
    if estimator == "reinforce_plus_plus" and scale == "batch":
        changes["scale"] = "centred_batch_std"
    if _in_reward(o) and o["beta"] != 0:
        changes["reward_kl"] = "sum_k1"
    return changes | ({"reward_weights": o["reward_weights"]} if o["reward_weights"] else {})


def _objective(o: Mapping[str, Any], loss: str, high: float) -> dict[str, Any]:
    if loss == "cispo":
        return {"objective": "cispo_cap", "ratio_cap": high}
    if loss == "sapo":
        return {"objective": "sapo", "tau_pos": o["tau_pos"], "tau_neg": o["tau_neg"]}
    return {"objective": "ppo"} if o["delta"] is None else {"objective": "delta", "delta": o["delta"]}


def _kl(o: Mapping[str, Any]) -> dict[str, Any]:
    """The KL in the loss, clamped, and weighted by the sampler's correction like the policy part."""
    if o["beta"] == 0 or _in_reward(o):
        return {"kl": "none", "beta": o["beta"]}
    weighted = "none" if o["rollout_importance_sampling_mode"] is None else "sampler"
    return {
        "kl": "k3",
        "beta": o["beta"],
        "kl_clamp": "in_out",
        "kl_clamp_in": 20,
        "kl_clamp_out": 10,
        "kl_weight": weighted,
    }


def _sampler(o: Mapping[str, Any], loss: str) -> dict[str, Any]:
    """The correction for the sampler, and completions left out of every sum but the divisor of losses a token."""
    changes: dict[str, Any] = {}
    mode, cap = o["rollout_importance_sampling_mode"], o["rollout_importance_sampling_threshold"]
    if mode == "sequence_mask":
        changes = {"sampler": "token", "sampler_gate": "mean_ratio", "gate_low": 0, "gate_high": cap}
    elif mode is not None:
        changes = {"sampler": mode.replace("sequence", "mean"), "sampler_cap": cap}
    if mode is not None:
        changes |= {"mismatch_clamp": "held", "mismatch_clamp_at": 20}
    if o["off_policy_sequence_mask_delta"] is not None:
        changes |= {"counted": "on_policy_of_sampler", "off_policy_limit": o["off_policy_sequence_mask_delta"]}
        if loss in ("dapo", "cispo"):
            changes["divisor_of"] = "everywhere"
    return changes


def metrics(worked: Any) -> dict[str, float]:
    """The figures ms-swift logs for the loss of one batch. The KL is without the sampler's weight."""
    roles = worked.recipe.roles
    found: dict[str, Any] = {}
    if worked.has("token_kl"):
        weighted = roles["kl_weight"] == "sampler"
        found["kl"] = mean(worked, "token_kl_before_sampler" if weighted else "token_kl")
    if roles["objective"] == "cispo_cap":
        found["cispo_clip_ratio"] = capped(worked, by_token=True)
    elif roles["objective"] in ("ppo", "delta"):
        found |= clipping(worked, by_batch=True, by_token=True)
    return {name: float(value) for name, value in found.items()}


TRAINER = Trainer(
    name="ms-swift",
    latest="4.6.0",
    versions=("4.6.0",),
    options=OPTIONS,
    choose=choose,
    metrics=metrics,
    source="ms-swift, rlhf_trainers/grpo_trainer.py and rl_core/advantage.py",
    en="ms-swift GRPO",
    zh="ms-swift GRPO",
)
