"""What is wrong with the words of a command is one line on stderr in the user's language, and exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run

USAGE = [
    (
        ["table", "--format", "xml"],
        "--format xml: give one of table, json, csv, md",
        "只能是 table, json, csv, md 之一",
    ),
    (["table", "--format=xml"], "--format xml: ", "--format xml："),
    (["table", "--level", "row"], "--level row: give one of token, completion", "--level row：只能是"),
    (["table", "--formt", "csv"], "no option --formt: --format? See grpo-calc table --help", "是 --format 吗"),
    (["table", "--qqqq"], "there is no option --qqqq; see grpo-calc table --help", "没有选项 --qqqq；"),
    (["table", "--columns"], "--columns: a value is needed after it", "--columns：后面需要一个值"),
    (["sheet", "--force=1"], "--force: takes no value", "--force：不带值"),
    (["table", "six-tokens", "more"], "more: one thing too many", "more：多余的参数"),
    (["explain", "--token", "0"], "--token 0: give a whole number from 1 on", "--token 0：请给出不小于 1 的整数"),
    (["explain", "--token", "x"], "--token x: give a whole number from 1 on", "--token x：请给出不小于 1 的整数"),
    (["sheet", "--live-rows", "-1"], "--live-rows -1: give a whole number from 0 on", "不小于 0 的整数"),
    (["tabel"], "there is no command tabel: table? Commands: table, sheet", "没有命令 tabel：是 table 吗？"),
    (["zzzzzz"], "there is no command zzzzzz; commands: table", "没有命令 zzzzzz；"),
    (["--versoin"], "there is no option --versoin: --version?", "没有选项 --versoin"),
    (["table", "--columns", "row,,ratio"], "--columns row,,ratio: a name is empty", "有一个列名为空"),
    (["table", "--columns", ""], "--columns : a name is empty", "有一个列名为空"),
    (["table", "--columns", "ratoi"], "no column ratoi at token level: ratio? The usual ones: row", "是 ratio 吗"),
    (["sheet", "-o", "x.csv"], "x.csv: a workbook is written as .xlsx", "x.csv：工作簿"),
    (["sheet", "-o", "x"], "x: a workbook is written as .xlsx", "x：工作簿"),
]


@pytest.mark.parametrize(("words", "english", "chinese"), USAGE)
def test_one_line_in_the_users_language(run: Run, words: list[str], english: str, chinese: str) -> None:
    for env, said in (({}, english), ({"LANG": "zh_CN.UTF-8"}, chinese)):
        done = run(*words, env=env)
        assert done.exit_code == 2
        assert done.stdout == ""
        assert done.stderr.startswith("grpo-calc: ")
        assert done.stderr.count("\n") == 1
        assert said in done.stderr


@pytest.mark.parametrize("lang", [["--lang", "zh"], ["--lang=zh"]])
@pytest.mark.parametrize("first", [True, False])
def test_the_language_asked_for_is_spoken_even_then(run: Run, lang: list[str], *, first: bool) -> None:
    words = ["--format", "xml"]
    assert "之一" in run("table", *(lang + words if first else words + lang)).stderr
    assert "one of" in run("table", *words, "--lang", "en", env={"LANG": "zh_CN.UTF-8"}).stderr
    assert "--lang fr: give one of en, zh" in run("table", "--lang", "fr").stderr


def test_an_unknown_column_lists_no_inner_names(run: Run) -> None:
    said = run("table", "--columns", "nothing_like_it").stderr
    assert "grpo-calc columns" in said
    assert said.count(",") < 40


def test_a_column_asked_for_twice_is_shown_once(run: Run) -> None:
    assert run("table", "--columns", "row, ratio,row", "--format", "csv").stdout.startswith("row,ratio\n")


def test_a_workbook_of_another_case_is_one(run: Run, tmp_path: Path) -> None:
    assert run("sheet", "-o", tmp_path / "X.XLSX").exit_code == 0


def test_no_command_shows_the_help(run: Run) -> None:
    done = run()
    assert "Usage" in done.stdout + done.stderr
