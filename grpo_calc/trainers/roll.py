"""ROLL (source of August 2026): reward_norm and the actor's loss_func."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grpo_calc.trainers.figures import given, per_token, within
from grpo_calc.trainers.trainer import Chosen, Trainer, Version, option

Options = Mapping[str, Any]

MODES = ("token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm")
OPTIONS = {
    "importance_sampling": option("token", "one ratio a token, or a sequence", kind=("token", "seq")),
    "pg_clip": option(0.2, "clip range on both sides; the dual-clip bound is 1 + 2 pg_clip"),
    "use_pg_clip_range": option(False, "pg_clip_low and pg_clip_high are the range"),
    "pg_clip_low": option(0.2, "clip range below 1"),
    "pg_clip_high": option(0.2, "clip range above 1"),
    "dual_clip_loss": option(False, "where A < 0 the loss is held below -(1 + 2 pg_clip) A"),
    "loss_agg_mode": option("seq-mean-token-mean", "how tokens and samples are joined", kind=MODES),
    "use_kl_loss": option(False, "the loss has a KL term (k3, held in +-10)"),
    "kl_loss_coef": option(0.0, "its coefficient"),
    "masked_numerator": option(False, "repairs token-mean, in which dropped samples stay in the sum (a bug of ROLL)"),
}


def choose(options: Options, _version: Version) -> Chosen:
    """The roles and parameters that ROLL's options come to."""
    clip, mode = options["pg_clip"], options["loss_agg_mode"]
    both = options["use_pg_clip_range"]
    bug = mode == "token-mean" and not options["masked_numerator"]
    reduction, divisor = {
        "token-mean": ("token_mean", "own"),
        "seq-mean-token-sum": ("completion_sum", "nonempty_plus"),
        "seq-mean-token-mean": ("completion_mean", "nonempty_plus"),
        "seq-mean-token-sum-norm": ("completion_sum", "width"),
    }[mode]
    changes = {
        "baseline": "group_mean",
        "scale": "group_std",
        "std_eps": "add",
        "adv_eps": 1e-6,
        "ddof": 1,
        "ratio": "token" if options["importance_sampling"] == "token" else "sequence",
        "objective": "dual_clip" if options["dual_clip_loss"] else "ppo",
        "eps_low": options["pg_clip_low"] if both else clip,
        "eps_high": options["pg_clip_high"] if both else clip,
        "reduction": reduction,
        "divisor_of": divisor,
        "dropped": "left_out_of_the_divisor" if bug else "left_out",
        "length_eps": 1e-8,
        "kl": "k3" if options["use_kl_loss"] else "none",
        "beta": options["kl_loss_coef"] if options["use_kl_loss"] else 0,
        "kl_clamp": "out",
        "kl_clamp_out": 10.0,
    }
    if options["dual_clip_loss"]:
        changes["dual_clip"] = 1 + 2 * clip
    return Chosen(changes)


def metrics(worked: Any) -> dict[str, float]:
    """What ROLL logs of a loss. Its clip fractions count padding and dropped samples, over the tokens that count."""
    table, parameters = worked.table, worked.recipe.parameters
    new, old = worked["logp_new"], worked["logp_old"]
    kept = np.repeat(1 - _dropped(worked), np.diff(table.token_offsets))
    ratio, every = per_token(worked, "ratio"), _every_ratio(worked)
    low, high = every < 1 - parameters["eps_low"], every > 1 + parameters["eps_high"]
    kl = worked["kl"] if worked.has("kl") else _aggregate(worked, _k3(new - given(worked, "logp_ref")) * kept, kept)
    valid = float((_dropped(worked) == 0)[np.diff(table.token_offsets) > 0].sum())
    clipped, every_one = per_token(worked, "clipped"), np.ones(table.token_count)
    tokens = kept.sum()
    return {
        "actor/pg_loss@sum": worked["policy_loss"],
        "actor/weighted_pg_loss@sum": worked["policy_loss"],
        "actor/kl_loss@sum": kl,
        "actor/total_loss@sum": worked["loss"],
        "actor/approxkl@sum": _aggregate(worked, (new - old) ** 2 / 2, every_one),
        "actor/policykl@sum": _aggregate(worked, new - old, every_one),
        "actor/valid_samples@sum": valid,
        "actor/total_samples@sum": float(table.completion_count),
        "actor/valid_sample_ratio@sum": valid / max(float((np.diff(table.token_offsets) > 0).sum()), 1.0),
        "actor/sample_weights_mean@mean": 1.0,
        "actor/sample_weights_min@min": 1.0,
        "actor/sample_weights_max@max": 1.0,
        "actor/ppo_ratio_high_clipfrac@sum": float(high.sum() / tokens),
        "actor/ppo_ratio_low_clipfrac@sum": float(low.sum() / tokens),
        "actor/ppo_ratio_clipfrac@sum": float((low | high).sum() / tokens),
        "actor/ratio_mean@sum": float(within(worked, ratio).sum() / max((np.diff(table.token_offsets) > 0).sum(), 1)),
        "actor/ratio_max@max": float(ratio.max()),
        "actor/ratio_min@min": float(ratio.min()),
        "actor/clipfrac@sum": _aggregate(worked, clipped, every_one, kept if _by_tokens(worked) else every_one),
    }


def _by_tokens(worked: Any) -> bool:
    return bool(worked.recipe.roles["reduction"] == "token_mean")


def _dropped(worked: Any) -> Any:
    return worked.table.completions.get("dropped", np.zeros(worked.table.completion_count))


def _k3(k1: Any) -> Any:
    return np.clip(np.exp(-k1) - 1 + k1, -10, 10)


def _every_ratio(worked: Any) -> Any:
    """The ratio at every position, padding too: there it is what the padding holds."""
    table = worked.table
    whole = table.masked or table
    if worked.recipe.roles["ratio"] == "sequence":
        return np.repeat(worked["ratio"], np.diff(whole.token_offsets))
    return np.exp(whole.tokens["logp_new"] - whole.tokens["logp_old"])


def _aggregate(worked: Any, x: Any, mask: Any, divisor_mask: Any = None) -> float:
    """A figure reduced as the loss, over the tokens of a mask."""
    table = worked.table
    sums = np.bincount(table.completion_of_token, weights=x * mask, minlength=table.completion_count)
    lengths = np.bincount(table.completion_of_token, weights=mask, minlength=table.completion_count)
    if _by_tokens(worked):
        return float(sums.sum() / (mask if divisor_mask is None else divisor_mask).sum())
    if worked.recipe.roles["divisor_of"] == "width":
        return float(sums.sum() / table.positions.max())
    means = sums / np.maximum(lengths, 1) if worked.recipe.roles["reduction"] == "completion_mean" else sums
    return float(means[lengths > 0].sum() / (lengths > 0).sum())


TRAINER = Trainer(
    name="roll",
    latest="2026.08.19",
    versions=("2026.08.19",),
    options=OPTIONS,
    choose=choose,
    source="ROLL, commit 8eb27cc2: utils/functionals.py, pipeline/rlvr/actor_worker.py",
    en="ROLL's actor loss",
    zh="ROLL 的策略损失",
    metrics=metrics,
)
