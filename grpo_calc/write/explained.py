"""The worked lines of one token, printed for the terminal."""

from __future__ import annotations

from itertools import groupby
from typing import TextIO

from grpo_calc.lessons import Lesson
from grpo_calc.say import cited, say
from grpo_calc.work import Worked
from grpo_calc.write.lines import Line, lines, text
from grpo_calc.write.page import FAINT, INKS, Page


def write_explained(worked: Worked, row: int, out: TextIO, *, lang: str = "en", lesson: Lesson | None = None) -> None:
    """Print the worked lines of the token in a row, stage by stage; a lesson says whose its inputs are."""
    page = Page(out)
    found = lines(worked, row)
    given = lesson.inputs_are if lesson is not None else "given"
    page.line((say("cli.explained", lang, row=row, recipe=worked.recipe.name), "bold"))
    for stage, told in groupby(found, key=lambda line: line.stage):
        page.heading(say(f"cli.stage_{stage}", lang), stage)
        for line in told:
            if line.name == worked.plan.leads.get("completion_objective"):
                page.item(_reduction(worked, lang), style="italic")
            _add(page, line, given, lang)
    page.line()
    page.item(say("cli.sign", lang), "")
    page.print()


def _reduction(worked: Worked, lang: str) -> str:
    """In words, how the tokens' objectives become one number."""
    steps = [worked.plan.step(name) for name in ("completion_objective", "surrogate_objective")]
    within, across = (step.column.label.name(lang) if step is not None else "" for step in steps)
    return say("cli.reduction", lang, choice=worked.recipe.roles["reduction"], within=within, across=across)


def _add(page: Page, line: Line, given: str, lang: str) -> None:
    symbol, ink = f"  {line.label.symbol}", f"bold {INKS[line.stage]}"
    name, worked = line.label.name(lang), text(line, say("cli.undefined", lang))
    if line.formula:
        level = say(f"cli.at_{line.level.name.lower()}", lang)
        page.item(f"{name} · {level}", f"{symbol}  ", "", ink)
        page.item(worked, "      ")
        page.item(cited(line.source, lang), "      ", FAINT)
    else:
        kind = given if line.source == "given" else line.source
        page.line((symbol, ink), (f" = {worked}", ""), (f"  {name} · {say(f'cli.{kind}', lang)}", FAINT))
