"""A lesson in words: what is given, reconstructed and computed; every figure it is held to; the audit of its source."""

from __future__ import annotations

from math import exp, log

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
    if lesson.vectors:
        page.heading(say("cli.vectors", lang), "inputs")
        _vectors(page, lesson, lang)
    page.heading(say("cli.figures", lang))
    _figures(page, lesson, worked, lang)
    for title, keys in (("facts", lesson.facts), ("audit", lesson.audit), ("tables", lesson.tables)):
        if keys:
            page.heading(say(f"cli.{title}", lang))
        for key in keys:
            page.item(lesson.text(key, lang), "  • ")


def _vectors(page: Page, lesson: Lesson, lang: str) -> None:
    """Each row's logits and chosen component, and the first row's two log-probs worked from them."""
    for row, vector in enumerate(lesson.vectors, start=1):
        x = ", ".join(f"{value:g}" for value in vector.old)
        place, moved = vector.action, vector.new[vector.action - 1]
        page.item(say("cli.vector", lang, row=row, x=x, place=place, new=f"{moved:.8g}"))
    first = lesson.vectors[0]
    page.item(say("cli.log_softmax", lang))
    for symbol, logits in (("log π_old", first.old), ("log π", first.new)):
        chosen = logits[first.action - 1]
        terms = " + ".join(f"e^{value:g}" if value >= 0 else f"e^({value:g})" for value in logits)
        logp = chosen - log(sum(map(exp, logits)))
        page.item(f"{symbol} = {chosen:g} - ln({terms}) = {short(logp)}", "    ")


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
