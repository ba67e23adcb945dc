"""docs/adding-a-variant.md: what it shows is what the files have, and its counts are theirs."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding-a-variant.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"`([\w/]+\.py)`:\n\n```python\n(.*?)```", PAGE, re.DOTALL)
COUNTS = [int(count) for count in re.findall(r"\| (\d+) \|$", PAGE, re.MULTILINE)]


def test_every_line_shown_is_in_its_file() -> None:
    assert len(SHOWN) == 4
    for path, shown in SHOWN:
        assert _lines(shown) in _lines((ROOT / path).read_text(encoding="utf-8")), path


def test_the_counts_are_those_of_the_lines_shown() -> None:
    row, choice, column, reference = (len(shown.splitlines()) for _, shown in SHOWN)
    assert COUNTS == [row, choice, COUNTS[2], column - COUNTS[2], reference]
    assert COUNTS[2] <= 5


def _lines(source: str) -> str:
    """A text whose lines stand at the margin."""
    return re.sub(r"^ +", "", source, flags=re.MULTILINE)
