"""Liger-Kernel's fused linear GRPO loss, 0.8.5: its options, and what they choose. The advantages are TRL's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grpo_calc.say import Problem
from grpo_calc.trainers.trainer import Chosen, Trainer, Version, option

OVER = {
    "grpo": "completion_mean",
    "sapo": "completion_mean",
    "bnpo": "token_mean",
    "dapo": "token_mean",
    "cispo": "token_mean",
    "vespo": "token_mean",
    "dr_grpo": "constant_length",
}

OPTIONS = {
    "loss_type": option(
        "dapo",
        "the objective, and how it is reduced",
        kind=("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"),
    ),
    "beta": option(0.04, "coefficient of the KL to the reference; 0 leaves the KL out"),
    "epsilon_low": option(0.2, "clip range below 1"),
    "epsilon_high": option(0.2, "clip range above 1; for cispo the cap itself"),
    "importance_sampling_level": option(
        "token", "a ratio a token, or one a sequence (GSPO)", kind=("token", "sequence")
    ),
    "delta": option(None, "upper bound of the ratio on the unclipped side"),
    "use_bias_correction_kl": option(False, "multiply the KL by the ratio"),
    "max_completion_length": option(None, "the constant length of dr_grpo"),
    "num_items_in_batch": option(None, "what dapo, cispo and vespo divide by; the kept tokens where none"),
    "sapo_temperature_pos": option(1.0, "temperature of the soft gate where A > 0"),
    "sapo_temperature_neg": option(1.05, "temperature of the soft gate elsewhere"),
    "vespo_k_pos": option(2.0, "shape of the gamma weight where A >= 0"),
    "vespo_lambda_pos": option(3.0, "rate of the gamma weight where A >= 0"),
    "vespo_k_neg": option(3.0, "shape of the gamma weight where A < 0"),
    "vespo_lambda_neg": option(2.0, "rate of the gamma weight where A < 0"),
    "vllm_is_ratio": option(
        "none",
        "the sampler's correction, which the caller works out: none, or TRL's mode of that name",
        kind=("none", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask"),
    ),
    "vllm_is_cap": option(2.0, "cap of that correction"),
    "temperature": option(1.0, "the log-probs are given", ignored=True),
    "chunk_size": option(1, "memory only", ignored=True),
    "compiled": option(True, "speed only", ignored=True),
    "use_ref_model": option(True, "the reference's log-probs are given", ignored=True),
}


def choose(o: Mapping[str, Any], _at: Version) -> Chosen:
    """The roles of Liger's loss. It refuses cispo, sapo and vespo by sequence, and dr_grpo without a length."""
    loss, level = o["loss_type"], o["importance_sampling_level"]
    if level == "sequence" and loss in ("cispo", "sapo", "vespo"):
        raise Problem(
            "trainer.not_together",
            trainer="liger",
            option="importance_sampling_level=sequence",
            other=f"loss_type={loss}",
        )
    if loss == "dr_grpo" and o["max_completion_length"] is None:
        raise Problem("trainer.needs", trainer="liger", option="loss_type=dr_grpo", needs="max_completion_length")
    changes: dict[str, Any] = {
        "eps_low": o["epsilon_low"],
        "eps_high": o["epsilon_high"],
        "ratio": level,
        "beta": o["beta"],
        "kl": "none" if o["beta"] == 0 else "k3",
        "kl_weight": "ratio" if o["use_bias_correction_kl"] else "none",
        **_objective(o, loss),
        **_reduction(o, loss, level),
    }
    if o["vllm_is_ratio"] != "none":
        changes |= {"sampler": o["vllm_is_ratio"], "sampler_cap": o["vllm_is_cap"]}
        if loss == "vespo":
            changes["sampler_place"] = f"vespo_{o['vllm_is_ratio'].split('_')[0]}"
    unused = {
        "delta": loss in ("cispo", "sapo", "vespo"),
        "epsilon_low": loss in ("cispo", "sapo", "vespo"),
        "epsilon_high": loss in ("sapo", "vespo"),
        "max_completion_length": loss != "dr_grpo",
        "num_items_in_batch": loss not in ("dapo", "cispo", "vespo"),
        "use_bias_correction_kl": o["beta"] == 0,
        "vllm_is_cap": o["vllm_is_ratio"] == "none",
        **{name: loss != name.split("_")[0] for name in OPTIONS if name.startswith(("sapo_", "vespo_"))},
    }
    return Chosen(changes, ignored=frozenset(name for name, is_unused in unused.items() if is_unused))


def _objective(o: Mapping[str, Any], loss: str) -> dict[str, Any]:
    if loss == "cispo":
        return {"objective": "cispo_cap", "ratio_cap": o["epsilon_high"]}
    if loss == "sapo":
        return {"objective": "sapo", "tau_pos": o["sapo_temperature_pos"], "tau_neg": o["sapo_temperature_neg"]}
    if loss == "vespo":
        return {"objective": "vespo", **{name: o[name] for name in o if name.startswith("vespo_")}}
    return {"objective": "ppo"} if o["delta"] is None else {"objective": "delta", "delta": o["delta"]}


def _reduction(o: Mapping[str, Any], loss: str, level: str) -> dict[str, Any]:
    """How tokens and completions are joined. luspo averages over the padded batch where terms differ by token.

    That is a bug: positions that the mask leaves out enter the loss (``padded_luspo``).
    """
    if loss == "luspo":
        if level == "sequence" and o["beta"] == 0 and not o["vllm_is_ratio"].startswith("token"):
            return {"reduction": "completion_sum"}
        return {"reduction": "padded_luspo" if level == "token" else "padded_luspo_sequence", "counted": "mask"}
    if loss == "dr_grpo":
        return {"reduction": "constant_length", "max_length": o["max_completion_length"]}
    if o["num_items_in_batch"] is not None and OVER[loss] == "token_mean" and loss != "bnpo":
        return {"reduction": "given_divisor", "divisor": max(o["num_items_in_batch"], 1.0)}
    return {"reduction": OVER[loss]}


def metrics(worked: Any) -> dict[str, float]:
    """What the loss function returns beside the loss: the KL (with beta) and the share of clipped tokens."""
    parameters, objective = worked.recipe.parameters, worked.recipe.roles["objective"]
    table = worked.table
    counts = worked["counted"] if worked.has("counted") else np.ones(table.token_count)
    tokens = max(float(np.sum(counts)), 1.0)

    def spread(name: str) -> Any:
        values = worked[name]
        return (
            values
            if len(values) == len(counts) and worked.level(name).name == "TOKEN"
            else np.repeat(values, np.diff(table.token_offsets))
        )

    ratio, advantage = spread("ratio"), spread("advantage")
    low = (ratio < 1 - parameters["eps_low"]) & (advantage < 0)
    high = (ratio > (parameters["ratio_cap"] if objective == "cispo_cap" else 1 + parameters["eps_high"])) & (
        advantage > 0
    )
    clipped = {"cispo_cap": high, "sapo": high & low, "vespo": high & low}.get(objective, low | high)
    found = {"kl": float(np.sum(spread("token_kl") * counts)) / tokens} if worked.has("token_kl") else {}
    return {**found, "clip_ratio": float(np.sum(clipped * counts)) / tokens}


TRAINER = Trainer(
    name="liger",
    latest="0.8.5",
    versions=("0.8.5",),
    options=OPTIONS,
    choose=choose,
    metrics=metrics,
    source="liger-kernel, chunked_loss/grpo_loss.py",
    en="Liger fused GRPO loss",
    zh="Liger 融合 GRPO 损失",
)
