"""The worked lines of one token, printed for the terminal."""

from __future__ import annotations

from typing import TextIO

from rich.text import Text

from grpo_calc.say import say
from grpo_calc.work import Worked
from grpo_calc.write.lines import lines, text
from grpo_calc.write.rows import STAGES
from grpo_calc.write.terminal import COLOURS, heading, item, terminal


def write_explained(worked: Worked, row: int, out: TextIO, *, lang: str = "en") -> None:
    """Print the worked lines of the token in a row, stage by stage."""
    console = terminal(out)
    found = lines(worked, row)
    console.print(Text(say("cli.explained", lang, row=row, recipe=worked.recipe.name), style="bold"))
    for stage in STAGES:
        here = [line for line in found if line.stage == stage]
        if not here:
            continue
        console.print()
        heading(console, say(f"cli.stage_{stage}", lang), stage)
        for line in here:
            head = Text(f"  {line.label.symbol}", style=f"bold {COLOURS[stage]}")
            name = line.label.name(lang)
            if line.formula:
                level = say(f"cli.at_{line.level.name.lower()}", lang)
                head.append(f"  {name} · {level} · {line.source}", style="dim not bold")
                console.print(head, soft_wrap=True)
                item(console, text(line, say("cli.undefined", lang)), "      ")
            else:
                head.append(f" = {text(line, say('cli.undefined', lang))}", style="not bold default")
                head.append(f"  {name} · {say(f'cli.{line.source}', lang)}", style="dim not bold")
                console.print(head, soft_wrap=True)
    console.print()
    item(console, say("cli.sign", lang), "")
