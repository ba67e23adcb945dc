"""Every sentence exists in both languages, is asked for with the values it needs, and is asked for at all."""

import ast
import re
import string
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import grpo_calc.column as columns
from grpo_calc.recipes import RECIPES
from grpo_calc.say import LANGUAGES, say

PACKAGE = Path(columns.__file__).parent
TEXTS = PACKAGE / "texts"
ROOMS = sorted({path.name.split(".")[0] for path in TEXTS.glob("*.toml")})
SOURCES = sorted(PACKAGE.rglob("*.py"))


def texts(room: str, lang: str) -> dict[str, str]:
    return tomllib.loads((TEXTS / f"{room}.{lang}.toml").read_text(encoding="utf-8"))


def placeholders(sentence: str) -> set[str]:
    """The names in braces.

    >>> sorted(placeholders("{count} values of {column:>3} are {{braced}}"))
    ['column', 'count']
    """
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


class Asked(NamedTuple):
    """A sentence asked for in a source: its key, and the values given (``None``: they cannot be read off)."""

    key: str
    given: set[str] | None
    place: str


def asked(path: Path) -> Iterator[Asked]:
    """Each ``Problem("room.key", value=...)``, ``note(...)`` and ``say(...)`` whose key is written out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
            continue
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if called in {"Problem", "note", "say"}:
            names = {keyword.arg for keyword in node.keywords}
            given = None if None in names else {str(name) for name in names} - {"lang"}
            yield Asked(str(node.args[0].value), given, f"{path.name}:{node.lineno}")


ASKED = [each for path in SOURCES for each in asked(path)]
SENTENCES = {f"{room}.{key}": text for room in ROOMS for key, text in texts(room, "en").items()}


def mentioned() -> Iterator[re.Pattern[str]]:
    """Every key-like string in the sources; a part in braces of an f-string stands for anything."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [
                    re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w+" for part in node.values
                ]
                yield re.compile("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield re.compile(re.escape(node.value))


@pytest.mark.parametrize("room", ROOMS)
def test_both_languages_say_the_same(room: str) -> None:
    english, chinese = (texts(room, lang) for lang in LANGUAGES)
    assert english.keys() == chinese.keys()
    assert {key: placeholders(text) for key, text in english.items()} == {
        key: placeholders(text) for key, text in chinese.items()
    }


def test_what_is_asked_for_exists_and_gets_its_values() -> None:
    wrong = []
    for key, given, place in ASKED:
        if key not in SENTENCES:
            wrong.append(f"{place}: there is no sentence {key}")
        elif given is not None and given != (wanted := placeholders(SENTENCES[key])):
            wrong.append(f"{place}: {key} wants {sorted(wanted)}, is given {sorted(given)}")
    assert not wrong


def test_every_sentence_is_asked_for() -> None:
    patterns = {pattern for pattern in mentioned() if "." in pattern.pattern}
    assert sorted(key for key in SENTENCES if not any(pattern.fullmatch(key) for pattern in patterns)) == []


def labels() -> dict[str, columns.Label]:
    return {**columns._labels, **{key: column.label for key, column in columns.catalogue().items()}}


def test_every_column_and_quantity_is_named_in_both_languages() -> None:
    columns.catalogue()
    assert [key for key, label in labels().items() if not label.en] == []
    assert [key for key, label in labels().items() if label.zh.isascii()] == []


def test_every_column_says_what_it_is_and_where_it_is_from() -> None:
    assert [key for key, column in columns.catalogue().items() if not column.doc or not column.source] == []


def test_every_described_source_is_one_that_something_cites() -> None:
    cited = {column.source for column in columns.catalogue().values()} | {each.source for each in RECIPES.values()}
    parts = cited | {part for source in cited for part in source.split("; ")}
    assert sorted(set(texts("source", "en").values()) - parts) == []


def test_one_and_many_have_their_own_words() -> None:
    assert say("note.empty_completions", count=1).startswith("1 completion has no kept token: it counts")
    assert say("note.empty_completions", count=2).startswith("2 completions have no kept token: they count")
