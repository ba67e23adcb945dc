"""Printing: parentheses where the meaning needs them, numbers that come back, every column's forms."""

import itertools
import re

import formualizer
import numpy as np
import pytest

from grpo_calc.column import catalogue, formula, formula_latex, label
from grpo_calc.ops import above, clip, near_zero, stop_gradient, where
from grpo_calc.over import Symbolic
from grpo_calc.sym import Name, Number, Sym, excel, latex, names, plain, worked
from grpo_calc.sym import sym as literal
from grpo_calc.work import work
from tests.core.tables import named, random_table

A, B, C, X = (Name(letter) for letter in "abcx")
negative = -A


def cells(expression: Sym) -> str:
    return excel(expression, {"a": "A1", "b": "B1", "c": "C1", "x": "D1"}.__getitem__, lambda name: f"{name}1:{name}9")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (-(X**2), "-(D1^2)"),
        ((-X) ** 2, "(-D1)^2"),
        (A - (B - C), "A1-(B1-C1)"),
        (A - B - C, "A1-B1-C1"),
        (A + (B + C), "A1+B1+C1"),
        (A / (B * C), "A1/(B1*C1)"),
        (A / B / C, "A1/B1/C1"),
        (A * (B / C), "A1*B1/C1"),
        (A / (B / C), "A1/(B1/C1)"),
        ((A + B) * C, "(A1+B1)*C1"),
        (A * -B, "A1*(-B1)"),
        (A - (-B), "A1-(-B1)"),
        (A + -B * C, "A1+(-B1*C1)"),
        (-A * B, "-A1*B1"),
        (-(A * B), "-(A1*B1)"),
        (-negative, "-(-A1)"),
        ((literal(2) ** 3) ** 2, "(2^3)^2"),
        (literal(2) ** (literal(3) ** 2), "2^(3^2)"),
        (X ** (A + 1), "D1^(A1+1)"),
        (1 - (A > B) * 1, "1-(A1>B1)*1"),
        (stop_gradient(A + B) * C, "(A1+B1)*C1"),
        (A - near_zero(X, lambda x: x, B + C), "A1-IF(ABS(D1)<0.01,D1,B1+C1)"),
        (where((A > B) & (B <= C), A, -B), "IF(AND(A1>B1,B1<=C1),A1,-B1)"),
        (above(A - B, X), "IF(A1-B1>D1,1,0)"),
        (clip(X, 1 - A, 1 + B), "MIN(1+B1,MAX(1-A1,D1))"),
        (Symbolic().sum(X) / A, "SUM(x1:x9)/A1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_excel_keeps_the_meaning(expression: Sym, expected: str) -> None:
    assert cells(expression) == expected


@pytest.mark.parametrize("seed", range(30))
def test_a_random_expression_means_the_same_in_a_sheet(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = dict(zip("abcx", rng.normal(0.0, 1.5, 4).tolist(), strict=True))

    def tree(depth: int) -> tuple[Sym, float]:
        if depth == 0:
            letter = str(rng.choice(list("abcx")))
            return Name(letter), values[letter]
        (p, u), (q, v) = tree(depth - 1), tree(depth - 1)
        kind = rng.integers(0, 6)
        if kind == 5:
            return -p, -u
        if kind == 4:
            return p**2, u**2
        return [(p + q, u + v), (p - q, u - v), (p * q, u * v), (p / (q**2 + 1), u / (v**2 + 1))][kind]

    expression, expected = tree(4)
    book = formualizer.Workbook()
    book.add_sheet("S")
    for place, letter in enumerate("abcx"):
        book.set_value("S", 1, place + 1, values[letter])
    book.set_formula("S", 1, 5, "=" + cells(expression))
    assert book.evaluate_cell("S", 1, 5) == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize(
    ("number", "in_a_sheet", "to_read", "in_latex"),
    [
        (2.0, "2", "2", "2"),
        (-3.0, "-3", "-3", "-3"),
        (0.1, "0.1", "0.1", "0.1"),
        (1e-12, "1E-12", "1e-12", "10^{-12}"),
        (2.5e-7, "2.5E-7", "2.5e-07", r"2.5 \cdot 10^{-7}"),
        (1e22, "1E+22", "1e+22", "10^{22}"),
        (1 / 3, "0.3333333333333333", "0.3333333333333333", "0.3333333333333333"),
    ],
)
def test_numbers_come_back(number: float, in_a_sheet: str, to_read: str, in_latex: str) -> None:
    printed = cells(Number(number)), plain(Number(number), str), latex(Number(number), str)
    assert printed == (in_a_sheet, to_read, in_latex)
    assert float(printed[0]) == number


def test_worked_lines_put_negative_numbers_in_parentheses() -> None:
    numbers = {"a": "-1.0000", "b": "-1.1000", "c": "2.0000", "x": "0.5000"}

    def line(expression: Sym) -> str:
        return worked(expression, numbers.__getitem__, str)

    assert line(A - B) == "-1.0000 - (-1.1000)"
    assert line(A * B) == "-1.0000 * (-1.1000)"
    assert line(C * A) == "2.0000 * (-1.0000)"
    assert line(A**2 / 2) == "(-1.0000)^2 / 2"
    assert line(-A) == "-(-1.0000)"
    assert line(C - X * A) == "2.0000 - 0.5000 * (-1.0000)"
    assert line(clip(A, B, C)) == "clip(-1.0000, -1.1000, 2.0000)"
    assert line(A / B) == "-1.0000 / (-1.1000)"


def test_a_formula_never_branches_and_never_compares_with_equals() -> None:
    with pytest.raises(TypeError, match="where"):
        bool(A > B)
    with pytest.raises(TypeError, match="=="):
        where(A == B, A, B)
    with pytest.raises(TypeError, match="one column"):
        Symbolic().sum(A + B)


@pytest.mark.parametrize("key", catalogue())
def test_every_form_of_a_column_holds_together(key: str) -> None:
    column = catalogue()[key]
    text, tex = formula(column), formula_latex(column)
    assert text
    assert balanced(text)
    assert balanced(tex.replace(r"\{", "").replace(r"\}", ""))
    assert len(re.findall(r"\\left\b", tex)) == len(re.findall(r"\\right\b", tex))
    assert tex.count(r"\begin{cases}") == tex.count(r"\end{cases}")
    assert not re.search(r"\{\d\}", text), "a place of a form that nothing fills"
    for side in (column.label.symbol, column.label.latex):
        assert side
        assert balanced(side)
    cell = excel(column.expression(), lambda name: "A1", lambda name: "A1:A9")
    assert balanced(cell)
    assert len(cell) < 4000


def balanced(text: str) -> bool:
    """Whether brackets close in the order they open; half-open intervals apart."""
    closing = {")": "(", "}": "{", "]": "["}
    open_ones: list[str] = []
    for letter in text:
        if letter in closing.values():
            open_ones.append(letter)
        elif letter in closing and (not open_ones or open_ones.pop() != closing[letter]):
            return False
    return not open_ones


def test_symbols_stand_as_they_are_in_the_formulas_that_read_them() -> None:
    # A symbol with a bare sum in it would need parentheses of its own wherever it is multiplied or divided.
    steps = [step for recipe in named() for step in work(random_table(0), recipe).plan.steps]
    wrong = {
        (step.name, symbol)
        for step in steps
        for symbol in (label(name).symbol for name in step.reads)
        if re.search(r"[^(]\s?[+-]\s?\S", strip_brackets(symbol)) and re.search("[*/^]", plain(step.expression, str))
    }
    assert wrong == set()


def strip_brackets(symbol: str) -> str:
    """A symbol without what is in brackets, and without a trailing sign (``τ+``)."""
    stripped = re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\|[^|]*\|", "", symbol)
    return stripped.rstrip("+-")


def test_names_come_in_reading_order() -> None:
    assert list(names(A * (B - A) / Symbolic().sum(C))) == ["a", "b", "a", "c"]
    assert list(itertools.islice(names(Number(1.0)), 1)) == []


def test_a_symbol_that_is_a_formula_stands_in_parentheses_inside_a_product() -> None:
    symbols = {"g": "-dS", "s": "std+eps", "t": "τ-"}
    g, s, t = map(Name, symbols)
    assert plain(g + t, symbols.__getitem__) == "-dS + τ-"
    assert plain(t * g, symbols.__getitem__) == "τ- * (-dS)"
    assert plain(t / s, symbols.__getitem__) == "τ- / (std+eps)"
    assert plain(s - t, symbols.__getitem__) == "std+eps - τ-"


def test_a_flag_is_read_as_its_condition() -> None:
    flag = where(Name("x") <= 1, 1.0, 0.0)
    assert plain(flag, str) == "[x <= 1]"
    assert latex(flag, str) == r"\left[x \le 1\right]"
    assert excel(flag, str, lambda name: name or "rows") == "IF(x<=1,1,0)"
