"""Recipes: the contract's keys and defaults line by line, settling on what is given, and words that are not known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import grpo_calc as gc
from grpo_calc.column import Level
from grpo_calc.recipe import KEY_ALIASES, SPREAD_KEYS, VALUE_ALIASES, known_keys
from grpo_calc.recipes import RECIPES
from grpo_calc.roles import ROLES
from grpo_calc.say import Problem
from tests.core.tables import random_arrays, random_table, table, with_parameters

# -- the contract: one function, one key -----------------------------------------------------------------------------

TOKEN = (
    *("logp_new", "logp_old", "logp_ref", "logp_sampler", "log_ratio", "ratio", "clipped_ratio", "surrogate"),
    *("clipped_surrogate", "token_objective", "clipped", "outside", "k1", "k2", "k3", "kl_proxy", "token_kl"),
    *("token_loss", "token_gradient", "gradient"),
)
COMPLETION = ("length", "reward", "advantage", "mean_ratio", "completion_loss")
GROUP = ("group_size", "group_mean", "group_std")
BATCH = (
    *("surrogate_objective", "kl", "kl_token_mean", "objective", "policy_loss", "loss", "clip_fraction"),
    *("clip_low_fraction", "clip_high_fraction", "tokens", "completions", "groups"),
)
KEYS = {Level.TOKEN: TOKEN, Level.COMPLETION: COMPLETION, Level.GROUP: GROUP, Level.BATCH: BATCH}


@pytest.mark.parametrize(("level", "key"), [(level, key) for level, keys in KEYS.items() for key in keys])
def test_every_key_of_the_contract_is_there_at_its_level(level: Level, key: str) -> None:
    worked = gc.work(random_table(0), "grpo")
    assert worked.level(key) is level
    rows = {
        Level.TOKEN: worked.table.token_count,
        Level.COMPLETION: worked.table.completion_count,
        Level.GROUP: worked.table.group_count,
    }
    assert np.shape(worked[key]) == (() if level is Level.BATCH else (rows[level],))


def test_under_a_sequence_ratio_ratio_and_clip_live_at_completions() -> None:
    worked = gc.work(random_table(0), "gspo")
    for key in ("ratio", "clipped_ratio", "surrogate", "clipped_surrogate", "token_objective", "clipped", "outside"):
        assert worked.level(key) is Level.COMPLETION, key
    for key in ("token_gradient", "gradient"):
        assert worked.level(key) is Level.TOKEN, key


def test_figures_hang_together() -> None:
    worked = gc.work(random_table(0), "grpo")
    beta = worked.recipe.parameters["beta"]
    assert worked["objective"] == worked["surrogate_objective"] - beta * worked["kl"]
    assert worked["policy_loss"] == -worked["surrogate_objective"]
    assert worked.loss == worked["loss"] == -worked["objective"]
    token_loss = beta * worked["token_kl"] - worked["token_objective"]
    np.testing.assert_allclose(worked["token_loss"], token_loss, atol=1e-15)
    np.testing.assert_array_equal(worked["kl_proxy"], (worked["ratio"] - 1) ** 2)
    np.testing.assert_array_equal(worked["k1"], worked.table.tokens["logp_new"] - worked.table.tokens["logp_ref"])
    clipped = worked["surrogate"] - worked["clipped_surrogate"] > 1e-12
    np.testing.assert_array_equal(worked["clipped"], clipped.astype(float))
    assert (worked["tokens"], worked["completions"], worked["groups"]) == (worked.table.token_count, 10.0, 4.0)
    assert worked["clip_fraction"] == clipped.mean()


@pytest.mark.parametrize(
    ("name", "roles", "parameters"),
    [
        (
            "grpo",
            {"baseline": "group_mean", "scale": "group_std", "std_eps": "add", "kl": "k3", "kl_base": "ref",
             "ratio": "token", "objective": "ppo", "reduction": "completion_mean"},
            {"adv_eps": 1e-4, "ddof": 1, "eps_low": 0.2, "eps_high": 0.2, "beta": 0.04, "tie_tol": 1e-12},
        ),
        (
            "article",
            {"baseline": "group_mean", "scale": "none", "kl": "proxy", "reduction": "completion_mean"},
            {"ddof": 0, "eps_low": 0.2, "eps_high": 0.2, "beta": 0.1},
        ),
        (
            "chapter",
            {"scale": "group_std", "std_eps": "at_least", "kl": "none", "reduction": "completion_mean"},
            {"adv_eps": 1e-6, "ddof": 0, "eps_low": 0.2, "eps_high": 0.2, "beta": 0},
        ),
    ],
)  # fmt: skip
def test_defaults_of_the_contract(name: str, roles: dict[str, str], parameters: dict[str, float]) -> None:
    found = gc.recipe(name)
    assert {role: found.roles[role] for role in roles} == roles
    assert {key: found.parameters[key] for key in parameters} == parameters


def test_a_recipe_is_grpo_by_default() -> None:
    assert gc.recipe() == gc.recipe("grpo")
    assert gc.work(random_table(0)).loss == gc.work(random_table(0), "grpo").loss


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_says_where_it_is_from_and_works(name: str) -> None:
    row = RECIPES[name]
    assert row.source
    assert row.en
    assert row.zh
    assert set(row.roles) == set(ROLES)
    assert np.isfinite(gc.work(random_table(0), with_parameters(row)).loss)


# -- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"adv": "group_mean_std"}, {"baseline": "group_mean", "scale": "group_std"}),
        ({"adv": "group_mean"}, {"baseline": "group_mean", "scale": "none"}),
        ({"adv": "loo"}, {"baseline": "leave_one_out", "scale": "none"}),
        ({"advantage": "given"}, {"baseline": "given"}),
        ({"agg": "seq-mean-token-mean"}, {"reduction": "completion_mean"}),
        ({"agg": "token-mean"}, {"reduction": "token_mean"}),
        ({"agg": "seq-mean-token-sum"}, {"reduction": "completion_sum"}),
        ({"aggregation": "token-sum"}, {"reduction": "token_sum"}),
        ({"loss_agg_mode": "seq-mean-token-sum-norm"}, {"reduction": "constant_length"}),
        ({"kl": "k1"}, {"kl": "k1"}),
        ({"kl": "kl_proxy"}, {"kl": "proxy"}),
        ({"ratio_level": "sequence"}, {"ratio": "sequence"}),
        ({"ratio_level": "token"}, {"ratio": "token"}),
    ],
    ids=str,
)
def test_option_words_of_reports(given: dict[str, str], meant: dict[str, str]) -> None:
    roles = gc.recipe("grpo", **given).roles
    assert {role: roles[role] for role in meant} == meant


@pytest.mark.parametrize("key", ["eps", "epsilon", "clip_range"])
def test_one_word_sets_both_sides_of_the_clip(key: str) -> None:
    parameters = gc.recipe("dapo", **{key: "0.1"}).parameters
    assert (parameters["eps_low"], parameters["eps_high"]) == (0.1, 0.1)


def test_every_alias_means_something() -> None:
    assert set(KEY_ALIASES.values()) <= set(known_keys())
    for role, words in VALUE_ALIASES.items():
        assert set(words.values()) <= set(ROLES[role])
    for choices in SPREAD_KEYS.values():
        for changes in choices.values():
            gc.recipe("grpo", **changes)


def test_an_unknown_key_has_the_closest_one_and_the_usual_ones() -> None:
    with pytest.raises(Problem) as raised:
        gc.recipe("grpo", temperature=1)
    text = str(raised.value)
    assert text.startswith("temperature is not a parameter or role; the usual ones: baseline, scale, ")
    assert "\n" not in text
    with pytest.raises(Problem, match=r"^beat is not a parameter or role: beta\? The usual ones: ") as raised:
        gc.recipe("grpo", beat=1)
    assert "是 beta 吗" in raised.value.text("zh")
    with pytest.raises(Problem) as raised:
        gc.recipe("grpo", temperature=1)
    assert "temperature" in raised.value.text("zh")


@pytest.mark.parametrize("role", ROLES)
def test_an_unknown_value_lists_the_known_ones(role: str) -> None:
    with pytest.raises(Problem) as raised:
        gc.recipe("grpo", **{role: "never"})
    for choice in (*ROLES[role], *VALUE_ALIASES.get(role, ())):
        assert choice in str(raised.value)


def test_an_unknown_recipe_lists_the_known_ones() -> None:
    with pytest.raises(Problem) as raised:
        gc.recipe("ppo2")
    assert all(name in str(raised.value) for name in RECIPES)


@pytest.mark.parametrize(
    ("key", "value", "takes"),
    [
        *(
            ("eps_low", -0.1, "of at least 0"),
            ("eps_high", "wide", "of at least 0"),
            ("adv_eps", -1e-9, "of at least 0"),
        ),
        *(("ddof", 2, "0 or 1"), ("ddof", 0.5, "0 or 1"), ("tie_tol", 2, "from 0 to 1")),
        *(("beta", "nan", "any number"), ("beta", "inf", "any number"), ("beta", None, "any number")),
        ("max_length", 0, "greater than 0"),
    ],
)
def test_a_parameter_out_of_its_range_says_the_range(key: str, value: Any, takes: str) -> None:
    with pytest.raises(Problem, match=key) as raised:
        gc.recipe("grpo", **{key: value})
    assert str(raised.value).endswith(takes)


def test_a_recipe_is_immutable() -> None:
    grpo = gc.recipe("grpo")
    grpo.change(beta=0, kl="k1")
    assert (grpo.parameters["beta"], grpo.roles["kl"]) == (0.04, "k3")
    with pytest.raises(TypeError):
        grpo.parameters["beta"] = 1.0  # type: ignore[index]
    with pytest.raises(AttributeError):
        grpo.name = "other"  # type: ignore[misc]


# -- settling on what is given ---------------------------------------------------------------------------------------


def without(*names: str) -> gc.Table:
    return table({name: value for name, value in random_arrays(0).items() if name not in names})


def keys(worked: gc.Worked) -> list[str]:
    return [note.key for note in worked.notes]


@pytest.mark.parametrize("kl", ["k1", "k2", "k3", "abs"])
def test_a_missing_kl_base_is_an_error_where_it_weighs(kl: str) -> None:
    with pytest.raises(Problem, match="logp_ref is not given") as raised:
        gc.work(without("logp_ref"), gc.recipe("grpo", kl=kl))
    assert "beta=0" in str(raised.value)


@pytest.mark.parametrize("kl", ["k1", "k2", "k3", "abs"])
def test_with_beta_0_the_kl_columns_are_absent_and_that_is_said(kl: str) -> None:
    worked = gc.work(without("logp_ref"), gc.recipe("grpo", kl=kl, beta=0))
    assert "note.no_kl_base" in keys(worked)
    for name in ("k1", "k2", "k3", "token_kl", "kl", "kl_token_mean"):
        assert not worked.has(name), name
        with pytest.raises(Problem):
            worked[name]
    assert worked.loss == gc.work(random_like(), gc.recipe("grpo", beta=0)).loss
    assert worked["objective"] == worked["surrogate_objective"]


def random_like() -> gc.Table:
    return table(random_arrays(0))


def test_the_proxy_needs_no_reference() -> None:
    worked = gc.work(without("logp_ref"), "article")
    assert worked["kl"] > 0
    assert not worked.has("logp_ref")


def test_without_logp_old_the_error_names_on_policy() -> None:
    with pytest.raises(Problem, match="--on-policy"):
        gc.work(without("logp_old"), "chapter")
    worked = gc.work(without("logp_old").on_policy(), "chapter")
    assert (worked["ratio"] == 1).all()
    assert "note.on_policy" in keys(worked)


def test_a_given_advantage_stands_in_for_a_missing_reward() -> None:
    worked = gc.work(without("reward"), "grpo")
    np.testing.assert_array_equal(worked["advantage"], worked.table.completions["advantage"])
    assert "note.advantage_given" in keys(worked)
    assert worked.recipe.roles["baseline"] == "given"


def test_where_both_are_given_the_reward_counts_and_a_difference_is_said() -> None:
    worked = gc.work(random_like(), "grpo")
    assert not np.allclose(worked["advantage"], worked.table.completions["advantage"])
    assert "note.advantage_differs" in keys(worked)
    taken = gc.work(random_like(), gc.recipe("grpo", advantage="given"))
    np.testing.assert_array_equal(taken["advantage"], taken.table.completions["advantage"])
    assert not {"note.advantage_differs", "note.zero_spread", "note.one_member"} & set(keys(taken))
    arrays = random_arrays(0) | {"advantage": gc.work(random_like(), "grpo")["advantage"]}
    assert "note.advantage_differs" not in keys(gc.work(table(arrays), "grpo"))


def test_neither_reward_nor_advantage_says_what_is_lacking() -> None:
    worked = gc.work(without("reward", "advantage"), "grpo")
    assert worked["ratio"].size
    with pytest.raises(Problem, match="loss needs reward, which is not given"):
        _ = worked.loss


def test_groups_that_say_nothing_are_noted() -> None:
    worked = gc.work(random_like(), "grpo")
    noted = {note.key: note.values.get("count") for note in worked.notes}
    assert noted["note.one_member"] == 1
    assert noted["note.zero_spread"] == 1
    assert noted["note.empty_completions"] == 1
    assert worked["advantage"][4:8].tolist() == [0.0] * 4


@pytest.mark.parametrize("name", ["dr-grpo"])
def test_a_recipe_that_needs_a_parameter_says_so(name: str) -> None:
    with pytest.raises(Problem, match="max_length"):
        gc.work(random_like(), name)


def test_an_unknown_column_lists_the_known_ones() -> None:
    with pytest.raises(Problem, match=r"no column entropy2; the usual ones: .*token_loss"):
        gc.work(random_like(), "grpo")["entropy2"]


def test_what_is_computed_is_never_taken_from_a_table() -> None:
    arrays = random_arrays(0) | {"ratio": [9.0] * 10, "loss": [9.0] * 10, "beta": [9.0] * 10}
    assert gc.work(table(arrays), "grpo").loss == gc.work(random_like(), "grpo").loss
