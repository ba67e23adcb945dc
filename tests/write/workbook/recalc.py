"""Recalculating a workbook that has no cached values: the only honest way to check its formulas."""

import re
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.utils import column_index_from_string

Cells = dict[str, dict[str, Any]]
Edits = Mapping[tuple[str, str], float]

_CACHED = re.compile(r"(</f>)<v>[^<]*</v>")
_KIND = re.compile(r'(<c r="[A-Z]+\d+"(?: s="\d+")?) t="str"(>?<f>|[^>]*><f>)')


def without_caches(path: Path, target: Path) -> Path:
    """A twin of a workbook whose formula cells have no values."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for name in source.namelist():
            data = source.read(name)
            if name.startswith("xl/worksheets/sheet"):
                data = _KIND.sub(r"\1\2", _CACHED.sub(r"\1", data.decode())).encode()
            out.writestr(name, data)
    return target


def formulas(path: Path) -> Cells:
    """Every formula, by sheet and cell."""
    book = openpyxl.load_workbook(path)
    return {
        sheet.title: {cell.coordinate: cell.value for row in sheet.iter_rows() for cell in row if cell.data_type == "f"}
        for sheet in book
    }


def cached(path: Path) -> Cells:
    """Every value as the file has it, by sheet and cell."""
    book = openpyxl.load_workbook(path, data_only=True)
    return {
        sheet.title: {
            cell.coordinate: cell.value for row in sheet.iter_rows() for cell in row if cell.value is not None
        }
        for sheet in book
    }


def letters(cells: Mapping[str, Any], head: int = 5) -> dict[str, str]:
    """The column letter of each key in a sheet's row of keys."""
    found = {}
    for cell, value in cells.items():
        letter, row = split(cell)
        if row == head:
            found[str(value)] = letter
    return found


def split(cell: str) -> tuple[str, int]:
    """A cell's column letter and row.

    >>> split("AB12")
    ('AB', 12)
    """
    letter = cell.rstrip("0123456789")
    return letter, int(cell[len(letter) :])


def formualizer(path: Path, edits: Edits | None = None) -> Cells:
    """Every formula's value by formualizer, from a file without cached values, after edits of cells."""
    import formualizer as fz

    twin = without_caches(path, path.with_name(f"bare-{path.name}"))
    book = fz.load_workbook(str(twin))
    for (sheet, cell), value in (edits or {}).items():
        letter, row = split(cell)
        book.set_value(sheet, row, column_index_from_string(letter), value)
    book.evaluate_all()
    found: Cells = {}
    for sheet, cells in formulas(path).items():
        places = {cell: split(cell) for cell in cells}
        found[sheet] = {
            cell: book.evaluate_cell(sheet, row, column_index_from_string(letter))
            for cell, (letter, row) in places.items()
        }
    return found


def libreoffice(program: str, path: Path, folder: Path) -> Cells:
    """Every value by LibreOffice, from a file without cached values."""
    twin = without_caches(path, folder / f"bare-{path.name}")
    out = folder / "libreoffice"
    command = [program, f"-env:UserInstallation={(folder / 'profile').as_uri()}", "--headless", "--convert-to", "xlsx"]
    subprocess.run([*command, "--outdir", str(out), str(twin)], check=True, capture_output=True, timeout=240)
    return cached(out / twin.name)


def gnumeric(program: str, path: Path, folder: Path) -> Cells:
    """Every value by Gnumeric, from a file without cached values."""
    twin = without_caches(path, folder / f"bare-{path.name}")
    out = folder / "gnumeric.xlsx"
    subprocess.run([program, "--recalc", str(twin), str(out)], check=True, capture_output=True, timeout=240)
    return cached(out)
