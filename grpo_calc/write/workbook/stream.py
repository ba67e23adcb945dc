"""The final pass over the zip: values into formula cells, rows streamed, parts repaired, dates fixed.

The only place that writes ``<v>``. openpyxl's book is small (heads, Parameters, Loss, the page); rows come as text.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape

from grpo_calc.write.workbook.pen import Cached
from grpo_calc.write.workbook.repair import repaired

DATE = (1980, 1, 1, 0, 0, 0)
LEVEL = 1
"""zlib's level for rows: they repeat so much that more effort saves little and costs most of the time."""
CHUNK = 1 << 20
LARGE = 1 << 31

_CELL = re.compile(
    r'<c r="([A-Z]+\d+)"([^>]*)>(<f>.*?</f>)?<v>[^<]*</v></c>|<c r="([A-Z]+\d+)"([^>]*)>(<f>.*?</f>)<v ?/></c>',
    re.DOTALL,
)
_DATA_END = re.compile(r"</sheetData>|<sheetData ?/>")
_DIMENSION = re.compile(r'<dimension ref="[^"]*" ?/>')


@dataclass(frozen=True)
class Part:
    """What the final pass adds to one sheet: values of cells, rows after the last, and the range it then takes."""

    cached: Mapping[str, Cached] = field(default_factory=dict)
    rows: Iterable[str] = ()
    dimension: str = ""
    estimate: int = 0


def finish(book: io.BytesIO, target: Path, parts: Mapping[str, Part]) -> None:
    """Write openpyxl's book to ``target`` with what each sheet (by its part's name) gets."""
    with zipfile.ZipFile(book) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for name in source.namelist():
            text = repaired(name, source.read(name).decode())
            part = parts.get(name)
            if part is None:
                out.writestr(_info(name), text.encode(), zipfile.ZIP_DEFLATED)
                continue
            info = _info(name)
            info.file_size = part.estimate if part.estimate > LARGE // 2 else 0  # else zip64, which some readers refuse
            with out.open(info, "w") as stream:
                _written(stream, _chunks(_sheet(text, part)))


def _written(stream: IO[bytes], chunks: Iterable[bytes]) -> None:
    """Write the chunks; while one is compressed (zlib lets other work go on), the next is made."""
    with ThreadPoolExecutor(1) as compressing:
        last: Future[int] | None = None
        for chunk in chunks:
            if last is not None:
                last.result()
            last = compressing.submit(stream.write, chunk)
        if last is not None:
            last.result()


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info._compresslevel = LEVEL  # type: ignore[attr-defined]  # noqa: SLF001  (public only from Python 3.13)
    info.external_attr = 0o600 << 16
    info.create_system = 3
    return info


def _sheet(text: str, part: Part) -> Iterator[str]:
    end = _DATA_END.search(text)
    assert end is not None
    heads = text[: end.start()]
    if part.dimension:
        heads = _DIMENSION.sub(f'<dimension ref="{part.dimension}"/>', heads, count=1)
    yield _CELL.sub(lambda found: _valued(found, part.cached), heads)
    if end[0] != "</sheetData>":
        yield "<sheetData>"
    yield from part.rows
    yield "</sheetData>" + text[end.end() :]


def _valued(found: re.Match[str], cached: Mapping[str, Cached]) -> str:
    cell, attributes, formula = (found[1], found[2], found[3]) if found[1] else (found[4], found[5], found[6])
    if cell not in cached:
        return found[0]
    value = cached[cell]
    kept = re.sub(r' t="\w+"', "", attributes)
    kind, text = _spelled(value)
    return f'<c r="{cell}"{kept}{kind}>{formula or ""}<v>{text}</v></c>'


def _spelled(value: Cached) -> tuple[str, str]:
    if isinstance(value, str):
        return ' t="str"', escape(value)
    if isinstance(value, bool):
        return ' t="b"', str(int(value))
    return "", repr(float(value) + 0.0)


def _chunks(texts: Iterable[str]) -> Iterator[bytes]:
    waiting: list[str] = []
    size = 0
    for text in texts:
        waiting.append(text)
        size += len(text)
        if size >= CHUNK:
            yield "".join(waiting).encode()
            waiting, size = [], 0
    yield "".join(waiting).encode()
