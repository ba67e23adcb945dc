"""Long files: a row a token (or, without a completion id, a row a completion of one token)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from grpo_calc.read.aliases import Naming
from grpo_calc.read.block import Block, Frame, no_id, written
from grpo_calc.read.book import Book, add_advantage, add_index, gathered
from grpo_calc.read.faults import Fault, cell_problem
from grpo_calc.read.grow import Growing
from grpo_calc.read.logits import chosen_logps
from grpo_calc.read.parts import Parts
from grpo_calc.read.runs import differs, known_rows, per_run
from grpo_calc.read.settle import (
    TOKEN_NUMBERS,
    Fail,
    Seen,
    canonical,
    mask_of,
    shared_names,
    shared_numbers,
    token_numbers,
)
from grpo_calc.read.words import Flags
from grpo_calc.say import Problem
from grpo_calc.table import Floats, Integers

TEXTS = ("token", "token_id")
MARKED = ",."


def long_parts(frame: Frame, naming: Naming, texts: bool) -> Parts:
    """The parts of a long file."""
    book, decimal = Book(), frame.decimal
    for block in frame.blocks:
        decimal = decimal or _decimal(block, naming)
        _Rows(book, block, frame.source, naming, decimal or ".").read(texts)
    if not book.count:
        raise Problem("read.no_rows", source=frame.source)
    return gathered(book, frame.source, naming)


def _numeric(naming: Naming) -> list[str]:
    """The columns of the file that hold numbers."""
    return [column for name, column in naming.columns.items() if name not in {"group_id", "completion_id", *TEXTS}]


def _decimal(block: Block, naming: Naming) -> str | None:
    """The mark of the first number that has one: a comma or a point."""
    found: list[tuple[int, str]] = []
    for column in _numeric(naming):
        cells = enumerate(block.cells(column))
        marks = ((row, mark) for row, cell in cells if isinstance(cell, str) for mark in cell if mark in MARKED)
        found += itertools.islice(marks, 1)
    return min(found)[1] if found else None


@dataclass
class _Rows:
    """One block on its way into the book."""

    book: Book
    block: Block
    source: str
    naming: Naming
    decimal: str

    def __post_init__(self) -> None:
        self.starts = _starts(self.block, self.naming)
        self.masked: Flags | None = None

    def read(self, texts: bool) -> None:
        book, block = self.book, self.block
        book.keys += _keys(book, block, self.naming, self.starts, self.source)
        masks = [self._settled(name, mask_of) for name in self.naming.masks]
        if masks:
            mask = np.prod(masks, axis=0)
            self.masked = mask == 0
            book.mask = book.mask or Growing(np.bool_)
            book.mask.add(mask != 0)
        self._tokens()
        self._shared()
        if texts:
            self._texts()
        book.firsts.append(book.count)
        book.lines.append(block.line)
        book.starts.append(self.starts + book.count)
        book.count += block.count

    def _settled(self, name: str, settle: Callable[..., Floats], *more: Any) -> Floats:
        """A column's numbers, settled by ``settle(*more, values, faults, fail, seen)``."""
        column = self.naming.columns[name]
        values, faults = self.block.numbers(column, self.decimal)
        return settle(
            *more, values, faults, functools.partial(self._fail, column), functools.partial(self._seen, column)
        )

    def _seen(self, column: str, row: int) -> Any:
        return self.block.cells(column, np.array([row]))[0]

    def _fail(self, column: str, fault: Fault | str, row: int, seen: Any) -> Problem:
        line = self.block.line(row, column, None)
        return cell_problem(fault, source=self.source, line=line, column=column, seen=seen)

    def _tokens(self) -> None:
        for name in TOKEN_NUMBERS:
            if name in self.naming.columns:
                values = self._settled(name, token_numbers, name, self.masked)
                self.book.tokens.setdefault(canonical(name), Growing()).add(values)
        if self.naming.logits[0]:
            for name, values in chosen_logps(self.block, self.naming, self.source, self.decimal, self.masked).items():
                self.book.tokens.setdefault(name, Growing()).add(values)

    def _shared(self) -> None:
        book, columns, starts = self.book, self.naming.columns, self.starts
        for name in shared_names(list(columns)):
            values = self._settled(name, shared_numbers, name, self.masked)
            first, other = per_run(values, starts)
            if other is not None:
                here = int(np.searchsorted(starts, other, side="right")) - 1
                lines = [
                    self.block.line(row, columns[name], None) for row in (int(known_rows(values, starts)[here]), other)
                ]
                raise differs(columns[name], self.source, lines, book.keys[here - len(starts)])
            book.shared.setdefault(name, []).append(first)
            book.known.setdefault(name, []).append(known_rows(values, starts) + book.count)
        if "advantage" in columns:
            values = self._settled("advantage", shared_numbers, "advantage", self.masked)
            add_advantage(book, values, self.masked, starts)
        if "token_index" in columns:
            add_index(book, self._settled("token_index", _integers), starts)

    def _texts(self) -> None:
        book = self.book
        for name in TEXTS:
            if name in self.naming.columns:
                cells = [written(cell) for cell in self.block.cells(self.naming.columns[name])]
                book.texts.setdefault(name, []).extend(map(book.vocabulary.setdefault, cells, cells))


def _starts(block: Block, naming: Naming) -> Integers:
    """The rows of a block where a run of one completion begins."""
    if "completion_id" not in naming.columns:
        return np.arange(block.count)
    change = block.changes(naming.columns["completion_id"])
    if "group_id" in naming.columns:
        change = change | block.changes(naming.columns["group_id"])
    return np.flatnonzero(change)


def _keys(book: Book, block: Block, naming: Naming, starts: Integers, source: str) -> list[tuple[str, str]]:
    """The group and the completion of each run."""
    found: list[list[str]] = []
    for name in ("group_id", "completion_id"):
        column = naming.columns.get(name)
        if column is None:
            found.append(
                ["1"] * len(starts) if name == "group_id" else [str(book.count + row + 1) for row in starts.tolist()]
            )
            continue
        cells = block.cells(column, starts)
        blank = next((place for place, cell in enumerate(cells) if no_id(cell)), None)
        if blank is not None:
            raise cell_problem(
                "missing_id",
                source=source,
                line=block.line(int(starts[blank]), column, None),
                column=column,
                seen=cells[blank],
            )
        found.append([written(cell) for cell in cells])
    return list(zip(*found, strict=True))


def _integers(values: Floats, faults: Mapping[int, Fault], fail: Fail, seen: Seen) -> Floats:
    odd = ~(values == np.floor(values)) | ~np.isfinite(values)
    if odd.any():
        row = int(np.argmax(odd))
        raise fail(Fault.MISSING if faults.get(row) is Fault.MISSING else "integer", row, seen(row))
    return values
