"""The advantage: a reward against its group, in every way that recipes centre and scale it."""

from grpo_calc.column import Batch, Completion, Group, column, quantity
from grpo_calc.ops import absolute, maximum, sqrt, where

GRPO = "GRPO, arXiv:2402.03300, sec. 4.1.2"

quantity("advantage", "A", en="advantage", zh="优势")
quantity("baseline", "b", en="baseline", zh="基线")
quantity("scale", "s_A", latex="s_A", en="advantage scale", zh="优势的尺度")


@column("G", en="group size", zh="组的大小", source=GRPO)
def group_size(over: Completion) -> Group:
    """The number of completions in a group, empty ones too.

    Shape: one value a group. Unit: a count.
    Equation: ``G``, where ``G`` counts the completions sampled for one prompt.
    Errors: none raised.
    Source: GRPO, arXiv:2402.03300, sec. 4.1.2.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> group_size(Segments(array([0, 2, 3]))).tolist()
    [2.0, 1.0]
    """
    return over.count()


@column("mean R", latex=r"\bar R", en="group mean", zh="组内均值", source=GRPO)
def group_mean(reward: Completion, over) -> Group:
    """The mean reward of a group.

    Shape: one value a group. Unit: that of the reward.
    Equation: ``mean(R) = (1/G) Σ_j R_j``, where ``R_j`` are the rewards of the group's ``G`` completions.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: GRPO, arXiv:2402.03300, sec. 4.1.2.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> group_mean(array([1.0, 0.0, 4.0]), Segments(array([0, 2, 3]))).tolist()
    [0.5, 4.0]
    """
    return over.mean(reward)


@column("range R", latex=r"\operatorname{range} R", en="group spread", zh="组内极差", source="grpo-calc")
def group_spread(reward: Completion, over) -> Group:
    """Largest minus smallest reward of a group: what decides whether the group says anything.

    Shape: one value a group. Unit: that of the reward.
    Equation: ``max(R) - min(R)``, where ``R`` are the rewards of the group.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: grpo-calc, one rule for NumPy and for sheets.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> group_spread(array([1.0, 0.0, 4.0]), Segments(array([0, 2, 3]))).tolist()
    [1.0, 0.0]
    """
    return over.max(reward) - over.min(reward)


@column(
    "flat?",
    latex=r"\text{flat}",
    en="zero-spread group",
    zh="组内奖励全部相同",
    source="grpo-calc: one rule for every program",
)
def zero_spread(group_spread, group_mean):
    """1 where all rewards of a group are equal, else 0.

    Shape: one value a group. Unit: 0 or 1.
    Equation: ``[range R <= 1e-12 max(1, |mean R|)]``, where ``range R`` is the spread of the group's rewards and ``mean
    R`` their mean.
    Errors: none raised; rewards are finite.
    Source: grpo-calc: programs disagree on the last digit of the std of equal rewards; this rule is the same
    everywhere.

    >>> zero_spread(0.0, 0.1), zero_spread(1.0, 0.5)
    (1.0, 0.0)
    """
    return where(group_spread <= 1e-12 * maximum(absolute(group_mean), 1.0), 1.0, 0.0)


@column("std R", latex=r"\sigma_R", en="group std", zh="组内标准差", source=GRPO)
def group_std(reward: Completion, ddof, zero_spread, over) -> Group:
    """The standard deviation of a group's rewards; exactly 0 for a zero-spread group.

    Shape: one value a group. Unit: that of the reward.
    Equation: ``sqrt(Σ_j (R_j - mean R)^2 / (G - ddof))``, where ``ddof`` is 0 for the population's and 1 for the
    sample's.
    Errors: none raised; 0 where ``G <= ddof``.
    Source: GRPO, arXiv:2402.03300, sec. 4.1.2 (it does not say which divisor).

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> group_std(array([1.0, 0.0, 4.0]), 1.0, array([0.0, 1.0]), Segments(array([0, 2, 3]))).round(4).tolist()
    [0.7071, 0.0]
    """
    return where(zero_spread > 0, 0.0, over.std(reward, ddof))


@column("A", en="advantage", zh="优势", source=GRPO)
def scaled_advantage(reward, baseline, scale, zero_spread):
    """Reward minus baseline, over a scale; exactly 0 in a zero-spread group.

    Shape: one value a completion. Unit: none.
    Equation: ``A = (R - b) / s``, where ``b`` is the baseline and ``s`` the scale.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: GRPO, arXiv:2402.03300, sec. 4.1.2.

    >>> scaled_advantage(1.0, 0.5, 0.25, 0.0), scaled_advantage(1.0, 1.0, 0.0001, 1.0)
    (2.0, 0.0)
    """
    return where(zero_spread > 0, 0.0, (reward - baseline) / scale)


@column("A", en="advantage", zh="优势", source="Dr. GRPO, arXiv:2503.20783; the article's code")
def centred_advantage(reward, baseline, zero_spread):
    """Reward minus baseline, not scaled; exactly 0 in a zero-spread group.

    Shape: one value a completion. Unit: that of the reward.
    Equation: ``A = R - b``, where ``b`` is the baseline.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: Dr. GRPO, arXiv:2503.20783, sec. 3.2; the article's code.

    >>> centred_advantage(1.0, 0.25, 0.0)
    0.75
    """
    return where(zero_spread > 0, 0.0, reward - baseline)


@column("std+eps", latex=r"\sigma_R+\varepsilon_A", en="std + eps", zh="标准差 + eps", source="TRL 1.16: std + 1e-4")
def std_plus_eps(group_std, adv_eps):
    """The scale with a small number added to the standard deviation.

    Shape: one value a group. Unit: that of the reward.
    Equation: ``std + eps``, where ``eps`` is ``adv_eps``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: TRL 1.16: std + 1e-4; verl 0.9.1: std + 1e-6.

    >>> std_plus_eps(0.5, 0.25)
    0.75
    """
    return group_std + adv_eps


@column(
    "max(std,eps)",
    latex=r"\max(\sigma_R,\varepsilon_A)",
    en="std, at least eps",
    zh="标准差，不小于 eps",
    source="the course chapter's code; torchrl 0.14",
)
def std_at_least_eps(group_std, adv_eps):
    """The scale with the standard deviation held at a small number or above.

    Shape: one value a group. Unit: that of the reward.
    Equation: ``max(std, eps)``, where ``eps`` is ``adv_eps``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: the course chapter's code; torchrl 0.14.

    >>> std_at_least_eps(0.5, 1e-6)
    0.5
    """
    return maximum(group_std, adv_eps)


@column(
    "sqrt(var+eps)",
    latex=r"\sqrt{\sigma_R^2+\varepsilon_A}",
    en="root of variance + eps",
    zh="方差加 eps 的平方根",
    source="the course chapter's text",
)
def root_of_variance_plus_eps(group_std, adv_eps):
    """The scale with a small number added to the variance, inside the root.

    Shape: one value a group. Unit: that of the reward.
    Equation: ``sqrt(std^2 + eps)``, where ``eps`` is ``adv_eps``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: the course chapter's text.

    >>> root_of_variance_plus_eps(0.0, 0.25)
    0.5
    """
    return sqrt(group_std**2 + adv_eps)


@column(
    "mean of others",
    latex=r"\bar R_{-i}",
    en="leave-one-out mean",
    zh="其余回答的均值",
    source="RLOO, arXiv:2402.14740, sec. 2",
)
def leave_one_out_mean(reward, group_mean, group_size):
    """The mean reward of the group's other completions.

    Shape: one value a completion. Unit: that of the reward.
    Equation: ``(G mean R - R_i) / (G - 1)``, where ``G`` is the group's size and ``R_i`` the completion's own reward.
    Errors: none raised; 0 where there are no others.
    Source: RLOO, arXiv:2402.14740, sec. 2.

    >>> leave_one_out_mean(1.0, 0.5, 2.0)
    0.0
    """
    return (group_size * group_mean - reward) / maximum(group_size - 1, 1.0)


@column(
    "std of others",
    latex=r"\sigma_{R,-i}",
    en="leave-one-out std",
    zh="其余回答的标准差",
    source="NeMo-RL: baseline and std both without the completion itself",
)
def leave_one_out_std(reward, group_mean, group_std, group_size, ddof):
    """The standard deviation of the group's other completions, from the group's own.

    Shape: one value a completion. Unit: that of the reward.
    Equation: ``sqrt(((G - ddof) std^2 - d^2 G / (G - 1)) / (G - 1 - ddof))``, where ``d`` is the completion's distance
    from the mean.
    Errors: none raised; exactly 0 where only rounding is left.
    Source: NeMo-RL: baseline and std both without the completion itself.

    >>> round(leave_one_out_std(1.0, 0.5, 0.5773502691896258, 4.0, 1.0), 12)
    0.57735026919
    >>> leave_one_out_std(1.0, 0.25, 0.5, 4.0, 1.0)
    0.0
    """
    square = (group_size - ddof) * group_std**2
    others = square - (reward - group_mean) ** 2 * (group_size / maximum(group_size - 1, 1.0))
    return where(others <= 1e-12 * square, 0.0, sqrt(maximum(others, 0.0) / maximum(group_size - 1 - ddof, 1.0)))


@column(
    "std+eps or 1",
    latex=r"\sigma_R+\varepsilon_A",
    en="std + eps, 1 where there is none",
    zh="标准差 + eps，为零则取 1",
    source="NeMo-RL: what has no variation is not scaled",
)
def std_plus_eps_if_any(group_std, adv_eps):
    """The scale with a small number added, 1 where the standard deviation is 0.

    Shape: one value a group. Unit: that of the reward.
    Equation: ``std + eps`` where ``std > 0``, else 1; where ``eps`` is ``adv_eps``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: NeMo-RL: what has no variation is not scaled.

    >>> std_plus_eps_if_any(0.5, 0.25), std_plus_eps_if_any(0.0, 0.25)
    (0.75, 1.0)
    """
    return where(group_std > 0, group_std + adv_eps, 1.0)


@column(
    "batch mean R",
    latex=r"\bar R_{\text{batch}}",
    en="batch mean reward",
    zh="批内平均奖励",
    source="REINFORCE++, arXiv:2501.03262",
)
def batch_mean(reward: Completion, over) -> Batch:
    """The mean reward over all completions of the batch.

    Shape: one value for the batch. Unit: that of the reward.
    Equation: ``mean(R) = (1/B) Σ_i R_i``, where ``B`` is the number of completions.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: REINFORCE++, arXiv:2501.03262.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> batch_mean(array([1.0, 0.0, 4.0]), Segments(array([0, 3]))).round(4).tolist()
    [1.6667]
    """
    return over.mean(reward)


@column(
    "batch std R",
    latex=r"\sigma_{\text{batch}}",
    en="batch std of rewards",
    zh="批内奖励标准差",
    source="TRL 1.16: scale_rewards=batch",
)
def batch_std(reward: Completion, ddof, over) -> Batch:
    """The standard deviation of all rewards of the batch.

    Shape: one value for the batch. Unit: that of the reward.
    Equation: ``sqrt(Σ_i (R_i - mean R)^2 / (B - ddof))``, where ``B`` is the number of completions.
    Errors: none raised; 0 where ``B <= ddof``.
    Source: TRL 1.16, scale_rewards=batch.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> batch_std(array([1.0, 0.0, 4.0]), 1.0, Segments(array([0, 3]))).round(4).tolist()
    [2.0817]
    """
    return over.std(reward, ddof)
