"""JSON, strictly: no key twice, no digits without end, no nesting without end.

NaN and Infinity are read: a masked token may hold them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from grpo_calc.read.faults import shown
from grpo_calc.say import Problem

MOST_DIGITS = 4000
DEEPEST = 64
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_DIGITS = re.compile(rf"[0-9]{{{MOST_DIGITS},}}")


class _Twice(Exception):
    """A key that an object has twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(next(key for place, key in enumerate(keys) if key in keys[:place]))
    return found


DECODER = json.JSONDecoder(object_pairs_hook=_object, strict=False)


@dataclass(frozen=True)
class Bad:
    """What is wrong with a JSON text, and the place of it."""

    key: str
    at: int
    seen: str = ""


def parse(text: str) -> Any:
    """The value of a JSON text, or what is wrong with it.

    >>> parse('{"a": [1, NaN]}'), parse('{"a": 1, "a": 2}'), parse('[1,')
    ({'a': [1, nan]}, Bad(key='json_twice', at=9, seen='a'), Bad(key='json', at=3, seen=''))
    >>> parse("[" * 100000).key, parse("9" * 5000).key
    ('json_deep', 'json_digits')
    """
    try:
        return DECODER.decode(text)
    except json.JSONDecodeError as error:
        return _too_deep(text) or Bad("json", error.pos)
    except _Twice as error:
        return Bad("json_twice", _second(text, str(error)), str(error))
    except RecursionError:
        return _too_deep(text) or Bad("json_deep", 0)
    except ValueError:
        digits = _DIGITS.search(text)
        return Bad("json_digits", digits.start() if digits else 0)


def _too_deep(text: str) -> Bad | None:
    depth = 0
    for match in _BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth > DEEPEST:
            return Bad("json_deep", match.start())
    return None


def _second(text: str, key: str) -> int:
    """The place of the first key that comes twice in one object."""
    pattern = re.compile(r'("(?:[^"\\]|\\.)*+")(\s*:)?|[{}]', re.DOTALL)
    open_objects: list[set[str]] = []
    for match in pattern.finditer(text):
        if match[0] == "{":
            open_objects.append(set())
        elif match[0] == "}":
            open_objects[-1:] = []
        elif match[2] and open_objects:
            try:
                name = json.loads(match[1], strict=False)
            except ValueError:
                continue
            if name == key and name in open_objects[-1]:
                return match.start()
            open_objects[-1].add(name)
    return 0


def parse_list(text: str) -> list[Any] | None:
    """The JSON list in a cell, or ``None`` where it is no such thing.

    >>> parse_list("[-0.5, 1]"), parse_list("[-0.5 1]")
    ([-0.5, 1], None)
    """
    value = parse(text)
    return value if isinstance(value, list) else None


def problem(bad: Bad, source: str, line: int) -> Problem:
    """The problem, at its line."""
    return Problem(f"read.{bad.key}", source=source, line=line, seen=shown(bad.seen))
