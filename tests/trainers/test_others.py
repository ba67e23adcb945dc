"""NeMo-RL, slime, ROLL, open-instruct and torchrl: defaults, spellings, and each one's documented oddity."""

import numpy as np
import pytest

from grpo_calc import trainers
from grpo_calc.say import Problem
from grpo_calc.work import work
from tests.trainers.small import NEW, OLD, REF, small

NAMES = ("nemo-rl", "slime", "roll", "open-instruct", "torchrl")


@pytest.mark.parametrize("name", NAMES)
def test_the_name_alone_is_the_version_that_was_checked(name: str) -> None:
    preset = trainers.trainer(name)
    assert preset.recipe().name == f"{name}@{preset.latest}"
    assert np.isfinite(work(small(entropy=[[1.0] * len(row) for row in NEW]), preset.recipe()).loss)


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_option_is_an_error(name: str) -> None:
    with pytest.raises(Problem):
        trainers.recipe(name, no_such_option=1)


def test_nemo_rl_leaves_the_completion_out_of_its_own_mean_and_std() -> None:
    winner = small(reward=[1.0, 0.0, 0.0, 0.0])
    assert work(winner, trainers.recipe("nemo-rl"))["advantage"][:2].tolist() == [1.0, -1.0]


def test_nemo_rl_takes_its_own_sections() -> None:
    nested = trainers.recipe("nemo-rl", loss_fn={"ratio_clip_max": 0.28}, grpo={"use_leave_one_out_baseline": False})
    assert nested.parameters["eps_high"] == 0.28
    assert nested.roles["baseline"] == "group_mean"


def test_nemo_rl_adds_the_likelihood_of_rewarded_completions() -> None:
    plain = work(small(), trainers.recipe("nemo-rl"))
    more = work(small(), trainers.recipe("nemo-rl", positive_example_nll_weight=0.5))
    rewarded = [*NEW[0], *NEW[2], *NEW[3]]
    assert more.loss - plain.loss == pytest.approx(0.5 * -np.mean(rewarded), abs=1e-8)


def test_slime_takes_the_lower_range_for_the_upper_one() -> None:
    assert trainers.recipe("slime", eps_clip=0.1).parameters["eps_high"] == 0.1
    assert trainers.recipe("slime", **{"--eps-clip-high": 0.3}).parameters["eps_high"] == 0.3


def test_rolls_token_mean_keeps_dropped_samples_in_its_sum_unless_repaired() -> None:
    table = small(dropped=[0.0, 1.0, 0.0, 0.0])
    options = {"loss_agg_mode": "token-mean"}
    bug = work(table, trainers.recipe("roll", **options))
    repaired = work(table, trainers.recipe("roll", **options, masked_numerator=True))
    assert bug["tokens"] == repaired["tokens"] == 6
    objective = bug["weighted_objective"]
    assert bug.loss == pytest.approx(-objective.sum() / 6, abs=1e-15)
    assert repaired.loss == pytest.approx(-(objective.sum() - objective[3:5].sum()) / 6, abs=1e-15)
    assert repaired["gradient"][3:5].tolist() == [0.0, 0.0]


def test_open_instruct_bounds_of_0_are_none() -> None:
    recipe = trainers.recipe("open-instruct", rho_clamp_upper_bound=0, rho_mask_lower_bound=0.8)
    assert recipe.parameters["sampler_cap"] > 1e100
    assert recipe.roles["sampler_gate"] == "ratio"


def test_torchrls_kl_is_a_mean_over_padding_too_unless_repaired() -> None:
    k1 = np.concatenate([np.array(n) - np.array(r) for n, r in zip(NEW, REF, strict=True)])
    k3 = np.exp(-k1) - 1 + k1
    bug = work(small(), trainers.recipe("torchrl", kl_to_ref_coeff=0.1, entropy_bonus=False))
    repaired = trainers.recipe("torchrl", kl_to_ref_coeff=0.1, entropy_bonus=False, positions_counted="kept")
    assert bug["kl"] == pytest.approx(k3.sum() / 12, abs=1e-15)
    assert work(small(), repaired)["kl"] == pytest.approx(k3.mean(), abs=1e-15)


def test_torchrls_cispo_has_no_gradient_where_the_ratio_is_clipped() -> None:
    worked = work(small(), trainers.recipe("torchrl", cls="CISPOLoss", entropy_bonus=False))
    ratio = np.exp(np.concatenate(NEW) - np.concatenate(OLD))
    outside = (ratio < 0.8) | (ratio > 1.2)
    assert outside.any()
    assert not worked["gradient"][outside].any()


def test_torchrl_aggregates_nothing_where_reduction_is_none() -> None:
    by_reduction = work(small(), trainers.recipe("torchrl", reduction="none", entropy_bonus=False))
    by_aggregation = work(small(), trainers.recipe("torchrl", aggregation="none", entropy_bonus=False))
    assert by_reduction.loss == by_aggregation.loss
    assert by_reduction.loss == pytest.approx(by_reduction["token_loss"].sum())
    assert not [note for note in by_reduction.recipe.notes if note.key == "note.option_ignored"]
    assert [note for note in trainers.recipe("torchrl", reduction="sum").notes if note.key == "note.option_ignored"]
