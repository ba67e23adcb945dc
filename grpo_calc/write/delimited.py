"""The rows of one level as CSV, in full precision; what it writes for tokens can be read back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TextIO

from grpo_calc.write.json import CHUNK
from grpo_calc.write.numbers import FLAGS, WHOLE, full
from grpo_calc.write.rows import Field, Rows

# The csv module leaves a carriage return unquoted where lines end in a newline, and a reader takes it for a line's end.
_TO_QUOTE = re.compile('[",\x00-\x1f\x7f-\x9f\u2028\u2029]|^ | $')


def write_csv(shown: Rows, out: TextIO) -> None:
    """Write the rows, the contract's keys as header. Masked rows have empty computed cells, undefined ones ``nan``.

    A NUL in a text becomes U+FFFD: a file with one is no text file.
    """
    out.write(",".join(_quoted(field.key) for field in shown.fields) + "\n")
    for start in range(0, shown.length, CHUNK):
        stop = min(start + CHUNK, shown.length)
        kept = None if shown.kept is None else shown.kept[start:stop].tolist()
        columns = (_cells(field, start, stop, kept) for field in shown.fields)
        out.writelines((",".join(row) or '""') + "\n" for row in zip(*columns, strict=True))


def _cells(field: Field, start: int, stop: int, kept: Sequence[bool] | None) -> Sequence[str]:
    if field.texts is not None:
        return [_quoted(text) for text in field.texts(start, stop)]
    assert field.numbers is not None
    whole = field.key in WHOLE | FLAGS
    cells = []
    for place, value in enumerate(field.numbers[start:stop].tolist()):
        if value != value:
            cells.append("" if kept is not None and not kept[place] else "nan")
        else:
            cells.append(f"{value:.0f}" if whole else full(value))
    return cells


def _quoted(text: str) -> str:
    if not _TO_QUOTE.search(text):
        return text
    doubled = text.replace('"', '""').replace("\0", "\N{REPLACEMENT CHARACTER}")
    return f'"{doubled}"'
