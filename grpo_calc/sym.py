"""Symbols that stand for values, and the printers that read an expression as Excel, LaTeX, text or worked numbers.

A column's function called on symbols returns an expression: a small immutable tree. The printers walk it; how each
verb looks is a row of data (``Verb``), so a new verb needs no new code here. Imports nothing of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

# How tightly a printed form binds; a weaker form inside a stronger one is put in parentheses.
COMPARE, ADD, MULTIPLY, NEGATE, POWER, ATOM = range(6)

# Forms that print one argument as it is, as tightly bound as that argument: the verb says nothing in that style.
HANDED_ON = ("{0}", "{1}", "{2}")


class Verb(NamedTuple):
    """One verb: its name, its printed forms with ``{0}``, ``{1}`` ... for arguments, and how tightly each binds.

    ``binds`` is the strength of an infix form (all printed forms alike); a call binds as an atom. ``wants`` is the
    least strength each argument needs to stand there without parentheses.
    """

    name: str
    excel: str
    latex: str
    plain: str
    binds: int = ATOM
    wants: tuple[int, ...] = ()
    latex_wants: tuple[int, ...] | None = None


class Sym:
    """An expression. Arithmetic on it gives a larger expression; nothing is simplified."""

    def __array_namespace__(self, api_version: str | None = None) -> type[Sym]:
        return Sym

    def __add__(self, other: Any) -> Sym:
        return Apply(PLUS, (self, sym(other)))

    def __radd__(self, other: Any) -> Sym:
        return Apply(PLUS, (sym(other), self))

    def __sub__(self, other: Any) -> Sym:
        return Apply(MINUS, (self, sym(other)))

    def __rsub__(self, other: Any) -> Sym:
        return Apply(MINUS, (sym(other), self))

    def __mul__(self, other: Any) -> Sym:
        return Apply(TIMES, (self, sym(other)))

    def __rmul__(self, other: Any) -> Sym:
        return Apply(TIMES, (sym(other), self))

    def __truediv__(self, other: Any) -> Sym:
        return Apply(DIVIDE, (self, sym(other)))

    def __rtruediv__(self, other: Any) -> Sym:
        return Apply(DIVIDE, (sym(other), self))

    def __pow__(self, other: Any) -> Sym:
        return Apply(RAISE, (self, sym(other)))

    def __neg__(self) -> Sym:
        return Apply(MINUS_SIGN, (self,))

    def __gt__(self, other: Any) -> Sym:
        return Apply(GREATER, (self, sym(other)))

    def __ge__(self, other: Any) -> Sym:
        return Apply(AT_LEAST, (self, sym(other)))

    def __lt__(self, other: Any) -> Sym:
        return Apply(LESS, (self, sym(other)))

    def __le__(self, other: Any) -> Sym:
        return Apply(AT_MOST, (self, sym(other)))

    def __and__(self, other: Any) -> Sym:
        return Apply(BOTH, (self, sym(other)))

    def __or__(self, other: Any) -> Sym:
        return Apply(EITHER, (self, sym(other)))

    def __bool__(self) -> bool:
        raise TypeError("a column's formula never branches on data: write where(condition, a, b)")


@dataclass(frozen=True, eq=False)
class Name(Sym):
    """A column, role or parameter by its name."""

    name: str


@dataclass(frozen=True, eq=False)
class Number(Sym):
    """A literal number."""

    value: float


@dataclass(frozen=True, eq=False)
class Apply(Sym):
    """A verb applied to expressions."""

    verb: Verb
    arguments: tuple[Sym, ...]


@dataclass(frozen=True, eq=False)
class Reduce(Sym):
    """A reduction of a column over the rows under one row (``over.mean(x)``); ``arguments`` follow the column.

    ``counted`` names the 0/1 column of the rows that count; its range is the verb's second one.
    """

    verb: Verb
    column: Name | None
    arguments: tuple[Sym, ...] = ()
    counted: Name | None = None


PLUS = Verb("+", "{0}+{1}", "{0} + {1}", "{0} + {1}", ADD, (ADD, ADD))
MINUS = Verb("-", "{0}-{1}", "{0} - {1}", "{0} - {1}", ADD, (ADD, MULTIPLY))
TIMES = Verb("*", "{0}*{1}", r"{0} \cdot {1}", "{0} * {1}", MULTIPLY, (MULTIPLY, MULTIPLY))
DIVIDE = Verb("/", "{0}/{1}", r"\frac{{{0}}}{{{1}}}", "{0} / {1}", MULTIPLY, (MULTIPLY, NEGATE), (COMPARE, COMPARE))
# Every engine reads =-x^2 as (-x)^2: base and exponent are atoms, and a minus sign takes a power in parentheses.
RAISE = Verb("**", "{0}^{1}", "{{{0}}}^{{{1}}}", "{0}^{1}", POWER, (ATOM, ATOM), (ATOM, COMPARE))
MINUS_SIGN = Verb("neg", "-{0}", "-{0}", "-{0}", NEGATE, (ATOM,))
GREATER = Verb(">", "{0}>{1}", "{0} > {1}", "{0} > {1}", COMPARE, (ADD, ADD))
AT_LEAST = Verb(">=", "{0}>={1}", r"{0} \ge {1}", "{0} >= {1}", COMPARE, (ADD, ADD))
LESS = Verb("<", "{0}<{1}", "{0} < {1}", "{0} < {1}", COMPARE, (ADD, ADD))
AT_MOST = Verb("<=", "{0}<={1}", r"{0} \le {1}", "{0} <= {1}", COMPARE, (ADD, ADD))
BOTH = Verb("&", "AND({0},{1})", r"{0} \wedge {1}", "({0} and {1})", ATOM, (), (ADD, ADD))
EITHER = Verb("|", "OR({0},{1})", r"{0} \vee {1}", "({0} or {1})", ATOM, (), (ADD, ADD))


def sym(value: Any) -> Sym:
    """A symbol as it is, a number as a literal.

    >>> sym(2).value
    2.0
    """
    if isinstance(value, bool):
        raise TypeError("== on symbols is not a formula: compare with <= and >=")
    return value if isinstance(value, Sym) else Number(float(value))


def names(expression: Sym) -> Iterator[str]:
    """Every name in an expression, in reading order, repeats kept.

    >>> list(names(Name("a") * (Name("b") - Name("a"))))
    ['a', 'b', 'a']
    """
    if isinstance(expression, Name):
        yield expression.name
    elif isinstance(expression, Reduce):
        for read in (expression.column, expression.counted):
            yield from names(read) if read is not None else ()
        for argument in expression.arguments:
            yield from names(argument)
    elif isinstance(expression, Apply):
        for argument in expression.arguments:
            yield from names(argument)


class Style(NamedTuple):
    """How one printer writes names, numbers and reductions; verbs bring their own forms under ``form``."""

    form: str
    name: Callable[[str], str]
    number: Callable[[float], str]
    reduced: Callable[[str | None], str]


def render(expression: Sym, style: Style) -> str:
    """An expression as text in one style, with parentheses only where the meaning needs them."""
    return _render(expression, style)[0]


def _render(expression: Sym, style: Style) -> tuple[str, int]:
    if isinstance(expression, Number):
        return _signed(style.number(expression.value))
    if isinstance(expression, Name):
        text = style.name(expression.name)
        return _signed(text) if style.form == "excel" else _named(text)
    if isinstance(expression, Reduce):
        read = [None if expression.column is None else expression.column.name]
        read += [] if expression.counted is None else [expression.counted.name]
        return _form(expression.verb, style, [(style.reduced(name), ATOM) for name in read], expression.arguments)
    assert isinstance(expression, Apply)
    if style.form != "excel" and _is_flag(expression):
        condition = _render(expression.arguments[0], style)[0]
        return (rf"\left[{condition}\right]" if style.form == "latex" else f"[{condition}]"), ATOM
    return _form(expression.verb, style, [], expression.arguments)


def _is_flag(expression: Apply) -> bool:
    """Whether it is 1 where a condition holds, else 0: read as the condition in brackets."""
    _, *values = expression.arguments
    flag = [value.value for value in values if isinstance(value, Number)]
    return expression.verb.name == "where" and flag == [1.0, 0.0]


def _signed(text: str) -> tuple[str, int]:
    # A substituted negative number binds as a minus sign: -1 - (-1.1), 2 * (-1).
    return text, NEGATE if text.startswith("-") else ATOM


def _named(text: str) -> tuple[str, int]:
    """A symbol that is itself written as a formula stands in parentheses inside a product: ``(-dS) / n``.

    >>> _named("rA") == ("rA", ATOM), _named("std+eps") == ("std+eps", ADD), _named("τ-") == ("τ-", ATOM)
    (True, True, True)
    """
    if text.lstrip("-")[:1].isdigit():
        return _signed(text)
    depth, last = 0, len(text) - 1
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        open_sign = character in "+-/" and place < last and (not place or text[place - 1] not in "_^")
        if depth == 0 and open_sign:
            return text, ADD
    return text, ATOM


def _form(verb: Verb, style: Style, first: list[tuple[str, int]], rest: Sequence[Sym]) -> tuple[str, int]:
    parts = first + [_render(argument, style) for argument in rest]
    form = getattr(verb, style.form)
    if form in HANDED_ON:
        return parts[HANDED_ON.index(form)]
    wants = verb.latex_wants if style.form == "latex" and verb.latex_wants is not None else verb.wants
    texts = []
    for place, (text, binds) in enumerate(parts):
        want = wants[place] if place < len(wants) else COMPARE
        # An operand that starts with a minus sign stands bare only at the front.
        signed = text.startswith("-") and place > 0 and bool(wants) and verb.binds < ATOM and want > COMPARE
        texts.append(_parenthesised(text, style) if binds < want or signed else text)
    fraction = style.form == "latex" and verb is DIVIDE
    return form.format(*texts), ATOM if fraction else verb.binds


def _parenthesised(text: str, style: Style) -> str:
    return rf"\left({text}\right)" if style.form == "latex" else f"({text})"


def excel_number(value: float) -> str:
    """A literal as Excel reads it back: whole numbers bare, else 17 digits; a missing one (NaN) is an empty text.

    >>> excel_number(2.0), excel_number(1e-12), excel_number(0.1)
    ('2', '1E-12', '0.1')
    """
    if value != value:
        return '""'
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value).upper().replace("E-0", "E-")


def plain_number(value: float) -> str:
    """A literal for reading: ``0.5``, ``2``, ``1e-12``."""
    if value != value:
        return "none"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def latex_number(value: float) -> str:
    r"""A literal in LaTeX.

    >>> print(latex_number(1e-12))
    10^{-12}
    """
    text = plain_number(value)
    if value != value:
        return r"\varnothing"
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    power = f"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \cdot {power}"


def excel(expression: Sym, cell: Callable[[str], str], area: Callable[[str | None], str]) -> str:
    """An Excel formula without its ``=``: ``cell`` gives a name's cell, ``area`` the range a reduction reads.

    >>> excel(-Name("x") ** 2 + 1, lambda name: "A1", lambda name: "A1:A9")
    '-(A1^2)+1'
    """
    return render(expression, Style("excel", cell, excel_number, area))


def latex(expression: Sym, symbol: Callable[[str], str], rows: str = "rows") -> str:
    """LaTeX of an expression; ``symbol`` gives a name's LaTeX symbol, ``rows`` says what a count counts."""

    def reduced(name: str | None) -> str:
        return rf"\text{{{rows}}}" if name is None else symbol(name)

    return render(expression, Style("latex", symbol, latex_number, reduced))


def plain(expression: Sym, symbol: Callable[[str], str], rows: str = "rows") -> str:
    """Readable text of an expression; ``symbol`` gives a name's plain symbol, ``rows`` says what a count counts.

    >>> plain((Name("r") - 1) ** 2, str)
    '(r - 1)^2'
    """
    return render(expression, Style("plain", symbol, plain_number, lambda name: rows if name is None else symbol(name)))


def worked(expression: Sym, value: Callable[[str], str], values: Callable[[str | None], str]) -> str:
    """The expression with numbers substituted: ``value`` prints a name's number, ``values`` a reduction's numbers.

    >>> worked(Name("new") - Name("old"), {"new": "-1.0000", "old": "-1.1000"}.get, str)
    '-1.0000 - (-1.1000)'
    """
    return render(expression, Style("plain", value, plain_number, values))


def trace(function: Callable[..., Any], bound: Mapping[str, Any]) -> Sym:
    """The expression a column's function stands for: the function called on symbols.

    ``bound`` gives the argument of each parameter by name: a :class:`Name`, or the symbolic ``over``.
    """
    return sym(function(**bound))
