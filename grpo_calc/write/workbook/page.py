"""The one page that a teacher projects: a small batch whole, on one A4 landscape sheet, every number a live formula."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

import numpy as np
from openpyxl.utils import get_column_letter

from grpo_calc.column import Level, label
from grpo_calc.over import Symbolic
from grpo_calc.say import Note, cited, say
from grpo_calc.sym import Name, excel, plain
from grpo_calc.write.workbook.card import Card
from grpo_calc.write.workbook.formulas import CROSS, TICK, TOLERANCE
from grpo_calc.write.workbook.heads import check_colours, linked, paper, tint
from grpo_calc.write.workbook.layout import OWN
from grpo_calc.write.workbook.loss import LossSheet, PrintedFigure
from grpo_calc.write.workbook.paged import FIRST, Paged, Shown
from grpo_calc.write.workbook.parameters import greek
from grpo_calc.write.workbook.pen import Pen
from grpo_calc.write.workbook.reach import reach
from grpo_calc.write.workbook.styles import (
    CLIPPED_INK,
    CLIPPED_TINT,
    COLOURS,
    DOT,
    DOT_INK,
    FROZEN,
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
)
from grpo_calc.write.workbook.text import width

TALL = 18
"""The rows that the charts and the card take below the table."""

BAND, SYMBOL, NAME, FORMULA = 4, 5, 6, 7


class Page:
    """Writes the page's table and card."""

    def __init__(self, pen: Pen, paged: Paged) -> None:
        self.pen, self.paged, self.layout, self.lang = pen, paged, paged.layout, pen.palette.lang
        self.columns, self.letters = paged.columns, paged.letters
        self.remade = False
        self.count, self.last, self.numbers = paged.count, paged.last, paged.numbers

    @property
    def height(self) -> float:
        """The height of a token's row: the page is filled, and never overfull."""
        return min(max(240 / self.count, 16.0), 32.0)

    def write(self, title: str, loss: LossSheet, figures: Sequence[PrintedFigure], notes: Sequence[Note] = ()) -> int:
        """Write the page without its charts; gives the first row below the table."""
        self._strip(title)
        self.remade = any(note.key.startswith("lesson.") and note.key.endswith("_reconstructed") for note in notes)
        self._heads()
        self._whose(figures)
        for place in range(self.count):
            self._row(place)
        self._means()
        below = self.last + 3
        for row in range(below, below + TALL):
            self.pen.sheet.row_dimensions[row].height = 25 if self.count <= 8 else 21
        Card(self.pen, self.paged, loss).write(below, figures)
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
        for shown in self.columns:
            if shown.stage != "check" and (shown.stage == "row" or self.paged.linked(shown)):
                linked(worksheet, f"{shown.letter}{FIRST}:{shown.letter}{self.last}", self.lang)
        check_colours(worksheet, f"{self.letters['check']}{FIRST}:{self.letters['check']}{self.last}", self.lang)
        worksheet.sheet_view.showGridLines = False
        ids = sum(1 for shown in self.columns if shown.stage == "row")
        worksheet.freeze_panes = f"{self.columns[ids].letter}{FIRST}"
        worksheet.print_area = f"A1:{self.columns[-1].letter}{below + TALL - 1}"
        paper(worksheet, tall=1)
        return below

    def _strip(self, title: str) -> None:
        pen, last = self.pen, len(self.columns)
        pen.text("A1", title, TITLE.but(size=18))
        plan = self.layout.plan
        said = [say("workbook.about_page", self.lang, row=FORMULA)]
        if plan.leads.get("token_kl") in self.letters:
            said.append(say("workbook.about_page_kl", self.lang))
        if plan.leads.get("clipped") in self.letters:
            capped = plan.leads["clipped"] == "cispo_capped"
            said.append(say(f"workbook.about_page_{'cap' if capped else 'clip'}", self.lang))
        pen.text("A2", " ".join(said), SUBTITLE)
        names = self._parameters()
        for place, name in enumerate(reversed(names)):
            value, name_at = last - 3 * place, last - 3 * place - 1
            pen.text(f"{get_column_letter(name_at)}1", greek(name), Look(ink=PALE, size=11))
            shown = Look(ink="B45309", bold=True, size=14, across="left", format="General")
            pen.formula(f"{get_column_letter(value)}1", name, self.layout.worked.recipe.parameters[name], shown)
        pen.merged(
            f"{get_column_letter(last - 8)}2:{get_column_letter(last)}2",
            say("workbook.change_them", self.lang),
            SUBTITLE.but(across="right", size=8),
        )
        pen.sheet.row_dimensions[1].height, pen.sheet.row_dimensions[3].height = 28, 6

    def _parameters(self) -> list[str]:
        """The parameters that the loss reads, the best known first; four of them at most."""
        read = reach(self.layout.plan, ["loss" if self.paged.has("loss") else "token_loss"], Level.BATCH).parameters
        quiet = {"tie_tol", "ddof", "adv_eps"}
        return sorted((name for name in self.layout.worked.parameters if name in read - quiet), key=_rank)[:4]

    def _whose(self, figures: Sequence[PrintedFigure]) -> None:
        """One line that says which figures the article prints, where the inputs are made to meet them."""
        printed = dict.fromkeys(figure.column for figure in figures if figure.status == "article")
        if self.remade and printed:
            words = ", ".join(self._symbol(name) for name in printed)
            self.pen.text("A3", say("workbook.article_prints", self.lang, figures=words), SUBTITLE)
            self.pen.sheet.row_dimensions[3].height = 14

    def _symbol(self, name: str) -> str:
        step = self.layout.plan.step(name)
        return label(name).symbol if step is None else step.label.symbol

    def _heads(self) -> None:
        pen = self.pen
        for name, columns in groupby(self.columns, key=lambda shown: shown.stage):
            run = [shown.letter for shown in columns]
            key = "reconstructed_inputs" if name == "inputs" and self.remade else f"stage_{name}"
            pen.merged(f"{run[0]}{BAND}:{run[-1]}{BAND}", say(f"workbook.{key}", self.lang), head(name, size=11))
        for shown in self.columns:
            symbol, name = self._words(shown)
            pen.text(f"{shown.letter}{SYMBOL}", symbol, head(shown.stage, size=12))
            pen.text(f"{shown.letter}{NAME}", name, head(shown.stage, size=8, bold=False))
            step = self.layout.plan.step(shown.lead)
            if step is not None:
                tip = f"{symbol} = {plain(step.expression, lambda key: label(key).symbol)}"
                source = say("workbook.tip_source", self.lang, source=cited(step.column.source, self.lang))
                whole = say("workbook.tip_cell", self.lang, row=FIRST, formula=f"={self.paged.formula(shown, 0)}")
                said = f"{symbol}: {name} ({shown.lead})\n{tip}\n{whole}\n{source}"
                pen.tip(f"{shown.letter}{SYMBOL}", said)
                pen.tip(f"{shown.letter}{FORMULA}", said)
            pen.text(
                f"{shown.letter}{FORMULA}",
                self._first_formula(shown),
                Look(ink="374151", size=8, across="center", wrap=True, fill="F8FAFC", line="medium 94A3B8"),
            )
            pen.sheet.column_dimensions[shown.letter].width = self._width(shown)
        longest = max(len(self._first_formula(shown)) / self._width(shown) for shown in self.columns)
        heights = {BAND: 20, SYMBOL: 24, NAME: 28, FORMULA: min(max(28, 11 * (1 + int(longest / 1.1))), 50)}
        for row, height in heights.items():
            pen.sheet.row_dimensions[row].height = height

    def _words(self, shown: Shown) -> tuple[str, str]:
        fixed = {"row": "#", "group_id": "g", "completion_id": "i", "token": "token", "numpy": "NumPy", "check": "✓"}
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
        return _short(self.paged.first_formula(shown))

    def _width(self, shown: Shown) -> float:
        table = self.layout.part.table
        if shown.name == "row":
            return 4.5
        if shown.name == "group_id":
            return min(max(6.0, *(width(str(i)) + 1.5 for i in table.group_id)), 12)
        if shown.name == "completion_id":
            return min(max(9.0, *(width(str(i)) + 1.5 for i in table.completion_id)), 14)
        if shown.name == "token":
            return min(max(7.0, *(width(text) + 1.5 for text in table.texts["token"])), 16)
        return {"reward": 10.5, "clipped_ratio": 13.0, "clipped": 11.0, "check": 7.5, "k3": 13.0, "gradient": 12.5}.get(
            shown.lead, 10.0
        )

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
                text = self._id(shown.name, place)
                pen.text(cell, text, TEXT.but(line=THIN, above=above, size=11))
            elif shown.stage == "check":
                self._checked(shown, cell, place, above)
            else:
                self._number(shown, cell, place, above)

    def _id(self, name: str, place: int) -> str:
        table = self.layout.part.table
        completion = int(table.completion_of_token[place])
        if name == "group_id":
            return table.group_id[int(table.group_of_completion[completion])]
        return table.completion_id[completion] if name == "completion_id" else table.texts["token"][place]

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
        if self.paged.linked(shown):  # nothing to type into
            look = look.but(ink=PALE, italic=True, fill="" if shown.stage == "inputs" else look.fill)
        self.pen.valued(cell, self.paged.formula(shown, place), float(numbers[place]), look)

    def _checked(self, shown: Shown, cell: str, place: int, above: str) -> None:
        sheet = self.layout.sheets[Level.TOKEN]
        own = self.paged.marks[place][OWN]
        look = body("check", size=11, above=above)
        if shown.name == "check":
            there, loss = f"Tokens!{sheet.letters['check']}{own}", self.letters[self.layout.plan.leads["token_loss"]]
            here, frozen = f"{loss}{FIRST + place}", f"{self.letters['numpy']}{FIRST + place}"
            near = f"ABS({here}-{frozen})<={TOLERANCE}*MAX(1,ABS({frozen}))"
            agree = f"IFERROR(IF(ISNUMBER({frozen}),{near},{here}={frozen}),FALSE)"
            self.pen.formula(
                cell,
                f'IF({there}="{TICK}",IF({agree},"{TICK}","{CROSS}"),{there})',
                TICK,
                look.but(ink=COLOURS["check"][0], bold=True, across="center"),
            )
            return
        lead = self.layout.plan.leads["token_loss"]
        numbers = self.numbers[lead]
        self.pen.valued(
            cell,
            f"Tokens!{sheet.letters['numpy_token_loss']}{own}",
            float(numbers[place]),
            look.but(ink=FROZEN, format=number_format(lead, numbers)),
        )

    def _means(self) -> None:
        pen, row = self.pen, self.last + 1
        total = Look(bold=True, size=10, above=f"medium {PALE}")
        pen.band(f"A{row}:{self.columns[-1].letter}{row}", total)
        plain_mean = not self._mean_is_loss()
        words = "plain_token_mean" if plain_mean else "mean_over_tokens"
        pen.text(f"A{row}", say(f"workbook.{words}", self.lang), total.but(across="left", size=9))
        for shown in self.columns:
            if shown.stage not in ("ratio", "surrogate", "kl", "loss"):
                continue
            if plain_mean and shown.lead in map(self.layout.plan.leads.get, ("token_objective", "token_loss")):
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

    def _mean_is_loss(self) -> bool:
        """Whether the plain mean over tokens is how the loss is reduced."""
        offsets, plan = self.layout.part.table.token_offsets, self.layout.plan
        one_each = bool((np.diff(offsets) == 1).all())
        if plan.recipe.roles["reduction"] != "token_mean" and not one_each:
            return False
        mean, loss = np.mean(self.numbers[plan.leads["token_loss"]]), self.numbers.get(plan.leads.get("loss", ""))
        return loss is None or bool(np.isclose(mean, loss, rtol=1e-9, atol=1e-12, equal_nan=True))


def _finer(shape: str, mean: float) -> str:
    """A mean's number format: its column's, with six decimals where those would show nothing of it."""
    return shape.replace("0.0000", "0.000000") if "0.00000" not in shape and 0 < abs(mean) < 0.01 else shape


_LONG = re.compile(r"(\d\.\d{4})\d{6,}")


def _short(formula: str) -> str:
    """A formula to look at: its long numbers cut, and marked so.

    >>> _short("=A1*0.16666666666666666")
    '=A1*0.1666…'
    """
    formula = _BREAK.sub(r"\1 ", _LONG.sub(r"\1…", formula))
    return formula if len(formula) <= MOST_SHOWN else f"{formula[:MOST_SHOWN].rpartition(' ')[0]} …"


_BREAK = re.compile(r"([,/]|(?<=[\w)])[-+*](?=\w*\())")
MOST_SHOWN = 48
"""A longer formula is cut; the head's tooltip has it whole."""


def _rank(name: str) -> int:
    known = ("eps_low", "eps_high", "beta")
    return known.index(name) if name in known else len(known)
