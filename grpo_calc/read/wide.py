"""Wide files: a row a completion, token columns as lists; ragged, or padded with a mask."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from grpo_calc.read.aliases import Naming
from grpo_calc.read.block import Block, Frame, Lines, no_id, written
from grpo_calc.read.faults import Fault, cell_problem, shown
from grpo_calc.read.long import TEXTS
from grpo_calc.read.numbers import BLANKS, number, numbers
from grpo_calc.read.parse import parse_list
from grpo_calc.read.parts import Parts
from grpo_calc.read.runs import per_run
from grpo_calc.read.settle import TOKEN_NUMBERS, canonical, mask_of, shared_names, shared_numbers, token_numbers
from grpo_calc.read.words import Flags
from grpo_calc.say import Note, Problem, note
from grpo_calc.table import Floats, Integers

LISTED = (*TOKEN_NUMBERS, "mask", "advantage", *TEXTS)


def is_wide(block: Block, naming: Naming) -> bool:
    """Whether the first rows hold lists where a long file holds numbers."""
    rows = np.arange(min(block.count, 64))
    for name in LISTED:
        if (
            name in naming.columns
            and name not in TEXTS
            and any(_is_list(cell) for cell in block.cells(naming.columns[name], rows))
        ):
            return True
    return False


def _is_list(cell: Any) -> bool:
    return isinstance(cell, list) or (isinstance(cell, str) and cell.lstrip(BLANKS).startswith("["))


@dataclass
class _Book:
    """What has been read so far, one entry a block."""

    tokens: dict[str, list[Floats]] = field(default_factory=dict)
    mask: list[Floats] = field(default_factory=list)
    advantage: list[Floats] = field(default_factory=list)
    alone: list[Floats] = field(default_factory=list)
    """The advantage of completions that give one number for all their tokens."""
    shared: dict[str, list[Floats]] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    unfit: set[str] = field(default_factory=set)
    """Text columns whose lists are not as long as the completion."""
    lengths: list[Integers] = field(default_factory=list)
    group: list[str] = field(default_factory=list)
    completion: list[str] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    seen: dict[tuple[str, str], int] = field(default_factory=dict)


def wide_parts(frame: Frame, naming: Naming, texts: bool) -> Parts:
    """The parts of a wide file."""
    book, decimal = _Book(), frame.decimal
    for block in frame.blocks:
        decimal = decimal or _decimal(block, naming)
        _Rows(book, block, frame.source, naming, decimal or ".").read(texts)
    if not book.lengths:
        raise Problem("read.no_rows", source=frame.source)
    lengths = np.concatenate(book.lengths)
    tokens = {name: np.concatenate(parts) for name, parts in book.tokens.items()}
    mask = np.concatenate(book.mask) if book.mask else None
    shared = {name: np.concatenate(parts) for name, parts in book.shared.items()}
    if book.advantage:
        flat, alone = np.concatenate(book.advantage), np.concatenate(book.alone)
        one = _one_each(flat if mask is None else np.where(mask == 0, np.nan, flat), alone, lengths)
        if one is None:
            tokens["advantage"] = flat
        else:
            shared["advantage"] = one
    notes: list[Note] = [note("read.texts_unfit", column=shown(naming.columns[name])) for name in sorted(book.unfit)]
    return Parts(
        tokens=tokens,
        shared=shared,
        lengths=lengths,
        group=book.group if "group_id" in naming.columns else None,
        completion=book.completion,
        mask=mask,
        texts={name: cells for name, cells in book.texts.items() if name not in book.unfit},
        line=book.line,
        notes=tuple(notes),
    )


def _one_each(flat: Floats, alone: Floats, lengths: Integers) -> Floats | None:
    """One advantage a completion, or ``None`` where it varies within one or is not known for one."""
    filled = lengths > 0
    values = alone.copy()
    if filled.any():
        starts = (np.cumsum(lengths) - lengths)[filled]
        first, other = per_run(flat, starts)
        if other is not None:
            return None
        values[filled] = np.where(np.isnan(first), alone[filled], first)
    return None if np.isnan(values).any() else values


def _decimal(block: Block, naming: Naming) -> str | None:
    """The mark in the first plain number that has one; lists are JSON and say nothing."""
    for name in (*shared_names(list(naming.columns)), "advantage"):
        for cell in block.cells(naming.columns[name]) if name in naming.columns else ():
            mark = next((c for c in cell if c in ",."), None) if isinstance(cell, str) and not _is_list(cell) else None
            if mark:
                return mark
    return None


class _Rows:
    """One block on its way into the book."""

    def __init__(self, book: _Book, block: Block, source: str, naming: Naming, decimal: str) -> None:
        self.book, self.block, self.source, self.columns, self.decimal = book, block, source, naming.columns, decimal
        self.masks = naming.masks
        self.lengths: Integers | None = None
        self.by = ""

    def read(self, texts: bool) -> None:
        self._ids()
        listed = [*(name for name in LISTED if name in self.columns and name not in TEXTS), *self.masks]
        lists = {name: self._lists(name) for name in dict.fromkeys(listed)}
        self._measure(lists)
        assert self.lengths is not None
        masks = [self._flat(name, lists[name], mask_of) for name in self.masks]
        mask = np.prod(masks, axis=0) if masks else None
        masked = None if mask is None else mask == 0
        if mask is not None:
            self.book.mask.append(mask)
        for name, rows in lists.items():
            if name in TOKEN_NUMBERS:
                values = self._flat(name, rows, functools.partial(token_numbers, name, masked))
                self.book.tokens.setdefault(canonical(name), []).append(values)
        if "advantage" in lists:
            self._advantage(lists["advantage"], masked)
        for name in shared_names(list(self.columns)):
            cells = self.block.cells(self.columns[name])
            values, faults = numbers(cells, self.decimal)
            line, column = self.block.line, self.columns[name]

            def fail(fault: Fault | str, row: int, seen: Any, line: Lines = line, column: str = column) -> Problem:
                key = "one_number" if _is_list(seen) else fault
                return cell_problem(key, source=self.source, line=line(row, column, None), column=column, seen=seen)

            settled = shared_numbers(name, None, values, faults, fail, cells.__getitem__)
            self.book.shared.setdefault(name, []).append(settled)
        if texts:
            self._texts()
        self.book.lengths.append(self.lengths)

    def _ids(self) -> None:
        book, block = self.book, self.block
        begin = len(book.completion)
        book.line += [
            block.line(row, self.columns.get("reward", next(iter(self.columns.values()))), None)
            for row in range(block.count)
        ]
        book.group += self._column_of_ids("group_id") or ["1"] * block.count
        book.completion += self._column_of_ids("completion_id") or [str(begin + row + 1) for row in range(block.count)]
        if "completion_id" in self.columns:
            for place in range(begin, len(book.completion)):
                key = (book.group[place], book.completion[place])
                if key in book.seen:
                    column = self.columns["completion_id"]
                    raise Problem(
                        "read.completion_twice",
                        source=self.source,
                        first=book.line[book.seen[key]],
                        second=book.line[place],
                        column=shown(column),
                        seen=shown(key[1]),
                    )
                book.seen[key] = place

    def _column_of_ids(self, name: str) -> list[str] | None:
        if name not in self.columns:
            return None
        column = self.columns[name]
        cells = self.block.cells(column)
        for row, cell in enumerate(cells):
            if no_id(cell):
                line = self.block.line(row, column, None)
                raise cell_problem("missing_id", source=self.source, line=line, column=column, seen=cell)
        return [written(cell) for cell in cells]

    def _lists(self, name: str) -> list[Any]:
        """A column's lists; a plain cell stays as it is."""
        column, found = self.columns[name], []
        for row, cell in enumerate(self.block.cells(column)):
            value = cell
            if isinstance(cell, str) and _is_list(cell):
                value = parse_list(cell)
                if value is None:
                    raise cell_problem(
                        "list", source=self.source, line=self.block.line(row, column, None), column=column, seen=cell
                    )
            if isinstance(value, dict) or (
                not isinstance(value, list)
                and name in TOKEN_NUMBERS
                and name != "entropy"
                and number(value) is Fault.MISSING
            ):
                raise cell_problem(
                    "list_missing",
                    source=self.source,
                    line=self.block.line(row, column, None),
                    column=column,
                    seen=cell,
                )
            found.append(value)
        return found

    def _measure(self, lists: dict[str, list[Any]]) -> None:
        """The length of each completion: that of its lists, which must agree."""
        lengths = np.full(self.block.count, -1, dtype=np.int64)
        by = [""] * self.block.count
        for name, rows in lists.items():
            for row, value in enumerate(rows):
                if not isinstance(value, list) and not (name.startswith(("logp_", "prob_"))):
                    continue
                size = len(value) if isinstance(value, list) else 1
                if lengths[row] < 0:
                    lengths[row], by[row] = size, self.columns[name]
                elif lengths[row] != size:
                    line = self.block.line(row, self.columns[name], None)
                    values = {"column": shown(self.columns[name]), "seen": size, "other": shown(by[row])}
                    raise Problem("read.lengths", source=self.source, line=line, expected=int(lengths[row]), **values)
        self.lengths = np.maximum(lengths, 0)

    def _flat(self, name: str, rows: list[Any], settle: Callable[..., Floats]) -> Floats:
        """A token column's numbers, row after row; one plain number stands for every token of its row."""
        assert self.lengths is not None
        spread = [
            value if isinstance(value, list) else [value] * int(length)
            for value, length in zip(rows, self.lengths, strict=True)
        ]
        flat = list(chain.from_iterable(spread))
        values, faults = numbers(flat, self.decimal)
        ends = np.cumsum(self.lengths)
        column = self.columns[name]

        def fail(fault: Fault | str, place: int, seen: Any) -> Problem:
            row = int(np.searchsorted(ends, place, side="right"))
            item = place - int(ends[row] - self.lengths[row]) if isinstance(rows[row], list) else None  # type: ignore[index]
            return cell_problem(
                fault, source=self.source, line=self.block.line(row, column, item), column=column, seen=seen, item=item
            )

        return settle(values, faults, fail, flat.__getitem__)

    def _advantage(self, rows: list[Any], masked: Flags | None) -> None:
        def settled(
            values: Floats, faults: dict[int, Fault], fail: Callable[..., Problem], seen: Callable[[int], Any]
        ) -> Floats:
            for place, fault in faults.items():
                if fault is Fault.MISSING and not (masked is not None and masked[place]):
                    raise fail(fault, place, seen(place))
            return shared_numbers("advantage", masked, values, faults, fail, seen)

        self.book.advantage.append(self._flat("advantage", rows, settled))
        alone = np.full(len(rows), np.nan)
        for row, value in enumerate(rows):
            if not isinstance(value, list):
                one = number(value, self.decimal)
                if isinstance(one, Fault):
                    column = self.columns["advantage"]
                    raise cell_problem(
                        one, source=self.source, line=self.block.line(row, column, None), column=column, seen=value
                    )
                alone[row] = one
        self.book.alone.append(alone)

    def _texts(self) -> None:
        assert self.lengths is not None
        for name in TEXTS:
            if name not in self.columns or name in self.book.unfit:
                continue
            for cell, length in zip(self.block.cells(self.columns[name]), self.lengths.tolist(), strict=True):
                value: Sequence[Any] | None = cell if isinstance(cell, list) else [cell]
                if isinstance(cell, str) and _is_list(cell) and length != 1:
                    value = parse_list(cell)
                if value is None or len(value) != length:
                    self.book.unfit.add(name)
                    break
                self.book.texts.setdefault(name, []).extend(map(written, value))
