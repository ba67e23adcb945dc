"""The reward of what is still to come, token by token: a completion's reward at its last token, carried backwards."""

from grpo_calc.column import Token, column, quantity
from grpo_calc.ops import where

REINFORCE_PP = "REINFORCE++, arXiv:2501.03262, sec. 3"

quantity("gap", "gap", en="places to the next token (0 at the last)", zh="到下一个 token 的位置数（末尾为 0）")
quantity("gamma", "γ", latex=r"\gamma", en="discount a token", zh="每个 token 的折扣")
quantity("to_go_step", "γ_t", latex=r"\gamma_t", en="step to the next token", zh="到下一个 token 的折扣")
quantity("@below", "G below", latex="G_{t+1}", en="the same, one row below", zh="下一行的同一列")


@column("R_t", latex="R_t", en="reward of a token", zh="token 的奖励", source=REINFORCE_PP)
def token_reward(reward, gap):
    """The completion's reward at its last token, 0 before it. One value a token, in units of the reward.

    >>> token_reward(1.0, 0.0), token_reward(1.0, 1.0)
    (1.0, 0.0)
    """
    return where(gap > 0, 0.0, reward)


@column(
    "γ",
    latex=r"\gamma",
    en="step to the next kept token",
    zh="到下一个保留 token 的折扣",
    source=f"{REINFORCE_PP}; verl 0.9",
)
def carried_step(gap, gamma):
    """The discount to the next kept token, however far it is; 0 at the last. One value a token.

    >>> carried_step(3.0, 0.9), carried_step(0.0, 0.9)
    (0.9, 0.0)
    """
    return where(gap > 0, gamma, 0.0)


@column(
    "γ^gap",
    latex=r"\gamma^{\text{gap}}",
    en="step over the gap",
    zh="跨过间隔的折扣",
    source="OpenRLHF 0.11.2, get_cumulative_returns: every position discounts",
)
def distance_step(gap, gamma):
    """The discount to the next token that counts, one factor a position in between; 0 at the last. One value a token.

    >>> distance_step(2.0, 0.5), distance_step(0.0, 0.5)
    (0.25, 0.0)
    """
    return where(gap > 0, gamma**gap, 0.0)


@column(
    "γ or 0",
    latex=r"\gamma\,[\text{gap}=1]",
    en="step to the next place",
    zh="到下一位置的折扣",
    source="verl <= 0.8, a bug: what is to come is lost at a masked token",
)
def reset_step(gap, gamma):
    """The discount to the next token if it stands in the next place, else 0. One value a token.

    >>> reset_step(1.0, 0.9), reset_step(2.0, 0.9)
    (0.9, 0.0)
    """
    return where((gap > 0) & (gap <= 1), gamma, 0.0)


@column(
    "γ or 1",
    latex=r"\gamma_t",
    en="step past a token that does not count",
    zh="跨过不计入 token 的折扣",
    source="verl 0.9",
)
def step_past(x, gap, counted):
    """A step at a token that counts; at one that does not, what is to come passes undiscounted. One value a token.

    >>> step_past(0.9, 1.0, 1.0), step_past(0.9, 1.0, 0.0), step_past(0.0, 0.0, 0.0)
    (0.9, 1.0, 0.0)
    """
    return where(counted > 0, x, where(gap > 0, 1.0, 0.0))


@column("G", en="reward to go", zh="后续奖励", source=REINFORCE_PP)
def reward_to_go(token_reward: Token, to_go_step: Token, over) -> Token:
    """The discounted reward from this token on: ``G_t = R_t + γ_t G_(t+1)``. One value a token."""
    return over.to_go(token_reward, to_go_step)


@column(
    "R - βKL",
    latex=r"R_t - \beta_R\,\mathrm{KL}_t",
    en="reward less KL",
    zh="减去 KL 的奖励",
    source="RLHF, arXiv:2203.02155, eq. 2; verl, use_kl_in_reward",
)
def penalised_token_reward(x, reward_beta, reward_kl):
    """A token's reward minus a coefficient times its KL of old policy from reference. One value a token.

    >>> penalised_token_reward(1.0, 0.5, 0.5)
    0.75
    """
    return x - reward_beta * reward_kl
