"""What a trainer preset is: its options with their defaults by version, and how they choose roles and parameters."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from grpo_calc.recipe import Recipe
from grpo_calc.recipes import GRPO
from grpo_calc.say import Note, Problem, note
from grpo_calc.trainers.option import Option, Version, option, parsed

__all__ = ["Chosen", "Option", "Preset", "Trainer", "Version", "option", "parsed"]


@dataclass(frozen=True)
class Chosen:
    """What a trainer's options come to: changes to the grpo recipe, and what is worth saying.

    ``ignored`` names the options that do not matter beside the others: they are said where they were given.
    """

    changes: Mapping[str, Any]
    notes: tuple[Note, ...] = ()
    ignored: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Trainer:
    """A trainer: its name, versions, options, and the pure function from options to roles and parameters.

    ``choose(options, version)`` gives the changes that turn the grpo recipe into the trainer's; ``metrics(worked)``
    what it logs, under its own names. ``latest`` is the version taken when none is named; ``versions`` are all that
    are known.
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

    def known(self, version: str | None = None) -> dict[str, Option]:
        """The options of a version."""
        at = parsed(self.version(version))
        return {name: known for name, known in self.options.items() if known.exists(at)}

    def version(self, version: str | None) -> str:
        """A known version: the one named (``0.2.0.post2`` is 0.2.0), or the latest."""
        named = (version or self.latest).partition(".post")[0]
        found = next((v for v in (named, f"{named}.0") if v in self.versions), None)
        if found is None:
            raise Problem(
                "trainer.unknown_version", trainer=self.name, seen=version, oldest=self.versions[0], latest=self.latest
            )
        return found

    def unknown(self, name: str, version: str) -> Problem:
        """What to say of an option that a version does not have."""
        known = self.known(version)
        close = next(iter(difflib.get_close_matches(name, known, 1)), "-")
        used = ", ".join(name for name, one in known.items() if not one.ignored)
        return Problem("trainer.unknown_option", trainer=f"{self.name} {version}", option=name, close=close, known=used)

    def flattened(self, given: Mapping[str, Any], outer: str = "") -> dict[str, Any]:
        """Options by the trainer's own names: ``--`` is left out, a mapping's entries have its name before theirs.

        ``actor={"eps_clip": 0.2}`` is ``{"actor.eps_clip": 0.2}``; other spellings of an option are resolved.
        """
        flat: dict[str, Any] = {}
        for key, value in given.items():
            name = outer + key.removeprefix("--")
            name = self.aliases.get(name, name)
            flat |= self.flattened(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
        return flat

    def recipe(self, version: str | None = None, **given: Any) -> Recipe:
        """The recipe of a version with the trainer's own options; a missing one takes that version's default.

        A value may be text, as a command line or a file gives it; options may be nested.

        Errors: :class:`~grpo_calc.say.Problem` for an unknown option, value (the known ones are listed) or version.
        """
        at = self.version(version)
        known = self.known(at)
        given = self.flattened(given)
        for name in given:
            if name not in known:
                raise self.unknown(name, at)
        taken = {name: known[name].take(value, self.name, name, parsed(at)) for name, value in given.items()}
        options = {name: taken.get(name, one.default(parsed(at))) for name, one in known.items()}
        chosen = self.choose(MappingProxyType(options), parsed(at))
        unused = [name for name in taken if known[name].ignored or name in chosen.ignored]
        changed = GRPO.change(**chosen.changes)
        return replace(
            changed,
            name=f"{self.name}@{at}",
            source=self.source,
            en=self.en,
            zh=self.zh,
            notes=(*chosen.notes, *(note("note.option_ignored", trainer=self.name, option=name) for name in unused)),
            changed={},
            own=Preset(self, at, MappingProxyType(taken), MappingProxyType(options)),
        )


@dataclass(frozen=True)
class Preset:
    """Which trainer's options a recipe came from, so that they can be changed by the trainer's own names.

    ``given`` holds the options that were named, ``options`` all of that version.
    """

    trainer: Trainer
    version: str
    given: Mapping[str, Any]
    options: Mapping[str, Any]

    def takes(self, key: str) -> bool:
        """Whether a key is one of the trainer's options."""
        return self.trainer.aliases.get(key, key) in self.options

    def recipe(self, changes: Mapping[str, Any]) -> Recipe:
        """The trainer's recipe with some of its options changed."""
        return self.trainer.recipe(self.version, **{**self.given, **changes})

    def unknown(self, key: str) -> Problem:
        """What to say of a key that is neither an option of the trainer nor a role or parameter."""
        return self.trainer.unknown(key, self.version)
