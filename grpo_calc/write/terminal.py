"""The result for the terminal: the table by stages, what it comes to, how it was worked, and a lesson's own words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

import numpy as np
from rich.cells import cell_len

from grpo_calc.column import Level, label
from grpo_calc.lessons import Lesson
from grpo_calc.say import cited, say
from grpo_calc.sym import plain
from grpo_calc.work import Worked
from grpo_calc.write.bands import Strip, banded, strip
from grpo_calc.write.cells import cells
from grpo_calc.write.numbers import DOT, short
from grpo_calc.write.page import FAINT, Page, filled, pushed
from grpo_calc.write.rows import STAGES, Field, Rows, called, level_of, rows

CLIPPED = "bold #ea580c"
FIRST, LAST = 20, 10
"""Of a long table, so many rows from its start and its end are shown."""
WIDEST_TEXT = 24
LEFT_OUT = {"outside", "token_kl", "token_gradient", "clipped", "token_index", "token_id", "advantage_given"}
"""What the terminal leaves to ``--columns``: said elsewhere in the table, or seldom wanted."""
KL_COLUMNS = {"k1", "k2", "k3", "kl_proxy"}
"""Left out too where the recipe has no KL."""
BETWEEN = ("mean_log_ratio", "sum_log_ratio")
"""What a sequence's ratio is made of, shown beside it."""
BATCH = ("surrogate_objective", "kl", "objective", "loss")
WORDS = {"group", "completion", "token", "token id", "mask"}
"""Symbols that are English words."""
KEYS = {Level.TOKEN: ("row", "token"), Level.COMPLETION: ("completion_id",), Level.GROUP: ("group_id",)}
"""What says which row one is looking at, repeated where a table is split."""


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
    page = Page(out)
    at = level if level is not None else level_of(worked)
    shown = rows(worked, at, columns, masked=masked, between=BETWEEN)
    if lesson is not None:
        page.line((lesson.text("title", lang), "bold"))
        page.line()
    if shown.level is not Level.BATCH or columns:
        _table(page, worked, shown, lang, usual=columns is None, lesson=lesson)
    _batch(page, worked, lang)
    _recipe(page, worked, lang)
    if lesson is not None:
        from grpo_calc.write.told import tell

        tell(page, lesson, worked, lang)
    page.print()


def _table(page: Page, worked: Worked, shown: Rows, lang: str, *, usual: bool, lesson: Lesson | None = None) -> None:
    long = shown.length > FIRST + LAST + 10
    spans = [(0, FIRST), (shown.length - LAST, shown.length)] if long else [(0, shown.length)]
    idle = LEFT_OUT | (KL_COLUMNS if worked.recipe.roles["kl"] == "none" else set())
    fields = [f for f in shown.fields if not usual or not (f.key in idle or _tells_nothing(f, shown))]
    if usual:
        fields = sorted(fields, key=lambda f: STAGES.index(f.stage))
    keys = [f for f in fields if f.key in KEYS.get(shown.level, ())]
    marks = _marks(worked, shown, spans)
    charged = worked.plan.leads.get("token_kl", "")
    strips = {f.key: _strip(f, shown, spans, lang, charged=f.key == charged) for f in fields}
    if "row" in strips and DOT in marks:
        texts = [
            f"{text} {mark if mark == DOT else ' '}" for text, mark in zip(strips["row"].cells, marks, strict=True)
        ]
        strips["row"] = strip("inputs", "#  ", "", texts)
    titles = {stage: say(f"cli.stage_{stage}", lang) for stage in STAGES}
    if lesson is not None and lesson.inputs_are != "given":
        titles["inputs"] += f" · {say(f'cli.{lesson.inputs_are}', lang)}"
    hint = say("cli.more_rows", lang, count=shown.length - FIRST - LAST)
    banded(
        page,
        [strips[f.key] for f in keys],
        [strips[f.key] for f in fields if f not in keys],
        titles,
        [CLIPPED if mark == DOT else FAINT if mark else "" for mark in marks],
        {FIRST: f"… {hint}"} if long else {},
    )
    if DOT in marks:
        page.item(say("cli.clipped", lang), f"{DOT} ", CLIPPED)


def _tells_nothing(field: Field, shown: Rows) -> bool:
    """Whether it is a text that says nothing: one value, or the row's number."""
    long = shown.length > FIRST + LAST + 10  # then every text is shown: looking through all of them takes its time
    if field.texts is None or field.key == "row" or shown.level is not Level.TOKEN or long:
        return False
    texts, number = list(field.texts(0, shown.length)), shown.field("row")
    same = number is not None and number.texts is not None and texts == number.texts(0, shown.length)
    return len(set(texts)) == 1 or same


def _strip(field: Field, shown: Rows, spans: Sequence[tuple[int, int]], lang: str, *, charged: bool) -> Strip:
    texts = cells(field, shown, spans, lang)
    left = field.texts is not None and field.key not in ("row", "token_index")
    symbol, name = field.label.symbol, field.label.name(lang) if field.key != "row" else ""
    if symbol in WORDS and lang != "en":  # a word, not a symbol: said once, in the language
        symbol, name = say(f"workbook.name_{field.key}", lang), ""
    name += " " + say("cli.charged", lang) if charged else ""
    return strip(field.stage, symbol, name, [_held(t) for t in texts] if left else texts, left=left)


def _held(text: str) -> str:
    """A long text cut in its middle: ids differ at their ends."""
    if cell_len(text) <= WIDEST_TEXT:
        return text
    return text[: WIDEST_TEXT // 4] + "…" + text[-(WIDEST_TEXT // 4) :]


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


def _batch(page: Page, worked: Worked, lang: str) -> None:
    """The batch's figures, each with its formula, the sign said in words."""
    page.heading(say("cli.batch", lang))
    lines = [_figure(worked, name, lang) for name in BATCH if worked.has(name)]
    widths = [max((cell_len(line[i]) for line in lines), default=0) for i in range(3)]
    for symbol, name, value, formula in lines:
        text = f"  {filled(symbol, widths[0])}  {filled(name, widths[1])}  {pushed(value, widths[2])}"
        page.line((text, "bold" if symbol in ("J", "L") else ""), (f"  = {formula}", FAINT))
    table = worked.table
    counts = say(
        "cli.counts", lang, tokens=table.token_count, completions=table.completion_count, groups=table.group_count
    )
    if worked.has("clip_fraction") and worked["clip_fraction"] == worked["clip_fraction"]:
        shares = {
            name: worked[f"clip{part}_fraction"] for name, part in (("share", ""), ("low", "_low"), ("high", "_high"))
        }
        counts += say("cli.clip_fraction", lang, **shares)
    page.item(counts)
    page.item(say("cli.no_logps" if "logp_new" not in worked.inputs else "cli.sign", lang))


def _figure(worked: Worked, name: str, lang: str) -> tuple[str, str, str, str]:
    step, own, value = worked.plan.step(name), label(name), worked[name]
    assert step is not None
    formula = plain(step.expression, lambda n: called(worked.plan, n).symbol)
    formula = formula if step.name == name else called(worked.plan, step.name).symbol
    return own.symbol, own.name(lang), short(value) if value == value else say("cli.undefined", lang), formula


def _recipe(page: Page, worked: Worked, lang: str) -> None:
    """The recipe: its choices, the parameters it reads, and where it is from."""
    recipe = worked.recipe
    page.heading(say("cli.recipe", lang, name=recipe.name, title=recipe.zh if lang == "zh" else recipe.en))
    if recipe.changes:
        changes = "  ".join(f"{key}={value}" for key, value in recipe.changes.items())
        page.item(say("cli.changed", lang, changes=changes))
    page.item("  ".join(f"{role}={choice}" for role, choice in recipe.told.items()))
    page.item("  ".join(f"{name}={short(value)}" for name, value in worked.parameters.items()))
    page.item(say("cli.source", lang, source=cited(recipe.source, lang)), style=FAINT)
