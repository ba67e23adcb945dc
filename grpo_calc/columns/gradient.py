"""Gradients, as columns that autograd proves: of a token's own loss, and of the batch loss.

A token's loss reaches ``log π`` by two ways: through the ratio (``surrogate_slope``, pulled back through whatever the ratio
is made of) and directly (the KL). ``gradient`` is d loss / d logp_new with the recipe's denominators.
"""

from grpo_calc.column import Completion, Token, column, quantity
from grpo_calc.ops import maximum

CALCULUS = "calculus; proved against automatic differentiation"

quantity("surrogate_gradient", "d(-min)", latex=r"\partial(-\min)", en="policy part of the token gradient", zh="token 梯度的策略部分")
quantity("slope", "d(-min)", latex=r"\partial(-\min)", en="slope of the token loss, policy part", zh="token 损失策略部分的斜率")
quantity("policy_gradient", "dS", latex=r"\partial S", en="policy part of the gradient", zh="梯度的策略部分")
quantity("kl_share", "share", latex="w_t", en="share of a token's KL", zh="token KL 的份额")


@column("d(-min)", latex=r"\frac{\partial(-\min)}{\partial\log r}", en="slope of -min in log r", zh="-min 对 log r 的斜率", source=CALCULUS)
def surrogate_slope(advantage, ratio, clipped):
    """d (-token objective) / d log r: ``-A r`` where the unclipped side is taken, 0 where the token is clipped.

    >>> surrogate_slope(2.0, 1.1, 0.0), surrogate_slope(2.0, 1.5, 1.0)
    (-2.2, -0.0)
    """
    return -advantage * ratio * (1 - clipped)


@column("beta dKL", latex=r"\beta\,\partial\mathrm{KL}", en="KL part of the token gradient", zh="token 梯度的 KL 部分", source=CALCULUS)
def kl_gradient(beta, kl_slope):
    """beta times the slope of the token's KL in log π."""
    return beta * kl_slope


@column("dl/dlogπ", latex=r"\frac{\partial l}{\partial\log\pi}", en="token gradient", zh="单个 token 的梯度", source=CALCULUS)
def token_gradient(surrogate_gradient, kl_gradient) -> Token:
    """d token_loss / d logp_new of the same token, before any reduction."""
    return surrogate_gradient + kl_gradient


@column("dS/dlogπ", latex=r"\frac{\partial S}{\partial\log\pi}", en="policy part of the gradient", zh="梯度的策略部分", source=CALCULUS)
def shared_slope(share, slope):
    """The slope in log r times the token's share in the batch loss: under a token ratio, the policy part of the gradient."""
    return share * slope


@column("dL/dlogπ", latex=r"\frac{\partial L}{\partial\log\pi}", en="gradient", zh="梯度", source=CALCULUS)
def gradient(policy_gradient, kl_share, kl_gradient) -> Token:
    """d loss / d logp_new, one value a token, denominator and all."""
    return policy_gradient + kl_share * kl_gradient


@column("dl/dlogπ", latex=r"\frac{\partial l}{\partial\log\pi}", en="token gradient", zh="单个 token 的梯度", source=CALCULUS)
def token_gradient_without_kl(surrogate_gradient) -> Token:
    """d token_loss / d logp_new of the same token, where the recipe has no KL term."""
    return surrogate_gradient


@column("dL/dlogπ", latex=r"\frac{\partial L}{\partial\log\pi}", en="gradient", zh="梯度", source=CALCULUS)
def gradient_without_kl(policy_gradient) -> Token:
    """d loss / d logp_new where the recipe has no KL term, one value a token, denominator and all."""
    return policy_gradient


@column("sum dS", latex=r"\Sigma\,\partial S", en="sum of shared slopes", zh="份额斜率之和", source=CALCULUS)
def completion_slope(shared_slope: Token, over) -> Completion:
    """The sum of a completion's shared slopes: what one sequence ratio's change does to the loss."""
    return over.sum(shared_slope)


@column("dS/dlogπ", latex=r"\frac{\partial S}{\partial\log\pi}", en="policy part of the gradient", zh="梯度的策略部分", source="GSPO, arXiv:2507.18071, eq. 10")
def sequence_pull(completion_slope, length):
    """Pull through a sequence ratio: each of the ``n`` tokens moves the mean log-ratio by ``1/n``.

    >>> sequence_pull(0.5, 2.0)
    0.25
    """
    return completion_slope / maximum(length, 1.0)


@column("d(-min)", latex=r"\partial(-\min)", en="policy part of the token gradient", zh="token 梯度的策略部分", source="GSPO, arXiv:2507.18071, eq. 10")
def sequence_slope(slope, length):
    """d (-token objective) / d logp_new of one token under a sequence ratio."""
    return slope / maximum(length, 1.0)
