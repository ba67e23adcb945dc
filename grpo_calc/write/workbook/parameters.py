"""The Parameters sheet: named cells with validation, the recipe's choices, and the counts of edits that checks read."""

from __future__ import annotations

import math
from typing import Literal

from openpyxl.worksheet.datavalidation import DataValidation

from grpo_calc.column import Level, label
from grpo_calc.roles import PARAMETERS
from grpo_calc.say import cited, say
from grpo_calc.write.workbook.formulas import TOLERANCE, batch_edits, edited_total, edited_word, sheet_edits
from grpo_calc.write.workbook.heads import paper
from grpo_calc.write.workbook.layout import TITLES, Layout
from grpo_calc.write.workbook.pen import Pen
from grpo_calc.write.workbook.styles import FROZEN, INPUT, KEY, SMALL, SUBTITLE, TEXT, THIN, TITLE, WHOLE, Look, head

SHEET = "Parameters"
CHECK_TOLERANCE = 1e-9
FIRST = 5
FREE = (0.0, -math.inf, math.inf)
"""A parameter that the recipe makes for this batch (the weight of a reward) may be any number."""


def parameters(pen: Pen, layout: Layout, lang: str) -> dict[str, str]:
    """Write the sheet; gives the defined names and the cells they stand for."""
    worksheet = pen.sheet
    pen.text("A1", say("workbook.title_parameters", lang), TITLE)
    pen.text("A2", say("workbook.about_parameters", lang), SUBTITLE)
    for letter, key in zip(
        "ABCDEFG", ("name", "symbol", "value", "meaning", "allowed", "given", "edited"), strict=True
    ):
        pen.text(f"{letter}4", say(f"workbook.parameter_{key}", lang), head("inputs" if letter < "F" else "given"))
    names: dict[str, str] = {}
    row = FIRST
    for name, value in layout.worked.parameters.items():
        _, least, greatest = PARAMETERS.get(name, FREE)
        _line(pen, row, name, value, _allowed(least, greatest, lang), lang)
        _validated(pen, row, name, least, greatest, lang)
        names[name] = f"{SHEET}!$C${row}"
        row += 1
    _line(pen, row, TOLERANCE, CHECK_TOLERANCE, _allowed(0, 1, lang), lang)
    _validated(pen, row, TOLERANCE, 0.0, 1.0, lang)
    names[TOLERANCE] = f"{SHEET}!$C${row}"
    row = _choices(pen, layout, row + 2, lang)
    names |= _edits(pen, layout, row + 1, lang)
    for letter, width in zip("ABCDEFG", (30, 12, 14, 58, 14, 14, 10), strict=True):
        worksheet.column_dimensions[letter].width = width
    worksheet.row_dimensions[1].height = 26
    worksheet.freeze_panes = "A5"
    worksheet.print_area = f"A1:G{row - 1}"
    paper(worksheet, tall=1)
    return names


def edited_parameter(layout: Layout, name: str) -> str:
    """The cell that is 1 when a parameter was edited."""
    return f"{SHEET}!$G${FIRST + list(layout.worked.parameters).index(name)}"


def _line(pen: Pen, row: int, name: str, value: float, allowed: str, lang: str) -> None:
    named = label(name)
    tolerance = name == TOLERANCE
    small = name in (TOLERANCE, "tie_tol")
    pen.text(f"A{row}", name, TEXT.but(bold=True, line=THIN))
    pen.text(f"B{row}", "tol" if tolerance else greek(name), TEXT.but(line=THIN))
    pen.number(
        f"C{row}", value, INPUT.but(format="0" if name == "ddof" else "0.0E+00" if small else "General", bold=True)
    )
    pen.text(
        f"D{row}", say("workbook.tolerance", lang) if tolerance else named.name(lang), TEXT.but(line=THIN, indent=1)
    )
    pen.text(f"E{row}", allowed, KEY.but(size=9, line=THIN))
    pen.number(f"F{row}", value, Look(ink=FROZEN, line=THIN, format="0.0E+00" if small else "General"))
    word = f'[=1]"{edited_word(lang)}";[=0]"";0'
    pen.formula(f"G{row}", f"IF(C{row}=F{row},0,1)", 0, Look(ink=FROZEN, line=THIN, format=word, across="center"))


def greek(name: str) -> str:
    """A parameter's symbol."""
    known = {"eps_low": "ε low", "eps_high": "ε high", "beta": "β"}
    return known.get(name, label(name).symbol)


def _allowed(least: float, greatest: float, lang: str) -> str:
    low, high = ("" if math.isinf(bound) or bound == 1e-300 else f"{bound:g}" for bound in (least, greatest))
    if not low or not high:
        return f">= {low}" if low else f"<= {high}" if high else say("workbook.any_number", lang)
    return f"{low} … {high}"


def _validated(pen: Pen, row: int, name: str, least: float, greatest: float, lang: str) -> None:
    low, high = max(least, -1e300), min(greatest, 1e300)
    kind: Literal["whole", "decimal"] = "whole" if name == "ddof" else "decimal"
    asked = say("workbook.want_parameter", lang, name=name, allowed=_allowed(least, greatest, lang))
    rule = DataValidation(
        type=kind, operator="between", formula1=f"{low:G}", formula2=f"{high:G}",
        showErrorMessage=True, showInputMessage=True,
        errorTitle="grpo-calc", error=asked, promptTitle=name, prompt=asked,
    )  # fmt: skip
    rule.add(f"C{row}")
    pen.sheet.add_data_validation(rule)


def _choices(pen: Pen, layout: Layout, row: int, lang: str) -> int:
    """The recipe's name, source and roles; gives the next free row."""
    recipe = layout.worked.recipe
    pen.merged(f"A{row}:D{row}", say("workbook.recipe", lang, name=recipe.name), head("loss", across="left"))
    lines = [(say("workbook.role_source", lang), cited(recipe.source, lang)), *recipe.told.items()]
    for place, (role, choice) in enumerate(lines, start=row + 1):
        pen.text(f"A{place}", role, TEXT.but(bold=True, line=THIN))
        pen.merged(f"B{place}:D{place}", choice, TEXT.but(line=THIN, wrap=True))
        if len(choice) > 70:
            pen.sheet.row_dimensions[place].height = 14 * (1 + len(choice) // 65)
    return row + 1 + len(lines)


def _edits(pen: Pen, layout: Layout, row: int, lang: str) -> dict[str, str]:
    """What the checks read: how many inputs of each level, and how many of a sheet's parameters, were edited."""
    pen.merged(f"A{row}:D{row}", say("workbook.edits", lang), head("given", across="left"))
    names: dict[str, str] = {}
    terms: list[tuple[str, str, str]] = []
    for level, sheet in layout.sheets.items():
        if "edited" in sheet.letters and layout.count(level):
            terms.append(
                (
                    batch_edits(level),
                    edited_total(layout, level),
                    say("workbook.edited_rows", lang, sheet=TITLES[level]),
                )
            )
        if sheet.reach.parameters:
            flags = "+".join(
                edited_parameter(layout, name).partition("!")[2]
                for name in recipe_order(layout, sheet.reach.parameters)
            )
            terms.append((sheet_edits(sheet), flags, say("workbook.edited_parameters", lang, sheet=sheet.title)))
    for place, (name, formula, meaning) in enumerate(terms, start=row + 1):
        pen.text(f"A{place}", name, SMALL.but(line=THIN))
        pen.formula(f"C{place}", formula, 0, Look(ink=FROZEN, line=THIN, format=WHOLE))
        pen.text(f"D{place}", meaning, SMALL.but(line=THIN, indent=1))
        names[name] = f"{SHEET}!$C${place}"
    return names


def recipe_order(layout: Layout, names: frozenset[str]) -> list[str]:
    """Parameters in the recipe's order."""
    return [name for name in layout.worked.parameters if name in names]


def batch_levels(layout: Layout) -> list[Level]:
    """The levels whose rows of edited inputs are counted for the batch."""
    return [level for level, sheet in layout.sheets.items() if "edited" in sheet.letters and layout.count(level) > 0]
