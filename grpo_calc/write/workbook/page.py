"""The one page that a teacher projects: a small batch whole, on one A4 landscape sheet, every number a live formula."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from openpyxl.utils import get_column_letter

from grpo_calc.column import Level, label
from grpo_calc.over import Symbolic
from grpo_calc.say import say
from grpo_calc.sym import Name, excel, plain
from grpo_calc.write.workbook.curve import inlined
from grpo_calc.write.workbook.heads import check_colours, paper, tint
from grpo_calc.write.workbook.layout import COMPLETION, GROUP, OWN, TITLES, Layout
from grpo_calc.write.workbook.loss import LossSheet, PrintedFigure, agreement, met_formula
from grpo_calc.write.workbook.pen import Pen
from grpo_calc.write.workbook.stages import stage
from grpo_calc.write.workbook.styles import (
    CLIPPED_INK,
    CLIPPED_TINT,
    COLOURS,
    DOT,
    DOT_INK,
    FROZEN,
    INK,
    KEY,
    PALE,
    SUBTITLE,
    TEXT,
    THIN,
    TITLE,
    WHOLE,
    Look,
    body,
    head,
    number_format,
)  # fmt: skip
from grpo_calc.write.workbook.text import width
from grpo_calc.write.workbook.values import Values

PAGE = "Page"
TALL = 18
BAND, SYMBOL, NAME, FORMULA, FIRST = 4, 5, 6, 7, 8
SHOWN = (
    *("reward", "logp_new", "logp_old", "logp_ref", "advantage", "log_ratio", "ratio", "clipped_ratio"),
    *(
        "surrogate",
        "clipped_surrogate",
        "token_objective",
        "clipped",
        "k1",
        "k2",
        "k3",
        "kl_proxy",
        "token_loss",
        "gradient",
    ),
)
IDS = ("row", "completion_id", "token")
CARD = ("surrogate_objective", "kl", "objective", "loss", "clip_fraction")


@dataclass(frozen=True)
class Shown:
    """One column of the page: what it shows and where."""

    name: str
    lead: str
    stage: str
    letter: str


class Page:
    """Writes the page. ``rows`` gives, for each token, its row on Tokens, Completions and Groups."""

    def __init__(self, pen: Pen, layout: Layout, values: Values, lang: str) -> None:
        self.pen, self.layout, self.values, self.lang = pen, layout, values, lang
        block = next(values.blocks())
        self.numbers: Mapping[str, Any] = block.columns if block.end == layout.part.completions else self._all()
        self.columns = self._columns()
        self.letters = {shown.lead: shown.letter for shown in self.columns}

    def _all(self) -> Mapping[str, Any]:
        blocks = [block.columns for block in self.values.blocks()]
        levels = self.layout.plan.levels
        return {
            name: x if levels[name] is Level.BATCH else np.concatenate([b[name] for b in blocks])
            for name, x in blocks[0].items()
            if name in levels
        }

    @property
    def count(self) -> int:
        """How many tokens the page has."""
        return self.layout.part.tokens

    @property
    def last(self) -> int:
        """The row of the last token."""
        return FIRST + self.count - 1

    @property
    def height(self) -> float:
        """The height of a token's row: the page is filled, and never overfull."""
        return min(max(240 / self.count, 16.0), 32.0)

    def _columns(self) -> list[Shown]:
        plan, table = self.layout.plan, self.layout.part.table
        one_each = bool((np.diff(table.token_offsets) <= 1).all())
        ids = [name for name in IDS if name == "row" or (name in table.texts if name == "token" else not one_each)]
        has_kl = "token_kl" in plan.leads
        unseen = set() if has_kl else {"k1", "k2", "k3", "kl_proxy", "logp_ref"}
        if plan.recipe.roles["kl_base"] == "old" and plan.leads.get("token_kl") != "k1":
            unseen.add("k1")  # it is log r once more
        wanted = [name for name in SHOWN if self._has(name) and name not in unseen]
        leads = list(dict.fromkeys(plan.leads.get(name, name) for name in wanted))
        listed = [(name, name, "row") for name in ids]
        listed += [(name, name, "inputs" if plan.step(name) is None else stage(plan.step(name))) for name in leads]
        checks = [("numpy", "numpy", "check"), ("check", "check", "check")]
        return [Shown(*shown, get_column_letter(place)) for place, shown in enumerate([*listed, *checks], start=1)]

    def _has(self, name: str) -> bool:
        plan = self.layout.plan
        return plan.leads.get(name, name) in plan.levels

    # -- references --------------------------------------------------------------------------------------------------

    @cached_property
    def marks(self) -> list[dict[str, str]]:
        """For each token, the row numbers that a reference's marks stand for."""
        part = self.layout.part
        completions = part.table.completion_of_token
        groups = part.table.group_of_completion[completions]
        own = self.layout.token_rows()
        return [
            {OWN: str(o), COMPLETION: str(6 + c), GROUP: str(6 + g)}
            for o, c, g in zip(own, completions.tolist(), groups.tolist(), strict=True)
        ]

    def elsewhere(self, name: str, place: int) -> str:
        """A reference from the page to a value on another sheet, for a token."""
        level = self.layout.plan.levels.get(name, Level.BATCH)
        if level is Level.BATCH:
            return self.layout.batch_cell(name)
        letter = self.layout.sheets[level].letters[name]
        mark = {Level.TOKEN: OWN, Level.COMPLETION: COMPLETION, Level.GROUP: GROUP}[level]
        return f"{TITLES[level]}!{letter}{self.marks[place][mark]}"

    def formula(self, shown: Shown, place: int) -> str:
        """A token's formula on the page: of its own cells where the page shows what it reads."""
        step = self.layout.plan.step(shown.lead)
        if step is None or step.level is not Level.TOKEN:
            return self.elsewhere(shown.lead, place)
        row = FIRST + place

        def stays(name: str) -> bool:
            off = self.layout.plan.step(name)
            return name in self.letters or off is None or off.level is not Level.TOKEN

        def cell(name: str) -> str:
            return f"{self.letters[name]}{row}" if name in self.letters else self.elsewhere(name, place)

        return excel(inlined(step.expression, self.layout.plan, stays), cell, str)

    # -- writing -----------------------------------------------------------------------------------------------------

    def write(self, title: str, loss: LossSheet, figures: Sequence[PrintedFigure]) -> int:
        """Write the page without its charts; gives the first row below the table."""
        self._strip(title)
        self._heads()
        for place in range(self.count):
            self._row(place)
        self._means()
        below = self.last + 3
        for row in range(below, below + TALL):
            self.pen.sheet.row_dimensions[row].height = 25 if self.count <= 8 else 21
        self._card(below, loss, figures)
        worksheet = self.pen.sheet
        letter = self.letters.get(self.layout.plan.leads.get("clipped", ""), "")
        computed = [shown.letter for shown in self.columns if shown.stage in ("ratio", "surrogate")]
        if letter and computed:
            tint(
                worksheet,
                f"{computed[0]}{FIRST}:{computed[-1]}{self.last}",
                f"${letter}{FIRST}=1",
                CLIPPED_TINT,
                CLIPPED_INK,
            )
        check_colours(worksheet, f"{self.letters['check']}{FIRST}:{self.letters['check']}{self.last}", self.lang)
        worksheet.sheet_view.showGridLines = False
        worksheet.freeze_panes = f"A{FIRST}"
        worksheet.print_area = f"A1:{self.columns[-1].letter}{below + TALL - 1}"
        paper(worksheet, tall=1)
        return below

    def _strip(self, title: str) -> None:
        pen, last = self.pen, len(self.columns)
        pen.text("A1", title, TITLE.but(size=18))
        pen.text("A2", say("workbook.about_page", self.lang, row=FORMULA), SUBTITLE)
        names = [n for n in ("eps_low", "eps_high", "beta") if n != "beta" or "kl" in self.layout.plan.leads]
        for place, name in enumerate(reversed(names)):
            value, name_at = last - 3 * place, last - 3 * place - 1
            pen.text(f"{get_column_letter(name_at)}1", _greek(name), Look(ink=PALE, size=11))
            shown = Look(ink="B45309", bold=True, size=14, across="left", format="General")
            pen.formula(f"{get_column_letter(value)}1", name, self.layout.worked.recipe.parameters[name], shown)
        pen.merged(
            f"{get_column_letter(last - 8)}2:{get_column_letter(last)}2",
            say("workbook.change_them", self.lang),
            SUBTITLE.but(across="right", size=8),
        )
        pen.sheet.row_dimensions[1].height, pen.sheet.row_dimensions[3].height = 28, 6

    def _heads(self) -> None:
        pen = self.pen
        for name, columns in groupby(self.columns, key=lambda shown: shown.stage):
            run = [shown.letter for shown in columns]
            pen.merged(f"{run[0]}{BAND}:{run[-1]}{BAND}", say(f"workbook.stage_{name}", self.lang), head(name, size=11))
        for shown in self.columns:
            symbol, name = self._words(shown)
            pen.text(f"{shown.letter}{SYMBOL}", symbol, head(shown.stage, size=12))
            pen.text(f"{shown.letter}{NAME}", name, head(shown.stage, size=8, bold=False))
            step = self.layout.plan.step(shown.lead)
            if step is not None:
                tip = f"{symbol} = {plain(step.expression, lambda key: label(key).symbol)}"
                source = say("workbook.tip_source", self.lang, source=step.column.source)
                pen.tip(f"{shown.letter}{SYMBOL}", f"{symbol}: {name} ({shown.lead})\n{tip}\n{source}")
            pen.text(
                f"{shown.letter}{FORMULA}",
                self._first_formula(shown),
                Look(ink=PALE, size=7.5, italic=True, across="center", wrap=True, fill="F8FAFC", line="medium 94A3B8"),
            )
            pen.sheet.column_dimensions[shown.letter].width = self._width(shown)
        longest = max(len(self._first_formula(shown)) / self._width(shown) for shown in self.columns)
        heights = {BAND: 20, SYMBOL: 24, NAME: 28, FORMULA: min(max(28, 10.5 * (1 + int(longest / 1.3))), 84)}
        for row, height in heights.items():
            pen.sheet.row_dimensions[row].height = height

    def _words(self, shown: Shown) -> tuple[str, str]:
        fixed = {"row": "#", "completion_id": "i", "token": "token", "numpy": "NumPy", "check": "✓"}
        if shown.name in fixed:
            key = {"numpy": "numpy_loss", "token": "name_token"}.get(shown.name, f"name_{shown.name}")
            return fixed[shown.name], say(f"workbook.{key}", self.lang)
        step = self.layout.plan.step(shown.lead)
        named = label(shown.lead) if step is None else step.label
        chosen = " ★" if shown.lead == self.layout.plan.leads.get("token_kl") else ""
        return named.symbol + chosen, named.name(self.lang)

    def _first_formula(self, shown: Shown) -> str:
        if shown.stage == "row":
            return ""
        if shown.name == "numpy":
            return say("workbook.frozen", self.lang)
        if shown.name == "check":
            return "|Δ| ≤ tol"
        return _short(f"={self.formula(shown, 0)}")

    def _width(self, shown: Shown) -> float:
        table = self.layout.part.table
        if shown.name == "row":
            return 4.5
        if shown.name == "completion_id":
            return min(max(9.0, *(width(str(i)) + 1.5 for i in table.completion_id)), 14)
        if shown.name == "token":
            return min(max(7.0, *(width(text) + 1.5 for text in table.texts["token"])), 16)
        return {"reward": 7.0, "clipped": 9.5, "check": 7.5, "k3": 13.0, "gradient": 11.5}.get(shown.lead, 10.0)

    def _row(self, place: int) -> None:
        pen, row, table = self.pen, FIRST + place, self.layout.part.table
        completion = int(table.completion_of_token[place])
        starts = (
            place > 0 and completion != int(table.completion_of_token[place - 1]) and "completion_id" in self.letters
        )
        above = f"thin {PALE}" if starts else ""
        pen.sheet.row_dimensions[row].height = self.height
        for shown in self.columns:
            cell = f"{shown.letter}{row}"
            if shown.name == "row":
                pen.number(
                    cell, int(table.row[place]), KEY.but(size=10, italic=False, line=THIN, format=WHOLE, above=above)
                )
            elif shown.stage == "row":
                text = table.completion_id[completion] if shown.name == "completion_id" else table.texts["token"][place]
                pen.text(cell, text, TEXT.but(line=THIN, above=above, size=11))
            elif shown.stage == "check":
                self._checked(shown, cell, place, above)
            else:
                self._number(shown, cell, place, above)

    def _number(self, shown: Shown, cell: str, place: int, above: str) -> None:
        numbers = self.numbers[shown.lead]
        shape = number_format(shown.lead, numbers)
        look = body(
            shown.stage,
            size=11,
            format="0.0000" if shape == "General" else shape,
            above=above,
            bold=shown.lead in ("token_objective", "token_loss"),
        )
        if shape == DOT:
            look = look.but(across="center", bold=True, ink=DOT_INK, size=12)
        self._valued(cell, self.formula(shown, place), float(numbers[place]), look)

    def _valued(self, cell: str, formula: str, value: float, look: Look) -> None:
        if np.isfinite(value):
            self.pen.formula(cell, formula, value, look)
        else:
            self.pen.text(cell, say("cli.undefined", self.lang), look.but(italic=True, across="center", size=7))

    def _checked(self, shown: Shown, cell: str, place: int, above: str) -> None:
        sheet = self.layout.sheets[Level.TOKEN]
        own = self.marks[place][OWN]
        look = body("check", size=11, above=above)
        if shown.name == "check":
            self.pen.formula(
                cell,
                f"Tokens!{sheet.letters['check']}{own}",
                "✓",
                look.but(ink=COLOURS["check"][0], bold=True, across="center"),
            )
            return
        lead = self.layout.plan.leads["token_loss"]
        numbers = self.numbers[lead]
        self._valued(
            cell,
            f"Tokens!{sheet.letters['numpy_token_loss']}{own}",
            float(numbers[place]),
            look.but(ink=FROZEN, format=number_format(lead, numbers)),
        )

    def _means(self) -> None:
        pen, row = self.pen, self.last + 1
        total = Look(bold=True, size=10, above=f"medium {PALE}")
        pen.band(f"A{row}:{self.columns[-1].letter}{row}", total)
        pen.text(f"A{row}", say("workbook.mean_over_tokens", self.lang), total.but(across="left", size=9))
        for shown in self.columns:
            if shown.stage not in ("ratio", "surrogate", "kl", "loss"):
                continue
            numbers = self.numbers[shown.lead]
            area = f"{shown.letter}{FIRST}:{shown.letter}{self.last}"
            shape = number_format(shown.lead, numbers)
            if np.isfinite(numbers).all():
                mean = excel(Symbolic().mean(Name(shown.lead)), str, lambda _, area=area: area)  # type: ignore[misc]
                value = float(np.mean(numbers))
                shape = "0%" if shape == DOT else _finer(shape, value)
                pen.formula(f"{shown.letter}{row}", mean, value, total.but(format=shape))
        pen.sheet.row_dimensions[row].height = 24

    # -- the card beside the charts ----------------------------------------------------------------------------------

    def card_column(self) -> int:
        """The first column of the summary card."""
        return len(self.columns) - 5

    def _card(self, top: int, loss: LossSheet, figures: Sequence[PrintedFigure]) -> None:
        pen, first = self.pen, self.card_column()
        letters = [get_column_letter(first + i) for i in range(6)]
        pen.merged(f"{letters[0]}{top}:{letters[-1]}{top}", say("workbook.summary", self.lang), head("loss", size=11))
        printed = {figure.column: figure for figure in figures if figure.row is None}
        row = top + 1
        for name in CARD:
            if not self._has(name):
                continue
            value, bold = loss.value(name), name in ("loss", "objective")
            self._card_label(f"{letters[0]}{row}:{letters[2]}{row}", name, bold=bold)
            shape = "0.0%" if name == "clip_fraction" else "+0.000000;-0.000000;0.000000"
            look = Look(bold=True, size=14 if bold else 12, format=shape, line=THIN)
            if name in printed:
                figure = printed[name]
                look = look.but(format="0." + "0" * len(figure.printed.partition(".")[2]))
            pen.band(f"{letters[3]}{row}:{letters[-1]}{row}", look)
            pen.sheet.merge_cells(f"{letters[3]}{row}:{letters[4 if name in printed else 5]}{row}")
            self._valued(f"{letters[3]}{row}", self.layout.batch_cell(name), value, look)
            if name in printed:
                met = met_formula(printed[name], f"{letters[3]}{row}", printed[name].printed)
                good = agreement(printed[name], value) == "rounded"
                pen.formula(
                    f"{letters[5]}{row}",
                    met,
                    "✓" if good else "✗",
                    Look(ink=COLOURS["check"][0], bold=True, across="center", line=THIN),
                )
            row += 1
        if printed:
            pen.merged(
                f"{letters[0]}{row}:{letters[-1]}{row}",
                say("workbook.as_printed", self.lang),
                SUBTITLE.but(across="right", size=8),
            )
            row += 1
        badge = Look(ink=COLOURS["check"][0], fill=COLOURS["check"][1], bold=True, size=12, across="center")
        pen.band(f"{letters[0]}{row + 1}:{letters[-1]}{row + 1}", badge)
        pen.formula(f"{letters[0]}{row + 1}", loss.badge(), say("workbook.badge_right", self.lang), badge)
        pen.sheet.merge_cells(f"{letters[0]}{row + 1}:{letters[-1]}{row + 1}")
        words = say("workbook.with_kl" if self._has("kl") else "workbook.without_kl", self.lang)
        pen.merged(
            f"{letters[0]}{row + 3}:{letters[-1]}{row + 3}", words, Look(ink=INK, italic=True, size=9, across="center")
        )
        reduction = self.layout.worked.recipe.roles["reduction"]
        recipe = say(
            "workbook.recipe_and_reduction", self.lang, name=self.layout.worked.recipe.name, reduction=reduction
        )
        pen.merged(
            f"{letters[0]}{row + 4}:{letters[-1]}{row + 4}",
            recipe,
            Look(ink=PALE, italic=True, size=8, across="center"),
        )

    def _card_label(self, cells: str, name: str, *, bold: bool) -> None:
        named = label(name)
        step = self.layout.plan.step(name)
        words = named if step is None or named.symbol != name else step.label
        self.pen.merged(
            cells,
            f"{words.symbol}  {words.name(self.lang)}",
            Look(ink=INK if bold else PALE, bold=bold, size=10, across="left", line=THIN),
        )


def _finer(shape: str, mean: float) -> str:
    """A mean's number format: its column's, with six decimals where those would show nothing of it."""
    return shape.replace("0.0000", "0.000000") if "0.00000" not in shape and 0 < abs(mean) < 0.01 else shape


_LONG = re.compile(r"(\d\.\d{4})\d{6,}")


def _short(formula: str) -> str:
    """A formula to look at: its long numbers cut, and marked so.

    >>> _short("=A1*0.16666666666666666")
    '=A1*0.1666…'
    """
    return _LONG.sub(r"\1…", formula)


def _greek(name: str) -> str:
    return {"eps_low": "ε low", "eps_high": "ε high", "beta": "β"}[name]
