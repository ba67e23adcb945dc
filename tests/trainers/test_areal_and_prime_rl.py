"""AReaL and prime-rl: spellings, what is refused, and each one's divisor and gate."""

import numpy as np
import pytest

from grpo_calc import trainers
from grpo_calc.say import Problem
from grpo_calc.work import work
from tests.trainers.small import NEW, OLD, SAMPLER, small


def areal(**options):
    return trainers.recipe("areal", **options)


def prime(**options):
    return trainers.recipe("prime-rl", **options)


@pytest.mark.parametrize("name", ["areal", "prime-rl"])
def test_the_name_alone_is_the_version_that_was_checked(name: str) -> None:
    preset = trainers.trainer(name)
    assert preset.recipe().name == f"{name}@{preset.latest}"
    assert np.isfinite(work(small(), preset.recipe()).loss)


def test_options_may_be_nested_or_dotted() -> None:
    nested = areal(actor={"eps_clip": 0.3, "reward_norm": {"mean_level": "group", "std_level": "group"}})
    dotted = areal(**{"eps_clip": 0.3, "reward_norm.mean_level": "group", "reward_norm.std_level": "group"})
    assert nested.roles == dotted.roles
    assert nested.parameters == dotted.parameters
    assert (dotted.roles["baseline"], dotted.roles["scale"]) == ("group_mean", "group_std")
    assert prime(trainer={"loss": {"dppo_mask_low": 0.1}}).parameters["trust_low"] == 0.1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"use_sapo_loss": True, "use_decoupled_loss": True}, "use_sapo_loss"),
        ({"c_clip": 1.0}, "c_clip"),
        ({"reward_norm.std_level": "group"}, "mean_level"),
        ({"reward_norm.mean_level": "batch", "reward_norm.mean_leave1out": True}, "mean_leave1out"),
        ({"adv_norm.mean_level": "batch"}, "std_level"),
        ({"use_decoupled_loss": True, "rejection_sampling.metric": "ratio", "rejection_sampling.upper": 1.0}, "upper"),
        ({"rejection_sampling.metric": "kl_k9"}, "kl_k2"),
        ({"eps_clip_high": 0.3}, "eps_clip_higher"),
    ],
    ids=str,
)
def test_areal_refuses_by_name(options, named: str) -> None:
    with pytest.raises(Problem, match=named):
        areal(**options)


def test_areals_group_size_is_the_tables() -> None:
    assert [note.key for note in areal(**{"reward_norm.group_size": 8}).notes] == ["note.option_ignored"]


def test_areal_scales_holds_and_only_then_compares_rewards() -> None:
    options = {"reward_bias": -0.5, "reward_scaling": 10.0, "reward_clip": 5.0, "reward_norm.mean_level": "group"}
    worked = work(small(), areal(**options, kl_ctl=0.0))
    np.testing.assert_allclose(worked["advantage"], [5.0, -5.0, -2.5, 2.5])


def test_areal_divides_by_the_tokens_that_its_filter_leaves_out_too() -> None:
    filtered = areal(
        **{"use_decoupled_loss": True, "rejection_sampling.metric": "ratio", "rejection_sampling.upper": 1.2}
    )
    worked = work(small(), filtered)
    weights = np.exp(np.concatenate([np.subtract(o, s) for o, s in zip(OLD, SAMPLER, strict=True)]))
    kept = weights <= 1.2
    assert 0 < kept.sum() < 8
    expected = -(weights * worked["token_objective"])[kept].sum() / 8
    assert worked["loss"] == pytest.approx(expected, rel=1e-13)
    assert not worked["gradient"][~kept].any()


def test_prime_rl_shuts_a_token_that_moved_too_far_the_way_of_its_advantage() -> None:
    worked = work(small(), prime(dppo_mask_low=0.05, dppo_mask_high=0.05, kl_tau=0.0))
    moved = np.exp(np.concatenate(NEW)) - np.exp(np.concatenate(OLD))
    shut = np.where(np.repeat(worked["advantage"], [3, 2, 1, 2]) > 0, moved > 0.05, moved < -0.05)
    assert 0 < shut.sum() < 8
    np.testing.assert_array_equal(worked["gate"], 1.0 - shut)
    assert not worked["gradient"][shut].any()


def test_prime_rls_figures_are_means_of_each_completions() -> None:
    logged = work(small(), prime(dppo_mask_low=0.05, dppo_mask_high=0.05)).metrics("prime-rl")
    assert 0 < logged["is_masked"] < 1
    assert logged["is_masked_low"] + logged["is_masked_high"] == pytest.approx(logged["is_masked"])
