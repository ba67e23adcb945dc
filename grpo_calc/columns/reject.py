"""Rejection: tokens or completions where trained and sampling policy differ too much do not count at all."""

from grpo_calc.column import Completion, Token, column, quantity
from grpo_calc.ops import clip, exp, log, where

VERL = "verl 0.9.1, rollout_rs"

quantity("mismatch_clamp_at", "K_ρ", latex=r"K_\rho", en="clamp of the log-mismatch", zh="对数失配的钳制")
quantity("reject_low", "low", en="lower bound of a rejection", zh="拒绝的下界")
quantity("reject_high", "high", en="upper bound of a rejection", zh="拒绝的上界")


@column(
    "clamp(x)",
    latex=r"\operatorname{clamp}(x)",
    en="clamped log-mismatch",
    zh="钳制后的对数失配",
    source="verl 0.9.1: log-mismatch held in +-20",
)
def clamped_mismatch(x, mismatch_clamp_at):
    """A log-mismatch held in ``[-K, K]``. One value a row of ``x``.

    >>> clamped_mismatch(30.0, 20.0)
    20.0
    """
    return clip(x, -mismatch_clamp_at, mismatch_clamp_at)


@column("-log ρ", latex=r"-\log\rho", en="k1 of the mismatch", zh="失配的 k1", source=VERL)
def mismatch_k1(log_mismatch, mismatch_clamp_at):
    """Minus the log-mismatch: sampler against trained policy, signed. One value a token, in nats.

    >>> mismatch_k1(0.5, 20.0)
    -0.5
    """
    return -clip(log_mismatch, -mismatch_clamp_at, mismatch_clamp_at)


@column("(log ρ)^2/2", latex=r"\tfrac12(\log\rho)^2", en="k2 of the mismatch", zh="失配的 k2", source=VERL)
def mismatch_k2(mismatch_k1):
    """Half the squared log-mismatch. One value a token, in nats.

    >>> mismatch_k2(-0.5)
    0.125
    """
    return mismatch_k1**2 / 2


@column("ρ-1-log ρ", latex=r"\rho-1-\log\rho", en="k3 of the mismatch", zh="失配的 k3", source=VERL)
def mismatch_k3(mismatch_k1):
    """The unbiased, never negative estimate. One value a token, in nats.

    >>> mismatch_k3(0.0)
    0.0
    """
    return exp(-mismatch_k1) - 1 + mismatch_k1


@column("max x", latex=r"\max x", en="largest of a completion's tokens", zh="回答内最大值", source=VERL)
def max_within(x: Token, over) -> Completion:
    """The largest over a completion's tokens; 0 for an empty completion."""
    return over.max(x)


@column(
    "[in]",
    latex=r"[\text{in}]",
    en="ratio inside its bounds",
    zh="概率比在界内",
    source=f"{VERL} k1: bounds of the ratio, compared in logs",
)
def kept_between(x, reject_low, reject_high):
    """1 where ``log low <= x <= log high``, else 0. One value a row of ``x``.

    >>> kept_between(0.0, 0.5, 2.0), kept_between(1.0, 0.5, 2.0)
    (1.0, 0.0)
    """
    return where((x >= log(reject_low)) & (x <= log(reject_high)), 1.0, 0.0)


@column("[in]", latex=r"[\text{in}]", en="divergence at most its bound", zh="散度不超过上界", source=f"{VERL} k2, k3")
def kept_at_most(x, reject_high):
    """1 where ``x <= high``, else 0. One value a row of ``x``.

    >>> kept_at_most(1.0, 1.0), kept_at_most(1.1, 1.0)
    (1.0, 0.0)
    """
    return where(x <= reject_high, 1.0, 0.0)


@column("both", latex=r"\cdot", en="counts by both rules", zh="同时满足", source=VERL)
def kept_by_both(x, y):
    """1 where both are 1. One value a row.

    >>> kept_by_both(1.0, 0.0)
    0.0
    """
    return x * y


@column("m", en="not rejected", zh="未被拒绝", source=VERL)
def not_rejected(x, logp_new) -> Token:  # noqa: ARG001  (a token column, so that a completion's flag is spread)
    """A completion's flag for each of its tokens, or a token's own. One value a token."""
    return x
