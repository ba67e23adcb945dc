"""Several rewards of one completion: the bindings that add them up, one instance of each column a reward's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from grpo_calc.bind import Binding, Bindings, Use

PREFIX = "reward_"
"""A completion column of the table that starts with it is one reward: ``reward_math`` is called ``math``."""

LONE = "given"
"""What a single column ``reward`` is called where a recipe treats each reward by itself."""

REWARD_CLIP: Mapping[str, Bindings] = {
    "none": {},
    "range": {"reward": "reward_given", "wrap:reward:clip": Use("clipped_reward", x="@")},
    "scaled_range": {
        "reward": "reward_given",
        "wrap:reward:scale": Use("scaled_reward", x="@"),
        "wrap:reward:clip": Use("clipped_reward", x="@"),
    },
}
OVERLONG: Mapping[str, Bindings] = {
    "none": {},
    "soft": {"reward": "reward_given", "wrap:reward:overlong": Use("plus", total="@", x="overlong_penalty")},
}
REWARD_KL: Mapping[str, Bindings] = {
    "none": {},
    "sum_k1": {
        "reward": "reward_given",
        "reward_kl": Use("sum_within", x="old_k1", counted="advantage_counted"),
        "wrap:reward:kl": Use("reward_less_kl", x="@"),
    },
    # A completion's KL as the table has it.
    "given": {
        "reward": "reward_given",
        "wrap:reward:kl": Use("reward_less_kl", x="@", beta="reward_beta", reward_kl="seq_kl"),
    },
}
WHITEN: Mapping[str, Bindings] = {
    "none": {},
    "batch": {
        "known_advantage": Use("known_advantage", x="advantage_before_whiten"),
        "advantage_mean": Use("advantage_mean", x="known_advantage"),
        "advantage_std": Use("advantage_std", x="known_advantage"),
        "wrap:advantage:whiten": Use("standard_advantage", x="@"),
    },
}

# Where a reward may be missing, every statistic of rewards skips it, and such a completion has advantage 0.
SKIP_MISSING: Bindings = {
    "group_size": Use("known_group_size"),
    "group_mean": Use("known_group_mean"),
    "group_spread": Use("known_group_spread"),
    "group_std": Use("known_group_std"),
    "batch_mean": Use("known_batch_mean"),
    "batch_std": Use("known_batch_std", zero_spread="batch_flat"),
    "batch_flat": Use("zero_spread", group_spread="known_batch_spread", group_mean="batch_mean"),
}


def reward_names(columns: Iterable[str]) -> tuple[str, ...]:
    """The names of the rewards among a table's columns.

    >>> reward_names(["reward_math", "logp_new", "reward_format"])
    ('math', 'format')
    """
    return tuple(name.removeprefix(PREFIX) for name in columns if name.startswith(PREFIX) and name != PREFIX)


def many_rewards(names: Sequence[str], how: str, unscored: str) -> Bindings:
    """What the rewards' names bind: ``reward_given``, their weighted sum, and the advantage where ``how`` says so.

    ``how`` is ``sum_first`` (the sum is normalised, as one reward would be), ``normalise_each`` (each is standardised
    in its group) or ``normalise_first`` (and the sum is standardised over the batch). A completion without any reward
    is ``left_out`` or counts as ``zero``.
    """
    bound: dict[str, Binding] = {"reward": "reward_given"}
    bound |= _sum("rewards", names, {name: PREFIX + name for name in names}, "reward_given", unscored)
    bound |= SKIP_MISSING
    bound["wrap:advantage:unscored"] = Use("advantage_if_known", x="@", reward="reward_given")
    if how.startswith("normalise"):
        for name in names:
            bound |= _standard(name)
        bound |= _sum("scores", names, {name: f"z@{name}" for name in names}, "score", unscored)
        bound["advantage"] = "score"
    if how == "normalise_first":
        bound |= {
            "batch_mean": Use("known_batch_mean", reward="score"),
            "batch_std": Use("known_batch_std", reward="score", zero_spread="batch_flat"),
            "known_batch_spread": Use("known_batch_spread", reward="score"),
            "scale": Use("std_plus_eps", group_std="batch_std"),
            "advantage": Use("scaled_advantage", reward="score", baseline="batch_mean", zero_spread="batch_flat"),
        }
    return bound


def _standard(name: str) -> dict[str, Binding]:
    """One reward, standardised in its group: ``z@math``."""
    reward = PREFIX + name
    flat = f"zero_spread@{name}"
    return {
        f"group_mean@{name}": Use("known_group_mean", reward=reward),
        f"group_spread@{name}": Use("known_group_spread", reward=reward),
        flat: Use("zero_spread", group_spread=f"group_spread@{name}", group_mean=f"group_mean@{name}"),
        f"group_std@{name}": Use("known_group_std", reward=reward, zero_spread=flat),
        f"scale@{name}": Use("std_plus_eps", group_std=f"group_std@{name}"),
        f"z@{name}": Use(
            "standard_reward", reward=reward, baseline=f"group_mean@{name}", scale=f"scale@{name}", zero_spread=flat
        ),
    }


def _sum(what: str, names: Sequence[str], read: dict[str, str], result: str, unscored: str) -> dict[str, Binding]:
    """The weighted sum of what ``read`` gives for each name, as ``result``; missing where every reward is."""
    bound: dict[str, Binding] = {}
    total, count = "", ""
    for name in names:
        term, known = f"{what}_term@{name}", f"known@{name}"
        bound[term] = Use("weighted_reward", reward=read[name], reward_weight=f"weight_{name}")
        bound[known] = Use("reward_known", reward=PREFIX + name)
        if total:
            bound[f"{what}_so_far@{name}"] = Use("plus", total=total, x=term)
            bound[f"known_so_far@{name}"] = Use("plus", total=count, x=known)
            term, known = f"{what}_so_far@{name}", f"known_so_far@{name}"
        total, count = term, known
    scored = Use("scored_reward", x=total, rewards_known=count)
    if read[names[-1]] == result:  # a lone reward, as it is
        return bound
    return {**bound, result: scored if unscored == "left_out" else total}
