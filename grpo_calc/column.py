"""A column: a plain function with a symbol, labels and a source; the catalogue; and the levels columns live at."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from grpo_calc.over import Symbolic
from grpo_calc.sym import Name, Sym, latex, plain, trace


class Level(IntEnum):
    """Where a column lives, coarse to fine: one row a batch, a group, a completion or a token."""

    BATCH = 0
    GROUP = 1
    COMPLETION = 2
    TOKEN = 3


class Token:
    """Annotation: a reduction consumes this argument row by row at token level."""


class Completion:
    """Annotation: a reduction consumes or gives one value a completion."""


class Group:
    """Annotation: a reduction consumes or gives one value a group."""


class Batch:
    """Annotation: a reduction gives one value a batch."""


LEVELS: Mapping[str, Level] = MappingProxyType(
    {"Token": Level.TOKEN, "Completion": Level.COMPLETION, "Group": Level.GROUP, "Batch": Level.BATCH}
)


class Label(NamedTuple):
    """How a quantity is called: plain symbol, LaTeX symbol, and a short name in each language."""

    symbol: str
    latex: str
    en: str
    zh: str

    def name(self, lang: str) -> str:
        """The short name in one language."""
        return self.zh if lang == "zh" else self.en


class Column(NamedTuple):
    """One formula and what is known about it. ``arguments`` are the parameter names of ``function``, in order.

    ``consumes`` and ``gives`` are the levels of a reduction (a function with an ``over`` parameter). An element-wise
    column lives at the finest level of its arguments (``gives`` is ``None``), or is pinned to the level it gives.
    """

    key: str
    function: Callable[..., Any]
    label: Label
    source: str
    live: bool = True
    arguments: tuple[str, ...] = ()
    consumes: Mapping[str, Level] = MappingProxyType({})
    gives: Level | None = None

    @property
    def doc(self) -> str:
        """The function's documentation."""
        return inspect.getdoc(self.function) or ""

    def expression(self, renamed: Mapping[str, str] = MappingProxyType({}), counted: str | None = None) -> Sym:
        """The formula as an expression of names (``renamed`` maps a parameter to the name it is bound to).

        ``counted`` names the 0/1 column that says which rows a reduction counts.
        """
        over = Symbolic(counted)
        bound = {name: over if name == "over" else Name(renamed.get(name, name)) for name in self.arguments}
        return trace(self.function, bound)


_catalogue: dict[str, Column] = {}
_labels: dict[str, Label] = {}


def column(
    symbol: str, *, en: str, zh: str, source: str, latex: str | None = None, live: bool = True, whole: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function as a column: its name is the key, its parameters are its dependencies.

    ``live=False`` says that no cell formula can compute it: a workbook shows its value with a note. ``whole=True`` says
    that a reduction needs every token of the batch at once: such a column of tokens is held, not streamed.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        key = function.__name__
        if key in _catalogue:
            raise ValueError(f"two columns are called {key}")
        consumes, gives = _levels(function, whole)
        label = Label(symbol, latex or symbol, en, zh)
        arguments = _parameters(function)
        _catalogue[key] = Column(key, function, label, source, live, arguments, consumes, gives)
        return function

    return declare


def _levels(function: Callable[..., Any], whole: bool) -> tuple[Mapping[str, Level], Level | None]:
    """The annotated levels of a reduction; the law is that it consumes exactly one finer level, tokens by completions.

    Two exceptions, each named: a scan goes along a completion's tokens and gives a value a token (``over.to_go``); a
    ``whole`` reduction (a rank among all tokens) reads every token of the batch at once.
    """
    annotated = {name: LEVELS[_spelled(level)] for name, level in function.__annotations__.items()}
    gives = annotated.pop("return", None)
    if "over" in _parameters(function):
        finer = set(annotated.values())
        scan = finer == {Level.TOKEN} and gives is Level.TOKEN
        if gives is None or len(finer) != 1 or (min(finer) <= gives and not scan):
            raise ValueError(f"{function.__name__}: a reduction consumes one finer level and gives a coarser one")
        if Level.TOKEN in finer and gives is not Level.COMPLETION and not scan and not whole:
            raise ValueError(
                f"{function.__name__}: tokens are reduced to completions, and those further: blocks end there"
            )
    elif annotated:
        raise ValueError(f"{function.__name__}: only a reduction consumes a level")
    return MappingProxyType(annotated), gives


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    code = function.__code__  # a hundred columns are declared at every start, and inspect.signature is slow
    return code.co_varnames[: code.co_argcount]


def _spelled(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else str(annotation.__name__)


def quantity(key: str, symbol: str, *, en: str, zh: str, latex: str | None = None) -> None:
    """Declare what a name stands for when a recipe binds it: a role, a given column or a parameter."""
    if key in _labels:
        raise ValueError(f"two quantities are called {key}")
    _labels[key] = Label(symbol, latex or symbol, en, zh)


def catalogue() -> Mapping[str, Column]:
    """Every declared column by its key."""
    import grpo_calc.columns  # noqa: F401  (declares them)

    return MappingProxyType(_catalogue)


def label(name: str) -> Label:
    """The label of a name: the quantity it stands for, else the column of that key, else the name itself."""
    if name in _labels:
        return _labels[name]
    found = catalogue().get(name)
    return found.label if found is not None else Label(name, rf"\text{{{name}}}", name, name)


def formula(column: Column, renamed: Mapping[str, str] = MappingProxyType({})) -> str:
    """A column's formula as text, in symbols.

    >>> formula(catalogue()["ratio"])
    'exp(log r)'
    """
    return plain(column.expression(renamed), lambda name: label(name).symbol, counted(column))


def formula_latex(column: Column, renamed: Mapping[str, str] = MappingProxyType({})) -> str:
    """A column's formula in LaTeX."""
    return latex(column.expression(renamed), lambda name: label(name).latex, counted(column))


def counted(column: Column) -> str:
    """What a column that counts rows counts: tokens, completions or groups."""
    return f"{column.consumes['over'].name.lower()}s" if "over" in column.consumes else "rows"
