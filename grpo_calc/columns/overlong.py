"""The soft penalty of long completions, taken together with the reward."""

from grpo_calc.column import column, quantity
from grpo_calc.ops import clip

quantity(
    "overlong_max", "L_max", latex=r"L_{\max}", en="length from which the penalty is whole", zh="惩罚达到最大的长度"
)
quantity(
    "overlong_cache",
    "L_cache",
    latex=r"L_{\text{cache}}",
    en="lengths over which the penalty grows",
    zh="惩罚递增的长度区间",
)


@column(
    "R_len", latex=r"R_{\text{length}}", en="overlong penalty", zh="过长惩罚", source="DAPO, arXiv:2503.14476, eq. 13"
)
def overlong_penalty(length, overlong_max, overlong_cache):
    """0 up to ``L_max - L_cache`` tokens, from there linearly to -1 at ``L_max``, and -1 beyond.

    It starts at ``L_max - L_cache``, not at ``L_cache`` nor at ``L_max``.

    Shape: one value a completion. Unit: that of the reward, to which it is added.
    Equation: ``clip((L_max - L_cache - n) / L_cache, -1, 0)``, where ``n`` is the number of kept tokens.
    Errors: none raised.
    Source: DAPO, arXiv:2503.14476, eq. 13.

    >>> overlong_penalty(80.0, 100.0, 20.0), overlong_penalty(85.0, 100.0, 20.0), overlong_penalty(101.0, 100.0, 20.0)
    (0.0, -0.25, -1.0)
    """
    return clip((overlong_max - overlong_cache - length) / overlong_cache, -1.0, 0.0)
