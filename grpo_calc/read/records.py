"""Delimited text the careful way: a record at a time, each with its line, every oddity refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from grpo_calc.read.block import Cells, RowLines
from grpo_calc.say import Problem

ROWS = 4096
"""Rows of a careful block."""
LONGEST_CELL = 256 << 20
"""A quoted cell beyond this many characters was never closed."""

Record = tuple[int, list[str]]


def records(lines: Iterator[str], delimiter: str, source: str, first_line: int = 1) -> Iterator[Record]:
    r"""The records of text lines (line ends kept) with the line where each begins; blank ones are skipped.

    A cell may be quoted and then hold delimiters, line ends and doubled quotes, and be of any length.

    >>> list(records(iter(['a,"x,""y"\n', "\n", "b,c"]), ",", "f"))
    [(1, ['a', 'x,"y']), (3, ['b', 'c'])]
    """
    at = first_line - 1
    for line in lines:
        at += 1
        begin = at
        if '"' in line:
            cells, more = _quoted(line, lines, delimiter, source, at)
            at += more
        else:
            cells = _bare(line).split(delimiter)
        if any(cells) and (len(cells) > 1 or cells[0].strip()):
            yield begin, cells


def _bare(line: str) -> str:
    return line[:-2] if line.endswith("\r\n") else line[:-1] if line.endswith(("\n", "\r")) else line


def _quoted(line: str, lines: Iterator[str], delimiter: str, source: str, at: int) -> tuple[list[str], int]:
    """The cells of a record that has quotes, and how many more lines it takes."""
    cells: list[str] = []
    place = more = 0
    while True:
        if line.startswith('"', place):
            opened, parts, place, size = at + more, [], place + 1, 0
            while True:
                end = line.find('"', place)
                if end < 0:
                    parts.append(line[place:])
                    size += len(parts[-1])
                    following = next(lines, None)
                    if following is None or size > LONGEST_CELL:
                        raise Problem("read.unclosed_quote", source=source, line=opened)
                    line, place, more = following, 0, more + 1
                elif line.startswith('"', end + 1):
                    parts.append(line[place : end + 1])
                    place = end + 2
                else:
                    parts.append(line[place:end])
                    place = end + 1
                    break
            cells.append("".join(parts))
            if not _bare(line[place:]):
                return cells, more
            if not line.startswith(delimiter, place):
                raise Problem("read.quote", source=source, line=at + more)
            place += 1
        else:
            end = line.find(delimiter, place)
            if end < 0:
                return [*cells, _bare(line[place:])], more
            cells.append(line[place:end])
            place = end + 1


def blocks(found: Iterator[Record], header: tuple[str, ...], source: str) -> Iterator[Cells]:
    """Records as blocks; a record that is not as long as the header is refused."""
    while part := list(islice(found, ROWS)):
        for line, cells in part:
            if len(cells) != len(header):
                raise Problem("read.row_length", source=source, line=line, seen=len(cells), expected=len(header))
        yield Cells(
            dict(zip(header, zip(*(cells for _, cells in part), strict=True), strict=True)),
            len(part),
            RowLines([line for line, _ in part]),
        )
