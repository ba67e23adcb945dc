"""grpo-calc: the worked calculator for the GRPO family of losses.

Names are loaded when they are first used, so that importing the package costs nothing.

>>> import grpo_calc as gc
>>> table = gc.Table.from_arrays(group_id=["q", "q"], reward=[1, 0], logp_new=[-0.9, -2.0], logp_old=[-1.0, -2.0])
>>> worked = gc.work(table, gc.recipe("grpo", beta=0))
>>> worked["ratio"].round(4).tolist()
[1.1052, 1.0]
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Note": "grpo_calc.say",
    "Problem": "grpo_calc.say",
    "Recipe": "grpo_calc.recipe",
    "Table": "grpo_calc.table",
    "Worked": "grpo_calc.work",
    "clipped_objective": "grpo_calc.plain",
    "kl_proxy": "grpo_calc.plain",
    "lesson": "grpo_calc.lessons",
    "read": "grpo_calc.read",
    "recipe": "grpo_calc.recipes",
    "trainers": "grpo_calc",
    "work": "grpo_calc.work",
    "write_workbook": "grpo_calc.write.workbook",
}

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604  (names loaded on first use)

if TYPE_CHECKING:
    from grpo_calc import trainers
    from grpo_calc.lessons import lesson
    from grpo_calc.plain import clipped_objective, kl_proxy
    from grpo_calc.read import read
    from grpo_calc.recipe import Recipe
    from grpo_calc.recipes import recipe
    from grpo_calc.say import Note, Problem
    from grpo_calc.table import Table
    from grpo_calc.work import Worked, work
    from grpo_calc.write.workbook import write_workbook


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if _HOMES[name] == __name__:  # a room of the package, not a name in one
        return import_module(f"{__name__}.{name}")
    return getattr(import_module(_HOMES[name]), name)


class _Package(ModuleType):
    """Keeps ``gc.work`` and ``gc.read`` the functions: importing the files of those names would put modules there."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (_HOMES.get(name, __name__) != __name__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
