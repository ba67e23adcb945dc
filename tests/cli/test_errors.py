"""Whatever goes wrong is one line on stderr, in the language of the user, and exit code 2; stdout holds data only."""

import subprocess
import sys
from pathlib import Path

import pytest

import grpo_calc.work  # noqa: F401  (so that it can be broken)

from .conftest import PROGRAM, ROOT, Process, Run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["table", "nothing"], "there is no file nothing, and no lesson of that name; lessons: six-tokens"),
        (["table", "nothing.csv"], "nothing.csv"),
        (["table", "--set", "beta"], "--set beta: write KEY=VALUE"),
        (["table", "--set", "beat=1"], "beat is not a parameter or role: beta? "),
        (["table", "--set", "kl=k9"], "kl is k9; known: k1"),
        (["table", "--set", "beta=much"], "beta is much; give any number"),
        (["table", "--recipe", "grop"], "no recipe is called grop; known: grpo"),
        (["table", "--columns", "ratoi"], "no column ratoi at token level: ratio?"),
        (["table", "--columns", "ratio", "--level", "group"], "no column ratio at group level"),
        (["explain", "--token", "7"], "there is no row 7; rows go from 1 to 6"),
        (["table", "."], "."),
    ],
)
def test_one_line_and_exit_code_2(run: Run, arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("grpo-calc: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_typer_s_own_usage_errors_are_2_as_well(run: Run) -> None:
    assert run("table", "--format", "xml").exit_code == 2
    assert run("tabel").exit_code == 2


@pytest.mark.parametrize(("variable", "value"), [("LANG", "zh_CN.UTF-8"), ("LC_ALL", "zh_TW.UTF-8")])
def test_errors_speak_the_language_of_the_locale(run: Run, variable: str, value: str) -> None:
    assert "没有名为 x 的配方" in run("table", "--recipe", "x", env={variable: value}).stderr


def test_lang_comes_before_the_locale(run: Run) -> None:
    done = run("table", "--recipe", "x", "--lang", "en", env={"LANG": "zh_CN.UTF-8"})
    assert "no recipe is called x" in done.stderr


def test_what_no_one_foresaw_is_one_line_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr(sys.modules["grpo_calc.work"], "work", broken)
    done = run("table")
    assert done.exit_code == 2
    assert done.stderr == "grpo-calc: something unexpected: ZeroDivisionError: a b; --debug shows where\n"
    assert "Traceback" in run("table", "--debug").stderr


def test_an_interrupt_is_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["grpo_calc.work"], "work", stopped)
    done = run("table")
    assert done.exit_code == 130
    assert done.stderr == "grpo-calc: interrupted\n"


def test_a_reader_who_leaves_is_no_error(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "columns", "--format", "json"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        assert program.stderr.read() == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(process: Process) -> None:
    with Path("/dev/full").open("w") as full:
        done = process("table", stdout=full)
    assert done.returncode == 2
    assert done.stderr == "grpo-calc: cannot read or write: No space left on device\n"


def test_output_is_utf_8_in_any_locale(process: Process) -> None:
    done = process(
        "table", "--lang", "zh", env={"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    )
    assert done.returncode == 0
    assert "概率比" in done.stdout


def test_no_colour_when_asked(process: Process) -> None:
    assert "\x1b[" in process("table", env={"FORCE_COLOR": "1"}).stdout
    assert "\x1b[38" not in process("table", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout
