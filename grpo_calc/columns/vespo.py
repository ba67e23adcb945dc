"""VESPO: each sequence's policy gradient weighted by a gamma-shaped function of its importance weight."""

from grpo_calc.column import Completion, Token, column
from grpo_calc.ops import clip, exp, log, maximum, where

VESPO = "VESPO as TRL 1.16 has it (loss_type=vespo, get_gamma_weights)"


@column("clamp(log r)", latex=r"\operatorname{clamp}(\log r)", en="clamped log-ratio", zh="钳制的对数比", source=VESPO)
def clamped_log_ratio(log_ratio, log_ratio_clamp):
    """The log-ratio held in ``[-K, K]``. One value a token, in nats.

    >>> clamped_log_ratio(30.0, 20.0)
    20.0
    """
    return clip(log_ratio, -log_ratio_clamp, log_ratio_clamp)


@column("Σ log r", latex=r"\Sigma\log r", en="sequence log-weight", zh="序列对数权重", source=VESPO)
def clamped_log_ratio_sum(clamped_log_ratio: Token, over) -> Completion:
    """The sum of a completion's clamped log-ratios. One value a completion, in nats."""
    return over.sum(clamped_log_ratio)


@column(
    "log w_sam", latex=r"\log w_{\text{sam}}", en="log of the sampler correction", zh="采样修正的对数", source=VESPO
)
def log_sampler_weight(sampler_weight):
    """The log of the sampler correction, held in ``[ln 1e-8, 20]``: a masked one (0) counts as 1e-8. One value a row.

    >>> log_sampler_weight(1.0)
    0.0
    """
    return clip(log(maximum(sampler_weight, 1e-8)), log(1e-8), 20.0)


@column("0", en="no correction", zh="无修正", source=VESPO)
def no_correction():
    """Nothing is added to the log-weight: no sampler correction."""
    return 0.0


@column("log w", latex=r"\log w", en="log of the importance weight", zh="重要性权重的对数", source=VESPO)
def vespo_log_weight(clamped_log_ratio_sum, vespo_correction):
    """The log of a sequence's importance weight, held in ``[ln 1e-8, 20]``. One value a completion.

    >>> vespo_log_weight(0.5, 0.25)
    0.75
    """
    return clip(clamped_log_ratio_sum + vespo_correction, log(1e-8), 20.0)


@column("φ", latex=r"\varphi", en="gamma weight", zh="gamma 权重", source=VESPO)
def vespo_weight(vespo_log_weight, advantage, vespo_k_pos, vespo_lambda_pos, vespo_k_neg, vespo_lambda_neg):
    """``w^k exp(lambda (1 - w))``: 1 at ``w = 1``, small for weights far from it; k and lambda by the sign of A.

    One value a completion; a weight under ``exp(-700)`` is shown as that, not as 0.

    >>> vespo_weight(0.0, 1.0, 2.0, 3.0, 3.0, 2.0)
    1.0
    """
    k = where(advantage >= 0, vespo_k_pos, vespo_k_neg)
    rate = maximum(where(advantage >= 0, vespo_lambda_pos, vespo_lambda_neg), 1e-4)
    return exp(maximum(rate + k * vespo_log_weight - rate * exp(vespo_log_weight), -700.0))
