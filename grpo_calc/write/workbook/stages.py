"""The stages of the story a sheet tells, left to right, and which stage a column belongs to."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.plan import Step

STAGES = ("row", "inputs", "advantage", "ratio", "surrogate", "kl", "loss", "gradient", "check", "given")

_FILES: Mapping[str, str] = {
    **{name: name for name in ("advantage", "ratio", "surrogate", "kl", "gradient")},
    "given": "inputs",
    "clip": "ratio",
}
_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("clipped", "clipped_low", "clipped_high"), "surrogate"),
    **dict.fromkeys(("token_loss", "token_loss_without_kl", "length"), "loss"),
    **dict.fromkeys(("within", "across", "share"), "gradient"),
}


def stage(step: Step | None) -> str:
    """The stage of a step: its own, else that of the file its column's function lives in; given where there is none."""
    if step is None:
        return "inputs"
    for name in (step.name, step.column.key):
        if name in _NAMES:
            return _NAMES[name]
    return _FILES.get(step.column.function.__module__.rpartition(".")[2], "loss")
