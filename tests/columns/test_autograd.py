"""The course's own rule, written here anew: its loss and gradient by autograd are ours; and what is taken at a tie."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from grpo_calc.recipes import recipe
from grpo_calc.table import Table
from grpo_calc.work import work

NEW, OLD = [-1.0, -0.5, -1.5, -0.2], [-1.1, -0.4, -1.6, -0.3]
REWARDS, GROUPS = [1.0, 2.0, 0.5, 1.5], [0, 0, 1, 1]
LOSS = 0.05008337500992205
GRADIENT = [0.27629272951891193, -0.2262093545089899, 0.27629272951891193, -0.2762927295189119]


def compute_grpo_loss(log_probs_new, log_probs_old, rewards, group_ids, clip_range=0.2, eps=1e-6):
    """The course's function as its text describes it, with any array module that has ``where``, ``exp`` and so on."""
    advantages = [0.0] * len(rewards)
    for group in set(group_ids):
        members = [i for i, g in enumerate(group_ids) if g == group]
        mean = sum(rewards[i] for i in members) / len(members)
        std = (sum((rewards[i] - mean) ** 2 for i in members) / len(members)) ** 0.5
        for i in members:
            advantages[i] = (rewards[i] - mean) / max(std, eps)
    ratio = (
        (log_probs_new - log_probs_old).exp()
        if hasattr(log_probs_new, "exp")
        else jnp.exp(log_probs_new - log_probs_old)
    )
    advantage = type_of(log_probs_new)(advantages)
    first, second = ratio * advantage, ratio.clip(1 - clip_range, 1 + clip_range) * advantage
    return -(first * (first <= second) + second * (first > second)).mean(), advantages


def type_of(values):
    """What makes an array like ``values`` from a list."""
    if type(values).__module__ == "torch":
        import torch

        return lambda given: torch.tensor(given, dtype=torch.float64)
    return jnp.asarray


def chapter():
    """The same case worked by the recipe ``chapter``."""
    return work(Table.from_arrays(group_id=GROUPS, reward=REWARDS, logp_new=NEW, logp_old=OLD), recipe("chapter"))


def test_the_chapter_by_jax() -> None:
    worked, new = chapter(), jnp.asarray(NEW)
    loss, gradient = jax.value_and_grad(lambda new: compute_grpo_loss(new, jnp.asarray(OLD), REWARDS, GROUPS)[0])(new)
    assert abs(worked.loss - LOSS) <= 1e-15
    assert abs(float(loss) - LOSS) <= 1e-15
    np.testing.assert_allclose(gradient, GRADIENT, rtol=0, atol=1e-15)
    np.testing.assert_allclose(worked["gradient"], GRADIENT, rtol=0, atol=1e-15)
    assert worked["advantage"].tolist() == [-1.0, 1.0, -1.0, 1.0]


@pytest.mark.torch
def test_the_chapter_by_torch() -> None:
    import torch

    new = torch.tensor(NEW, dtype=torch.float64, requires_grad=True)
    loss, advantages = compute_grpo_loss(new, torch.tensor(OLD, dtype=torch.float64), REWARDS, GROUPS)
    loss.backward()
    assert abs(loss.item() - LOSS) <= 1e-15
    assert advantages == [-1.0, 1.0, -1.0, 1.0]
    assert new.grad is not None
    np.testing.assert_allclose(new.grad, GRADIENT, rtol=0, atol=1e-15)
    np.testing.assert_allclose(chapter()["gradient"], new.grad, rtol=0, atol=1e-15)


@pytest.mark.parametrize("side", [0.8, 1.2])
@pytest.mark.parametrize("beyond", [-1e-13, 0.0, 1e-13])
def test_within_the_tie_tolerance_the_gradient_is_the_unclipped_one(side: float, beyond: float) -> None:
    log_ratio = np.log(side) + beyond
    table = Table.from_arrays(
        group_id=["q", "q"], reward=[1.0, 0.0], logp_new=[log_ratio - 2, log_ratio - 2], logp_old=[-2.0, -2.0]
    )
    worked = work(table, recipe("chapter"))
    assert worked["clipped"].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(worked["gradient"], -worked["advantage"] * worked["ratio"] / 2, rtol=1e-15)
    further = work(table, recipe("chapter", eps_low=0.2 - 1e-11, eps_high=0.2 - 1e-11))
    clipped_one = 0 if side > 1 else 1  # above: the token with A > 0; below: the one with A < 0
    assert further["clipped"][clipped_one] == 1.0
    assert further["gradient"][clipped_one] == 0.0
    assert further["clipped"][1 - clipped_one] == 0.0
