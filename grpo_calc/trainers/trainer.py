"""What a trainer preset is: its options with their defaults by version, and how they choose roles and parameters."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping
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
    are known; ``replaced`` the trainer's own defaults that a batch without a critic cannot have.
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
    replaced: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

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
        chosen, changed = self._made(taken, at)
        idle = {name for name in taken if known[name].ignored or name in chosen.ignored} | self.idle(taken, at)
        unused = [name for name in taken if name in idle]
        return replace(
            changed,
            name=f"{self.name}@{at}",
            source=self.source,
            en=self.en,
            zh=self.zh,
            notes=(
                *chosen.notes,
                *(note("note.option_ignored", trainer=self.name, option=name) for name in unused),
                *(
                    note("note.default_replaced", trainer=self.name, option=name, theirs=theirs, ours=ours)
                    for name, theirs in self.replaced.items()
                    if name not in taken and (ours := known[name].default(parsed(at))) is not None
                ),
            ),
            changed={},
            own=Preset(self, at, MappingProxyType(taken), MappingProxyType(self._all(taken, at))),
        )

    def _all(self, taken: Mapping[str, Any], at: str) -> dict[str, Any]:
        """Every option of a version, with its default where it is not given."""
        return {name: taken.get(name, one.default(parsed(at))) for name, one in self.known(at).items()}

    def _made(self, taken: Mapping[str, Any], at: str) -> tuple[Chosen, Recipe]:
        """What the options come to, and the recipe of our roles.

        Errors: :class:`~grpo_calc.say.Problem` that names the trainer's own option where one has a value out of range.
        """
        try:
            return self._tried(taken, at)
        except Problem as problem:
            to_blame = self._to_blame(taken, at) if problem.key.startswith("recipe.bad_number") else None
            if to_blame is None:
                raise
            name = f"{self.name} {at}: {to_blame}"
            raise Problem(problem.key, **{**problem.values, "key": name, "seen": taken[to_blame]}) from None
        except (ArithmeticError, LookupError, TypeError, ValueError):
            to_blame = self._to_blame(taken, at)
            if to_blame is None:
                raise
            takes = self.options[to_blame].takes(parsed(at))
            values = {"trainer": self.name, "option": to_blame, "seen": taken[to_blame], "takes": takes}
            raise Problem("trainer.bad_value", **values) from None

    def _tried(self, taken: Mapping[str, Any], at: str) -> tuple[Chosen, Recipe]:
        chosen = self.choose(MappingProxyType(self._all(taken, at)), parsed(at))
        return chosen, GRPO.change(**chosen.changes).with_notes(*chosen.notes)

    def _to_blame(self, taken: Mapping[str, Any], at: str) -> str | None:
        """The option without which the others make a recipe."""
        for name in taken:
            if self._other({key: value for key, value in taken.items() if key != name}, at) is not None:
                return name
        return None

    def _other(self, taken: Mapping[str, Any], at: str) -> Recipe | None:
        """The recipe of other values, ``None`` where they make none."""
        try:
            return self._tried(taken, at)[1]
        except (Problem, ArithmeticError, LookupError, TypeError, ValueError):
            return None

    def others(self, taken: Mapping[str, Any], at: str, name: str) -> Iterator[Recipe]:
        """The recipes that one option makes with other values, the default first."""
        one = self.known(at)[name]
        value = taken.get(name, one.default(parsed(at)))
        for other in (one.default(parsed(at)), *one.others(value, parsed(at))):
            made = self._other({**taken, name: other}, at)
            if made is not None:
                yield made

    def idle(self, taken: Mapping[str, Any], at: str, read: Collection[str] | None = None) -> set[str]:
        """The options given, not as by default, that change no role nor any parameter (of those that are ``read``)."""
        mine = self._tried(taken, at)[1]
        given = [name for name in taken if taken[name] != self.options[name].default(parsed(at))]
        return {name for name in given if all(_same(mine, other, read) for other in self.others(taken, at, name))}

    def deciding(self, taken: Mapping[str, Any], at: str, parameters: Collection[str]) -> str | None:
        """An option given that decides one of these parameters."""
        mine = self._tried(taken, at)[1]
        for name in taken:
            if any(_differ(mine, other, parameters) for other in self.others(taken, at, name)):
                return name
        return None


def _differ(one: Recipe, other: Recipe, parameters: Collection[str]) -> bool:
    return any(repr(one.parameters.get(name)) != repr(other.parameters.get(name)) for name in parameters)


def _same(one: Recipe, other: Recipe, read: Collection[str] | None) -> bool:
    """Whether two recipes are one and say the same, apart from parameters that are not read."""
    read = {*one.parameters, *other.parameters} if read is None else read
    alike = one.roles == other.roles and one.reward_weights == other.reward_weights and one.notes == other.notes
    return alike and not _differ(one, other, read)


@dataclass(frozen=True)
class Preset:
    """Which trainer's options a recipe came from, so that they can be changed by the trainer's own names.

    ``given`` holds the options that were named, ``options`` all of that version.
    """

    trainer: Trainer
    version: str
    given: Mapping[str, Any]
    options: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The trainer and its version."""
        return f"{self.trainer.name} {self.version}"

    def alternatives(self) -> Iterator[tuple[str, Any, Recipe]]:
        """Each option with its value, and a recipe that another value of it makes; those that were given first."""
        for name in dict.fromkeys((*self.given, *self.options)):
            for other in self.trainer.others(self.given, self.version, name):
                yield name, self.options[name], other

    def idle(self, read: Collection[str]) -> list[str]:
        """The options given that change only parameters that are not read, and that no note speaks of yet."""
        said = {
            name for name in self.given if self.trainer.options[name].ignored or name in self._chosen_ignored()
        } | self.trainer.idle(self.given, self.version)
        idle = self.trainer.idle(self.given, self.version, read)
        return [name for name in self.given if name in idle and name not in said]

    def _chosen_ignored(self) -> frozenset[str]:
        return self.trainer.choose(self.options, parsed(self.version)).ignored

    def deciding(self, parameters: Collection[str]) -> str | None:
        """An option given that decides one of these parameters."""
        return self.trainer.deciding(self.given, self.version, parameters)

    def takes(self, key: str) -> bool:
        """Whether a key is one of the trainer's options."""
        return self.trainer.aliases.get(key, key) in self.options

    def recipe(self, changes: Mapping[str, Any]) -> Recipe:
        """The trainer's recipe with some of its options changed."""
        return self.trainer.recipe(self.version, **{**self.given, **changes})

    def unknown(self, key: str) -> Problem:
        """What to say of a key that is neither an option of the trainer nor a role or parameter."""
        return self.trainer.unknown(key, self.version)
