"""A table of sections for the terminal: coloured bands over their columns, split into parts where the width is short.

No part is ever cut: a band that does not fit moves down to a part of its own, which repeats the columns that say which
row it is. Widths are counted in cells, so Chinese text and emoji line up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

GAP = "  "
LABEL_WORD = 10
"""A word of a label up to this wide is not broken."""


@dataclass(frozen=True)
class Strip:
    """One column: symbol and label above, texts below, ``band`` the section it stands in."""

    band: str
    symbol: str
    label: str
    cells: Sequence[str]
    left: bool = False

    @cached_property
    def width(self) -> int:
        """As wide as its widest cell, its symbol, and the longest word of its label up to a limit."""
        words = max((min(cell_len(word), LABEL_WORD) for word in self.label.split()), default=0)
        return max([cell_len(self.symbol), words, *map(cell_len, self.cells)])

    def aligned(self, text: str) -> str:
        """A text of this column, filled up to its width."""
        return set_cell_size(text, self.width) if self.left else " " * (self.width - cell_len(text)) + text


@dataclass(frozen=True)
class Bands:
    """The whole table. ``keys`` are repeated in every part; ``titles`` and ``colours`` go by band.

    ``row_styles`` gives a row another style than its default; ``breaks`` maps a row's place to a line to put before it.
    """

    keys: Sequence[Strip]
    strips: Sequence[Strip]
    titles: dict[str, str]
    colours: dict[str, str]
    row_styles: Sequence[str] = ()
    breaks: dict[int, str] = field(default_factory=dict)

    def print(self, console: Console) -> None:
        """Print it in as few parts as the console's width allows."""
        for place, part in enumerate(self._parts(console.width)):
            if place:
                console.print()
            for line in self._lines([*self.keys, *part], console):
                console.print(line, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)

    def _parts(self, width: int) -> Iterator[list[Strip]]:
        room = width - sum(key.width + len(GAP) for key in self.keys)
        part: list[Strip] = []
        for band in dict.fromkeys(strip.band for strip in self.strips):
            members = [strip for strip in self.strips if strip.band == band]
            if _total(part + members) <= room:
                part += members
                continue
            if part:
                yield part
            part = []
            for strip in members:  # a band wider than the screen is itself split
                if part and _total([*part, strip]) > room:
                    yield part
                    part = []
                part = [*part, strip]
        if part:
            yield part

    def _lines(self, strips: list[Strip], console: Console) -> Iterator[Text]:
        yield self._band_line(strips)
        yield _joined([Text(s.aligned(s.symbol), style=f"bold {self.colours[s.band]}") for s in strips])
        yield from self._labels(strips, console)
        for place in range(len(strips[0].cells)):
            if place in self.breaks:
                yield Text(self.breaks[place], style="dim")
            style = self.row_styles[place] if self.row_styles else ""
            yield Text(GAP.join(s.aligned(s.cells[place]) for s in strips).rstrip(), style=style)

    def _band_line(self, strips: list[Strip]) -> Text:
        pieces = []
        for band in dict.fromkeys(strip.band for strip in strips):
            width = _total([strip for strip in strips if strip.band == band])
            title = self.titles[band] if cell_len(self.titles[band]) <= width else ""
            space = width - cell_len(title)
            pieces.append(
                Text(
                    " " * (space // 2) + title + " " * (space - space // 2), style=f"bold white on {self.colours[band]}"
                )
            )
        return _joined(pieces)

    def _labels(self, strips: list[Strip], console: Console) -> Iterator[Text]:
        wrapped = [
            [str(line) for line in Text("" if strip.label == strip.symbol else strip.label).wrap(console, strip.width)]
            for strip in strips
        ]
        for line in range(max(len(lines) for lines in wrapped)):
            yield _joined(
                [
                    Text(strip.aligned(lines[line].rstrip() if line < len(lines) else ""), style="dim")
                    for lines, strip in zip(wrapped, strips, strict=True)
                ]
            )


def _total(strips: Sequence[Strip]) -> int:
    return sum(strip.width for strip in strips) + len(GAP) * max(len(strips) - 1, 0)


def _joined(pieces: Sequence[Text]) -> Text:
    line = Text(GAP).join(pieces)
    line.rstrip()
    return line
