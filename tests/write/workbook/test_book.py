"""The book as a whole: sheets, names, looks, bytes, masked rows, undefined values, rewards alone, page and lesson."""

import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from batches import batch
from recalc import column, formualizer, letters, read

import grpo_calc as gc
from grpo_calc.write.workbook.layout import _LIKE_A_CELL as LIKE_A_CELL
from grpo_calc.write.workbook.text import width

FIRST = 6


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_same_input_same_bytes(lang: str, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.xlsx", "b.xlsx")]
    for path in paths:
        gc.write_workbook(gc.work(batch(1), "grpo"), path, lang=lang)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_both_languages_have_the_same_formulas(tmp_path: Path) -> None:
    found = []
    for lang in ("en", "zh"):
        path = tmp_path / f"{lang}.xlsx"
        gc.write_workbook(gc.work(batch(1), "grpo"), path, lang=lang)
        formulas, _ = read(path)
        found.append(
            {name: {c: f.replace("已修改", "edited") for c, f in cells.items()} for name, cells in formulas.items()}
        )
    assert found[0] == found[1]


def test_parameters_are_names_with_validation(tmp_path: Path) -> None:
    gc.write_workbook(gc.work(batch(1), "grpo"), tmp_path / "book.xlsx")
    book = openpyxl.load_workbook(tmp_path / "book.xlsx")
    names = {name: defined.attr_text for name, defined in book.defined_names.items()}
    assert {"eps_low", "eps_high", "beta", "adv_eps", "ddof", "tie_tol", "check_tol"} <= names.keys()
    assert not [name for name in names if LIKE_A_CELL.fullmatch(name)]
    ruled = {str(rule.sqref) for rule in book["Parameters"].data_validations.dataValidation}
    for name in ("eps_low", "eps_high", "beta", "adv_eps", "ddof", "tie_tol", "check_tol"):
        sheet, cell = names[name].replace("$", "").split("!")
        assert sheet == "Parameters"
        assert cell in ruled


def test_heads_say_formula_and_source(tmp_path: Path) -> None:
    gc.write_workbook(gc.work(batch(1), "grpo"), tmp_path / "book.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "book.xlsx")["Tokens"]
    heads = {sheet.cell(5, c).value: sheet.cell(3, c).comment.text for c in range(1, sheet.max_column + 1)}
    assert "exp(log r)" in heads["ratio"]
    assert "=EXP(" in heads["ratio"]
    assert "1707.06347" in heads["ratio"]
    assert sheet.freeze_panes == "F6"
    assert sheet.print_title_rows == "$1:$5"
    assert (sheet.page_setup.orientation, sheet.page_setup.paperSize) == ("landscape", 9)


def test_clipped_tokens_have_a_tint_and_a_dot(tmp_path: Path) -> None:
    gc.write_workbook(gc.work(batch(1), "grpo"), tmp_path / "book.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "book.xlsx")["Tokens"]
    letter = next(
        sheet.cell(5, c).column_letter for c in range(1, sheet.max_column) if sheet.cell(5, c).value == "clipped"
    )
    assert sheet[f"{letter}6"].number_format == '[=1]"●";[=0]"";0'
    rules = [rule.formula[0] for found in sheet.conditional_formatting for rule in found.rules]
    assert f"${letter}6=1" in rules


def test_widths_count_chinese_twice() -> None:
    assert width("概率比 r") == 8


def test_masked_rows_are_greyed_and_count_for_nothing(tmp_path: Path) -> None:
    worked = gc.work(batch(1), "grpo")
    path = tmp_path / "book.xlsx"
    gc.write_workbook(worked, path, keep_masked=True)
    formulas, values = read(path)
    keys = letters(values["Tokens"])
    whole = worked.table.masked
    assert whole is not None
    listed = range(FIRST, FIRST + whole.token_count)
    weights = column(values["Tokens"], keys["mask"], listed)
    assert weights == whole.tokens["mask"].tolist()
    ratios = column(values["Tokens"], keys["ratio"], listed)
    assert [ratio is not None for ratio in ratios] == [weight == 1 for weight in weights]
    assert [ratio for ratio in ratios if ratio is not None] == worked["ratio"].tolist()
    assert column(values["Tokens"], keys["token"], listed).count(None) == 0
    found = formualizer(path)
    for sheet, cells in found.items():
        for cell, value in cells.items():
            ours = values[sheet][cell]
            assert value == ours or abs(value - ours) <= 1e-12 * max(1.0, abs(ours)), (
                f"{sheet}!{cell} {formulas[sheet][cell]}"
            )


def undefined_table() -> gc.Table:
    return gc.Table.from_arrays(
        group_id=["q", "q", "q"],
        reward=[1.0, 0.0, 0.5],
        logp_new=[[-0.5, -1.0], [-0.2], [-0.3]],
        logp_old=[[-0.6, -900.0], [-0.3], [-0.2]],
        texts={"token": [["a", "b"], ["c"], ["d"]]},
    )


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_undefined_value_is_a_marked_text(lang: str, tmp_path: Path) -> None:
    worked = gc.work(undefined_table(), gc.recipe("article"))
    notes = gc.write_workbook(worked, tmp_path / "book.xlsx", lang=lang)
    formulas, values = read(tmp_path / "book.xlsx")
    keys = letters(values["Tokens"])
    word = values["Tokens"][f"{keys['ratio']}7"]
    assert isinstance(word, str)
    assert f"{keys['ratio']}7" not in formulas["Tokens"]
    assert values["Tokens"][f"{keys['log_ratio']}7"] == worked["log_ratio"][1]
    assert word in values["Loss"].values()
    assert word in values["Page"].values()
    assert "note.undefined" in [note.key for note in notes]
    for sheet, cells in formualizer(tmp_path / "book.xlsx").items():
        for cell, value in cells.items():
            ours = values[sheet][cell]
            assert value == ours or abs(value - ours) <= 1e-12 * max(1.0, abs(ours)), f"{sheet}!{cell}"


def test_rewards_alone_give_completions_and_groups(tmp_path: Path) -> None:
    table = gc.Table.from_arrays(group_id=["a", "a", "b", "b"], reward=[1, 0, 0.5, 0.5])
    worked = gc.work(table, "grpo")
    gc.write_workbook(worked, tmp_path / "book.xlsx")
    formulas, values = read(tmp_path / "book.xlsx")
    assert list(values) == ["Parameters", "Completions", "Groups", "Loss"]
    keys = letters(values["Completions"])
    assert column(values["Completions"], keys["advantage"], range(6, 10)) == worked["advantage"].tolist()
    assert f"{keys['advantage']}6" in formulas["Completions"]
    found = formualizer(tmp_path / "book.xlsx")
    assert found["Completions"][f"{keys['advantage']}6"] == pytest.approx(worked["advantage"][0], abs=1e-12)
    assert not {"✗"} & {str(value) for cells in found.values() for value in cells.values()}


def test_a_given_advantage_is_taken(tmp_path: Path) -> None:
    table = gc.Table.from_arrays(
        group_id=["a", "a"], advantage=[1.0, -0.5], logp_new=[[-0.5, -1.0], [-0.2]], logp_old=[[-0.6, -1.5], [-0.3]]
    )
    worked = gc.work(table, gc.recipe("dapo"))
    gc.write_workbook(worked, tmp_path / "book.xlsx")
    found = formualizer(tmp_path / "book.xlsx")
    _, values = read(tmp_path / "book.xlsx")
    rows = {value: cell[1:] for cell, value in values["Loss"].items() if cell[0] == "G"}
    assert found["Loss"][f"C{rows['loss']}"] == pytest.approx(worked.loss, abs=1e-12)


# -- a lesson on its page --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lesson_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lesson = gc.lesson("six-tokens")
    path = tmp_path_factory.mktemp("lesson") / "six.xlsx"
    gc.write_workbook(gc.work(lesson.table, gc.recipe(lesson.recipe)), path, figures=lesson.figures, title="Six tokens")
    return path


def test_the_lesson_has_one_page_first(lesson_book: Path) -> None:
    book = openpyxl.load_workbook(lesson_book)
    assert book.sheetnames == ["Page", "Parameters", "Tokens", "Completions", "Groups", "Loss"]
    page = book["Page"]
    assert (page.page_setup.fitToWidth, page.page_setup.fitToHeight) == (1, 1)
    assert page["A1"].value == "Six tokens"
    assert len(page._charts) == 2


def test_the_page_is_live(lesson_book: Path) -> None:
    formulas, values = read(lesson_book)
    found = formualizer(lesson_book)["Page"]
    assert len(found) == len(formulas["Page"]) > 120
    for cell, value in found.items():
        ours = values["Page"][cell]
        assert value == ours or abs(value - ours) <= 1e-12 * max(1.0, abs(ours)), f"{cell} {formulas['Page'][cell]}"
    assert any("EXP(" in formula for formula in formulas["Page"].values())
    assert [value for value in values["Page"].values() if str(value).startswith("=EXP(")], "the formula is shown too"


def test_every_printed_figure_is_met(lesson_book: Path) -> None:
    _, values = read(lesson_book)
    loss = values["Loss"]
    printed = {cell[1:]: value for cell, value in loss.items() if cell[0] == "E"}
    met = [row for row, value in printed.items() if value in (0.00045977, 0.00038315, 0.0007662, 0.0008011, 0.001144)]
    assert len(met) == 5
    found = formualizer(lesson_book)["Loss"]
    assert {found[f"F{row}"] for row in met} == {"✓"}
    assert {"article" in str(loss[f"D{row}"]) for row in met} == {True}


def test_the_charts_hold_their_values(lesson_book: Path) -> None:
    with zipfile.ZipFile(lesson_book) as file:
        charts = [file.read(name).decode() for name in file.namelist() if name.startswith("xl/charts/chart")]
    assert len(charts) == 2
    for chart in charts:
        assert chart.count("<numCache>") + chart.count(":numCache>") >= 2
        assert '<smooth val="1"' not in chart
        assert '<delete val="1"' not in chart
    bars = next(chart for chart in charts if "barChart" in chart)
    assert '<invertIfNegative val="0"' in bars


def test_points_of_the_clip_curve_sit_on_its_lines(lesson_book: Path) -> None:
    _, values = read(lesson_book)
    data = values["Loss"]
    knees = [data[f"M{row}"] for row in (7, 8)]
    assert knees == [0.8, 1.2]
    assert [data[f"N{row}"] for row in (7, 8)] == [0.8, 1.2]
    assert [data[f"O{row}"] for row in (7, 8)] == [-0.8, -1.2]
    worked = gc.work(gc.lesson("six-tokens").table, gc.recipe("article"))
    ratios = [data[f"P{row}"] for row in range(6, 12)]
    assert ratios == worked["ratio"].tolist()
    expected = np.minimum(ratios, 1.2) * (worked["advantage"] > 0) - np.maximum(ratios, 0.8) * (worked["advantage"] < 0)
    assert np.allclose([data[f"Q{row}"] for row in range(6, 12)], expected, atol=1e-12)
