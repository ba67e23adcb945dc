"""Gradients, as columns that autograd proves: of a token's own loss, and of the batch loss.

A token's loss reaches ``log π`` by two ways: through the ratio (``surrogate_slope``, pulled back through whatever the
ratio is made of) and directly (the KL). ``gradient`` is d loss / d logp_new with the recipe's denominators.
"""

from grpo_calc.column import Completion, Token, column, quantity
from grpo_calc.ops import maximum

CALCULUS = "calculus; proved against automatic differentiation"

quantity(
    "own_kl_gradient",
    "beta dKL",
    latex=r"\beta\,\partial\mathrm{KL}",
    en="KL part of the token gradient",
    zh="token 梯度的 KL 部分",
)
quantity(
    "surrogate_gradient",
    "-dmin/dlogπ",
    latex=r"-\frac{\partial\min}{\partial\log\pi}",
    en="policy part of the token gradient",
    zh="token 梯度的策略部分",
)
quantity(
    "slope",
    "d(-min)",
    latex=r"\partial(-\min)",
    en="policy slope of the token loss in log r",
    zh="token 损失（策略部分）对 log r 的斜率",
)
quantity("policy_gradient", "-dS", latex=r"-\partial S", en="policy part of the gradient", zh="梯度的策略部分")
quantity(
    "weighted_slope",
    "w d(-min)",
    latex=r"w_t\,\partial(-\min)",
    en="weighted slope in log r",
    zh="对 log r 的加权斜率",
)
quantity("kl_share", "share", latex="w_t", en="share of a token's KL", zh="token KL 的权重")


@column(
    "d(-min)",
    latex=r"\frac{\partial(-\min)}{\partial\log r}",
    en="slope of -min in log r",
    zh="-min 对 log r 的斜率",
    source=CALCULUS,
)
def surrogate_slope(advantage, ratio, clipped):
    """How fast minus the token objective grows in log r: 0 where the token is clipped.

    Shape: one value a token (a completion under a sequence ratio). Unit: that of the advantage.
    Equation: ``d(-min) / d log r = -A r (1 - c)``, where ``c`` is the flag ``clipped``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> surrogate_slope(2.0, 1.1, 0.0), surrogate_slope(2.0, 1.5, 1.0)
    (-2.2, -0.0)
    """
    return -advantage * ratio * (1 - clipped)


@column(
    "beta dKL",
    latex=r"\beta\,\partial\mathrm{KL}",
    en="KL part of the token gradient",
    zh="token 梯度的 KL 部分",
    source=CALCULUS,
)
def kl_gradient(beta, kl_slope):
    """The KL's part of a token's gradient.

    Shape: one value a token. Unit: that of the advantage.
    Equation: ``beta dKL / d log π``, where ``dKL / d log π`` is the slope of the recipe's estimator.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> kl_gradient(0.5, 0.25)
    0.125
    """
    return beta * kl_slope


@column(
    "dl/dlogπ",
    latex=r"\frac{\partial l}{\partial\log\pi}",
    en="token gradient",
    zh="逐 token 梯度",
    source=CALCULUS,
)
def token_gradient(surrogate_gradient, own_kl_gradient) -> Token:
    """The slope of a token's own loss in its own log-prob, before any reduction.

    Shape: one value a token. Unit: that of the advantage.
    Equation: ``d l_t / d log π_t = g + beta dKL``, where ``g`` is the policy's part.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> token_gradient(-2.0, 0.125)
    -1.875
    """
    return surrogate_gradient + own_kl_gradient


@column(
    "-dS/dlogπ",
    latex=r"-\frac{\partial S}{\partial\log\pi}",
    en="policy part of the gradient",
    zh="梯度的策略部分",
    source=CALCULUS,
)
def shared_slope(share, slope):
    """The slope in log r times the token's share: under a token ratio, the policy's part of the gradient.

    Shape: one value a token (a completion under a sequence ratio). Unit: that of the advantage.
    Equation: ``w_t d(-min) / d log r``, where ``w_t`` is the token's share in the loss.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> shared_slope(0.125, -2.0)
    -0.25
    """
    return share * slope


@column("dL/dlogπ", latex=r"\frac{\partial L}{\partial\log\pi}", en="gradient", zh="梯度", source=CALCULUS)
def gradient(policy_gradient, kl_share, kl_gradient) -> Token:
    """The slope of the loss in one token's log-prob, denominators and all.

    Shape: one value a token. Unit: that of the advantage.
    Equation: ``d L / d log π_t = -dS + w_t beta dKL``, where ``-dS`` is the policy's part (``S`` is to be raised) and
    ``w_t`` the share of the token's KL.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> gradient(-0.25, 0.125, 0.5)
    -0.1875
    """
    return policy_gradient + kl_share * kl_gradient


@column(
    "dl/dlogπ",
    latex=r"\frac{\partial l}{\partial\log\pi}",
    en="token gradient",
    zh="逐 token 梯度",
    source=CALCULUS,
)
def token_gradient_without_kl(surrogate_gradient) -> Token:
    """The slope of a token's own loss in its own log-prob, where the recipe has no KL term.

    Shape: one value a token. Unit: that of the advantage.
    Equation: ``d l_t / d log π_t = g``, where ``g`` is the policy's part.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> token_gradient_without_kl(-2.0)
    -2.0
    """
    return surrogate_gradient


@column("dL/dlogπ", latex=r"\frac{\partial L}{\partial\log\pi}", en="gradient", zh="梯度", source=CALCULUS)
def gradient_without_kl(policy_gradient) -> Token:
    """The slope of the loss in one token's log-prob, where the recipe has no KL term.

    Shape: one value a token. Unit: that of the advantage.
    Equation: ``d L / d log π_t = -dS``, where ``-dS`` is the policy's part: ``S`` is to be raised.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> gradient_without_kl(-0.25)
    -0.25
    """
    return policy_gradient


@column(
    "-dS/dlog s",
    latex=r"-\frac{\partial S}{\partial\log s}",
    en="sum of weighted slopes",
    zh="加权斜率之和",
    source=CALCULUS,
)
def completion_slope(shared_slope: Token, over) -> Completion:
    """What one sequence ratio's change does to the loss: the sum of its tokens' shared slopes.

    Shape: one value a completion. Unit: that of the advantage.
    Equation: ``Σ_t w_t d(-min)_t / d log s``, where ``s`` is the sequence ratio.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> completion_slope(array([0.5, 0.25, 1.0]), Segments(array([0, 2, 3]))).tolist()
    [0.75, 1.0]
    """
    return over.sum(shared_slope)


@column(
    "-dS/dlogπ",
    latex=r"-\frac{\partial S}{\partial\log\pi}",
    en="policy part of the gradient",
    zh="梯度的策略部分",
    source="GSPO, arXiv:2507.18071, eq. 10",
)
def sequence_pull(completion_slope, length):
    """The policy's part of the gradient under a sequence ratio.

    Shape: one value a completion. Unit: that of the advantage.
    Equation: ``(1/n) Σ_t w_t d(-min)_t / d log s``, where each of the ``n`` tokens moves ``log s`` by ``1/n``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: GSPO, arXiv:2507.18071, eq. 10.

    >>> sequence_pull(0.5, 2.0), sequence_pull(0.0, 0.0)
    (0.25, 0.0)
    """
    return completion_slope / maximum(length, 1.0)


@column(
    "-dmin/dlogπ",
    latex=r"-\frac{\partial\min}{\partial\log\pi}",
    en="policy part of the token gradient",
    zh="token 梯度的策略部分",
    source="GSPO, arXiv:2507.18071, eq. 10",
)
def sequence_slope(slope, length):
    """The policy's part of the token gradient under a sequence ratio.

    Shape: one value a completion. Unit: that of the advantage.
    Equation: ``(1/n) d(-min) / d log s``, where each of the ``n`` tokens moves ``log s`` by ``1/n``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: GSPO, arXiv:2507.18071, eq. 10.

    >>> sequence_slope(-2.0, 4.0)
    -0.5
    """
    return slope / maximum(length, 1.0)
