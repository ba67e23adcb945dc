"""The named recipes: one row a variant, its roles and parameters where they differ from ``grpo``, and its source."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from grpo_calc.recipe import Recipe
from grpo_calc.roles import NEUTRAL, PARAMETERS
from grpo_calc.say import Problem

GRPO = Recipe(
    name="grpo",
    roles=NEUTRAL,
    parameters=MappingProxyType({name: default for name, (default, _, _) in PARAMETERS.items() if default == default}),
    source="DeepSeekMath, arXiv:2402.03300, eq. 3; "
    "ddof 1, adv_eps 1e-4, eps 0.2, beta 0.04 are our choice where it is silent",
    en="GRPO as published",
    zh="原始 GRPO",
)


def _row(name: str, source: str, en: str, zh: str, **changes: Any) -> Recipe:
    changed = GRPO.change(**changes)
    return Recipe(name, changed.roles, changed.parameters, source, en, zh)


RECIPES: Mapping[str, Recipe] = {
    row.name: row
    for row in (
        GRPO,
        _row(
            "article",
            "the six-token article: A = R - mean, (r-1)^2 against the old policy, beta 0.1",
            "the article's table",
            "文章中的六 token 表",
            advantage="group_mean",
            kl="proxy",
            kl_base="old",
            beta=0.1,
            ddof=0,
        ),
        _row(
            "chapter",
            "the course chapter's compute_grpo_loss: A = (R - mean) / max(population std, 1e-6), no KL",
            "the course's loss",
            "课程章节的损失函数",
            std_eps="at_least",
            adv_eps=1e-6,
            ddof=0,
            kl="none",
            beta=0,
        ),
        _row(
            "dapo",
            "DAPO, arXiv:2503.14476, eq. 8: one mean over the tokens of a prompt's group, then over groups;"
            " trl and verl take one over the whole batch (reduction=token_mean), the same for one group",
            "clip higher, token mean, no KL",
            "上界放宽，按 token 平均，无 KL",
            eps_low=0.2,
            eps_high=0.28,
            reduction="group_token_mean",
            kl="none",
            beta=0,
        ),
        _row(
            "gspo",
            "GSPO, arXiv:2507.18071, eq. 5 and 7; eps 3e-4 / 4e-4 of sec. 5.1",
            "one ratio a sequence",
            "序列级概率比",
            ratio="sequence",
            eps_low=3e-4,
            eps_high=4e-4,
            kl="none",
            beta=0,
        ),
        _row(
            "gspo-token",
            "GSPO, arXiv:2507.18071, eq. 13 and 14",
            "a sequence's ratio, each token's gradient",
            "序列概率比，逐 token 梯度",
            ratio="sequence_token",
            eps_low=3e-4,
            eps_high=4e-4,
            kl="none",
            beta=0,
        ),
        _row(
            "dr-grpo",
            "Dr. GRPO, arXiv:2503.20783, sec. 3.2: no std, a constant length (max_length must be given)",
            "no std, no length bias",
            "去掉标准差与长度偏差",
            advantage="group_mean",
            reduction="constant_length",
            kl="none",
            beta=0,
        ),
        _row(
            "rloo",
            "RLOO, arXiv:2402.14740, sec. 2: leave-one-out baseline, the sequence as one action, no ratio",
            "leave-one-out baseline",
            "留一法基线",
            advantage="leave_one_out",
            objective="policy_gradient",
            reduction="completion_sum",
            kl="none",
            beta=0,
        ),
        _row(
            "cispo",
            "CISPO, arXiv:2506.13585, eq. 4; lower bound off (eps_low 1), eps_high our choice",
            "clipped weights, every token's gradient",
            "裁剪权重，保留所有 token 的梯度",
            objective="cispo",
            eps_low=1.0,
            eps_high=1.0,
            reduction="token_mean",
            kl="none",
            beta=0,
        ),
        _row(
            "sapo",
            "SAPO, arXiv:2511.20347; tau 1.0 / 1.05",
            "a soft gate instead of the clip",
            "以软门代替裁剪",
            objective="sapo",
            kl="none",
            beta=0,
        ),
        _row(
            "luspo",
            "LUSPO, arXiv:2602.05261: GSPO's objective times the completion's length; eps 2e-3 / 2.5e-3 of sec. 5.1",
            "sequence ratio, length-unbiased",
            "序列概率比，长度无偏",
            ratio="sequence",
            eps_low=2e-3,
            eps_high=2.5e-3,
            reduction="completion_sum",
            kl="none",
            beta=0,
        ),
        _row(
            "gmpo",
            "GMPO, arXiv:2507.20673, eq. 4: the geometric mean of the ratios, each clipped in log space at 0.4",
            "geometric mean of clipped ratios",
            "裁剪后概率比的几何平均",
            objective="gmpo",
            eps_low=0.4,
            eps_high=0.4,
            kl="none",
            beta=0,
        ),
        _row(
            "vespo",
            "VESPO, arXiv:2602.10693: weight w^k exp(lambda (1 - w)), w the product of the ratios; k and lambda,"
            " the bounds of log w and one mean over tokens as TRL 1.16 has them",
            "a smooth weight a sequence",
            "平滑的序列权重",
            objective="vespo",
            reduction="token_mean",
            kl="none",
            beta=0,
        ),
        _row(
            "dual-clip",
            "dual-clip PPO, arXiv:1912.09729, eq. 5, c = 3",
            "a second bound for A < 0",
            "负优势的第二道裁剪",
            objective="dual_clip",
            kl="none",
            beta=0,
        ),
        _row(
            "reinforce++",
            "REINFORCE++, arXiv:2501.03262, sec. 3: reward at the last token less beta k1, to go, whitened "
            "over the batch's tokens; beta 0.01 and 1e-8 beside the variance are our choice",
            "one baseline for the batch: whitened rewards to go",
            "全批统一基线：白化后的后续奖励",
            baseline="reward_to_go",
            scale="none",
            reward_kl="token_k1",
            reward_beta=0.01,
            gamma=1,
            whiten="tokens_floored",
            kl="none",
            beta=0,
        ),
        _row(
            "reinforce++-baseline",
            "REINFORCE++, arXiv:2501.03262, sec. 3: minus the group's mean, then whitened over the batch's "
            "tokens; k2 in the loss; beta 0.01 is our choice",
            "the group's mean, then the batch's scale",
            "先减组内均值，再按全批白化",
            advantage="group_mean",
            whiten="tokens_floored",
            kl="k2",
            beta=0.01,
        ),
        _row(
            "opo",
            "OPO, arXiv:2505.23585: the length-weighted mean reward as baseline, exactly on policy",
            "the baseline of least variance",
            "方差最小的基线",
            baseline="length_weighted",
            scale="none",
            objective="policy_gradient",
            reduction="completion_sum",
            kl="none",
            beta=0,
        ),
        _row(
            "pass@k",
            "pass@k with k = the group, arXiv:2503.19595: the best of a group less the best of the others",
            "only the best moves",
            "只更新组内最优",
            baseline="best_margin",
            scale="none",
            objective="policy_gradient",
            reduction="completion_sum",
            kl="none",
            beta=0,
        ),
        _row(
            "maxrl",
            "MaxRL, arXiv:2602.02710: A = (R - mean) / mean, nothing added; no ratio",
            "towards maximum likelihood",
            "逼近最大似然",
            advantage="maxrl",
            adv_eps=0,
            objective="policy_gradient",
            reduction="completion_sum",
            kl="none",
            beta=0,
        ),
        _row(
            "gdpo",
            "GDPO, arXiv:2601.05242, sec. 3.1: each reward normalised in its group, summed, and the sum normalised"
            " over the batch; 1e-4 beside each std is our choice",
            "each reward normalised by itself",
            "逐个奖励归一化",
            advantage="gdpo",
            kl="none",
            beta=0,
        ),
        _row(
            "ngrpo",
            "NGRPO, arXiv:2509.18851: a virtual completion with the greatest reward (reward_high) in each group's mean"
            " and std; clip 0.16 / 0.24 as its authors train",
            "all-wrong groups learn too",
            "全错的组也能学到",
            baseline="virtual_best",
            reward_high=1,
            eps_low=0.16,
            eps_high=0.24,
            kl="none",
            beta=0,
        ),
        _row(
            "gpg",
            "GPG, arXiv:2504.02546: alpha (R - mean), alpha = B / (B - M), mean over tokens, no ratio",
            "policy gradient with its bias undone",
            "修正偏差的策略梯度",
            advantage="group_mean",
            advantage_factor="moving_share",
            objective="policy_gradient",
            reduction="token_mean",
            kl="none",
            beta=0,
        ),
        _row(
            "clip-cov",
            "Clip-Cov, arXiv:2505.22617: tokens in a covariance band (1 to 5) do not move; of those the paper"
            " draws a share of 2e-4 at random",
            "no gradient where covariance is high",
            "协方差高处不更新",
            objective="ratio",
            gate="covariance_alone",
            reduction="token_mean",
            kl="none",
            beta=0,
        ),
        _row(
            "kl-cov",
            "KL-Cov, arXiv:2505.22617: a KL penalty on the share 2e-4 of tokens with the largest covariance, beta 1",
            "a penalty where covariance is high",
            "协方差高处加惩罚",
            objective="kl_cov",
            reduction="token_mean",
            kl="none",
            beta=0,
        ),
        _row(
            "dppo",
            "DPPO, arXiv:2602.04879, binary total variation; bounds 0.15 our choice",
            "a trust region in probability, not in ratio",
            "以概率差为信任域",
            objective="ratio",
            gate="total_variation",
            trust_low=0.15,
            trust_high=0.15,
            kl="none",
            beta=0,
        ),
        _row(
            "dppo-kl",
            "DPPO, arXiv:2602.04879, binary KL (1e-8 inside the logarithm is ours); bounds 0.05 our choice",
            "a trust region in KL",
            "以二元 KL 为信任域",
            objective="ratio",
            gate="binary_kl",
            trust_low=0.05,
            trust_high=0.05,
            kl="none",
            beta=0,
        ),
    )
}


def recipe(name: str = "grpo", **changes: Any) -> Recipe:
    """A recipe by name, with changes: a published variant or a trainer's (``trl``, ``trl@1.16.0``).

    >>> recipe("dapo", eps_high=0.3).parameters["eps_high"]
    0.3
    """
    if name in RECIPES:
        return RECIPES[name].change(**changes)
    from grpo_calc import trainers

    trainer, _, version = name.partition("@")
    if trainer not in trainers.NAMES:
        raise Problem("recipe.unknown_recipe", name=name, known=", ".join([*RECIPES, *trainers.NAMES]))
    return trainers.recipe(trainer, version or None).change(**changes)
