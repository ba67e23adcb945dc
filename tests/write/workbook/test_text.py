"""Hostile text in cells: shown, never run, never a broken file; with lxml and without."""

import os
import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest
from recalc import read

import grpo_calc as gc
from grpo_calc.write.workbook.text import LONGEST, clean, units

HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "'quoted",
    "=cmd|' /C calc'!A0",
    "\x00\x01\x07\x1b[31m",
    "\ud800 lone",
    "\udfff",
    "\ufffe\uffff",
    "_x0041_",
    "_x005F_x0041_",
    "#N/A",
    "TRUE",
    "1e5",
    "<b>&amp;</b>",
    "a\tb\nc\r\n",
    "  spaces  ",
    "汉字概率",
    "🙂👍🏽",
    "مرحبا",
    "%s %d {0} \\1",
    "\x01\x02\x03\x04\x05\x06",
    "x" * 40_000,
    "🙂" * 20_000,
    "",
]


def table() -> gc.Table:
    count = len(HOSTILE)
    new = [-0.1 * (place + 1) for place in range(count)]
    return gc.Table.from_arrays(
        group_id=HOSTILE,
        completion_id=[f"{text[:30]}{place}" for place, text in enumerate(HOSTILE)],
        reward=[1.0] * count,
        logp_new=new,
        logp_old=[value - 0.1 for value in new],
        texts={"token": HOSTILE, "=note": HOSTILE},
    )


def written(path: Path) -> Path:
    gc.write_workbook(gc.work(table(), gc.recipe("grpo", beta=0)), path, title="=1+1 _x0041_ \x07")
    return path


def test_text_stays_text(tmp_path: Path) -> None:
    path = written(tmp_path / "book.xlsx")
    formulas, values = read(path)
    letter = {
        value: cell[:-1] for cell, value in values["Tokens"].items() if cell.endswith("5") and cell[:-1].isalpha()
    }
    for place, text in enumerate(HOSTILE):
        cell = f"{letter['token']}{6 + place}"
        assert cell not in formulas["Tokens"]
        assert str(values["Tokens"].get(cell, "")).replace("_x005F_", "_") == clean(text)


def test_text_that_looks_like_a_formula_is_marked(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(written(tmp_path / "book.xlsx"))
    cells = {cell.value: cell for row in book["Tokens"].iter_rows(min_row=6) for cell in row if cell.data_type == "s"}
    assert cells["=1+1"].quotePrefix
    assert cells["@SUM(A1)"].quotePrefix
    assert not cells["TRUE"].quotePrefix
    assert book["Loss"]["A1"].value.startswith("=1+1")
    assert book["Loss"]["A1"].data_type == "s"


@pytest.mark.parametrize("lxml", ["True", "False"])
def test_with_lxml_and_without(lxml: str, tmp_path: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import pathlib, openpyxl
from test_text import written
assert openpyxl.LXML is ({lxml} and openpyxl.LXML)
written(pathlib.Path({str(tmp_path / "book.xlsx")!r}))
"""
    environment = {**os.environ, "OPENPYXL_LXML": lxml, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    formulas, _ = read(tmp_path / "book.xlsx")
    assert formulas["Tokens"]
    openpyxl.load_workbook(tmp_path / "book.xlsx")


def test_a_long_text_is_cut_to_what_a_cell_holds() -> None:
    for text in ("x" * 40_000, "🙂" * 20_000, "_x0041_" * 6_000):
        assert units(clean(text)) <= LONGEST
        assert clean(text).endswith("…")
