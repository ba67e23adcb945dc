"""The rows of one level as a Markdown table, numbers as a reader wants them."""

from __future__ import annotations

import re
from typing import TextIO

from grpo_calc.write.cells import cells
from grpo_calc.write.rows import Rows

_MARKUP = re.compile(r"([\\`*_\[\]<>|&~$])")


def write_markdown(shown: Rows, out: TextIO, *, lang: str = "en") -> None:
    """Write the rows; text that could be taken for markup is escaped."""
    heads = [f"{_escaped(field.label.symbol)}<br>{_escaped(field.label.name(lang))}" for field in shown.fields]
    out.write(f"| {' | '.join(heads)} |\n")
    out.write(f"|{'|'.join(':--' if field.texts is not None else '--:' for field in shown.fields)}|\n")
    columns = (cells(field, shown, [(0, shown.length)], lang) for field in shown.fields)
    out.writelines(f"| {' | '.join(map(_escaped, row))} |\n" for row in zip(*columns, strict=True))


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)
