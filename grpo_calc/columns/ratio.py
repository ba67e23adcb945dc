"""The probability ratio of new and old policy: of a token, or of a whole sequence."""

from grpo_calc.column import Completion, Token, column
from grpo_calc.ops import MISSING, absolute, clip, exp, minimum, stop_gradient, where


@column("log r", latex=r"\log r", en="log-ratio", zh="对数比", source="PPO, arXiv:1707.06347, sec. 3")
def log_ratio(logp_new, logp_old):
    """The log of the probability ratio of the sampled token.

    Shape: one value a token. Unit: nats.
    Equation: ``log r = log π - log π_old``, where ``π`` is the policy being trained and ``π_old`` the one the batch was
    scored with.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: PPO, arXiv:1707.06347, sec. 3.

    >>> log_ratio(-1.0, -1.5)
    0.5
    """
    return logp_new - logp_old


@column(
    "sg[log π]",
    latex=r"\operatorname{sg}[\log\pi_\theta]",
    en="log-prob, held",
    zh="固定的对数概率",
    source="one policy for sampling and training: TRL <= 0.15, or aligned steps",
)
def held_logp(logp_new):
    """The new policy's log-prob as a constant: the old policy where it is the same.

    Shape: one value a token. Unit: nats.
    Equation: ``sg[log π]``, where ``sg`` stops the gradient.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: TRL <= 0.15, and trainers whose sampling and training steps are aligned.

    >>> held_logp(-0.5)
    -0.5
    """
    return stop_gradient(logp_new)


@column("r", en="ratio", zh="概率比", source="PPO, arXiv:1707.06347, sec. 3, eq. 6")
def ratio(log_ratio):
    """The probability ratio.

    Shape: one value a token. Unit: none.
    Equation: ``r = exp(log r) = π / π_old``, where ``log r`` is the log-ratio.
    Errors: none raised; undefined (NaN) beyond ``|log r| = 700``, never inf.
    Source: PPO, arXiv:1707.06347, sec. 3, eq. 6.

    >>> round(ratio(0.1), 4)
    1.1052
    """
    return exp(log_ratio)


@column(
    "mean log r",
    latex=r"\overline{\log r}",
    en="mean log-ratio",
    zh="平均对数比",
    source="GSPO, arXiv:2507.18071, eq. 7",
)
def mean_log_ratio(log_ratio: Token, over) -> Completion:
    """The mean log-ratio of a completion: the log of the geometric mean of its ratios.

    Shape: one value a completion. Unit: nats.
    Equation: ``(1/n) Σ_t log r_t``, where ``t`` runs over the completion's ``n`` kept tokens.
    Errors: none raised; 0 for an empty completion.
    Source: GSPO, arXiv:2507.18071, eq. 7.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> mean_log_ratio(array([0.5, -0.25, 1.0]), Segments(array([0, 2, 3]))).tolist()
    [0.125, 1.0]
    """
    return over.mean(log_ratio)


@column("s", en="sequence ratio", zh="序列概率比", source="GSPO, arXiv:2507.18071, eq. 7")
def sequence_ratio(mean_log_ratio):
    """The length-normalised ratio of a whole sequence.

    Shape: one value a completion. Unit: none.
    Equation: ``s = exp((1/n) Σ_t log r_t)``, where ``n`` is the completion's length.
    Errors: none raised; undefined (NaN) where the mean log-ratio is beyond +-700.
    Source: GSPO, arXiv:2507.18071, eq. 7.

    >>> sequence_ratio(0.0)
    1.0
    """
    return exp(mean_log_ratio)


@column("mean r", latex=r"\bar r", en="mean ratio", zh="平均概率比", source="grpo-calc, a diagnostic")
def mean_ratio(ratio: Token, over) -> Completion:
    """The mean ratio of a completion's tokens, a diagnostic.

    Shape: one value a completion. Unit: none.
    Equation: ``(1/n) Σ_t r_t``, where ``t`` runs over the completion's ``n`` kept tokens.
    Errors: none raised; undefined (NaN) for an empty completion.
    Source: grpo-calc, a diagnostic.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> mean_ratio(array([1.0, 0.5, 2.0]), Segments(array([0, 2, 2, 3]))).tolist()
    [0.75, nan, 2.0]
    """
    return where(over.count() > 0, over.mean(ratio), MISSING)


@column(
    "Σ log r",
    latex=r"\Sigma\log r",
    en="sum of log-ratios",
    zh="对数比之和",
    source="RLOO, arXiv:2402.14740, sec. 2: the sequence as one action",
)
def sum_log_ratio(log_ratio: Token, over) -> Completion:
    """The sum of a completion's log-ratios: the log of the product of its ratios.

    Shape: one value a completion. Unit: nats.
    Equation: ``Σ_t log r_t``, where ``t`` runs over the completion's kept tokens.
    Errors: none raised; 0 for an empty completion.
    Source: RLOO, arXiv:2402.14740, sec. 2: the sequence as one action.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> sum_log_ratio(array([0.5, -0.25, 1.0]), Segments(array([0, 2, 3]))).tolist()
    [0.25, 1.0]
    """
    return over.sum(log_ratio)


@column(
    "Π r",
    latex=r"\Pi r",
    en="product ratio",
    zh="概率比之积",
    source="TRL 1.16, RLOOTrainer; RLOO, arXiv:2402.14740, sec. 2",
)
def product_ratio(sum_log_ratio):
    """The ratio of the whole sequence's probability, not length-normalised.

    Shape: one value a completion. Unit: none.
    Equation: ``Π_t r_t = exp(Σ_t log r_t)``, where ``t`` runs over the completion's kept tokens.
    Errors: none raised; undefined (NaN) where the sum is beyond +-700.
    Source: RLOO, arXiv:2402.14740, sec. 2; TRL 1.16, RLOOTrainer.

    >>> product_ratio(0.0)
    1.0
    """
    return exp(sum_log_ratio)


@column(
    "exp clamp(log r)",
    latex=r"e^{\operatorname{clamp}(\log r)}",
    en="ratio of the clamped log-ratio",
    zh="钳制对数比后的概率比",
    source="verl 0.9.1, OpenRLHF 0.11.2: log-ratio held in +-20",
)
def clamped_ratio(log_ratio, log_ratio_clamp):
    """The ratio with its log held in a range.

    Shape: one value a token. Unit: none.
    Equation: ``exp(clip(log r, -K, K))``, where ``K`` is ``log_ratio_clamp``.
    Errors: none raised: ``K`` is at most 700.
    Source: verl 0.9.1, OpenRLHF 0.11.2: the log-ratio held in +-20.

    >>> round(clamped_ratio(30.0, 1.0), 4)
    2.7183
    """
    return exp(clip(log_ratio, -log_ratio_clamp, log_ratio_clamp))


@column(
    "[|log r|≤K] x", latex=r"[|\log r|\le K]\,x", en="slope inside the clamp", zh="钳制范围内的斜率", source="calculus"
)
def inside_clamp(x, log_ratio, log_ratio_clamp):
    """A slope where the log-ratio is inside its clamp, 0 beyond: a clamped value does not move.

    Shape: one value a token. Unit: that of ``x``.
    Equation: ``[|log r| <= K] x``, where ``x`` is the slope and ``K`` is ``log_ratio_clamp``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> inside_clamp(2.0, 30.0, 20.0), inside_clamp(2.0, 0.1, 20.0)
    (0.0, 2.0)
    """
    return where(absolute(log_ratio) <= log_ratio_clamp, x, 0.0)


@column(
    "s π/sg[π]",
    latex=r"s\,\frac{\pi}{\operatorname{sg}[\pi]}",
    en="sequence ratio, token gradient",
    zh="序列概率比（token 梯度）",
    source="GSPO-token, arXiv:2507.18071, eq. 14",
)
def sequence_token_ratio(sequence_ratio, log_ratio):
    """The sequence ratio in value, with the gradient of each token's own log-prob.

    Shape: one value a token. Unit: none.
    Equation: ``sg[s] π / sg[π]``, where ``sg`` stops the gradient and ``s`` is the sequence ratio.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: GSPO, arXiv:2507.18071, eq. 14 (GSPO-token).

    >>> sequence_token_ratio(1.5, 0.25)
    1.5
    """
    return stop_gradient(sequence_ratio) * exp(log_ratio - stop_gradient(log_ratio))


@column(
    "s π/sg[π], held",
    latex=r"s\,\frac{\pi}{\operatorname{sg}[\pi]}",
    en="sequence ratio, token gradient, log held below a cap",
    zh="序列概率比（token 梯度，对数有上限）",
    source="verl 0.6 and later, loss_mode gspo: log s held below 10",
)
def sequence_token_ratio_held(mean_log_ratio, log_ratio, log_ratio_cap):
    """The sequence ratio with each token's own gradient; its log held below a cap.

    Shape: one value a token. Unit: none.
    Equation: ``exp(min(sg[log s] + log r - sg[log r], K))``, where ``log s`` is the mean log-ratio and ``K`` is
    ``log_ratio_cap``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: verl 0.6 and later, loss_mode gspo: log s held below 10.

    >>> sequence_token_ratio_held(0.0, 0.25, 10.0)
    1.0
    """
    return exp(minimum(stop_gradient(mean_log_ratio) + (log_ratio - stop_gradient(log_ratio)), log_ratio_cap))


@column("[log s≤K] x", latex=r"[\log s\le K]\,x", en="slope below the cap", zh="上限以下的斜率", source="calculus")
def below_log_cap(x, mean_log_ratio, log_ratio_cap):
    """A slope where the mean log-ratio is at most the cap, 0 beyond: a capped value does not move.

    Shape: one value a token. Unit: that of ``x``.
    Equation: ``[log s <= K] x``, where ``log s`` is the mean log-ratio and ``K`` is ``log_ratio_cap``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> below_log_cap(2.0, 11.0, 10.0), below_log_cap(2.0, 0.1, 10.0)
    (0.0, 2.0)
    """
    return where(mean_log_ratio <= log_ratio_cap, x, 0.0)
