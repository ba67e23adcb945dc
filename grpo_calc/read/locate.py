"""Where a value stands in a JSON text: looked up only when something is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grpo_calc.read.parse import DECODER

_SPACE = re.compile(r"[ \t\r\n]*")


def locate(text: str, path: Sequence[str | int]) -> int:
    """The place in a valid JSON text of the value that a path of keys and indices names, or of its nearest ancestor.

    >>> text = '{"a": [1, {"b": 2}]}'
    >>> text[locate(text, ["a", 1, "b"])], text[locate(text, ["a", 0])], locate(text, ["z"])
    ('2', '1', 0)
    """
    at = _SPACE.match(text, 0).end()  # type: ignore[union-attr]
    for step in path:
        found = _member(text, at, step) if isinstance(step, str) else _element(text, at, step)
        if found is None:
            return at
        at = found
    return at


def _after(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _member(text: str, at: int, key: str) -> int | None:
    if text[at] != "{":
        return None
    at = _after(text, at + 1)
    while text[at] != "}":
        name, end = DECODER.raw_decode(text, at)
        at = _after(text, _after(text, end) + 1)
        if name == key:
            return at
        at = _next(text, at)
    return None


def _element(text: str, at: int, index: int) -> int | None:
    if text[at] != "[":
        return None
    at = _after(text, at + 1)
    while text[at] != "]":
        if not index:
            return at
        at, index = _next(text, at), index - 1
    return None


def _next(text: str, at: int) -> int:
    """The place of what follows a value and its comma."""
    _, end = DECODER.raw_decode(text, at)
    end = _after(text, end)
    return _after(text, end + 1) if text[end] == "," else end
