"""From verl's options to roles and parameters; what differs between versions is said where it is decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grpo_calc.say import Problem, note
from grpo_calc.trainers.option import Version
from grpo_calc.trainers.trainer import Chosen
from grpo_calc.trainers.verl.rollout import corrected

Options = Mapping[str, Any]
Changes = dict[str, Any]

LONE_SCALE = 1.00000095367431640625
"""1 + 1e-6 in single precision: what a one-member group's reward is divided by, also where all else is double."""

ABSORBED = 1e-300
"""What verl's ``count + 1e-8`` comes to: the mask is bool or integer, so the sum is in single precision. There 1e-8 is
lost beside any count, and keeps an empty one from dividing by 0."""

KL = {"kl": "k1", "k1": "k1", "abs": "abs", "mse": "k2", "k2": "k2", "low_var_kl": "k3", "k3": "k3"}

OWN_AGGREGATION = ("sapo", "geo_mean")
"""Modes that do not go by loss_agg_mode; gspo neither before 0.9.1."""

USED_BY: Mapping[str, tuple[str, ...]] = {
    "clip_ratio_c": ("vanilla", "bypass_mode", "dppo_tv", "dppo_kl"),
    "tau_pos": ("sapo",),
    "tau_neg": ("sapo",),
    "clip_cov_lb": ("clip_cov",),
    "clip_cov_ub": ("clip_cov",),
    "clip_cov_ratio": ("clip_cov",),
    "kl_cov_ratio": ("kl_cov",),
    "ppo_kl_coef": ("kl_cov",),
    "dro_beta": ("dro",),
}
"""Options that only some loss modes read."""


def choose(o: Options, at: Version) -> Chosen:
    """The changes to the grpo recipe, what is worth saying, and which options play no part beside the others."""
    mode = _mode(o)
    changes: Changes = {"length_eps": ABSORBED if at >= (0, 3) else 0.0}
    changes |= _advantage(o, at) | _objective(o, mode, at) | _reduced(o, mode, at) | _kl(o, at)
    changes |= corrected(o, mode, at)
    notes = [note("note.drawn_at_random", trainer="verl")] if mode == "clip_cov" and o["clip_cov_ratio"] < 1 else []
    return Chosen(changes, tuple(notes), _ignored(o, mode, at))


def _mode(o: Options) -> str:
    return "bypass_mode" if o.get("bypass_mode") else str(o.get("loss_mode", "vanilla"))


def _ignored(o: Options, mode: str, at: Version) -> frozenset[str]:
    ignored = {name for name, modes in USED_BY.items() if mode not in modes}
    if o["adv_estimator"] not in ("grpo", "grpo_passk"):
        ignored.add("norm_adv_by_std_in_grpo")
    if o["adv_estimator"] != "reinforce_plus_plus":
        ignored.add("gamma")
    if o.get("clip_ratio_low") is not None and o.get("clip_ratio_high") is not None:
        ignored.add("clip_ratio")
    if _aggregates_by_itself(mode, at) and not o["use_kl_loss"]:
        ignored.add("loss_agg_mode")
    return frozenset(ignored)


# -- advantage -------------------------------------------------------------------------------------------------------


def _advantage(o: Options, at: Version) -> Changes:
    """The advantage of an estimator.

    A group of one has mean 0 and standard deviation 1: its advantage is its reward. ``norm_adv_by_std_in_grpo`` is
    handed to ``grpo`` and ``grpo_passk`` alone. Before 0.9 a reward to go was lost at a masked
    token (a bug: ``to_go=reset``). ``grpo_vectorized`` has its statistics in single precision, and before 0.8 held the
    variance above 1e-6: neither is done here, and only a group of (almost) equal rewards would show it.
    """
    estimator = o["adv_estimator"]
    scaled = bool(o.get("norm_adv_by_std_in_grpo", True))
    group: Changes = {"baseline": "group_mean", "scale": "none", "std_eps": "add", "adv_eps": 1e-6, "ddof": 1}
    raw: Changes = {"lone": "raw", "lone_scale": 1.0}
    standard: Changes = {**group, "scale": "group_std", "lone": "raw", "lone_scale": LONE_SCALE}
    to_go: Changes = {"gamma": o["gamma"], "to_go": "carry" if at >= (0, 9) else "reset"}
    found: Changes = {
        "grpo": standard if scaled else {**group, **raw},
        "grpo_vectorized": standard,
        "gdpo": {**standard, "rewards": "normalise_each", "whiten": "tokens"},
        "rloo": {**group, **raw, "baseline": "leave_one_out"},
        "rloo_vectorized": {**group, "baseline": "leave_one_out"},
        "reinforce_plus_plus": {**group, **to_go, "baseline": "reward_to_go", "whiten": "tokens"},
        "reinforce_plus_plus_baseline": {**group, **raw, "whiten": "tokens"},
        "remax": {**group, "baseline": "reward_to_go_above_baseline", "to_go": "carry", "gamma": 1.0},
        "opo": {**group, **raw, "baseline": "length_weighted"},
        "grpo_passk": {**group, "baseline": "best_margin_std" if scaled else "best_margin"},
        "gpg": {**group, **raw, "advantage_factor": "non_zero_share"},
    }[estimator]
    if o.get("gdpo_reward_weights"):
        found["reward_weights"] = o["gdpo_reward_weights"]
    if o["use_kl_in_reward"]:
        place = "token" if estimator in ("reinforce_plus_plus", "remax") else "summed"
        found |= {"reward_kl": f"{place}_{KL[o['kl_penalty'].rstrip('+')]}", "reward_beta": o["kl_coef"]}
    return found


# -- the token's objective -------------------------------------------------------------------------------------------


def _objective(o: Options, mode: str, at: Version) -> Changes:
    """The objective of a loss mode.

    Dual clip is always on from 0.4; the log-ratio is held in +-20 from 0.4.1, where a mode holds it at all.
    """
    low, high = (o["clip_ratio"] if o.get(name) is None else o[name] for name in ("clip_ratio_low", "clip_ratio_high"))
    held = "token_clamped" if at >= (0, 4, 1) else "token"
    clip: Changes = {"ratio": held, "eps_low": low, "eps_high": high}
    plain: Changes = {**clip, "ratio": "token"}
    bound = o.get("clip_ratio_c", 3.0)
    if mode in ("vanilla", "bypass_mode") and not bound > 1:
        raise Problem("trainer.bad_value", trainer="verl", option="clip_ratio_c", seen=bound, takes="a number above 1")
    if mode == "dro" and not (o["dro_beta"] or 0) > 0:
        raise Problem(
            "trainer.bad_value", trainer="verl", option="dro_beta", seen=o["dro_beta"], takes="a number above 0"
        )
    trust: Changes = {**clip, "objective": "cispo_cap", "ratio_cap": bound, "trust_low": low, "trust_high": high}
    if mode == "vanilla" or (mode == "bypass_mode" and o["loss_type"] == "ppo_clip"):
        return {**clip, "objective": "dual_clip", "dual_clip": bound} if at >= (0, 4) else {**clip, "objective": "ppo"}
    return {
        "bypass_mode": lambda: {**plain, "objective": "policy_gradient"},
        "gpg": lambda: {**plain, "objective": "policy_gradient"},
        "gspo": lambda: {**clip, "ratio": "sequence_token_held", "log_ratio_cap": 10.0, "objective": "ppo"},
        "sapo": lambda: {**clip, "objective": "sapo", "tau_pos": o["tau_pos"], "tau_neg": o["tau_neg"]},
        "cispo": lambda: {**clip, "objective": "cispo"},
        "dppo_tv": lambda: {**trust, "gate": "total_variation"},
        "dppo_kl": lambda: {**trust, "gate": "binary_kl"},
        "dro": lambda: {**plain, "objective": "dro", "dro_beta": o["dro_beta"]},
        "geo_mean": lambda: {**plain, "objective": "gmpo_plus"},
        "clip_cov": lambda: {**plain, "gate": "covariance", "cov_low": o["clip_cov_lb"], "cov_high": o["clip_cov_ub"]},
        "kl_cov": lambda: {
            **plain,
            "objective": "kl_cov",
            "cov_share": o["kl_cov_ratio"],
            "cov_coef": o["ppo_kl_coef"],
        },
    }[mode]()


# -- reduction -------------------------------------------------------------------------------------------------------


def _aggregates_by_itself(mode: str, at: Version) -> bool:
    return mode in OWN_AGGREGATION or (mode == "gspo" and at < (0, 9, 1))


def _reduced(o: Options, mode: str, at: Version) -> Changes:
    """How the policy's part is reduced, and the KL where it goes another way."""
    asked = o.get("loss_agg_mode", "token-mean")
    if not _aggregates_by_itself(mode, at):
        both = _aggregation(o, asked, at, "")
        apart = mode == "bypass_mode" and o["rollout_rs"] is not None and o["use_kl_loss"]
        return {**both, **_of_all(_aggregation(o, asked, at, "kl_"))} if apart else both
    own: Changes = {"reduction": "completion_mean", "divisor_of": "own"}
    if mode != "geo_mean":
        own = _aggregation(o, "seq-mean-token-mean", at, "")
    return {**own, **(_aggregation(o, asked, at, "kl_") if o["use_kl_loss"] else {})}


def _of_all(changes: Changes) -> Changes:
    """A reduction of the KL by all tokens: bypass mode rejects inside the policy's loss alone."""
    divisor = changes["kl_divisor_of"]
    by_all = "nonempty_of_all" if divisor == "nonempty" else divisor
    return {**changes, "kl_reduction": f"{changes['kl_reduction']}_of_all", "kl_divisor_of": by_all}


def _aggregation(o: Options, mode: str, at: Version, part: str) -> Changes:
    """The reduction of an aggregation mode, for the loss or (``part`` "kl_") for the KL alone.

    Up to 0.6.0 completions are divided by all of them, and an empty one makes seq-mean-token-mean undefined (a bug);
    from 0.6.1 by the non-empty ones, and from 0.7 by the global sizes where they are given.
    The sum with a constant length was not divided by completions at all before 0.7.1.
    """
    ranks = o.get("dp_size", 1)
    length = o.get("loss_scale_factor") or o["max_response_length"]
    if mode == "token-sum":
        return _way(part, "token_sum") if ranks == 1 else _way(part, "token_sum", 1 / ranks)
    if mode == "token-mean":
        if at >= (0, 7):
            tokens = _global(o, "batch_num_tokens", ranks)
            return _way(part, "token_mean") if tokens is None else _way(part, "token_sum", tokens)
        return _way(part, "token_sum", "tokens_plus") if at >= (0, 3) else _way(part, "token_mean")
    if mode == "seq-mean-token-sum-norm" and at < (0, 7, 1):
        return _way(part, "token_sum", length)
    if at < (0, 6, 1):
        return _way(part, "completion_sum" if mode == "seq-mean-token-sum" else "completion_mean_bare")
    ways = {
        "seq-mean-token-sum": "completion_sum",
        "seq-mean-token-mean": "completion_mean_plus",
        "seq-mean-token-sum-norm": "constant_length",
    }
    size = _global(o, "global_batch_size", ranks) if at >= (0, 7) else None
    return {**_way(part, ways[mode], "nonempty" if size is None else size), "max_length": length}


def _way(part: str, reduction: str, divisor: str | float = "own") -> Changes:
    if isinstance(divisor, str):
        return {f"{part}reduction": reduction, f"{part}divisor_of": divisor}
    return {f"{part}reduction": reduction, f"{part}divisor_of": "given", f"{part}divisor": divisor}


def _global(o: Options, name: str, ranks: int) -> float | None:
    """A global size as one rank divides by it; none where the batch is counted itself."""
    if o[name] is not None:
        return float(o[name]) / ranks
    if ranks > 1:
        raise Problem(
            "trainer.bad_value", trainer="verl", option=name, seen="none", takes="a number where dp_size is above 1"
        )
    return None


def _kl(o: Options, at: Version) -> Changes:
    """The KL in the loss; k3 is held in +-10, and from 0.4.1 its log-ratio in +-20."""
    if not o["use_kl_loss"]:
        return {"kl": "none", "beta": 0.0}
    estimate = KL[o["kl_loss_type"].rstrip("+")]
    clamp = ("in_out" if at >= (0, 4, 1) else "out") if estimate == "k3" else "none"
    straight = "k2" if o["kl_loss_type"].endswith("+") else "own"
    return {"kl": estimate, "beta": o["kl_loss_coef"], "kl_clamp": clamp, "kl_gradient": straight}
