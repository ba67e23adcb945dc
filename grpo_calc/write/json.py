"""The result for machines: one JSON object, written piece by piece, so that a million tokens need no tree in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TextIO

from grpo_calc.column import Level
from grpo_calc.work import SIGN, Worked
from grpo_calc.write.numbers import FLAGS, WHOLE, full
from grpo_calc.write.rows import Field, Rows, level_of, rows

CHUNK = 10_000
_KEYS = {Level.BATCH: "batch", Level.GROUP: "groups", Level.COMPLETION: "completions", Level.TOKEN: "tokens"}


def write_json(
    worked: Worked, out: TextIO, *, lang: str = "en", columns: Sequence[str] | None = None, masked: bool = False
) -> None:
    """Write everything: recipe, sign, sources, notes, and every level's rows. Keys are English in every language.

    Undefined is ``null``, ids are strings, and every number has its full precision. ``columns`` chooses among those of
    the finest level; the coarser levels are written whole.
    """
    finest = level_of(worked)
    head = {
        "recipe": _recipe(worked),
        "sign": SIGN,
        "sources": _sources(worked),
        "notes": [n.text(lang) for n in worked.notes],
    }
    out.write("{\n")
    out.writelines(f'"{key}": {json.dumps(value, ensure_ascii=False)},\n' for key, value in head.items())
    for level, key in _KEYS.items():
        shown = rows(worked, level, columns if level is finest else None, masked=masked) if level <= finest else None
        out.write(f'"{key}": ')
        if level is Level.BATCH:
            out.write(next(iter(_objects(shown))) if shown is not None else "{}")
        else:
            _write_list(out, shown)
        out.write("\n}\n" if level is Level.TOKEN else ",\n")


def _recipe(worked: Worked) -> dict[str, object]:
    recipe = worked.recipe
    return {
        "name": recipe.name,
        "parameters": dict(worked.parameters),
        "roles": dict(recipe.roles),
        **({"changed": dict(recipe.changes)} if recipe.changes else {}),
    }


def _sources(worked: Worked) -> dict[str, str]:
    """Where the recipe and each of its columns come from."""
    return {"recipe": worked.recipe.source, **{step.name: step.column.source for step in worked.plan.steps}}


def _write_list(out: TextIO, shown: Rows | None) -> None:
    out.write("[")
    if shown is not None:
        out.writelines((",\n" if place else "\n") + text for place, text in enumerate(_objects(shown)))
        out.write("\n")
    out.write("]")


def _objects(shown: Rows) -> Iterator[str]:
    """Each row as the text of a JSON object."""
    if not shown.fields:
        yield from ("{}" for _ in range(shown.length))
        return
    template = "{" + ", ".join(json.dumps(f.key).replace("%", "%%") + ": %s" for f in shown.fields) + "}"
    for start in range(0, shown.length, CHUNK):
        stop = min(start + CHUNK, shown.length)
        yield from (template % row for row in zip(*(_texts(field, start, stop) for field in shown.fields), strict=True))


def _texts(field: Field, start: int, stop: int) -> list[str]:
    if field.texts is not None:
        plain = field.key in ("row", "token_index")
        texts = field.texts(start, stop)
        return list(texts) if plain else [json.dumps(_paired(text), ensure_ascii=False) for text in texts]
    assert field.numbers is not None
    spell = _whole if field.key in WHOLE | FLAGS else full
    return [spell(value) if value == value else "null" for value in field.numbers[start:stop].tolist()]


def _whole(value: float) -> str:
    return str(int(value)) if value == int(value) else full(value)


def _paired(text: str) -> str:
    """Text that UTF-8 can hold: a lone surrogate becomes U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
