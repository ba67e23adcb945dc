"""``--config``: a trainer's own configuration file; and every trainer by its own option names."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import grpo_calc as gc
from grpo_calc.trainers import NAMES, trainer

from .conftest import Run

VERL = {
    "actor_rollout_ref": {
        "actor": {"clip_ratio_high": 0.28, "optim": {"lr": 1e-6}, "policy_loss": {"loss_mode": "vanilla"}},
        "model": {"path": "a/model"},
    },
    "data": {"max_response_length": "${oc.env:LENGTH}"},
}
YAML = """\
actor_rollout_ref:
  actor:
    clip_ratio_high: 0.28
    optim: {lr: 1.0e-6}
    policy_loss: {loss_mode: vanilla}
  model: {path: a/model}
data:
  max_response_length: ${oc.env:LENGTH}
"""
TOML = """\
[actor_rollout_ref.actor]
clip_ratio_high = 0.28
optim.lr = 1e-6
policy_loss.loss_mode = "vanilla"
[actor_rollout_ref.model]
path = "a/model"
[data]
max_response_length = "${oc.env:LENGTH}"
"""
UNREAD = "actor_rollout_ref.actor.optim.lr, actor_rollout_ref.model.path, max_response_length"


def parameters(output: str) -> Any:
    return json.loads(output)["recipe"]["parameters"]


@pytest.mark.parametrize(("name", "text"), [("c.json", json.dumps(VERL)), ("c.toml", TOML), ("c.yaml", YAML)])
def test_nested_keys_as_the_trainer_has_them(run: Run, tokens: Path, tmp_path: Path, name: str, text: str) -> None:
    config = tmp_path / name
    config.write_text(text, encoding="utf-8")
    done = run("table", tokens, "--recipe", "verl@0.9.1", "--config", config, "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert parameters(done.stdout)["eps_high"] == 0.28
    assert f"note: not read of {name}: {UNREAD}\n" in done.stderr


def test_flat_options_and_what_set_changes_of_them(run: Run, tokens: Path, tmp_path: Path) -> None:
    config = tmp_path / "trl.json"
    config.write_text(json.dumps({"loss_type": "grpo", "epsilon": 0.1, "beta": 0.04, "learning_rate": 1e-6}))
    arguments = ("table", tokens, "--recipe", "trl@1.16.0", "--config", config, "--format", "json")
    done = run(*arguments, "--set", "epsilon=0.3")
    assert parameters(done.stdout)["eps_low"] == 0.3
    assert parameters(done.stdout)["beta"] == 0.04
    assert "not read of trl.json: learning_rate\n" in done.stderr
    assert "trl.json 中未读的键：learning_rate" in run(*arguments, "--lang", "zh").stderr


def test_a_published_recipe_takes_roles_and_parameters(run: Run, tokens: Path, tmp_path: Path) -> None:
    config = tmp_path / "mine.toml"
    config.write_text('agg = "token-mean"\nbeta = 0.2\nseed = 3\n')
    done = run("explain", tokens, "--config", config)
    assert done.exit_code == 0, done.stderr
    assert "not read of mine.toml: seed\n" in done.stderr
    done = run("sheet", tokens, "--config", config, "-o", tmp_path / "out.xlsx")
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("c.ini", "", "c.ini: a configuration is one of .json, .toml, .yaml, .yml"),
        ("c.json", "{", "c.json is no table of options: "),
        ("c.json", "[1]", "c.json is no table of options: list"),
        ("c.toml", "a = ", "c.toml is no table of options: "),
        ("c.yaml", "a: [", "c.yaml is no table of options: "),
        ("c.json", '{"loss_type": "ppo2"}', "loss_type is ppo2; it takes: grpo, "),
    ],
)
def test_what_is_wrong_is_one_line(run: Run, tokens: Path, tmp_path: Path, name: str, text: str, says: str) -> None:
    config = tmp_path / name
    config.write_text(text)
    done = run("table", tokens, "--recipe", "trl", "--config", config)
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_such_file_is_one_line(run: Run, tokens: Path, tmp_path: Path) -> None:
    done = run("table", tokens, "--config", tmp_path / "none.json")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)


def test_yaml_without_its_package(run: Run, tokens: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    config = tmp_path / "c.yaml"
    config.write_text("beta: 0.1\n")
    done = run("table", tokens, "--config", config)
    assert done.exit_code == 2
    assert done.stderr == "grpo-calc: YAML is read with an extra: pip install grpo-calc[yaml]\n"


@pytest.mark.parametrize("name", NAMES)
def test_every_trainer_takes_its_own_options_as_text(name: str) -> None:
    known = trainer(name).known()
    defaults = {option: one.default((10**6,)) for option, one in known.items() if not one.ignored}
    given = {option: str(value).lower() for option, value in defaults.items() if value is not None}
    plain, said = gc.recipe(name), gc.recipe(name, **given)
    assert (said.roles, said.parameters) == (plain.roles, plain.parameters)


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_option_on_the_command_line_is_an_error(run: Run, tokens: Path, name: str) -> None:
    done = run("table", tokens, "--recipe", name, "--set", "no_such_option=1")
    assert done.exit_code == 2
    assert "no_such_option" in done.stderr
    assert done.stderr.count("\n") == 1
