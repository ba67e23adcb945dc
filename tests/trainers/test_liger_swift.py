"""Liger and ms-swift: what they refuse, and where names they share with TRL mean something else."""

import numpy as np
import pytest

import grpo_calc as gc
from grpo_calc.trainers import recipe

TABLE = gc.Table.from_arrays(
    group_id=["p", "p", "q", "q"],
    reward=[1.0, 0.0, 0.5, 0.0],
    logp_new=[[-1.0, -0.5], [-2.0, -0.4], [-0.7, -0.9], [-0.3, -1.0]],
    logp_old=[[-1.1, -0.7], [-1.5, -0.5], [-0.7, -1.4], [-0.5, -0.9]],
    logp_ref=[[-1.0, -0.6], [-1.7, -0.2], [-0.9, -1.2], [-0.4, -1.1]],
    logp_sampler=[[-1.2, -1.9], [-1.6, -0.5], [-0.8, -1.3], [-0.5, -0.8]],
    mask=[[1, 1], [1, 0], [1, 1], [1, 1]],
)


def test_liger_refuses_what_its_loss_refuses() -> None:
    with pytest.raises(gc.Problem, match="does not take importance_sampling_level=sequence with loss_type=cispo"):
        recipe("liger", importance_sampling_level="sequence", loss_type="cispo")
    with pytest.raises(gc.Problem, match="loss_type=dr_grpo needs max_completion_length"):
        recipe("liger", loss_type="dr_grpo")


def test_liger_s_luspo_reads_masked_positions_and_trl_s_does_not() -> None:
    theirs = gc.work(TABLE, recipe("liger", "0.8.5", loss_type="luspo", beta=0))
    ours = gc.work(TABLE, gc.recipe("trl", loss_type="luspo"))
    r = np.exp([[0.1, 0.2], [-0.5, 0.1], [0.0, 0.5], [0.2, -0.1]])
    a = ours["advantage"][:, None]
    each = -np.minimum(r * a, np.clip(r, 0.8, 1.2) * a)
    n = np.array([2, 1, 2, 2])[:, None]
    assert theirs.loss == pytest.approx(np.sum(each * n) / 8, abs=1e-15)
    assert ours.loss == pytest.approx(np.sum(each * [[1, 1], [1, 0], [1, 1], [1, 1]]) / 4, abs=1e-15)


def test_without_padding_luspo_is_a_sum_and_says_so() -> None:
    bare = gc.Table.from_arrays(
        group_id=["p", "p"],
        reward=[1, 0],
        logp_new=[[-1.0], [-2.0]],
        logp_old=[[-1.1], [-1.9]],
        logp_ref=[[-1.0], [-2.0]],
    )
    worked = gc.work(bare, recipe("liger", loss_type="luspo"))
    assert worked.recipe.roles["reduction"] == "completion_sum"
    assert any("padding" in str(note) for note in worked.notes)


def test_a_mode_of_one_name_in_trl_and_ms_swift() -> None:
    name = "sequence_mask"
    trl = gc.work(TABLE, recipe("trl", beta=0.04, use_vllm=True, vllm_importance_sampling_mode=name))
    swift = gc.work(TABLE, recipe("ms-swift", rollout_importance_sampling_mode=name))
    np.testing.assert_allclose(trl["sampler_weight"], np.exp([1.3, 0.1, 0.0, -0.1]) * [0, 1, 1, 1], rtol=1e-12, atol=0)
    gaps = np.array([0.1, 1.2, 0.1, 0.1, -0.1, 0.0, -0.1])
    np.testing.assert_allclose(swift["sampler_weight"], np.exp(gaps), rtol=1e-12)
    assert swift["token_kl"][1] == pytest.approx(swift["token_kl_before_sampler"][1] * np.exp(1.2))


def test_ms_swift_leaves_a_completion_out_everywhere() -> None:
    made = recipe("ms-swift", loss_type="bnpo", off_policy_sequence_mask_delta=0.01)
    worked = gc.work(TABLE, made)
    assert worked["on_policy_enough"].tolist() == [1, 0, 1, 1]
    assert worked["tokens"] == 6
    assert gc.work(TABLE, made.change(loss_type="dapo"))["tokens_everywhere"] == 7


def test_estimators_of_ms_swift_have_scales_of_their_own() -> None:
    assert recipe("ms-swift").roles["scale"] == "group_std"
    rloo = recipe("ms-swift", advantage_estimator="rloo")
    assert (rloo.roles["baseline"], rloo.roles["scale"], rloo.roles["reward_kl"]) == ("leave_one_out", "none", "sum_k1")
    assert recipe("ms-swift", advantage_estimator="reinforce_plus_plus").roles["scale"] == "centred_batch_std"
