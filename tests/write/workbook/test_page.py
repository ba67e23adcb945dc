"""The page: it agrees with itself, says where to edit, and follows the recipe."""

from pathlib import Path

import openpyxl
import pytest
from batches import batch
from recalc import edited, formualizer, read

import grpo_calc as gc


def small() -> gc.Table:
    return gc.Table.from_arrays(
        group_id=["a", "a", "b", "b"],
        reward=[1.0, 0.0, 0.5, 0.25],
        logp_new=[[-0.5, -1.0], [-0.2], [-0.3, -0.9], [-0.4]],
        logp_old=[[-0.6, -1.5], [-0.3], [-0.2, -0.8], [-0.9]],
    )


def page_of(path: Path, recipe: str, lang: str = "en") -> tuple[dict[str, str], dict[str, object]]:
    gc.write_workbook(
        gc.work(small(), gc.recipe(recipe).change(beta=0) if recipe == "grpo" else recipe), path, lang=lang
    )
    formulas, values = read(path)
    return formulas["Page"], values["Page"]


def under(values: dict[str, object], symbol: str) -> str:
    return next(cell[:-1] for cell, value in values.items() if cell.endswith("5") and value == symbol)


def test_a_loss_typed_over_on_the_page_is_a_cross_in_its_check_and_badge(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    _, values = page_of(path, "grpo")
    file = openpyxl.load_workbook(path)
    file["Page"][f"{under(values, 'log π')}8"] = -3.0
    file.save(tmp_path / "typed.xlsx")
    found = formualizer(tmp_path / "typed.xlsx")["Page"]
    check = under(values, "✓")
    assert [found[f"{check}{row}"] for row in (8, 9)] == ["✗", "✓"]
    assert "✗ differs from NumPy" in found.values()


def test_an_edit_where_it_belongs_reads_edited_on_the_page(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    formulas, values = page_of(path, "grpo")
    cell = formulas[f"{under(values, 'log π')}8"].partition("!")[2]
    found = formualizer(edited(path, tmp_path / "edited.xlsx", {("Tokens", cell): -0.25}))["Page"]
    assert found[f"{under(values, '✓')}8"] == "edited"


def test_typing_on_the_page_is_stopped_and_told_where_to(tmp_path: Path) -> None:
    _, values = page_of(tmp_path / "book.xlsx", "grpo")
    page = openpyxl.load_workbook(tmp_path / "book.xlsx")["Page"]
    ruled = {str(rule.sqref): rule for rule in page.data_validations.dataValidation}
    letter = under(values, "log π")
    rule = ruled[f"{letter}8:{letter}13"]
    assert (rule.formula1, rule.showErrorMessage) == ("FALSE", True)
    assert "Tokens" in rule.error


@pytest.mark.parametrize(
    ("recipe", "words"), [("grpo", "plain token mean, not the loss"), ("cispo", "mean over tokens")]
)
def test_the_mean_row_claims_the_loss_only_where_it_is(recipe: str, words: str, tmp_path: Path) -> None:
    formulas, values = page_of(tmp_path / "book.xlsx", recipe)
    assert values["A14"] == words
    assert (f"{under(values, 'l')}14" in formulas) == (recipe == "cispo")


def test_group_statistics_and_the_chain_of_a_sequence_ratio(tmp_path: Path) -> None:
    formulas, values = page_of(tmp_path / "book.xlsx", "gspo")
    reward, mean, log = (under(values, symbol) for symbol in ("R", "mean R", "mean log r"))
    assert f"{reward}8-{mean}8" in formulas[f"{under(values, 'A')}8"]
    assert f"=EXP({log}8)" in formulas.values()


def test_without_a_clip_nothing_speaks_of_one(tmp_path: Path) -> None:
    _, values = page_of(tmp_path / "book.xlsx", "sapo")
    said = " ".join(str(value) for value in values.values())
    assert "τ+" in said
    assert not [word for word in ("●", "★", "ε") if word in said]


def test_a_batch_too_large_for_a_page_says_so_and_opens_on_loss(tmp_path: Path) -> None:
    worked = gc.work(batch(7), "grpo")
    notes = gc.write_workbook(worked, tmp_path / "book.xlsx")
    book = openpyxl.load_workbook(tmp_path / "book.xlsx")
    assert ("Page" in book.sheetnames) == ("workbook.no_page" not in [note.key for note in notes])
    if "Page" not in book.sheetnames:
        assert book.active.title == "Loss"
