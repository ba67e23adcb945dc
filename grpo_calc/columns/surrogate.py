"""The surrogate objective of a token, its clipped twin, the smaller of the two, and the token's loss."""

from grpo_calc.column import column, quantity
from grpo_calc.ops import minimum, stop_gradient

quantity("weighted_objective", "w min", latex=r"w \min", en="weighted token objective", zh="加权后的 token 目标")
quantity("weight", "w", en="weight of a token (no gradient through it)", zh="token 的权重（不传梯度）")


@column("rA", latex=r"r A", en="surrogate", zh="替代目标", source="PPO, arXiv:1707.06347, eq. 6; the article's piA")
def surrogate(ratio, advantage):
    """Ratio times advantage: what the article calls piA.

    Shape: one value a token (a completion under a sequence ratio). Unit: that of the advantage.
    Equation: ``r A``, where ``r`` is the ratio and ``A`` the advantage.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: PPO, arXiv:1707.06347, eq. 6.

    >>> surrogate(1.5, -2.0)
    -3.0
    """
    return ratio * advantage


@column(
    "clip(r)A",
    latex=r"\operatorname{clip}(r) A",
    en="clipped surrogate",
    zh="裁剪后替代目标",
    source="PPO, arXiv:1707.06347, eq. 7",
)
def clipped_surrogate(clipped_ratio, advantage):
    """Clipped ratio times advantage.

    Shape: one value a token (a completion under a sequence ratio). Unit: that of the advantage.
    Equation: ``clip(r) A``, where ``clip(r)`` is the clipped ratio and ``A`` the advantage.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: PPO, arXiv:1707.06347, eq. 7.

    >>> clipped_surrogate(1.2, -2.0)
    -2.4
    """
    return clipped_ratio * advantage


@column(
    "min",
    latex=r"\min",
    en="token objective",
    zh="逐 token 目标",
    source="PPO, arXiv:1707.06347, eq. 7; GRPO, arXiv:2402.03300, eq. 3",
)
def token_objective(surrogate, clipped_surrogate):
    """The smaller of the two surrogates: to be raised. The article calls it "Final Loss".

    Shape: one value a token (a completion under a sequence ratio). Unit: that of the advantage.
    Equation: ``min(r A, clip(r) A)``, where ``r`` is the ratio and ``A`` the advantage; never above either.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: PPO, arXiv:1707.06347, eq. 7; GRPO, arXiv:2402.03300, eq. 3.

    >>> token_objective(-3.0, -2.4)
    -3.0
    """
    return minimum(surrogate, clipped_surrogate)


@column("l", en="token loss", zh="逐 token 损失", source="GRPO, arXiv:2402.03300, eq. 3, sign turned")
def token_loss(weighted_objective, beta, token_kl):
    """The token's loss, to be lowered: minus its objective, plus beta times its KL.

    Shape: one value a token. Unit: that of the advantage.
    Equation: ``l = beta KL - min``, where ``min`` is the token objective (times the recipe's weights, if any).
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: GRPO, arXiv:2402.03300, eq. 3, sign turned.

    >>> token_loss(0.5, 0.1, 0.2)
    -0.48
    """
    return beta * token_kl - weighted_objective


@column("l", en="token loss", zh="逐 token 损失", source="PPO, arXiv:1707.06347, eq. 7, sign turned")
def token_loss_without_kl(weighted_objective):
    """The token's loss where the recipe has no KL term: minus its objective.

    Shape: one value a token (a completion under a sequence ratio). Unit: that of the advantage.
    Equation: ``l = -min``, where ``min`` is the token objective (times the recipe's weights, if any).
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: PPO, arXiv:1707.06347, eq. 7, sign turned.

    >>> token_loss_without_kl(0.5)
    -0.5
    """
    return -weighted_objective


@column(
    "w x", latex=r"w\,x", en="weighted", zh="加权", source="each recipe's correction or mask: a factor without gradient"
)
def weighted(x, weight):
    """A value times a weight that is a constant under the gradient: a sampler correction, or a 0/1 mask.

    Shape: one value a token. Unit: that of ``x``.
    Equation: ``sg[w] x``, where ``w`` is the weight and ``sg`` stops the gradient.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: each recipe's correction or mask.

    >>> weighted(0.5, 2.0)
    1.0
    """
    return stop_gradient(weight) * x
