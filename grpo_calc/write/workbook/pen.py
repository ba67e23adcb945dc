"""Writing on the sheets that openpyxl makes: a cell, its look, and the cached value that the final pass puts in."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from openpyxl.comments import Comment
from openpyxl.worksheet.worksheet import Worksheet

from grpo_calc.say import say
from grpo_calc.write.workbook.styles import Look, Palette
from grpo_calc.write.workbook.text import clean, coded

AUTHOR = "grpo-calc"

Cached = float | str | bool


@dataclass
class Pen:
    """Writes on one sheet. ``cached`` maps a cell to the value the final pass writes there, to its last digit."""

    sheet: Worksheet
    palette: Palette
    cached: dict[str, Cached] = field(default_factory=dict)

    def text(self, cell: str, text: str, look: Look) -> None:
        """A text, never taken for a formula."""
        made: Any = self.sheet[cell]
        made.value = coded(clean(text))
        made.data_type = "s"
        self.look(cell, look)

    def number(self, cell: str, value: float, look: Look) -> None:
        """A number."""
        made: Any = self.sheet[cell]
        made.value = value
        self.cached[cell] = value
        self.look(cell, look)

    def formula(self, cell: str, formula: str, value: Cached, look: Look) -> None:
        """A formula (without its ``=``) and the value it has."""
        made: Any = self.sheet[cell]
        made.value = f"={formula}"
        self.cached[cell] = value
        self.look(cell, look)

    def valued(self, cell: str, formula: str, value: float, look: Look) -> None:
        """A formula and its value; where that is undefined, a marked text instead."""
        if math.isfinite(value):
            self.formula(cell, formula, value, look)
        else:
            self.text(cell, say("cli.undefined", self.palette.lang), look.but(italic=True, across="center"))

    def look(self, cell: str, look: Look) -> None:
        """The look of a cell."""
        self.sheet[cell]._style = copy(self.palette.style(look))  # noqa: SLF001  (one shared style, not six objects a cell)

    def band(self, cells: str, look: Look) -> None:
        """The look of every cell of a range."""
        for row in self.sheet[cells]:
            for cell in row:
                self.look(cell.coordinate, look)

    def merged(self, cells: str, text: str, look: Look) -> None:
        """A text over a merged range."""
        first = cells.split(":", maxsplit=1)[0]
        self.text(first, text, look)
        self.band(cells, look)
        if first != cells.rsplit(":", maxsplit=1)[-1]:
            self.sheet.merge_cells(cells)

    def tip(self, cell: str, text: str) -> None:
        """What a cell says when the pointer rests on it."""
        lines = text.split("\n")
        height = 18 * sum(1 + len(line) // 48 for line in lines) + 12
        self.sheet[cell].comment = Comment(clean_lines(text), AUTHOR, height=height, width=330)


def clean_lines(text: str) -> str:
    r"""A text of several lines made fit for a comment.

    >>> clean_lines("a\nb")
    'a\nb'
    """
    return "\n".join(clean(line) for line in text.split("\n"))
