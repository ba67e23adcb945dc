"""GMPO: the geometric mean of a completion's ratios, each clipped first on the side its advantage asks for."""

from grpo_calc.column import column
from grpo_calc.ops import above, absolute, clip, maximum, minimum, sign, where

GMPO = "GMPO, arXiv:2507.20673, eq. 4"


@column(
    "clip log r",
    latex=r"\operatorname{clip}(\log r)",
    en="log-ratio, clipped on one side",
    zh="单侧裁剪的对数比",
    source=GMPO,
)
def clipped_log_ratio(log_ratio, advantage, eps_low, eps_high):
    """The log-ratio held below ``eps_high`` where ``A > 0``, above ``-eps_low`` where ``A < 0``. One value a token.

    The bounds are in log space. Where ``A = 0`` the value is 0, as the signs of the paper's formula give it.

    >>> clipped_log_ratio(0.7, 1.0, 0.4, 0.4), clipped_log_ratio(0.7, -1.0, 0.4, 0.4)
    (0.4, 0.7)
    """
    side = sign(advantage)
    return side * minimum(side * log_ratio, side * clip(log_ratio, -eps_low, eps_high))


@column(
    "clip log r",
    latex=r"\operatorname{clip}(\log r)",
    en="log-ratio, clipped on one side",
    zh="单侧裁剪的对数比",
    source="TRL 1.16, GMPOTrainer",
)
def one_sided_log_ratio(log_ratio, advantage, eps_low, eps_high):
    """The log-ratio held below ``eps_high`` where ``A > 0``, else (``A = 0`` too) above ``-eps_low``. A value a token.

    >>> one_sided_log_ratio(0.7, 1.0, 0.4, 0.4), one_sided_log_ratio(-0.7, 0.0, 0.4, 0.4)
    (0.4, -0.4)
    """
    return where(advantage > 0, minimum(log_ratio, eps_high), maximum(log_ratio, -eps_low))


@column("clipped?", latex=r"\text{clipped}", en="log-ratio clipped", zh="对数比是否被裁剪", source=GMPO)
def log_clipped(log_ratio, clipped_log_ratio, tie_tol):
    """1 where the clipped log-ratio differs from the log-ratio by more than ``tie_tol``, else 0. One value a token.

    >>> log_clipped(0.7, 0.4, 1e-12), log_clipped(0.7, 0.7, 1e-12)
    (1.0, 0.0)
    """
    return above(absolute(log_ratio - clipped_log_ratio), tie_tol)


@column("-A s", latex="-A s", en="slope of the loss in log s", zh="损失对 log s 的斜率", source="calculus")
def geometric_slope(advantage, ratio):
    """d (-objective) / d log ratio of an objective ``ratio A`` that is not clipped: ``-A s``.

    >>> geometric_slope(2.0, 1.5)
    -3.0
    """
    return -advantage * ratio


@column(
    "[live] x", latex=r"[\text{live}]\,x", en="pull where the log-ratio moves", zh="未被裁剪处的梯度", source="calculus"
)
def geometric_pull(x, log_clipped):
    """What reaches a token through the geometric mean: ``x`` where its log-ratio is unclipped, else 0. A value a token.

    >>> geometric_pull(0.5, 0.0), geometric_pull(0.5, 1.0)
    (0.5, 0.0)
    """
    return x * (1 - log_clipped)


@column(
    "n kept",
    latex=r"n_{\text{kept}}",
    en="kept tokens of a completion",
    zh="回答中保留的 token 数",
    source="TRL 1.16, GMPOTrainer with top_entropy_quantile",
)
def kept_length(completion_kept):
    """The tokens that the geometric mean counts, at least 1. One value a completion.

    >>> kept_length(0.0)
    1.0
    """
    return maximum(completion_kept, 1.0)


@column(
    "mean log r",
    latex=r"\overline{\log r}",
    en="mean log-ratio of kept tokens",
    zh="保留 token 的平均对数比",
    source="TRL 1.16, GMPOTrainer with top_entropy_quantile",
)
def kept_mean(total, kept_length):
    """The mean over the kept tokens. One value a completion, in nats.

    >>> kept_mean(1.0, 4.0)
    0.25
    """
    return total / kept_length
