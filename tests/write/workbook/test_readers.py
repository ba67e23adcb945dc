"""What opens the file sees every value: readers by their caches, programs by recalculating without them."""

import zipfile
from pathlib import Path

import openpyxl
import pytest
from batches import batch
from recalc import Cells, cached, gnumeric, libreoffice, read

import grpo_calc as gc

NAMES = ["grpo", "gspo", "article"]


@pytest.fixture(scope="module", params=NAMES)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp(request.param) / "book.xlsx"
    gc.write_workbook(gc.work(batch(3), request.param), path)
    return path


def same(found: Cells, written: Path) -> None:
    """Every formula's value as NumPy has it in the file."""
    formulas, values = read(written)
    assert sum(map(len, formulas.values())) > 800
    for sheet, cells in formulas.items():
        for cell in cells:
            ours, theirs = values[sheet][cell], found[sheet].get(cell)
            if isinstance(ours, str):
                assert theirs == ours, f"{sheet}!{cell}: {theirs!r} for {ours!r}"
            else:
                assert isinstance(theirs, int | float), f"{sheet}!{cell}: {theirs!r} for {ours!r}"
                assert abs(theirs - ours) <= 1e-12 * max(1.0, abs(ours)), f"{sheet}!{cell}: {theirs} for {ours}"


def test_openpyxl_sees_every_value(written: Path) -> None:
    same(cached(written), written)


def test_pandas_sees_every_value(written: Path) -> None:
    import pandas as pd

    frame = pd.read_excel(written, sheet_name="Tokens", header=4, engine="openpyxl")
    worked = gc.work(batch(3), written.parent.name.rstrip("0123456789"))
    assert frame["ratio"].notna().all()
    assert frame["token_loss"].notna().all()
    assert frame["logp_new"].tolist() == worked["logp_new"].tolist()  # 17 digits: every bit comes back
    assert frame["gradient"].tolist() == worked["gradient"].tolist()
    assert set(frame["check"]) == {"✓"}


def test_calamine_sees_every_value(written: Path) -> None:
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_path(written)
    found: Cells = {}
    for sheet in book.sheet_names:
        rows = book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
        found[sheet] = {
            f"{openpyxl.utils.get_column_letter(c)}{r}": value
            for r, row in enumerate(rows, start=1)
            for c, value in enumerate(row, start=1)
        }
    same(found, written)


def test_libreoffice_recalculates_it(libreoffice: str, written: Path, tmp_path: Path) -> None:
    from recalc import libreoffice as recalculate

    same(recalculate(libreoffice, written, tmp_path), written)


def test_gnumeric_recalculates_it(gnumeric: str, written: Path, tmp_path: Path) -> None:
    from recalc import gnumeric as recalculate

    same(recalculate(gnumeric, written, tmp_path), written)


def test_a_validator_finds_nothing(written: Path) -> None:
    from openxml_audit import OpenXmlValidator

    result = OpenXmlValidator().validate(str(written))
    assert result.is_valid, [str(error) for error in result.errors][:10]


def test_the_parts_are_as_other_programs_want_them(written: Path) -> None:
    with zipfile.ZipFile(written) as file:
        texts = {name: file.read(name).decode() for name in file.namelist()}
        assert {info.date_time for info in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert not any(info.extra for info in file.infolist()), "no zip64 members"
    for name, text in texts.items():
        if name.endswith(".rels"):
            assert 'Target="/' not in text
        if name.startswith("xl/drawings/drawing"):
            assert "<xdr:wsDr" in text
        if name.startswith("xl/worksheets/sheet"):
            assert "<evenHeader" not in text
            assert "<firstHeader" not in text
            assert "<f></f>" not in text
            assert "_xlfn" not in text
    assert "<font><b val" in texts["xl/styles.xml"]


def test_every_formula_has_its_value(written: Path) -> None:
    formulas, values = read(written)
    assert all(cell in values[sheet] for sheet, cells in formulas.items() for cell in cells)


__all__ = ["gnumeric", "libreoffice"]
