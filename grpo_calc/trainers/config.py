"""A trainer's own configuration file, as people have it: what of it a recipe reads, and what it does not."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grpo_calc.choices.words import KEY_ALIASES
from grpo_calc.recipe import Recipe, known_keys
from grpo_calc.say import Note, Problem, note
from grpo_calc.trainers.trainer import Preset

KINDS = (".json", ".toml", ".yaml", ".yml")
REFERS = "${"
"""A value that starts with it refers to another place of the configuration, which only the trainer can look up."""


def configured(recipe: Recipe, path: Path | None, settings: Mapping[str, Any]) -> Recipe:
    """A recipe changed by a configuration file, if there is one, and then by settings."""
    taken, notes = read_config(path, recipe) if path else ({}, ())
    return recipe.change(**{**taken, **settings}).with_notes(*notes)


def read_config(path: Path, recipe: Recipe) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """The options in a file that a recipe reads, and a note of the other keys.

    A configuration holds much that no loss depends on (the learning rate, the model), so a key that the recipe does not
    know is no error here: they are listed in one note. So are options that the trainer itself ignores, and references.

    Errors: :class:`~grpo_calc.say.Problem` for a file of another kind, or one that is no table of options.
    """
    given = _loaded(path)
    if isinstance(recipe.own, Preset):
        known = recipe.own.trainer.known(recipe.own.version)
        flat = recipe.own.trainer.flattened(given)
        reads = {name for name in flat if name in known and not known[name].ignored}
    else:
        flat = dict(given)
        reads = {name for name in flat if KEY_ALIASES.get(name, name) in known_keys()}
    taken = {name: value for name, value in flat.items() if name in reads and not str(value).startswith(REFERS)}
    rest = [name for name in flat if name not in taken]
    return taken, (note("note.config_unread", file=path.name, keys=", ".join(rest)),) if rest else ()


def _loaded(path: Path) -> Mapping[str, Any]:
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise Problem("trainer.config_kind", file=path.name, known=", ".join(KINDS))
    text = path.read_text(encoding="utf-8-sig")
    try:
        found = {".json": json.loads, ".toml": tomllib.loads}.get(kind, _yaml)(text)
    except ValueError as problem:
        raise Problem("trainer.config_broken", file=path.name, reason=str(problem)) from None
    if not isinstance(found, Mapping):
        raise Problem("trainer.config_broken", file=path.name, reason=type(found).__name__)
    return {str(key): value for key, value in found.items()}


def _yaml(text: str) -> Any:
    """A YAML file's content, with the package that the extra ``yaml`` installs."""
    try:
        import yaml
    except ImportError:
        raise Problem("trainer.config_yaml") from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as problem:
        raise ValueError(" ".join(str(problem).split())) from None
