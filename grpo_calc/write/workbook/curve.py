"""The data of the charts, as live cells: what a token adds, and the clip curve with the tokens on it.

The curve is the recipe's own token objective at A = 1 and A = -1: the columns between ratio and objective put into one
formula. Where that is piecewise linear in the clip range alone, four points draw it exactly, knees included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from grpo_calc.plan import Plan
from grpo_calc.sym import Apply, Name, Number, Sym, excel, excel_number, names
from grpo_calc.write.workbook.charts import OUTSIDE, Range
from grpo_calc.write.workbook.extent import FIRST_ROW
from grpo_calc.write.workbook.layout import Layout
from grpo_calc.write.workbook.pen import Pen
from grpo_calc.write.workbook.styles import FROZEN, KEY, Look

GRID = 33
NO_ADVANTAGE = 1e-9
"""A smaller advantage is taken for 0: programs round such a one differently."""
CLIP_RANGE = {"eps_low", "eps_high"}
TRIPLE = ("ratio", "advantage", "token_objective")


def inlined(expression: Sym, plan: Plan, stays: Callable[[str], bool]) -> Sym:
    """An expression with every name that does not stay replaced by its own formula."""
    if isinstance(expression, Name):
        step = None if stays(expression.name) else plan.step(expression.name)
        return expression if step is None or step.consumes is not None else inlined(step.expression, plan, stays)
    if isinstance(expression, Apply):
        return Apply(expression.verb, tuple(inlined(argument, plan, stays) for argument in expression.arguments))
    return expression


def with_number(expression: Sym, name: str, value: float) -> Sym:
    """An expression with a number in a name's place."""
    if isinstance(expression, Name):
        return Number(value) if expression.name == name else expression
    if isinstance(expression, Apply):
        return Apply(expression.verb, tuple(with_number(argument, name, value) for argument in expression.arguments))
    return expression


@dataclass(frozen=True)
class Numbered:
    """Cells and the numbers they hold."""

    cells: Sequence[str]
    numbers: Sequence[float]

    def at(self, places: Sequence[int]) -> Numbered:
        """Those at some places."""
        return Numbered([self.cells[place] for place in places], [self.numbers[place] for place in places])


@dataclass(frozen=True)
class Points:
    """The tokens of a chart: each one's ratio, advantage and objective."""

    ratio: Numbered
    advantage: Numbered
    objective: Numbered

    def with_advantage(self) -> Points:
        """The points that say something: those with an advantage, all where none has one."""
        said = [place for place, advantage in enumerate(self.advantage.numbers) if abs(advantage) >= NO_ADVANTAGE]
        return Points(*(each.at(said) for each in (self.ratio, self.advantage, self.objective))) if said else self


Drawn = tuple[Range, Range]


class Curve:
    """The token objective of a recipe as a function of ratio and advantage."""

    def __init__(self, layout: Layout, formula: Sym) -> None:
        self.layout, self.formula = layout, formula
        self.parameters = layout.plan.recipe.parameters
        self.ratio, self.advantage, self.objective = (layout.plan.leads[name] for name in TRIPLE)

    @staticmethod
    def of(layout: Layout) -> Curve | None:
        """The curve of a recipe; ``None`` where its objective reads more than ratio, advantage and parameters."""
        plan = layout.plan
        if not all(name in plan.leads for name in TRIPLE):
            return None
        ratio, advantage, objective = (plan.leads[name] for name in TRIPLE)
        known = {ratio, advantage, *plan.recipe.parameters}
        formula = inlined(Name(objective), plan, known.__contains__)
        return Curve(layout, formula) if {ratio, advantage} <= set(names(formula)) <= known else None

    @property
    def clips(self) -> bool:
        """Whether it has the clip range's knees."""
        return bool(CLIP_RANGE & set(names(self.formula)))

    @property
    def knees(self) -> tuple[float, float]:
        """The ends of the clip range."""
        return 1 - self.parameters.get("eps_low", 0.2), 1 + self.parameters.get("eps_high", 0.2)

    @staticmethod
    def drawn(points: Points) -> list[int]:
        """The places of the points that are drawn: those with an advantage, all where none has one."""
        every = points.advantage.numbers
        return [place for place, a in enumerate(every) if abs(a) >= NO_ADVANTAGE] or list(range(len(every)))

    def cell(self, ratio: str, advantage: float) -> str:
        """The objective's formula for a ratio's cell."""
        there = {self.ratio: ratio}
        formula = with_number(self.formula, self.advantage, advantage)
        return excel(formula, lambda name: there.get(name) or self.layout.batch_cell(name), str)

    def value(self, ratio: float, advantage: float) -> float:
        """The objective at a ratio, by the columns' own functions."""
        known = {**self.parameters, self.ratio: ratio, self.advantage: advantage}
        for step in self.layout.plan.upstream([self.objective]).steps:
            if step.name not in known and all(name in known for name in step.arguments.values()):
                values = (np.float64(known[name]) for name in step.arguments.values())
                known[step.name] = float(step.column.function(*values))
        return known[self.objective]

    def ratios(self, tokens: Sequence[float]) -> Numbered:
        """The ratios that draw the curve around the tokens: its ends and exact knees, or a grid."""
        low_knee, high_knee = self.knees
        reach = max(high_knee - low_knee, 1e-4) / 2
        finite = [ratio for ratio in tokens if np.isfinite(ratio)] or [1.0]
        low = float(f"{max(min(*finite, low_knee - reach / 2), 0.0):.4g}")
        high = float(f"{max(*finite, high_knee + reach / 2):.4g}")
        if set(names(self.formula)) <= {self.ratio, self.advantage, *CLIP_RANGE}:
            cells = [f"MIN({low!r},1-eps_low)", "1-eps_low", "1+eps_high", f"MAX({high!r},1+eps_high)"]
            return Numbered(cells, [min(low, low_knee), low_knee, high_knee, max(high, high_knee)])
        grid = [round(low + (high - low) * place / (GRID - 1), 9) for place in range(GRID)]
        return Numbered([repr(ratio) for ratio in grid], grid)


@dataclass
class ChartData:
    """Writes the data of charts, a column of live cells after another, beside what is printed."""

    pen: Pen
    letters: Sequence[str]
    used: int = 0
    last: Sequence[float] = ()

    def column(self, head: str, data: Numbered) -> Range:
        """One column of live cells; an undefined number is drawn as 0."""
        letter = self.letters[self.used]
        self.used += 1
        self.pen.text(f"{letter}{FIRST_ROW - 1}", head, KEY)
        shown = [value if np.isfinite(value) else 0.0 for value in map(float, data.numbers)]
        for row, (cell, value, real) in enumerate(zip(data.cells, shown, data.numbers, strict=True), start=FIRST_ROW):
            look = Look(ink=FROZEN, size=8)
            if np.isfinite(real):
                self.pen.formula(f"{letter}{row}", cell, value, look)
            else:
                self.pen.number(f"{letter}{row}", value, look)
        last = FIRST_ROW + len(shown) - 1
        self.last = shown
        return Range(f"{self.pen.sheet.title}!${letter}${FIRST_ROW}:${letter}${last}", shown)

    def split(self, heads: tuple[str, str], data: Numbered, flags: Numbered) -> tuple[Range, Range]:
        """A column in two: where a flag is off, and where it is on; 0 elsewhere."""
        rows = list(zip(data.cells, data.numbers, flags.cells, flags.numbers, strict=True))
        off = Numbered(
            [f"IF({flag}=1,0,{cell})" for cell, _, flag, _ in rows], [0.0 if on == 1 else x for _, x, _, on in rows]
        )
        on = Numbered(
            [f"IF({flag}=1,{cell},0)" for cell, _, flag, _ in rows], [x if on == 1 else 0.0 for _, x, _, on in rows]
        )
        return self.column(heads[0], off), self.column(heads[1], on)

    def flagged(self, flags: Numbered) -> tuple[Range, Range]:
        """The last column in two: where a flag is off, and where it is on; far outside the chart elsewhere."""
        letter, heights = self.letters[self.used - 1], self.last
        rows = [(f"{letter}{FIRST_ROW + place}", flag) for place, flag in enumerate(flags.cells)]
        on = list(zip(heights, (flag == 1 for flag in flags.numbers), strict=True))
        far = f"{OUTSIDE:.0f}"
        off_range = self.column(
            "free", Numbered([f"IF({f}=1,{far},{y})" for y, f in rows], [OUTSIDE if hit else y for y, hit in on])
        )
        on_range = self.column(
            "clipped", Numbered([f"IF({f}=1,{y},{far})" for y, f in rows], [y if hit else OUTSIDE for y, hit in on])
        )
        return off_range, on_range

    def knees(self, curve: Curve, *sides: Drawn) -> list[tuple[str, Drawn]]:
        """A line down at each end of the clip range, as high as the curve."""
        heights = [float(value) for _, up in sides for value in up.values]
        y = [min(heights), max(heights)]
        drawn = []
        for name, cell, x in (("1-ε", "1-eps_low", curve.knees[0]), ("1+ε", "1+eps_high", curve.knees[1])):
            across = self.column(name, Numbered([cell, cell], [x, x]))
            drawn.append((name, (across, self.column("", Numbered([repr(value) for value in y], y)))))
        return drawn

    def curve(self, curve: Curve, points: Points) -> tuple[Drawn, Drawn, Drawn]:
        """The curve at A = 1, at A = -1, and the tokens on it: each the ratios and the objectives."""
        ratios = curve.ratios(points.ratio.numbers)
        x = self.column("r", ratios)
        cells = [f"{self.letters[self.used - 1]}{FIRST_ROW + place}" for place in range(len(ratios.cells))]
        up, down = (
            self.column(
                f"A = {side:+.0f}",
                Numbered([curve.cell(cell, side) for cell in cells], [curve.value(r, side) for r in ratios.numbers]),
            )
            for side in (1.0, -1.0)
        )
        points = points.with_advantage()
        token_x = self.column("r", points.ratio)
        rows = list(zip(points.advantage.cells, points.objective.cells, strict=True))
        numbers = zip(points.advantage.numbers, points.objective.numbers, strict=True)
        scaled = [0.0 if abs(a) < NO_ADVANTAGE else objective / abs(a) for a, objective in numbers]
        token_y = self.column(
            "min/|A|", Numbered([f"IF(ABS({a})<{excel_number(NO_ADVANTAGE)},0,{o}/ABS({a}))" for a, o in rows], scaled)
        )
        return (x, up), (x, down), (token_x, token_y)
