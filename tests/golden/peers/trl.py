"""TRL: harness options are the trainer's own names, a few keys of the harness apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grpo_calc.recipe import Recipe
from grpo_calc.trainers import recipe, trainer
from grpo_calc.work import Worked
from tests.golden.case import Case, Golden, Reading, check, padded_table

TRAINERS = {"GRPOTrainer": "trl", "RLOOTrainer": "trl-rloo", "GMPOTrainer": "trl-gmpo"}


def case(golden: Golden) -> Case:
    """The case of a TRL golden."""
    check(golden, "trl")
    inputs, options = golden["inputs"], dict(golden["options"])
    name = TRAINERS[golden["function"].split(".")[0]]
    known = trainer(name).known(golden["version"])
    if not options.pop("training", True) and tuple(map(int, golden["version"].split("."))) >= (0, 27):
        options |= {"gradient_accumulation_steps": 1, "steps_per_generation": 1}  # in evaluation nothing is accumulated
    on_policy = not options.pop("use_old", True) or inputs.get("old_logps") is None
    options.pop("options", None)
    # The harness hands some options to versions that have none of that name: there they change nothing.
    made = recipe(name, golden["version"], **{key: value for key, value in options.items() if key in known})
    if on_policy:
        made = made.change(old="new")
    if "advantages" in inputs:
        made = made.change(advantage="given")
    table = padded_table(inputs, **_columns(inputs))
    left_out = {f"metrics/{key}": why for key, why in LEFT_OUT.items()} if "advantages" in inputs else {}
    if inputs.get("entropies") is None:
        left_out["metrics/entropy"] = "the inputs hold no entropies"
    outputs = {**OUTPUTS, "normalizer": lambda worked: _normalizer(worked, made)}
    return Case(table, made, outputs, metrics={"loss": "loss"}, left_out=left_out)


LEFT_OUT = {
    **dict.fromkeys(
        ("reward", "reward_std", "frac_reward_zero_std", "rewards/rew/mean", "rewards/rew/std"),
        "the inputs hold advantages, not rewards",
    ),
    **dict.fromkeys(
        ("grad_norm", "learning_rate", "epoch", "step", "step_time"), "of the optimiser's run, not of the loss"
    ),
    **dict.fromkeys(
        (
            "num_tokens",
            *(
                f"completions/{which}_{kind}"
                for which in ("mean", "min", "max")
                for kind in ("length", "terminated_length")
            ),
            "completions/clipped_ratio",
        ),
        "of the generation: prompts and ends of sequence are not among the inputs",
    ),
}


def _columns(inputs: Golden) -> dict[str, Any]:
    """The rewards by function, and what else a completion has."""
    columns: dict[str, Any] = {}
    for k in range(len(inputs["rewards_per_func"][0]) if inputs.get("rewards_per_func") else 0):
        columns[f"reward_r{k}"] = [
            float(row[k]) if row[k] is not None else float("nan") for row in inputs["rewards_per_func"]
        ]
    if not columns and inputs.get("rewards") is not None:
        columns["reward_r0"] = inputs["rewards"]
    if inputs.get("truncated") is not None:
        columns["truncated"] = [float(one) for one in inputs["truncated"]]
    if inputs.get("advantages") is not None:
        columns["advantage"] = inputs["advantages"]
    return columns


def _grid(worked: Worked, name: str, values: Any = None) -> Any:
    """Values of a column's rows in the inputs' layout."""
    values = worked[name] if values is None else values
    table = worked.table
    if len(values) == table.token_count and worked.level(name).name == "TOKEN":
        width = int(max(table.positions))
        grid = np.zeros((table.completion_count, width))
        grid.flat[table.row - 1] = values
        return grid
    row = np.zeros(table.completion_count)
    row[[int(i) - 1 for i in table.completion_id]] = values
    return row


def _by_token(worked: Worked) -> bool:
    return worked.level("ratio").name == "TOKEN"


def _bounded(worked: Worked) -> Any:
    """The ratio as the trainer leaves it: with delta, bounded by it."""
    ratio = worked["ratio"]
    return (
        np.minimum(ratio, worked.recipe.parameters["delta"]) if worked.recipe.roles["objective"] == "delta" else ratio
    )


def _sequence_loss(worked: Worked) -> Any:
    """A completion's loss: minus its objective, plus beta times its mean KL where it has one."""
    loss = -worked["completion_objective"]
    if worked.has("completion_kl"):
        loss = loss + worked.recipe.parameters["beta"] * worked["completion_kl"]
    return _grid(worked, "completion_objective", loss)


def _normalizer(worked: Worked, made: Recipe) -> float:
    """What the trainer divides by: for losses a token, an accumulation window's tokens; else the accumulated steps."""
    steps = made.parameters["accumulated_steps"] if made.roles["accumulation"] == "steps" else 1.0
    assert made.own is not None
    per_token = made.own.options.get("loss_type") in ("dapo", "cispo", "vespo") and made.own.trainer.name == "trl"
    return max(worked["tokens"], 1.0) * steps if per_token else steps


OUTPUTS: Mapping[str, Reading] = {
    "coef_1": lambda worked: _grid(worked, "ratio", _bounded(worked)),
    "coef_2": "clipped_ratio",
    "log_importance_weights": lambda worked: _grid(worked, "log_ratio" if _by_token(worked) else "mean_log_ratio"),
    "per_token_kl": "token_kl",
    "per_token_loss": "token_loss",
    "per_sequence_loss": _sequence_loss,
    "importance_sampling_ratio": "sampler_weight",
    "off_policy_mask": "on_policy_enough",
    "entropy_mask": "entropy_kept",
    "phi_seq": "vespo_weight",
    "loss_mask_sum": "tokens",
    "effective_completion_mask": lambda worked: _grid(worked, "logp_new", np.ones(worked.table.token_count)),
}
