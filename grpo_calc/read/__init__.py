"""Files in, a table out: ``read(path)``. Nothing is guessed silently; what is wrong is said in one line."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from grpo_calc.read.aliases import listed, looks_like_metrics, name_columns
from grpo_calc.read.arrays import looks_like_json, open_json
from grpo_calc.read.block import Frame
from grpo_calc.read.delimited import open_delimited
from grpo_calc.read.long import long_parts
from grpo_calc.read.parts import check_naming, table_of
from grpo_calc.read.source import Source, binary_kind, encoding_of, source_of, undecodable_line
from grpo_calc.read.wide import is_wide, wide_parts
from grpo_calc.read.workbook import open_workbook, zip_kind
from grpo_calc.say import Problem
from grpo_calc.table import Table

_NO_CHOICES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Format:
    """One kind of file: whether a source is of it (by its first bytes), and how it is opened."""

    name: str
    claims: Callable[[Source, bytes], bool]
    open: Callable[[Source, str | None], Frame]


def _claims_json(_source: Source, head: bytes) -> bool:
    return looks_like_json(head.decode(encoding_of(head), "ignore"))


FORMATS: tuple[Format, ...] = (
    Format("workbook", lambda source, head: head.startswith(b"PK") and zip_kind(source) == "workbook", open_workbook),
    Format("json", _claims_json, lambda source, _sheet: open_json(source)),
    Format("delimited", lambda _source, head: binary_kind(head) is None, lambda source, _sheet: open_delimited(source)),
)
"""Tried in this order; the readers of trainers' own dumps go before them."""


def read(
    path: str | os.PathLike[str],
    *,
    map: Mapping[str, str] = _NO_CHOICES,  # noqa: A002 -- the word of the command line, --map
    sheet: str | None = None,
    on_policy: bool = False,
    texts: bool = True,
) -> Table:
    """The table of a file: long or wide CSV and its kin, JSON, JSON lines, or an Excel workbook, gzip or not.

    ``path`` may be ``-`` for standard input. ``map`` says which column holds what (``{"group": "prompt"}``); ``sheet``
    names the sheet of a workbook (the first if not); ``on_policy`` takes the old log-probs from the new; without
    ``texts`` the tokens' texts are left out, which is quicker and takes less memory.

    Errors: :class:`~grpo_calc.say.Problem`, one line with the file, the line, the column, what was seen, what to do.
    """
    source = source_of(path)
    with source.closing:
        return _read(source, map, sheet, on_policy, texts)


def _read(source: Source, chosen: Mapping[str, str], sheet: str | None, on_policy: bool, texts: bool) -> Table:
    try:
        frame = _open(source, sheet)
        naming = name_columns(frame.header, chosen, frame.source, frame.header_line)
        if looks_like_metrics(frame.header, naming):
            raise Problem("read.metrics", source=frame.source, line=frame.header_line, seen=listed(frame.header))
        check_naming(naming, frame)
        first = next(frame.blocks, None)
        if first is None:
            raise Problem("read.no_rows", source=frame.source)
        whole = replace(frame, blocks=itertools.chain([first], frame.blocks))
        parts = wide_parts(whole, naming, texts) if is_wide(first, naming) else long_parts(whole, naming, texts)
        return table_of(parts, naming, whole, on_policy)
    except UnicodeDecodeError:
        raise Problem("read.encoding", source=source.name, line=undecodable_line(source)) from None


def _open(source: Source, sheet: str | None) -> Frame:
    head = source.head()
    if not head.strip():
        raise Problem("read.empty", source=source.name)
    for form in FORMATS:
        if form.claims(source, head):
            if sheet is not None and form.name != "workbook":
                raise Problem("read.sheet_of_text", source=source.name)
            return form.open(source, sheet)
    kind = binary_kind(head)
    raise Problem("read.binary", source=source.name, seen=zip_kind(source) if kind == "ZIP" else kind or "NUL")


__all__ = ["FORMATS", "Format", "read"]
