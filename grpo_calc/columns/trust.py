"""Trust by divergence: a token whose probability moved too far in the direction its advantage asks for is left out."""

from grpo_calc.column import column, quantity
from grpo_calc.ops import exp, log, where

DPPO = "DPPO, arXiv:2602.04879"

quantity("gate", "gate", en="gate of a token (no gradient through it)", zh="token 的门（不传梯度）")
quantity("trust_low", "δ_low", latex=r"\delta_{\text{low}}", en="divergence allowed, A <= 0", zh="允许的散度（A <= 0）")
quantity(
    "trust_high", "δ_high", latex=r"\delta_{\text{high}}", en="divergence allowed, A > 0", zh="允许的散度（A > 0）"
)


@column("Δπ", latex=r"\Delta\pi", en="probability difference", zh="概率之差", source=DPPO)
def probability_difference(logp_new, logp_old):
    """New minus old probability of the token: one value a token, in (-1, 1).

    >>> probability_difference(0.0, 0.0)
    0.0
    """
    return exp(logp_new) - exp(logp_old)


@column(
    "[TV]",
    latex=r"[\mathrm{TV}]",
    en="inside the total-variation bound",
    zh="全变差界内",
    source=f"{DPPO}, binary TV; verl 0.9.1, dppo_tv; prime-rl",
)
def inside_total_variation(probability_difference, advantage, trust_low, trust_high):
    """1 unless the probability rose by more than ``trust_high`` (``A > 0``) or fell by more than ``trust_low`` (else).

    >>> inside_total_variation(0.3, 1.0, 0.1, 0.1), inside_total_variation(0.3, -1.0, 0.1, 0.1)
    (0.0, 1.0)
    """
    inside = where(advantage > 0, trust_high - probability_difference, probability_difference + trust_low)
    return where(inside >= 0, 1.0, 0.0)


@column(
    "KL_2",
    latex=r"\mathrm{KL}_2",
    en="binary KL",
    zh="二元 KL",
    source=f"{DPPO}, binary KL; verl 0.9.1, dppo_kl: 1e-8 inside the logarithm",
)
def binary_kl(logp_new, logp_old):
    """KL of old from new policy with two outcomes, this token or another. One value a token, in nats.

    >>> binary_kl(-1.0, -1.0)
    0.0
    """
    other = (1 - exp(logp_old)) * log((1 - exp(logp_old) + 1e-8) / (1 - exp(logp_new) + 1e-8))
    return exp(logp_old) * (logp_old - logp_new) + other


@column(
    "[KL]",
    latex=r"[\mathrm{KL}]",
    en="inside the KL bound",
    zh="KL 界内",
    source=f"{DPPO}, binary KL; verl 0.9.1, dppo_kl",
)
def inside_binary_kl(binary_kl, probability_difference, advantage, trust_low, trust_high):
    """1 unless the binary KL is above its bound and the probability moved the way A asks. One value a token.

    >>> inside_binary_kl(0.3, 0.2, 1.0, 0.1, 0.1), inside_binary_kl(0.3, 0.2, -1.0, 0.1, 0.1)
    (0.0, 1.0)
    """
    rose = where((binary_kl <= trust_high) | (probability_difference <= 0), 1.0, 0.0)
    fell = where((binary_kl <= trust_low) | (probability_difference >= 0), 1.0, 0.0)
    return where(advantage > 0, rose, fell)
