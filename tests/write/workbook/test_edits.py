"""An edit in the file: formulas follow as NumPy does, the checks say so, a restored input brings the tick back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from batches import batch
from held import agree, keys_of
from recalc import Cells, Edits, column, edited, formualizer, read

import grpo_calc as gc

FIRST = 6


class Written:
    """A workbook, and where its inputs are."""

    def __init__(self, folder: Path, recipe: gc.Recipe, lang: str = "en") -> None:
        self.table = batch(7)
        self.worked = gc.work(self.table, recipe)
        self.path = folder / "book.xlsx"
        gc.write_workbook(self.worked, self.path, lang=lang)
        self.formulas, self.values = read(self.path)
        self.keys = keys_of(self.values)
        cells = self.values["Parameters"]
        self.parameters = {cells[cell]: f"C{cell[1:]}" for cell in cells if cell[0] == "A"}

    def after(self, edits: Edits) -> Cells:
        """Every formula after edits in the file."""
        return formualizer(edited(self.path, self.path.with_name("edited.xlsx"), edits))

    def checks(self, found: Cells, sheet: str) -> set[str]:
        """What the checks of a sheet say."""
        letter = "F" if sheet == "Loss" else self.keys[sheet]["check"]
        rows = range(FIRST, FIRST + 60)
        return {word for word in column(found[sheet], letter, rows) if isinstance(word, str)}


@pytest.mark.parametrize("name", ["grpo", "gspo"])
@pytest.mark.parametrize(
    ("parameter", "value"), [("eps_low", 0.05), ("eps_high", 0.45), ("beta", 0.3), ("ddof", 0.0), ("adv_eps", 0.01)]
)
def test_a_parameter(name: str, parameter: str, value: float, tmp_path: Path) -> None:
    book = Written(tmp_path, gc.recipe(name))
    if parameter not in book.parameters:
        pytest.skip(f"{name} does not read {parameter}")
    found = book.after({("Parameters", book.parameters[parameter]): value})
    other = gc.work(book.table, gc.recipe(name).change(**{parameter: value}))
    agree(other, book.formulas, found, book.keys)
    assert book.checks(found, "Tokens") == {"edited"}
    assert "✗" not in book.checks(found, "Loss")
    touched = {"ddof", "adv_eps"} & {parameter}
    assert book.checks(found, "Groups") == ({"edited"} if touched else {"✓"})


@pytest.mark.parametrize("name", ["grpo", "article", "gspo", "dapo"])
@pytest.mark.parametrize("column_name", ["logp_new", "logp_old"])
def test_a_log_prob(name: str, column_name: str, tmp_path: Path) -> None:
    book = Written(tmp_path, gc.recipe(name))
    tokens = {key: value.copy() for key, value in book.table.tokens.items()}
    tokens[column_name][4] = -0.123456789012345
    cell = f"{book.keys['Tokens'][column_name]}{FIRST + 4}"
    found = book.after({("Tokens", cell): -0.123456789012345})
    agree(gc.work(replace(book.table, tokens=tokens), gc.recipe(name)), book.formulas, found, book.keys)
    says = column(found["Tokens"], book.keys["Tokens"]["check"], range(FIRST, FIRST + book.table.token_count))
    same = (
        book.table.completion_of_token == book.table.completion_of_token[4]
        if name == "gspo"
        else np.arange(len(says)) == 4
    )
    assert says == ["edited" if touched else "✓" for touched in same]
    assert book.checks(found, "Groups") == {"✓"}
    assert "edited" in book.checks(found, "Loss")


@pytest.mark.parametrize("name", ["grpo", "gspo"])
def test_a_reward(name: str, tmp_path: Path) -> None:
    book = Written(tmp_path, gc.recipe(name))
    completions = {key: value.copy() for key, value in book.table.completions.items()}
    completions["reward"][1] = 0.9
    found = book.after({("Completions", f"{book.keys['Completions']['reward']}{FIRST + 1}"): 0.9})
    other = gc.work(replace(book.table, completions=completions), gc.recipe(name))
    agree(other, book.formulas, found, book.keys)
    groups = column(found["Groups"], book.keys["Groups"]["check"], range(FIRST, FIRST + 3))
    assert groups == ["edited", "✓", "✓"]
    says = column(found["Tokens"], book.keys["Tokens"]["check"], range(FIRST, FIRST + book.table.token_count))
    group = book.table.group_of_completion[book.table.completion_of_token]
    assert says == ["edited" if g == 0 else "✓" for g in group]


def test_an_edit_taken_back(tmp_path: Path) -> None:
    book = Written(tmp_path, gc.recipe("grpo"))
    where = ("Tokens", f"{book.keys['Tokens']['logp_new']}{FIRST}")
    for value, word in ((-0.5, "edited"), (book.values["Tokens"][where[1]], "✓")):
        found = book.after({where: value})
        assert found["Tokens"][f"{book.keys['Tokens']['check']}{FIRST}"] == word
    assert not {"edited", "✗"} & {*book.checks(found, "Tokens"), *book.checks(found, "Loss")}


def test_a_formula_typed_over_is_a_cross(tmp_path: Path) -> None:
    import openpyxl

    book = Written(tmp_path, gc.recipe("grpo"))
    file = openpyxl.load_workbook(book.path)
    file["Tokens"][f"{book.keys['Tokens']['k2']}{FIRST}"] = 99.0
    file["Tokens"][f"{book.keys['Tokens']['ratio']}{FIRST + 1}"] = "what?"
    file.save(tmp_path / "typed.xlsx")
    found = formualizer(tmp_path / "typed.xlsx")
    says = column(found["Tokens"], book.keys["Tokens"]["check"], range(FIRST, FIRST + 3))
    assert says == ["✗", "✗", "✓"]


def test_the_words_are_in_the_language(tmp_path: Path) -> None:
    book = Written(tmp_path, gc.recipe("grpo"), lang="zh")
    found = book.after({("Parameters", book.parameters["eps_low"]): 0.1})
    assert book.checks(found, "Tokens") == {"已修改"}


def test_the_clip_dot_follows_an_edit(tmp_path: Path) -> None:
    book = Written(tmp_path, gc.recipe("grpo"))
    found = book.after(
        {("Parameters", book.parameters["eps_low"]): 50.0, ("Parameters", book.parameters["eps_high"]): 50.0}
    )
    flags = column(found["Tokens"], book.keys["Tokens"]["clipped"], range(FIRST, FIRST + book.table.token_count))
    assert set(flags) == {0.0}
    assert book.worked["clipped"].any()
