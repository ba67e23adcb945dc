"""The known name that a mistyped one is nearest to."""

from __future__ import annotations

from collections.abc import Iterable


def near(name: str, known: Iterable[str]) -> str | None:
    """The closest of the known names, or ``None`` where none is close.

    >>> near("Ratoi", ["row", "ratio"]), near("x", ["row", "ratio"])
    ('ratio', None)
    """
    from difflib import get_close_matches

    plain = {word.lower(): word for word in known}
    return plain.get(next(iter(get_close_matches(name.strip().lower(), plain, 1, 0.7)), ""))
