"""Delimited text the quick way: one chunk of bytes cut into cells by array operations.

What is not regular (rows of unequal length, blank lines, stray quotes, lone carriage returns) is not cut here: the
careful way takes such a chunk, and says what is wrong if anything is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grpo_calc.read.block import Lines, RowLines
from grpo_calc.read.faults import Fault
from grpo_calc.read.numbers import number
from grpo_calc.read.words import PADDING, Bytes, Flags, changes, decimals
from grpo_calc.table import Floats, Integers

SAMPLE = 512
"""Rows that show whether a column mostly repeats itself."""
LF, CR, QUOTE = b'\n\r"'


@dataclass(frozen=True)
class Chunk:
    """A block whose cells are places in a chunk of bytes; ``at`` is where each cell ends, row after row."""

    body: bytes
    raw: Bytes
    at: Integers
    header: tuple[str, ...]
    line: Lines
    ends: int
    """How many lines it has."""
    quoted: bool
    returns: bool

    @property
    def count(self) -> int:
        """See :class:`~grpo_calc.read.block.Block`."""
        return len(self.at) // len(self.header)

    def places(self, column: int) -> tuple[Integers, Integers]:
        """Where the cells of a column begin and end, their quotes left out."""
        width = len(self.header)
        end = self.at[column::width].copy()
        start = self.at[column - 1 :: width] + 1 if column else self._row_starts()
        if self.returns and column == width - 1:
            end -= (end > start) & (self.raw[end - 1] == CR)
        if self.quoted:
            opened = (self.raw[start] == QUOTE) & (end > start)
            start, end = start + opened, end - opened
        return start, end

    def _row_starts(self) -> Integers:
        return np.concatenate(([0], self.at[len(self.header) - 1 : -1 : len(self.header)] + 1))

    def numbers(self, name: str, decimal: str) -> tuple[Floats, dict[int, Fault]]:
        """See :class:`~grpo_calc.read.block.Block`."""
        start, end = self.places(self.header.index(name))
        if self.count > SAMPLE and np.count_nonzero(changes(self.raw, start[:SAMPLE], end[:SAMPLE])) < SAMPLE // 8:
            # Mostly the same cell again (a reward, a mask): one number a run of equal cells.
            first = np.flatnonzero(changes(self.raw, start, end))
            values, faults = self._parsed(start[first], end[first], decimal)
            if not faults:
                return np.repeat(values, np.diff(np.append(first, self.count))), {}
        return self._parsed(start, end, decimal)

    def _parsed(self, start: Integers, end: Integers, decimal: str) -> tuple[Floats, dict[int, Fault]]:
        values, odd = decimals(self.raw, start, end, decimal)
        faults: dict[int, Fault] = {}
        for row in np.flatnonzero(odd).tolist():
            value = number(self.body[start[row] : end[row]].decode("utf-8"), decimal)
            if isinstance(value, Fault):
                faults[row] = value
                values[row] = -np.inf if value is Fault.MINUS_INFINITY else np.nan
            else:
                values[row] = value
        return values, faults

    def changes(self, name: str) -> Flags:
        """See :class:`~grpo_calc.read.block.Block`."""
        return changes(self.raw, *self.places(self.header.index(name)))

    def cells(self, name: str, rows: Integers | None = None) -> Sequence[str]:
        """See :class:`~grpo_calc.read.block.Block`."""
        start, end = self.places(self.header.index(name))
        if rows is not None:
            start, end = start[rows], end[rows]
        found = [self.body[a:b].decode("utf-8") for a, b in zip(start.tolist(), end.tolist(), strict=True)]
        return [cell.replace('""', '"') if '""' in cell else cell for cell in found] if self.quoted else found


def split(body: bytes, delimiter: str, header: tuple[str, ...], first_line: int) -> Chunk | None:
    r"""The cells of whole lines, or ``None`` where they are not regular.

    >>> chunk = split(b'a,1\nb,"2"\n', ",", ("id", "x"), 2)
    >>> chunk.cells("id"), chunk.numbers("x", ".")[0], chunk.line(1, "x", None)
    (['a', 'b'], array([1., 2.]), 3)
    >>> split(b"a,1\n\nb,2\n", ",", ("id", "x"), 2) is None
    True
    """
    width, returns = len(header), body.count(b"\r") if b"\r" in body else 0
    if width == 1 or (returns and returns != body.count(b"\r\n")) or not body.endswith(b"\n"):
        return None
    raw = np.frombuffer(body + bytes(PADDING), dtype=np.uint8)
    text = raw[:-PADDING]
    quoted = b'"' in body
    ends = text == LF
    marks = text == ord(delimiter)
    marks |= ends
    if quoted:
        if not _well_quoted(text, marks):
            return None
        marks &= (np.cumsum(text == QUOTE, dtype=np.int64) & 1) == 0
    at = np.flatnonzero(marks)
    rows = len(at) // width
    if len(at) % width or not (text[at[width - 1 :: width]] == LF).all():
        return None
    lines: Lines = RowLines(range(first_line, first_line + rows))
    whole = int(np.count_nonzero(ends))
    if whole != rows:
        if not quoted or np.count_nonzero(ends & marks) != rows:
            return None
        before = np.concatenate(([0], np.cumsum(ends)))
        lines = RowLines(first_line + before[np.concatenate(([0], at[width - 1 : -1 : width] + 1))])
    chunk = Chunk(body, raw, at, header, lines, whole, quoted, bool(returns))
    return None if _has_blank_row(chunk) else chunk


def _has_blank_row(chunk: Chunk) -> bool:
    """Whether a row is nothing but delimiters and quotes."""
    start, end = chunk.places(0)
    rows = np.flatnonzero(start == end)
    for column in range(1, len(chunk.header)):
        if not len(rows):
            return False
        start, end = chunk.places(column)
        rows = rows[start[rows] == end[rows]]
    return len(rows) > 0


def _well_quoted(text: Bytes, marks: Flags) -> bool:
    """Whether every quote opens a cell, closes one, or is doubled within one."""
    at = np.flatnonzero(text == QUOTE)
    if len(at) % 2:
        return False
    opens, closes = at[::2], at[1::2]
    before, after = opens - 1, np.minimum(closes + 1, len(text) - 1)
    begins = (before < 0) | marks[before] | (text[before] == QUOTE)
    stops = marks[after] | (text[after] == QUOTE)
    stops |= (text[after] == CR) & (text[np.minimum(after + 1, len(text) - 1)] == LF)
    return bool(begins.all() and stops.all())
