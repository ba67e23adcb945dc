"""The formulas of the sheets: a column's own function printed for cells; checks and counts of edits around them."""

from __future__ import annotations

from collections.abc import Iterable

from grpo_calc.column import Level
from grpo_calc.over import BELOW
from grpo_calc.plan import Step
from grpo_calc.say import say
from grpo_calc.sym import excel
from grpo_calc.write.workbook.extent import FIRST_ROW
from grpo_calc.write.workbook.layout import FIRST, LAST, NEXT, OWN, TITLES, Field, Layout, Sheet, edited_key
from grpo_calc.write.workbook.reach import Reach

TOLERANCE = "check_tol"
"""The named cell of the checks' tolerance: |live - NumPy| <= check_tol max(1, |NumPy|)."""

TICK, CROSS = "✓", "✗"


def step_formula(layout: Layout, step: Step) -> str:
    """A column's formula for any row of its sheet, as a template of row numbers (see ``layout``)."""
    finer = step.consumes if step.consumes is not None else step.level

    def cell(name: str) -> str:
        if name == BELOW:
            return f"{layout.sheets[step.level].letters[step.name]}{NEXT}"
        return layout.cell(name, step.level)

    return excel(step.expression, cell, lambda name: layout.area(name, finer, step.level))


def spread_formula(layout: Layout, field: Field, level: Level) -> str:
    """A reference to the coarser row's cell."""
    return layout.above(field.of, level)


def edited_formula(layout: Layout, field: Field, sheet: Sheet) -> str:
    """How many inputs were edited: 1 where the row's own differ from their copies, or the sum over the finer rows."""
    finer = next(level for level, title in TITLES.items() if field.key == edited_key(sheet.level, level))
    if finer is sheet.level:
        same = ",".join(f"{sheet.letters[copy.of]}{OWN}={copy.letter}{OWN}" for copy in sheet.of_kind("given"))
        return f"IF(AND({same}),0,1)"
    below = Level(sheet.level + 1)
    letter = layout.sheets[below].letters[edited_key(below, finer)]
    return f"SUM({TITLES[below]}!{letter}{FIRST}:{letter}{LAST})"


def edits(layout: Layout, found: Reach, at: Level) -> list[str]:
    """References whose sum says how many edited inputs a row of a level depends on, parameters apart."""
    terms = []
    for above, of in sorted(found.rows):
        if above is Level.BATCH:
            terms.append(batch_edits(of))
            continue
        terms.append(layout.on_sheet(edited_key(above, of), above, at))
    return terms


def batch_edits(of: Level) -> str:
    """The defined name of the number of edited rows of a level."""
    return f"edited_rows_of_{TITLES[of].lower()}"


def sheet_edits(sheet: Sheet) -> str:
    """The defined name of the number of edited parameters that a sheet's rows depend on."""
    return f"edited_parameters_of_{sheet.title.lower()}"


def edited_total(layout: Layout, level: Level) -> str:
    """The number of edited rows of a level."""
    letter = layout.sheets[level].letters["edited"]
    return f"SUM({TITLES[level]}!{letter}{FIRST_ROW}:{letter}{FIRST_ROW + layout.count(level) - 1})"


def agrees(*pairs: tuple[str, str]) -> str:
    """Whether live cells agree with frozen ones, within the named tolerance of the largest.

    >>> agrees(("A1", "B1"), ("A2", "B2"))
    'MAX(ABS(A1-B1),ABS(A2-B2))<=check_tol*MAX(1,ABS(B1),ABS(B2))'
    """
    off = ",".join(f"ABS({live}-{frozen})" for live, frozen in pairs)
    sizes = ",".join(f"ABS({frozen})" for _, frozen in pairs)
    return f"{off if len(pairs) == 1 else f'MAX({off})'}<={TOLERANCE}*MAX(1,{sizes})"


def verdict(edited: Iterable[str], agreement: str, lang: str) -> str:
    """The check: edited, else a tick where it agrees, else a cross; an error counts as a cross."""
    right = f'IF(IFERROR({agreement},FALSE),"{TICK}","{CROSS}")'
    terms = "+".join(edited)
    return f'IF({terms}>0,"{edited_word(lang)}",{right})' if terms else right


def edited_word(lang: str) -> str:
    """What a check says after an edit."""
    return say("workbook.edited", lang)


def check_formula(layout: Layout, sheet: Sheet, lang: str, *, undefined: bool = False) -> str:
    """The check of any row of a sheet; an undefined cell holds a text, which is compared as it is."""
    pairs = []
    for field in sheet.of_kind("frozen"):
        total = f"SUM({sheet.computed[0].letter}{OWN}:{sheet.computed[-1].letter}{OWN})"
        pairs.append((total if field.of == "sum" else f"{sheet.letters[field.of]}{OWN}", f"{field.letter}{OWN}"))
    agreement = agrees(*pairs)
    if undefined:
        each = [f"IF(ISNUMBER({frozen}),{agrees((live, frozen))},{live}={frozen})" for live, frozen in pairs]
        agreement = f"AND({','.join(each)})"
    terms = edits(layout, sheet.reach, sheet.level)
    return verdict([*terms, *([sheet_edits(sheet)] if sheet.reach.parameters else [])], agreement, lang)
