"""Which tokens count: a 0/1 column that every reduction of tokens goes by. Without one, all of them count."""

from grpo_calc.column import Token, column, quantity
from grpo_calc.ops import where

quantity("counted", "m", en="counts (0/1)", zh="是否计入（0/1）")


@column(
    "m", en="not masked", zh="未被掩码", source="a mask that is kept: masked tokens stay in the table with weight 0"
)
def unmasked(mask) -> Token:
    """1 where the mask keeps a token, else 0: a masked token is shown, and adds nothing. One value a token."""
    return mask


@column("m", en="not dropped", zh="未被剔除", source="ROLL, final_response_mask: samples that a filter drops")
def not_dropped(dropped) -> Token:
    """1 for the tokens of a completion that no filter dropped, else 0. One value a token.

    >>> not_dropped(1.0)
    0.0
    """
    return 1 - dropped


@column("m", en="close to the old policy", zh="接近旧策略", source="torchrl 0.14.1, kl_mask_threshold")
def near_old(log_ratio, drift_limit) -> Token:
    """1 where half the squared log-ratio is at most the limit, else 0: the token does not count. One value a token.

    >>> near_old(0.5, 0.2), near_old(1.0, 0.2)
    (1.0, 0.0)
    """
    return where(log_ratio**2 / 2 <= drift_limit, 1.0, 0.0)


@column("[m] x", latex=r"[m]\,x", en="where the token counts", zh="仅计入的 token", source="calculus")
def where_counted(x, counted) -> Token:
    """A value where the token counts, else 0: a token that adds nothing to the loss has no gradient. One value a token.

    >>> where_counted(2.0, 1.0), where_counted(float("nan"), 0.0)
    (2.0, 0.0)
    """
    return where(counted > 0, x, 0.0)


@column("m", en="its completion counts", zh="所在回答计入", source="ms-swift 4.6, off_policy_sequence_mask_delta")
def completion_counts(on_policy_enough) -> Token:
    """1 for each token of a completion that counts, else 0. One value a token.

    >>> completion_counts(1.0)
    1.0
    """
    return on_policy_enough
