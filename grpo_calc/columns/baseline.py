"""Advantages against other baselines: length-weighted (OPO), given (ReMax), only the best (pass@k); their factors."""

from grpo_calc.column import Batch, Completion, Group, column, quantity
from grpo_calc.ops import absolute, maximum, sqrt, where

OPO = "OPO, arXiv:2505.23585, eq. 6"
PASSK = "Pass@k as arXiv:2503.19595; verl 0.9.1, grpo_passk"
GPG = "GPG, arXiv:2504.02546: alpha = B / (B - M), M completions without gradient"

quantity(
    "baseline_reward", "R_b", latex="R_b", en="reward of the greedy completion (given)", zh="贪心回答的奖励（给定）"
)
quantity("length_reward", "nR", latex="n R", en="length times reward", zh="长度乘奖励")
quantity("non_zero", "#R≠0", latex=r"\#R\ne0", en="completions with a reward", zh="奖励非零的回答数")
quantity("lone_scale", "s_1", latex="s_1", en="scale of a one-member group", zh="单成员组的尺度")


@column("x y", latex="x y", en="product", zh="乘积", source="calculus")
def times(x, y):
    """A product of two values. One value a row.

    >>> times(2.0, 3.0)
    6.0
    """
    return x * y


@column(
    "Σ nR/Σ n",
    latex=r"\frac{\Sigma n R}{\Sigma n}",
    en="length-weighted mean reward",
    zh="按长度加权的平均奖励",
    source=OPO,
)
def length_weighted_mean(length_reward: Completion, advantage_length: Completion, over) -> Group:
    """The mean reward of a group, each completion weighing as its length. One value a group, in units of the reward."""
    return over.sum(length_reward) / over.sum(advantage_length)


@column("A", en="advantage", zh="优势", source=f"{OPO}; ReMax, arXiv:2310.10505, eq. 4")
def reward_above(reward, baseline):
    """Reward minus baseline, not scaled. One value a completion, in units of the reward.

    >>> reward_above(1.0, 0.25)
    0.75
    """
    return reward - baseline


@column("max R", latex=r"R_{\max}", en="best reward of the group", zh="组内最高奖励", source=PASSK)
def group_best(reward: Completion, over) -> Group:
    """The largest reward of a group."""
    return over.max(reward)


@column("2nd R", latex="R_{(2)}", en="second reward of the group", zh="组内第二高奖励", source=PASSK)
def group_second(reward: Completion, group_best, group_size, over) -> Group:
    """The second largest reward of a group; of a lone completion its own, so that it has no margin."""
    return where(group_size > 1, over.largest(reward, 2), group_best)


@column("A", en="advantage", zh="优势", source=PASSK)
def best_margin(reward, group_best, group_second):
    """How far the best completion is above the second; 0 for every other one. One value a completion.

    >>> best_margin(1.0, 1.0, 0.25), best_margin(0.25, 1.0, 0.25)
    (0.75, 0.0)
    """
    return where(reward >= group_best, group_best - group_second, 0.0)


@column("A", en="advantage", zh="优势", source=PASSK)
def best_margin_scaled(reward, group_best, group_second, scale):
    """How far the best completion is above the second, over the group's scale; 0 for every other one.

    >>> best_margin_scaled(1.0, 1.0, 0.25, 0.5)
    1.5
    """
    return where(reward >= group_best, (group_best - group_second) / scale, 0.0)


@column("A", en="advantage", zh="优势", source="NGRPO, arXiv:2509.18851, advantage calibration")
def calibrated_advantage(reward, group_mean, group_std, group_size, reward_high, ddof, adv_eps):
    """The advantage in a group that has one more member, with the greatest reward there is; it does not learn itself.

    Shape: one value a completion. Unit: none.
    Equation: ``A = (R - m) / (s + eps)``, where ``m`` and ``s`` are mean and standard deviation of the group's rewards
    and ``reward_high`` together; the squares about the group's own mean are moved to ``m``.
    Errors: none raised; below 0 in a group whose rewards are all 0, and 0 where all are ``reward_high``.
    Source: NGRPO, arXiv:2509.18851, advantage calibration.

    >>> round(calibrated_advantage(0.0, 0.0, 0.0, 3.0, 1.0, 1.0, 0.0), 12)
    -0.5
    >>> calibrated_advantage(1.0, 1.0, 0.0, 3.0, 1.0, 1.0, 0.5)
    0.0
    """
    mean = (group_size * group_mean + reward_high) / (group_size + 1)
    square = maximum(group_size - ddof, 0.0) * group_std**2 + group_size * (group_mean - mean) ** 2
    variance = (square + (reward_high - mean) ** 2) / (group_size + 1 - ddof)
    return (reward - mean) / (sqrt(variance) + adv_eps)


@column(
    "A or R",
    latex="A",
    en="advantage; of a lone completion its reward",
    zh="优势；单成员组取奖励",
    source="verl: a one-member group has mean 0 and std 1",
)
def lone_reward(x, reward, group_size, lone_scale):
    """The advantage; where a group has one member, its reward over a given scale. One value a completion.

    >>> lone_reward(0.0, 0.5, 1.0, 1.0), lone_reward(0.25, 0.5, 2.0, 1.0)
    (0.5, 0.25)
    """
    return where(group_size > 1, x, reward / lone_scale)


@column("R≠0", latex=r"[R\ne0]", en="has a reward", zh="奖励非零", source=GPG)
def non_zero_reward(reward):
    """1 where the reward is not 0, else 0. One value a completion.

    >>> non_zero_reward(0.5), non_zero_reward(0.0)
    (1.0, 0.0)
    """
    return where(absolute(reward) > 0, 1.0, 0.0)


@column(
    "G moving", latex=r"G\,[\text{moving}]", en="members of a group that moves", zh="有梯度的组的成员数", source=GPG
)
def moving_members(zero_spread, group_size):
    """The size of a group whose rewards differ, 0 for one whose rewards are all equal: that one has no gradient.

    >>> moving_members(0.0, 4.0), moving_members(1.0, 4.0)
    (4.0, 0.0)
    """
    return where(zero_spread > 0, 0.0, group_size)


@column("B_moving", latex=r"B_{\text{moving}}", en="completions with a gradient", zh="有梯度的回答数", source=GPG)
def moving_completions(moving_members: Group, over) -> Batch:
    """The number of completions in groups whose rewards differ."""
    return over.sum(moving_members)


@column(
    "αA",
    latex=r"\alpha A",
    en="advantage times alpha",
    zh="优势乘 α",
    source=f"{GPG}; verl 0.9.1: B over completions whose reward is not 0",
)
def per_non_zero(x, completions, non_zero):
    """An advantage times the number of completions over those with a reward. One value a completion.

    >>> per_non_zero(0.5, 8.0, 4.0)
    1.0
    """
    return x * completions / maximum(non_zero, 1.0)
