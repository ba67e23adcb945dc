"""From tokens to one number: within a completion, then across completions.

A reduction is two choices, each with its slope: how tokens of a completion are joined (mean, sum, sum over a constant),
and how completions are (mean, sum over all tokens, sum, sum over a given divisor). ``share`` is the product of the
slopes: d loss / d token_loss.
"""

from grpo_calc.column import Batch, Completion, Token, column, quantity
from grpo_calc.ops import maximum

DAPO = "DAPO, arXiv:2503.14476, eq. 8"
DR_GRPO = "Dr. GRPO, arXiv:2503.20783, sec. 3.2"
GRPO = "GRPO, arXiv:2402.03300, eq. 3"

quantity("completion_objective", "J_i", latex="J_i", en="completion objective", zh="单个回答的目标")
quantity("completion_kl", "KL_i", latex=r"\mathrm{KL}_i", en="completion KL", zh="单个回答的 KL")
quantity("completion_loss", "L_i", latex="L_i", en="completion loss", zh="单个回答的损失")
quantity("surrogate_objective", "S", en="surrogate objective (to raise)", zh="替代目标（越大越好）")
quantity("kl", "KL", latex=r"\overline{\mathrm{KL}}", en="KL, reduced as the loss", zh="KL（与损失同样聚合）")
quantity("within", "w", en="share of a token in its completion", zh="token 在回答中的权重")
quantity("across", "v", en="share of a completion in the batch", zh="回答在批次中的权重")
quantity("x", "x", en="a column", zh="某一列")


@column("mean x", latex=r"\bar x", en="mean over the completion's tokens", zh="回答内均值", source=GRPO)
def mean_within(x: Token, over) -> Completion:
    """The mean over a completion's tokens.

    Shape: one value a completion. Unit: that of ``x``.
    Equation: ``(1/n) Σ_t x_t``, where ``t`` runs over the completion's ``n`` kept tokens.
    Errors: none raised; 0 for an empty completion.
    Source: GRPO, arXiv:2402.03300, eq. 3.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> mean_within(array([1.0, 3.0, 5.0]), Segments(array([0, 2, 2, 3]))).tolist()
    [2.0, 0.0, 5.0]
    """
    return over.mean(x)


@column("sum x", latex=r"\Sigma x", en="sum over the completion's tokens", zh="回答内求和", source=DAPO)
def sum_within(x: Token, over) -> Completion:
    """The sum over a completion's tokens.

    Shape: one value a completion. Unit: that of ``x``.
    Equation: ``Σ_t x_t``, where ``t`` runs over the completion's kept tokens.
    Errors: none raised; 0 for an empty completion.
    Source: DAPO, arXiv:2503.14476, eq. 8.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> sum_within(array([1.0, 3.0, 5.0]), Segments(array([0, 2, 3]))).tolist()
    [4.0, 5.0]
    """
    return over.sum(x)


@column(
    "sum x / L", latex=r"\Sigma x / L", en="sum over a constant length", zh="回答内求和除以常数长度", source=DR_GRPO
)
def constant_within(x: Token, max_length, over) -> Completion:
    """The sum over a completion's tokens, over a constant length.

    Shape: one value a completion. Unit: that of ``x``.
    Equation: ``(1/L) Σ_t x_t``, where ``L`` is ``max_length``, the same for every completion.
    Errors: none raised; 0 for an empty completion.
    Source: Dr. GRPO, arXiv:2503.20783, sec. 3.2.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> constant_within(array([1.0, 3.0, 5.0]), 4.0, Segments(array([0, 2, 3]))).tolist()
    [1.0, 1.25]
    """
    return over.sum(x) / max_length


@column("mean x", latex=r"\bar x", en="mean over completions", zh="各回答的均值", source=GRPO)
def mean_across(x: Completion, over) -> Batch:
    """The mean over completions, empty ones too.

    Shape: one value for the batch. Unit: that of ``x``.
    Equation: ``(1/B) Σ_i x_i``, where ``i`` runs over all ``B`` completions of the batch.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: GRPO, arXiv:2402.03300, eq. 3.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> mean_across(array([1.0, 2.0, 6.0]), Segments(array([0, 3]))).tolist()
    [3.0]
    """
    return over.mean(x)


@column("sum x / N", latex=r"\Sigma x / N", en="sum over all tokens' number", zh="求和除以 token 总数", source=DAPO)
def tokens_across(x: Completion, tokens, over) -> Batch:
    """The sum over completions, over the number of all kept tokens.

    Shape: one value for the batch. Unit: that of ``x``.
    Equation: ``(1/N) Σ_i x_i``, where ``x_i`` is a completion's sum and ``N`` the number of kept tokens.
    Errors: none raised; undefined (NaN) where no token is kept.
    Source: DAPO, arXiv:2503.14476, eq. 8 (there a group's tokens; here the batch's, as trainers have it).

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> tokens_across(array([1.0, 2.0, 6.0]), array([9.0]), Segments(array([0, 3]))).tolist()
    [1.0]
    """
    return over.sum(x) / maximum(tokens, 1.0)


@column("sum x", latex=r"\Sigma x", en="sum over completions", zh="各回答求和", source="a token sum")
def sum_across(x: Completion, over) -> Batch:
    """The sum over completions.

    Shape: one value for the batch. Unit: that of ``x``.
    Equation: ``Σ_i x_i``, where ``i`` runs over all completions of the batch.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: verl 0.9.1, loss_agg_mode token-sum.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> sum_across(array([1.0, 2.0, 6.0]), Segments(array([0, 3]))).tolist()
    [9.0]
    """
    return over.sum(x)


@column(
    "max x", latex=r"\max x", en="largest of all completions", zh="各回答的最大值", source="grpo-calc, a diagnostic"
)
def max_across(x: Completion, over) -> Batch:
    """The largest over completions.

    Shape: one value for the batch. Unit: that of ``x``.
    Equation: ``max_i x_i``, where ``i`` runs over all completions of the batch.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: grpo-calc, a diagnostic.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> max_across(array([1.0, 2.0, 6.0]), Segments(array([0, 3]))).tolist()
    [6.0]
    """
    return over.max(x)


@column(
    "sum x / D", latex=r"\Sigma x / D", en="sum over a given divisor", zh="求和除以给定除数", source="a divisor given"
)
def divisor_across(x: Completion, divisor, over) -> Batch:
    """The sum over completions, over a given number.

    Shape: one value for the batch. Unit: that of ``x``.
    Equation: ``(1/D) Σ_i x_i``, where ``D`` is ``divisor``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: trainers that divide by a global count or a constant.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> divisor_across(array([1.0, 2.0, 6.0]), 4.5, Segments(array([0, 3]))).tolist()
    [2.0]
    """
    return over.sum(x) / divisor


@column("1/n", latex="1/n", en="share in a completion mean", zh="回答内均值的权重", source=GRPO)
def mean_within_slope(length):
    """What one token weighs in its completion's mean.

    Shape: one value a completion. Unit: none.
    Equation: ``1 / n``, where ``n`` is the completion's length.
    Errors: none raised; 1 for an empty completion, which has no token to weigh.
    Source: GRPO, arXiv:2402.03300, eq. 3, its derivative.

    >>> mean_within_slope(4.0), mean_within_slope(0.0)
    (0.25, 1.0)
    """
    return 1 / maximum(length, 1.0)


@column("1", en="share in a sum", zh="求和的权重", source="calculus")
def sum_slope():
    """What one term weighs in a sum.

    Shape: one value for the batch. Unit: none.
    Equation: ``d (Σ x) / d x = 1``, where ``x`` is any term.
    Errors: none raised.
    Source: calculus; tests prove it against automatic differentiation.

    >>> sum_slope()
    1.0
    """
    return 1.0


@column("1/L", latex="1/L", en="share with a constant length", zh="常数长度的权重", source=DR_GRPO)
def constant_within_slope(max_length):
    """What one token weighs in a sum over a constant length.

    Shape: one value for the batch. Unit: none.
    Equation: ``1 / L``, where ``L`` is ``max_length``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: Dr. GRPO, arXiv:2503.20783, sec. 3.2, its derivative.

    >>> constant_within_slope(4.0)
    0.25
    """
    return 1 / max_length


@column("1/B", latex="1/B", en="share in a batch mean", zh="批次均值的权重", source=GRPO)
def mean_across_slope(completions):
    """What one completion weighs in the batch's mean.

    Shape: one value for the batch. Unit: none.
    Equation: ``1 / B``, where ``B`` is the number of completions.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: GRPO, arXiv:2402.03300, eq. 3, its derivative.

    >>> mean_across_slope(4.0)
    0.25
    """
    return 1 / completions


@column("1/N", latex="1/N", en="share in a token mean", zh="token 均值的权重", source=DAPO)
def tokens_across_slope(tokens):
    """What one completion's sum weighs in the mean over all tokens.

    Shape: one value for the batch. Unit: none.
    Equation: ``1 / N``, where ``N`` is the number of kept tokens.
    Errors: none raised; undefined where no token is kept.
    Source: DAPO, arXiv:2503.14476, eq. 8, its derivative.

    >>> tokens_across_slope(8.0)
    0.125
    """
    return 1 / maximum(tokens, 1.0)


@column("1/D", latex="1/D", en="share with a given divisor", zh="给定除数的权重", source="a divisor given")
def divisor_across_slope(divisor):
    """What one completion's sum weighs under a given divisor.

    Shape: one value for the batch. Unit: none.
    Equation: ``1 / D``, where ``D`` is ``divisor``.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: trainers that divide by a global count or a constant.

    >>> divisor_across_slope(2.0)
    0.5
    """
    return 1 / divisor


@column("share", latex=r"w_t", en="share of a token's loss", zh="token 损失的权重", source="calculus")
def share(within, across):
    """What one token's loss weighs in the batch's loss, denominators and all.

    Shape: one value a completion, or one for the batch. Unit: none.
    Equation: ``w_t = d loss / d l_t = w v``, where ``w`` is the token's share in its completion and ``v`` the
    completion's in the batch.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: calculus; tests prove it against automatic differentiation.

    >>> share(0.25, 0.5)
    0.125
    """
    return within * across


@column("J", en="objective (to raise)", zh="总目标（越大越好）", source=GRPO)
def objective(surrogate_objective, beta, kl):
    """Surrogate objective minus beta times KL: to be raised. The article calls it the total GRPO.

    Shape: one value for the batch. Unit: that of the advantage.
    Equation: ``J = S - beta KL``, where ``S`` is the surrogate objective and ``KL`` the KL, reduced alike.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: GRPO, arXiv:2402.03300, eq. 3.

    >>> objective(0.5, 0.1, 0.2)
    0.48
    """
    return surrogate_objective - beta * kl


@column("-S", latex="-S", en="policy loss (to lower)", zh="策略损失（越小越好）", source=GRPO)
def policy_loss(surrogate_objective):
    """Minus the surrogate objective: to be lowered.

    Shape: one value for the batch. Unit: that of the advantage.
    Equation: ``-S``, where ``S`` is the surrogate objective.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: GRPO, arXiv:2402.03300, eq. 3, sign turned.

    >>> policy_loss(0.5)
    -0.5
    """
    return -surrogate_objective


@column("L", en="loss (to lower)", zh="损失（越小越好）", source=GRPO)
def loss(objective):
    """Minus the objective: to be lowered.

    Shape: one value for the batch. Unit: that of the advantage.
    Equation: ``L = -J``, where ``J`` is the objective.
    Errors: none raised; undefined (NaN) where a value it reads is.
    Source: GRPO, arXiv:2402.03300, eq. 3, sign turned.

    >>> loss(0.48)
    -0.48
    """
    return -objective
