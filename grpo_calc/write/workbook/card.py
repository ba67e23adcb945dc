"""The summary card of the page: the batch figures, a source's printed ones met or not, and the book's own verdict."""

from __future__ import annotations

from collections.abc import Sequence

from openpyxl.utils import get_column_letter

from grpo_calc.column import label
from grpo_calc.say import say
from grpo_calc.write.workbook.loss import LossSheet, PrintedFigure, agreement
from grpo_calc.write.workbook.paged import FIRST, PAGE, Paged
from grpo_calc.write.workbook.pen import Pen
from grpo_calc.write.workbook.styles import COLOURS, INK, PALE, SUBTITLE, THIN, Look, head

FIGURES = ("surrogate_objective", "kl", "objective", "loss", "clip_fraction")


class Card:
    """Writes the card, six columns wide."""

    def __init__(self, pen: Pen, paged: Paged, loss: LossSheet) -> None:
        self.pen, self.paged, self.layout, self.loss = pen, paged, paged.layout, loss
        self.lang = pen.palette.lang

    def write(self, top: int, figures: Sequence[PrintedFigure]) -> None:
        """Write it from a row down."""
        pen, first = self.pen, self.paged.card_column
        letters = [get_column_letter(first + i) for i in range(6)]
        pen.merged(f"{letters[0]}{top}:{letters[-1]}{top}", say("workbook.summary", self.lang), head("loss", size=11))
        printed = {figure.column: figure for figure in figures if figure.row is None}
        digits = [len(figure.printed.partition(".")[2]) for name, figure in printed.items() if name in FIGURES]
        zeros = "0." + "0" * min(max([6, *digits]), 12)
        row = top + 1
        for name in FIGURES:
            if not self.paged.has(name):
                continue
            value, bold = self.loss.value(name), name in ("loss", "objective")
            self._label(f"{letters[0]}{row}:{letters[2]}{row}", name, bold=bold)
            shape = "0.0%" if name == "clip_fraction" else f"+{zeros};-{zeros};{zeros}"
            look = Look(bold=True, size=14 if bold else 12, format=shape, line=THIN)
            pen.band(f"{letters[3]}{row}:{letters[-1]}{row}", look)
            pen.sheet.merge_cells(f"{letters[3]}{row}:{letters[4 if name in printed else 5]}{row}")
            pen.valued(f"{letters[3]}{row}", self.layout.batch_cell(name), value, look)
            if name in printed:
                met = self.loss.met(printed[name], f"{letters[3]}{row}", printed[name].printed)
                good = agreement(printed[name], value) == "rounded"
                pen.formula(
                    f"{letters[5]}{row}",
                    met,
                    "✓" if good else "✗",
                    Look(ink=COLOURS["check"][0], bold=True, across="center", line=THIN),
                )
            row += 1
        if printed:
            pen.merged(
                f"{letters[0]}{row}:{letters[-1]}{row}",
                say("workbook.as_printed", self.lang),
                SUBTITLE.but(across="right", size=8),
            )
            row += 1
        check = self.paged.letters["check"]
        own = f"{PAGE}!{check}{FIRST}:{check}{self.paged.last}"
        badge = Look(ink=COLOURS["check"][0], fill=COLOURS["check"][1], bold=True, size=12, across="center")
        pen.band(f"{letters[0]}{row + 1}:{letters[-1]}{row + 1}", badge)
        pen.formula(f"{letters[0]}{row + 1}", self.loss.badge(own), say("workbook.badge_right", self.lang), badge)
        pen.sheet.merge_cells(f"{letters[0]}{row + 1}:{letters[-1]}{row + 1}")
        words = say("workbook.with_kl" if self.paged.has("kl") else "workbook.without_kl", self.lang)
        pen.merged(
            f"{letters[0]}{row + 3}:{letters[-1]}{row + 3}", words, Look(ink=INK, italic=True, size=9, across="center")
        )
        reduction = self.layout.worked.recipe.roles["reduction"]
        recipe = say(
            "workbook.recipe_and_reduction", self.lang, name=self.layout.worked.recipe.name, reduction=reduction
        )
        pen.merged(
            f"{letters[0]}{row + 4}:{letters[-1]}{row + 4}",
            recipe,
            Look(ink=PALE, italic=True, size=8, across="center"),
        )

    def _label(self, cells: str, name: str, *, bold: bool) -> None:
        step = self.layout.plan.step(name)
        words = label(name) if step is None or label(name).symbol != name else step.label
        named = words.name(self.lang)
        self.pen.merged(
            cells,
            named if named.startswith(words.symbol) else f"{words.symbol}  {named}",
            Look(ink=INK if bold else PALE, bold=bold, size=10, across="left", line=THIN),
        )
