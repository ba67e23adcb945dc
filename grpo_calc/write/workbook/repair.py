"""What other programs need of the XML that openpyxl writes: small repairs, part by part."""

from __future__ import annotations

import posixpath
import re

FIXED_DATE = "2020-01-01T00:00:00Z"
FONT_ORDER = (
    "b",
    "i",
    "strike",
    "condense",
    "extend",
    "outline",
    "shadow",
    "u",
    "vertAlign",
    "sz",
    "color",
    "name",
    "family",
    "charset",
    "scheme",
)

_TARGET = re.compile(r'Target="/([^"]*)"')
_DATE = re.compile(r"(<dcterms:(?:created|modified)[^>]*>)[^<]*(<)")
_FONT = re.compile(r"<font>(.*?)</font>", re.DOTALL)
_CHILD = re.compile(r"<(\w+)\b[^>]*?(?:/>|>.*?</\1>)", re.DOTALL)
_EMPTY_HEADERS = re.compile(r"<(?:odd|even|first)(?:Header|Footer)\s*(?:/>|></(?:odd|even|first)(?:Header|Footer)>)")
_DRAWING_TAG = re.compile(r"<(/?)(?![\w]+:)(\w)")


def repaired(name: str, text: str) -> str:
    """A part's XML with everything repaired that its kind needs."""
    if name.endswith(".rels"):
        return relative(name, text)
    if name == "docProps/core.xml":
        return _DATE.sub(rf"\g<1>{FIXED_DATE}\2", text)
    if name == "xl/styles.xml":
        return _FONT.sub(lambda found: f"<font>{_ordered(found[1])}</font>", text)
    if name.startswith("xl/drawings/drawing"):
        return prefixed(text)
    if name.startswith("xl/worksheets/sheet"):
        return _EMPTY_HEADERS.sub("", text)
    return text


def relative(name: str, text: str) -> str:
    """Relationship targets relative to the part that has them: some readers do not follow absolute ones.

    >>> relative("xl/_rels/workbook.xml.rels", '<R Target="/xl/worksheets/sheet1.xml"/>')
    '<R Target="worksheets/sheet1.xml"/>'
    """
    folder = posixpath.dirname(posixpath.dirname(name))
    return _TARGET.sub(lambda found: f'Target="{posixpath.relpath("/" + found[1], "/" + folder)}"', text)


def _ordered(children: str) -> str:
    found = [(match[1], match[0]) for match in _CHILD.finditer(children)]
    return "".join(text for _, text in sorted(found, key=lambda child: FONT_ORDER.index(child[0])))


def prefixed(text: str) -> str:
    """A drawing whose own tags have the prefix ``xdr``: Gnumeric drops charts from one without.

    >>> prefixed('<wsDr xmlns="urn:x"><from/><a:graphic/></wsDr>')
    '<xdr:wsDr xmlns:xdr="urn:x"><xdr:from/><a:graphic/></xdr:wsDr>'
    """
    return _DRAWING_TAG.sub(r"<\1xdr:\2", text).replace(" xmlns=", " xmlns:xdr=", 1)
