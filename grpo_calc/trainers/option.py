"""One option of a trainer: its defaults by version, and what it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
    that it takes nothing too, as an option does whose default is nothing.
    """

    defaults: tuple[tuple[str, Any], ...]
    doc: str
    kind: type | Words
    until: str = ""
    ignored: bool = False
    optional: bool = False

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

    def takes(self, version: Version = (10**6,)) -> str:
        """What the option takes, in words."""
        names = {float: "number", int: "whole number", bool: "true, false", str: "text", list: "numbers"}
        words = ", ".join(map(str, self._words(version))) if isinstance(self.kind, tuple) else names[self.kind]
        return f"{words}, none" if self._optional else words

    @property
    def _optional(self) -> bool:
        return self.optional or any(value is None for _, value in self.defaults)

    def _words(self, version: Version) -> list[Any]:
        assert isinstance(self.kind, tuple)
        return [w[0] if isinstance(w, tuple) else w for w in self.kind if not isinstance(w, tuple) or parsed(w[1]) <= version]

    def _read(self, value: Any, version: Version) -> Any:
        """The value, or ``...`` where it is not of the kind."""
        if isinstance(self.kind, tuple):
            seen = str(value).strip().lower()
            return next((w for w in self._words(version) if str(w).lower() == seen), None if value is None and self._optional else ...)
        text = value.strip() if isinstance(value, str) else None
        if value is None or (text is not None and text.lower() in NOTHING):
            return None if self._optional else ...
        if self.kind is str:
            return str(value)
        if self.kind is bool:
            return YES.get(text.lower(), ...) if text is not None else value if isinstance(value, bool) else ...
        if self.kind is list:
            parts = text.strip("[]()").split(",") if text is not None else value
            numbers = [_number(part) for part in (parts if isinstance(parts, Sequence) else [parts])]
            return ... if ... in numbers else numbers
        number = _number(value)
        if self.kind is int:
            return int(number) if number is not ... and number == int(number) else ...
        return number


def _number(value: Any) -> Any:
    """A finite number, or ``...``."""
    try:
        number = float(value) if not isinstance(value, bool) else float("nan")
    except (TypeError, ValueError):
        return ...
    return number if abs(number) < float("inf") else ...


def option(
    default: Any,
    doc: str,
    *later: tuple[str, Any],
    since: str = "0",
    until: str = "",
    ignored: bool = False,
    optional: bool = False,
    kind: type | Words | None = None,
) -> Option:
    """An option with one default, or with later ones: ``option(0.04, "KL coefficient", ("0.19", 0.0))``.

    What it takes is the kind of its default, or ``kind`` (a number, where the default is nothing).
    """
    found = kind if kind is not None else float if default is None else type(default)
    return Option(((since, default), *later), doc, found, until, ignored, optional)


def parsed(version: str) -> Version:
    """A version as numbers.

    >>> parsed("1.16.0") > parsed("1.9")
    True
    """
    try:
        return tuple(int(part) for part in version.split("."))
    except ValueError:
        raise Problem("trainer.bad_version", seen=version) from None
