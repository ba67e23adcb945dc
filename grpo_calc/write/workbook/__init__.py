"""The live workbook: sheets by level whose every computed cell is a formula made from the column's own function."""

from grpo_calc.write.workbook.book import write_workbook
from grpo_calc.write.workbook.extent import forecast

__all__ = ["forecast", "write_workbook"]
