"""Estimators of the KL from a base policy (reference or old), a token at a time, and their slopes in log π."""

from grpo_calc.column import column, quantity
from grpo_calc.ops import absolute, clip, exp, near_zero, sign, stop_gradient, straight, where

SCHULMAN = "J. Schulman, Approximating KL Divergence, 2020"

quantity("token_kl", "KL", latex=r"\mathrm{KL}", en="token KL", zh="逐 token KL")
quantity("kl_through_ratio", "KL", latex=r"\mathrm{KL}", en="KL reached through the ratio", zh="经概率比到达的 KL")
quantity("kl_slope", "dKL", latex=r"\partial\mathrm{KL}", en="KL slope in log π", zh="KL 对 log π 的斜率")


@column("k1", latex="k_1", en="k1 (log-ratio to base)", zh="k1（相对基准策略的对数比）", source=SCHULMAN)
def k1(logp_new, logp_base):
    """The log-ratio to the base policy: an unbiased, signed estimate of KL(π‖base) under samples of π.

    Shape: one value a token. Unit: nats.
    Equation: ``k1 = log π - log π_base``, where the base is the reference policy or the old one (``kl_base``).
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: J. Schulman, Approximating KL Divergence, 2020 (joschu.net/blog/kl-approx.html), k1.

    >>> k1(-1.0, -1.25)
    0.25
    """
    return logp_new - logp_base


@column("k2", latex="k_2", en="k2 estimator", zh="k2 估计量", source=SCHULMAN)
def k2(k1):
    """Half the squared log-ratio: never negative, slightly biased.

    Shape: one value a token. Unit: nats.
    Equation: ``k2 = k1^2 / 2``, where ``k1`` is the log-ratio to the base.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: J. Schulman, Approximating KL Divergence, 2020 (joschu.net/blog/kl-approx.html), k2.

    >>> k2(0.5)
    0.125
    """
    return k1**2 / 2


@column(
    "π_base/π",
    latex=r"\frac{\pi_{\text{base}}}{\pi_\theta}",
    en="base ratio",
    zh="基准概率比",
    source="GRPO, arXiv:2402.03300, eq. 4",
)
def base_ratio(k1):
    """The token's probability under the base policy over that under the new one.

    Shape: one value a token. Unit: none.
    Equation: ``π_base / π = exp(-k1)``, where ``k1`` is the log-ratio to the base.
    Errors: none raised; undefined (NaN) beyond ``|k1| = 700``.
    Source: GRPO, arXiv:2402.03300, eq. 4.

    >>> round(base_ratio(0.1), 4)
    0.9048
    """
    return exp(-k1)


def k3_series(k1):
    """``k1^2/2 - k1^3/6 + ... + k1^6/720``: k3 near 0, where its closed form cancels."""
    return k1 * k1 * (1 / 2 - k1 * (1 / 6 - k1 * (1 / 24 - k1 * (1 / 120 - k1 / 720))))


@column("k3", latex="k_3", en="k3 estimator", zh="k3 估计量", source=f"{SCHULMAN}; GRPO, arXiv:2402.03300, eq. 4")
def k3(k1, base_ratio):
    """The unbiased, never negative estimate of GRPO.

    Shape: one value a token. Unit: nats.
    Equation: ``k3 = π_base / π + k1 - 1``, where ``π_base / π = exp(-k1)``; for ``|k1| < 0.01`` those terms cancel, so
    the same value is taken from its series up to ``k1^6``.
    Errors: none raised; undefined (NaN) beyond ``|k1| = 700``.
    Source: GRPO, arXiv:2402.03300, eq. 4; J. Schulman, Approximating KL Divergence, 2020
    (joschu.net/blog/kl-approx.html), k3.

    >>> from math import exp
    >>> round(k3(0.1, exp(-0.1)), 12), k3(1e-9, exp(-1e-9))
    (0.004837418036, 4.999999998333333e-19)
    """
    return near_zero(k1, k3_series, base_ratio + k1 - 1)


@column("(r-1)^2", latex="(r-1)^2", en="KL proxy", zh="KL 代理", source="the article: (pi/pi_old - 1)^2")
def kl_proxy(ratio):
    """The article's proxy: the squared distance of the ratio from 1, about twice k3 against the old policy.

    Shape: one value a token (a completion under a sequence ratio). Unit: none.
    Equation: ``(r - 1)^2``, where ``r`` is the ratio: its base is always the old policy.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: the article: (pi/pi_old - 1)^2.

    >>> round(kl_proxy(1.1), 12)
    0.01
    """
    return (ratio - 1) ** 2


@column("1", en="slope of k1 in log π", zh="k1 对 log π 的斜率", source="calculus")
def k1_slope():
    """The slope of k1 in the token's log-prob.

    Shape: one value for the batch. Unit: none.
    Equation: ``d k1 / d log π = 1``, where the base policy is fixed.
    Errors: none raised.
    Source: calculus; tests prove it against automatic differentiation.

    >>> k1_slope()
    1.0
    """
    return 1.0


@column("dk3", latex=r"\partial k_3", en="slope of k3 in log π", zh="k3 对 log π 的斜率", source="calculus")
def k3_slope(base_ratio):
    """The slope of k3 in the token's log-prob.

    Shape: one value a token. Unit: none.
    Equation: ``d k3 / d log π = 1 - exp(-k1)``, where ``exp(-k1)`` is the base ratio.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> k3_slope(0.75)
    0.25
    """
    return 1 - base_ratio


@column(
    "d(r-1)^2",
    latex=r"\partial (r-1)^2",
    en="slope of the KL proxy in log r",
    zh="KL 代理对 log r 的斜率",
    source="calculus",
)
def kl_proxy_slope(ratio):
    """The slope of the article's proxy in log r.

    Shape: one value a token (a completion under a sequence ratio). Unit: none.
    Equation: ``d (r - 1)^2 / d log r = 2 (r - 1) r``, where ``r`` is the ratio.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> kl_proxy_slope(1.5)
    1.5
    """
    return 2 * (ratio - 1) * ratio


@column("|k1|", latex="|k_1|", en="absolute log-ratio to base", zh="k1 的绝对值", source="verl 0.9.1, kl_penalty abs")
def k1_absolute(k1):
    """The absolute log-ratio to the base policy.

    Shape: one value a token. Unit: nats.
    Equation: ``|k1|``, where ``k1`` is the log-ratio to the base.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: verl 0.9.1, kl_penalty abs.

    >>> k1_absolute(-0.5)
    0.5
    """
    return absolute(k1)


@column(
    "sign k1",
    latex=r"\operatorname{sign} k_1",
    en="slope of |k1| in log π",
    zh="|k1| 对 log π 的斜率",
    source="calculus",
)
def k1_absolute_slope(k1):
    """The slope of ``|k1|`` in the token's log-prob; 0 at 0.

    Shape: one value a token. Unit: none.
    Equation: ``d |k1| / d log π = sign(k1)``, where ``k1`` is the log-ratio to the base.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> k1_absolute_slope(-0.5)
    -1.0
    """
    return sign(k1)


@column(
    "clamp(k1)",
    latex=r"\operatorname{clamp}(k_1)",
    en="k1, clamped",
    zh="k1（钳制）",
    source="verl 0.9.1, NeMo-RL: the log-ratio inside k3 held in +-20",
)
def k1_clamped(k1, kl_clamp_in):
    """k1 held in a range before it enters an estimator.

    Shape: one value a token. Unit: nats.
    Equation: ``clip(k1, -K, K)``, where ``K`` is ``kl_clamp_in``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: verl 0.9.1, NeMo-RL: the log-ratio inside k3 held in +-20.

    >>> k1_clamped(30.0, 20.0)
    20.0
    """
    return clip(k1, -kl_clamp_in, kl_clamp_in)


@column(
    "clamp(KL)",
    latex=r"\operatorname{clamp}(\mathrm{KL})",
    en="KL, clamped",
    zh="KL（钳制）",
    source="verl 0.9.1, slime, ROLL: the value held in +-10",
)
def kl_clamped(x, kl_clamp_out):
    """An estimate of the KL held in a range.

    Shape: one value a token. Unit: nats.
    Equation: ``clip(x, -K, K)``, where ``x`` is the estimate and ``K`` is ``kl_clamp_out``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: verl 0.9.1, slime, ROLL: the value held in +-10.

    >>> kl_clamped(30.0, 10.0)
    10.0
    """
    return clip(x, -kl_clamp_out, kl_clamp_out)


@column(
    "[in] dKL",
    latex=r"[\text{in}]\,\partial\mathrm{KL}",
    en="slope of the clamped KL in log π",
    zh="钳制后 KL 对 log π 的斜率",
    source="calculus",
)
def kl_clamped_slope(slope, x, k1, kl_clamp_in, kl_clamp_out):
    """A KL's slope where neither clamp holds, else 0: a clamped value does not move.

    Shape: one value a token. Unit: none.
    Equation: ``[|k1| <= K_in and |x| <= K_out] dKL``, where ``x`` is the estimate and ``dKL`` its slope.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> kl_clamped_slope(1.0, 3.0, 0.5, 20.0, 10.0), kl_clamped_slope(1.0, 30.0, 0.5, 20.0, 10.0)
    (1.0, 0.0)
    """
    return where((absolute(k1) <= kl_clamp_in) & (absolute(x) <= kl_clamp_out), slope, 0.0)


@column(
    "r KL",
    latex=r"r\,\mathrm{KL}",
    en="KL times ratio",
    zh="KL 乘概率比",
    source="DeepSeek-V3.2, arXiv:2512.02556; TRL 1.16, use_bias_correction_kl",
)
def ratio_weighted_kl(ratio, x):
    """An estimate of the KL times the ratio: unbiased when tokens come from the old policy.

    Shape: one value a token. Unit: nats.
    Equation: ``r x``, where ``r`` is the ratio and ``x`` the estimate.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: DeepSeek-V3.2, arXiv:2512.02556; TRL 1.16, use_bias_correction_kl.

    >>> ratio_weighted_kl(1.5, 0.25)
    0.375
    """
    return ratio * x


@column(
    "r dKL + KL",
    latex=r"r\,\partial\mathrm{KL} + \mathrm{KL}",
    en="slope of ratio times KL in log π",
    zh="概率比乘 KL 对 log π 的斜率",
    source="calculus",
)
def ratio_weighted_kl_slope(ratio, slope, kl_through_ratio):
    """The slope of ratio times KL in the token's log-prob.

    Shape: one value a token. Unit: none.
    Equation: ``r dKL + KL``, where ``dKL`` is the estimate's own slope and ``KL`` what comes back through the ratio:
    the weighted KL, or its mean over a sequence's tokens.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> ratio_weighted_kl_slope(1.0, 0.25, 0.5)
    0.75
    """
    return ratio * slope + kl_through_ratio


@column(
    "w (dKL + KL)",
    latex=r"w\,(\partial\mathrm{KL} + \mathrm{KL})",
    en="slope of the scored KL in log π",
    zh="带得分项的 KL 对 log π 的斜率",
    source="the score-function gradient, arXiv:2506.09477; NeMo-RL; slime, use_unbiased_kl",
)
def scored_kl_slope(score_weight, slope, x):
    """The slope of a KL times a ratio of the token's own probability, whose gradient is kept.

    Shape: one value a token. Unit: none.
    Equation: ``w (dKL + KL)``, where ``w`` is that ratio, ``KL`` the estimate and ``dKL`` its slope.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: the score-function gradient, arXiv:2506.09477; NeMo-RL; slime, use_unbiased_kl.

    >>> scored_kl_slope(1.0, 0.25, 0.5)
    0.75
    """
    return score_weight * (slope + x)


@column(
    "KL",
    latex=r"\mathrm{KL}",
    en="KL whose gradient is w k1",
    zh="梯度为 w k1 的 KL",
    source="OpenRLHF 0.11.2, unbiased_gradient",
)
def kl_by_importance(x, kl_weight_capped, k1):
    """An estimate in value, with the gradient of the reverse KL, reweighted to the old policy's tokens.

    Shape: one value a token. Unit: nats.
    Equation: ``x`` with the gradient of ``sg[w] k1^2 / 2``, where ``x`` is the estimate and ``w`` the capped ratio.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: OpenRLHF 0.11.2, unbiased_gradient.

    >>> kl_by_importance(0.25, 2.0, 0.5)
    0.25
    """
    return straight(x, stop_gradient(kl_weight_capped) * k1**2 / 2)


@column(
    "w k1",
    latex=r"w\,k_1",
    en="slope of the KL by importance",
    zh="按重要性的 KL 斜率",
    source="OpenRLHF 0.11.2, unbiased_gradient: w = min(π/π_old, 10)",
)
def kl_importance_slope(kl_weight_capped, k1):
    """The slope that stands in for the estimate's own under that gradient.

    Shape: one value a token. Unit: none.
    Equation: ``w k1``, where ``w`` is the capped ratio ``min(π / π_old, 10)``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: OpenRLHF 0.11.2, unbiased_gradient.

    >>> kl_importance_slope(2.0, 0.5)
    1.0
    """
    return kl_weight_capped * k1


@column(
    "KL",
    latex=r"\mathrm{KL}",
    en="KL whose gradient is k2's",
    zh="梯度取自 k2 的 KL",
    source="verl 0.8 and later, kl_loss_type with a +: k2 has the gradient of the KL",
)
def kl_by_k2(x, k1):
    """An estimate in value, with the gradient of k2, whose expectation is the KL's own.

    Shape: one value a token. Unit: nats.
    Equation: ``x`` with the gradient of ``k1^2 / 2``, where ``x`` is the estimate.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: verl 0.8 and later, kl_loss_type with a +.

    >>> kl_by_k2(0.5, 1.0)
    0.5
    """
    return straight(x, k1**2 / 2)
