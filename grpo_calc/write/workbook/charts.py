"""Charts with their values cached in them, so that a viewer that computes nothing draws them too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from openpyxl.chart import BarChart, ScatterChart
from openpyxl.chart.data_source import AxDataSource, NumData, NumDataSource, NumRef, NumVal, StrData, StrRef, StrVal
from openpyxl.chart.marker import Marker
from openpyxl.chart.series import Series, SeriesLabel, XYSeries
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.chart.text import RichText, Text
from openpyxl.chart.title import Title
from openpyxl.drawing.line import LineProperties
from openpyxl.drawing.spreadsheet_drawing import AnchorMarker, TwoCellAnchor
from openpyxl.drawing.text import CharacterProperties, Font, Paragraph, ParagraphProperties, RegularTextRun
from openpyxl.worksheet.worksheet import Worksheet

Chart = Any
"""openpyxl's charts, whose types say less than they are."""

SLATE, ORANGE, TEAL, RED, INDIGO, GRID, INK = "475569", "EA580C", "0F766E", "B3401A", "3F4FB5", "E2E8F0", "374151"
EMU = 12_700
GAP = 36 * EMU
"""How far a chart reaches into its last column: a little space stays before what stands beside it."""


OUTSIDE = -1e6
"""Where a point is put that is not to be seen: the axes are fixed."""


@dataclass(frozen=True)
class Range:
    """A run of cells and what they hold: numbers, or texts."""

    cells: str
    values: Sequence[Any]


@dataclass(frozen=True)
class Line:
    """One series: its name, its colour, and its cells."""

    name: str
    colour: str
    x: Range
    y: Range
    marked: bool = False
    dotted: bool = False
    symbol: Literal["circle", "diamond"] = "circle"


def bars(title: str, across: str, up: str, lines: Sequence[Line], font: str) -> Chart:
    """Bars that share their places, one series a colour."""
    chart: Any = BarChart()
    chart.type, chart.grouping, chart.overlap, chart.gapWidth = "col", "clustered", 100, 45
    for place, line in enumerate(lines):
        series = Series(idx=place, order=place, tx=SeriesLabel(v=line.name))
        series.cat, series.val = _texts(line.x), NumDataSource(numRef=_numbers(line.y))
        series.spPr = GraphicalProperties(solidFill=line.colour)
        series.spPr.line = LineProperties(noFill=True)
        series.invertIfNegative = False
        chart.series.append(series)
    _dress(chart, title, across, up, font, named=len(lines) > 1)
    return chart


def curves(title: str, across: str, up: str, lines: Sequence[Line], font: str) -> Chart:
    """Straight lines and marked points over numbers; the axes are fixed around them."""
    chart: Any = ScatterChart()
    chart.scatterStyle, chart.style = "lineMarker", None
    for place, line in enumerate(lines):
        series = XYSeries(idx=place, order=place, tx=SeriesLabel(v=line.name))
        series.xVal, series.yVal = AxDataSource(numRef=_numbers(line.x)), NumDataSource(numRef=_numbers(line.y))
        series.smooth = False
        series.spPr = GraphicalProperties()
        if line.marked:
            series.marker = Marker(symbol=line.symbol, size=8 if line.symbol == "circle" else 10)
            series.marker.spPr = GraphicalProperties(solidFill=line.colour)
            series.marker.spPr.line = LineProperties(solidFill="FFFFFF", w=EMU)
            series.spPr.line = LineProperties(noFill=True)
        else:
            series.marker = Marker(symbol="none")
            series.spPr.line = LineProperties(solidFill=line.colour, w=(0.75 if line.dotted else 2.25) * EMU)
            if line.dotted:
                series.spPr.line.prstDash = "sysDash"
        chart.series.append(series)
    _dress(chart, title, across, up, font, named=True)
    for axis, values in (
        (chart.x_axis, [line.x.values for line in lines]),
        (chart.y_axis, [[y for y in line.y.values if y != OUTSIDE] for line in lines]),
    ):
        low, high, step = around([float(value) for each in values for value in each])
        axis.scaling.min, axis.scaling.max, axis.majorUnit = low, high, step
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        axis.number_format = "0." + "0" * digits if digits else "0"
    chart.x_axis.crosses, chart.y_axis.crosses = "min", "min"
    return chart


def around(values: Sequence[float]) -> tuple[float, float, float]:
    """Round bounds around some numbers, and the step between marks.

    >>> around([0.83, 1.19])
    (0.8, 1.2, 0.05)
    """
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if low == high:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * power for unit in (1, 2, 2.5, 5, 10) if unit * power >= rough * 0.8)
    return (
        round(math.floor(low / step + 1e-9) * step, 12),
        round(math.ceil(high / step - 1e-9) * step, 12),
        round(step, 12),
    )


def anchored(worksheet: Worksheet, chart: Chart, first: tuple[int, int], last: tuple[int, int]) -> None:
    """Put a chart over cells, from the corner of ``first`` (column, row, from 1) to the corner of ``last``."""
    (a, b), (c, d) = first, last
    chart.anchor = TwoCellAnchor(
        _from=AnchorMarker(col=a - 1, row=b - 1), to=AnchorMarker(col=c - 2, row=d - 1, colOff=GAP)
    )
    worksheet.add_chart(chart)


def _numbers(cells: Range) -> NumRef:
    points = [NumVal(idx=place, v=repr(float(value))) for place, value in enumerate(cells.values)]
    return NumRef(f=cells.cells, numCache=NumData(formatCode="General", ptCount=len(points), pt=points))


def _texts(cells: Range) -> AxDataSource:
    points = [StrVal(idx=place, v=str(value)) for place, value in enumerate(cells.values)]
    return AxDataSource(strRef=StrRef(f=cells.cells, strCache=StrData(ptCount=len(points), pt=points)))


def _dress(chart: Chart, title: str, across: str, up: str, font: str, *, named: bool) -> None:
    chart.title = _title(title, font, 1100, bold=True)
    chart.x_axis.title, chart.y_axis.title = _title(across, font, 800), _title(up, font, 800)
    for axis in (chart.x_axis, chart.y_axis):
        axis.delete = False
        axis.tickLblPos = "low"
        axis.txPr = _rich(font, 800)
        axis.spPr = GraphicalProperties()
        axis.spPr.line = LineProperties(solidFill="94A3B8", w=EMU)
        axis.majorTickMark = "out"
    chart.x_axis.majorGridlines = None
    chart.y_axis.majorGridlines.spPr = GraphicalProperties()
    chart.y_axis.majorGridlines.spPr.line = LineProperties(solidFill=GRID, w=EMU // 2)
    if isinstance(chart, BarChart):
        chart.y_axis.number_format = "General"
    if named:
        chart.legend.position = "b"
        chart.legend.txPr = _rich(font, 800)
    else:
        chart.legend = None
    chart.graphical_properties = GraphicalProperties(solidFill="FFFFFF")
    chart.graphical_properties.line = LineProperties(solidFill=GRID, w=EMU)
    chart.roundedCorners = False


def _title(text: str, font: str, size: int, *, bold: bool = False) -> Title:
    properties = CharacterProperties(sz=size, b=bold, solidFill=INK, latin=Font(typeface=font), ea=Font(typeface=font))
    run = RegularTextRun(rPr=properties, t=text)
    rich = RichText(p=[Paragraph(pPr=ParagraphProperties(defRPr=properties), r=[run])])
    return Title(tx=Text(rich=rich), overlay=False)


def _rich(font: str, size: int) -> RichText:
    properties = CharacterProperties(sz=size, solidFill=INK, latin=Font(typeface=font), ea=Font(typeface=font))
    return RichText(p=[Paragraph(pPr=ParagraphProperties(defRPr=properties), endParaRPr=properties)])
