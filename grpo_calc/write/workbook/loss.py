"""The Loss sheet: every batch figure live beside NumPy's, a lesson's printed figures beside ours, and the notes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from grpo_calc.column import Label, Level, label
from grpo_calc.plan import Step
from grpo_calc.say import Note, cited, say
from grpo_calc.sym import plain
from grpo_calc.write.workbook.extent import FIRST_ROW
from grpo_calc.write.workbook.formulas import CROSS, TICK, agrees, edited_word, edits, step_formula, verdict
from grpo_calc.write.workbook.heads import check_colours, legend, paper
from grpo_calc.write.workbook.layout import OWN, TITLES, Layout
from grpo_calc.write.workbook.parameters import edited_parameter, recipe_order
from grpo_calc.write.workbook.pen import Pen
from grpo_calc.write.workbook.reach import reach
from grpo_calc.write.workbook.styles import (
    COLOURS,
    FROZEN,
    KEY,
    SMALL,
    STALE,
    SUBTITLE,
    TEXT,
    THIN,
    TITLE,
    Look,
    body,
    head,
    number_format,
)
from grpo_calc.write.workbook.text import width
from grpo_calc.write.workbook.values import Values

HEADLINES = {"loss", "objective", "surrogate_objective", "kl"}


class PrintedFigure(Protocol):
    """A figure that a lesson's source prints, or that is worked by hand from its rule.

    ``column`` and ``row`` (1-based; ``None`` for a batch figure) say which of ours it is held against, ``printed`` is
    the figure letter by letter, ``status`` who says so.
    """

    @property
    def column(self) -> str:
        """The column's key."""

    @property
    def printed(self) -> str:
        """The figure as printed."""

    @property
    def row(self) -> int | None:
        """The 1-based row."""

    @property
    def status(self) -> str:
        """``article`` for the source's own print."""


class LossSheet:
    """Writes the Loss sheet. ``next_row`` is the first row below what is written."""

    def __init__(self, pen: Pen, layout: Layout, values: Values, lang: str) -> None:
        self.pen, self.layout, self.values, self.lang = pen, layout, values, lang
        self.next_row = FIRST_ROW

    def write(self, title: str, figures: Sequence[PrintedFigure], notes: Sequence[Note]) -> dict[str, str]:
        """Write it all; gives the defined names of the batch figures."""
        pen, worksheet = self.pen, self.pen.sheet
        pen.text("A1", title, TITLE)
        pen.text("A2", say("workbook.about_loss", self.lang), SUBTITLE)
        pen.text("A3", legend(self.lang), SMALL)
        for letter, key in zip(
            "ABCDEFGH", ("symbol", "meaning", "value", "formula", "numpy", "check", "key", "source"), strict=True
        ):
            stage = "check" if letter in "EF" else "loss"
            pen.text(f"{letter}5", say(f"workbook.figure_{key}", self.lang), head(stage))
        names = {}
        for name, row in self.layout.batch_rows.items():
            self._figure(name, row)
            names[name] = f"{TITLES[Level.BATCH]}!$C${row}"
        self.next_row = FIRST_ROW + len(self.layout.batch_rows) + 1
        if figures:
            self._printed(figures)
        self._notes(notes)
        for letter, wide in zip("ABCDEFGH", (14, 34, 19, 36, 19, 11, 20, 44), strict=True):
            worksheet.column_dimensions[letter].width = wide
        worksheet.row_dimensions[1].height = 26
        worksheet.freeze_panes = "A6"
        check_colours(worksheet, f"F{FIRST_ROW}:F{self.next_row}", self.lang)
        worksheet.print_area = f"A1:H{self.next_row}"
        paper(worksheet, tall=1)
        return names

    def badge(self, *more: str) -> str:
        """The formula of the book's own verdict: are all checks of all sheets, and of some more cells, ticks?"""
        areas = [
            f"{sheet.title}!{letter}{FIRST_ROW}:{letter}{FIRST_ROW + self._live(level) - 1}"
            for level, sheet in self.layout.sheets.items()
            if (letter := sheet.letters.get("check")) and self._live(level)
        ]
        areas += more
        if self.layout.batch_rows:
            areas.append(f"{TITLES[Level.BATCH]}!F{FIRST_ROW}:F{FIRST_ROW + len(self.layout.batch_rows) - 1}")
        crosses, edited = (
            "+".join(f'COUNTIF({area},"{word}")' for area in areas) for word in (CROSS, edited_word(self.lang))
        )
        words = [say(f"workbook.badge_{key}", self.lang) for key in ("wrong", "edited", "right")]
        return f'IF({crosses}>0,"{words[0]}",IF({edited}>0,"{words[1]}","{words[2]}"))'

    def _live(self, level: Level) -> int:
        part = self.layout.part
        return {Level.TOKEN: part.token_rows, Level.COMPLETION: part.completions, Level.GROUP: part.groups}[level]

    def _figure(self, name: str, row: int) -> None:
        pen, layout, lang = self.pen, self.layout, self.lang
        step = layout.plan.step(name)
        assert step is not None
        value = self.value(name)
        named = label(name) if name != step.name else step.label
        shown = number_format(name, np.array([value]))
        decimals = (
            "+0.000000;-0.000000;0.000000"
            if shown.startswith("+")
            else "0.000000"
            if shown.startswith("0.0") and "%" not in shown
            else shown
        )
        look = body("loss", format=decimals, bold=name in HEADLINES, size=12 if name == "loss" else 11)
        pen.text(f"A{row}", named.symbol, TEXT.but(line=THIN, bold=name in HEADLINES, fill=look.fill))
        pen.text(f"B{row}", named.name(lang), TEXT.but(line=THIN, bold=name in HEADLINES, fill=look.fill))
        pen.text(f"D{row}", self._words(name, step), TEXT.but(line=THIN, ink="374151", indent=1, size=11))
        pen.text(f"G{row}", name, KEY.but(size=8, line=THIN, across="left"))
        pen.text(f"H{row}", cited(step.column.source, lang), SMALL.but(line=THIN, size=8))
        frozen = Look(ink=FROZEN, fill=COLOURS["check"][1], line=THIN, format=decimals)
        check = body("check", ink=COLOURS["check"][0], bold=True, across="center")
        if not math.isfinite(value):
            marked = say("cli.undefined", lang)
            pen.text(f"C{row}", marked, look.but(italic=True, across="center"))
            pen.text(f"E{row}", marked, frozen.but(italic=True, across="center"))
            pen.look(f"F{row}", check)
            return
        pen.number(f"E{row}", value, frozen)
        if not self.live(step):
            pen.number(f"C{row}", value, STALE.but(format=decimals))
            pen.text(f"F{row}", say("workbook.value_only", lang), check.but(ink=FROZEN, bold=False, size=8))
            return
        pen.formula(
            f"C{row}", step_formula(layout, step) if name == step.name else layout.batch_cell(step.name), value, look
        )
        pen.formula(f"F{row}", self._check(step, row), TICK, check)

    def value(self, name: str) -> float:
        """A batch figure."""
        return float(self.values.coarse[self.layout.plan.leads.get(name, name)])

    def live(self, step: Step) -> bool:
        """Whether a batch figure can be a formula: nothing it reads is left out, and a formula can say it."""
        return step.column.live and self.layout.part.whole

    def _words(self, name: str, step: Step) -> str:
        lead = step.label.symbol if name != step.name else plain(step.expression, lambda key: self._known(key).symbol)
        return f"= {lead}"

    def _known(self, key: str) -> Label:
        step = self.layout.plan.step(key)
        return label(key) if step is None else step.label

    def _check(self, step: Step, row: int) -> str:
        found = reach(self.layout.plan, [step.name], Level.BATCH)
        terms = [edited_parameter(self.layout, name) for name in recipe_order(self.layout, found.parameters)]
        return verdict([*edits(self.layout, found, Level.BATCH), *terms], agrees((f"C{row}", f"E{row}")), self.lang)

    # -- a lesson's printed figures, and the notes -------------------------------------------------------------------

    def _printed(self, figures: Sequence[PrintedFigure]) -> None:
        pen, row = self.pen, self.next_row
        article = all(figure.status == "article" for figure in figures)
        heading = "printed_figures" if article else "reference_figures"
        pen.merged(f"A{row}:H{row}", say(f"workbook.{heading}", self.lang), head("inputs", across="left"))
        for letter, key in zip(
            "ABCDEFG", ("symbol", "meaning", "ours", "status", "printed", "met", "key"), strict=True
        ):
            pen.text(f"{letter}{row + 1}", say(f"workbook.figure_{key}", self.lang), head("inputs", size=9))
        for place, figure in enumerate(figures, start=row + 2):
            self._printed_line(figure, place)
        check_colours(pen.sheet, f"F{row + 2}:F{row + 1 + len(figures)}", self.lang)
        self.next_row = row + 3 + len(figures)

    def _printed_line(self, figure: PrintedFigure, row: int) -> None:
        pen, named = self.pen, self._known(figure.column)
        digits = len(figure.printed.partition(".")[2])
        shown = "0." + "0" * min(max(digits, 1), 12)
        where = "" if figure.row is None else f" [{figure.row}]"
        pen.text(f"A{row}", named.symbol + where, TEXT.but(line=THIN))
        pen.text(f"B{row}", named.name(self.lang), TEXT.but(line=THIN))
        cell, value = self.ours(figure)
        pen.formula(f"C{row}", cell, value, body("loss", format=shown + "0" * min(2, 14 - len(shown))))
        pen.text(f"D{row}", say(f"workbook.status_{figure.status}", self.lang), TEXT.but(line=THIN, indent=1))
        pen.number(f"E{row}", float(figure.printed), Look(line=THIN, format=shown, bold=True))
        met = self.met(figure, f"C{row}", f"E{row}")
        words = {"rounded": TICK, "differs": CROSS}
        ours = agreement(figure, value)
        pen.formula(
            f"F{row}", met, words.get(ours, TICK), body("check", ink=COLOURS["check"][0], bold=True, across="center")
        )
        pen.text(f"G{row}", figure.column, KEY.but(size=8, line=THIN, across="left"))

    def met(self, figure: PrintedFigure, ours: str, printed: str) -> str:
        """Whether ours meets a printed figure to its last digit, or an input was edited."""
        found = reach(self.layout.plan, [figure.column], Level.BATCH)
        terms = [edited_parameter(self.layout, name) for name in recipe_order(self.layout, found.parameters)]
        near = f"ABS({ours}-{printed})<={_half(figure):.2E}"
        return verdict([*edits(self.layout, found, Level.BATCH), *terms], near, self.lang)

    def ours(self, figure: PrintedFigure) -> tuple[str, float]:
        """The reference to our value of a printed figure, and the value."""
        layout = self.layout
        name = layout.plan.leads.get(figure.column, figure.column)
        level = layout.plan.levels[name]
        if figure.row is None:
            return layout.batch_cell(name), self.value(name)
        row, place = FIRST_ROW + figure.row - 1, figure.row - 1
        value = layout.worked[name][place]
        return layout.on_sheet(name, level, Level.BATCH).replace(OWN, str(row)).replace("\x02", str(row)).replace(
            "\x03", str(row)
        ), float(value)

    def _notes(self, notes: Sequence[Note]) -> None:
        pen, row = self.pen, self.next_row
        if not notes:
            return
        pen.merged(f"A{row}:H{row}", say("workbook.notes", self.lang), head("given", across="left"))
        for place, note in enumerate(notes, start=row + 1):
            text = note.text(self.lang)
            pen.merged(f"A{place}:H{place}", f"• {text}", TEXT.but(wrap=True, size=9))
            pen.sheet.row_dimensions[place].height = 13 * (1 + width(text) // 170) + 3
        self.next_row = row + 1 + len(notes)


def agreement(figure: PrintedFigure, ours: float) -> str:
    """How ours meets a printed figure: rounded to its last digit, or it differs."""
    return "rounded" if abs(ours - float(figure.printed)) <= _half(figure) else "differs"


def _half(figure: PrintedFigure) -> float:
    """Half a unit of the last printed digit, and a hair; 1e-12 for a figure worked by hand."""
    return 1e-12 if figure.status == "exact" else 0.5000001 * 10.0 ** -len(figure.printed.partition(".")[2])
