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

LF, CR, QUOTE = b'\n\r"'


@dataclass(frozen=True)
class Chunk:
    """A block whose cells are places in a chunk of bytes; quotes are already outside of ``start`` and ``end``."""

    body: bytes
    raw: Bytes
    start: Integers
    end: Integers
    names: dict[str, int]
    line: Lines
    doubled: bool

    @property
    def count(self) -> int:
        """See :class:`~grpo_calc.read.block.Block`."""
        return len(self.start)

    def _column(self, name: str) -> tuple[Integers, Integers]:
        place = self.names[name]
        return np.ascontiguousarray(self.start[:, place]), np.ascontiguousarray(self.end[:, place])

    def numbers(self, name: str, decimal: str) -> tuple[Floats, dict[int, Fault]]:
        """See :class:`~grpo_calc.read.block.Block`."""
        start, end = self._column(name)
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
        return changes(self.raw, *self._column(name))

    def cells(self, name: str, rows: Integers | None = None) -> Sequence[str]:
        """See :class:`~grpo_calc.read.block.Block`."""
        start, end = self._column(name)
        if rows is not None:
            start, end = start[rows], end[rows]
        found = [self.body[a:b].decode("utf-8") for a, b in zip(start.tolist(), end.tolist(), strict=True)]
        return [cell.replace('""', '"') if '""' in cell else cell for cell in found] if self.doubled else found


def split(body: bytes, delimiter: str, header: tuple[str, ...], first_line: int) -> Chunk | None:
    r"""The cells of whole lines, or ``None`` where they are not regular.

    >>> chunk = split(b'a,1\nb,"2"\n', ",", ("id", "x"), 2)
    >>> chunk.cells("id"), chunk.numbers("x", ".")[0], chunk.line(1, "x", None)
    (['a', 'b'], array([1., 2.]), 3)
    >>> split(b"a,1\n\nb,2\n", ",", ("id", "x"), 2) is None
    True
    """
    width, returns = len(header), body.count(b"\r")
    if width == 1 or returns != body.count(b"\r\n") or not body.endswith(b"\n"):
        return None
    raw = np.frombuffer(body + bytes(PADDING), dtype=np.uint8)
    text = raw[:-PADDING]
    quoted = b'"' in body
    ends = text == LF
    marks = ends | (text == ord(delimiter))
    if quoted:
        inside = (np.cumsum(text == QUOTE, dtype=np.int64) & 1).astype(np.bool_)
        if not _well_quoted(text, marks):
            return None
        marks &= ~inside
    at = np.flatnonzero(marks)
    if len(at) % width:
        return None
    end = at.reshape(-1, width)
    rows = len(end)
    if not (text[end[:, -1]] == LF).all() or (text[end[:, :-1]] == LF).any():
        return None
    start = np.concatenate(([0], at[:-1] + 1)).reshape(-1, width)
    if returns:
        end = end.copy()
        last = end[:, -1]
        end[:, -1] -= (last > start[:, -1]) & (text[last - 1] == CR)
    lines: Lines = RowLines(range(first_line, first_line + rows))
    doubled = False
    if quoted:
        opened = text[start] == QUOTE
        opened &= end > start
        start, end = start + opened, end - opened
        doubled = b'""' in body
        if int(ends.sum()) != rows:
            before = np.concatenate(([0], np.cumsum(ends)))
            lines = RowLines(first_line + before[start[:, 0]])
    if (start == end).all(axis=1).any():  # a row of nothing but delimiters
        return None
    return Chunk(body, raw, start, end, {name: place for place, name in enumerate(header)}, lines, doubled)


def _well_quoted(text: Bytes, marks: Flags) -> bool:
    """Whether every quote opens a cell, closes one, or is doubled within one."""
    at = np.flatnonzero(text == QUOTE)
    if len(at) % 2:
        return False
    opens, closes = at[::2], at[1::2]
    before, after = opens - 1, closes + 1
    begins = (before < 0) | marks[before] | (text[before] == QUOTE)
    stops = marks[np.minimum(after, len(text) - 1)] | (text[np.minimum(after, len(text) - 1)] == QUOTE)
    crlf = (text[np.minimum(after, len(text) - 1)] == CR) & (text[np.minimum(after + 1, len(text) - 1)] == LF)
    return bool(begins.all() and (stops | crlf).all())
