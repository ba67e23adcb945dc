"""The likelihood of completions that were rewarded: an extra term beside the policy's."""

from grpo_calc.column import column, quantity
from grpo_calc.ops import where

VAPO = "VAPO, arXiv:2504.05118, eq. 10; NeMo-RL, positive_example_nll_weight"

quantity("nll_weight", "μ", latex=r"\mu", en="weight of the likelihood term", zh="似然项的权重")


@column("-log π", latex=r"-\log\pi_\theta", en="negative log-prob", zh="负对数概率", source=VAPO)
def surprise(logp_new):
    """Minus the log-prob of the token. One value a token, in nats.

    >>> surprise(-0.5)
    0.5
    """
    return -logp_new


@column("R>0", latex="[R>0]", en="rewarded", zh="奖励为正", source=VAPO)
def positive(reward):
    """1 where a completion's reward is above 0, else 0.

    >>> positive(0.5), positive(0.0)
    (1.0, 0.0)
    """
    return where(reward > 0, 1.0, 0.0)


@column("-[R>0]", latex="-[R>0]", en="slope of the likelihood term", zh="似然项的斜率", source="calculus")
def surprise_slope(positive):
    """d (negative log-prob) / d log π of a rewarded completion's token: -1; of any other, 0."""
    return -positive
