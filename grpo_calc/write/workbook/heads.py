"""The heads of a sheet of rows: title, sections, symbols with tooltips, names and keys; panes, widths, rules, print."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from openpyxl.formatting.rule import Rule
from openpyxl.styles import Font, PatternFill
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.properties import PageSetupProperties
from openpyxl.worksheet.worksheet import Worksheet

from grpo_calc.column import Level, label
from grpo_calc.say import cited, say
from grpo_calc.sym import plain
from grpo_calc.write.workbook.cells import Pieces
from grpo_calc.write.workbook.extent import FIRST_ROW
from grpo_calc.write.workbook.formulas import CROSS, TICK, edited_word
from grpo_calc.write.workbook.layout import COMPLETION, FIRST, GROUP, LAST, OWN, Field, Layout, Sheet
from grpo_calc.write.workbook.pen import Pen
from grpo_calc.write.workbook.styles import (
    CLIPPED_INK,
    CLIPPED_TINT,
    EDITED_INK,
    EDITED_TINT,
    KEY,
    SMALL,
    TITLE,
    WRONG_INK,
    WRONG_TINT,
    head,
)  # fmt: skip
from grpo_calc.write.workbook.text import width

BAND_ROW, SYMBOL_ROW, NAME_ROW, KEY_ROW = 2, 3, 4, 5
WIDEST = 22


def heads(pen: Pen, layout: Layout, sheet: Sheet, pieces: Pieces, lang: str) -> None:
    """Write the heads of a sheet of rows."""
    worksheet = pen.sheet
    pen.text("A1", say(f"workbook.title_{sheet.title.lower()}", lang), TITLE)
    after = sheet.fields[min(6, len(sheet.fields) - 1)].letter
    pen.text(f"{after}1", say(f"workbook.about_{sheet.title.lower()}", lang), SMALL)
    for stage, fields in groupby(sheet.fields, key=lambda field: field.stage):
        run = [field.letter for field in fields]
        pen.merged(f"{run[0]}{BAND_ROW}:{run[-1]}{BAND_ROW}", say(f"workbook.stage_{stage}", lang), head(stage, size=9))
    for field in sheet.fields:
        symbol, name = words(field, lang)
        pen.text(f"{field.letter}{SYMBOL_ROW}", symbol, head(field.stage))
        pen.text(f"{field.letter}{NAME_ROW}", name, head(field.stage, size=8, bold=False))
        pen.text(f"{field.letter}{KEY_ROW}", field.key, KEY)
        pen.tip(f"{field.letter}{SYMBOL_ROW}", tip(layout, sheet, field, pieces, lang))
        column = worksheet.column_dimensions[field.letter]
        column.width = _width(layout, field, symbol, name)
        if field.stage == "given":
            column.outlineLevel, column.hidden = 1, True
    worksheet.row_dimensions[1].height = 26
    worksheet.row_dimensions[NAME_ROW].height = 34
    frozen = next((field.letter for field in sheet.fields if field.stage != "row"), "B")
    worksheet.freeze_panes = f"{frozen}{FIRST_ROW}"
    _print(worksheet, layout, sheet)
    if layout.count(sheet.level):
        _rules(worksheet, layout, sheet, lang)
        _validation(worksheet, layout, sheet, lang)


def words(field: Field, lang: str) -> tuple[str, str]:
    """The symbol and the short name over a field."""
    if field.kind == "frozen":
        return (
            ("Σ", say("workbook.numpy_sum", lang))
            if field.of == "sum"
            else (field.label.symbol, say("workbook.numpy_of", lang, name=field.label.name(lang)))
        )
    if field.kind == "given":
        return field.label.symbol, say("workbook.given_of", lang, name=field.label.name(lang))
    if field.kind == "edited":
        return "≠", say("workbook.edited_inputs", lang)
    if field.kind in ("number", "text", "mask", "check"):
        known = {"row": "#", "group_id": "g", "completion_id": "i", "token_index": "t", "check": TICK, "mask": "w"}
        named = field.key in {*known, "token", "token_id"}
        return known.get(field.key, field.key), say(f"workbook.name_{field.key}", lang) if named else field.key
    return field.label.symbol, field.label.name(lang)


def tip(layout: Layout, sheet: Sheet, field: Field, pieces: Pieces, lang: str) -> str:
    """What a head says: the name, the formula in symbols and in cells, the source."""
    symbol, name = words(field, lang)
    lines = [f"{symbol}: {name} ({field.key})"]
    step = field.step or (layout.plan.step(field.of) if field.kind == "spread" else None)
    if step is not None:
        lines.append(f"{symbol} = {plain(step.expression, lambda key: label(key).symbol)}")
    formula = pieces.formula(field)
    if formula and layout.count(sheet.level):
        lines.append(say("workbook.tip_cell", lang, row=FIRST_ROW, formula=f"={first_row(layout, sheet, formula)}"))
    if step is not None:
        lines.append(say("workbook.tip_source", lang, source=cited(step.column.source, lang)))
    if field.kind in ("input", "frozen", "check", "given", "edited"):
        lines.append(say(f"workbook.tip_{field.kind}", lang))
    return "\n".join(lines)


def first_row(layout: Layout, sheet: Sheet, template: str) -> str:
    """A formula's template with the numbers of the sheet's first row."""
    part = layout.part
    first, last = FIRST_ROW, FIRST_ROW
    if sheet.level is Level.COMPLETION and layout.has_tokens:
        last = int(part.last_rows()[0])
    elif sheet.level is Level.GROUP:
        last = FIRST_ROW + int(part.table.group_offsets[1]) - 1
    marks: Mapping[str, int] = {OWN: FIRST_ROW, COMPLETION: FIRST_ROW, GROUP: FIRST_ROW, FIRST: first, LAST: last}
    for mark, number in marks.items():
        template = template.replace(mark, str(number))
    return template


def _width(layout: Layout, field: Field, symbol: str, name: str) -> float:
    table = layout.part.rows
    shown: list[str] = []
    if field.kind == "text":
        ids = {"group_id": table.group_id, "completion_id": table.completion_id}
        shown = [text[:WIDEST] for text in [*ids.get(field.key, table.texts.get(field.key, ()))][:200]]
    heads = max(width(symbol) + 2, *(width(word) * 0.85 + 2 for word in name.split()), min(width(name), 12) * 0.9 + 1)
    numbers = 5.0 if field.kind in ("number", "mask") else 7.0 if field.kind in ("text", "check", "edited") else 10.5
    return min(max([heads, numbers, *(width(text) + 2 for text in shown)]), WIDEST)


def _print(worksheet: Worksheet, layout: Layout, sheet: Sheet) -> None:
    shown = [field.letter for field in sheet.fields if field.stage != "given"]
    frozen = [field.letter for field in sheet.fields if field.stage == "row"]
    worksheet.print_area = f"A1:{shown[-1]}{max(FIRST_ROW + layout.count(sheet.level) - 1, KEY_ROW)}"
    worksheet.print_title_rows = f"1:{KEY_ROW}"
    worksheet.print_title_cols = f"A:{frozen[-1]}"
    paper(worksheet, tall=0, wide=1 if len(shown) <= 24 else 2)


def paper(worksheet: Worksheet, *, tall: int, wide: int = 1) -> None:
    """A4 landscape, fitted to so many pages; sheet, program and page below."""
    worksheet.page_setup.orientation = "landscape"
    worksheet.page_setup.paperSize = 9
    worksheet.page_setup.fitToWidth, worksheet.page_setup.fitToHeight = wide, tall
    worksheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    margins = worksheet.page_margins
    margins.left = margins.right = 0.4
    margins.top, margins.bottom, margins.header, margins.footer = 0.45, 0.6, 0.25, 0.25
    footer: Any = worksheet.oddFooter
    footer.left.text, footer.center.text, footer.right.text = "&A", "grpo-calc", "&P / &N"
    worksheet.print_options.horizontalCentered = True


def _rules(worksheet: Worksheet, layout: Layout, sheet: Sheet, lang: str) -> None:
    last = FIRST_ROW + layout.count(sheet.level) - 1
    if "clipped" in sheet.letters and sheet.computed:
        cells = f"{sheet.computed[0].letter}{FIRST_ROW}:{sheet.computed[-1].letter}{last}"
        tint(worksheet, cells, f"${sheet.letters['clipped']}{FIRST_ROW}=1", CLIPPED_TINT, CLIPPED_INK)
    if "check" in sheet.letters:
        check_colours(worksheet, f"{sheet.letters['check']}{FIRST_ROW}:{sheet.letters['check']}{last}", lang)


def check_colours(worksheet: Worksheet, cells: str, lang: str) -> None:
    """Red for a cross, amber for an edit; a tick is green as it is."""
    first = cells.split(":", maxsplit=1)[0].replace("$", "")
    tint(worksheet, cells, f'{first}="{CROSS}"', WRONG_TINT, WRONG_INK)
    tint(worksheet, cells, f'{first}="{edited_word(lang)}"', EDITED_TINT, EDITED_INK)


def tint(worksheet: Worksheet, cells: str, formula: str, fill: str, ink: str) -> None:
    """A rule that colours cells where a formula holds."""
    style = DifferentialStyle(font=Font(color=ink, bold=True), fill=PatternFill(bgColor=fill))
    worksheet.conditional_formatting.add(cells, Rule(type="expression", dxf=style, formula=[formula]))


def _validation(worksheet: Worksheet, layout: Layout, sheet: Sheet, lang: str) -> None:
    last = FIRST_ROW + layout.count(sheet.level) - 1
    for field in sheet.fields:
        cells = f"{field.letter}{FIRST_ROW}:{field.letter}{last}"
        if field.kind == "text" and field.key in ("group_id", "completion_id"):
            refused(worksheet, cells, lang)
        elif field.kind == "input":
            logp = field.key.startswith("logp_")
            rule = DataValidation(
                type="decimal", operator="lessThanOrEqual" if logp else "between", formula1="0" if logp else "-1E+300",
                formula2=None if logp else "1E+300", errorStyle="warning" if logp else "stop", showErrorMessage=True,
                errorTitle="grpo-calc", error=say("workbook.want_logp" if logp else "workbook.want_number", lang),
            )  # fmt: skip
            rule.add(cells)
            worksheet.add_data_validation(rule)


def refused(worksheet: Worksheet, cells: str, lang: str) -> None:
    """Cells that must not be typed over: the ranges of other sheets follow them."""
    rule = DataValidation(
        type="custom",
        formula1="FALSE",
        showErrorMessage=True,
        errorTitle="grpo-calc",
        error=say("workbook.fixed", lang),
    )
    rule.add(cells)
    worksheet.add_data_validation(rule)


def linked(worksheet: Worksheet, cells: str, lang: str) -> None:
    """Cells that repeat another sheet's: whoever types there is told where to."""
    rule = DataValidation(
        type="custom",
        formula1="FALSE",
        showErrorMessage=True,
        errorTitle="grpo-calc",
        error=say("workbook.linked", lang),
    )
    rule.add(cells)
    worksheet.add_data_validation(rule)


def legend(lang: str) -> str:
    """What the colours of a check mean, in one line."""
    return say("workbook.legend", lang, tick=TICK, cross=CROSS, edited=edited_word(lang))
