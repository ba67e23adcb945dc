"""Recalculating a workbook that has no cached values: the only honest way to check its formulas."""

import re
import subprocess
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import openpyxl
from openpyxl.utils import column_index_from_string

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"

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


def read(path: Path) -> tuple[Cells, Cells]:
    """Every formula, and every value as the file has it: by sheet and cell, from the XML itself."""
    formulas: Cells = {}
    values: Cells = {}
    with zipfile.ZipFile(path) as file:
        names = [sheet.get("name", "") for sheet in _xml(file, "xl/workbook.xml").iter(f"{MAIN}sheet")]
        shared = "xl/sharedStrings.xml"
        strings = [_text(item) for item in _xml(file, shared)] if shared in file.namelist() else []
        for place, name in enumerate(names, start=1):
            cells = _xml(file, f"xl/worksheets/sheet{place}.xml").iter(f"{MAIN}c")
            formulas[name], values[name] = {}, {}
            for cell in cells:
                where = cell.get("r", "")
                formula, value = cell.find(f"{MAIN}f"), _value(cell, strings)
                if formula is not None:
                    formulas[name][where] = f"={formula.text}"
                if value is not None:
                    values[name][where] = value
    return formulas, values


def _xml(file: zipfile.ZipFile, part: str) -> ElementTree.Element:
    return ElementTree.fromstring(file.read(part))


def _text(item: ElementTree.Element) -> str:
    return "".join(text.text or "" for text in item.iter(f"{MAIN}t"))


def _value(cell: ElementTree.Element, strings: list[str]) -> float | str | None:
    kind, value = cell.get("t"), cell.find(f"{MAIN}v")
    if kind == "inlineStr":
        return _text(cell)
    if value is None or value.text is None:
        return None
    if kind == "s":
        return strings[int(value.text)]
    return value.text if kind in ("str", "e") else float(value.text)


def cached(path: Path) -> Cells:
    """Every value as openpyxl reads it, by sheet and cell."""
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


def edited(path: Path, target: Path, edits: Edits) -> Path:
    """A copy of a workbook with other numbers in some of its input cells."""
    parts = {f"xl/worksheets/sheet{place}.xml": name for place, name in enumerate(read(path)[0], start=1)}
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for part in source.namelist():
            text = source.read(part)
            for (sheet, cell), value in edits.items():
                if parts.get(part) == sheet:
                    written = re.compile(rb'(<c r="%s"(?: s="\d+")?(?: t="n")?>)<v>[^<]*</v>' % cell.encode())
                    text, count = written.subn(rb"\1<v>%s</v>" % repr(value).encode(), text)
                    assert count == 1, f"{sheet}!{cell} is no input cell"
            out.writestr(part, text)
    return target


def formualizer(path: Path) -> Cells:
    """Every formula's value by formualizer, from a file without cached values."""
    import formualizer as fz

    twin = without_caches(path, path.with_name(f"bare-{path.name}"))
    book = fz.load_workbook(str(twin))
    book.evaluate_all()
    found: Cells = {}
    for sheet, cells in read(path)[0].items():
        places = {cell: split(cell) for cell in cells}
        found[sheet] = {
            cell: book.evaluate_cell(sheet, row, column_index_from_string(letter))
            for cell, (letter, row) in places.items()
        }
    return found


def column(cells: Mapping[str, Any], letter: str, rows: Iterable[int]) -> list[Any]:
    """The values of a column's cells."""
    return [cells.get(f"{letter}{row}") for row in rows]


def libreoffice(program: str, path: Path, folder: Path) -> Cells:
    """Every value by LibreOffice, from a file without cached values."""
    twin = without_caches(path, folder / f"bare-{path.name}")
    out = folder / "libreoffice"
    command = [program, f"-env:UserInstallation={(folder / 'profile').as_uri()}", "--headless", "--convert-to", "xlsx"]
    subprocess.run([*command, "--outdir", str(out), str(twin)], check=True, capture_output=True, timeout=240)
    return read(out / twin.name)[1]


def gnumeric(program: str, path: Path, folder: Path) -> Cells:
    """Every value by Gnumeric, from a file without cached values."""
    twin = without_caches(path, folder / f"bare-{path.name}")
    out = folder / "gnumeric.xlsx"
    subprocess.run([program, "--recalc", str(twin), str(out)], check=True, capture_output=True, timeout=240)
    return read(out)[1]
