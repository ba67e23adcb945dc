"""A table in sections: coloured bands over their columns, in as few parts as the width allows.

No part is ever cut: a band that does not fit moves down to a part of its own, which repeats the columns that say which
row it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from grpo_calc.write.page import COLOURS, FAINT, INKS, Page, Piece, filled, longest_word, pushed, wrapped

GAP = "  "
LABEL_WORD = 10
"""A word of a label up to this wide is not broken."""


class Strip(NamedTuple):
    """One column: symbol and label above, texts below; ``stage`` is the section it stands in."""

    stage: str
    symbol: str
    label: str
    cells: Sequence[str]
    left: bool
    width: int

    def aligned(self, text: str) -> str:
        """A text of this column, filled up to its width."""
        return filled(text, self.width) if self.left else pushed(text, self.width)


def strip(stage: str, symbol: str, label: str, cells: Sequence[str], *, left: bool = False) -> Strip:
    """A column as wide as its widest cell, its symbol, and the longest word of its label up to a limit."""
    words = min(longest_word(label), LABEL_WORD)
    return Strip(stage, symbol, label, cells, left, max([cell_len(symbol), words, *map(cell_len, cells)]))


def banded(
    page: Page,
    keys: Sequence[Strip],
    strips: Sequence[Strip],
    titles: Mapping[str, str],
    row_styles: Sequence[str],
    breaks: Mapping[int, str],
) -> None:
    """Add the table to a page.

    ``keys`` are repeated in every part; ``titles`` go by stage; ``row_styles`` has each row's style; ``breaks`` maps a
    row's place to a line to put before it.
    """
    for place, part in enumerate(_parts(page.width, keys, strips)):
        if place:
            page.line()
        _part(page, [*keys, *part], titles, row_styles, breaks)


def _parts(width: int, keys: Sequence[Strip], strips: Sequence[Strip]) -> Iterator[list[Strip]]:
    room = width - sum(key.width + len(GAP) for key in keys)
    part: list[Strip] = []
    for stage in dict.fromkeys(each.stage for each in strips):
        members = [each for each in strips if each.stage == stage]
        if _total(part + members) <= room:
            part = part + members
            continue
        if part:
            yield part
        part = []
        for each in members:  # a band wider than the screen is itself split
            if part and _total([*part, each]) > room:
                yield part
                part = []
            part = [*part, each]
    yield part


def _part(
    page: Page, strips: list[Strip], titles: Mapping[str, str], row_styles: Sequence[str], breaks: Mapping[int, str]
) -> None:
    page.line(*_spaced([_band(strips, stage, titles[stage]) for stage in dict.fromkeys(s.stage for s in strips)]))
    page.line(*_spaced([(s.aligned(s.symbol), f"bold {INKS[s.stage]}") for s in strips]))
    labels = [wrapped(s.label if s.label != s.symbol else "", s.width) for s in strips]
    for place in range(max(map(len, labels))):
        texts = (lines[place] if place < len(lines) else "" for lines in labels)
        page.line(*_spaced([(s.aligned(text), FAINT) for s, text in zip(strips, texts, strict=True)]))
    for place, style in enumerate(row_styles):
        if place in breaks:
            page.line((breaks[place], FAINT))
        page.line((GAP.join(s.aligned(s.cells[place]) for s in strips).rstrip(), style))


def _band(strips: Sequence[Strip], stage: str, title: str) -> Piece:
    width = _total([each for each in strips if each.stage == stage])
    if cell_len(title) > width:  # the band of a row's number alone
        return " " * width, ""
    return filled(" " * ((width - cell_len(title)) // 2) + title, width), f"bold white on {COLOURS[stage]}"


def _spaced(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Pieces with gaps between them, and no empty ones at the end."""
    while pieces and not pieces[-1][0].strip() and " on " not in pieces[-1][1]:
        pieces = pieces[:-1]
    for place, (text, style) in enumerate(pieces):
        if place:
            yield GAP, ""
        yield (text if place < len(pieces) - 1 else text.rstrip() if " on " not in style else text), style


def _total(strips: Sequence[Strip]) -> int:
    return sum(each.width for each in strips) + len(GAP) * max(len(strips) - 1, 0)
