"""A lesson in words: what is given, reconstructed and computed; every figure it is held to; the audit of its source."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from grpo_calc.column import Level, label
from grpo_calc.lessons import Figure, Lesson
from grpo_calc.say import say
from grpo_calc.work import Worked
from grpo_calc.write.numbers import short

MET, MISSED = "#15803d", "bold #dc2626"


def ours(figure: Figure, worked: Worked) -> float:
    """Our value of a lesson's figure; NaN where a changed recipe does not have it."""
    if not worked.has(figure.column):
        return float("nan")
    value = worked[figure.column]
    if worked.level(figure.column) is Level.BATCH or figure.row is None:
        return float(value)
    return float(value[figure.row - 1])


def write_lesson(lesson: Lesson, worked: Worked, console: Console, lang: str) -> None:
    """Print the lesson below its table."""
    from grpo_calc.write.terminal import heading, item

    console.print()
    heading(console, say("cli.lesson", lang, name=lesson.name))
    for key in lesson.status:
        item(console, lesson.text(key, lang))
    console.print()
    heading(console, say("cli.figures", lang))
    for line in figure_lines(lesson, worked, lang):
        console.print(line, no_wrap=True, crop=False, overflow="ignore")
    console.print()
    heading(console, say("cli.audit", lang))
    for key in lesson.audit:
        item(console, lesson.text(key, lang), "  • ")


def figure_lines(lesson: Lesson, worked: Worked, lang: str) -> list[Text]:
    """One line a figure: what it is, as printed, ours, and whether and how they agree."""
    table = []
    for figure in lesson.figures:
        value = ours(figure, worked)
        how = figure.agreement(value)
        name = label(figure.column).symbol + (f" {figure.row}" if figure.row is not None else "")
        mark = "✗" if how == "differs" else "✓"
        shown = (
            say("cli.undefined", lang) if value != value else repr(value) if figure.status == "exact" else short(value)
        )
        status = say(f"cli.status_{figure.status}", lang, printed=figure.printed)
        table.append((mark, name, status, say("cli.ours", lang, value=shown), say(f"cli.agreement_{how}", lang)))
    widths = [max(cell_len(row[i]) for row in table) for i in range(5)]
    lines = []
    for row in table:
        text = "  ".join(piece + " " * (width - cell_len(piece)) for piece, width in zip(row, widths, strict=True))
        lines.append(Text("  " + text.rstrip(), style=MET if row[0] == "✓" else MISSED))
    return lines
