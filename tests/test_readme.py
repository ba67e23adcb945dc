"""README is true: its commands give the shown output, its Python runs, its numbers come from both.

``python tests/test_readme.py`` writes what the commands give now into README; read the difference before you keep it.
"""

import doctest
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM = "import sys; sys.argv[0] = 'grpo-calc'; from grpo_calc.cli import main; main()"


def blocks(language: str) -> list[str]:
    return [text for found, text in FENCED.findall(README) if found == language]


class Shown(NamedTuple):
    """A command of a console block and the output that README shows below it."""

    command: str
    output: str


def shown(block: str) -> Iterator[Shown]:
    r"""The commands of one console block.

    >>> list(shown("$ first\nits output\n$ second\n"))
    [Shown(command='first', output='its output\n'), Shown(command='second', output='')]
    """
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield Shown(command, output)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reader's folder: the blocks run in it in README's order, so one may use what another made."""
    return tmp_path_factory.mktemp("readme")


def printed(command: str, output: str, folder: Path) -> str:
    """What a command gives in a terminal 120 wide; ``cat`` of a file makes the file instead, as README shows it."""
    program, *arguments = shlex.split(command)
    if program == "cat":
        (folder / arguments[0]).write_text(output, encoding="utf-8")
        return output
    assert program == "grpo-calc", command
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=folder,
        env={"COLUMNS": "120", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


def left_out(fresh: str, output: str) -> str:
    r"""Fresh output with the part left out that README leaves out: the lines that its line of dots stands for.

    >>> left_out("A\nB\nC\nD\n", "a\n...\nd\n")
    'A\n...\nD\n'
    """
    head, dots, tail = output.partition("...\n")
    lines = fresh.splitlines(keepends=True)
    first, last = head.count("\n"), tail.count("\n")
    return "".join([*lines[:first], dots, *lines[len(lines) - last :]]) if dots else fresh


@pytest.mark.parametrize("block", blocks("console"), ids=lambda block: block.split("\n")[0].removeprefix("$ "))
def test_commands_give_what_is_shown(block: str, folder: Path) -> None:
    for command, output in shown(block):
        assert left_out(printed(command, output, folder), output) == output


def test_python_runs_as_shown() -> None:
    text = "\n".join(blocks("python"))
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(doctest.DocTestParser().get_doctest(text, {}, "README", "README.md", 0))
    assert runner.summarize(verbose=False).failed == 0


def test_numbers_in_the_prose_come_from_the_blocks() -> None:
    prose, tested = FENCED.sub("", README), "".join(blocks("console") + blocks("python"))
    assert [number for number in re.findall(r"\d+\.\d{3,}", prose) if number not in tested] == []


@pytest.mark.parametrize("environment", [".venv", ".venv-test"])
def test_ci_runs_the_two_commands(environment: str) -> None:
    lines = [line for line in README.splitlines() if line.startswith(f"python3 -m venv {environment} ")]
    assert len(lines) == 1
    assert lines[0] in [block.rstrip("\n") for block in blocks("sh")]
    assert f"$(readme {environment})" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        text = README
        for block in blocks("console"):
            fresh = ((c, left_out(printed(c, output, Path(place)), output)) for c, output in shown(block))
            text = text.replace(block, "".join(f"$ {command}\n{output}" for command, output in fresh))
    (ROOT / "README.md").write_text(text, encoding="utf-8")
