"""Every column of the core says what it is: shape, unit, equation, errors, source, and an example that runs."""

import inspect
import re

import pytest

from grpo_calc.column import Column, catalogue

CORE = ("advantage", "aggregate", "clip", "gradient", "kl", "ratio", "surrogate")
COLUMNS = [
    column for column in catalogue().values() if inspect.getmodule(column.function).__name__.split(".")[-1] in CORE
]

PARTS = {
    "shape": r"^Shape: one (value|figure)",
    "unit": r"Unit: \S",
    "equation": r"^Equation: .*\S",
    "where": r"\bwhere\b",
    "errors": r"^Errors: \S",
    "source": r"^Source: \S",
    "example": r"^>>> ",
}


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.key)
def test_a_column_says_what_it_is(column: Column) -> None:
    assert [part for part, form in PARTS.items() if not re.search(form, column.doc, re.MULTILINE)] == []
    assert re.match(r"[^\n]+\.\n\n", column.doc), "one sentence first"
    assert column.key in column.doc.split(">>>", 1)[1], "the example is of this column"


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.key)
def test_a_paper_is_cited_alike_beside_the_formula_and_in_the_text(column: Column) -> None:
    papers = set(re.findall(r"arXiv:\d{4}\.\d{5}", column.source))
    assert papers <= set(re.findall(r"arXiv:\d{4}\.\d{5}", column.doc))
