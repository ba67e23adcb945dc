"""OpenRLHF's options as people write them, and what they come to where that is easy to get wrong."""

import numpy as np
import pytest

from grpo_calc import trainers
from grpo_calc.say import Problem
from grpo_calc.work import work
from tests.trainers.small import NEW, OLD, REF, small


def made(**options):
    return trainers.recipe("openrlhf", "0.11.2", **options)


def test_options_may_be_nested_dotted_or_command_line_words() -> None:
    nested = made(actor={"eps_clip_low_high": [0.2, 0.28]}, algo={"kl": {"use_loss": True}})
    dotted = made(**{"actor.eps_clip_low_high": [0.2, 0.28], "algo.kl.use_loss": True})
    spoken = made(**{"--actor.eps_clip_low_high": "0.2,0.28", "--algo.kl.use_loss": "true"})
    assert nested.roles == dotted.roles == spoken.roles
    assert nested.parameters == dotted.parameters == spoken.parameters
    assert nested.parameters["eps_high"] == 0.28


def test_an_unknown_option_lists_the_known() -> None:
    with pytest.raises(Problem, match=r"actor\.eps_clip_low_high"):
        made(**{"actor.clip": 0.2})


def test_gamma_is_said_to_be_ignored_by_all_but_reinforce() -> None:
    grouped = made(**{"algo.advantage.estimator": "group_norm", "algo.advantage.gamma": 0.9})
    assert [note.key for note in grouped.notes] == ["note.option_ignored"]
    alone = made(**{"algo.advantage.estimator": "reinforce", "algo.advantage.gamma": 0.9})
    assert not alone.notes


def test_the_kl_is_taken_from_the_reward_by_default_and_carried_back() -> None:
    worked = work(small(), made(**{"algo.advantage.estimator": "dr_grpo", "algo.kl.init_coef": 0.1}))
    k1 = np.array(OLD[0]) - np.array(REF[0])
    expected = 0.5 - 0.1 * np.cumsum(k1[::-1])[::-1]
    assert worked["advantage"][:3] == pytest.approx(expected, abs=1e-15)
    assert not worked.has("kl")


def test_the_loss_kl_is_a_token_mean_even_where_samples_weigh_the_same() -> None:
    options = {
        "algo.advantage.estimator": "dr_grpo",
        "algo.kl.use_loss": True,
        "actor.loss_agg_mode": "seq-mean-token-mean",
    }
    worked = work(small(), made(**options))
    k1 = np.concatenate([np.array(n) - np.array(r) for n, r in zip(NEW, REF, strict=True)])
    assert worked["kl"] == pytest.approx(k1.mean(), abs=1e-15)


def test_one_threshold_is_an_upper_bound() -> None:
    options = {"is_correction_level": "token", "is_correction_gating": "tv", "is_correction_threshold": 0.1}
    recipe = made(**options)
    assert (recipe.parameters["gate_low"], recipe.parameters["gate_high"]) == (0.0, 0.1)


def test_equal_rewards_in_single_precision_give_the_bug_by_its_switch_only() -> None:
    rewards = [0.7] * 7
    table = small_group(rewards)
    plain = {"algo.advantage.estimator": "group_norm", "algo.kl.init_coef": 0, "reward.clip_range": [-1e3, 1e3]}
    assert work(table, made(**plain))["advantage"] == pytest.approx(np.zeros(7), abs=0)
    assert work(table, made(**plain, rewards_in="single"))["advantage"] == pytest.approx([59.604645] * 7, rel=1e-6)


def small_group(rewards):
    """One group of one-token completions."""
    from grpo_calc.table import Table

    ones = [[-1.0]] * len(rewards)
    return Table.from_arrays(group_id=["a"] * len(rewards), reward=rewards, logp_new=ones, logp_old=ones)


def test_figures_have_the_trainers_names() -> None:
    options = {"algo.advantage.estimator": "group_norm", "is_correction_level": "token", "algo.kl.init_coef": 0}
    logged = work(small(), made(**options)).metrics("openrlhf")
    assert set(logged) >= {"policy_loss", "ppo_clip_ratio", "ppo_kl", "vllm_kl", "is_filter_ratio"}
