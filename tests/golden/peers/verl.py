"""verl: one function of core_algos at a time, or the functions of an old version cut from its wheel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from grpo_calc.recipe import Recipe
from grpo_calc.say import Problem
from grpo_calc.table import Table
from grpo_calc.trainers import recipe, trainer
from grpo_calc.trainers.figures import per_token
from grpo_calc.work import Worked, work
from tests.golden.case import Case, Golden, Reading, check, padded, padded_table

DOUBLE_MASK = 1e-8
"""Beside a mask of doubles, which the harness hands to these functions, verl's 1e-8 is not lost (see ``ABSORBED``)."""

NOT_OPTIONS = ("global_batch_info", "policy_loss", "kl", "rollout", "rollout_correction", "reward_baselines")


def case(golden: Golden) -> Case:
    """The case of a verl golden."""
    check(golden, "verl")
    if "agg_loss + kl_penalty" in golden["function"]:
        return old_functions(golden)
    if "kl_type" in golden["options"]:
        return kl_alone(golden)
    options, inputs = golden["options"], golden["inputs"]
    known = trainer("verl").known(golden["version"])
    # The harness hands some options to versions that have none of that name: there they change nothing.
    named = {name: value for name, value in trainer_options(options, inputs).items() if name in known}
    made = recipe("verl", golden["version"], **named)
    if options.get("rollout") is not None:
        made = made.change(length_eps=DOUBLE_MASK)
    more = {"baseline_reward": options["reward_baselines"]} if options.get("reward_baselines") is not None else {}
    table = padded_table(inputs, **more)
    shape = (len(inputs["mask"]), len(inputs["mask"][0]))
    return Case(table, made, {**outputs(made, shape), "returns": lambda _: returns(table, made, shape)})


def trainer_options(options: Golden, inputs: Golden) -> dict[str, Any]:
    """The harness's options under the trainer's names."""
    named = {name: value for name, value in options.items() if name not in NOT_OPTIONS}
    named |= options.get("global_batch_info") or {}
    named |= options.get("policy_loss") or {}
    if options.get("kl") is not None:
        named |= {"use_kl_loss": True, "kl_loss_type": options["kl"]["type"], "kl_loss_coef": options["kl"]["coef"]}
    named |= options.get("rollout") or {}
    if options.get("loss_mode") == "bypass_mode":
        named |= {"bypass_mode": True, **(options["rollout_correction"] or {})}
    named["max_response_length"] = len(inputs["mask"][0])
    return named


def returns(table: Table, made: Recipe, shape: tuple[int, int]) -> Any:
    """The returns: the reward to go where the estimator has one, else the advantages."""
    worked = work(table, made)
    return padded(worked, "reward_to_go" if made.roles["baseline"].startswith("reward_to_go") else "advantage", shape)


def outputs(made: Recipe, shape: tuple[int, int]) -> Mapping[str, Reading]:
    """How the harness names what a loss function works on the way."""

    def tokens(of: Callable[[Worked], Any]) -> Reading:
        def read(worked: Worked) -> Any:
            grid = np.zeros(shape)
            grid.flat[worked.table.row - 1] = of(worked)
            return grid

        return read

    def minus(name: str) -> Reading:
        return tokens(lambda worked: -per_token(worked, name))

    geometric = made.roles["objective"] == "gmpo_plus"
    loss = "weighted_objective"
    return {
        "policy_loss": "policy_loss",
        "ratio": "ratio",
        "clipped_ratio": "clipped_ratio",
        "per_token_loss": (lambda worked: -padded(worked, loss, shape)) if geometric else minus(loss),
        "per_token_kl": "token_kl",
        "kl_loss": "kl",
        "pg_losses1": minus("token_objective" if made.roles["objective"] == "kl_cov" else "surrogate"),
        "pg_losses2": minus("clipped_surrogate"),
        "pg_losses3": tokens(lambda worked: -per_token(worked, "advantage") * worked.recipe.parameters["dual_clip"]),
        "negative_approx_kl": tokens(held_log_ratio),
        "corr": "gate",
        "valid_mask": "gate",
        "gates": tokens(scaled_gate),
        "seq_importance_ratio": "ratio",
        "rollout_is_weights": tokens(lambda worked: per_token(worked, "sampler_weight")),
        "modified_response_mask": tokens(lambda worked: per_token(worked, "kept") if worked.has("kept") else 1.0),
        "rollout_metrics": lambda worked: worked.metrics("verl"),
    }


def held_log_ratio(worked: Worked) -> Any:
    """The log-ratio, held where the loss mode holds it."""
    bound = worked.recipe.parameters["log_ratio_clamp"] if worked.recipe.roles["ratio"] == "token_clamped" else np.inf
    return np.clip(worked["log_ratio"], -bound, bound)


def scaled_gate(worked: Worked) -> Any:
    """SAPO's gate times 4 over its temperature."""
    parameters = worked.recipe.parameters
    tau = np.where(per_token(worked, "advantage") > 0, parameters["tau_pos"], parameters["tau_neg"])
    return 4 * per_token(worked, "sapo_gate") / tau


def kl_alone(golden: Golden) -> Case:
    """A KL estimate and its reduction alone: every advantage is 0, the coefficient 1."""
    options, inputs = golden["options"], golden["inputs"]
    rest = {**options, "kl": {"type": options["kl_type"], "coef": 1.0}}
    del rest["kl_type"]
    made = recipe("verl", golden["version"], **trainer_options(rest, inputs)).change(advantage="given")
    table = padded_table(
        {**inputs, "old_logps": inputs["new_logps"], "rewards": None}, advantage=[0.0] * len(inputs["mask"])
    )
    return Case(table, made, {"per_token_kl": "token_kl"})


def old_functions(golden: Golden) -> Case:
    """Several functions of one version on one batch: losses by aggregation, sums of KL estimates, REINFORCE++."""
    options, inputs = golden["options"], golden["inputs"]
    shape = (len(inputs["mask"]), len(inputs["mask"][0]))
    clip = dict.fromkeys(("clip_ratio", "clip_ratio_low", "clip_ratio_high"), options["cliprange"])
    shared = {**clip, "clip_ratio_c": options["clip_ratio_c"], "max_response_length": shape[1]}
    table = padded_table({name: value for name, value in inputs.items() if not name.startswith("rfpp")})

    def preset(**more: Any) -> Recipe:
        return recipe("verl", golden["version"], **{**shared, **more}).change(length_eps=DOUBLE_MASK)

    def each(of: Callable[[str], float], names: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in names:
            try:
                found[name] = of(name)
            except Problem as problem:
                found[name] = problem
        return found

    def kl_sum(kind: str) -> float:
        return float(np.sum(work(table, preset(use_kl_loss=True, kl_loss_type=kind))["completion_kl_sum"]))

    going = padded_table(
        {"mask": inputs["rfpp_mask"], "rewards": inputs["rfpp_rewards"], "group_ids": inputs["group_ids"]}
    )
    to_go = preset(adv_estimator="reinforce_plus_plus", gamma=options["gamma"])
    theirs = golden["outputs"]
    return Case(
        table,
        preset(),
        {
            "loss_by_agg_mode": lambda worked: each(
                lambda mode: work(worked.table, preset(loss_agg_mode=mode).change(**_given(worked))).loss,
                theirs["loss_by_agg_mode"],
            ),
            "masked_kl_sum": lambda _: each(kl_sum, theirs["masked_kl_sum"]),
            "rfpp_returns": lambda _: returns(going, to_go, shape),
            "rfpp_advantages": lambda _: padded(work(going, to_go), "advantage", shape),
        },
        masks={"rfpp_returns": inputs["rfpp_mask"], "rfpp_advantages": inputs["rfpp_mask"]},
    )


def _given(worked: Worked) -> dict[str, str]:
    """The runner hands on the trainer's advantages once ours agree."""
    return {"advantage": "given"} if worked.recipe.roles["baseline"] == "given" else {}
