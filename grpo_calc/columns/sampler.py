"""Correction for tokens sampled by another engine than the one trained: weights from old against sampler log-probs."""

from grpo_calc.column import Completion, Token, column, quantity
from grpo_calc.ops import clip, exp, where

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


@column("mean log ρ", latex=r"\overline{\log\rho}", en="completion's mean log-mismatch", zh="回答的平均对数失配", source="ms-swift: geometric mean")
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
