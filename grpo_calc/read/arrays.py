"""JSON and JSON lines: a list of row objects, an object of columns, or an object a line."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grpo_calc.read.aliases import listed, meaning
from grpo_calc.read.block import Cells, Frame, RowLines
from grpo_calc.read.faults import shown
from grpo_calc.read.locate import locate
from grpo_calc.read.ours import is_ours, ours
from grpo_calc.read.parse import Bad, parse, problem
from grpo_calc.read.source import Source
from grpo_calc.say import Problem

ROWS = 1024
Row = tuple[int, Mapping[str, Any]]


def open_json(source: Source) -> Frame:
    """The frame of a JSON document or of JSON lines."""
    with source.text() as stream:
        lines = (line.lstrip("\ufeff") for line in iter(lambda: _line(stream), ""))
        first = next((line for line in lines if line.strip()), "")
        alone = parse(first) if first.strip() else Bad("json", 0)
        second = next((line for line in lines if line.strip()), "")
    if not isinstance(alone, Bad) and second:
        return _of_rows(source.name, _json_lines(source))
    with source.text() as stream:
        text = stream.read()
    begin = len(text) - len(text.lstrip("\ufeff"))
    value = parse(text[begin:])
    if isinstance(value, Bad):
        raise problem(value, source.name, text.count("\n", 0, begin + value.at) + 1)
    return _of_document(source.name, text[begin:], value)


def _line(stream: Any) -> str:
    """One line, ended by LF alone: JSON text may hold any other mark."""
    parts = []
    while part := stream.readline():
        parts.append(part)
        if part.endswith("\n"):
            break
    return "".join(parts)


def _json_lines(source: Source) -> Iterator[Row]:
    with source.text() as stream:
        for at, line in enumerate(iter(lambda: _line(stream), ""), 1):
            text = line.lstrip("\ufeff") if at == 1 else line
            if not text.strip():
                continue
            value = parse(text)
            if isinstance(value, Bad):
                raise problem(value, source.name, at)
            if not isinstance(value, dict):
                raise Problem("read.json_row", source=source.name, line=at, seen=shown(value))
            yield at, value


def _of_rows(source: str, rows: Iterator[Row]) -> Frame:
    """A frame of row objects; the first block of them says what the columns are."""
    first = list(itertools.islice(rows, ROWS))
    header = tuple(dict.fromkeys(key for _, row in first for key in row))
    return Frame(
        source,
        header,
        _row_blocks(source, header, itertools.chain(first, rows)),
        header_line=first[0][0] if first else 1,
    )


def _row_blocks(source: str, header: tuple[str, ...], rows: Iterator[Row]) -> Iterator[Cells]:
    names = set(header)
    while part := list(itertools.islice(rows, ROWS)):
        for line, row in part:
            if not row.keys() <= names:
                new = next(key for key in row if key not in names)
                if meaning(new):
                    raise Problem("read.late_column", source=source, line=line, column=shown(new))
        lines = [line for line, _ in part]
        columns = {name: [row.get(name) for _, row in part] for name in header}
        yield Cells(columns, len(part), RowLines(lines))


def _of_document(source: str, text: str, value: Any) -> Frame:
    def line(*path: str | int) -> int:
        return text.count("\n", 0, locate(text, path)) + 1

    if isinstance(value, dict) and isinstance(value.get("log_history"), list):
        raise Problem("read.metrics", source=source, line=line("log_history"), seen="log_history")
    if is_ours(value):
        columns, count = ours(value)
        return Frame(source, tuple(columns), iter([Cells(columns, count, lambda _row, _column, _item: line("tokens"))]))
    if is_split(value):
        names = [str(name) for name in value["columns"]]
        table = Cells({name: [row[place] for row in value["data"]] for place, name in enumerate(names)},
                      len(value["data"]),
                      lambda row, column, item: line("data", row, *_path_of(names, column, item)))  # fmt: skip
        return Frame(source, tuple(names), iter([table]), header_line=line("columns"))
    if isinstance(value, list):
        for place, row in enumerate(value):
            if not isinstance(row, dict):
                raise Problem("read.json_row", source=source, line=line(place), seen=shown(row))
        header = tuple(dict.fromkeys(key for row in value for key in row))
        if not value:
            raise Problem("read.no_rows", source=source)
        cells = Cells({name: [row.get(name) for row in value] for name in header}, len(value),
                      lambda row, column, item: line(row, *_path(column, item)))  # fmt: skip
        return Frame(source, header, iter([cells]), header_line=line(0))
    if isinstance(value, dict):
        return _of_object(source, value, line)
    raise Problem("read.json_shape", source=source, seen=shown(value))


def is_split(value: Any) -> bool:
    """Whether a JSON value is a table of ``columns`` and ``data``: a logged table, or what pandas writes as "split".

    >>> is_split({"columns": ["a", "b"], "data": [[1, 2], [3, 4]]}), is_split({"columns": ["a"], "data": [1]})
    (True, False)
    """
    if not isinstance(value, dict) or not all(isinstance(value.get(key), list) for key in ("columns", "data")):
        return False
    names, data = value["columns"], value["data"]
    same = len(set(map(str, names))) == len(names) and all(isinstance(name, str) for name in names)
    return same and bool(data) and all(isinstance(row, list) and len(row) == len(names) for row in data)


def _path_of(names: Sequence[str], column: str, item: int | None) -> tuple[str | int, ...]:
    """Where in a row of a list a column's cell, and a token in it, stands."""
    place = (names.index(column),) if column in names else ()
    return (*place, *((item,) if item is not None else ()))


def _path(column: str, item: int | None) -> tuple[str | int, ...]:
    return (*((column,) if column else ()), *((item,) if item is not None else ()))


def _of_object(source: str, value: Mapping[str, Any], line: Any) -> Frame:
    """One object: of columns, where an id, a reward or a list of lists says that it holds many rows; else one row."""
    if not value:
        raise Problem("read.no_rows", source=source)
    known = {key: entry for key, entry in value.items() if meaning(key)}
    lists = {key: entry for key, entry in value.items() if isinstance(entry, list)}
    if not lists or any(
        not isinstance(entry, list) and meaning(key) not in (None, "mask") for key, entry in known.items()
    ):
        cells = Cells(
            {key: [entry] for key, entry in value.items()}, 1, lambda _row, column, item: line(*_path(column, item))
        )
        if not lists and not any(
            name.startswith(("logp", "prob", "reward", "adv", "group")) for name in map(str, map(meaning, known))
        ):
            raise Problem("read.json_keys", source=source, seen=listed(tuple(value)))
        return Frame(source, tuple(value), iter([cells]))
    of_rows = {key: entry for key, entry in lists.items() if key in known} or lists
    first, count = next((key, len(entry)) for key, entry in of_rows.items())
    for key, entry in of_rows.items():
        if len(entry) != count:
            raise Problem(
                "read.column_lengths",
                source=source,
                line=line(key),
                column=shown(key),
                seen=len(entry),
                other=shown(first),
                expected=count,
            )
    if not count:
        raise Problem("read.no_rows", source=source)
    columns = {key: entry for key, entry in lists.items() if len(entry) == count}
    where = functools.partial(
        lambda row, column, item: line(*((column, row) if column else ()), *(() if item is None else (item,)))
    )
    return Frame(source, tuple(columns), iter([Cells(columns, count, where)]))


def looks_like_json(head: str) -> bool:
    """Whether a text begins as a JSON object or list, rather than as a header.

    >>> looks_like_json('  {"a": 1}'), looks_like_json("group_id,reward")
    (True, False)
    """
    return head.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")
