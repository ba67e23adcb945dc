"""Clipping: the clipped ratio, and which tokens it touches."""

from grpo_calc.column import column
from grpo_calc.ops import above, clip, maximum, where


@column(
    "clip(r)",
    latex=r"\operatorname{clip}(r)",
    en="clipped ratio",
    zh="裁剪后比率",
    source="PPO, arXiv:1707.06347, eq. 7; two ranges: DAPO, arXiv:2503.14476, eq. 10",
)
def clipped_ratio(ratio, eps_low, eps_high):
    """The ratio held in the clip range.

    Shape: one value a token (a completion under a sequence ratio). Unit: none.
    Equation: ``clip(r, 1 - eps_low, 1 + eps_high)``, where ``r`` is the ratio and ``eps_low``, ``eps_high`` the range.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: PPO, arXiv:1707.06347, eq. 7; two ranges: DAPO, arXiv:2503.14476, eq. 10.

    >>> clipped_ratio(1.35, 0.2, 0.28), clipped_ratio(0.5, 0.2, 0.28)
    (1.28, 0.8)
    """
    return clip(ratio, 1 - eps_low, 1 + eps_high)


@column("outside", latex=r"\text{outside}", en="ratio outside the range", zh="概率比越界", source="grpo-calc, a flag")
def outside(ratio, eps_low, eps_high, tie_tol):
    """1 where the ratio lies outside the clip range, else 0; the advantage plays no part.

    Shape: one value a token (a completion under a sequence ratio). Unit: 0 or 1.
    Equation: ``[max(r - (1 + eps_high), (1 - eps_low) - r) > tol]``, where ``tol`` is ``tie_tol``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: grpo-calc, a flag.

    >>> outside(1.3, 0.2, 0.2, 1e-12), outside(1.2, 0.2, 0.2, 1e-12)
    (1.0, 0.0)
    """
    return above(maximum(ratio - (1 + eps_high), (1 - eps_low) - ratio), tie_tol)


@column(
    "clipped?",
    latex=r"\text{clipped}",
    en="clipped",
    zh="是否被裁剪",
    source="PPO, arXiv:1707.06347, eq. 7: the min takes the clipped side",
)
def clipped(surrogate, clipped_surrogate, tie_tol):
    """1 where the clipped surrogate is the smaller one, else 0: there the gradient through the ratio is 0.

    Shape: one value a token (a completion under a sequence ratio). Unit: 0 or 1.
    Equation: ``[r A - clip(r) A > tol]``, where ``tol`` is ``tie_tol``: programs round ties at the boundary
    differently.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: PPO, arXiv:1707.06347, eq. 7: the min takes the clipped side.

    >>> clipped(1.3, 1.2, 1e-12), clipped(-1.3, -1.2, 1e-12)
    (1.0, 0.0)
    """
    return above(surrogate - clipped_surrogate, tie_tol)


@column(
    "clipped low",
    latex=r"\text{clipped}_{\text{low}}",
    en="clipped below",
    zh="下侧裁剪",
    source="TRL 1.16, clip_ratio/low: A < 0 and r < 1 - eps_low",
)
def clipped_low(clipped, advantage):
    """1 where a token with a negative advantage is clipped: its ratio is below the range.

    Shape: one value a token (a completion under a sequence ratio). Unit: 0 or 1.
    Equation: ``[A < 0] c``, where ``c`` is the flag ``clipped``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: TRL 1.16, clip_ratio/low: A < 0 and r < 1 - eps_low.

    >>> clipped_low(1.0, -2.0), clipped_low(1.0, 2.0)
    (1.0, 0.0)
    """
    return where(advantage < 0, clipped, 0.0)


@column(
    "clipped high",
    latex=r"\text{clipped}_{\text{high}}",
    en="clipped above",
    zh="上侧裁剪",
    source="TRL 1.16, clip_ratio/high: A > 0 and r > 1 + eps_high",
)
def clipped_high(clipped, advantage):
    """1 where a token with a positive advantage is clipped: its ratio is above the range.

    Shape: one value a token (a completion under a sequence ratio). Unit: 0 or 1.
    Equation: ``[A > 0] c``, where ``c`` is the flag ``clipped``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: TRL 1.16, clip_ratio/high: A > 0 and r > 1 + eps_high.

    >>> clipped_high(1.0, 2.0), clipped_high(1.0, -2.0)
    (1.0, 0.0)
    """
    return where(advantage > 0, clipped, 0.0)
