"""The clipped objective and the KL proxy as plain functions of arrays, made of the columns."""

from __future__ import annotations

from grpo_calc.columns import clip, kl, surrogate
from grpo_calc.ops import Array


def clipped_objective(ratio: Array, advantage: Array, eps_low: float = 0.2, eps_high: float = 0.2) -> Array:
    """``min(r A, clip(r, 1 - eps_low, 1 + eps_high) A)``, one value a token: to be raised.

    ``ratio`` and ``advantage`` are floats or arrays of one shape, of any namespace of the array API standard.
    Source: PPO, arXiv:1707.06347, eq. 7.

    >>> clipped_objective(1.5, 1.0), clipped_objective(1.5, -1.0)
    (1.2, -1.5)
    """
    clipped_ratio = clip.clipped_ratio(ratio, eps_low, eps_high)
    return surrogate.token_objective(
        surrogate.surrogate(ratio, advantage), surrogate.clipped_surrogate(clipped_ratio, advantage)
    )


def kl_proxy(ratio: Array) -> Array:
    """``(ratio - 1)^2``, one value a token: the article's KL proxy against the old policy.

    >>> round(kl_proxy(1.1), 12)
    0.01
    """
    return kl.kl_proxy(ratio)
