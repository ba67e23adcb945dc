"""What is live and what is not; files that exist; failures that leave nothing."""

from pathlib import Path

import numpy as np
import pytest
from batches import batch
from recalc import column, formualizer, letters, read

import grpo_calc as gc
from grpo_calc.say import Problem
from grpo_calc.write.workbook import forecast
from grpo_calc.write.workbook.extent import extent

FIRST = 6


def test_the_first_completions_that_fit_are_live_and_the_rest_are_values(tmp_path: Path) -> None:
    worked = gc.work(batch(1), "grpo")
    notes = gc.write_workbook(worked, tmp_path / "book.xlsx", live_rows=16)
    part = extent(worked, 16)
    assert 0 < part.tokens <= 16
    assert part.tokens == worked.table.token_offsets[part.completions]
    assert worked.table.token_offsets[part.completions + 1] > 16
    formulas, values = read(tmp_path / "book.xlsx")
    keys = letters(values["Completions"])
    live = range(FIRST, FIRST + part.completions)
    rest = range(FIRST + part.completions, FIRST + worked.table.completion_count)
    for name in ("advantage", "completion_loss", "share"):
        assert column(values["Completions"], keys[name], [*live, *rest]) == worked[name].tolist()
        assert all(f"{keys[name]}{row}" not in formulas["Completions"] for row in rest)
    assert all(f"{keys['advantage']}{row}" in formulas["Completions"] for row in live)
    listed = [cell for cell in values["Tokens"] if cell[0] == "A" and cell[1:].isdigit() and int(cell[1:]) >= FIRST]
    assert len(listed) == part.tokens
    assert not [cell for cell in formulas["Loss"] if cell[0] == "C"]
    loss = {value: cell[1:] for cell, value in values["Loss"].items() if cell[0] == "G"}
    assert values["Loss"][f"C{loss['loss']}"] == worked.loss
    assert [note for note in notes if note.key == "workbook.live_part"]
    assert any("live" in str(value) for value in values["Loss"].values())


def test_what_is_live_still_recalculates(tmp_path: Path) -> None:
    worked = gc.work(batch(1), "gspo")
    gc.write_workbook(worked, tmp_path / "book.xlsx", live_rows=16)
    _, values = read(tmp_path / "book.xlsx")
    for sheet, cells in formualizer(tmp_path / "book.xlsx").items():
        for cell, value in cells.items():
            ours = values[sheet][cell]
            assert value == ours or abs(value - ours) <= 1e-12 * max(1.0, abs(ours)), f"{sheet}!{cell}"


def test_nothing_live_is_still_a_summary(tmp_path: Path) -> None:
    worked = gc.work(batch(1), "grpo")
    gc.write_workbook(worked, tmp_path / "book.xlsx", live_rows=0)
    _, values = read(tmp_path / "book.xlsx")
    assert worked.loss in values["Loss"].values()
    assert values["Completions"]["A6"] == 1


def test_it_is_said_before_anything_is_written() -> None:
    worked = gc.work(batch(1), "grpo")
    assert forecast(worked) == ()
    assert [note.key for note in forecast(worked, live_rows=16)] == ["workbook.live_part"]
    assert [note.key for note in forecast(worked, live_rows=2_000_000)] == ["workbook.excel_rows"]
    many = gc.Table.assemble(
        tokens={name: np.full(1_100_000, -1.0) for name in ("logp_new", "logp_old")},
        completions={"reward": np.arange(1_100_000.0) % 3},
        lengths=np.ones(1_100_000, dtype=np.int64),
        group_id=["q"] * 1_100_000,
        completion_id=[""] * 1_100_000,
    )
    notes = {note.key: note.values for note in forecast(gc.work(many, gc.recipe("grpo", beta=0)))}
    assert notes["workbook.live_part"]["tokens"] == 20_000
    assert notes["workbook.cut"]["listed"] == 1_048_571


@pytest.mark.parametrize("live_rows", [-1, 2.5, True, "many"])
def test_a_limit_is_a_whole_number(live_rows: object, tmp_path: Path) -> None:
    with pytest.raises(Problem, match="live rows"):
        gc.write_workbook(gc.work(batch(1), "grpo"), tmp_path / "book.xlsx", live_rows=live_rows)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    path.write_text("mine")
    worked = gc.work(batch(1), "grpo")
    with pytest.raises(Problem, match=r"exists.*--force"):
        gc.write_workbook(worked, path)
    assert path.read_text() == "mine"
    gc.write_workbook(worked, path, force=True)
    assert path.read_bytes()[:2] == b"PK"
    assert [found.name for found in tmp_path.iterdir()] == ["book.xlsx"]


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from grpo_calc.write.workbook import book

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(book, "finish", fails)
    with pytest.raises(Problem, match="No space left"):
        gc.write_workbook(gc.work(batch(1), "grpo"), tmp_path / "book.xlsx")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="cannot be written"):
        gc.write_workbook(gc.work(batch(1), "grpo"), tmp_path / "no" / "book.xlsx")


def test_an_unknown_language(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no language"):
        gc.write_workbook(gc.work(batch(1), "grpo"), tmp_path / "book.xlsx", lang="fr")
