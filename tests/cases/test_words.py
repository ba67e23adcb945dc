"""Words that reports and configurations use for roles and parameters: each leads to one of ours, alone and together."""

from pathlib import Path

import pytest

import grpo_calc as gc
from grpo_calc.choices.words import IMPLIED, KEY_ALIASES, SPREAD_KEYS, VALUE_ALIASES
from grpo_calc.recipe import known_keys
from grpo_calc.roles import PARAMETERS, ROLES

GRPO = gc.recipe("grpo")


@pytest.mark.parametrize("alias", KEY_ALIASES)
def test_another_word_for_a_key_leads_to_one_of_ours(alias: str) -> None:
    assert KEY_ALIASES[alias] in known_keys()
    assert alias not in {*ROLES, *PARAMETERS}


@pytest.mark.parametrize(("key", "alias"), [(key, alias) for key, words in VALUE_ALIASES.items() for alias in words])
def test_another_word_for_a_choice_is_that_choice(key: str, alias: str) -> None:
    assert GRPO.change(**{key: alias}) == GRPO.change(**{key: VALUE_ALIASES[key][alias]})


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, choices in SPREAD_KEYS.items() for value in choices])
def test_a_key_for_several_says_what_they_say(key: str, value: str) -> None:
    assert GRPO.change(**{key: value}) == GRPO.change(**SPREAD_KEYS[key][value])


@pytest.mark.parametrize("parameter", IMPLIED)
def test_a_bound_that_is_given_holds(parameter: str) -> None:
    role, was, is_now = IMPLIED[parameter]
    assert GRPO.roles[role] == was
    assert GRPO.change(**{parameter: 2 if parameter != "top_entropy" else 0.5}).roles[role] == is_now


def test_a_role_said_by_its_name_is_not_changed_by_a_bound() -> None:
    assert GRPO.change(objective="ppo", dual_clip_c=3).roles["objective"] == "ppo"
    assert GRPO.change(objective="sapo", dual_clip_c=3).roles["objective"] == "sapo"


def test_the_level_of_the_ratio_leaves_room_for_a_clamp() -> None:
    assert GRPO.change(ratio_level="token", log_ratio_clamp=20).roles["ratio"] == "token_clamped"
    assert GRPO.change(ratio_level="sequence", log_ratio_clamp=20).roles["ratio"] == "sequence"


def test_what_is_said_by_its_own_name_comes_before_a_key_for_several() -> None:
    assert GRPO.change(scale="batch_std", adv="group_mean").roles["scale"] == "batch_std"
    assert GRPO.change(kl_in_reward=True, beta=0.1).parameters["beta"] == 0.1
    assert GRPO.change(divide_by="loo_std", adv="loo").roles["scale"] == "leave_one_out_std"


def test_a_kl_coefficient_is_of_the_kl_that_there_is() -> None:
    assert GRPO.change(kl_coef=0.5).parameters["beta"] == 0.5
    inside = GRPO.change(kl_coef=0.5, kl_in_reward=True)
    assert (inside.parameters["beta"], inside.parameters["reward_beta"]) == (0.0, 0.5)


def test_a_kl_in_the_reward_without_reference_is_refused() -> None:
    table = gc.Table.from_arrays(reward=[1, 0], logp_new=[[-1.0], [-1.0]], logp_old=[[-1.0], [-1.0]])
    with pytest.raises(gc.Problem, match="logp_ref is not given"):
        gc.work(table, GRPO.change(kl_in_reward=True, kl_coef=0.5))


@pytest.mark.parametrize("bound", [1, 0.5, 0])
def test_a_dual_clip_of_one_or_less_is_refused(bound: float) -> None:
    with pytest.raises(gc.Problem, match="dual_clip"):
        GRPO.change(dual_clip_c=bound)


@pytest.mark.parametrize(("key", "value"), [("adv", "loss"), ("divide_by", "sum"), ("kl", "k4"), ("agg", "mean")])
def test_an_unknown_value_lists_the_known(key: str, value: str) -> None:
    with pytest.raises(gc.Problem, match="known: "):
        GRPO.change(**{key: value})


def test_any_column_of_the_catalogue_can_be_asked_for() -> None:
    table = gc.Table.from_arrays(reward=[1, 0], logp_new=[[-1.0], [-1.5]], logp_old=[[-1.0], [-1.0]])
    worked = gc.work(table, GRPO.change(beta=0))
    assert worked["product_ratio"].tolist() == worked["ratio"].tolist()
    assert not worked.has("product_ratio")  # no output of the recipe needs it
    with pytest.raises(gc.Problem, match="log_mismatch needs logp_sampler"):
        worked["log_mismatch"]
    with pytest.raises(gc.Problem, match="no column"):
        worked["no_such_column"]


def test_a_file_may_give_the_kl_of_each_completion(tmp_path: Path) -> None:
    (tmp_path / "kl.csv").write_text("group_id,reward,seq_kl\na,1,0.6\na,0,0.1\n", encoding="utf-8")
    worked = gc.work(gc.read(tmp_path / "kl.csv"), GRPO.change(kl_in_reward=True, kl_coef=0.5, adv="group_mean"))
    assert worked["reward"].tolist() == [0.7, -0.05]
    assert "note.seq_kl" in {each.key for each in worked.notes}
