"""Estimators of the KL from a base policy (reference or old), a token at a time, and their slopes in log π."""

from grpo_calc.column import column, quantity
from grpo_calc.ops import exp, near_zero

SCHULMAN = "J. Schulman, Approximating KL Divergence, 2020"

quantity("token_kl", "KL", latex=r"\mathrm{KL}", en="token KL", zh="单个 token 的 KL")
quantity("kl_slope", "dKL", latex=r"\partial\mathrm{KL}", en="KL slope", zh="KL 的斜率")


@column("k1", latex="k_1", en="k1 (log-ratio to base)", zh="k1（对基准的对数比）", source=SCHULMAN)
def k1(logp_new, logp_base):
    """Log-ratio to the base policy: an unbiased, signed estimate of KL(π‖base) under samples of π.

    One value a token, in nats: ``k1 = log π - log π_base``. Source: Schulman 2020.

    >>> k1(-1.0, -1.25)
    0.25
    """
    return logp_new - logp_base


@column("k2", latex="k_2", en="k2", zh="k2", source=SCHULMAN)
def k2(k1):
    """Half the squared log-ratio: never negative, slightly biased. One value a token, in nats: ``k1^2 / 2``.

    >>> k2(0.5)
    0.125
    """
    return k1**2 / 2


@column("π_base/π", latex=r"\frac{\pi_{\text{base}}}{\pi_\theta}", en="base ratio", zh="基准概率比", source="GRPO, arXiv:2402.03300, eq. 4")
def base_ratio(k1):
    """Probability of the token under the base policy over that under the new one: ``exp(-k1)``, one value a token."""
    return exp(-k1)


@column("k3", latex="k_3", en="k3", zh="k3", source=f"{SCHULMAN}; GRPO, arXiv:2402.03300, eq. 4")
def k3(k1, base_ratio):
    """The unbiased, never negative estimate of GRPO.

    One value a token, in nats: ``k3 = π_base/π + k1 - 1``, that is ``exp(-k1) + k1 - 1``. For ``|k1| < 0.01`` the three
    terms cancel, so the same value is taken from its series up to ``k1^6``. Source: GRPO, eq. 4.

    >>> from math import exp
    >>> round(k3(0.1, exp(-0.1)), 12), k3(1e-9, exp(-1e-9))
    (0.004837418036, 4.999999998333334e-19)
    """
    series = k1 * k1 * (1 / 2 - k1 * (1 / 6 - k1 * (1 / 24 - k1 * (1 / 120 - k1 / 720))))
    return near_zero(k1, series, base_ratio + k1 - 1)


@column("(r-1)^2", latex="(r-1)^2", en="KL proxy", zh="KL 代理", source="the article: (pi/pi_old - 1)^2")
def kl_proxy(ratio):
    """The article's proxy: the squared distance of the ratio from 1, about twice k3 against the old policy.

    One value a token, no unit. Its base is always the old policy, through the ratio.

    >>> round(kl_proxy(1.1), 12)
    0.01
    """
    return (ratio - 1) ** 2


@column("1", en="slope of k1", zh="k1 的斜率", source="calculus")
def k1_slope():
    """d k1 / d log π = 1."""
    return 1.0


@column("dk3", latex=r"\partial k_3", en="slope of k3", zh="k3 的斜率", source="calculus")
def k3_slope(base_ratio):
    """d k3 / d log π = 1 - exp(-k1), one value a token."""
    return 1 - base_ratio


@column("d(r-1)^2", latex=r"\partial (r-1)^2", en="slope of the KL proxy", zh="KL 代理的斜率", source="calculus")
def kl_proxy_slope(ratio):
    """d (r-1)^2 / d log π = 2 (r - 1) r, one value a token (token ratio).

    >>> kl_proxy_slope(1.0)
    0.0
    """
    return 2 * (ratio - 1) * ratio
