"""Whitening: an advantage centred and scaled by all tokens of the batch, each weighing the same."""

from grpo_calc.column import Batch, Completion, Token, column, quantity
from grpo_calc.ops import maximum, single, sqrt

VERL = "verl, masked_whiten; REINFORCE++, arXiv:2501.03262, sec. 3"

quantity("advantage_before_whiten", "A_0", latex="A_0", en="advantage before whitening", zh="白化前的优势")
quantity("advantage_length", "n", en="tokens of a completion", zh="回答的 token 数")
quantity("advantage_tokens", "N", en="tokens", zh="token 数")
quantity("whiten_sum", "Σ A_0", latex=r"\Sigma A_0", en="completion's sum before whitening", zh="回答内求和（白化前）")
quantity("whiten_mean", "mean A_0", latex=r"\bar A_0", en="token mean before whitening", zh="白化前的 token 均值")
quantity("whiten_square", "dev^2", latex="(A_0-\\bar A_0)^2", en="squared deviation", zh="离差平方")
quantity(
    "whiten_square_sum",
    "Σ dev^2",
    latex=r"\Sigma (A_0-\bar A_0)^2",
    en="completion's squared deviations",
    zh="回答内离差平方和",
)
quantity(
    "whiten_variance",
    "var A_0",
    latex=r"\operatorname{var} A_0",
    en="token variance before whitening",
    zh="白化前的 token 方差",
)
quantity("whiten_std", "std A_0", latex=r"\sigma_{A_0}", en="token std before whitening", zh="白化前的 token 标准差")
quantity(
    "whiten_eps",
    "var_eps",
    latex=r"\varepsilon_{\text{var}}",
    en="small number beside the variance",
    zh="方差中的平滑项",
)


@column(
    "Σ x/(N+eps)", latex=r"\frac{\Sigma x}{N+\varepsilon_N}", en="mean over tokens", zh="按 token 的均值", source=VERL
)
def token_mean(x: Completion, advantage_tokens, length_eps, over) -> Batch:
    """Completions' sums over the number of tokens plus a small number."""
    return over.sum(x) / (advantage_tokens + length_eps)


@column("(x-m)^2", latex=r"(x-\bar x)^2", en="squared deviation", zh="离差平方", source=VERL)
def squared_deviation(x, mean):
    """The squared distance from a mean. One value a row of ``x``.

    >>> squared_deviation(3.0, 1.0)
    4.0
    """
    return (x - mean) ** 2


@column(
    "x f32",
    latex=r"x_{32}",
    en="in single precision",
    zh="单精度",
    source="OpenRLHF 0.11.2: advantages.float() before whitening",
    live=False,
)
def in_single(x) -> Token:
    """A value rounded to single precision. One value a token."""
    return single(x)


@column(
    "(x-m)^2 f32",
    latex=r"(x-\bar x)^2_{32}",
    en="squared deviation in single precision",
    zh="单精度离差平方",
    source="OpenRLHF 0.11.2: whitening's variance",
    live=False,
)
def squared_deviation_single(x, mean):
    """The squared distance from a mean, each step rounded to single precision. One value a row of ``x``."""
    return single(single(x - single(mean)) ** 2)


@column(
    "var", latex=r"\operatorname{var}", en="variance over tokens", zh="按 token 的方差", source=f"{VERL}: divisor N - 1"
)
def token_variance(x: Completion, advantage_tokens, length_eps, over) -> Batch:
    """The variance of all tokens from completions' squared deviations: ``Σ x / (N + eps) * N / (N - 1)``."""
    return over.sum(x) / (advantage_tokens + length_eps) * (advantage_tokens / maximum(advantage_tokens - 1, 1.0))


@column(
    "white A",
    latex=r"\frac{A_0-\bar A_0}{\sqrt{\max(\operatorname{var},\varepsilon)}}",
    en="whitened advantage",
    zh="白化后的优势",
    source="OpenRLHF 0.11.2, RemoteExperienceMaker: rsqrt(max(var, 1e-8))",
)
def whitened_floored(x, whiten_mean, whiten_variance, whiten_eps):
    """An advantage minus the token mean, over the root of the token variance, not below a floor.

    >>> whitened_floored(3.0, 1.0, 4.0, 0.0)
    1.0
    """
    return (x - whiten_mean) / sqrt(maximum(whiten_variance, whiten_eps))


@column(
    "white A",
    latex=r"\frac{A_0-\bar A_0}{\sqrt{\operatorname{var}+\varepsilon}}",
    en="whitened advantage",
    zh="白化后的优势",
    source=VERL,
)
def whitened(x, whiten_mean, whiten_variance, whiten_eps):
    """An advantage minus the token mean, over the root of the token variance plus a small number.

    >>> whitened(3.0, 1.0, 4.0, 0.0)
    1.0
    """
    return (x - whiten_mean) / sqrt(whiten_variance + whiten_eps)


@column("sqrt x", latex=r"\sqrt{x}", en="square root", zh="平方根", source="calculus")
def root(x):
    """The square root of a variance: a standard deviation.

    >>> root(4.0)
    2.0
    """
    return sqrt(x)
