"""One option of a trainer: its defaults by version, and what it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grpo_calc.choices.words import strict_number
from grpo_calc.say import Problem

Version = tuple[int, ...]
Words = tuple[Any, ...]
"""The values an option takes; a pair ``(value, since)`` is one that came with a later version."""

YES = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
NOTHING = ("none", "null", "")


@dataclass(frozen=True)
class Option:
    """One option of a trainer, under the trainer's own name.

    ``defaults`` lists ``(since, value)`` in order of versions; the option exists from the first one on, and before
    ``until``. ``kind`` is what it takes: ``float``, ``int``, ``bool``, ``str``, ``list`` (of numbers), or the words it
    knows. ``ignored`` says that the trainer takes it and the loss of a given batch does not depend on it, ``optional``
    that it takes nothing too, as an option does whose default is nothing. ``form`` is how a value is written, where its
    kind does not say it; of a list (``LOW,HIGH``) it says how many numbers there are.
    """

    defaults: tuple[tuple[str, Any], ...]
    doc: str
    kind: type | Words
    until: str = ""
    ignored: bool = False
    optional: bool = False
    form: str = ""

    def exists(self, version: Version) -> bool:
        """Whether a version has the option."""
        return parsed(self.defaults[0][0]) <= version and not (self.until and parsed(self.until) <= version)

    def default(self, version: Version) -> Any:
        """The default of a version; the first one for versions before it."""
        value = self.defaults[0][1]
        for since, later in self.defaults:
            if parsed(since) <= version:
                value = later
        return value

    def take(self, value: Any, trainer: str, name: str, version: Version = (10**6,)) -> Any:
        """A given value as the option's kind; text is read as that kind.

        Errors: :class:`~grpo_calc.say.Problem` where it is none, with what the option takes.
        """
        found = self._read(value, version)
        if found is ...:
            raise Problem("trainer.bad_value", trainer=trainer, option=name, seen=value, takes=self.takes(version))
        return found

    def others(self, value: Any, version: Version) -> list[Any]:
        """Other values that it takes, to see what depends on it."""
        if isinstance(self.kind, tuple):
            found = [word for word in self._words(version) if word != value]
        elif self.kind is bool:
            found = [not value]
        elif self.kind is int:
            found = [(value or 0) + 1, (value or 0) * 2 + 3]
        elif self.kind is float:
            found = [(value or 0.0) / 2 + 0.37, 3.0]
        elif self.kind is list:
            found = [[0.37 + number / 2 for number in value]] if value else [[0.5, 2.0], [0.37]]
        else:
            found = []
        return [*found, None] if self._optional and value is not None else found

    def takes(self, version: Version = (10**6,)) -> str:
        """What the option takes, in words."""
        names = {float: "number", int: "whole number", bool: "true, false", str: "text", list: "numbers"}
        words = ", ".join(map(str, self._words(version))) if isinstance(self.kind, tuple) else names[self.kind]
        words = self.form or words
        return f"{words}, none" if self._optional else words

    @property
    def _optional(self) -> bool:
        return self.optional or any(value is None for _, value in self.defaults)

    def _words(self, version: Version) -> list[Any]:
        assert isinstance(self.kind, tuple)
        return [
            w[0] if isinstance(w, tuple) else w
            for w in self.kind
            if not isinstance(w, tuple) or parsed(w[1]) <= version
        ]

    def _read(self, value: Any, version: Version) -> Any:
        """The value, or ``...`` where it is not of the kind."""
        if isinstance(self.kind, tuple):
            seen = str(value).strip().lower()
            words = [word for word in self._words(version) if str(word).lower() == seen]
            return words[0] if words else None if value is None and self._optional else ...
        plain = value.strip() if isinstance(value, str) else value
        if plain is None or (isinstance(plain, str) and plain.lower() in NOTHING):
            return None if self._optional else ...
        found = READERS[self.kind](plain)
        counts = {form.count(",") + 1 for form in self.form.split(" | ")} if self.form else ()
        return ... if self.kind is list and found is not ... and counts and len(found) not in counts else found


def _number(value: Any) -> Any:
    """A finite number, or ``...``."""
    number = strict_number(value)
    return number if abs(number) < float("inf") else ...


def _whole(value: Any) -> Any:
    """A whole number, or ``...``."""
    number = _number(value)
    return int(number) if number is not ... and number == int(number) else ...


def _truth(value: Any) -> Any:
    """True or false, or ``...``."""
    return YES.get(value.lower(), ...) if isinstance(value, str) else value if isinstance(value, bool) else ...


def _numbers(value: Any) -> Any:
    """Numbers, from a list or from text with commas; one number is a list of one."""
    several = value.strip("[]()").split(",") if isinstance(value, str) else value
    numbers = [_number(one) for one in (several if isinstance(several, Sequence) else [several])]
    return ... if ... in numbers else numbers


READERS: Mapping[Any, Callable[[Any], Any]] = {float: _number, int: _whole, bool: _truth, list: _numbers, str: str}


def option(
    default: Any,
    doc: str,
    *later: tuple[str, Any],
    since: str = "0",
    until: str = "",
    ignored: bool = False,
    optional: bool = False,
    kind: type | Words | None = None,
    form: str = "",
) -> Option:
    """An option with one default, or with later ones: ``option(0.04, "KL coefficient", ("0.19", 0.0))``.

    What it takes is the kind of its default, or ``kind`` (a number, where the default is nothing).
    """
    found = kind if kind is not None else float if default is None else type(default)
    return Option(((since, default), *later), doc, found, until, ignored, optional, form)


def parsed(version: str) -> Version:
    """A version as numbers.

    >>> parsed("1.16.0") > parsed("1.9")
    True
    """
    try:
        return tuple(int(part) for part in version.split("."))
    except ValueError:
        raise Problem("trainer.bad_version", seen=version) from None
