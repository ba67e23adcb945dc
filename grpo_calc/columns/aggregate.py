"""From tokens to one number: within a completion, then across completions; and the figures of the batch.

A reduction is two choices, each with its slope: how tokens of a completion are joined (mean, sum, sum over a constant), and
how completions are (mean, sum over all tokens, sum, sum over a given divisor). ``share`` is the product of the slopes:
d loss / d token_loss.
"""

from grpo_calc.column import Batch, Completion, Group, Token, column, quantity
from grpo_calc.ops import maximum, where

DAPO = "DAPO, arXiv:2503.14476, eq. 8"
DR_GRPO = "Dr. GRPO, arXiv:2503.20783, sec. 3.2"
GRPO = "GRPO, arXiv:2402.03300, eq. 3"

quantity("completion_objective", "J_i", latex="J_i", en="completion objective", zh="单个回答的目标")
quantity("completion_kl", "KL_i", latex=r"\mathrm{KL}_i", en="completion KL", zh="单个回答的 KL")
quantity("completion_loss", "L_i", latex="L_i", en="completion loss", zh="单个回答的损失")
quantity("surrogate_objective", "S", en="surrogate objective (to raise)", zh="替代目标（越大越好）")
quantity("kl", "KL", latex=r"\overline{\mathrm{KL}}", en="KL, reduced as the loss", zh="KL（与损失同样聚合）")
quantity("within", "w", en="share of a token in its completion", zh="token 在回答中的份额")
quantity("across", "v", en="share of a completion in the batch", zh="回答在批中的份额")
quantity("x", "x", en="a column", zh="某一列")


@column("n", en="completion length", zh="回答长度", source="the number of kept tokens")
def length(over: Token) -> Completion:
    """The number of kept tokens of a completion."""
    return over.count()


@column("N", en="tokens", zh="token 数", source="the number of kept tokens")
def tokens(length: Completion, over) -> Batch:
    """The number of kept tokens of the batch."""
    return over.sum(length)


@column("B", en="completions", zh="回答数", source="the number of completions, empty ones too")
def completions(over: Completion) -> Batch:
    """The number of completions, empty ones too."""
    return over.count()


@column("T", en="width of the batch", zh="批的宽度", source="the positions of a completion in the padded batch")
def width(positions: Completion, over) -> Batch:
    """The positions of the padded batch: those of its longest completion, masked ones too."""
    return over.max(positions)


@column("BT", en="positions", zh="位置数", source="completions times width")
def area(completions, width):
    """All positions of the padded batch, masked ones too.

    >>> area(4.0, 8.0)
    32.0
    """
    return completions * width


@column("n>0", latex="[n>0]", en="completion with tokens", zh="非空回答", source="verl 0.9.1, OpenRLHF 0.11.2: empty completions are not counted")
def has_tokens(length):
    """1 where a completion has a token that counts, else 0.

    >>> has_tokens(3.0), has_tokens(0.0)
    (1.0, 0.0)
    """
    return where(length > 0, 1.0, 0.0)


@column("B_n", latex="B_{n>0}", en="completions with tokens", zh="非空回答数", source="verl 0.9.1, OpenRLHF 0.11.2")
def nonempty(has_tokens: Completion, over) -> Batch:
    """The number of completions that have a token that counts; 1 where none has, for nothing is divided by 0."""
    return maximum(over.sum(has_tokens), 1.0)


@column("n+eps", latex=r"n+\varepsilon_n", en="count plus a small number", zh="计数加小量", source="OpenRLHF 0.11.2, NeMo-RL, ROLL: counts plus 1e-8")
def count_plus(x, length_eps):
    """A count that something is divided by, plus a small number: nothing is divided by 0.

    >>> count_plus(4.0, 0.5)
    4.5
    """
    return x + length_eps


@column("groups", latex=r"\#\text{groups}", en="groups", zh="组数", source="the number of groups")
def groups(over: Group) -> Batch:
    """The number of groups."""
    return over.count()


@column("N_g", en="tokens of the group", zh="组内 token 数", source=DAPO)
def group_tokens(length: Completion, over) -> Group:
    """The number of kept tokens of a group; 1 where it has none, for nothing is divided by 0."""
    return maximum(over.sum(length), 1.0)


@column("mean x", latex=r"\bar x", en="mean over the completion's tokens", zh="回答内均值", source=GRPO)
def mean_within(x: Token, over) -> Completion:
    """The mean over a completion's tokens; 0 for an empty completion."""
    return over.mean(x)


@column("sum x", latex=r"\Sigma x", en="sum over the completion's tokens", zh="回答内求和", source=DAPO)
def sum_within(x: Token, over) -> Completion:
    """The sum over a completion's tokens."""
    return over.sum(x)


@column("sum x / L", latex=r"\Sigma x / L", en="sum over a constant length", zh="回答内求和除以常数长度", source=DR_GRPO)
def constant_within(x: Token, max_length, over) -> Completion:
    """The sum over a completion's tokens divided by a constant length."""
    return over.sum(x) / max_length


@column("mean x", latex=r"\bar x", en="mean over completions", zh="各回答的均值", source=GRPO)
def mean_across(x: Completion, over) -> Batch:
    """The mean over completions, empty ones too."""
    return over.mean(x)


@column("sum x / N", latex=r"\Sigma x / N", en="sum over all tokens' number", zh="求和除以 token 总数", source=DAPO)
def tokens_across(x: Completion, tokens, over) -> Batch:
    """The sum over completions divided by the number of kept tokens; 0 for an empty batch."""
    return over.sum(x) / maximum(tokens, 1.0)


@column("sum x", latex=r"\Sigma x", en="sum over completions", zh="各回答求和", source="a token sum")
def sum_across(x: Completion, over) -> Batch:
    """The sum over completions."""
    return over.sum(x)


@column("max x", latex=r"\max x", en="largest of all completions", zh="各回答的最大值", source="grpo-calc, a diagnostic")
def max_across(x: Completion, over) -> Batch:
    """The largest over completions."""
    return over.max(x)


@column("sum x / D", latex=r"\Sigma x / D", en="sum over a given divisor", zh="求和除以给定除数", source="a divisor given")
def divisor_across(x: Completion, divisor, over) -> Batch:
    """The sum over completions divided by a given number."""
    return over.sum(x) / divisor


@column("1/n", latex="1/n", en="share in a completion mean", zh="回答内均值的份额", source=GRPO)
def mean_within_slope(length):
    """d (completion mean) / d (a token): ``1 / n``.

    >>> mean_within_slope(4.0)
    0.25
    """
    return 1 / maximum(length, 1.0)


@column("1", en="share in a sum", zh="求和的份额", source="calculus")
def sum_slope():
    """d (sum) / d (a term) = 1."""
    return 1.0


@column("1/L", latex="1/L", en="share with a constant length", zh="常数长度的份额", source=DR_GRPO)
def constant_within_slope(max_length):
    """d (sum / L) / d (a token): ``1 / L``."""
    return 1 / max_length


@column("1/B", latex="1/B", en="share in a batch mean", zh="批均值的份额", source=GRPO)
def mean_across_slope(completions):
    """d (mean over completions) / d (a completion): ``1 / B``."""
    return 1 / completions


@column("1/N", latex="1/N", en="share in a token mean", zh="token 均值的份额", source=DAPO)
def tokens_across_slope(tokens):
    """d (sum / N) / d (a completion's sum): ``1 / N``."""
    return 1 / maximum(tokens, 1.0)


@column("1/D", latex="1/D", en="share with a given divisor", zh="给定除数的份额", source="a divisor given")
def divisor_across_slope(divisor):
    """d (sum / D) / d (a completion's sum): ``1 / D``."""
    return 1 / divisor


@column("share", latex=r"w_t", en="share of a token's loss", zh="token 损失的份额", source="calculus")
def share(within, across):
    """d loss / d token_loss: what one token's loss weighs in the batch's; denominators and all.

    >>> share(0.25, 0.5)
    0.125
    """
    return within * across


@column("J", en="objective (to raise)", zh="总目标（越大越好）", source=GRPO)
def objective(surrogate_objective, beta, kl):
    """Surrogate objective minus beta times KL: to be raised. The article calls it the total GRPO.

    >>> objective(0.5, 0.1, 0.2)
    0.48
    """
    return surrogate_objective - beta * kl


@column("-S", latex="-S", en="policy loss (to lower)", zh="策略损失（越小越好）", source=GRPO)
def policy_loss(surrogate_objective):
    """Minus the surrogate objective: to be lowered."""
    return -surrogate_objective


@column("L", en="loss (to lower)", zh="损失（越小越好）", source=GRPO)
def loss(objective):
    """Minus the objective: to be lowered."""
    return -objective


@column("KL sum", latex=r"\Sigma\mathrm{KL}", en="completion's KL sum", zh="回答内 KL 之和", source="grpo-calc, a diagnostic")
def completion_kl_sum(token_kl: Token, over) -> Completion:
    """The sum of a completion's token KLs."""
    return over.sum(token_kl)


@column("KL/token", latex=r"\mathrm{KL}/N", en="KL, mean over tokens", zh="KL（按 token 平均）", source="grpo-calc, a diagnostic")
def kl_token_mean(completion_kl_sum: Completion, tokens, over) -> Batch:
    """The mean token KL, whatever the recipe's reduction."""
    return over.sum(completion_kl_sum) / tokens


@column("clipped", latex=r"\#\text{clipped}", en="clipped tokens", zh="被裁剪的 token 数", source="grpo-calc, a diagnostic")
def completion_clipped(clipped: Token, over) -> Completion:
    """The number of clipped tokens of a completion."""
    return over.sum(clipped)


@column("clipped low", latex=r"\#\text{low}", en="tokens clipped below", zh="下侧被裁剪的 token 数", source="grpo-calc, a diagnostic")
def completion_clipped_low(clipped_low: Token, over) -> Completion:
    """The number of a completion's tokens that are clipped below."""
    return over.sum(clipped_low)


@column("clipped high", latex=r"\#\text{high}", en="tokens clipped above", zh="上侧被裁剪的 token 数", source="grpo-calc, a diagnostic")
def completion_clipped_high(clipped_high: Token, over) -> Completion:
    """The number of a completion's tokens that are clipped above."""
    return over.sum(clipped_high)


@column("clip frac", latex=r"f_{\text{clip}}", en="clip fraction", zh="裁剪比例", source="TRL 1.16, clip_ratio/region_mean")
def clip_fraction(completion_clipped: Completion, tokens, over) -> Batch:
    """Clipped tokens over all kept tokens."""
    return over.sum(completion_clipped) / tokens


@column("clip frac low", latex=r"f_{\text{low}}", en="clip fraction, low side", zh="下侧裁剪比例", source="TRL 1.16, clip_ratio/low_mean")
def clip_low_fraction(completion_clipped_low: Completion, tokens, over) -> Batch:
    """Tokens clipped below over all kept tokens."""
    return over.sum(completion_clipped_low) / tokens


@column("clip frac high", latex=r"f_{\text{high}}", en="clip fraction, high side", zh="上侧裁剪比例", source="TRL 1.16, clip_ratio/high_mean")
def clip_high_fraction(completion_clipped_high: Completion, tokens, over) -> Batch:
    """Tokens clipped above over all kept tokens."""
    return over.sum(completion_clipped_high) / tokens
