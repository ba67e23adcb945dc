"""Gates of the sampler correction: statistics of trained against sampling policy, and the band that keeps a weight."""

from grpo_calc.column import column, quantity
from grpo_calc.ops import absolute, clip, exp, log, sign, where

OPENRLHF = "OpenRLHF 0.11.2, is_correction_gating"
OPEN_INSTRUCT = "open-instruct, rho_mask"

quantity("gate_statistic", "q", en="statistic of the gate", zh="门的统计量")
quantity("gate_low", "q_low", latex=r"q_{\text{low}}", en="lower bound of the gate", zh="门的下界")
quantity("gate_high", "q_high", latex=r"q_{\text{high}}", en="upper bound of the gate", zh="门的上界")


@column(
    "π held",
    latex=r"\operatorname{clip}(\pi)",
    en="probability, held off 0 and 1",
    zh="概率（远离 0 与 1）",
    source=f"{OPENRLHF}: held in [1e-6, 1 - 1e-6]",
)
def held_probability(x):
    """The probability of a log-prob, held in ``[1e-6, 1 - 1e-6]`` so that logarithms stay finite. One value a token.

    >>> held_probability(0.0)
    0.999999
    """
    return clip(exp(x), 1e-6, 1 - 1e-6)


@column(
    "KL_2",
    latex=r"\mathrm{KL}_2",
    en="binary KL of the sampled token",
    zh="采样 token 的二元 KL",
    source=f"{OPENRLHF} binary_kl",
)
def sampled_binary_kl(sampler_probability, old_probability):
    """KL of the sampling from the trained policy with two outcomes, this token or another. One value a token, in nats.

    >>> sampled_binary_kl(0.5, 0.5)
    0.0
    """
    this = sampler_probability * log(sampler_probability / old_probability)
    return this + (1 - sampler_probability) * log((1 - sampler_probability) / (1 - old_probability))


@column(
    "TV_2",
    latex=r"\mathrm{TV}_2",
    en="probability difference of the sampled token",
    zh="采样 token 的概率之差",
    source=f"{OPENRLHF} tv",
)
def sampled_total_variation(sampler_probability, old_probability):
    """The absolute difference of the two probabilities. One value a token.

    >>> sampled_total_variation(0.5, 0.75)
    0.25
    """
    return absolute(sampler_probability - old_probability)


@column(
    "|ρ-1|",
    latex=r"|\rho-1|",
    en="distance of the mismatch from 1",
    zh="失配与 1 的距离",
    source=f"{OPEN_INSTRUCT}_tv_divergence",
)
def mismatch_deviation(mismatch):
    """The absolute distance of a token's mismatch weight from 1. One value a token.

    >>> mismatch_deviation(1.5)
    0.5
    """
    return absolute(mismatch - 1)


@column("open", latex=r"[\text{in}]", en="statistic in the band", zh="统计量在界内", source=OPENRLHF)
def gate_open(gate_statistic, gate_low, gate_high):
    """1 where ``low <= statistic <= high``, else 0. One value a row of the statistic.

    >>> gate_open(1.0, 0.5, 2.0), gate_open(3.0, 0.5, 2.0)
    (1.0, 0.0)
    """
    return where((gate_statistic >= gate_low) & (gate_statistic <= gate_high), 1.0, 0.0)


@column(
    "open or back",
    latex=r"[\text{in or back}]",
    en="in the band, or moving back to it",
    zh="在界内或正在返回",
    source=f"{OPEN_INSTRUCT}_tv_divergence",
)
def gate_open_or_back(gate_open, log_mismatch, advantage):
    """1 where the gate is open, or where the update does not move the policies further apart. One value a token.

    >>> gate_open_or_back(0.0, 0.5, 1.0), gate_open_or_back(0.0, 0.5, -1.0)
    (0.0, 1.0)
    """
    return where(sign(log_mismatch) * advantage > 0, gate_open, 1.0)


@column("w [in]", latex=r"w\,[\text{in}]", en="gated weight", zh="过门后的权重", source=OPENRLHF)
def gated_weight(x, gate_open):
    """A weight where the gate is open, else 0. One value a token.

    >>> gated_weight(1.5, 0.0)
    0.0
    """
    return where(gate_open > 0, x, 0.0)


@column(
    "w held",
    latex=r"\operatorname{clip}(w)",
    en="weight, held where the gate is shut",
    zh="门外钳制的权重",
    source="AReaL 1.0.4, rejection_sampling action clamp",
)
def held_beyond(x, gate_open, sampler_floor, sampler_cap):
    """A weight where the gate is open, else held between floor and cap. One value a row.

    >>> held_beyond(5.0, 0.0, 0.0, 2.0), held_beyond(5.0, 1.0, 0.0, 2.0)
    (2.0, 5.0)
    """
    return where(gate_open > 0, x, clip(x, sampler_floor, sampler_cap))
