"""A block of rows, and a frame of blocks: what every format's reader hands to the table makers.

A reader yields blocks in turn, so that a long file is never held whole. Whether a block's cells are bytes in a chunk of
text or Python objects from JSON is its own affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from grpo_calc.read.faults import Fault
from grpo_calc.read.numbers import numbers
from grpo_calc.read.words import Flags
from grpo_calc.table import Floats, Integers

Lines = Callable[[int, str, int | None], int]
"""The 1-based line in the file of (row in the block, column, place of a token in a list)."""


class RowLines:
    """The line of each row, whatever the column.

    >>> RowLines(range(2, 9))(3, "reward", None)
    5
    """

    def __init__(self, lines: Sequence[int] | Integers) -> None:
        self._lines = lines

    def __call__(self, row: int, _column: str, _item: int | None) -> int:
        """See :data:`Lines`."""
        return int(self._lines[row])


class Block(Protocol):
    """Some rows of a file; columns go by their names in the file."""

    @property
    def count(self) -> int:
        """How many rows."""

    @property
    def line(self) -> Lines:
        """Where a cell stands in the file; light enough to be kept when the block is gone."""

    def numbers(self, name: str, decimal: str) -> tuple[Floats, dict[int, Fault]]:
        """A column's numbers (NaN, or -inf, where there is none) and its faults by row."""

    def changes(self, name: str) -> Flags:
        """Where a cell differs from the one before it."""

    def cells(self, name: str, rows: Integers | None = None) -> Sequence[Any]:
        """A column's cells (of some rows): text as written, or what JSON holds."""


@dataclass(frozen=True)
class Cells:
    """A block whose cells are Python objects."""

    columns: Mapping[str, Sequence[Any]]
    count: int
    line: Lines

    def numbers(self, name: str, decimal: str) -> tuple[Floats, dict[int, Fault]]:
        """See :class:`Block`."""
        return numbers(self.columns[name], decimal)

    def changes(self, name: str) -> Flags:
        """See :class:`Block`.

        >>> Cells({"id": ["a", "a", "b"]}, 3, RowLines([2, 3, 4])).changes("id")
        array([ True, False,  True])
        """
        cells = self.columns[name]
        return np.array(
            [place == 0 or written(cells[place]) != written(cells[place - 1]) for place in range(len(cells))],
            dtype=np.bool_,
        )

    def cells(self, name: str, rows: Integers | None = None) -> Sequence[Any]:
        """See :class:`Block`."""
        cells = self.columns[name]
        return cells if rows is None else [cells[row] for row in rows.tolist()]


@dataclass(frozen=True)
class Frame:
    """A file as columns: their names, and the rows in blocks.

    ``decimal`` is the mark that a number's cells use: ``None`` where the first number that has one decides.
    """

    source: str
    header: tuple[str, ...]
    blocks: Iterator[Block]
    decimal: str | None = "."
    header_line: int = 1


def no_id(cell: Any) -> bool:
    """Whether a cell cannot be an id: blank, or no plain value.

    >>> no_id(" "), no_id(None), no_id([1]), no_id(0)
    (True, True, True, False)
    """
    return isinstance(cell, (list, dict)) or not written(cell).strip()


def written(cell: Any) -> str:
    """An id or a token as text: text as written, JSON numbers as JSON writes them.

    >>> written("007"), written(7), written(7.0), written(None)
    ('007', '7', '7.0', '')
    """
    if isinstance(cell, str):
        return cell
    return "" if cell is None else {True: "true", False: "false"}[cell] if isinstance(cell, bool) else str(cell)
