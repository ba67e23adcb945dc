"""How cells look: colours by stage, number formats, and one style object a look, shared by all its cells."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from openpyxl import Workbook
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.styles.cell_style import StyleArray

from grpo_calc.table import Floats

# Each stage: the colour of its heads, the tint of its cells.
COLOURS: Mapping[str, tuple[str, str]] = {
    "row": ("7C5A2B", "FFFFFF"),
    "inputs": ("B45309", "FFFBEB"),
    "advantage": ("92400E", "FEF3E2"),
    "ratio": ("0F766E", "E3F4F1"),
    "surrogate": ("3F4FB5", "E9EBFA"),
    "kl": ("7E22CE", "F4EAFD"),
    "loss": ("334155", "EBEEF2"),
    "gradient": ("475569", "F1F4F8"),
    "check": ("047857", "E8FAF1"),
    "given": ("6B7280", "FFFFFF"),
}
INK, PALE, FROZEN, BLUE, YELLOW, LINE = "1F2937", "6B7280", "8A93A0", "1D4ED8", "FFF9DB", "D5DAE1"
CLIPPED_TINT, CLIPPED_INK, EDITED_TINT, EDITED_INK, WRONG_TINT, WRONG_INK = (
    "FFE3CC",
    "9A3412",
    "FEF3C7",
    "92400E",
    "FECACA",
    "991B1B",
)
FONTS: Mapping[str, str] = {"en": "Arial", "zh": "Microsoft YaHei"}

DOT, DOT_INK = '[=1]"●";[=0]"";0', "C2410C"
CIRCLE = '[=1]"○";[=0]"";0'
WHOLE = "0"
_AROUND_ONE = {"ratio", "clipped_ratio", "mean_ratio", "base_ratio"}
_PLAIN = {
    "k2",
    "k3",
    "kl_proxy",
    "group_std",
    "group_spread",
    "share",
    "within",
    "across",
    "reward",
    "kl",
    "kl_token_mean",
    "completion_kl",
}
_DOTS = {"clipped", "cispo_capped", "clipped_low", "clipped_high", "zero_spread"}
_WHOLE = {
    "length",
    "group_size",
    "tokens",
    "completions",
    "groups",
    "completion_clipped",
    "completion_clipped_low",
    "completion_clipped_high",
}
_FEW, _MANY = 4, 7


def number_format(name: str, values: Floats) -> str:
    """The number format of a column: a dot for a flag, a sign where the sign matters, more decimals for small numbers.

    >>> number_format("ratio", np.array([1.1])), number_format("kl_proxy", np.array([0.0008]))
    ('0.0000', '0.0000000')
    """
    if name == "outside":
        return CIRCLE
    if name in _DOTS:
        return DOT
    if name in _WHOLE or (name.endswith("slope") and bool((values == np.round(values)).all())):
        return WHOLE
    if name.startswith("clip_"):
        return "0.0%"
    digits = decimals(name, values)
    zeros = "0." + "0" * digits
    return zeros if name in _AROUND_ONE | _PLAIN else f"+{zeros};-{zeros};{zeros}"


def decimals(name: str, values: Floats) -> int:
    """How many decimals a column needs: four, seven where all its numbers are small."""
    finite = np.abs(values[np.isfinite(values)])
    largest = float(finite.max()) if finite.size else 1.0
    if name in _AROUND_ONE or largest >= 0.1 or largest == 0:
        return _FEW
    return min(_MANY, _FEW + 1 + int(-np.log10(largest)))


@dataclass(frozen=True)
class Look:
    """What a cell looks like."""

    ink: str = INK
    fill: str = ""
    size: float = 10
    bold: bool = False
    italic: bool = False
    format: str = "General"
    across: str = "right"
    wrap: bool = False
    line: str = ""
    above: str = ""
    indent: int = 0
    quoted: bool = False

    def but(self, **changes: Any) -> Look:
        """The look with some things changed."""
        return replace(self, **changes)


class Palette:
    """The styles of one book: each look is made once."""

    def __init__(self, book: Workbook, lang: str) -> None:
        self.lang, self.font = lang, FONTS[lang]
        self._scratch: Any = book.create_sheet("looks")
        self._made: dict[Look, Any] = {}
        self._numbers: dict[Look, int] = {}

    def style(self, look: Look) -> Any:
        """The style array of a look, for a cell."""
        if look not in self._made:
            cell = self._scratch.cell(1, 1)
            cell._style = StyleArray()  # noqa: SLF001  (a new one: the book may hold the last)
            cell.font = Font(
                name=self.font, size=look.size, bold=look.bold or None, italic=look.italic or None, color=look.ink
            )
            cell.fill = PatternFill("solid", start_color=look.fill) if look.fill else PatternFill()
            cell.border = Border(bottom=_side(look.line), top=_side(look.above))
            cell.alignment = Alignment(
                horizontal=look.across, vertical="center", wrap_text=look.wrap or None, indent=look.indent
            )
            cell.number_format = look.format
            cell.quotePrefix = int(look.quoted)
            self._made[look] = copy(cell._style)  # noqa: SLF001
        return self._made[look]

    def number(self, look: Look) -> int:
        """The number of a look in the book's list of styles."""
        if look not in self._numbers:
            cell = self._scratch.cell(1, 1)
            cell._style = copy(self.style(look))  # noqa: SLF001
            self._numbers[look] = int(cell.style_id)
        return self._numbers[look]

    def close(self, book: Workbook) -> None:
        """Take the scratch sheet away."""
        book.remove(self._scratch)


def _side(line: str) -> Any:
    style: Any
    style, _, colour = line.partition(" ")
    return Side(style=style, color=colour) if line else Side()


THIN = f"thin {LINE}"
TITLE = Look(bold=True, size=16, across="left")
SUBTITLE = Look(ink=PALE, italic=True, size=9, across="left")
TEXT = Look(across="left")
SMALL = Look(ink=PALE, size=9, across="left")
HEAD = Look(ink="FFFFFF", bold=True, across="center", wrap=True)
KEY = Look(ink=FROZEN, size=7, across="center", italic=True)
INPUT = Look(ink=BLUE, fill=YELLOW, line=THIN)
STALE = Look(ink=FROZEN, italic=True, line=THIN)


def head(stage: str, **changes: Any) -> Look:
    """The head of a stage's columns."""
    return HEAD.but(fill=COLOURS[stage][0], **changes)


def body(stage: str, **changes: Any) -> Look:
    """A cell of a stage."""
    fill = COLOURS[stage][1]
    return Look(fill="" if fill == "FFFFFF" else fill, line=THIN).but(**changes)
