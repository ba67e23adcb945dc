"""Dual clip and delta: upper bounds on the loss of a token with a negative advantage."""

from grpo_calc.column import column
from grpo_calc.ops import above, maximum, minimum, where

DUAL_CLIP = "dual-clip PPO, arXiv:1912.09729, eq. 5"
DELTA = "TRL 1.16, delta: INTELLECT-2, arXiv:2505.07291, two-sided clipping"


@column("max(min,cA)", latex=r"\max(\min, c A)", en="dual-clipped objective", zh="双重裁剪目标", source=DUAL_CLIP)
def dual_clip_objective(surrogate, clipped_surrogate, advantage, dual_clip):
    """The clipped objective held above ``c A`` where ``A < 0``: a token's loss never exceeds ``-c A``.

    One value a token, in units of the advantage; ``c = dual_clip > 1``. Source: dual-clip PPO, eq. 5.

    >>> dual_clip_objective(-10.0, -1.2, -1.0, 3.0), dual_clip_objective(10.0, 1.2, 1.0, 3.0)
    (-3.0, 1.2)
    """
    smaller = minimum(surrogate, clipped_surrogate)
    return where(advantage < 0, maximum(smaller, dual_clip * advantage), smaller)


@column("dual?", latex=r"\text{dual}", en="dual-clipped", zh="是否被双重裁剪", source=DUAL_CLIP)
def dual_clipped(surrogate, clipped_surrogate, advantage, dual_clip, tie_tol):
    """1 where ``A < 0`` and the bound ``c A`` replaces the objective, by more than ``tie_tol``; else 0.

    >>> dual_clipped(-10.0, -1.2, -1.0, 3.0, 1e-12), dual_clipped(-2.0, -1.2, -1.0, 3.0, 1e-12)
    (1.0, 0.0)
    """
    return where(advantage < 0, above(dual_clip * advantage - minimum(surrogate, clipped_surrogate), tie_tol), 0.0)


@column(
    "d(-max)",
    latex=r"\partial(-\max)",
    en="slope of the dual-clipped loss in log r",
    zh="双重裁剪损失对 log r 的斜率",
    source="calculus",
)
def dual_clip_slope(advantage, ratio, clipped, dual_clipped):
    """d (-objective) / d log r under dual clip: ``-A r`` where neither bound holds, else 0.

    >>> dual_clip_slope(-1.0, 1.1, 0.0, 0.0), dual_clip_slope(-1.0, 10.0, 0.0, 1.0)
    (1.1, 0.0)
    """
    return -advantage * ratio * (1 - clipped) * (1 - dual_clipped)


@column(
    "min(r,δ)A", latex=r"\min(r,\delta) A", en="surrogate bounded by delta", zh="以 δ 为上界的替代目标", source=DELTA
)
def delta_surrogate(ratio, advantage, delta):
    """``min(r, delta) A``: the unclipped side with its ratio bounded, whatever the advantage. One value a token.

    >>> delta_surrogate(9.0, -1.0, 2.0)
    -2.0
    """
    return minimum(ratio, delta) * advantage


@column(
    "d(-min)",
    latex=r"\partial(-\min)",
    en="slope of -min in log r, ratio bounded",
    zh="有上界时 -min 对 log r 的斜率",
    source="calculus",
)
def delta_slope(advantage, ratio, clipped, delta, eps_low, eps_high):
    """d (-objective) / d log r with delta: ``-A r`` where the side that is taken moves with the ratio, else 0.

    The unclipped side moves up to ``delta``; the clipped one inside the clip range, where it is taken if ``delta`` lies
    there too. One value a token.

    >>> delta_slope(-1.0, 1.5, 0.0, 2.0, 0.2, 0.2), delta_slope(-1.0, 3.0, 0.0, 2.0, 0.2, 0.2)
    (1.5, 0.0)
    >>> delta_slope(-1.0, 1.15, 1.0, 1.1, 0.2, 0.2)
    1.15
    """
    inside = (ratio >= 1 - eps_low) & (ratio <= 1 + eps_high)
    return where(where(clipped > 0, inside, ratio <= delta), -advantage * ratio, 0.0)
