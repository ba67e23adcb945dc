"""``columns``, ``recipes``, ``lessons``, ``--version`` and ``--help``."""

import csv
import io
import json

import pytest

import grpo_calc
from grpo_calc.column import catalogue
from grpo_calc.lessons import LESSONS
from grpo_calc.recipes import RECIPES, recipe
from grpo_calc.trainers import NAMES
from grpo_calc.write.listing import recipes

from .conftest import Process, Run

COMMANDS = ["table", "sheet", "explain", "columns", "recipes", "lessons"]
KEYS = {"columns": list(catalogue()), "recipes": [record["key"] for record in recipes()], "lessons": list(LESSONS)}


@pytest.mark.parametrize("command", KEYS)
def test_each_list_has_every_one(run: Run, command: str) -> None:
    assert [record["key"] for record in json.loads(run(command, "--format", "json").stdout)] == KEYS[command]
    rows = csv.DictReader(io.StringIO(run(command, "--format", "csv").stdout))
    assert [row["key"] for row in rows] == KEYS[command]
    markdown = run(command, "--format", "md").stdout.splitlines()
    assert [line.split("`")[1] for line in markdown[2:]] == KEYS[command]
    table = run(command).stdout.splitlines()
    assert [line.split()[0] for line in table if line and not line.startswith(" ")] == KEYS[command]


def test_recipes_are_variants_and_trainers_by_version() -> None:
    keys = KEYS["recipes"]
    assert keys[: len(RECIPES)] == list(RECIPES)
    assert list(dict.fromkeys(key.split("@")[0] for key in keys[len(RECIPES) :])) == list(NAMES)
    assert [recipe(key).name for key in keys] == keys
    trl = next(record for record in recipes() if record["key"] == "trl@1.16.0")
    assert "loss_type=dapo" in trl["options"].split()
    assert "reduction=token_mean" in trl["roles"].split()


def test_a_column_shows_every_reading_of_its_formula(run: Run) -> None:
    records = {record["key"]: record for record in json.loads(run("columns", "--format", "json").stdout)}
    assert records["ratio"] == {
        "key": "ratio",
        "symbol": "r",
        "en": "ratio",
        "zh": "概率比",
        "formula": "exp(log r)",
        "latex": r"\exp\left(\log r\right)",
        "excel": "=EXP(log_ratio)",
        "source": catalogue()["ratio"].source,
    }


@pytest.mark.parametrize("command", KEYS)
def test_lists_speak_chinese(run: Run, command: str) -> None:
    assert not run(command, "--lang", "zh").stdout.isascii()


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"grpo-calc {grpo_calc.__version__}\n"


def test_help_lists_the_commands(run: Run) -> None:
    text = run("--help").stdout
    assert all(command in text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(run: Run, command: str) -> None:
    text = run(command, "--help").stdout
    assert f"grpo-calc {command}" in text
    assert "Example" in text


def test_help_speaks_the_language_of_the_locale(process: Process) -> None:
    text = process("table", "--help", env={"LANG": "zh_CN.UTF-8"}).stdout
    assert "对数概率文件" in text
