"""How many: tokens of a completion, completions and tokens of a group and of the batch, and the padded batch."""

from grpo_calc.column import Batch, Completion, Group, Token, column
from grpo_calc.ops import maximum, where

DAPO = "DAPO, arXiv:2503.14476, eq. 8"
GRPO = "GRPO, arXiv:2402.03300, eq. 3"


@column("n", en="completion length", zh="回答长度", source="the number of kept tokens")
def length(over: Token) -> Completion:
    """The number of kept tokens of a completion.

    Shape: one value a completion. Unit: a count.
    Equation: ``n_i``, where ``i`` is the completion and masked tokens are left out.
    Errors: none raised.
    Source: GRPO, arXiv:2402.03300, eq. 3: ``|o_i|``.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> length(Segments(array([0, 2, 2]))).tolist()
    [2.0, 0.0]
    """
    return over.count()


@column("N", en="tokens", zh="token 数", source="the number of kept tokens")
def tokens(length: Completion, over) -> Batch:
    """The number of kept tokens of the batch.

    Shape: one value for the batch. Unit: a count.
    Equation: ``N = Σ_i n_i``, where ``n_i`` is the length of completion ``i``.
    Errors: none raised.
    Source: DAPO, arXiv:2503.14476, eq. 8.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> tokens(array([2.0, 0.0, 3.0]), Segments(array([0, 3]))).tolist()
    [5.0]
    """
    return over.sum(length)


@column("B", en="completions", zh="回答数", source="the number of completions, empty ones too")
def completions(over: Completion) -> Batch:
    """The number of completions, empty ones too.

    Shape: one value for the batch. Unit: a count.
    Equation: ``B``, where every completion of every group counts.
    Errors: none raised.
    Source: GRPO, arXiv:2402.03300, eq. 3: ``G``, here over all groups of the batch.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> completions(Segments(array([0, 3]))).tolist()
    [3.0]
    """
    return over.count()


@column("T", en="width of the batch", zh="批次的宽度", source="the positions of a completion in the padded batch")
def width(positions: Completion, over) -> Batch:
    """The positions of the padded batch: those of its longest completion, masked ones too.

    Shape: one value for the batch. Unit: a count.
    Equation: ``T = max_i T_i``, where ``T_i`` are the positions of completion ``i``.
    Errors: none raised.
    Source: a padded batch of shape (B, T).

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> width(array([4.0, 8.0]), Segments(array([0, 2]))).tolist()
    [8.0]
    """
    return over.max(positions)


@column("BT", en="positions", zh="位置数", source="completions times width")
def area(completions, width):
    """All positions of the padded batch, masked ones too.

    Shape: one value for the batch. Unit: a count.
    Equation: ``B T``, where ``B`` is the number of completions and ``T`` the width.
    Errors: none raised.
    Source: a padded batch of shape (B, T).

    >>> area(4.0, 8.0)
    32.0
    """
    return completions * width


@column(
    "n>0",
    latex="[n>0]",
    en="completion with tokens",
    zh="非空回答",
    source="verl 0.9.1, OpenRLHF 0.11.2: empty completions are not counted",
)
def has_tokens(length):
    """1 where a completion has a kept token, else 0.

    Shape: one value a completion. Unit: 0 or 1.
    Equation: ``[n > 0]``, where ``n`` is the completion's length.
    Errors: none raised.
    Source: verl 0.9.1, OpenRLHF 0.11.2: empty completions are not counted.

    >>> has_tokens(3.0), has_tokens(0.0)
    (1.0, 0.0)
    """
    return where(length > 0, 1.0, 0.0)


@column("B_n", latex="B_{n>0}", en="completions with tokens", zh="非空回答数", source="verl 0.9.1, OpenRLHF 0.11.2")
def nonempty(has_tokens: Completion, over) -> Batch:
    """The number of completions that have a kept token.

    Shape: one value for the batch. Unit: a count.
    Equation: ``Σ_i [n_i > 0]``, where ``n_i`` is the length of completion ``i``.
    Errors: none raised.
    Source: verl 0.9.1, OpenRLHF 0.11.2.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> nonempty(array([1.0, 0.0, 1.0]), Segments(array([0, 3]))).tolist()
    [2.0]
    """
    return maximum(over.sum(has_tokens), 1.0)


@column(
    "n+eps",
    latex=r"n+\varepsilon_n",
    en="count plus a small number",
    zh="计数加平滑项",
    source="OpenRLHF 0.11.2, NeMo-RL, ROLL: counts plus 1e-8",
)
def count_plus(x, length_eps):
    """A count with a small number added, so that nothing is divided by 0.

    Shape: one value a row of ``x``. Unit: a count.
    Equation: ``x + eps``, where ``eps`` is ``length_eps``.
    Errors: none raised.
    Source: OpenRLHF 0.11.2, NeMo-RL, ROLL: counts plus 1e-8.

    >>> count_plus(4.0, 0.5)
    4.5
    """
    return x + length_eps


@column("groups", latex=r"\#\text{groups}", en="groups", zh="组数", source="the number of groups")
def groups(over: Group) -> Batch:
    """The number of groups.

    Shape: one value for the batch. Unit: a count.
    Equation: the number of rows one level below the batch, where a row is a prompt with its completions.
    Errors: none raised.
    Source: GRPO, arXiv:2402.03300, eq. 3: the outer expectation over prompts.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> groups(Segments(array([0, 2]))).tolist()
    [2.0]
    """
    return over.count()


@column("N_g", en="tokens of the group", zh="组内 token 数", source=DAPO)
def group_tokens(length: Completion, over) -> Group:
    """The number of kept tokens of a group; 1 where it has none, for nothing is divided by 0.

    Shape: one value a group. Unit: a count.
    Equation: ``max(Σ_i n_i, 1)``, where ``n_i`` is the length of completion ``i``.
    Errors: none raised.
    Source: DAPO, arXiv:2503.14476, eq. 8: the paper's own divisor.

    >>> from numpy import array
    >>> from grpo_calc.over import Segments
    >>> group_tokens(array([2.0, 3.0, 0.0]), Segments(array([0, 2, 3]))).tolist()
    [5.0, 1.0]
    """
    return maximum(over.sum(length), 1.0)
