"""Text that a stranger wrote, made fit for a cell: what XML or a spreadsheet cannot hold is shown, never dropped."""

from __future__ import annotations

import re
from bisect import bisect_left
from xml.sax.saxutils import escape

from grpo_calc.write.visible import visible

LONGEST = 32_767
"""UTF-16 units that a cell holds."""

_UNFIT = re.compile("[\ufffe\uffff\ud800-\udfff]")
_ESCAPED_LOOK = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_FORMULA_LOOK = ("=", "+", "-", "@", "'")


def units(text: str) -> int:
    """How many UTF-16 units a text takes: an emoji takes two."""
    return len(text) + sum(character > "\uffff" for character in text)


def clean(text: str) -> str:
    r"""A text as a cell shows it: control characters as pictures, what XML forbids as ``�``, cut to what a cell holds.

    >>> clean("a\x07\ufffe"), units(clean("x" * 40_000))
    ('a␇�', 32767)
    """
    shown = _UNFIT.sub("\N{REPLACEMENT CHARACTER}", visible(text))
    if _fits(shown):
        return shown
    kept = bisect_left(range(LONGEST), True, key=lambda length: not _fits(shown[:length] + "…")) - 1
    return shown[:kept] + "…"


def _fits(text: str) -> bool:
    return len(text) < LONGEST // 8 or units(coded(text)) <= LONGEST


def coded(text: str) -> str:
    """A text whose ``_x0041_`` stays these seven characters: programs read such a thing as an escape.

    >>> coded("_x0041_")
    '_x005F_x0041_'
    """
    return _ESCAPED_LOOK.sub("_x005F_", text) if "_x" in text else text


def in_cell(text: str) -> str:
    """A text cleaned, coded and escaped, as it stands between ``<t>`` and ``</t>``.

    >>> in_cell("a<b 概")
    'a&lt;b &#27010;'
    """
    return in_xml(coded(clean(text)))


def in_xml(text: str) -> str:
    """A text escaped, in ASCII alone: rows of it are joined and encoded twice as fast."""
    return escape(text).encode("ascii", "xmlcharrefreplace").decode()


def looks_like_a_formula(text: str) -> bool:
    """Whether a program would take the text for a formula if it were typed: such cells are marked as text."""
    return text.startswith(_FORMULA_LOOK)


def width(text: str) -> int:
    """How wide a text is in columns: East Asian characters count as two.

    >>> width("ratio"), width("概率比")
    (5, 6)
    """
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)
