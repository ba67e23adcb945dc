"""OpenRLHF: the harness names the arguments of three functions; the KL's function also stands alone."""

from __future__ import annotations

from typing import Any

from grpo_calc.trainers import recipe
from tests.golden.case import Case, Golden, check, padded_table
from tests.golden.peers.layout import token_column

OUTPUTS = {
    "returns": lambda worked: token_column(
        "advantage_before_whiten" if worked.has("advantage_before_whiten") else "advantage"
    )(worked),
    "advantages": token_column("advantage"),
    "per_token_loss": token_column("weighted_objective", -1.0),
    "per_token_kl": token_column("token_kl"),
    "policy_loss": "policy_loss",
    "kl_loss": "kl",
}
METRICS = {"clip_ratio": "clip_fraction"}


def case(golden: Golden) -> Case:
    """The case of an OpenRLHF golden."""
    check(golden, "openrlhf")
    options, inputs = golden["options"], golden["inputs"]
    if golden["function"].startswith("compute_approx_kl"):
        nothing = [0.0] * len(inputs["mask"])
        alone = {
            "algo.kl.estimator": options.get("estimator", "k1"),
            "algo.kl.unbiased_gradient": options.get("unbiased_gradient", False),
        }
        made = recipe("openrlhf", golden["version"], **{"algo.kl.use_loss": True, "algo.kl.init_coef": 1.0, **alone})
        return Case(padded_table(inputs, advantage=nothing), made, OUTPUTS)
    made = recipe("openrlhf", golden["version"], **_policy(options), **_advantage(options), **_norm(options))
    return Case(padded_table(inputs), made, OUTPUTS, METRICS)


def _policy(options: Golden) -> dict[str, Any]:
    given = dict(options.get("policy_loss") or {})
    low, high = given.pop("clip_eps_low", 0.2), given.pop("clip_eps_high", 0.2)
    token = given.pop("token_level_loss", True)
    return {
        "actor.eps_clip_low_high": [low, high],
        "actor.loss_agg_mode": "token-mean" if token else "seq-mean-token-mean",
        **given,
    }


def _advantage(options: Golden) -> dict[str, Any]:
    given, kl = options.get("advantage") or {}, options.get("kl")
    in_loss = kl is not None
    estimator = (kl or {}).get("estimator", "k1") if in_loss else given.get("kl_estimator", "k1")
    coef = kl.get("coef", 0.01) if kl is not None else given.get("kl_reward_coef", 0.0)
    named = {f"algo.advantage.{key}": given[key] for key in ("gamma", "no_std_norm", "lambd") if key in given}
    return {
        "algo.advantage.estimator": given.get("estimator", "group_norm"),
        "reward.clip_range": given.get("reward_clip_range") or [-1e300, 1e300],
        "algo.kl.use_loss": in_loss,
        "algo.kl.estimator": estimator,
        "algo.kl.init_coef": coef,
        "algo.kl.unbiased_gradient": bool((kl or {}).get("unbiased_gradient", False)),
        **named,
    }


def _norm(options: Golden) -> dict[str, Any]:
    return {key: value for key, value in (options.get("norm") or {}).items() if value is not None}
