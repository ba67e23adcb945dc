"""``python -m tests.golden.edge_page`` writes docs/edge.md: what trainers and we make of inputs at the edge."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from tests.golden.edges import FOLDER, LOSSES, Edge, edge, golden, inputs, recipe

PAGE = Path(__file__).parents[2] / "docs" / "edge.md"
FINDINGS = FOLDER / "findings.toml"

HEAD = """\
# Inputs at the edge

Four completions, up to five tokens each; every section changes one thing. Each loss is the trainer's own function in
single precision, with clip range 0.2, no KL, verl's dual clip at 3 and TRL's CISPO bound at 2; beside it is the
preset's, in double. The last column says how many entries of the trainer's gradient are not numbers, of tokens that
count and of masked ones: one of them is enough to make every weight NaN. Ours are numbers everywhere.

`python -m tests.golden.edge_page` writes this page from `tests/golden/edge`; `tests/golden/test_edge.py` holds it.
"""


def text() -> str:
    """The page."""
    findings = tomllib.loads(FINDINGS.read_text(encoding="utf-8"))
    presets = f"Presets: {', '.join(dict.fromkeys(recipe(loss).name for loss in LOSSES))}.\n"
    return "\n".join([HEAD, presets, *(line for name in inputs() for line in _section(name, findings[name]))])


def _section(name: str, finding: Mapping[str, str]) -> Iterator[str]:
    yield from (f"## {finding['title']}", "", finding["text"], "")
    yield from ("| loss | trainer's | ours | trainer's gradient |", "|---|--:|--:|---|")
    mask = np.array(golden(name)["inputs"]["mask"], dtype=bool)
    for loss in LOSSES:
        at = edge(name, loss)
        yield f"| {loss} | {_number(at.theirs)} | {_number(at.ours)} | {_gradient(at, mask)} |"
    yield ""


def _number(value: float) -> str:
    """To five digits; 0 has no sign, and what is 0 but for rounding is 0."""
    return "0" if abs(value) < 1e-8 else f"{value:.5g}"


def _gradient(at: Edge, mask: np.ndarray) -> str:
    bad = ~np.isfinite(at.their_gradient)
    places = {"of tokens": int((bad & mask).sum()), "masked": int((bad & ~mask).sum())}
    return ", ".join(f"{count} {where} not" for where, count in places.items() if count) or "numbers"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text(), encoding="utf-8")
