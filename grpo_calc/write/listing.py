"""Lists of what there is: the columns, the recipes, the lessons. Records first; then any format."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from grpo_calc.column import catalogue, formula, formula_latex
from grpo_calc.lessons import LESSONS, lesson
from grpo_calc.recipe import Recipe
from grpo_calc.recipes import GRPO, RECIPES
from grpo_calc.say import cited, say
from grpo_calc.sym import excel
from grpo_calc.trainers import NAMES
from grpo_calc.trainers import trainer as known_trainer
from grpo_calc.trainers.trainer import Trainer, parsed

Record = Mapping[str, str]

ALWAYS = ("eps_low", "eps_high", "beta", "adv_eps", "ddof")
"""The parameters that a recipe is always told with; any other where it is not as in grpo."""


def columns() -> list[Record]:
    """Every column: key, symbol, label, formula, LaTeX, an Excel formula with names for cells, and source."""
    return [
        {
            "key": key,
            "symbol": column.label.symbol,
            "en": column.label.en,
            "zh": column.label.zh,
            "formula": formula(column),
            "latex": formula_latex(column),
            "excel": "=" + excel(column.expression(), str, lambda name: name or "rows") if column.live else "",
            "source": column.source,
        }
        for key, column in catalogue().items()
    ]


def recipes() -> list[Record]:
    """Every recipe: choices and parameters as ``--set`` takes them; then every trainer, a row for versions alike."""
    return [*(_recipe(row) for row in RECIPES.values()), *trainers()]


def trainers() -> list[Record]:
    """Every trainer: a row for each range of versions with the same options and defaults, told by its last one."""
    return [
        _recipe(
            trainer.recipe(version),
            versions=first if first == version else f"{first} - {version}",
            options=" ".join(f"{name}={_option(value)}" for name, value in options.items()),
        )
        for trainer in map(known_trainer, NAMES)
        for first, version, options in version_ranges(trainer)
    ]


def version_ranges(trainer: Trainer) -> list[tuple[str, str, dict[str, Any]]]:
    """The first and the last of versions with the same options and defaults, and these; not what no loss depends on."""
    ranges: list[tuple[str, str, dict[str, Any]]] = []
    for version in trainer.versions:
        known = {name: one for name, one in trainer.known(version).items() if not one.ignored}
        options = {name: one.default(parsed(version)) for name, one in known.items()}
        if ranges and ranges[-1][2] == options:
            ranges[-1] = (ranges[-1][0], version, options)
        else:
            ranges.append((version, version, options))
    return ranges


def _option(value: Any) -> str:
    """A default as ``--set`` and the trainers' configurations write it."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _recipe(recipe: Recipe, versions: str = "", options: str = "") -> Record:
    return {
        "key": recipe.name,
        "en": recipe.en,
        "zh": recipe.zh,
        "versions": versions,
        "options": options,
        "roles": " ".join(f"{role}={choice}" for role, choice in recipe.told.items()),
        "parameters": " ".join(f"{key}={value:g}" for key, value in recipe.parameters.items() if _told_of(key, value)),
        "source": recipe.source,
    }


def _told_of(parameter: str, value: float) -> bool:
    return parameter in ALWAYS or value != GRPO.parameters.get(parameter)


def lessons() -> list[Record]:
    """Every lesson: title, what it is about, and its recipe."""
    found = [lesson(name) for name in LESSONS]
    return [
        {
            "key": each.name,
            "en": each.text("title", "en"),
            "zh": each.text("title", "zh"),
            "about_en": each.text("about", "en"),
            "about_zh": each.text("about", "zh"),
            "recipe": each.recipe,
        }
        for each in found
    ]


def write_records(records: Sequence[Record], out: TextIO, *, format: str = "table", lang: str = "en") -> None:  # noqa: A002
    """Write records: ``table`` and ``md`` in one language, ``json`` and ``csv`` with every key."""
    if format == "json":
        out.write(json.dumps(list(records), ensure_ascii=False, indent=1) + "\n")
    elif format == "csv":
        writer = csv.DictWriter(out, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    elif format == "md":
        _markdown(records, out, lang)
    else:
        _blocks(records, out, lang)


def _told(record: Record, lang: str) -> dict[str, str]:
    """A record in one language: ``en`` or ``zh`` becomes ``name``."""
    other = "en" if lang == "zh" else "zh"
    here = {key.removesuffix(f"_{lang}"): value for key, value in record.items() if not key.endswith(other) and value}
    if "source" in here:
        here["source"] = cited(here["source"], lang)
    return {("name" if key == lang else key): value for key, value in here.items()}


def _markdown(records: Sequence[Record], out: TextIO, lang: str) -> None:
    keys = list(dict.fromkeys(key for record in records for key in _told(record, lang)))
    out.write(f"| {' | '.join(say(f'list.{key}', lang) for key in keys)} |\n|{'|'.join('---' for _ in keys)}|\n")
    for record in records:
        told = _told(record, lang)
        texts = [told.get(key, "") for key in keys]
        marked = [
            f"`{text}`" if key in ("key", "formula", "latex", "excel", "roles", "parameters", "options") else text
            for key, text in zip(keys, texts, strict=True)
        ]
        out.write(f"| {' | '.join(text.replace('|', chr(92) + '|') for text in marked)} |\n")


def _blocks(records: Sequence[Record], out: TextIO, lang: str) -> None:
    from rich.cells import cell_len

    from grpo_calc.write.page import INKS, Page, filled

    page = Page(out)
    for record in records:
        told = _told(record, lang)
        if page.lines:
            page.line()
        key, symbol, name = told.pop("key"), told.pop("symbol", ""), told.pop("name")
        page.line((key, f"bold {INKS['ratio']}"), (f"  {symbol}" if symbol else "", "bold"), (f"  {name}", ""))
        heads = {each: say(f"list.{each}", lang) for each in told}
        width = max(map(cell_len, heads.values()))
        for each, value in told.items():
            page.item(value, f"  {filled(heads[each], width)}  ")
    page.print()
