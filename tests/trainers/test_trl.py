"""TRL's options: defaults by version, what is refused, what is said, and several rewards."""

import numpy as np
import pytest

import grpo_calc as gc
from grpo_calc.trainers import recipe, trainer

TABLE = {
    "group_id": ["p", "p", "q", "q"],
    "logp_new": [[-1.0, -0.5], [-2.0], [-0.7, -0.9, -1.1], [-0.3]],
    "logp_old": [[-1.1, -0.7], [-1.5], [-0.7, -1.4, -1.0], [-0.5]],
    "logp_ref": [[-1.0, -0.6], [-1.7], [-0.9, -1.2, -1.0], [-0.4]],
    "logp_sampler": [[-1.2, -0.7], [-1.6], [-0.8, -1.3, -1.0], [-0.5]],
    "entropy": [[1.0, 0.2], [0.7], [0.1, 0.9, 0.4], [0.3]],
}


def table(**more):
    return gc.Table.from_arrays(**TABLE, **more)


@pytest.mark.parametrize(
    ("version", "beta", "reduction", "old", "kl_weight"),
    [
        ("0.14.0", 0.04, "completion_mean", "new", "none"),
        ("0.15.2", 0.04, "completion_mean", "new", "none"),
        ("0.16.1", 0.04, "token_mean", "given", "none"),
        ("0.17.0", 0.04, "token_mean", "given", "none"),
        ("0.19.0", 0.0, "token_mean", "given", "none"),
        ("0.22.0", 0.0, "token_mean", "given", "none"),
        ("1.16.0", 0.0, "token_mean", "given", "none"),
    ],
)
def test_defaults_by_version(version: str, beta: float, reduction: str, old: str, kl_weight: str) -> None:
    made = recipe("trl", version)
    assert made.parameters["beta"] == beta
    assert (made.roles["reduction"], made.roles["old"], made.roles["kl_weight"]) == (reduction, old, kl_weight)


def test_the_kl_is_weighted_by_the_ratio_from_1_10_on() -> None:
    assert recipe("trl", "1.9.2", beta=0.04).roles["kl_weight"] == "none"
    assert recipe("trl", "1.10.0", beta=0.04).roles["kl_weight"] == "ratio"


def test_the_caps_of_the_sampler_correction_by_version() -> None:
    assert recipe("trl", "0.23.0", use_vllm=True).parameters["sampler_cap"] == 2.0
    assert recipe("trl", "0.23.0", use_vllm=True).roles["sampler"] == "token_truncate"
    assert recipe("trl", "0.26.0", use_vllm=True).roles["sampler"] == "sequence_mask"
    assert recipe("trl", "1.16.0", use_vllm=True, vllm_importance_sampling_cap=1.5).parameters["sampler_cap"] == 1.5
    both = recipe("trl", "1.16.0", use_vllm=True, vllm_importance_sampling_clip_min=0.5)
    assert (both.parameters["sampler_floor"], both.parameters["sampler_cap"]) == (0.5, 3.0)


def test_an_option_that_a_version_does_not_have_is_refused_with_the_known_ones() -> None:
    with pytest.raises(gc.Problem, match=r"trl 0\.17\.0 has no option delta .*known: beta, epsilon"):
        recipe("trl", "0.17.0", delta=1.5)
    with pytest.raises(gc.Problem, match="closest: epsilon_high"):
        recipe("trl", "1.16.0", epsilon_hihg=0.3)


def test_values_that_an_option_does_not_take_are_refused_with_those_it_takes() -> None:
    with pytest.raises(gc.Problem, match="loss_type is gspo; it takes: grpo, bnpo, dr_grpo, dapo, cispo"):
        recipe("trl", "1.16.0", loss_type="gspo")
    with pytest.raises(gc.Problem, match=r"it takes: grpo, bnpo, dr_grpo$"):
        recipe("trl", "0.17.0", loss_type="dapo")
    with pytest.raises(gc.Problem, match="beta is much; it takes: number"):
        recipe("trl", "1.16.0", beta="much")
    with pytest.raises(gc.Problem, match="true, false"):
        recipe("trl", "1.16.0", use_vllm="perhaps")


@pytest.mark.parametrize("version", ["0.13.0", "1.17.0", "newest", "1.16.0.dev0"])
def test_versions_that_are_not_known(version: str) -> None:
    with pytest.raises(gc.Problem, match=r"known: 0\.14\.0 to 1\.16\.0"):
        recipe("trl", version)


def test_text_is_read_as_the_option_s_kind() -> None:
    made = gc.recipe(
        "trl@1.16.0", loss_type="dapo", epsilon_high="0.28", beta="0.04", delta="none", scale_rewards="False",
        use_vllm="true", gradient_accumulation_steps="4", reward_weights="1.0, 0.5",
    )  # fmt: skip
    assert made.parameters["eps_high"] == 0.28
    assert (made.roles["objective"], made.roles["scale"], made.roles["sampler"]) == ("ppo", "none", "sequence_mask")
    assert made.reward_weights == (1.0, 0.5)


def test_an_option_that_changes_nothing_is_taken_and_said() -> None:
    made = recipe("trl", "1.16.0", loss_type="cispo", delta=1.5, epsilon_high=2.0, learning_rate=1e-6)
    said = [str(note) for note in made.notes]
    assert [text.split(" takes ")[1].split(",")[0] for text in said] == ["delta", "learning_rate"]


def test_a_recipe_takes_the_trainer_s_words_and_ours() -> None:
    made = gc.recipe("trl", loss_type="grpo").change(reduction="token_sum").change(epsilon_high=0.28)
    assert made.name == "trl@1.16.0"
    assert (made.roles["reduction"], made.parameters["eps_high"]) == ("token_sum", 0.28)
    with pytest.raises(gc.Problem, match=r"trl 1\.16\.0 has no option nonsense"):
        made.change(nonsense=1)


def test_the_room_of_trainers_is_a_name_of_the_package() -> None:
    assert gc.trainers.recipe("trl", "1.16.0", loss_type="dapo").roles["reduction"] == "token_mean"
    with pytest.raises(gc.Problem, match="no trainer is called nobody; known: trl"):
        gc.trainers.recipe("nobody")
    assert trainer("trl-rloo").versions[0] == "0.22.0"


def test_accumulated_steps_by_loss_and_version() -> None:
    steps = {"gradient_accumulation_steps": 4, "steps_per_generation": 8}
    assert recipe("trl", "1.16.0", loss_type="grpo", **steps).parameters["accumulated_steps"] == 4
    assert recipe("trl", "1.16.0", loss_type="dapo", **steps).parameters["accumulated_steps"] == 0.5
    assert recipe("trl", "1.0.0", loss_type="dapo", **steps).roles["accumulation"] == "one"
    assert recipe("trl", "0.21.0", loss_type="grpo", **steps).roles["accumulation"] == "one"


def test_several_rewards_are_weighed_and_a_missing_one_is_skipped() -> None:
    nan = float("nan")
    rewards = {"reward_math": [1.0, nan, 0.5, nan], "reward_form": [0.0, 1.0, nan, nan]}
    worked = gc.work(table(**rewards), recipe("trl", "1.16.0", scale_rewards="none", reward_weights=[2.0, 0.5]))
    np.testing.assert_array_equal(worked["reward"], [2.0, 0.5, 1.0, nan])
    np.testing.assert_allclose(worked["advantage"], [0.75, -0.75, 0.0, 0.0])
    figures = worked.metrics("trl")
    assert figures["rewards/math/mean"] == 0.75
    assert figures["reward"] == pytest.approx(3.5 / 3)
    early = gc.work(table(**rewards), recipe("trl", "1.5.0", scale_rewards="none", reward_weights=[2.0, 0.5]))
    np.testing.assert_allclose(early["advantage"], [0.75, -0.75, 0.5, -0.5])


def test_each_reward_can_be_normalised_first() -> None:
    rewards = {"reward_math": [1.0, 0.0, 2.0, 1.0], "reward_form": [0.0, 10.0, 5.0, 5.0]}
    made = recipe("trl", "1.16.0", multi_objective_aggregation="normalize_then_sum")
    worked = gc.work(table(**rewards), made)
    z = [0.5 / (np.sqrt(0.5) + 1e-4), 5 / (np.sqrt(50) + 1e-4)]
    summed = np.array([z[0] - z[1], z[1] - z[0], z[0], -z[0]])
    np.testing.assert_allclose(worked["advantage"], (summed - summed.mean()) / (summed.std(ddof=1) + 1e-4), atol=1e-12)


def test_weights_that_do_not_fit_the_rewards_are_refused() -> None:
    with pytest.raises(gc.Problem, match="3 reward weights for 2 rewards: a, b"):
        gc.work(table(reward_a=[1, 0, 1, 0], reward_b=[1, 1, 0, 0]), recipe("trl", reward_weights=[1, 2, 3]))


def test_truncated_completions_can_be_left_out() -> None:
    made = recipe("trl", "1.16.0", loss_type="dapo", mask_truncated_completions=True)
    worked = gc.work(table(reward=[1.0, 0.0, 1.0, 0.0], truncated=[0, 0, 1, 0]), made)
    assert worked["tokens"] == 4
    assert worked["length"].tolist() == [2, 1, 0, 1]


def test_the_bug_of_luspo_is_named_and_no_paper_s_recipe_has_it() -> None:
    assert recipe("trl", "1.9.2", loss_type="luspo").roles["reduction"] == "padded_luspo"
    assert recipe("trl", "1.10.0", loss_type="luspo").roles["reduction"] == "completion_sum"
    assert gc.recipe("luspo").roles["reduction"] == "completion_sum"


def test_metrics_are_under_trl_s_names() -> None:
    made = recipe("trl", "1.16.0", beta=0.04, entropy_coef=0.01, use_vllm=True)
    figures = gc.work(table(reward=[1.0, 0.0, 1.0, 0.0]), made).metrics("trl")
    assert {"kl", "entropy", "reward", "reward_std", "frac_reward_zero_std", "policy_loss", "entropy_coef"} <= set(
        figures
    )
    assert {"clip_ratio/low_mean", "clip_ratio/high_max", "sampling/importance_sampling_ratio/mean"} <= set(figures)
