"""``grpo-calc sheet``: where it writes, what it refuses, what it says."""

from pathlib import Path

import openpyxl
import pytest

from grpo_calc.lessons import lesson

from .conftest import Run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(path: Path) -> set[str]:
    """Every text of a workbook."""
    book = openpyxl.load_workbook(path, data_only=True)
    return {
        cell for sheet in book for row in sheet.iter_rows(values_only=True) for cell in row if isinstance(cell, str)
    }


def test_a_lesson_is_written_by_its_name_into_this_folder(run: Run, folder: Path) -> None:
    done = run("sheet")
    assert done.exit_code == 0
    assert done.stdout == ""
    assert done.stderr == "wrote six-tokens.xlsx\n"
    assert [path.name for path in folder.iterdir()] == ["six-tokens.xlsx"]


def test_it_carries_the_lesson_s_words_and_figures(run: Run, folder: Path) -> None:
    run("sheet", "--lang", "zh")
    told, found = lesson(), texts(folder / "six-tokens.xlsx")
    assert told.text("title", "zh") in found
    for key in told.audit:
        assert any(told.text(key, "zh") in text for text in found)
    assert "✓" in found


def test_a_file_is_written_by_its_name(run: Run, folder: Path, tokens: Path) -> None:
    assert run("sheet", tokens).exit_code == 0
    assert (folder / "tokens.xlsx").exists()


def test_it_overwrites_only_when_told(run: Run, folder: Path) -> None:
    path = folder / "out.xlsx"
    path.write_text("mine", encoding="utf-8")
    refused = run("sheet", "-o", path)
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert path.read_text(encoding="utf-8") == "mine"
    assert run("sheet", "-o", path, "--force").exit_code == 0
    assert path.read_bytes().startswith(b"PK")


def test_standard_input_needs_a_name(run: Run, folder: Path, tokens: Path) -> None:
    done = run("sheet", "-", input=tokens.read_text(encoding="utf-8"))
    assert done.exit_code == 2
    assert "-o OUT.xlsx" in done.stderr


def test_what_is_not_live_is_said(run: Run, folder: Path, tokens: Path) -> None:
    done = run("sheet", tokens, "--live-rows", "1")
    assert done.exit_code == 0
    assert "live" in done.stderr
    assert len(done.stderr.splitlines()) == 3  # the masked token, what is live, the file


def test_a_place_that_cannot_be_written_is_one_line(run: Run, folder: Path) -> None:
    done = run("sheet", "-o", folder / "nowhere" / "out.xlsx")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert not list(folder.iterdir())
