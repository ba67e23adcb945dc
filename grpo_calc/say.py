"""Every sentence a user reads, in both languages: problems, notes, and the texts they are made from.

A sentence has a key (``read.not_a_number``: room and name) and values; its words live in ``texts/read.en.toml`` and
``texts/read.zh.toml``.
This file stands alone, so that any part of the house can report a problem or leave a note.
"""

from __future__ import annotations

import functools
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

LANGUAGES = ("en", "zh")


@functools.cache
def sentences(room: str, lang: str) -> Mapping[str, str]:
    """The sentences of one room in one language: ``texts/<room>.<lang>.toml``, a flat table.

    >>> sorted(sentences("note", "en")) == sorted(sentences("note", "zh"))
    True
    """
    path = Path(__file__).with_name("texts") / f"{room}.{lang}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def say(key: str, lang: str = "en", /, **values: Any) -> str:
    """The sentence of ``key`` with its values put in.

    >>> say("note.masked", "en", count=3), say("note.masked", "en", count=1)
    ('3 masked tokens are left out of every figure', '1 masked token is left out of every figure')
    """
    room, name = key.split(".", 1)
    return sentences(room, lang)[name].format(
        **{key: _Counted(value) if type(value) is int else value for key, value in values.items()}
    )


class _Counted(int):
    """A number that chooses between two words in a sentence: ``{count:is|are}`` is ``is`` for 1, else ``are``."""

    def __format__(self, spec: str) -> str:
        one, bar, many = spec.partition("|")
        return super().__format__(spec) if not bar else one if self == 1 else many


def cited(source: str, lang: str) -> str:
    """A source in one language: a citation as it is; what describes in words, in that language's.

    >>> cited("PPO, arXiv:1707.06347, eq. 7", "zh"), cited("calculus", "zh")
    ('PPO, arXiv:1707.06347, eq. 7', '微积分')
    """
    words = {text: say(f"source.{key}", lang) for key, text in sentences("source", "en").items()}
    if lang == "en" or source in words:
        return words.get(source, source)
    parts = [words.get(part, part) for part in source.split("; ")]
    return "；".join(parts) if parts != source.split("; ") else source


def locale_language(environment: Mapping[str, str] = os.environ) -> str:
    """The language of the locale: ``zh`` where it asks for Chinese, else ``en``.

    >>> locale_language({"LC_ALL": "zh_CN.UTF-8"}), locale_language({"LANG": "de_DE"}), locale_language({})
    ('zh', 'en', 'en')
    """
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environment.get(name):
            return "zh" if environment[name].lower().startswith("zh") else "en"
    return "en"


class Note(NamedTuple):
    """Something true and worth saying about a result; never a failure.

    ``where`` names the rows or columns it speaks of, for machine readers.
    """

    key: str
    values: Mapping[str, Any] = MappingProxyType({})

    def text(self, lang: str = "en") -> str:
        """The note in one language."""
        return say(self.key, lang, **self.values)

    def __str__(self) -> str:
        return self.text()


def note(key: str, /, **values: Any) -> Note:
    """A note by its key.

    >>> str(note("note.masked", count=3))
    '3 masked tokens are left out of every figure'
    """
    return Note(key, values)


class Problem(Exception):
    """What stops the work, as one line: where, what was seen, what to do.

    The command line prints ``text(lang)`` and exits with 2; a library user sees the English line.
    """

    def __init__(self, key: str, /, **values: Any) -> None:
        super().__init__(key, values)
        self.key = key
        self.values: Mapping[str, Any] = values
        self.source = ""

    def of(self, source: str) -> Problem:
        """The same problem, whose line begins with the file it is about, unless it names it already."""
        self.source = "" if "source" in self.values else source
        return self

    def text(self, lang: str = "en") -> str:
        """The problem in one language, on one line."""
        before = f"{self.source}{'：' if lang == 'zh' else ': '}" if self.source else ""
        return " ".join((before + say(self.key, lang, **self.values)).split("\n"))

    def __str__(self) -> str:
        return self.text()
