"""Correction for tokens sampled by another engine than the one trained: weights from old against sampler log-probs."""

from grpo_calc.column import Completion, Token, column, quantity
from grpo_calc.ops import clip, exp, log, where

TIS = "truncated importance sampling, TRL 1.16 and verl 0.9.1"

quantity("sampler_weight", "w_sam", latex=r"w_{\text{sam}}", en="sampler correction", zh="采样引擎修正权重")


@column("log ρ", latex=r"\log\rho", en="log-mismatch", zh="对数失配", source=TIS)
def log_mismatch(logp_old, logp_sampler):
    """Log-prob of the trainer's old policy minus that of the sampling engine: one value a token, in nats.

    >>> log_mismatch(-1.0, -1.5)
    0.5
    """
    return logp_old - logp_sampler


@column("Σ log ρ", latex=r"\Sigma\log\rho", en="completion's log-mismatch", zh="回答的对数失配之和", source=TIS)
def log_mismatch_sum(log_mismatch: Token, over) -> Completion:
    """The sum of a completion's log-mismatches: the log of the product of its token weights."""
    return over.sum(log_mismatch)


@column(
    "mean log ρ",
    latex=r"\overline{\log\rho}",
    en="completion's mean log-mismatch",
    zh="回答的平均对数失配",
    source="ms-swift: geometric mean",
)
def log_mismatch_mean(log_mismatch: Token, over) -> Completion:
    """The mean of a completion's log-mismatches: the log of the geometric mean of its token weights."""
    return over.mean(log_mismatch)


@column("ρ", latex=r"\rho", en="mismatch weight", zh="失配权重", source=TIS)
def mismatch(x):
    """``exp`` of a log-mismatch: of a token, of a completion's sum (product) or mean (geometric mean).

    >>> mismatch(0.0)
    1.0
    """
    return exp(x)


@column("clip(ρ)", latex=r"\operatorname{clip}(\rho)", en="truncated weight", zh="截断权重", source=TIS)
def truncated_weight(x, sampler_floor, sampler_cap):
    """A weight held below the cap, and above the floor where there is one. One value a row of ``x``.

    >>> truncated_weight(5.0, 0.0, 2.0)
    2.0
    """
    return clip(x, sampler_floor, sampler_cap)


@column("ρ [ρ≤C]", latex=r"\rho\,[\rho\le C]", en="masked weight", zh="掩码权重", source=TIS)
def masked_weight(x, sampler_floor, sampler_cap):
    """A weight where it is between floor and cap, else 0: the token or completion is left out.

    >>> masked_weight(5.0, 0.0, 2.0), masked_weight(1.5, 0.0, 2.0)
    (0.0, 1.5)
    """
    return where((x >= sampler_floor) & (x <= sampler_cap), x, 0.0)


quantity("sampler_mean", "mean w", latex=r"\bar w", en="mean sampler correction", zh="采样修正的均值")
quantity("log_weight", "log ρ", latex=r"\log\rho", en="log-mismatch of the correction", zh="修正用的对数失配")


@column(
    "w/mean w",
    latex=r"w/\bar w",
    en="correction over its mean",
    zh="修正除以均值",
    source="verl 0.7 and later, rollout_is_batch_normalize",
)
def over_mean(x, sampler_mean):
    """A weight over the mean weight of the batch, so that the mean becomes 1; as it is where the mean is 0.

    >>> over_mean(1.0, 0.5)
    2.0
    """
    return where(sampler_mean > 1e-8, x / where(sampler_mean > 1e-8, sampler_mean, 1.0), x)


@column(
    "log(w+eps)",
    latex=r"\log(w+\varepsilon)",
    en="log of the correction",
    zh="修正的对数",
    source="verl 0.9.1, geo_mean: log(w + 1e-10)",
)
def log_weight_plus(sampler_weight):
    """The log of a sampler correction plus 1e-10: a masked one stays finite. One value a row.

    >>> round(log_weight_plus(1.0), 9)
    0.0
    """
    return log(sampler_weight + 1e-10)
