"""Long files: a row a token (or, without a completion id, a row a completion of one token).

Block by block: token columns grow at the end; what a completion shares is kept once a run of rows with the same ids.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grpo_calc.read.aliases import Naming
from grpo_calc.read.block import Block, Frame, Lines, written
from grpo_calc.read.faults import Fault, cell_problem, shown
from grpo_calc.read.grow import Growing
from grpo_calc.read.logits import chosen_logps
from grpo_calc.read.parts import Parts
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
from grpo_calc.say import Note, Problem, note
from grpo_calc.table import Floats, Integers

TEXTS = ("token", "token_id")
MARKED = ",."


@dataclass
class _Column:
    """A column shared by runs of rows: one value a run, or, for a block where they differ within a run, one a row."""

    runs: list[Floats] = field(default_factory=list)
    rows: dict[int, Floats] = field(default_factory=dict)
    """By block."""


@dataclass
class _Book:
    """What has been read so far."""

    tokens: dict[str, Growing] = field(default_factory=dict)
    mask: Growing | None = None
    texts: dict[str, list[str]] = field(default_factory=dict)
    vocabulary: dict[str, str] = field(default_factory=dict)
    shared: dict[str, list[Floats]] = field(default_factory=dict)
    known: dict[str, list[Integers]] = field(default_factory=dict)
    """The rows that the shared values come from."""
    advantage: _Column = field(default_factory=_Column)
    index: _Column = field(default_factory=_Column)
    keys: list[tuple[str, str]] = field(default_factory=list)
    starts: list[Integers] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    """The first row of each block."""
    lines: list[Lines] = field(default_factory=list)
    count: int = 0

    def line(self, row: int, column: str) -> int:
        """The line in the file of a row, counted over all blocks."""
        block = int(np.searchsorted(self.firsts, row, side="right")) - 1
        return self.lines[block](row - self.firsts[block], column, None)


def long_parts(frame: Frame, naming: Naming, texts: bool) -> Parts:
    """The parts of a long file."""
    book, decimal = _Book(), frame.decimal
    for block in frame.blocks:
        decimal = decimal or _decimal(block, naming)
        _Rows(book, block, frame.source, naming, decimal or ".").read(texts)
    if not book.count:
        raise Problem("read.no_rows", source=frame.source)
    return _gathered(book, frame.source, naming)


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

    book: _Book
    block: Block
    source: str
    naming: Naming
    decimal: str

    def __post_init__(self) -> None:
        self.starts = _starts(self.block, self.naming)
        self.masked: Flags | None = None

    def read(self, texts: bool) -> None:
        book, block, columns = self.book, self.block, self.naming.columns
        book.keys += _keys(book, block, self.naming, self.starts, self.source)
        if "mask" in columns:
            mask = self._settled("mask", mask_of)
            self.masked = mask == 0
            book.mask = book.mask or Growing()
            book.mask.add(mask)
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
                raise _differs(columns[name], self.source, lines, book.keys[here - len(starts)])
            book.shared.setdefault(name, []).append(first)
            book.known.setdefault(name, []).append(known_rows(values, starts) + book.count)
        if "advantage" in columns:
            values = self._settled("advantage", shared_numbers, "advantage", self.masked)
            _add_advantage(book, values, self.masked, starts)
        if "token_index" in columns:
            _add_index(book, self._settled("token_index", _integers), starts)

    def _texts(self) -> None:
        book = self.book
        for name in TEXTS:
            if name in self.naming.columns:
                cells = [written(cell) for cell in self.block.cells(self.naming.columns[name])]
                book.texts.setdefault(name, []).extend(map(book.vocabulary.setdefault, cells, cells))


def _differs(column: str, source: str, lines: Sequence[int], key: tuple[str, str]) -> Problem:
    first, second = sorted(lines)
    values = {"first": first, "second": second, "column": shown(column), "completion": shown(key[1])}
    return Problem("read.differs", source=source, **values)


def _starts(block: Block, naming: Naming) -> Integers:
    """The rows of a block where a run of one completion begins."""
    if "completion_id" not in naming.columns:
        return np.arange(block.count)
    change = block.changes(naming.columns["completion_id"])
    if "group_id" in naming.columns:
        change = change | block.changes(naming.columns["group_id"])
    return np.flatnonzero(change)


def _keys(book: _Book, block: Block, naming: Naming, starts: Integers, source: str) -> list[tuple[str, str]]:
    """The group and the completion of each run."""
    found: list[list[str]] = []
    for name in ("group_id", "completion_id"):
        column = naming.columns.get(name)
        if column is None:
            found.append(
                ["1"] * len(starts) if name == "group_id" else [str(book.count + row + 1) for row in starts.tolist()]
            )
            continue
        cells = [written(cell) for cell in block.cells(column, starts)]
        blank = next((place for place, cell in enumerate(cells) if not cell.strip()), None)
        if blank is not None:
            raise cell_problem(
                "missing_id",
                source=source,
                line=block.line(int(starts[blank]), column, None),
                column=column,
                seen=cells[blank],
            )
        found.append(cells)
    return list(zip(*found, strict=True))


def per_run(values: Floats, starts: Integers) -> tuple[Floats, int | None]:
    """The first known value of each run, and the first row that holds another.

    >>> per_run(np.array([1.0, np.nan, 1.0, np.nan, 2.0]), np.array([0, 3]))
    (array([1., 2.]), None)
    >>> per_run(np.array([1.0, 3.0]), np.array([0]))[1]
    1
    """
    count = len(values)
    if len(starts) == count:
        return values, None
    lengths = np.diff(np.append(starts, count))
    first = values[starts]
    same = np.repeat(first, lengths) == values
    if same.all():
        return first, None
    known = np.where(np.isnan(values), count, np.arange(count))
    first = np.append(values, np.nan)[np.minimum.reduceat(known, starts)]
    other = (np.repeat(first, lengths) != values) & ~np.isnan(values)
    return first, int(np.argmax(other)) if other.any() else None


def known_rows(values: Floats, starts: Integers) -> Integers:
    """The row of the first known value of each run; its first row where there is none.

    >>> known_rows(np.array([np.nan, 1.0, np.nan]), np.array([0, 2]))
    array([1, 2])
    """
    missing = np.isnan(values)
    if not missing.any():
        return starts
    first = np.minimum.reduceat(np.where(missing, len(values), np.arange(len(values))), starts)
    ends = np.append(starts[1:], len(values))
    return np.where(first < ends, first, starts)


def _add_advantage(book: _Book, values: Floats, masked: Flags | None, starts: Integers) -> None:
    counted = values if masked is None else np.where(masked, np.nan, values)
    first, other = per_run(counted, starts)
    if other is not None:
        book.advantage.rows[len(book.firsts)] = values
    book.advantage.runs.append(first)


def _add_index(book: _Book, index: Floats, starts: Integers) -> None:
    lengths = np.diff(np.append(starts, len(index)))
    first = index[starts]
    if not np.array_equal(index, np.repeat(first - starts, lengths) + np.arange(len(index))):
        book.index.rows[len(book.firsts)] = index
    book.index.runs.append(first)


def _integers(values: Floats, faults: Mapping[int, Fault], fail: Fail, seen: Seen) -> Floats:
    odd = ~(values == np.floor(values)) | ~np.isfinite(values)
    if odd.any():
        row = int(np.argmax(odd))
        raise fail(Fault.MISSING if faults.get(row) is Fault.MISSING else "integer", row, seen(row))
    return values


def _gathered(book: _Book, source: str, naming: Naming) -> Parts:
    """The whole: runs of the same completion joined, rows in the order of their index."""
    runs, notes = _joined(book, naming)
    order = None
    if not (np.diff(runs.codes) >= 0).all():
        order = _rows_of(runs.starts[runs.by_code], runs.lengths[runs.by_code])
        notes.append(note("read.rejoined"))
    order, more = _by_index(book, source, naming, runs, order)
    tokens = {name: column.done() for name, column in book.tokens.items()}
    mask = book.mask.done() if book.mask is not None else None
    shared = {name: _one_each(book, source, name, naming.columns[name], runs) for name in book.shared}
    if "advantage" in naming.columns:
        first, other = per_run(np.concatenate(book.advantage.runs)[runs.by_code], runs.firsts)
        if other is None and not book.advantage.rows and not np.isnan(first).any():
            shared["advantage"] = first
        else:
            tokens["advantage"] = _spread(book.advantage, book, runs)
            _no_gap(tokens["advantage"], mask, book, source, naming.columns["advantage"])
    texts: Mapping[str, Sequence[str]] = book.texts
    if order is not None:
        tokens = {name: values[order] for name, values in tokens.items()}
        mask = None if mask is None else mask[order]
        texts = {name: [cells[row] for row in order.tolist()] for name, cells in book.texts.items()}
    return Parts(
        tokens=tokens,
        shared=shared,
        lengths=runs.whole_lengths,
        group=[group for group, _ in runs.keys] if "group_id" in naming.columns else None,
        completion=[completion for _, completion in runs.keys],
        mask=mask,
        texts=texts,
        row=None if order is None else order + 1,
        line=_LinesOfRuns(book, runs.starts[runs.by_code][runs.firsts]),
        notes=(*notes, *more),
    )


@dataclass(frozen=True)
class _Runs:
    """The runs of rows, and which completion each belongs to."""

    keys: Sequence[tuple[str, str]]
    """Of each completion."""
    codes: Integers
    """The completion of each run."""
    starts: Integers
    lengths: Integers
    by_code: Integers
    """The runs, a completion after another."""
    firsts: Integers
    """Where in ``by_code`` each completion begins."""
    whole_lengths: Integers


def _joined(book: _Book, naming: Naming) -> tuple[_Runs, list[Note]]:
    starts = np.concatenate(book.starts)
    lengths = np.diff(np.append(starts, book.count))
    notes: list[Note] = []
    if "completion_id" in naming.columns:
        places: dict[tuple[str, str], int] = {}
        found = (places.setdefault(key, len(places)) for key in book.keys)
        codes = np.fromiter(found, dtype=np.int64, count=len(book.keys))
        keys: Sequence[tuple[str, str]] = list(places)
    else:
        codes, keys = np.arange(len(book.keys)), book.keys
        if book.tokens and not naming.logits[0]:
            notes.append(note("read.row_is_completion"))
    by_code = np.argsort(codes, kind="stable")
    firsts = np.searchsorted(codes[by_code], np.arange(len(keys)))
    return _Runs(keys, codes, starts, lengths, by_code, firsts, np.add.reduceat(lengths[by_code], firsts)), notes


def _one_each(book: _Book, source: str, name: str, column: str, runs: _Runs) -> Floats:
    """One value a completion from one a run."""
    values = np.concatenate(book.shared[name])[runs.by_code]
    first, other = per_run(values, runs.firsts)
    if other is None:
        return first
    code = int(runs.codes[runs.by_code[other]])
    before = int(known_rows(values, runs.firsts)[code])
    rows = np.concatenate(book.known[name])[runs.by_code[[before, other]]]
    raise _differs(column, source, [book.line(row, column) for row in rows.tolist()], runs.keys[code])


def _no_gap(values: Floats, mask: Floats | None, book: _Book, source: str, column: str) -> None:
    gap = np.isnan(values) if mask is None else np.isnan(values) & (mask != 0)
    if gap.any():
        raise cell_problem(
            Fault.MISSING, source=source, line=book.line(int(np.argmax(gap)), column), column=column, seen=""
        )


def _spread(column: _Column, book: _Book, runs: _Runs, steps: bool = False) -> Floats:
    """A shared column, one value a row; with ``steps`` a run counts up from its value."""
    values = np.repeat(np.concatenate(column.runs), runs.lengths)
    if steps:
        values += np.arange(book.count) - np.repeat(runs.starts, runs.lengths)
    for block, rows in column.rows.items():
        values[book.firsts[block] : book.firsts[block] + len(rows)] = rows
    return values


def _in_order(book: _Book, runs: _Runs) -> bool:
    """Whether every run counts up by one and goes on after the run before it."""
    if book.index.rows:
        return False
    first = np.concatenate(book.index.runs)
    joined = runs.codes[1:] == runs.codes[:-1]
    return not (joined & (first[1:] < first[:-1] + runs.lengths[:-1])).any()


def _by_index(
    book: _Book, source: str, naming: Naming, runs: _Runs, order: Integers | None
) -> tuple[Integers | None, list[Note]]:
    """The order of the rows by their token index within each completion, where the file's own order is another."""
    if not book.index.runs or (order is None and _in_order(book, runs)):
        return order, []
    column = naming.columns["token_index"]
    index = _spread(book.index, book, runs, steps=True)
    before = np.arange(book.count) if order is None else order
    owner = np.repeat(np.arange(len(runs.keys)), runs.whole_lengths)
    best = before[np.lexsort((index[before], owner))]
    twice = (np.diff(owner) == 0) & (np.diff(index[best]) == 0)
    if twice.any():
        at = int(np.argmax(twice))
        first, second = sorted(book.line(int(row), column) for row in best[at : at + 2])
        seen = str(int(index[best[at]]))
        raise Problem("read.index_twice", source=source, first=first, second=second, column=shown(column), seen=seen)
    if np.array_equal(best, before):
        return order, []
    return best, [note("read.sorted", column=shown(column))]


def _rows_of(starts: Integers, lengths: Integers) -> Integers:
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(int(ends[-1]))


class _LinesOfRuns(Sequence[int]):
    """The line of each completion's first row, looked up only when it is asked for."""

    def __init__(self, book: _Book, rows: Integers) -> None:
        self._line, self._rows = book.line, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: Any) -> Any:
        return self._line(int(self._rows[place]), "")
