"""A lesson in words: what is given, reconstructed and computed; every figure it is held to; the audit of its source."""

from __future__ import annotations

from rich.cells import cell_len

from grpo_calc.column import Level, label
from grpo_calc.lessons import Figure, Lesson
from grpo_calc.say import say
from grpo_calc.work import Worked
from grpo_calc.write.numbers import short
from grpo_calc.write.page import Page, filled

MET, MISSED = "#16a34a", "bold #dc2626"


def ours(figure: Figure, worked: Worked) -> float:
    """Our value of a lesson's figure; NaN where a changed recipe does not have it."""
    if not worked.has(figure.column):
        return float("nan")
    value = worked[figure.column]
    if worked.level(figure.column) is Level.BATCH or figure.row is None:
        return float(value)
    return float(value[figure.row - 1])


def tell(page: Page, lesson: Lesson, worked: Worked, lang: str) -> None:
    """Add the lesson to a page."""
    page.heading(say("cli.lesson", lang, name=lesson.name))
    for key in lesson.status:
        page.item(lesson.text(key, lang))
    page.heading(say("cli.figures", lang))
    _figures(page, lesson, worked, lang)
    page.heading(say("cli.audit", lang))
    for key in lesson.audit:
        page.item(lesson.text(key, lang), "  • ")


def _figures(page: Page, lesson: Lesson, worked: Worked, lang: str) -> None:
    """One line a figure: what it is, as printed, ours, and whether and how they agree."""
    table = []
    for figure in lesson.figures:
        value = ours(figure, worked)
        how = figure.agreement(value)
        name = label(figure.column).symbol + (f" {figure.row}" if figure.row is not None else "")
        spell = repr if figure.status == "exact" else short
        shown = spell(value) if value == value else say("cli.undefined", lang)
        status = say(f"cli.status_{figure.status}", lang, printed=figure.printed)
        mark = "✗" if how == "differs" else "✓"
        table.append((mark, name, status, say("cli.ours", lang, value=shown), say(f"cli.agreement_{how}", lang)))
    widths = [max(cell_len(row[i]) for row in table) for i in range(5)]
    for row in table:
        text = "  ".join(filled(piece, width) for piece, width in zip(row, widths, strict=True))
        page.line(("  " + text.rstrip(), MET if row[0] == "✓" else MISSED))
