"""Which charts a book has: loss by token or completion, and the clip curve with the tokens on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from openpyxl.utils import get_column_letter

from grpo_calc.column import Level
from grpo_calc.say import say
from grpo_calc.write.workbook.charts import INDIGO, ORANGE, RED, SLATE, TEAL, Line, Range, anchored, bars, curves
from grpo_calc.write.workbook.curve import TRIPLE, ChartData, Curve, Numbered, Points
from grpo_calc.write.workbook.extent import FIRST_ROW
from grpo_calc.write.workbook.layout import TITLES, Layout
from grpo_calc.write.workbook.loss import LossSheet
from grpo_calc.write.workbook.page import TALL
from grpo_calc.write.workbook.paged import FIRST, PAGE, Paged
from grpo_calc.write.workbook.pen import Pen
from grpo_calc.write.workbook.text import clean
from grpo_calc.write.workbook.values import Values

MOST_BARS, MOST_POINTS = 40, 200
BESIDE = [get_column_letter(place) for place in range(11, 26)]
"""The columns of the Loss sheet that hold the charts' data, beyond what is printed."""


Corner = tuple[int, int]


class Pictures:
    """Draws the charts; their data are live cells on the Loss sheet."""

    def __init__(self, layout: Layout, values: Values, loss: Pen, lang: str) -> None:
        self.layout, self.values, self.loss, self.lang = layout, values, loss, lang
        self.leads = layout.plan.leads
        self.font = loss.palette.font
        self.data = ChartData(loss, BESIDE)

    def on_page(self, sheet: Any, page: Paged, top: int) -> None:
        """Loss by token and the clip curve, under the page's table and left of its card."""
        rows = range(FIRST, FIRST + page.count)

        def column(name: str) -> Numbered:
            lead = self.leads[name]
            letter = page.letters.get(lead)
            cells = [
                f"{PAGE}!{letter}{row}" if letter else page.elsewhere(lead, place) for place, row in enumerate(rows)
            ]
            return Numbered(cells, _list(page.numbers[lead]))

        middle, end = page.card_column // 2 + 1, page.card_column
        x = self._token_names(page)
        losses = column("token_loss")
        if self.leads.get("clipped") in page.letters:
            capped = self.leads["clipped"] == "cispo_capped"
            heads = (
                (self._say("chart_uncapped"), self._say("chart_capped"))
                if capped
                else (self._say("chart_free"), self._say("chart_clipped"))
            )
            ranges = self.data.split(heads, losses, column("clipped"))
            lines = [Line(head, c, x, y) for head, c, y in zip(heads, (SLATE, ORANGE), ranges, strict=True)]
        else:
            lines = [Line("", SLATE, x, self.data.column(self._say("chart_loss"), losses))]
        title, across = self._say("chart_loss_token"), self._say("name_token")
        alone = Curve.of(self.layout) is None
        right = (end if alone else middle, top + TALL)
        anchored(sheet, bars(title, across, self._say("chart_loss"), lines, self.font), (1, top), right)
        self._curve(sheet, column, (middle, top), (end, top + TALL))

    def on_loss(self, loss: LossSheet) -> None:
        """Loss by completion and the clip curve, under the notes of the Loss sheet."""
        top, part, sheet = loss.next_row + 1, self.layout.part, self.loss.sheet
        sheet.print_area = f"A1:H{top + TALL}"
        name, count = self.leads.get("completion_loss", ""), min(part.completions, MOST_BARS)
        if name and count:
            x = self._cells(Level.COMPLETION, "completion_id", [clean(i) for i in part.table.completion_id[:count]])
            y = self._cells(Level.COMPLETION, name, _list(self.values.coarse[name][:count]))
            title = say("workbook.chart_loss_completion", self.lang, count=count)
            across, up = self._say("name_completion_id"), self._say("chart_loss")
            anchored(sheet, bars(title, across, up, [Line("", SLATE, x, y)], self.font), (1, top), (4, top + TALL))
        if not part.tokens:
            return
        numbers: Mapping[str, Any] = next(self.values.blocks()).columns
        rows = self.layout.token_rows()[: min(MOST_POINTS, len(numbers["logp_new"]))].tolist()
        letters = self.layout.sheets[Level.TOKEN].letters

        def column(name: str) -> Numbered:
            lead = self.leads[name]
            return Numbered([f"Tokens!{letters[lead]}{row}" for row in rows], _list(numbers[lead][: len(rows)]))

        if all(self.leads.get(name) in letters for name in TRIPLE):
            self._curve(sheet, column, (4, top), (9, top + TALL))

    def _curve(self, sheet: Any, column: Callable[[str], Numbered], first: Corner, last: Corner) -> None:
        curve = Curve.of(self.layout)
        if curve is None:
            return
        up, down, tokens = self.data.curve(curve, Points(*(column(name) for name in TRIPLE)))
        lines = [
            Line("A = +1", TEAL, *up),
            Line("A = -1", RED, *down),
            Line(self._say("chart_tokens"), INDIGO, *tokens, marked=True),
        ]
        clipping = curve.clips and self.leads.get("clipped") in self.layout.plan.levels
        if clipping:
            flags = column("clipped").at(curve.drawn(Points(*(column(name) for name in TRIPLE))))
            free, hit = self.data.flagged(flags)
            lines[-1] = Line(self._say("chart_tokens"), INDIGO, tokens[0], free, marked=True)
            lines.append(Line(self._say("chart_clipped"), ORANGE, tokens[0], hit, marked=True, symbol="diamond"))
            lines += [Line(name, SLATE, *drawn, dotted=True) for name, drawn in self.data.knees(curve, up, down)]
        across = f"{self._say('stage_ratio')} r"
        title, high = (
            ("chart_curve", "min / |A|") if clipping else ("chart_objective", f"{self._say('chart_goal')} / |A|")
        )
        anchored(sheet, curves(self._say(title), across, high, lines, self.font), first, last)

    def _token_names(self, page: Paged) -> Range:
        table = self.layout.part.table
        key = "token" if "token" in page.letters else "row"
        shown = [clean(text) for text in table.texts["token"]] if key == "token" else [str(i) for i in table.row]
        letter = page.letters[key]
        return Range(f"{PAGE}!${letter}${FIRST}:${letter}${page.last}", shown[: page.count])

    def _cells(self, level: Level, name: str, values: list[Any]) -> Range:
        letter = self.layout.sheets[level].letters[name]
        return Range(f"{TITLES[level]}!${letter}${FIRST_ROW}:${letter}${FIRST_ROW + len(values) - 1}", values)

    def _say(self, key: str) -> str:
        return say(f"workbook.{key}", self.lang)


def _list(values: Any) -> list[float]:
    return [float(value) for value in np.asarray(values)]
