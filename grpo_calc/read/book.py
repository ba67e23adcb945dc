"""A long file as it is read, block by block, and what it comes to in the end.

Token columns grow at the end; what a completion shares is kept once a run of rows with the same ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grpo_calc.read.aliases import Naming
from grpo_calc.read.block import Lines
from grpo_calc.read.faults import Fault, cell_problem, shown
from grpo_calc.read.grow import Growing
from grpo_calc.read.parts import Parts
from grpo_calc.read.runs import differs, known_rows, per_run, rows_of
from grpo_calc.read.words import Flags
from grpo_calc.say import Note, Problem, note
from grpo_calc.table import LOGPS, Floats, Integers


@dataclass
class Shared:
    """A column shared by runs of rows: one value a run, or, for a block where they differ within a run, one a row."""

    runs: list[Floats] = field(default_factory=list)
    rows: dict[int, Floats] = field(default_factory=dict)
    """By block."""


@dataclass
class Book:
    """What has been read so far."""

    tokens: dict[str, Growing] = field(default_factory=dict)
    mask: Growing | None = None
    texts: dict[str, list[str]] = field(default_factory=dict)
    vocabulary: dict[str, str] = field(default_factory=dict)
    shared: dict[str, list[Floats]] = field(default_factory=dict)
    known: dict[str, list[Integers]] = field(default_factory=dict)
    """The rows that the shared values come from."""
    advantage: Shared = field(default_factory=Shared)
    index: Shared = field(default_factory=Shared)
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


def add_advantage(book: Book, values: Floats, masked: Flags | None, starts: Integers) -> None:
    """Keep a block's advantages; what stands on masked rows says nothing about the completion."""
    counted = values if masked is None else np.where(masked, np.nan, values)
    first, other = per_run(counted, starts)
    if other is not None:
        book.advantage.rows[len(book.firsts)] = values
    book.advantage.runs.append(first)


def add_index(book: Book, index: Floats, starts: Integers) -> None:
    """Keep a block's token indices: only where each run begins, if it counts up by one."""
    lengths = np.diff(np.append(starts, len(index)))
    first = index[starts]
    if not np.array_equal(index, np.repeat(first - starts, lengths) + np.arange(len(index))):
        book.index.rows[len(book.firsts)] = index
    book.index.runs.append(first)


def gathered(book: Book, source: str, naming: Naming) -> Parts:
    """The whole: runs of the same completion joined, rows in the order of their index."""
    runs, notes = _joined(book, naming)
    order = None
    if not (np.diff(runs.codes) >= 0).all():
        order = rows_of(runs.starts[runs.by_code], runs.lengths[runs.by_code])
        notes.append(note("read.rejoined"))
    order, more = _by_index(book, source, naming, runs, order)
    tokens = {name: column.done() for name, column in book.tokens.items()}
    kept = book.mask.done() if book.mask is not None else None
    mask = None if kept is None or kept.all() else kept.astype(np.float64)
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
class Runs:
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


def _joined(book: Book, naming: Naming) -> tuple[Runs, list[Note]]:
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
        if any(name in book.tokens for name in LOGPS) and not naming.logits[0]:
            notes.append(note("read.row_is_completion"))
    by_code = np.argsort(codes, kind="stable")
    firsts = np.searchsorted(codes[by_code], np.arange(len(keys)))
    return Runs(keys, codes, starts, lengths, by_code, firsts, np.add.reduceat(lengths[by_code], firsts)), notes


def _one_each(book: Book, source: str, name: str, column: str, runs: Runs) -> Floats:
    """One value a completion from one a run."""
    values = np.concatenate(book.shared[name])[runs.by_code]
    first, other = per_run(values, runs.firsts)
    if other is None:
        return first
    code = int(runs.codes[runs.by_code[other]])
    before = int(known_rows(values, runs.firsts)[code])
    rows = np.concatenate(book.known[name])[runs.by_code[[before, other]]]
    raise differs(column, source, [book.line(row, column) for row in rows.tolist()], runs.keys[code])


def _no_gap(values: Floats, mask: Floats | None, book: Book, source: str, column: str) -> None:
    gap = np.isnan(values) if mask is None else np.isnan(values) & (mask != 0)
    if gap.any():
        raise cell_problem(
            Fault.MISSING, source=source, line=book.line(int(np.argmax(gap)), column), column=column, seen=""
        )


def _spread(column: Shared, book: Book, runs: Runs, steps: bool = False) -> Floats:
    """A shared column, one value a row; with ``steps`` a run counts up from its value."""
    values = np.repeat(np.concatenate(column.runs), runs.lengths)
    if steps:
        values += np.arange(book.count) - np.repeat(runs.starts, runs.lengths)
    for block, rows in column.rows.items():
        values[book.firsts[block] : book.firsts[block] + len(rows)] = rows
    return values


def _in_order(book: Book, runs: Runs) -> bool:
    """Whether every run counts up by one and goes on after the run before it."""
    if book.index.rows:
        return False
    first = np.concatenate(book.index.runs)
    joined = runs.codes[1:] == runs.codes[:-1]
    return not (joined & (first[1:] < first[:-1] + runs.lengths[:-1])).any()


def _by_index(
    book: Book, source: str, naming: Naming, runs: Runs, order: Integers | None
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


class _LinesOfRuns(Sequence[int]):
    """The line of each completion's first row, looked up only when it is asked for."""

    def __init__(self, book: Book, rows: Integers) -> None:
        self._line, self._rows = book.line, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: Any) -> Any:
        return self._line(int(self._rows[place]), "")
