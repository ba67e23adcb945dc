"""Covariance of a token's log-prob and advantage: which tokens collapse the entropy, and what is done with them."""

from grpo_calc.column import Batch, Token, column, quantity
from grpo_calc.ops import absolute, maximum, sign, where, whole

SOURCE = "The Entropy Mechanism of RL, arXiv:2505.22617"

quantity("cov_advantage_sum", "Σ A", latex=r"\Sigma A", en="completion's sum of advantages", zh="回答内优势之和")
quantity("cov_advantage_mean", "mean A", latex=r"\bar A", en="mean advantage over tokens", zh="按 token 的平均优势")
quantity("cov_logp_sum", "Σ log π", latex=r"\Sigma\log\pi", en="completion's sum of log-probs", zh="回答内对数概率之和")
quantity(
    "cov_logp_mean",
    "mean log π",
    latex=r"\overline{\log\pi}",
    en="mean log-prob over tokens",
    zh="按 token 的平均对数概率",
)
quantity(
    "cov_low", "cov_low", latex=r"\omega_{\text{low}}", en="lower bound of the covariance band", zh="协方差区间下界"
)
quantity(
    "cov_high", "cov_high", latex=r"\omega_{\text{high}}", en="upper bound of the covariance band", zh="协方差区间上界"
)
quantity("cov_share", "k", en="share of tokens with a KL penalty", zh="施加 KL 惩罚的 token 比例")
quantity("cov_coef", "β_cov", latex=r"\beta_{\text{cov}}", en="coefficient of the KL penalty", zh="KL 惩罚系数")
quantity("cov_chosen", "chosen", latex=r"\text{chosen}", en="drawn at random (given)", zh="随机抽中（给定）")


@column("cov", latex=r"\operatorname{cov}", en="covariance of a token", zh="token 的协方差", source=f"{SOURCE}, eq. 10")
def covariance(advantage, cov_advantage_mean, logp_new, cov_logp_mean) -> Token:
    """Centred advantage times centred log-prob, both centred over the batch's tokens. One value a token.

    >>> covariance(1.0, 0.5, -1.0, -2.0)
    0.5
    """
    return (advantage - cov_advantage_mean) * (logp_new - cov_logp_mean)


@column(
    "[keep]",
    latex=r"[\text{keep}]",
    en="outside the covariance band",
    zh="协方差区间之外",
    source=f"{SOURCE}, eq. 11: Clip-Cov; verl 0.9.1: strictly inside, and not clipped already",
)
def outside_covariance_band(covariance, clipped, cov_low, cov_high):
    """0 where the covariance lies inside the band and the token is not clipped anyway, else 1. One value a token.

    >>> outside_covariance_band(2.0, 0.0, 1.0, 5.0), outside_covariance_band(2.0, 1.0, 1.0, 5.0)
    (0.0, 1.0)
    """
    return where((covariance > cov_low) & (covariance < cov_high) & (clipped <= 0), 0.0, 1.0)


@column(
    "[keep]",
    latex=r"[\text{keep}]",
    en="outside the covariance band, or not drawn",
    zh="区间之外或未抽中",
    source=f"{SOURCE}, eq. 11: Clip-Cov draws at random inside the band",
)
def not_drawn_from_band(outside_covariance_band, cov_chosen):
    """1 where a token is outside the band or was not drawn from it. One value a token.

    The draw is random, so it is given.

    >>> not_drawn_from_band(0.0, 1.0), not_drawn_from_band(0.0, 0.0)
    (0.0, 1.0)
    """
    return where(cov_chosen > 0, outside_covariance_band, 1.0)


@column(
    "#k",
    latex=r"\#k",
    en="tokens with a KL penalty",
    zh="施加 KL 惩罚的 token 数",
    source=f"{SOURCE}, eq. 12; verl 0.9.1: at least one",
)
def covariance_count(tokens, cov_share):
    """How many tokens the penalty falls on: the whole part of a share of all tokens, at least one.

    >>> covariance_count(73.0, 0.1), covariance_count(73.0, 0.0002)
    (7.0, 1.0)
    """
    return maximum(whole(tokens * cov_share), 1.0)


@column(
    "cov_k",
    latex=r"\operatorname{cov}_{(k)}",
    en="least covariance with a penalty",
    zh="受惩罚的最小协方差",
    source=f"{SOURCE}, eq. 12",
    whole=True,
)
def covariance_rank(covariance: Token, covariance_count, over) -> Batch:
    """The covariance of the ``k``-th largest token of the batch."""
    return over.largest(covariance, covariance_count)


@column(
    "[top]",
    latex=r"[\text{top}]",
    en="covariance among the largest",
    zh="协方差最大的 token",
    source=f"{SOURCE}, eq. 12: KL-Cov",
)
def top_covariance(covariance, covariance_rank):
    """1 where the covariance is among the ``k`` largest, else 0; tokens that tie at the last place are all taken.

    >>> top_covariance(2.0, 2.0), top_covariance(1.0, 2.0)
    (1.0, 0.0)
    """
    return where(covariance >= covariance_rank, 1.0, 0.0)


@column(
    "rA - β|log r|",
    latex=r"r A - \beta_{\text{cov}} [\text{top}] |\log r|",
    en="KL-Cov objective",
    zh="KL-Cov 目标",
    source=f"{SOURCE}, eq. 13",
)
def kl_cov_objective(surrogate, log_ratio, top_covariance, cov_coef):
    """The surrogate, not clipped, minus a KL penalty on the tokens of largest covariance. One value a token.

    >>> kl_cov_objective(1.0, -0.5, 1.0, 1.0)
    0.5
    """
    return surrogate - cov_coef * top_covariance * absolute(log_ratio)


@column(
    "d(KL-Cov)",
    latex=r"\partial(-J)",
    en="slope of the KL-Cov loss in log r",
    zh="KL-Cov 损失对 log r 的斜率",
    source="calculus",
)
def kl_cov_slope(advantage, ratio, log_ratio, top_covariance, cov_coef):
    """d (-objective) / d log r of KL-Cov: ``-A r + β [top] sign(log r)``. One value a token.

    >>> kl_cov_slope(1.0, 2.0, 0.5, 1.0, 0.5)
    -1.5
    """
    return cov_coef * top_covariance * sign(log_ratio) - advantage * ratio
