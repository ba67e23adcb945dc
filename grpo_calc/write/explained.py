"""The worked lines of one token, printed for the terminal."""

from __future__ import annotations

from itertools import groupby
from typing import TextIO

from grpo_calc.say import say
from grpo_calc.work import Worked
from grpo_calc.write.lines import Line, lines, text
from grpo_calc.write.page import FAINT, INKS, Page


def write_explained(worked: Worked, row: int, out: TextIO, *, lang: str = "en") -> None:
    """Print the worked lines of the token in a row, stage by stage."""
    page = Page(out)
    found = lines(worked, row)
    page.line((say("cli.explained", lang, row=row, recipe=worked.recipe.name), "bold"))
    for stage, told in groupby(found, key=lambda line: line.stage):
        page.heading(say(f"cli.stage_{stage}", lang), stage)
        for line in told:
            _add(page, line, lang)
    page.line()
    page.item(say("cli.sign", lang), "")
    page.print()


def _add(page: Page, line: Line, lang: str) -> None:
    symbol, ink = f"  {line.label.symbol}", f"bold {INKS[line.stage]}"
    name, worked = line.label.name(lang), text(line, say("cli.undefined", lang))
    if line.formula:
        level = say(f"cli.at_{line.level.name.lower()}", lang)
        page.item(f"{name} · {level} · {line.source}", f"{symbol}  ", FAINT, ink)
        page.item(worked, "      ")
    else:
        page.line((symbol, ink), (f" = {worked}", ""), (f"  {name} · {say(f'cli.{line.source}', lang)}", FAINT))
