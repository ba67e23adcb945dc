"""A lesson: a batch, the recipe it is worked by, and the figures it must come out with, each with its status."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grpo_calc.say import Note, say

if TYPE_CHECKING:
    from grpo_calc.table import Table

EXACTLY = 1e-15


class Figure(NamedTuple):
    """One figure that ours is held against.

    ``column`` and ``row`` (1-based, at the column's level; ``None`` for a batch figure) say which; ``printed`` is the
    figure letter by letter. ``status`` is ``article`` for one that the source itself prints, ``exact`` for one worked
    by hand from the source's rule: the second is never shown as the source's.
    """

    column: str
    printed: str
    row: int | None = None
    status: str = "article"

    def agreement(self, ours: float) -> str:
        """How ``ours`` meets the figure: ``rounded``, ``truncated``, ``exact``, or ``differs``.

        A printed figure is met to its last printed digit, rounded or cut there; an exact one within 1e-15.

        >>> Figure("kl", "0.0007662").agreement(0.00076620531), Figure("kl", "0.0007662").agreement(0.00076627)
        ('rounded', 'truncated')
        >>> Figure("kl", "0.0007662").agreement(0.0007672)
        'differs'
        """
        if self.status == "exact":
            return "exact" if abs(ours - float(self.printed)) <= EXACTLY else "differs"
        decimals = len(self.printed.partition(".")[2])
        if f"{ours:.{decimals}f}" == self.printed:
            return "rounded"
        cut = f"{ours:.{decimals + 9}f}"[:-9]
        return "truncated" if cut == self.printed else "differs"


class Vector(NamedTuple):
    """The logits that a row's two log-probs come from; ``action`` is the chosen component, from 1."""

    old: tuple[float, ...]
    new: tuple[float, ...]
    action: int


class Lesson(NamedTuple):
    """A built-in input: its table, its recipe's name, the figures it is checked by, and what is said about it.

    ``status``, ``facts`` (of the example), ``audit`` (of its source) and ``tables`` (the source's, in our words) are
    keys of sentences; :meth:`text` says one. ``vectors`` has one entry a row where log-probs come from logits.
    """

    name: str
    table: Table
    recipe: str
    figures: tuple[Figure, ...]
    status: tuple[str, ...]
    audit: tuple[str, ...]
    facts: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    vectors: tuple[Vector, ...] = ()

    @property
    def inputs_are(self) -> str:
        """Whose the inputs are: ``reconstructed`` by us, or ``given``."""
        return "reconstructed" if "reconstructed" in self.status else "given"

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is given, reconstructed and computed, and the audit, as notes for any output."""
        told = (*self.status, *self.facts, *self.audit, *self.tables)
        return tuple(Note(self._sentence(key)) for key in told)

    def text(self, key: str, lang: str = "en") -> str:
        """One of the lesson's sentences: ``title``, ``about``, or a key of ``status`` or ``audit``."""
        return say(self._sentence(key), lang)

    def _sentence(self, key: str) -> str:
        return f"lesson.{self.name.replace('-', '_')}_{key}"

    def __repr__(self) -> str:
        return f"Lesson({self.name!r}, recipe={self.recipe!r}, tokens={self.table.token_count})"
