"""Several rewards, missing rewards, and what is done to a reward before the advantage.

One reward function is one completion column ``reward_<name>``; a recipe makes instances of the columns here, one a
name (``term@math``), and adds them up. A reward that a function did not give is missing: an empty cell, skipped by
every reduction.
"""

from grpo_calc.column import Batch, Completion, Group, column, quantity
from grpo_calc.ops import MISSING, clip, known, stop_gradient, where

TRL = "TRL 1.16, GRPOTrainer: rewards are summed with nansum, a row without any reward is left out"
GDPO = "GDPO, arXiv:2601.05242; TRL 1.16, multi_objective_aggregation=normalize_then_sum"

quantity("reward_given", "R", en="reward", zh="奖励")
quantity("seq_kl", "KL_i", latex=r"\mathrm{KL}_i", en="KL of the completion (given)", zh="回答的 KL（给定）")
quantity("total", "Σ", latex=r"\Sigma", en="sum so far", zh="部分和")


@column("w R", latex=r"w_k R_k", en="weighted reward", zh="加权奖励", source=TRL)
def weighted_reward(reward, reward_weight):
    """One reward times its weight; a missing one adds nothing. One value a completion.

    >>> weighted_reward(2.0, 0.5), weighted_reward(float("nan"), 0.5)
    (1.0, 0.0)
    """
    return where(known(reward) > 0, reward_weight * reward, 0.0)


@column("known", latex=r"\text{known}", en="reward known", zh="奖励是否存在", source=TRL)
def reward_known(reward):
    """1 where a reward function gave a reward, 0 where it is missing. One value a completion.

    >>> reward_known(2.0), reward_known(float("nan"))
    (1.0, 0.0)
    """
    return known(reward)


@column("Σ", latex=r"\Sigma", en="sum", zh="和", source="addition")
def plus(total, x):
    """A sum so far and one more term.

    >>> plus(1.0, 0.5)
    1.5
    """
    return total + x


@column("R", en="reward", zh="奖励", source=TRL)
def scored_reward(x, rewards_known):
    """The sum of the weighted rewards; missing where every single one is. One value a completion.

    >>> scored_reward(1.5, 2.0), scored_reward(0.0, 0.0)
    (1.5, nan)
    """
    return where(rewards_known > 0, x, MISSING)


@column("z", latex="z_k", en="reward, standardised in its group", zh="组内标准化的奖励", source=GDPO)
def standard_reward(reward, baseline, scale, zero_spread):
    """One reward minus its group's mean, over its group's scale; 0 in a zero-spread group, missing where the reward is.

    >>> standard_reward(1.0, 0.5, 0.25, 0.0), standard_reward(float("nan"), 0.5, 0.25, 0.0)
    (2.0, nan)
    """
    return where(known(reward) > 0, where(zero_spread > 0, 0.0, (reward - baseline) / scale), MISSING)


@column("G", en="group size", zh="组的大小", source=TRL)
def known_group_size(reward: Completion, over) -> Group:
    """The number of a group's completions that have a reward."""
    return over.known.numbers(reward)


@column("mean R", latex=r"\bar R", en="group mean", zh="组内均值", source=TRL)
def known_group_mean(reward: Completion, over) -> Group:
    """The mean of a group's known rewards."""
    return over.known.mean(reward)


@column("range R", latex=r"\operatorname{range} R", en="group spread", zh="组内极差", source="grpo-calc")
def known_group_spread(reward: Completion, over) -> Group:
    """Largest minus smallest known reward of a group."""
    return over.known.max(reward) - over.known.min(reward)


@column("std R", latex=r"\sigma_R", en="group std", zh="组内标准差", source=TRL)
def known_group_std(reward: Completion, ddof, zero_spread, over) -> Group:
    """The standard deviation of a group's known rewards, divisor ``n - ddof``; exactly 0 for a zero-spread group."""
    return where(zero_spread > 0, 0.0, over.known.std(reward, ddof))


@column("batch mean R", latex=r"\bar R_{\text{batch}}", en="batch mean reward", zh="批内平均奖励", source=TRL)
def known_batch_mean(reward: Completion, over) -> Batch:
    """The mean of the batch's known rewards."""
    return over.known.mean(reward)


@column("range R batch", latex=r"\operatorname{range} R", en="batch spread", zh="批内极差", source="grpo-calc")
def known_batch_spread(reward: Completion, over) -> Batch:
    """Largest minus smallest known reward of the batch."""
    return over.known.max(reward) - over.known.min(reward)


@column("batch std R", latex=r"\sigma_{\text{batch}}", en="batch std of rewards", zh="批内奖励标准差", source=TRL)
def known_batch_std(reward: Completion, ddof, zero_spread, over) -> Batch:
    """The standard deviation of the batch's known rewards; exactly 0 where they are all equal."""
    return where(zero_spread > 0, 0.0, over.known.std(reward, ddof))


@column("A, 0 if none", latex=r"A", en="advantage", zh="优势", source=TRL)
def advantage_if_known(x, reward):
    """An advantage; 0 where the reward is missing: such a completion moves nothing. One value a completion.

    >>> advantage_if_known(2.0, 1.0), advantage_if_known(2.0, float("nan"))
    (2.0, 0.0)
    """
    return where(known(reward) > 0, x, 0.0)


@column(
    "A of known",
    latex=r"A",
    en="advantage, missing without a reward",
    zh="优势（无奖励则缺失）",
    source="TRL 1.16, RLOOTrainer",
)
def known_advantage(x, reward):
    """An advantage; missing where the reward is, so that batch statistics skip it. One value a completion.

    >>> known_advantage(2.0, 1.0), known_advantage(2.0, float("nan"))
    (2.0, nan)
    """
    return where(known(reward) > 0, x, MISSING)


@column(
    "mean A",
    latex=r"\bar A",
    en="batch mean advantage",
    zh="批内平均优势",
    source="TRL 1.16, RLOOTrainer, normalize_advantages",
)
def advantage_mean(x: Completion, over) -> Batch:
    """The mean of the batch's known advantages."""
    return over.known.mean(x)


@column(
    "std A",
    latex=r"\sigma_A",
    en="batch std of advantages",
    zh="批内优势标准差",
    source="TRL 1.16, RLOOTrainer, normalize_advantages",
)
def advantage_std(x: Completion, ddof, over) -> Batch:
    """The standard deviation of the batch's known advantages, divisor ``n - ddof``."""
    return over.known.std(x, ddof)


@column(
    "z(A)",
    latex=r"z(A)",
    en="advantage, standardised over the batch",
    zh="批内标准化的优势",
    source="TRL 1.16, RLOOTrainer, normalize_advantages",
)
def standard_advantage(x, advantage_mean, advantage_std, adv_eps):
    """An advantage minus the batch's mean, over the batch's std plus eps. One value a completion.

    >>> standard_advantage(1.5, 0.5, 0.25, 0.25)
    2.0
    """
    return (x - advantage_mean) / (advantage_std + adv_eps)


@column(
    "clip(R)",
    latex=r"\operatorname{clip}(R)",
    en="clipped reward",
    zh="裁剪后的奖励",
    source="TRL 1.16, RLOOTrainer, reward_clip_range",
)
def clipped_reward(x, reward_low, reward_high):
    """A reward held in a range. One value a completion.

    >>> clipped_reward(5.0, -1.0, 1.0)
    1.0
    """
    return clip(x, reward_low, reward_high)


@column(
    "old k1",
    latex=r"k_1^{\text{old}}",
    en="log-ratio of old to reference policy",
    zh="旧策略对参考策略的对数比",
    source="TRL 1.16, RLOOTrainer: KL in the reward",
)
def old_k1(logp_old, logp_ref):
    """Log-ratio of the old policy to the reference: the KL that is taken off the reward. One value a token, in nats.

    >>> old_k1(-1.0, -1.25)
    0.25
    """
    return stop_gradient(logp_old) - logp_ref


@column(
    "R-β KL",
    latex=r"R-\beta\,\mathrm{KL}",
    en="reward less KL",
    zh="减去 KL 的奖励",
    source="RLOO, arXiv:2402.14740, sec. 3; TRL 1.16, RLOOTrainer",
)
def reward_less_kl(x, beta, reward_kl):
    """A reward minus beta times the completion's summed KL. One value a completion.

    >>> reward_less_kl(1.0, 0.5, 0.5)
    0.75
    """
    return x - beta * reward_kl


@column(
    "s(R+b)",
    latex="s(R+b)",
    en="reward, shifted and scaled",
    zh="平移并缩放后的奖励",
    source="AReaL 1.0.4, reward_bias and reward_scaling",
)
def scaled_reward(x, reward_shift, reward_scale):
    """A reward plus a constant, times another. One value a completion.

    >>> scaled_reward(1.0, -0.5, 10.0)
    5.0
    """
    return (x + reward_shift) * reward_scale
