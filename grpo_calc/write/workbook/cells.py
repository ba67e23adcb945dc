"""The cells of a sheet of rows as XML: one template a field and variant, joined to one template a row.

Every piece takes exactly one value (``%s``), also where it ignores it (``%.0s``), so a row of any mixture of variants
is filled from the same values. Row numbers are the marks of ``layout``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial

from grpo_calc.say import say
from grpo_calc.write.workbook.formulas import check_formula, edited_formula, spread_formula, step_formula
from grpo_calc.write.workbook.layout import OWN, Field, Layout, Sheet
from grpo_calc.write.workbook.styles import (
    CIRCLE,
    COLOURS,
    DOT,
    DOT_INK,
    FROZEN,
    INPUT,
    KEY,
    STALE,
    TEXT,
    THIN,
    WHOLE,
    Look,
    Palette,
    body,
)
from grpo_calc.write.workbook.text import clean, in_cell, in_xml, looks_like_a_formula

LIVE, VALUE, UNDEFINED, BLANK = "live", "value", "undefined", "blank"
"""A formula with its value; a value alone; a marked text where the value is undefined; nothing."""


class Pieces:
    """The pieces of one sheet's row. ``formats`` gives the number format of each field that holds numbers."""

    def __init__(self, layout: Layout, sheet: Sheet, palette: Palette, formats: Mapping[str, str], lang: str) -> None:
        self.layout, self.sheet, self.palette, self.lang = layout, sheet, palette, lang
        self._looks = {field.key: field_look(field, formats.get(field.key, "General")) for field in sheet.fields}
        # Every style is asked for now: rows are made after openpyxl has saved the book and its list of styles.
        self._cells = {
            (field.key, variant): self._cell(field, variant)
            for field in sheet.fields
            for variant in (LIVE, VALUE, UNDEFINED, BLANK)
        }
        plain = TEXT.but(line=THIN)
        greyed = plain.but(ink=FROZEN, italic=True)
        self._texts = {
            (masked, quoted): self.number((greyed if masked else plain).but(quoted=quoted))
            for masked in (False, True)
            for quoted in (False, True)
        }
        self._templates: dict[tuple[str, ...], str] = {}
        self.text = lru_cache(maxsize=65_536)(self._text)
        self.masked_text = lru_cache(maxsize=65_536)(partial(self._text, masked=True))

    def row(self, variants: tuple[str, ...]) -> str:
        """The template of a row whose fields have these variants."""
        if variants not in self._templates:
            cells = [
                self._cells[field.key, variant] for field, variant in zip(self.sheet.fields, variants, strict=True)
            ]
            self._templates[variants] = f'<row r="{OWN}">{"".join(cells)}</row>'
        return self._templates[variants]

    def _cell(self, field: Field, variant: str) -> str:
        """The template of one cell."""
        look = self._looks[field.key]
        start = f'<c r="{field.letter}{OWN}"'
        if variant == BLANK:
            return f'{start} s="{self.number(look)}"/>%.0s'
        if field.kind == "text":
            return f'{start} t="inlineStr" s="%s</t></is></c>'
        if variant == UNDEFINED and field.kind in ("step", "spread", "frozen"):
            marked = self.number(look.but(italic=True, format="General", across="center"))
            text = in_xml(say("cli.undefined", self.lang))
            return f'{start} s="{marked}" t="inlineStr"><is><t>{text}</t></is></c>%.0s'
        formula = "" if variant == VALUE else self.formula(field, undefined=variant == UNDEFINED)
        if not formula:
            alone = field.computed or (field.kind == "input" and variant == VALUE)
            return f'{start} s="{self.number(STALE.but(format=look.format) if alone else look)}"><v>%s</v></c>'
        kind = ' t="str"' if field.kind == "check" else ""
        return f'{start} s="{self.number(look)}"{kind}><f>{in_xml(formula).replace("%", "%%")}</f><v>%s</v></c>'

    def formula(self, field: Field, *, undefined: bool = False) -> str:
        """The field's formula as a template of row numbers; empty where it has none."""
        if field.kind == "step" and field.step is not None and field.step.column.live:
            return step_formula(self.layout, field.step)
        if field.kind == "spread":
            return spread_formula(self.layout, field, self.sheet.level)
        if field.kind == "edited":
            return edited_formula(self.layout, field, self.sheet)
        if field.kind == "check":
            return check_formula(self.layout, self.sheet, self.lang, undefined=undefined)
        return ""

    def number(self, look: Look) -> int:
        """The style's number in the book."""
        return self.palette.number(look)

    def _text(self, text: str, *, masked: bool = False) -> str:
        """What a text's piece takes: its style and the text, ready to stand in XML. Texts repeat: each is made once."""
        number = self._texts[masked, looks_like_a_formula(clean(text))]
        return f'{number}"><is><t xml:space="preserve">{in_cell(text)}'


def field_look(field: Field, number_format: str) -> Look:
    """How a field's cells look, with a number format."""
    which = KEY.but(size=9, italic=False, format=WHOLE, line=THIN)
    copied = Look(ink=FROZEN, size=9, line=THIN)
    looks = {
        "number": which,
        "mask": which,
        "fixed": which.but(across="right"),
        "text": TEXT.but(line=THIN),
        "input": INPUT.but(format=number_format),
        "frozen": Look(ink=FROZEN, fill=COLOURS["check"][1], line=THIN, format=number_format),
        "check": body("check", ink=COLOURS["check"][0], bold=True, across="center"),
        "given": copied.but(format=number_format),
        "edited": copied.but(format=WHOLE),
    }
    if number_format in (DOT, CIRCLE) and field.computed:
        return body(field.stage, format=number_format, across="center", bold=True, ink=DOT_INK)
    return looks.get(field.kind) or body(field.stage, format=number_format)
