"""Markdown: one line a row, and no text that could be taken for markup."""

import io
import re

from grpo_calc.column import Level
from grpo_calc.work import work
from grpo_calc.write.markdown import write_markdown
from grpo_calc.write.rows import rows

from .batches import batch


def written(columns: list[str] | None = None, lang: str = "en") -> list[str]:
    out = io.StringIO()
    write_markdown(rows(work(batch()), Level.TOKEN, columns), out, lang=lang)
    return out.getvalue().splitlines()


def test_every_row_has_the_same_cells() -> None:
    lines = written()
    assert len(lines) == 2 + 8
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1


def test_strange_text_is_escaped() -> None:
    assert [line.split(" | ")[1].removesuffix(" |") for line in written(["row", "token"])[2:]] == [
        *("one", "␣three", r"a\|b", r"\[red\]", r"␛\[0m", "概率", "", "👩‍🚀"),
    ]


def test_headers_are_symbol_and_label() -> None:
    assert written(["ratio", "kl_proxy"])[0] == "| r<br>ratio | (r-1)^2<br>KL proxy |"
    assert written(["ratio"], "zh")[0] == "| r<br>概率比 |"


def test_numbers_are_right_and_texts_left() -> None:
    assert written(["token", "ratio"])[1] == "|:--|--:|"
