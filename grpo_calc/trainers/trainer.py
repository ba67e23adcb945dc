"""What a trainer preset is: its options with their defaults by version, and how they choose roles and parameters."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from grpo_calc.recipe import Recipe
from grpo_calc.recipes import GRPO
from grpo_calc.say import Note, Problem, note

Version = tuple[int, ...]


@dataclass(frozen=True)
class Option:
    """One option of a trainer, under the trainer's own name.

    ``defaults`` lists ``(since, value)`` in order of versions; ``ignored`` says that the trainer takes it and the loss does
    not depend on it (it is taken, and said). ``source`` says where the trainer defines it.
    """

    defaults: tuple[tuple[str, Any], ...]
    doc: str
    ignored: bool = False

    def default(self, version: Version) -> Any:
        """The default of a version; the first one for versions before it."""
        value = self.defaults[0][1]
        for since, later in self.defaults:
            if parsed(since) <= version:
                value = later
        return value


def option(default: Any, doc: str, *later: tuple[str, Any], since: str = "0", ignored: bool = False) -> Option:
    """An option with one default, or with later ones: ``option(0.04, "KL coefficient", ("0.19", 0.0))``."""
    return Option(((since, default), *later), doc, ignored)


@dataclass(frozen=True)
class Chosen:
    """What a trainer's options come to: changes to the grpo recipe, and what is worth saying."""

    changes: Mapping[str, Any]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Trainer:
    """A trainer: its name, versions, options, and the pure function from options to roles and parameters.

    ``choose(options, version)`` gives the changes that turn the grpo recipe into the trainer's; ``metrics(worked)`` what it
    logs, under its own names. ``latest`` is the version taken when none is named; ``versions`` those it was checked against.
    """

    name: str
    latest: str
    versions: tuple[str, ...]
    options: Mapping[str, Option]
    choose: Callable[[Mapping[str, Any], Version], Chosen]
    source: str
    en: str
    zh: str
    metrics: Callable[[Any], Mapping[str, float]] | None = None
    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def recipe(self, version: str | None = None, **given: Any) -> Recipe:
        """The recipe of a version with the trainer's own options; a missing one takes that version's default.

        Errors: :class:`~grpo_calc.say.Problem` for an unknown option (the known ones are listed) or version.
        """
        at = parsed(version or self.latest)
        unknown = [name for name in given if name not in self.options]
        if unknown:
            close = difflib.get_close_matches(unknown[0], self.options, 1)
            raise Problem("trainer.unknown_option", trainer=self.name, option=unknown[0], close=close[0] if close else "-", known=", ".join(self.options))
        options = {name: given.get(name, known.default(at)) for name, known in self.options.items()}
        chosen = self.choose(MappingProxyType(options), at)
        ignored = [name for name in given if self.options[name].ignored]
        notes = [note("note.option_ignored", trainer=self.name, option=name) for name in ignored]
        changed = GRPO.change(**chosen.changes)
        return Recipe(
            name=f"{self.name}@{version or self.latest}",
            roles=changed.roles,
            parameters=changed.parameters,
            source=self.source,
            en=self.en,
            zh=self.zh,
            notes=(*chosen.notes, *notes),
        )


def parsed(version: str) -> Version:
    """A version as numbers.

    >>> parsed("1.16.0") > parsed("1.9")
    True
    """
    try:
        return tuple(int(part) for part in version.split("."))
    except ValueError:
        raise Problem("trainer.bad_version", seen=version) from None
