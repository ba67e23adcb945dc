"""The result for the terminal: the table by stages, what it comes to, how it was worked, and a lesson's own words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from grpo_calc.column import Level, label
from grpo_calc.lessons import Lesson
from grpo_calc.say import say
from grpo_calc.sym import plain
from grpo_calc.work import Worked
from grpo_calc.write.bands import Bands, Strip
from grpo_calc.write.cells import cells
from grpo_calc.write.numbers import DOT, short
from grpo_calc.write.rows import STAGES, Field, Rows, level_of, rows

COLOURS = {
    "inputs": "#b45309",
    "advantage": "#b45309",
    "ratio": "#0f766e",
    "surrogate": "#4338ca",
    "kl": "#7e22ce",
    "loss": "#475569",
    "gradient": "#475569",
}
CLIPPED, GREY = "bold #ea580c", "dim"
FIRST, LAST = 20, 10
"""Of a long table, so many rows from its start and its end are shown."""
WIDEST_TEXT = 24
LEFT_OUT = {"outside", "token_kl", "token_gradient", "clipped", "token_index", "token_id", "advantage_given"}
"""What the terminal leaves to ``--columns``: said elsewhere in the table, or seldom wanted."""
BATCH = ("surrogate_objective", "kl", "objective", "loss")


def terminal(out: TextIO) -> Console:
    """A console that interprets nothing in the texts it is given."""
    return Console(file=out, markup=False, emoji=False, highlight=False)


def write_terminal(
    worked: Worked,
    out: TextIO,
    *,
    lang: str = "en",
    level: Level | None = None,
    columns: Sequence[str] | None = None,
    masked: bool = False,
    lesson: Lesson | None = None,
) -> None:
    """Print the table of a level (the finest there is), the batch, the recipe and the lesson."""
    console = terminal(out)
    shown = rows(worked, level if level is not None else level_of(worked), columns, masked=masked)
    if lesson is not None:
        console.print(Text(lesson.text("title", lang), style="bold"))
        console.print()
    if shown.level is not Level.BATCH or columns:
        _table(worked, shown, console, lang, usual=columns is None)
        console.print()
    _batch(worked, console, lang)
    _recipe(worked, console, lang)
    if lesson is not None:
        from grpo_calc.write.told import write_lesson

        write_lesson(lesson, worked, console, lang)


def heading(console: Console, title: str, colour: str = "loss") -> None:
    """A band over a section of text."""
    console.print(Text(f" {title} ", style=f"bold white on {COLOURS[colour]}"))


def item(console: Console, text: str, indent: str = "  ") -> None:
    """A paragraph with a hanging indent, wrapped at the console's width."""
    first, rest = (indent, " " * cell_len(indent))
    for place, line in enumerate(Text(text).wrap(console, max(console.width - cell_len(indent), 20))):
        console.print(
            Text((rest if place else first) + str(line).rstrip()), no_wrap=True, crop=False, overflow="ignore"
        )


def _table(worked: Worked, shown: Rows, console: Console, lang: str, *, usual: bool) -> None:
    long = shown.count > FIRST + LAST + 10
    spans = [(0, FIRST), (shown.count - LAST, shown.count)] if long else [(0, shown.count)]
    marks = _marks(worked, shown, spans)
    fields = [f for f in shown.fields if not usual or not _idle(f, shown)]
    ids = ("row", "token") if shown.level is Level.TOKEN else ("completion_id",)
    keys = [f for f in fields if f.key in ids and (usual or f.key != "token")]
    rest = sorted((f for f in fields if f not in keys), key=lambda f: STAGES.index(_band(f)))
    if not usual:
        rest = [f for f in fields if f not in keys]
    strips = {f.key: _strip(f, shown, spans, lang) for f in [*keys, *rest]}
    if "row" in strips and DOT in marks:
        strips["row"] = _dotted(strips["row"], marks)
    styles = [CLIPPED if mark == DOT else GREY if mark else "" for mark in marks]
    hint = say("cli.more_rows", lang, count=shown.count - FIRST - LAST)
    Bands(
        [strips[f.key] for f in keys],
        [strips[f.key] for f in rest],
        {stage: say("cli.stage_result" if stage == "loss" else f"cli.stage_{stage}", lang) for stage in STAGES},
        COLOURS,
        styles,
        {FIRST: f"… {hint}"} if long else {},
    ).print(console)
    if DOT in marks:
        console.print(Text(f"{DOT} {say('cli.clipped', lang)}", style=CLIPPED))


def _idle(field: Field, shown: Rows) -> bool:
    """What the usual table leaves out: rarely wanted, or a text that says nothing (one value, or the row's number)."""
    if field.key in LEFT_OUT:
        return True
    if field.texts is None or field.key == "row" or shown.level is not Level.TOKEN:
        return False
    texts = list(field.texts(0, shown.count))
    number = shown.field("row")
    return len(set(texts)) == 1 or (
        number is not None and number.texts is not None and texts == number.texts(0, shown.count)
    )


def _band(field: Field) -> str:
    return {"advantage": "surrogate", "gradient": "loss"}.get(field.stage, field.stage)


def _strip(field: Field, shown: Rows, spans: Sequence[tuple[int, int]], lang: str) -> Strip:
    texts = cells(field, shown, spans, lang)
    left = field.texts is not None and field.key not in ("row", "token_index")
    if left:
        texts = [_held(text) for text in texts]
    return Strip(_band(field), field.label.symbol, field.label.name(lang), texts, left)


def _held(text: str) -> str:
    """A long text cut in its middle: ids differ at their ends."""
    if cell_len(text) <= WIDEST_TEXT:
        return text
    return text[: WIDEST_TEXT // 2 - 1] + "…" + text[-(WIDEST_TEXT // 4) :]


def _marks(worked: Worked, shown: Rows, spans: Sequence[tuple[int, int]]) -> list[str]:
    """A dot for each clipped row, a dash for each masked one."""
    places = np.concatenate([np.arange(a, b) for a, b in spans])
    marks = np.full(len(places), "", dtype=object)
    if worked.has("clipped") and worked.level("clipped") <= shown.level:
        flags = rows(worked, shown.level, ["clipped"], masked=shown.kept is not None).fields[0].numbers
        assert flags is not None
        marks[flags[places] == 1] = DOT
    if shown.kept is not None:
        marks[~shown.kept[places]] = "-"
    return list(marks)


def _dotted(strip: Strip, marks: Sequence[str]) -> Strip:
    texts = [f"{text} {DOT if mark == DOT else ' '}" for text, mark in zip(strip.cells, marks, strict=True)]
    return Strip(strip.band, f"{strip.symbol}  ", strip.label, texts)


def _batch(worked: Worked, console: Console, lang: str) -> None:
    """The batch's figures, each with its formula, the sign said in words."""
    heading(console, say("cli.batch", lang))
    figures = [name for name in BATCH if worked.has(name)]
    lines = []
    for name in figures:
        step = worked.plan.step(name)
        own = label(name)
        formula = (
            plain(step.expression, lambda n: label(n).symbol)
            if step is not None and step.name == name
            else label(step.name).symbol
            if step
            else ""
        )
        value = worked[name]
        lines.append(
            (own.symbol, own.name(lang), f"= {formula}", short(value) if value == value else say("cli.undefined", lang))
        )
    counts = [
        say(
            "cli.counts",
            lang,
            tokens=worked.table.token_count,
            completions=worked.table.completion_count,
            groups=worked.table.group_count,
        )
    ]
    if worked.has("clip_fraction"):
        counts.append(
            say(
                "cli.clip_fraction",
                lang,
                share=worked["clip_fraction"],
                low=worked["clip_low_fraction"],
                high=worked["clip_high_fraction"],
            )
        )
    widths = [max((cell_len(line[i]) for line in lines), default=0) for i in range(4)]
    for symbol, name, formula, value in lines:
        pieces = [_filled(symbol, widths[0]), _filled(name, widths[1]), " " * (widths[3] - cell_len(value)) + value]
        line = Text("  " + "  ".join(pieces), style="bold" if symbol in ("J", "L") else "")
        line.append(f"  {formula}", style="dim")
        console.print(line, no_wrap=True, crop=False, overflow="ignore")
    item(console, "; ".join(counts))
    if not lines:
        item(console, say("cli.no_logps", lang))
    else:
        item(console, say("cli.sign", lang))


def _filled(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _recipe(worked: Worked, console: Console, lang: str) -> None:
    """The recipe: its choices, the parameters it reads, and where it is from."""
    recipe = worked.recipe
    console.print()
    heading(console, say("cli.recipe", lang, name=recipe.name, title=recipe.zh if lang == "zh" else recipe.en))
    read = {name for step in worked.plan.steps for name in step.reads}
    item(console, "  ".join(f"{role}={choice}" for role, choice in recipe.roles.items()))
    item(console, "  ".join(f"{name}={short(value)}" for name, value in recipe.parameters.items() if name in read))
    item(console, say("cli.source", lang, source=recipe.source))
