"""Excel workbooks: one sheet of cached values, bounded before anything is unpacked."""

from __future__ import annotations

import datetime
import functools
import itertools
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from grpo_calc.read.aliases import known, listed
from grpo_calc.read.block import Cells, Frame, RowLines
from grpo_calc.read.delimited import unnamed
from grpo_calc.read.faults import shown
from grpo_calc.read.source import Source
from grpo_calc.say import Problem

MOST_PARTS = 2000
LARGEST_UNPACKED = 256 << 20
MODEST_UNPACKED = 16 << 20
LARGEST_RATIO = 100
"""Beyond ``MODEST_UNPACKED`` bytes a workbook may not be more than this many times its packed size."""
MOST_COLUMNS = 16_384
ROWS = 4096
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What a damaged workbook makes the reader of workbooks raise."""


def zip_kind(source: Source) -> str:
    """What kind of zip file this is: ``workbook``, or a name to show.

    Errors: a broken zip file.
    """
    with source.open() as stream:
        try:
            names = zipfile.ZipFile(stream).namelist()
        except BROKEN:
            raise Problem("read.zip_broken", source=source.name) from None
    if "xl/workbook.xml" in names:
        return "workbook"
    if any(name.endswith(".npy") for name in names):
        return "NumPy .npz"
    return "PyTorch .pt" if any(name.endswith("data.pkl") for name in names) else "ZIP"


def open_workbook(source: Source, sheet: str | None) -> Frame:
    """The frame of one sheet, the first unless named; its first row that is not blank is the header."""
    import openpyxl  # only here: a command that reads no workbook does not pay for it

    stream = source.open()
    try:
        _check_bounds(stream, source.name)
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        sheets = {page.title: page for page in book.worksheets}
    except BROKEN:
        raise Problem("read.workbook_broken", source=source.name) from None
    if not sheets:
        raise Problem("read.workbook_broken", source=source.name)
    if sheet is not None and sheet not in sheets:
        raise Problem("read.no_sheet", source=source.name, seen=shown(sheet), known=listed(tuple(sheets)))
    page = sheets[sheet] if sheet is not None else next(iter(sheets.values()))
    rows = _rows(page, source.name)
    first = next(rows, None)
    if first is None:
        raise Problem("read.empty", source=source.name)
    line, cells = first
    names = tuple("" if cell is None else str(cell).strip() for cell in cells)
    while names and not names[-1]:
        names = names[:-1]
    places: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if name and name in places:
            raise Problem(
                "read.duplicate_header",
                source=source.name,
                line=line,
                column=shown(name),
                first=places[name],
                second=place,
            )
        places[name] = place
    if len(names) > MOST_COLUMNS:
        raise Problem("read.workbook_large", source=source.name)
    formulas = _Formulas(source, page.title)
    return Frame(source.name, unnamed(names), _blocks(rows, unnamed(names), source.name, formulas), header_line=line)


def _check_bounds(stream: BinaryIO, source: str) -> None:
    """Refuse what would unpack to too much, or hold entities, from the directory and the beginnings of its parts."""
    packed = zipfile.ZipFile(stream)
    parts = packed.infolist()
    size = sum(part.file_size for part in parts)
    small = sum(part.compress_size for part in parts)
    if (
        len(parts) > MOST_PARTS
        or size > LARGEST_UNPACKED
        or (size > MODEST_UNPACKED and size > LARGEST_RATIO * max(small, 1))
    ):
        raise Problem("read.workbook_large", source=source)
    for part in parts:
        if part.filename.endswith((".xml", ".rels")):
            with packed.open(part) as body:
                head = body.read(1 << 16).replace(b"\0", b"")
            if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
                raise Problem("read.workbook_broken", source=source)
    stream.seek(0)


def _rows(page: Any, source: str) -> Iterator[tuple[int, Sequence[Any]]]:
    """The rows that are not blank, with their numbers."""
    try:
        page.reset_dimensions()
        for at, row in enumerate(page.iter_rows(values_only=True), 1):
            if any(cell is not None and cell != "" for cell in row):
                yield at, row
    except BROKEN:
        raise Problem("read.workbook_broken", source=source) from None


class _Formulas:
    """Which cells of a sheet hold formulas: looked up once a cell without a value is met."""

    def __init__(self, source: Source, sheet: str) -> None:
        self._source, self._sheet = source, sheet

    @functools.cached_property
    def places(self) -> frozenset[tuple[int, int]]:
        """Their lines and their places in the row, from 0."""
        import openpyxl

        try:
            book = openpyxl.load_workbook(self._source.open(), read_only=True)
            page = next(page for page in book.worksheets if page.title == self._sheet)
            return frozenset(
                (line, place)
                for line, row in _rows(page, self._source.name)
                for place, cell in enumerate(row)
                if isinstance(cell, str) and cell.startswith("=")
            )
        except BROKEN:
            raise Problem("read.workbook_broken", source=self._source.name) from None


def _blocks(
    rows: Iterator[tuple[int, Sequence[Any]]], header: tuple[str, ...], source: str, formulas: _Formulas
) -> Iterator[Cells]:
    width = len(header)
    needed = [place for place, name in enumerate(header) if known(name)]
    while part := list(itertools.islice(rows, ROWS)):
        for line, row in part:
            if any(cell is not None and cell != "" for cell in row[width:]):
                raise Problem("read.row_length", source=source, line=line, seen=len(row), expected=width)
            for place in needed:
                if (place >= len(row) or row[place] is None) and (line, place) in formulas.places:
                    raise Problem("read.not_calculated", source=source, line=line, column=shown(header[place]))
        lines = [line for line, _ in part]
        columns = {
            name: [_cell(row[place]) if place < len(row) else None for _, row in part]
            for place, name in enumerate(header)
        }
        yield Cells(columns, len(part), RowLines(lines))


def _cell(value: Any) -> Any:
    """A cell's value; a date (which a program made of a number) is shown as text, so that it is refused."""
    return str(value) if isinstance(value, (datetime.date, datetime.time, datetime.timedelta)) else value
