"""Figures of the batch that say how the loss came about: the KL a token, and what share of the tokens is clipped."""

from grpo_calc.column import Batch, Completion, Token, column


@column(
    "KL sum",
    latex=r"\Sigma\mathrm{KL}",
    en="completion's KL sum",
    zh="回答内 KL 之和",
    source="grpo-calc, a diagnostic",
)
def completion_kl_sum(token_kl: Token, over) -> Completion:
    """The sum of a completion's token KLs.

    Shape: one value a completion. Unit: nats.
    Equation: ``Σ_t KL_t``, where ``KL_t`` is the recipe's KL of token ``t``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: grpo-calc, a diagnostic.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> completion_kl_sum(array([0.5, 0.25, 1.0]), Segments(array([0, 2, 3]))).tolist()
    [0.75, 1.0]
    """
    return over.sum(token_kl)


@column(
    "KL/token",
    latex=r"\mathrm{KL}/N",
    en="KL, mean over tokens",
    zh="KL（按 token 平均）",
    source="grpo-calc, a diagnostic",
)
def kl_token_mean(completion_kl_sum: Completion, tokens, over) -> Batch:
    """The mean token KL, whatever the recipe's reduction.

    Shape: one value for the batch. Unit: nats.
    Equation: ``(1/N) Σ_i Σ_t KL_t``, where ``N`` is the number of kept tokens.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: grpo-calc, a diagnostic.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> kl_token_mean(array([0.75, 1.0]), array([7.0]), Segments(array([0, 2]))).tolist()
    [0.25]
    """
    return over.sum(completion_kl_sum) / tokens


@column(
    "clipped", latex=r"\#\text{clipped}", en="clipped tokens", zh="被裁剪的 token 数", source="grpo-calc, a diagnostic"
)
def completion_clipped(clipped: Token, over) -> Completion:
    """The number of clipped tokens of a completion.

    Shape: one value a completion. Unit: a count.
    Equation: ``Σ_t c_t``, where ``c_t`` is the flag ``clipped`` of token ``t``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: grpo-calc, a diagnostic.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> completion_clipped(array([1.0, 1.0, 0.0]), Segments(array([0, 2, 3]))).tolist()
    [2.0, 0.0]
    """
    return over.sum(clipped)


@column(
    "clipped low",
    latex=r"\#\text{low}",
    en="tokens clipped below",
    zh="下侧被裁剪的 token 数",
    source="grpo-calc, a diagnostic",
)
def completion_clipped_low(clipped_low: Token, over) -> Completion:
    """The number of a completion's tokens that are clipped below.

    Shape: one value a completion. Unit: a count.
    Equation: ``Σ_t c_t``, where ``c_t`` is the flag ``clipped_low`` of token ``t``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: grpo-calc, a diagnostic.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> completion_clipped_low(array([1.0, 1.0, 0.0]), Segments(array([0, 2, 3]))).tolist()
    [2.0, 0.0]
    """
    return over.sum(clipped_low)


@column(
    "clipped high",
    latex=r"\#\text{high}",
    en="tokens clipped above",
    zh="上侧被裁剪的 token 数",
    source="grpo-calc, a diagnostic",
)
def completion_clipped_high(clipped_high: Token, over) -> Completion:
    """The number of a completion's tokens that are clipped above.

    Shape: one value a completion. Unit: a count.
    Equation: ``Σ_t c_t``, where ``c_t`` is the flag ``clipped_high`` of token ``t``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: grpo-calc, a diagnostic.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> completion_clipped_high(array([1.0, 1.0, 0.0]), Segments(array([0, 2, 3]))).tolist()
    [2.0, 0.0]
    """
    return over.sum(clipped_high)


@column(
    "clip frac", latex=r"f_{\text{clip}}", en="clip fraction", zh="裁剪比例", source="TRL 1.16, clip_ratio/region_mean"
)
def clip_fraction(completion_clipped: Completion, tokens, over) -> Batch:
    """Clipped tokens, over all kept tokens.

    Shape: one value for the batch. Unit: none.
    Equation: ``(1/N) Σ_i c_i``, where ``c_i`` counts those of completion ``i`` and ``N`` the kept tokens.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: TRL 1.16, clip_ratio/region_mean.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> clip_fraction(array([2.0, 0.0]), array([8.0]), Segments(array([0, 2]))).tolist()
    [0.25]
    """
    return over.sum(completion_clipped) / tokens


@column(
    "clip frac low",
    latex=r"f_{\text{low}}",
    en="clip fraction, low side",
    zh="下侧裁剪比例",
    source="TRL 1.16, clip_ratio/low_mean",
)
def clip_low_fraction(completion_clipped_low: Completion, tokens, over) -> Batch:
    """Tokens clipped below, over all kept tokens.

    Shape: one value for the batch. Unit: none.
    Equation: ``(1/N) Σ_i c_i``, where ``c_i`` counts those of completion ``i`` and ``N`` the kept tokens.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: TRL 1.16, clip_ratio/low_mean.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> clip_low_fraction(array([2.0, 0.0]), array([8.0]), Segments(array([0, 2]))).tolist()
    [0.25]
    """
    return over.sum(completion_clipped_low) / tokens


@column(
    "clip frac high",
    latex=r"f_{\text{high}}",
    en="clip fraction, high side",
    zh="上侧裁剪比例",
    source="TRL 1.16, clip_ratio/high_mean",
)
def clip_high_fraction(completion_clipped_high: Completion, tokens, over) -> Batch:
    """Tokens clipped above, over all kept tokens.

    Shape: one value for the batch. Unit: none.
    Equation: ``(1/N) Σ_i c_i``, where ``c_i`` counts those of completion ``i`` and ``N`` the kept tokens.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: TRL 1.16, clip_ratio/high_mean.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> clip_high_fraction(array([2.0, 0.0]), array([8.0]), Segments(array([0, 2]))).tolist()
    [0.25]
    """
    return over.sum(completion_clipped_high) / tokens
