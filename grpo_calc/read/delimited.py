"""CSV, TSV and their kin: the delimiter and the header, then rows in chunks, quick where they are regular."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from typing import TextIO

import numpy as np

from grpo_calc.read.aliases import known
from grpo_calc.read.block import Block, Frame
from grpo_calc.read.faults import Fault, shown
from grpo_calc.read.numbers import number
from grpo_calc.read.records import blocks, records
from grpo_calc.read.source import Source, line_ends
from grpo_calc.read.split import split
from grpo_calc.say import Problem

DELIMITERS = ",;\t|"
CHUNK = 1 << 19
LONGEST_HEADER = 1 << 20
LONGEST_RECORD = 256 << 20
STICKY = ("\ufeff", "\u00ef\u00bb\u00bf")
"""A byte order mark within the text, and the same after one wrong decoding."""


def open_delimited(source: Source) -> Frame:
    """The frame of a delimited file: the header is read, the rows wait.

    Errors: an empty file, a header that has no names or the same name twice.
    """
    with source.text() as text:
        line, delimiter, header = _header(_lines(text, source.name), source.name)
    names = tuple(_clean(name) for name in header)
    _check(names, source.name, line)
    return Frame(
        source.name, unnamed(names), _blocks(source, delimiter, names, line), None if delimiter == ";" else ".", line
    )


def unnamed(names: tuple[str, ...]) -> tuple[str, ...]:
    """Column names, with one of their own for columns that have none (an index that pandas writes).

    >>> unnamed(("", "reward"))
    ('column 1', 'reward')
    """
    return tuple(name or f"column {place}" for place, name in enumerate(names, 1))


def _header(lines: Iterator[str], source: str) -> tuple[int, str, list[str]]:
    """The header's line (where it ends), the delimiter and the cells."""
    told, line, at = "", "", 0
    for read in lines:
        at += 1
        line = _clean(read, spaces=False)
        bare = line.strip().strip('"')
        if not told and bare[:4].lower() == "sep=":
            told = line.rstrip("\r\n").strip('"')[4:5]
        elif bare:
            break
    else:
        raise Problem("read.empty", source=source)
    rest = list(itertools.islice(lines, 64)) if line.count('"') % 2 else []
    best: tuple[int, int, str, list[str]] = (-1, 0, ",", [])
    problem: Problem | None = None
    for delimiter in told or DELIMITERS:
        try:
            _, cells = next(records(iter([line, *rest]), delimiter, source, at))
        except StopIteration:
            continue
        except Problem as error:
            problem = problem or error
            continue
        score = (sum(known(_clean(cell)) for cell in cells), len(cells))
        if score > best[:2]:
            best = (*score, delimiter, cells)
    if best[0] <= 0 and problem:
        raise problem
    return at + sum(cell.count("\n") for cell in best[3]), best[2], best[3]


def _clean(name: str, spaces: bool = True) -> str:
    while name.startswith(STICKY):
        name = name[1:] if name.startswith(STICKY[0]) else name[3:]
    return _clean(name.strip()) if spaces and name != name.strip() else name


def _check(names: tuple[str, ...], source: str, line: int) -> None:
    if all(not name or isinstance(number(name), float) or number(name) is Fault.COMMA for name in names):
        raise Problem("read.no_header", source=source, line=line, seen=shown(names[0]))
    places: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if name and name in places:
            raise Problem(
                "read.duplicate_header", source=source, line=line, column=shown(name), first=places[name], second=place
            )
        places[name] = place


def _lines(text: TextIO, source: str) -> Iterator[str]:
    """The text's lines, none of them longer than a header may be."""
    while line := text.readline(LONGEST_HEADER):
        if len(line) == LONGEST_HEADER:
            raise Problem("read.long_header", source=source)
        yield line


def _blocks(source: Source, delimiter: str, names: tuple[str, ...], header_line: int) -> Iterator[Block]:
    """The rows below the header, a chunk of whole lines at a time."""
    header, line = unnamed(names), header_line + 1
    # glibc learns from the largest mapping that is freed how much to keep: without this, each chunk's arrays go back to
    # the system and are faulted in again, at two or three times the price. Nothing is touched here.
    np.empty(8 << 20, dtype=np.uint8)
    pieces = _below(source.utf8(CHUNK), header_line)
    for body, held, sure in _whole_lines(pieces):
        chunk = split(body, delimiter, header, line) if sure else None
        if chunk is None and (not sure or b'"' in body):  # where records end is not certain: carefully to the end
            lines = _text_lines(itertools.chain([body, held], pieces), source.name)
            yield from blocks(records(lines, delimiter, source.name, line), header, source.name)
            return
        if chunk is not None:
            if not body.isascii():
                body.decode("utf-8")  # bytes that are no text are refused, also where nothing needs them
            yield chunk
            line += chunk.ends
        else:
            text = body.decode("utf-8")
            lines = iter(io.StringIO(text, newline=""))
            yield from blocks(records(lines, delimiter, source.name, line), header, source.name)
            line += line_ends(text)


def _whole_lines(pieces: Iterator[bytes]) -> Iterator[tuple[bytes, bytes, bool]]:
    """Chunks that end where a line ends, outside of quotes; what is held back; whether that could be made sure."""
    held, wanted = b"", 1
    for piece in pieces:
        held += piece
        if len(held) < wanted:
            continue
        cut = held.rfind(b"\n") + 1
        if cut and not (b'"' in held and held.count(b'"', 0, cut) % 2):
            body, held, wanted = held[:cut], held[cut:], 1
            yield body, held, True
        elif len(held) > 8 * CHUNK:
            yield held, b"", False
            return
        else:
            wanted = 2 * len(held)
    if held:
        yield held if held.endswith((b"\n", b"\r")) else held + b"\n", b"", True


def _below(pieces: Iterator[bytes], lines: int) -> Iterator[bytes]:
    """The bytes after so many lines, whatever ends them."""
    held = b""
    for piece in pieces:
        held += piece
        while lines and (end := _line_end(held)):
            held, lines = held[end:], lines - 1
        if not lines:
            yield held
            yield from pieces


def _line_end(held: bytes) -> int:
    """Where the first line is over; 0 where that cannot be told yet."""
    ends = [place for place in (held.find(b"\n"), held.find(b"\r")) if place >= 0]
    if not ends:
        return 0
    end = min(ends)
    if held[end : end + 1] == b"\n":
        return end + 1
    # A carriage return at the very end may have its line feed in the next piece.
    return 0 if end + 1 == len(held) else end + 1 + (held[end + 1 : end + 2] == b"\n")


def _text_lines(pieces: Iterator[bytes], source: str) -> Iterator[str]:
    """Lines, with their ends, of UTF-8 in pieces."""
    text = io.TextIOWrapper(io.BufferedReader(_Joined(pieces)), encoding="utf-8", newline="")
    while line := text.readline(LONGEST_RECORD):
        if len(line) == LONGEST_RECORD:
            raise Problem("read.long_record", source=source)
        yield line


class _Joined(io.RawIOBase):
    """Pieces of bytes as one stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = piece
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count
