"""Which tokens move the policy: off-policy completions and low-entropy tokens left out; and the entropy bonus.

A mask here weights a token's policy part; the token stays in every count, and keeps its KL.
"""

from grpo_calc.column import Batch, Token, column, quantity
from grpo_calc.ops import maximum, single, where

OPSM = "DeepSeek-V3.2, arXiv:2512.02556, off-policy sequence mask; TRL 1.16, off_policy_mask_threshold"
TOP = "Beyond the 80/20 rule, arXiv:2506.01939; TRL 1.16, top_entropy_quantile"
BONUS = "TRL 1.16, entropy_coef"

quantity("entropy", "H", latex=r"\mathcal{H}", en="entropy of the next-token distribution", zh="下一 token 分布的熵")


@column(
    "log π_old/π",
    latex=r"\log\frac{\pi_{\text{old}}}{\pi_\theta}",
    en="drift from the behaviour policy",
    zh="与行为策略的偏离",
    source=OPSM,
)
def drift(logp_behaviour, logp_new):
    """Log-prob of the policy that sampled minus that of the new one. One value a token, in nats.

    >>> drift(-1.0, -1.5)
    0.5
    """
    return logp_behaviour - logp_new


@column("on policy?", latex=r"\text{on}", en="kept: not far off-policy", zh="保留：偏离不大", source=OPSM)
def on_policy_enough(advantage, mean_drift, off_policy_limit):
    """1 unless A < 0 and the completion's mean drift is above the limit. One value a completion.

    >>> on_policy_enough(-1.0, 0.5, 0.1), on_policy_enough(1.0, 0.5, 0.1)
    (0.0, 1.0)
    """
    return where((advantage >= 0) | (mean_drift <= off_policy_limit), 1.0, 0.0)


@column(
    "H f32",
    latex=r"\mathcal{H}_{32}",
    en="entropy in single precision",
    zh="单精度熵",
    source=f"{TOP}: cast to float32",
    live=False,
)
def entropy_single(entropy) -> Token:
    """The entropy as the trainer ranks it: in single precision. One value a token, in nats."""
    return single(entropy)


@column("H_q", latex=r"\mathcal{H}_q", en="entropy threshold", zh="熵阈值", source=TOP, whole=True)
def entropy_threshold(entropy_single: Token, top_entropy, over) -> Batch:
    """The entropy that a share ``top_entropy`` of the batch's tokens reach: their ``1 - top_entropy`` quantile."""
    return over.quantile(entropy_single, 1 - top_entropy)


@column("H>=H_q", latex=r"\mathcal{H}\ge\mathcal{H}_q", en="among the most uncertain", zh="熵最高的部分", source=TOP)
def high_entropy(entropy, entropy_limit):
    """1 where a token's entropy is at least the threshold, else 0. One value a token.

    >>> high_entropy(0.9, 0.5), high_entropy(0.1, 0.5)
    (1.0, 0.0)
    """
    return where(entropy >= entropy_limit, 1.0, 0.0)


@column("H kept", latex=r"\mathcal{H}\,m", en="entropy of kept tokens", zh="保留 token 的熵", source=BONUS)
def kept_entropy(entropy, entropy_kept):
    """A token's entropy where the token moves the policy, else 0. One value a token, in nats.

    >>> kept_entropy(0.5, 1.0)
    0.5
    """
    return entropy * entropy_kept


@column("ΣH/Σm", latex=r"\frac{\Sigma\mathcal{H}}{\Sigma m}", en="mean entropy", zh="平均熵", source=BONUS)
def mean_entropy(entropy_total, kept_tokens):
    """The mean entropy of the tokens that move the policy, nats.

    >>> mean_entropy(1.0, 4.0)
    0.25
    """
    return entropy_total / maximum(kept_tokens, 1.0)


@column("J_H", latex=r"J_{\mathcal{H}}", en="objective with entropy bonus", zh="含熵奖励的目标", source=BONUS)
def objective_with_entropy(x, entropy_coef, entropy_bonus, entropy_steps):
    """An objective plus a coefficient times the mean entropy, over accumulated steps: to be raised.

    >>> objective_with_entropy(1.0, 0.5, 0.5, 1.0)
    1.25
    """
    return x + entropy_coef * entropy_bonus / entropy_steps


@column(
    "x/n",
    latex="x/n",
    en="over accumulated steps",
    zh="除以累积步数",
    source="TRL 1.16: loss / gradient_accumulation_steps",
)
def accumulated(x, accumulated_steps):
    """A batch's figure divided by the steps whose gradients are added up.

    >>> accumulated(1.0, 4.0)
    0.25
    """
    return x / accumulated_steps
