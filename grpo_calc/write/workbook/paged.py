"""What the one page shows: its columns, their numbers, and each token's formula there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from openpyxl.utils import get_column_letter

from grpo_calc.column import Level
from grpo_calc.plan import Plan
from grpo_calc.sym import Apply, Sym, excel, names
from grpo_calc.write.workbook.curve import inlined
from grpo_calc.write.workbook.extent import FIRST_ROW
from grpo_calc.write.workbook.layout import COMPLETION, GROUP, OWN, TITLES, Layout
from grpo_calc.write.workbook.stages import stage
from grpo_calc.write.workbook.values import Values

PAGE, FIRST = "Page", 8
IDS = ("row", "group_id", "completion_id", "token")
GIVEN = ("reward", "logp_new", "logp_old", "logp_ref")
ADVANTAGE = ("group_mean", "group_std", "advantage")
RATIO = ("log_ratio", "mean_log_ratio", "sum_log_ratio", "ratio", "clipped_ratio")
SURROGATE = ("surrogate", "clipped_surrogate", "token_objective", "clipped")
KL = ("k1", "k2", "k3", "kl_proxy")
RESULT = ("token_loss", "gradient")
FLAT = "zero_spread"


@dataclass(frozen=True)
class Shown:
    """One column of the page: what it shows and where; ``lead`` is the name that holds its value."""

    name: str
    lead: str
    stage: str
    letter: str


class Paged:
    """The columns of the page. ``numbers`` holds every name's value for each token, coarser ones repeated."""

    def __init__(self, layout: Layout, values: Values) -> None:
        self.layout, self.plan = layout, layout.plan
        self.numbers: Mapping[str, Any] = _joined(values, layout)
        self.columns = self._columns()
        self.letters = {shown.lead: shown.letter for shown in self.columns}

    @property
    def count(self) -> int:
        """How many tokens the page has."""
        return self.layout.part.tokens

    @property
    def last(self) -> int:
        """The row of the last token."""
        return FIRST + self.count - 1

    @property
    def card_column(self) -> int:
        """The first column of the summary card."""
        return len(self.columns) - 5

    def _columns(self) -> list[Shown]:
        plan, table = self.plan, self.layout.part.table
        one_each = bool((np.diff(table.token_offsets) <= 1).all())
        ids = [
            name
            for name, shows in zip(
                IDS, (True, table.group_count > 1, not one_each, "token" in table.texts), strict=True
            )
            if shows
        ]
        has_kl = "token_kl" in plan.leads
        unseen = set() if has_kl else {*KL, "logp_ref"}
        if plan.recipe.roles["kl_base"] == "old" and plan.leads.get("token_kl") != "k1":
            unseen.add("k1")  # it is log r once more
        behind = self.behind("advantage", "ratio", "token_objective")
        unseen |= {
            name for name in ("group_mean", "group_std", "mean_log_ratio", "sum_log_ratio") if name not in behind
        }
        known = (*GIVEN, *ADVANTAGE, *RATIO, *SURROGATE, *KL, *RESULT)
        wanted = [name for name in known if self.has(name) and name not in unseen]
        leads = list(dict.fromkeys(plan.leads.get(name, name) for name in wanted))
        listed = [(name, name, "row") for name in ids]
        listed += [(name, name, _stage(name, plan)) for name in leads]
        checks = [("numpy", "numpy", "check"), ("check", "check", "check")]
        return [Shown(*shown, get_column_letter(place)) for place, shown in enumerate([*listed, *checks], start=1)]

    def behind(self, *names: str) -> set[str]:
        """The computed names that some names are worked from."""
        leads = [self.plan.leads[name] for name in names if name in self.plan.leads]
        return {step.name for step in self.plan.upstream(leads).steps}

    def has(self, name: str) -> bool:
        """Whether this batch has a name."""
        plan = self.plan
        return plan.leads.get(name, name) in plan.levels

    @cached_property
    def marks(self) -> list[dict[str, str]]:
        """For each token, the row numbers that a reference's marks stand for."""
        part = self.layout.part
        completions = part.table.completion_of_token
        groups = part.table.group_of_completion[completions]
        own = self.layout.token_rows()
        return [
            {OWN: str(o), COMPLETION: str(FIRST_ROW + c), GROUP: str(FIRST_ROW + g)}
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
        expression = self._own(shown)
        if expression is None:
            return self.elsewhere(shown.lead, place)
        return excel(expression, lambda name: self._cell(name, place), str)

    def linked(self, shown: Shown) -> bool:
        """Whether a column's cells only repeat another sheet's."""
        return self._own(shown) is None

    def first_formula(self, shown: Shown) -> str:
        """The first token's formula to look at: without its guards, which change no value that is shown."""
        expression = self._own(shown)
        if expression is None:
            return f"={self.elsewhere(shown.lead, 0)}"
        return f"={excel(_unguarded(expression), lambda name: self._cell(name, 0), str)}"

    def _own(self, shown: Shown) -> Sym | None:
        """A column's formula of the page's own cells; ``None`` where it is another sheet's."""
        step = self.plan.step(shown.lead)
        if step is None or step.consumes is not None or step.level is Level.BATCH:
            return None
        fine = step.level is Level.TOKEN

        def stays(name: str) -> bool:
            off = self.plan.step(name)
            return name in self.letters or name == FLAT or off is None or (fine and off.level is not Level.TOKEN)

        made = inlined(step.expression, self.plan, stays)
        known = {*self.letters, *self.plan.recipe.parameters, FLAT}
        return made if fine or set(names(made)) <= known else None

    def _cell(self, name: str, place: int) -> str:
        return f"{self.letters[name]}{FIRST + place}" if name in self.letters else self.elsewhere(name, place)


def _stage(name: str, plan: Plan) -> str:
    """The band of a column: its place in the story, whichever recipe's rule it holds."""
    if plan.step(name) is None:
        return "inputs"
    told = {"advantage": ADVANTAGE, "ratio": RATIO, "surrogate": SURROGATE, "kl": KL}
    for band, names_there in told.items():
        if name in {*names_there, *(plan.leads.get(each, each) for each in names_there)}:
            return band
    return stage(plan.step(name))


def _unguarded(expression: Sym) -> Sym:
    """A formula without the branches for a flat group and for a series near zero."""
    if not isinstance(expression, Apply):
        return expression
    verb, arguments = expression.verb.name, expression.arguments
    if verb == "near_zero" or (verb == "where" and FLAT in names(arguments[0])):
        return _unguarded(arguments[2])
    return Apply(expression.verb, tuple(map(_unguarded, arguments)))


def _joined(values: Values, layout: Layout) -> Mapping[str, Any]:
    blocks = [block.columns for block in values.blocks()]
    levels = layout.plan.levels
    return {
        name: first if levels[name] is Level.BATCH else np.concatenate([block[name] for block in blocks])
        for name, first in blocks[0].items()
        if name in levels
    }
