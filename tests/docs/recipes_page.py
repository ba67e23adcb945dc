"""``python -m tests.docs.recipes_page`` writes docs/recipes.md: variants, trainers, bugs and details."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from grpo_calc.choices.bugs import BUGS
from grpo_calc.column import catalogue, formula
from grpo_calc.recipe import Recipe
from grpo_calc.recipes import GRPO, RECIPES
from grpo_calc.roles import NEUTRAL, ROLES
from grpo_calc.trainers import NAMES, trainer
from grpo_calc.trainers.option import Option
from grpo_calc.trainers.trainer import Trainer

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"

HEAD = """\
# Recipes

Every number comes from one set of roles. A published variant is a row of choices; a trainer's preset is a function from
its own options to such choices. `python -m tests.docs.recipes_page` writes this page from them, and a test holds it.
"""
VARIANTS = """\
Only what differs from `grpo`, which is DeepSeekMath's GRPO: {grpo}. Each is proved against an independent reference of
its paper's equation in `tests/reference`, the gradient by automatic differentiation.
"""
ROLES_OF = "What `--set ROLE=CHOICE` takes; the first is what `grpo` has. A choice in italics is a trainer's bug.\n"
TRAINERS = """\
`--recipe NAME@VERSION`, then `--set OPTION=VALUE` or `--config FILE` with the trainer's own names. Each preset is
checked against outputs of that trainer's own code, `tests/golden`. What the loss of a given batch does not depend on is
taken, and said to be ignored.
"""
BUGS_OF = "A preset takes these to give that trainer's number; no published variant does.\n"
DETAILS = "Every column there is: what it computes, and where that is from.\n"


def text() -> str:
    """The page."""
    return "\n".join([HEAD, *_variants(), *_roles(), *_bugs(), *_trainers(), *_details()])


def _variants() -> Iterator[str]:
    grpo = ", ".join(f"{role} {choice}" for role, choice in GRPO.told.items())
    yield from ("## Variants", "", VARIANTS.format(grpo=grpo))
    rows = [(f"`{name}`", recipe.en, *_differences(recipe), recipe.source) for name, recipe in RECIPES.items()]
    yield from _table(("variant", "what it is", "roles", "parameters", "source"), rows)


def _differences(recipe: Recipe) -> tuple[str, str]:
    roles = [f"`{role}={choice}`" for role, choice in recipe.roles.items() if choice != GRPO.roles[role]]
    numbers = [f"`{name}={x:g}`" for name, x in recipe.parameters.items() if x != GRPO.parameters.get(name)]
    return " ".join(roles), " ".join(numbers)


def _roles() -> Iterator[str]:
    yield from ("## Roles", "", ROLES_OF)
    yield from _table(("role", "choices"), [(f"`{role}`", _choices(role)) for role in NEUTRAL])


def _choices(role: str) -> str:
    every = [NEUTRAL[role], *(choice for choice in ROLES[role] if choice != NEUTRAL[role])]
    return ", ".join(f"*`{choice}`*" if (role, choice) in BUGS else f"`{choice}`" for choice in every)


def _bugs() -> Iterator[str]:
    yield from ("## Bugs that a preset reproduces", "", BUGS_OF)
    switches = [(f"`{role}={choice}`", told) for (role, choice), told in BUGS.items()]
    options = [
        (f"`{name}` of {known.name}", option.doc)
        for known in map(trainer, NAMES)
        for name, option in known.options.items()
        if "bug" in option.doc
    ]
    yield from _table(("switch", "whose, and what it does"), [*switches, *options])


def _trainers() -> Iterator[str]:
    yield from ("## Trainers", "", TRAINERS)
    for name in NAMES:
        yield from _trainer(trainer(name))


def _trainer(known: Trainer) -> Iterator[str]:
    first, last = known.versions[0], known.versions[-1]
    versions = f"`{known.name}@{last}`" if first == last else f"`{known.name}@{first}` to `{known.name}@{last}`"
    yield from (f"### {known.en}", "", f"{versions}; source: {known.source}.", "")
    used = {name: option for name, option in known.options.items() if not option.ignored}
    rows = [(f"`{name}`", option.doc, _default(option), option.takes()) for name, option in used.items()]
    yield from _table(("option", "what it does", "default", "takes"), rows)
    ignored = [f"`{name}`" for name, option in known.options.items() if option.ignored]
    if ignored:
        yield from (f"Taken and ignored: {', '.join(ignored)}.", "")


def _default(option: Option) -> str:
    """The first default, then each later one with its version; and when the option came and went."""
    since, value = option.defaults[0]
    told = [_told(value), *(f"{_told(later)} from {version}" for version, later in option.defaults[1:])]
    told += [f"since {since}"] * (since != "0") + [f"until {option.until}"] * bool(option.until)
    return "; ".join(told)


def _told(value: Any) -> str:
    return f"`{str(value).lower() if value is None or isinstance(value, bool) else value}`"


def _details() -> Iterator[str]:
    yield from ("## Details", "", DETAILS)
    rows = [(f"`{key}`", one.label.en, f"`{formula(one)}`", one.source) for key, one in catalogue().items()]
    yield from _table(("column", "what it is", "formula", "source"), rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (heads, ["---"] * len(heads), *rows):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text(), encoding="utf-8")
