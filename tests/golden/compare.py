"""What differs between an output and ours, kept as it is found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from grpo_calc.say import Problem

NOWHERE = np.ones((0, 0), dtype=bool)
"""The mask of an output that is not laid out by tokens."""


class Comparison:
    """Differences beside a golden file.

    ``compared`` holds the largest of each output, ``failed`` what is beyond tolerance, ``left_out`` the reason of each
    output that is not compared.
    """

    def __init__(self, tolerance: Mapping[str, float]) -> None:
        self.compared: dict[str, float] = {}
        self.failed: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        self._tolerance = tolerance

    def tolerance(self, name: str) -> float:
        """How far an output may differ: as the file says of it, else as of the loss."""
        if name == "returns":
            name = "advantages"
        if "metrics" in name:
            name = "metrics"
        return float(self._tolerance.get(name, self._tolerance["loss"]))

    def done(self, name: str) -> bool:
        """Whether an output has been looked at."""
        return name in self.compared or name in self.failed

    def numbers(self, name: str, ours: Any, theirs: Any, mask: Any = NOWHERE) -> None:
        """Differences where the token counts: ``|ours - theirs| <= tolerance max(1, |theirs|)``. NaN equals NaN."""
        ours, theirs = np.asarray(ours, dtype=np.float64), _floats(theirs)
        if theirs.ndim == 2 and theirs.shape[1] == 1:
            theirs = theirs[:, 0]
        if ours.ndim == 1 and theirs.ndim == 2:
            ours = np.broadcast_to(ours[:, None], theirs.shape)
        if ours.ndim == 2 and theirs.ndim == 1 and theirs.shape[0] == ours.shape[0]:
            theirs = np.broadcast_to(theirs[:, None], ours.shape)
        if ours.shape != theirs.shape:
            self.failed[name] = f"shape {ours.shape} against {theirs.shape}"
            return
        counts = mask if theirs.shape == mask.shape else np.ones(theirs.shape, dtype=bool)
        same = (np.isnan(ours) & np.isnan(theirs)) | ~counts
        difference = np.where(same, 0.0, abs(ours - theirs) / np.maximum(1.0, abs(theirs)))
        worst = float(np.max(difference, initial=0.0))
        self.compared[name] = worst
        if not worst <= self.tolerance(name):
            self.failed[name] = f"differs by {worst:.3g}, tolerance {self.tolerance(name):.3g}"

    def parts(self, name: str, ours: Any, theirs: Any) -> None:
        """An output of several parts, each a number, or the name of the exception with which the trainer refused it."""
        known = dict(_parts(ours))
        for part, value in _parts(theirs):
            key = f"{name}/{part}"
            if part not in known:
                self.failed[key] = "not among ours"
            elif isinstance(value, str) and value.lower() != "nan":
                self.compared[key] = 0.0
                if not isinstance(known[part], Problem):
                    self.failed[key] = f"the trainer refuses it ({value}), we do not"
            elif isinstance(known[part], Problem):
                self.failed[key] = str(known[part])
            else:
                self.numbers(key, known[part], float(value))


def flat(figures: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Figures by name, those of a record as ``record/name``."""
    for name, value in figures.items():
        if isinstance(value, dict):
            yield from flat(value, f"{above}{name}/")
        else:
            yield above + name, value


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of an output by name; of a list of them, each record's by its place too."""
    if isinstance(value, list):
        for place, record in enumerate(value):
            yield from ((f"{place}/{name}", part) for name, part in record.items())
    else:
        yield from value.items()


def _floats(value: Any) -> Any:
    """Numbers as an array; null is undefined."""
    if isinstance(value, list):
        return np.array([_floats(entry) for entry in value], dtype=np.float64)
    return np.float64("nan") if value is None else np.float64(value)
