"""What a recipe says of an input it lacks, of a change that changes nothing, and of a value it does not take."""

from typing import Any

import pytest

from grpo_calc.recipes import recipe
from grpo_calc.say import Problem
from grpo_calc.table import Table
from grpo_calc.work import work
from tests.trainers.small import NEW, OLD, REF, small

BARE: dict[str, Any] = {"group_id": ["a", "a", "b", "b"], "logp_new": NEW, "logp_old": OLD, "logp_ref": REF}


def bare(**more: Any) -> Table:
    return Table.from_arrays(**{**BARE, "reward": [1.0, 0.0, 0.5, 2.0], **more})


def said(name: str, **changes: Any) -> list[str]:
    return [note.key for note in work(small(), recipe(name, **changes)).notes]


def refused(name: str, table: Table | None = None, **changes: Any) -> Problem:
    with pytest.raises(Problem) as caught:
        work(bare() if table is None else table, recipe(name, **changes))
    assert caught.value.text("zh") != caught.value.text("en")
    return caught.value


@pytest.mark.parametrize(
    ("name", "changes", "column", "asks"),
    [
        ("torchrl", {}, "entropy", "entropy_bonus=True"),
        ("open-instruct", {}, "logp_sampler", "use_rho_correction=True"),
        ("openrlhf", {"estimator_of_advantage": "gae"}, "advantage", "algo.advantage.estimator=gae"),
        ("trl", {"top_entropy_quantile": 0.2}, "entropy", "top_entropy_quantile=0.2"),
        ("grpo", {"advantage": "given"}, "advantage", "baseline=given"),
        ("grpo", {"entropy": "top"}, "entropy", "entropy=top"),
        ("grpo", {"sampler": "token_truncate"}, "logp_sampler", "sampler=token_truncate"),
    ],
)
def test_a_loss_that_lacks_a_column_names_it_and_what_asks_for_it(
    name: str, changes: dict[str, Any], column: str, asks: str
) -> None:
    changes = {key.replace("estimator_of_advantage", "advantage_estimator"): value for key, value in changes.items()}
    problem = refused(name, **changes)
    assert problem.key == "work.no_loss"
    assert problem.values["lacks"] == column
    assert asks in problem.values["asks"]


def test_without_a_reward_the_loss_is_missed_aloud() -> None:
    worked = work(Table.from_arrays(**BARE))
    assert worked.has("ratio")
    assert not worked.has("loss")
    assert "note.no_reward" in [note.key for note in worked.notes]


def test_openrlhfs_default_works_on_rewards_and_says_so() -> None:
    assert "note.default_replaced" in said("openrlhf")
    assert "note.default_replaced" not in said("openrlhf", advantage_estimator="rloo")


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"kl": "none", "beta": 0.04}, "note.beta_unread"),
        ({"max_length": 5}, "note.parameter_unread"),
        ({"tau_pos": 2}, "note.parameter_unread"),
        ({"kl": "none", "beta": 0}, None),
        ({"eps": 0.1}, None),
        ({"beta": 0.1}, None),
    ],
)
def test_a_parameter_that_nothing_reads_is_said(changes: dict[str, Any], key: str | None) -> None:
    told = {k for k in said("grpo", **changes) if k.endswith("_unread")}
    assert told == ({key} if key else set())


@pytest.mark.parametrize(
    ("name", "changes", "idle"),
    [
        ("nemo-rl", {"use_cispo": True, "ratio_clip_c": 4}, True),
        ("nemo-rl", {"ratio_clip_c": 4}, False),
        ("nemo-rl", {"reference_policy_kl_penalty": 0, "kl_output_clamp_value": 3}, True),
        ("openrlhf", {"dp_size": 4}, True),
        ("openrlhf", {"dp_size": 4, "batch_num_tokens": 8}, False),
        ("trl", {"epsilon_high": 0.2}, False),
        ("trl", {"sapo_temperature_pos": 2}, True),
    ],
)
def test_an_option_without_effect_is_said_once(name: str, changes: dict[str, Any], idle: bool) -> None:
    assert said(name, **changes).count("note.option_ignored") == int(idle)


def test_completions_cannot_be_dropped_without_the_column_that_says_which() -> None:
    assert "note.no_truncated" in said("trl", mask_truncated_completions=True)
    dropped = work(small(truncated=[1.0, 0, 0, 0]), recipe("trl", mask_truncated_completions=True))
    assert "note.no_truncated" not in [note.key for note in dropped.notes]


def test_our_own_keys_change_a_preset_aloud_and_never_against_its_own() -> None:
    assert "note.own_key" in said("trl@1.16.0", eps_low=0.01)
    assert recipe("trl@1.16.0", eps_low="0.01").changes == {"eps_low": 0.01}
    assert recipe("trl", loss_type="grpo", agg="token_mean").changes == {"loss_type": "grpo", "agg": "token_mean"}
    assert refused("trl", epsilon=0.3, eps_low=0.01).key == "trainer.collides"


@pytest.mark.parametrize(
    ("name", "option", "value", "says"),
    [
        ("trl", "epsilon", -1, "trl 1.16.0: epsilon is -1.0; give a number of at least 0"),
        ("trl", "max_completion_length", "x", "max_completion_length"),
        ("trl-rloo", "reward_clip_range", 1, "LOW,HIGH"),
        ("open-instruct", "loss_denominator", "foo", "token | NUMBER"),
        ("openrlhf", "reward.clip_range", "1,2,3", "LOW,HIGH"),
        ("grpo", "beta", "1_0", "any number"),
        ("grpo", "beta", "１", "any number"),
        ("grpo", "beta", "", "any number"),
        ("grpo", "max_length", 0, "greater than 0"),
        ("grpo", "dual_clip", 1, "greater than 1"),
        ("grpo", "ddof", 0.5, "give 0 or 1"),
    ],
)
def test_a_bad_value_names_the_word_that_was_used_and_what_it_takes(
    name: str, option: str, value: Any, says: str
) -> None:
    text = refused(name, **{option: value}).text()
    assert says in text
    assert "1e-300" not in text
    assert "inf" not in text


def test_without_logp_old_that_is_said_first() -> None:
    no_old = {key: value for key, value in BARE.items() if key not in ("logp_old", "logp_ref")}
    assert refused("grpo", Table.from_arrays(**no_old)).key == "work.no_old"
    sampled = refused("grpo", Table.from_arrays(**no_old, logp_sampler=OLD))
    assert "--on-policy" in sampled.text()
    assert "--map old=" in sampled.text()


def test_one_reward_takes_any_weight() -> None:
    assert work(small(), recipe("grpo", reward_weights="3")).loss == pytest.approx(work(small()).loss, abs=1e-4)


def test_openrlhfs_options_have_short_names() -> None:
    short = recipe("openrlhf", eps_clip=0.1, advantage_estimator="rloo", kl_estimator="k2", use_loss=True)
    assert set(short.changes) == {
        "actor.eps_clip",
        "algo.advantage.estimator",
        "algo.kl.estimator",
        "algo.kl.use_loss",
    }


def test_figures_and_tables_name_what_is_wrong() -> None:
    with pytest.raises(Problem, match="logp_sampler"):
        work(bare()).metrics("nemo-rl")
    with pytest.raises(Problem, match="foo is 1"):
        Table.from_arrays(foo=1)
