"""Where bytes come from: a path or standard input, plain or gzip, in UTF-8 or in UTF-16 by its mark.

Bytes are streamed, never held whole: a file ten times longer takes no more memory to open.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from grpo_calc.read.faults import shown
from grpo_calc.say import Problem

GZIP = b"\x1f\x8b"
LARGEST_UNPACKED = 4 << 30
"""No gzip file is unpacked beyond this many bytes."""
MODEST_UNPACKED = 64 << 20
LARGEST_RATIO = 200
"""Beyond ``MODEST_UNPACKED`` bytes a file may not be more than this many times its packed size: log-probs never are."""

# The four-byte marks come first: UTF-32's little-endian mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

KINDS = (
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
    (b"%PDF", "PDF"),
    (b"PAR1", "Parquet"),
    (b"ARROW1", "Arrow"),
    (b"\xd0\xcf\x11\xe0", "XLS / OLE2"),
    (b"\x93NUMPY", "NumPy .npy"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ", "xz"),
    (b"\x28\xb5\x2f\xfd", "Zstandard"),
    (b"\x80\x02", "pickle"),
    (b"\x80\x04", "pickle"),
    (b"\x80\x05", "pickle"),
    (b"SQLite format", "SQLite"),
    (b"\x89HDF", "HDF5"),
    (b"PK\x03\x04", "ZIP"),
    (b"PK\x05\x06", "ZIP"),
    (b"\x7fELF", "ELF"),
)


@dataclass(frozen=True)
class Source:
    """A named place that bytes can be read from, as often as needed."""

    name: str
    opener: Callable[[], BinaryIO]
    closing: ExitStack = field(default_factory=ExitStack)
    """Closes, in the end, whatever was opened."""

    def open(self) -> BinaryIO:
        """The bytes from the beginning, unpacked where they are gzip."""
        raw = self.closing.enter_context(self.opener())
        magic = raw.read(2)
        raw.seek(0)
        if magic != GZIP:
            return raw
        packed = raw.seek(0, os.SEEK_END)
        raw.seek(0)
        return cast(BinaryIO, io.BufferedReader(_Unpacked(self.name, raw, packed), 1 << 16))

    def head(self, size: int = 1 << 16) -> bytes:
        """The first bytes, unpacked."""
        with self.open() as stream:
            return stream.read(size)

    def encoding(self) -> str:
        """The encoding, by the mark at the beginning; UTF-8 without one."""
        return encoding_of(self.head(4))

    def text(self) -> TextIO:
        """The text, line ends as they are."""
        encoding = self.encoding()  # before opening: what was spooled has one place, shared by all its readers
        return io.TextIOWrapper(self.open(), encoding=encoding, newline="")

    def utf8(self, size: int) -> Iterator[bytes]:
        """The text in UTF-8, in pieces of about ``size`` bytes; a piece may end anywhere."""
        encoding = self.encoding()
        with self.open() as stream:
            decode = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)().decode
            while piece := stream.read(size):
                yield piece if decode is None else decode(piece).encode("utf-8")
            if decode is not None:
                decode(b"", True)


class _Unpacked(io.RawIOBase):
    """What a gzip file unpacks to, up to a bound."""

    def __init__(self, name: str, raw: BinaryIO, packed: int) -> None:
        self._name, self._stream, self._packed, self._count = name, gzip.GzipFile(fileobj=raw), packed, 0
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            piece = self._stream.read(len(buffer))
        except (EOFError, OSError, zlib.error):
            raise Problem("read.gzip_broken", source=self._name) from None
        self._count += len(piece)
        if self._count > LARGEST_UNPACKED or self._count > max(MODEST_UNPACKED, LARGEST_RATIO * self._packed):
            raise Problem("read.gzip_large", source=self._name, seen=f"{self._count >> 20} MiB")
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._stream.close()
        self._raw.close()
        super().close()


def source_of(path: str | os.PathLike[str]) -> Source:
    """The source that a path names; ``-`` is standard input.

    Errors: a path that does not exist, is a directory, or cannot be opened.
    """
    text = os.fspath(path)
    if text == "-":
        stream = getattr(sys.stdin, "buffer", None)
        return _spooled("stdin", stream if stream is not None else io.BytesIO(sys.stdin.read().encode("utf-8")))
    name = shown(text, 200)
    try:
        mode = Path(text).stat().st_mode
        if stat.S_ISDIR(mode):
            raise Problem("read.directory", source=name)
        if not stat.S_ISREG(mode):  # a pipe can be read only once
            with Path(text).open("rb") as pipe:
                return _spooled(name, pipe)
        with Path(text).open("rb"):
            pass
    except (FileNotFoundError, NotADirectoryError, ValueError):
        from grpo_calc.lessons import LESSONS

        if text in LESSONS:
            raise Problem("read.missing_lesson", source=name) from None
        raise Problem("read.missing_file", source=name) from None
    except OSError as error:
        raise Problem("read.unreadable", source=name, reason=error.strerror or type(error).__name__) from None
    return Source(name, lambda: Path(text).open("rb"))


def _spooled(name: str, stream: BinaryIO) -> Source:
    """What can be read only once, kept in a temporary file."""
    kept = tempfile.TemporaryFile()  # noqa: SIM115 -- closed with the source
    while piece := stream.read(1 << 20):
        kept.write(piece)
    kept.flush()

    def opener() -> BinaryIO:
        again = os.fdopen(os.dup(kept.fileno()), "rb")
        again.seek(0)
        return again

    source = Source(name, opener)
    source.closing.callback(kept.close)
    return source


def encoding_of(head: bytes) -> str:
    r"""The encoding that a mark at the beginning names.

    >>> encoding_of(b"\xff\xfea\x00"), encoding_of(b"abc")
    ('utf-16', 'utf-8')
    """
    return next((name for mark, name in MARKS if head.startswith(mark)), "utf-8")


def binary_kind(head: bytes) -> str | None:
    r"""What kind of binary file the first bytes show, or ``None`` for text.

    >>> binary_kind(b"\x89PNG..."), binary_kind(b"group_id,reward")
    ('PNG', None)
    """
    kind = next((name for magic, name in KINDS if head.startswith(magic)), None)
    if kind is None and b"\0" in head and encoding_of(head) == "utf-8":
        return "NUL"
    return kind


def undecodable_line(source: Source) -> int:
    """The 1-based line of the first bytes that are not in the file's encoding."""
    encoding = source.encoding()
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    with source.open() as stream:
        while True:
            piece = stream.read(1 << 16)
            try:
                line += line_ends(decoder.decode(piece, not piece))
            except UnicodeDecodeError as error:
                good = error.object[: error.start]
                return line + line_ends(good.decode(encoding, "ignore"))
            if not piece:
                return line


def line_ends(text: str) -> int:
    r"""How many line ends a text holds: LF, CR LF, or a CR alone.

    >>> line_ends("a\r\nb\nc\rd")
    3
    """
    return text.count("\n") + (text.count("\r") - text.count("\r\n") if "\r" in text else 0)
