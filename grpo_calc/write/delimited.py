"""The rows of one level as CSV, in full precision; what it writes for tokens can be read back."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import TextIO

from grpo_calc.write.json import CHUNK
from grpo_calc.write.numbers import FLAGS, WHOLE, full
from grpo_calc.write.rows import Field, Rows


def write_csv(shown: Rows, out: TextIO) -> None:
    """Write the rows, the contract's keys as header. Masked rows have empty computed cells, undefined ones ``nan``."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.key for field in shown.fields])
    for start in range(0, shown.length, CHUNK):
        stop = min(start + CHUNK, shown.length)
        kept = None if shown.kept is None else shown.kept[start:stop].tolist()
        writer.writerows(zip(*(_cells(field, start, stop, kept) for field in shown.fields), strict=True))


def _cells(field: Field, start: int, stop: int, kept: Sequence[bool] | None) -> Sequence[str]:
    if field.texts is not None:
        return field.texts(start, stop)
    assert field.numbers is not None
    whole = field.key in WHOLE | FLAGS
    cells = []
    for place, value in enumerate(field.numbers[start:stop].tolist()):
        if value != value:
            cells.append("" if kept is not None and not kept[place] else "nan")
        else:
            cells.append(f"{value:.0f}" if whole else full(value))
    return cells
