"""Long files: a row a token (or, without a completion id, a row a completion of one token).

Block by block: token columns grow at the end; what a completion shares is kept once a run of rows with the same ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grpo_calc.read.aliases import Naming
from grpo_calc.read.block import Block, Frame, Lines, written
from grpo_calc.read.faults import Fault, cell_problem, shown
from grpo_calc.read.grow import Growing
from grpo_calc.read.logits import chosen_logps
from grpo_calc.read.numbers import whole
from grpo_calc.read.parts import Parts
from grpo_calc.read.settle import TOKEN_NUMBERS, canonical, mask_of, shared_names, shared_numbers, token_numbers
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
        if block.count:
            decimal = decimal or _decimal(block, naming)
            _read(book, block, frame.source, naming, decimal or ".", texts)
    if not book.count:
        raise Problem("read.no_rows", source=frame.source)
    return _gathered(book, frame.source, naming)


def _decimal(block: Block, naming: Naming) -> str | None:
    """The mark of the first number that has one: a comma or a point."""
    skipped = {"group_id", "completion_id", *TEXTS}
    for row in range(block.count):
        for canonical_name, name in naming.columns.items():
            cell = block.cells(name, np.array([row]))[0] if canonical_name not in skipped else ""
            mark = (
                next((character for character in cell if character in MARKED), None) if isinstance(cell, str) else None
            )
            if mark:
                return mark
    return None


def _read(book: _Book, block: Block, source: str, naming: Naming, decimal: str, texts: bool) -> None:
    columns = naming.columns

    def settled(name: str, settle: Callable[..., Floats], *more: Any) -> Floats:
        column = columns[name]

        def fail(fault: Fault | str, row: int, seen: Any) -> Problem:
            return cell_problem(fault, source=source, line=block.line(row, column, None), column=column, seen=seen)

        values, faults = block.numbers(column, decimal)
        return settle(*more, values, faults, fail=fail, seen=lambda row: block.cells(column, np.array([row]))[0])

    mask = settled("mask", mask_of) if "mask" in columns else None
    masked = None if mask is None else mask == 0
    starts = _starts(block, naming)
    book.keys += _keys(book, block, naming, starts, source)
    for name in TOKEN_NUMBERS:
        if name in columns:
            values = settled(name, lambda n, v, f, fail, seen: token_numbers(n, v, f, masked, fail, seen), name)
            book.tokens.setdefault(canonical(name), Growing()).add(values)
    if naming.logits[0]:
        for name, values in chosen_logps(block, naming, source, decimal, masked).items():
            book.tokens.setdefault(name, Growing()).add(values)
    for name in shared_names(list(columns)):
        values = settled(name, lambda n, v, f, fail, seen: shared_numbers(n, v, f, masked, fail, seen), name)
        first, other = per_run(values, starts)
        if other is not None:
            here = int(np.searchsorted(starts, other, side="right")) - 1
            before = starts[here] + int(np.argmax(~np.isnan(values[starts[here] :])))
            raise _differs(
                name,
                columns[name],
                source,
                block.line(int(before), columns[name], None),
                block.line(other, columns[name], None),
                book.keys[here - len(starts)],
            )
        book.shared.setdefault(name, []).append(first)
    if "advantage" in columns:
        values = settled(
            "advantage", lambda n, v, f, fail, seen: shared_numbers(n, v, f, masked, fail, seen), "advantage"
        )
        _add_advantage(book, values, masked, starts)
    if "token_index" in columns:
        _add_index(book, _integers(block, columns["token_index"], source, decimal), starts)
    if mask is not None:
        book.mask = book.mask or Growing()
        book.mask.add(mask)
    if texts:
        for name in TEXTS:
            if name in columns:
                cells = [written(cell) for cell in block.cells(columns[name])]
                book.texts.setdefault(name, []).extend(map(book.vocabulary.setdefault, cells, cells))
    book.firsts.append(book.count)
    book.lines.append(block.line)
    book.starts.append(starts + book.count)
    book.count += block.count


def _differs(name: str, column: str, source: str, first: int, second: int, key: tuple[str, str]) -> Problem:
    return Problem(
        "read.differs", source=source, first=first, second=second, column=shown(column), completion=shown(key[1])
    )


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


def _integers(block: Block, column: str, source: str, decimal: str) -> Floats:
    values, faults = block.numbers(column, decimal)
    odd = np.flatnonzero((values != np.floor(values)) | ~np.isfinite(values))
    for row in odd.tolist():
        cell = block.cells(column, np.array([row]))[0]
        if row in faults or whole(cell) is None:
            fault = "missing" if faults.get(row) is Fault.MISSING else "integer"
            raise cell_problem(fault, source=source, line=block.line(row, column, None), column=column, seen=cell)
    return values


def _gathered(book: _Book, source: str, naming: Naming) -> Parts:
    """The whole: runs of the same completion joined, rows in the order of their index."""
    starts = np.concatenate(book.starts)
    lengths = np.diff(np.append(starts, book.count))
    notes: list[Note] = []
    if "completion_id" in naming.columns:
        places: dict[tuple[str, str], int] = {}
        codes = np.fromiter(
            (places.setdefault(key, len(places)) for key in book.keys), dtype=np.int64, count=len(book.keys)
        )
        keys: Sequence[tuple[str, str]] = list(places)
    else:
        codes, keys = np.arange(len(book.keys)), book.keys
        if not naming.logits[0]:
            notes.append(note("read.row_is_completion"))
    by_code = np.argsort(codes, kind="stable")
    run_starts = np.searchsorted(codes[by_code], np.arange(len(keys)))
    order: Integers | None = None
    if not (np.diff(codes) >= 0).all():
        order = _rows_of(starts[by_code], lengths[by_code])
        notes.append(note("read.rejoined"))
    whole_lengths = np.add.reduceat(lengths[by_code], run_starts)
    order, sorted_note = _by_index(book, source, naming, starts, lengths, codes, order, whole_lengths)
    notes += sorted_note
    tokens = {name: column.done() for name, column in book.tokens.items()}
    mask = book.mask.done() if book.mask is not None else None
    shared: dict[str, Floats] = {}
    for name, parts in book.shared.items():
        values = np.concatenate(parts)[by_code]
        first, other = per_run(values, run_starts)
        if other is not None:
            run = by_code[other]
            key = keys[codes[run]]
            same = [
                r
                for r in by_code[run_starts[codes[run]] : other + 1].tolist()
                if not np.isnan(np.concatenate(parts)[r])
            ]
            column = naming.columns[name]
            raise _differs(
                name, column, source, book.line(int(starts[same[0]]), column), book.line(int(starts[run]), column), key
            )
        shared[name] = first
    if "advantage" in naming.columns:
        values = np.concatenate(book.advantage.runs)[by_code]
        first, other = per_run(values, run_starts)
        if other is None and not book.advantage.rows and not np.isnan(first).any():
            shared["advantage"] = first
        else:
            tokens["advantage"] = _spread(book.advantage, book, starts, lengths)
            _no_gap(tokens["advantage"], mask, book, source, naming.columns["advantage"])
    if order is not None:
        tokens = {name: values[order] for name, values in tokens.items()}
        mask = None if mask is None else mask[order]
    texts = {
        name: cells if order is None else [cells[row] for row in order.tolist()] for name, cells in book.texts.items()
    }
    return Parts(
        tokens=tokens,
        shared=shared,
        lengths=whole_lengths,
        group=[group for group, _ in keys] if "group_id" in naming.columns else None,
        completion=[completion for _, completion in keys],
        mask=mask,
        texts=texts,
        row=None if order is None else order + 1,
        line=_LinesOfRuns(book, starts[by_code][run_starts]),
        notes=tuple(notes),
    )


def _no_gap(values: Floats, mask: Floats | None, book: _Book, source: str, column: str) -> None:
    gap = np.isnan(values) if mask is None else np.isnan(values) & (mask != 0)
    if gap.any():
        raise cell_problem(
            Fault.MISSING, source=source, line=book.line(int(np.argmax(gap)), column), column=column, seen=""
        )


def _spread(column: _Column, book: _Book, starts: Integers, lengths: Integers, steps: bool = False) -> Floats:
    """A shared column, one value a row; with ``steps`` a run counts up from its value."""
    values = np.repeat(np.concatenate(column.runs), lengths)
    if steps:
        values += np.arange(book.count) - np.repeat(starts, lengths)
    for block, rows in column.rows.items():
        values[book.firsts[block] : book.firsts[block] + len(rows)] = rows
    return values


def _by_index(
    book: _Book,
    source: str,
    naming: Naming,
    starts: Integers,
    lengths: Integers,
    codes: Integers,
    order: Integers | None,
    whole_lengths: Integers,
) -> tuple[Integers | None, list[Note]]:
    """The order of the rows by their token index within each completion, where the file's own order is another."""
    if not book.index.runs:
        return order, []
    if order is None and not book.index.rows:
        first = np.concatenate(book.index.runs)
        joined = codes[1:] == codes[:-1]
        if not (joined & (first[1:] <= first[:-1] + lengths[:-1] - 1)).any():
            return None, []
    index = _spread(book.index, book, starts, lengths, steps=True)
    order = np.arange(book.count) if order is None else order
    owner = np.repeat(np.arange(len(whole_lengths)), whole_lengths)
    best = order[np.lexsort((index[order], owner))]
    twice = (np.diff(owner) == 0) & (np.diff(index[best]) == 0)
    if twice.any():
        at = int(np.argmax(twice))
        column = naming.columns["token_index"]
        first_line, second_line = sorted(book.line(int(row), column) for row in best[at : at + 2])
        raise Problem(
            "read.index_twice",
            source=source,
            first=first_line,
            second=second_line,
            column=shown(column),
            seen=str(int(index[best[at]])),
        )
    if np.array_equal(best, order):
        return (None, []) if np.array_equal(best, np.arange(book.count)) else (best, [])
    return best, [note("read.sorted", column=shown(naming.columns["token_index"]))]


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
