"""The book: openpyxl makes sheets, names and heads; the final pass streams the rows. Written whole or not at all."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from openpyxl import Workbook
from openpyxl.workbook.defined_name import DefinedName

from grpo_calc.column import Level
from grpo_calc.say import LANGUAGES, Note, Problem, note, say
from grpo_calc.work import Worked
from grpo_calc.write.workbook.cells import Pieces
from grpo_calc.write.workbook.extent import FIRST_ROW, LIVE_ROWS, extent, forecast
from grpo_calc.write.workbook.heads import heads
from grpo_calc.write.workbook.layout import PAGE_TOKENS, TITLES, Layout, Sheet
from grpo_calc.write.workbook.loss import LossSheet, PrintedFigure
from grpo_calc.write.workbook.page import Page
from grpo_calc.write.workbook.paged import PAGE, Paged
from grpo_calc.write.workbook.parameters import SHEET, parameters
from grpo_calc.write.workbook.pen import Pen
from grpo_calc.write.workbook.pictures import Pictures
from grpo_calc.write.workbook.rows import coarse_rows, token_rows
from grpo_calc.write.workbook.stream import Part, finish
from grpo_calc.write.workbook.styles import Palette, number_format
from grpo_calc.write.workbook.text import clean
from grpo_calc.write.workbook.values import Values


def write_workbook(
    worked: Worked,
    path: str | os.PathLike[str],
    *,
    lang: str = "en",
    force: bool = False,
    live_rows: int = LIVE_ROWS,
    keep_masked: bool = False,
    title: str | None = None,
    figures: Sequence[PrintedFigure] = (),
    notes: Sequence[Note] = (),
) -> tuple[Note, ...]:
    """Write a live workbook of a worked batch; gives the notes that stand in it.

    Every computed cell is a formula with its value; the first completions whose tokens fit in ``live_rows`` rows are
    live, the rest are values. ``keep_masked`` lists masked tokens too, greyed. ``figures`` are a source's printed
    figures to show beside ours, ``title`` and ``notes`` what else to say.

    Errors: :class:`~grpo_calc.say.Problem` where the file exists and ``force`` is not given, or where it cannot be
    written; then nothing is.
    """
    target = Path(path)
    if lang not in LANGUAGES:
        raise Problem("workbook.unknown_language", seen=lang, known=", ".join(LANGUAGES))
    if target.exists() and not force:
        raise Problem("workbook.exists", path=str(target))
    book = Book(worked, lang, live_rows, keep_masked=keep_masked)
    said = (*worked.notes, *notes, *forecast(worked, live_rows=live_rows, keep_masked=keep_masked))
    if book.layout.part.tokens > PAGE_TOKENS:
        said = (*said, note("workbook.no_page", most=PAGE_TOKENS))
    made, parts = book.make(title or say("workbook.title_loss", lang), figures, said)
    try:
        _save(made, parts, target)
    except OSError as fault:
        raise Problem("workbook.cannot_write", path=str(target), fault=fault.strerror or str(fault)) from fault
    return said


def _save(made: io.BytesIO, parts: Mapping[str, Part], target: Path) -> None:
    """Write beside the target, then put in place: a failure leaves nothing half-written."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".part", dir=target.parent)
    os.close(handle)
    try:
        finish(made, Path(name), parts)
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class Book:
    """One workbook in the making."""

    def __init__(self, worked: Worked, lang: str, live_rows: int, *, keep_masked: bool) -> None:
        self.worked, self.lang = worked, lang
        self.part = extent(worked, live_rows, keep_masked=keep_masked)
        self.layout = Layout(worked, self.part)
        self.values = Values(worked, self.part)
        self.book = Workbook()
        self.palette = Palette(self.book, lang)
        self.pens: dict[str, Pen] = {}
        self.names: dict[str, str] = {}

    def make(
        self, title: str, figures: Sequence[PrintedFigure], notes: Sequence[Note]
    ) -> tuple[io.BytesIO, dict[str, Part]]:
        """The book as openpyxl saves it, and what the final pass adds to each of its sheets."""
        self.book.remove(self.book.worksheets[0])
        small = self.layout.small
        order = [
            *([PAGE] if small else []),
            SHEET,
            *(sheet.title for sheet in self.layout.sheets.values()),
            TITLES[Level.BATCH],
        ]
        for name in order:
            self.pens[name] = Pen(self.book.create_sheet(name), self.palette)
        self.names |= parameters(self.pens[SHEET], self.layout, self.lang)
        rows = {sheet.title: self._rows(sheet) for sheet in self.layout.sheets.values()}
        loss = LossSheet(self.pens[TITLES[Level.BATCH]], self.layout, self.values, self.lang)
        self.names |= {
            name: cell
            for name, cell in loss.write(title, figures, notes).items()
            if self.layout.batch_cell(name) == name
        }
        pictures = Pictures(self.layout, self.values, self.pens[TITLES[Level.BATCH]], self.lang)
        if small:
            paged = Paged(self.layout, self.values)
            below = Page(self.pens[PAGE], paged).write(title, loss, figures, notes)
            pictures.on_page(self.pens[PAGE].sheet, paged, below)
        elif self.layout.has_tokens:
            pictures.on_loss(loss)
            self.book.active = order.index(TITLES[Level.BATCH])
        for name, cell in self.names.items():
            self.book.defined_names[name] = DefinedName(name, attr_text=cell)
        self.palette.close(self.book)
        made = io.BytesIO()
        self.book.properties.creator, self.book.properties.title = "grpo-calc", clean(title)
        self.book.save(made)
        parts = {}
        for place, sheet in enumerate(self.book.worksheets, start=1):
            part = rows.get(sheet.title, Part())
            parts[f"xl/worksheets/sheet{place}.xml"] = Part(
                self.pens[sheet.title].cached, part.rows, part.dimension, part.estimate
            )
        return made, parts

    def _rows(self, sheet: Sheet) -> Part:
        """A sheet's heads, and its rows for the final pass."""
        formats = self._formats(sheet)
        pieces = Pieces(self.layout, sheet, self.palette, formats, self.lang)
        heads(self.pens[sheet.title], self.layout, sheet, pieces, self.lang)
        count = self.layout.count(sheet.level)
        if sheet.level is Level.TOKEN:
            rows = token_rows(self.layout, self.values, pieces)
        else:
            rows = coarse_rows(self.layout, self.values, pieces, sheet.level)
        return Part({}, rows, f"A1:{sheet.fields[-1].letter}{FIRST_ROW + count - 1}", count * len(sheet.fields) * 110)

    def _formats(self, sheet: Sheet) -> dict[str, str]:
        """The number format of each field that holds numbers, judged by the first of them."""
        columns: Mapping[str, Any] = self.values.coarse
        if sheet.level is Level.TOKEN:
            columns = next(self.values.blocks()).columns if self.part.tokens else {}
        formats = {
            field.key: number_format(field.key, np.asarray(columns.get(field.key, ()), dtype=float))
            for field in sheet.of_kind("input", "step", "spread")
        }
        for field in sheet.of_kind("frozen", "given"):
            formats[field.key] = formats.get(field.of, "0.0000")
        return formats
