"""verl's options as people write them, their defaults by version, and what they come to where that is easy to miss."""

import numpy as np
import pytest

import grpo_calc as gc
from grpo_calc import trainers
from grpo_calc.say import Problem
from grpo_calc.table import Table
from grpo_calc.work import work
from tests.trainers.small import NEW, OLD, REF, SAMPLER, small

LATEST = "0.9.1"


def made(version=LATEST, **options):
    return trainers.recipe("verl", version, **options)


# -- names and versions ----------------------------------------------------------------------------------------------


def test_options_go_by_their_own_names_by_the_configurations_and_nested() -> None:
    short = made(clip_ratio_high=0.28, loss_mode="clip_cov", clip_cov_lb=0.5, norm_adv_by_std_in_grpo=False)
    full = made(
        **{
            "actor_rollout_ref.actor.clip_ratio_high": 0.28,
            "actor_rollout_ref.actor.policy_loss.loss_mode": "clip_cov",
            "policy_loss.clip_cov_lb": 0.5,
            "algorithm.norm_adv_by_std_in_grpo": False,
        }
    )
    nested = made(
        actor_rollout_ref={"actor": {"clip_ratio_high": 0.28, "policy_loss": {"loss_mode": "clip_cov"}}},
        policy_loss={"clip_cov_lb": 0.5},
        algorithm={"norm_adv_by_std_in_grpo": "False"},
    )
    assert short.roles == full.roles == nested.roles
    assert short.parameters == full.parameters == nested.parameters
    assert short.parameters["eps_high"] == 0.28


@pytest.mark.parametrize(
    ("version", "option"),
    [("0.2.0", "loss_agg_mode"), ("0.4.0", "loss_mode"), ("0.8.0", "dro_beta"), (LATEST, "clip_ratio_hihg")],
)
def test_an_option_of_another_version_is_unknown(version: str, option: str) -> None:
    with pytest.raises(Problem, match=option):
        made(version, **{option: 1})


@pytest.mark.parametrize(
    ("version", "value"), [("0.8.0", {"loss_mode": "dro"}), ("0.3.0", {"adv_estimator": "opo"})], ids=str
)
def test_a_value_of_another_version_is_not_taken(version: str, value) -> None:
    with pytest.raises(Problem, match=next(iter(value.values()))):
        made(version, **value)
    assert made(**value, **({"dro_beta": 0.1} if "loss_mode" in value else {}))


def test_a_version_may_leave_out_its_zero_and_a_repackaging() -> None:
    assert made("0.2.0.post2").name == made("0.2").name == "verl@0.2.0"


def test_an_unknown_version_names_the_known() -> None:
    with pytest.raises(Problem, match=r"0\.2\.0.*0\.9\.1"):
        made("0.1.0")


def test_a_recipe_by_name_is_changed_by_the_trainers_options() -> None:
    changed = gc.recipe(f"verl@{LATEST}", loss_mode="gspo", **{"actor.clip_ratio_low": 3e-4})
    assert changed.roles == made(loss_mode="gspo").roles
    assert changed.parameters["eps_low"] == 3e-4


@pytest.mark.parametrize(
    ("options", "ignored"),
    [
        ({"tau_pos": 2.0}, ["tau_pos"]),
        ({"loss_mode": "sapo", "tau_pos": 2.0}, []),
        ({"clip_ratio": 0.1}, ["clip_ratio"]),
        ({"clip_ratio": 0.1, "clip_ratio_low": None}, []),
        ({"gamma": 0.9}, ["gamma"]),
        ({"adv_estimator": "reinforce_plus_plus", "gamma": 0.9}, []),
        ({"adv_estimator": "grpo_vectorized", "norm_adv_by_std_in_grpo": False}, ["norm_adv_by_std_in_grpo"]),
        ({"loss_mode": "geo_mean", "loss_agg_mode": "token-mean"}, ["loss_agg_mode"]),
        ({"loss_mode": "geo_mean", "loss_agg_mode": "token-mean", "use_kl_loss": True}, []),
    ],
    ids=str,
)
def test_an_option_that_plays_no_part_is_taken_and_said(options, ignored) -> None:
    recipe = made(**options)
    said = [dict(note.values)["option"] for note in recipe.notes if note.key == "note.option_ignored"]
    assert said == ignored


# -- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"clip_ratio_c": 1.0}, "clip_ratio_c"),
        ({"loss_mode": "dro"}, "dro_beta"),
        ({"loss_mode": "dro", "dro_beta": 0.0}, "dro_beta"),
        ({"dp_size": 2}, "batch_num_tokens"),
        ({"dp_size": 2, "loss_agg_mode": "seq-mean-token-sum"}, "global_batch_size"),
        ({"entropy_coeff": 0.01}, "entropy_coeff"),
        ({"kl_loss_type": "full"}, "kl_loss_type"),
        ({"rollout_is": "token", "rollout_is_threshold": "2_1"}, "rollout_is_threshold"),
        ({"rollout_is": "token", "rollout_is_threshold": "-1"}, "rollout_is_threshold"),
        ({"rollout_rs": "token_k1,seq_mean_k2,seq_max_k3", "rollout_rs_threshold": "2,3"}, "rollout_rs_threshold"),
        ({"rollout_rs": "token_k3", "rollout_rs_threshold": "0.5_2"}, "rollout_rs_threshold"),
        ({"rollout_rs": "token_k1"}, "rollout_rs_threshold"),
        ({"rollout_rs": "token_k9", "rollout_rs_threshold": "2"}, "seq_mean_k1"),
    ],
    ids=str,
)
def test_a_value_that_cannot_be_taken_is_named(options, named: str) -> None:
    with pytest.raises(Problem, match=named):
        made(**options)


def test_a_k1_bound_alone_has_its_inverse_below_it() -> None:
    rejecting = made(rollout_rs="token_k1, seq_max_k2", rollout_rs_threshold="1.25, 3")
    assert (rejecting.parameters["token_k1_low"], rejecting.parameters["token_k1_high"]) == (0.8, 1.25)
    assert rejecting.parameters["seq_max_k2_high"] == 3.0
    one = made(rollout_rs="seq_sum_k1,seq_mean_k1", rollout_rs_threshold="0.5_4")
    assert {one.parameters[f"seq_{rule}_k1_low"] for rule in ("sum", "mean")} == {0.5}


def test_one_threshold_truncates_a_weight_and_two_leave_it_out() -> None:
    table = small(logp_sampler=SAMPLER)
    weights = np.exp(np.concatenate([np.subtract(o, s) for o, s in zip(OLD, SAMPLER, strict=True)]))
    cut = work(table, made(rollout_is="token", rollout_is_threshold=1.1))["sampler_weight"]
    left_out = work(table, made(rollout_is="token", rollout_is_threshold="0.9_1.1"))["sampler_weight"]
    np.testing.assert_allclose(cut, np.minimum(weights, 1.1), rtol=1e-14)
    np.testing.assert_allclose(left_out, np.where((weights >= 0.9) & (weights <= 1.1), weights, 0.0), rtol=1e-14)


# -- what differs by version -----------------------------------------------------------------------------------------


def test_dual_clip_came_with_0_4_and_holding_the_log_ratio_with_0_4_1() -> None:
    assert made("0.3.0").roles["objective"] == "ppo"
    assert (made("0.4.0").roles["objective"], made("0.4.0").roles["ratio"]) == ("dual_clip", "token")
    assert made("0.4.1").roles["ratio"] == "token_clamped"


def with_an_empty_completion() -> Table:
    return Table.from_arrays(
        group_id=["a", "a", "a"], reward=[1.0, 0.0, 0.5], logp_new=[NEW[0], [], NEW[1]], logp_old=[OLD[0], [], OLD[1]]
    )


@pytest.mark.parametrize(("version", "defined"), [("0.6.0", False), ("0.6.1", True), (LATEST, True)])
def test_an_empty_completion_made_seq_mean_token_mean_undefined(version: str, defined: bool) -> None:
    loss = work(with_an_empty_completion(), made(version, loss_agg_mode="seq-mean-token-mean"))["loss"]
    assert np.isfinite(loss) == defined


def test_completions_were_counted_with_the_empty_ones() -> None:
    old, new = (
        work(with_an_empty_completion(), made(version, loss_agg_mode="seq-mean-token-sum"))["loss"]
        for version in ("0.6.0", "0.6.1")
    )
    assert old * 3 == pytest.approx(new * 2, rel=1e-14)


@pytest.mark.parametrize(("version", "kept"), [("0.8.0", False), ("0.9.0", True)])
def test_a_hole_in_the_mask_lost_the_reward_to_go(version: str, kept: bool) -> None:
    table = small(mask=[[1, 0, 1], [1, 1], [1], [1, 1]])
    worked = work(table, made(version, adv_estimator="reinforce_plus_plus"))
    assert list(worked["reward_to_go"][:2]) == [1.0 if kept else 0.0, 1.0]


def test_a_constant_length_was_not_divided_by_completions() -> None:
    options = {"loss_agg_mode": "seq-mean-token-sum-norm", "max_response_length": 10}
    old, new = (work(small(), made(version, **options))["loss"] for version in ("0.7.0", "0.7.1"))
    assert old == pytest.approx(4 * new, rel=1e-14)


# -- what is easy to miss --------------------------------------------------------------------------------------------


def test_a_lone_completions_advantage_is_its_reward() -> None:
    table = Table.from_arrays(group_id=["a"], reward=[0.5], logp_new=[NEW[0]], logp_old=[OLD[0]])
    assert work(table, made(norm_adv_by_std_in_grpo=False))["advantage"] == 0.5
    assert work(table, made())["advantage"] == pytest.approx(0.5 / 1.000001, rel=1e-7)
    assert work(table, made(adv_estimator="grpo_passk"))["advantage"] == 0.0


def test_a_rank_divides_by_its_share_of_the_global_sizes() -> None:
    alone = work(small(), made())["loss"]
    ranked = work(small(), made(dp_size=2, batch_num_tokens=8, global_batch_size=8))["loss"]
    assert ranked == pytest.approx(alone * 8 * 2 / 8, rel=1e-14)


def test_a_plus_has_the_value_of_its_name_and_the_slope_of_k2() -> None:
    kl = {"use_kl_loss": True, "kl_loss_coef": 0.1}
    plain, plus, k2 = (work(small(), made(**kl, kl_loss_type=name)) for name in ("low_var_kl", "low_var_kl+", "mse"))
    assert plus["loss"] == plain["loss"]
    np.testing.assert_allclose(plus["gradient"], k2["gradient"], rtol=1e-14)
    assert not np.allclose(plus["gradient"], plain["gradient"])


def test_the_kl_comes_off_the_reward_before_the_group_is_compared() -> None:
    worked = work(small(), made(use_kl_in_reward=True, kl_coef=0.1, norm_adv_by_std_in_grpo=False))
    taken = [r - 0.1 * np.subtract(o, f).sum() for r, o, f in zip((1, 0, 0.5, 2), OLD, REF, strict=True)]
    expected = [taken[0] - (taken[0] + taken[1]) / 2, taken[2] - (taken[2] + taken[3]) / 2]
    np.testing.assert_allclose(
        np.unique(worked["advantage"])[[0, -1]], sorted([*expected, *[-e for e in expected]])[::3]
    )


def test_a_rejected_token_is_out_of_the_loss_and_its_divisor() -> None:
    worked = work(small(), made(rollout_rs="token_k1", rollout_rs_threshold="0.75_1.3"))
    mismatch = np.concatenate([np.subtract(o, s) for o, s in zip(OLD, SAMPLER, strict=True)])
    kept = (np.exp(mismatch) >= 0.75) & (np.exp(mismatch) <= 1.3)
    assert 0 < kept.sum() < len(kept)
    assert not worked["gradient"][~kept].any()
    assert worked["loss"] == pytest.approx(-worked["token_objective"][kept].mean(), rel=1e-13)


def test_what_clip_cov_draws_at_random_is_said_and_may_be_given() -> None:
    keys = [note.key for note in made(loss_mode="clip_cov").notes]
    assert keys == ["note.drawn_at_random"]
    assert not made(loss_mode="clip_cov", clip_cov_ratio=1.0).notes


def test_figures_have_verls_names() -> None:
    logged = work(small(), made(use_kl_loss=True)).metrics("verl")
    assert {"actor/pg_clipfrac", "actor/pg_clipfrac_lower", "actor/ppo_kl", "actor/kl_loss"} <= set(logged)
    mismatch = np.concatenate([np.subtract(o, n) for o, n in zip(OLD, NEW, strict=True)])
    assert logged["actor/ppo_kl"] == pytest.approx(mismatch.mean(), rel=1e-13)
