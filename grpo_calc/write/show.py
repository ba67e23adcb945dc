"""One door to every way a worked table is shown as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from grpo_calc.column import Level
from grpo_calc.lessons import Lesson
from grpo_calc.work import Worked


def show(
    worked: Worked,
    out: TextIO,
    format: str = "table",  # noqa: A002
    *,
    lang: str = "en",
    level: str | None = None,
    columns: Sequence[str] | None = None,
    masked: bool = False,
    lesson: Lesson | None = None,
) -> None:
    """Write a worked table to ``out``: ``table`` for a reader, ``json``, ``csv`` or ``md``.

    ``level`` names the rows; by default the finest there are. ``json`` has every level, whatever ``level`` says.
    """
    from grpo_calc.write.rows import level_of, rows

    at = Level[level.upper()] if level else level_of(worked)
    if format == "table":
        from grpo_calc.write.terminal import write_terminal

        write_terminal(worked, out, lang=lang, level=at, columns=columns, masked=masked, lesson=lesson)
    elif format == "json":
        from grpo_calc.write.json import write_json

        write_json(worked, out, lang=lang, columns=columns, masked=masked)
    elif format == "csv":
        from grpo_calc.write.delimited import write_csv

        write_csv(rows(worked, at, columns, masked=masked, complete=columns is None), out)
    else:
        from grpo_calc.write.markdown import write_markdown

        write_markdown(rows(worked, at, columns, masked=masked), out, lang=lang)
