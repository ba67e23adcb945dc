"""A group's standardised reward as single precision leaves it: rounding over a tiny eps."""

from grpo_calc.column import Completion, Group, column
from grpo_calc.ops import single

BUG = "OpenRLHF 0.11.2, group_norm in single precision, a bug: eps 1e-9 is far below a rounding error"


@column(
    "mean R f32", latex=r"\bar R_{32}", en="group mean in single precision", zh="单精度组内均值", source=BUG, live=False
)
def group_mean_single(reward: Completion, group_size, over) -> Group:
    """The group's mean as torch gives it in single precision: off by a rounding error, though all rewards be equal."""
    return single(over.sum_single(reward) / group_size)


@column("A f32", latex="A_{32}", en="advantage in single precision", zh="单精度优势", source=BUG, live=False)
def group_norm_single(reward, group_mean_single, group_std, adv_eps):
    """``(R - mean) / (std + eps)`` with each step in single precision.

    In a group of equal rewards the std is 0, and what the mean is off by is divided by eps: with rewards near 1 and eps
    1e-9 the advantage is a multiple of 59.6, where it should be 0. One value a completion.

    >>> round(group_norm_single(0.5, 0.5 + 2**-24, 0.0, 1e-9), 1)
    -59.6
    """
    return single(single(single(reward) - group_mean_single) / single(group_std + adv_eps))
