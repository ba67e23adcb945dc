"""Objectives that do not take a min: CISPO, SAPO, and the plain policy gradient."""

from grpo_calc.column import column, quantity
from grpo_calc.ops import above, clip, exp, maximum, minimum, stop_gradient, where

CISPO = "CISPO, MiniMax-M1, arXiv:2506.13585, eq. 4"
SAPO = "SAPO, arXiv:2511.20347"

quantity("cispo_weight", "w", en="CISPO weight", zh="CISPO 权重")


@column("clip(r)", latex=r"\operatorname{clip}(r)", en="CISPO weight", zh="CISPO 权重", source=CISPO)
def cispo_clip_weight(ratio, eps_low, eps_high):
    """The ratio held in ``[1 - eps_low, 1 + eps_high]``, a weight without gradient. One value a token.

    >>> cispo_clip_weight(5.0, 1.0, 1.0)
    2.0
    """
    return clip(ratio, 1 - eps_low, 1 + eps_high)


@column(
    "min(r,cap)",
    latex=r"\min(r,\text{cap})",
    en="CISPO weight, absolute cap",
    zh="CISPO 权重（绝对上限）",
    source="TRL 1.16, loss_type cispo: epsilon_high is the cap itself",
)
def cispo_cap_weight(ratio, ratio_cap):
    """The ratio with an absolute upper cap, a weight without gradient. One value a token.

    >>> cispo_cap_weight(5.0, 2.0)
    2.0
    """
    return minimum(ratio, ratio_cap)


@column("w A log π", latex=r"w A \log\pi", en="CISPO objective", zh="CISPO 目标", source=CISPO)
def cispo_objective(cispo_weight, advantage, logp_new):
    """Weight times advantage times log-prob: every token keeps its gradient. One value a token.

    >>> cispo_objective(2.0, 1.0, -0.5)
    -1.0
    """
    return stop_gradient(cispo_weight) * advantage * logp_new


@column("-w A", latex="-w A", en="slope of the CISPO loss in log π", zh="CISPO 损失对 log π 的斜率", source="calculus")
def cispo_slope(cispo_weight, advantage):
    """d (-objective) / d log π of CISPO: ``-w A``, one value a token.

    >>> cispo_slope(2.0, 1.0)
    -2.0
    """
    return -cispo_weight * advantage


@column("capped?", latex=r"\text{capped}", en="weight capped", zh="权重是否到上限", source=CISPO)
def cispo_capped(ratio, cispo_weight, tie_tol):
    """1 where the weight differs from the ratio by more than ``tie_tol``, else 0. One value a token.

    >>> cispo_capped(5.0, 2.0, 1e-12)
    1.0
    """
    return above(maximum(ratio - cispo_weight, cispo_weight - ratio), tie_tol)


@column("gate", latex=r"\sigma", en="SAPO gate", zh="SAPO 软门", source=SAPO)
def sapo_gate(ratio, advantage, tau_pos, tau_neg):
    """The soft gate ``1 / (1 + exp(-tau (r - 1)))``, tau by the sign of the advantage. One value a token, in (0, 1).

    >>> sapo_gate(1.0, 1.0, 1.0, 1.05)
    0.5
    """
    return 1 / (1 + exp(maximum(where(advantage > 0, tau_pos, tau_neg) * (1 - ratio), -700.0)))


@column("4σA/τ", latex=r"\frac{4}{\tau}\sigma A", en="SAPO objective", zh="SAPO 目标", source=SAPO)
def sapo_objective(sapo_gate, advantage, tau_pos, tau_neg):
    """The gate, scaled so that its slope at ratio 1 is that of the ratio, times the advantage. One value a token.

    >>> sapo_objective(0.5, 1.0, 1.0, 1.05)
    2.0
    """
    return sapo_gate * 4 / where(advantage > 0, tau_pos, tau_neg) * advantage


@column(
    "-4σ(1-σ)rA",
    latex=r"-4\sigma(1-\sigma) r A",
    en="slope of the SAPO loss in log r",
    zh="SAPO 损失对 log r 的斜率",
    source="calculus",
)
def sapo_slope(sapo_gate, advantage, ratio):
    """d (-objective) / d log r of SAPO: ``-4 σ (1 - σ) r A``, one value a token.

    >>> sapo_slope(0.5, 1.0, 1.0)
    -1.0
    """
    return -4 * sapo_gate * (1 - sapo_gate) * ratio * advantage


@column(
    "A log π",
    latex=r"A\log\pi",
    en="policy-gradient objective",
    zh="策略梯度目标",
    source="REINFORCE; GPG, arXiv:2504.02546",
)
def policy_gradient_objective(advantage, logp_new):
    """Advantage times log-prob, no ratio and no clip. One value a token.

    >>> policy_gradient_objective(2.0, -0.5)
    -1.0
    """
    return advantage * logp_new


@column(
    "-A",
    latex="-A",
    en="slope of the policy-gradient loss in log π",
    zh="策略梯度损失对 log π 的斜率",
    source="calculus",
)
def policy_gradient_slope(advantage):
    """d (-objective) / d log π of the plain policy gradient: ``-A``.

    >>> policy_gradient_slope(2.0)
    -2.0
    """
    return -advantage


@column(
    "A log π - β(log r)^2/2",
    latex=r"A\log\pi - \tfrac{\beta}{2}(\log r)^2",
    en="DRO objective",
    zh="DRO 目标",
    source="DRO, arXiv:2405.19107, eq. 9; verl 0.9, loss_mode dro",
)
def dro_objective(advantage, logp_new, log_ratio, dro_beta):
    """Advantage times log-prob minus a quadratic penalty of the log-ratio. One value a token.

    >>> dro_objective(1.0, -1.0, 1.0, 0.5)
    -1.25
    """
    return advantage * logp_new - dro_beta / 2 * log_ratio**2


@column(
    "βlog r - A",
    latex=r"\beta\log r - A",
    en="slope of the DRO loss in log π",
    zh="DRO 损失对 log π 的斜率",
    source="calculus",
)
def dro_slope(advantage, log_ratio, dro_beta):
    """d (-objective) / d log π of DRO: ``β log r - A``. One value a token.

    >>> dro_slope(1.0, 1.0, 0.5)
    -0.5
    """
    return dro_beta * log_ratio - advantage
