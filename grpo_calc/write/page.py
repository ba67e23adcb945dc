"""A page for the terminal: lines of styled pieces, gathered and printed at once; nothing in a text is interpreted.

Widths are counted in cells, so Chinese text and emoji line up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.segment import Segment

Piece = tuple[str, str]
"""A text and its style."""

COLOURS = {
    "inputs": "#b45309",
    "advantage": "#92400e",
    "ratio": "#0f766e",
    "surrogate": "#4338ca",
    "kl": "#7e22ce",
    "loss": "#334155",
    "gradient": "#475569",
}
"""Each stage's colour, dark enough for white letters on it."""
INKS = {
    "inputs": "#d97706",
    "advantage": "#d97706",
    "ratio": "#0d9488",
    "surrogate": "#6366f1",
    "kl": "#a855f7",
    "loss": "#64748b",
    "gradient": "#64748b",
}
"""The same colours as letters, to be read on black and on white."""
FAINT = "dim"

_WIDE = "\u2e80"
"""From here on a character takes two cells and a line may break beside it."""
_OPENING, _CLOSING = "（“《", "，。；：、！？）》”"
"""Marks that cling to what follows them, and to what precedes them."""
_TERMS = re.compile(
    "对数概率|逐 token|替代目标|计入损失|越小越好|越大越好|概率比|对数比|估计量|标准差|平滑项|概率|比率|策略|裁剪|目标"
    "|损失|梯度|代理|奖励|优势|基线|基准|参考|采样|引擎|均值|平均|回答|长度|权重|掩码|位置|编号|序列|加权|修正|越界|斜率|批次"
)
"""Chinese terms that a line does not break."""


class Page:
    """Lines for one output stream."""

    def __init__(self, out: TextIO) -> None:
        self.console = Console(file=out, markup=False, emoji=False, highlight=False)
        self.lines: list[tuple[Piece, ...]] = []

    @property
    def width(self) -> int:
        """How many cells a line may have."""
        return self.console.width

    def line(self, *pieces: Piece) -> None:
        """Add one line."""
        self.lines.append(pieces)

    def heading(self, title: str, stage: str = "loss") -> None:
        """Add a band over what follows, after an empty line."""
        if self.lines:
            self.line()
        self.line((f" {title} ", f"bold white on {COLOURS[stage]}"))

    def item(self, text: str, lead: str = "  ", style: str = "", lead_style: str = "") -> None:
        """Add a paragraph after its lead; its further lines start below the first one's text."""
        for place, part in enumerate(wrapped(text, self.width - cell_len(lead))):
            self.line((" " * cell_len(lead), "") if place else (lead, lead_style), (part, style))

    def print(self) -> None:
        """Print all lines; none is wrapped or cut."""
        self.console.print(self, soft_wrap=True)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for line in self.lines:
            yield from (Segment(text, console.get_style(style) if style else None) for text, style in line)
            yield Segment.line()


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of at most so many cells, broken at spaces or between Chinese characters.

    >>> wrapped("one two three", 8), wrapped("概率比，优势", 8), wrapped("abcdef", 4)
    (['one two', 'three'], ['概率比，', '优势'], ['abcd', 'ef'])
    """
    width = max(width, 2)
    lines, line = [], ""
    for unit in _units(text):
        if cell_len(line + unit.rstrip()) <= width:
            line += unit
            continue
        lines.append(line.rstrip())
        line = unit.lstrip()
        while cell_len(line) > width:
            cut = next(i for i in range(len(line), 0, -1) if cell_len(line[:i]) <= width)
            lines.append(line[:cut])
            line = line[cut:]
    return [each for each in [*lines, line.rstrip()] if each] or [""]


def longest_word(text: str) -> int:
    """The width of the longest part of a text that a line does not break.

    >>> longest_word("clipped ratio"), longest_word("新策略对数概率")
    (7, 8)
    """
    return max((cell_len(unit.strip()) for unit in _units(text)), default=0)


def _units(text: str) -> Iterator[str]:
    """What may stand alone on a line: a space, a wide character, a Chinese term or a word, with the marks at it."""
    inside = {place for term in _TERMS.finditer(text) for place in range(term.start() + 1, term.end())}
    unit = ""
    for place, character in enumerate(text):
        clings = character in _CLOSING or (unit and unit[-1] in _OPENING) or place in inside
        parts = unit and (" " in (unit, character) or (_WIDE <= max(unit[-1], character)) or character in _OPENING)
        if parts and not clings:
            yield unit
            unit = ""
        unit += character
    yield unit


def filled(text: str, width: int) -> str:
    """A text with spaces after it, to a width in cells."""
    return text + " " * (width - cell_len(text))


def pushed(text: str, width: int) -> str:
    """A text with spaces before it, to a width in cells."""
    return " " * (width - cell_len(text)) + text
