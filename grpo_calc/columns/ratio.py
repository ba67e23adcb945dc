"""The probability ratio of new and old policy: of a token, or of a whole sequence."""

from grpo_calc.column import Completion, Token, column
from grpo_calc.ops import exp


@column("log r", latex=r"\log r", en="log-ratio", zh="对数比", source="PPO, arXiv:1707.06347, sec. 3")
def log_ratio(logp_new, logp_old):
    """The log of the probability ratio.

    One value a token, in nats: ``log r = log π - log π_old``, where ``log π`` is the log-prob of the sampled token under
    the policy being trained and ``log π_old`` under the policy that the batch was scored with. Source: PPO, sec. 3.

    >>> log_ratio(-1.0, -1.5)
    0.5
    """
    return logp_new - logp_old


@column("r", en="ratio", zh="概率比", source="PPO, arXiv:1707.06347, sec. 3, eq. 6")
def ratio(log_ratio):
    """The probability ratio.

    One value a token, no unit: ``r = exp(log r) = π / π_old``. Undefined (NaN) beyond ``|log r| = 700``.
    Source: PPO, eq. 6.

    >>> round(ratio(0.1), 4)
    1.1052
    """
    return exp(log_ratio)


@column("mean log r", latex=r"\overline{\log r}", en="mean log-ratio", zh="平均对数比", source="GSPO, arXiv:2507.18071, eq. 7")
def mean_log_ratio(log_ratio: Token, over) -> Completion:
    """The mean log-ratio of a completion: the log of the geometric mean of its ratios.

    One value a completion, in nats: ``(1/n) Σ_t log r_t`` over its ``n`` kept tokens; 0 where it has none.
    Source: GSPO, eq. 7.
    """
    return over.mean(log_ratio)


@column("s", en="sequence ratio", zh="序列概率比", source="GSPO, arXiv:2507.18071, eq. 7")
def sequence_ratio(mean_log_ratio):
    """The length-normalised sequence ratio.

    One value a completion, no unit: ``s = exp((1/n) Σ_t log r_t)``. Source: GSPO, eq. 7.

    >>> sequence_ratio(0.0)
    1.0
    """
    return exp(mean_log_ratio)


@column("mean r", latex=r"\bar r", en="mean ratio", zh="平均概率比", source="grpo-calc, a diagnostic")
def mean_ratio(ratio: Token, over) -> Completion:
    """The mean ratio of a completion's tokens, a diagnostic: one value a completion, no unit, ``(1/n) Σ_t r_t``."""
    return over.mean(ratio)
