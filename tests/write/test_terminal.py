"""The terminal table: nothing is cut, everything lines up, and it reads without colour."""

import io

import numpy as np
import pytest
from hypothesis import given
from rich.cells import cell_len

from grpo_calc.column import Level
from grpo_calc.lessons import lesson
from grpo_calc.recipes import RECIPES
from grpo_calc.table import Table
from grpo_calc.work import Worked, work
from grpo_calc.write.page import Page, wrapped
from grpo_calc.write.terminal import write_terminal

from .batches import batch, batches

WIDTHS = (80, 100, 140, 200)


@pytest.fixture(autouse=True)
def no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def written(monkeypatch: pytest.MonkeyPatch, worked: Worked, width: int, **options: object) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    write_terminal(worked, out, **options)
    return out.getvalue()


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_screen_and_none_is_cut(
    monkeypatch: pytest.MonkeyPatch, width: int, lang: str
) -> None:
    told = lesson()
    for worked, options in ((work(batch()), {}), (work(told.table, told.recipe), {"lesson": told})):
        text = written(monkeypatch, worked, width, lang=lang, **options)
        assert max(map(cell_len, text.splitlines())) <= width
        assert "…" not in text


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_column_is_there_at_every_width(monkeypatch: pytest.MonkeyPatch, width: int, lang: str) -> None:
    text = written(monkeypatch, work(batch()), width, lang=lang)
    for symbol in ("log π", "log π_ref", "log r", "clip(r)", "rA", "min", "k1", "k3", "(r-1)^2", "dL/dlogπ"):
        assert symbol in text


def test_the_columns_line_up_in_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each number's right end stands under its symbol's, whatever the token before it."""
    lines = written(monkeypatch, work(batch()), 200, columns=["row", "token", "ratio"], lang="zh").splitlines()
    table = [line for line in lines if line[:1].isdigit()]
    assert len(table) == 8
    assert len({cell_len(line) for line in table}) == 1


def test_strange_text_can_do_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = written(monkeypatch, work(batch()), 120)
    assert "[red]" in text
    assert "␛[0m" in text
    assert "␣three" in text
    assert "\x1b" not in text


def test_clipped_rows_have_a_dot_in_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    worked = work(batch())
    text = written(monkeypatch, worked, 80)
    parts = text.count("clip(r)A") and sum("# " in line and "token" in line for line in text.splitlines())
    assert text.count(" ●  ") == parts * int(worked["clipped"].sum())
    assert "● clipped" in text


def test_small_numbers_are_not_shown_as_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    logps = {"logp_new": [-1.0, -2.0], "logp_old": [-1.0 - 3e-7, -2.0], "logp_ref": [-1.0, -2.5]}
    table = Table.from_arrays(group_id=["p", "p"], reward=[1, 0], **logps)
    text = written(monkeypatch, work(table), 100, columns=["row", "kl_proxy", "k3", "gradient"])
    assert "9.00e-14" in text
    assert " 0.1065" in text


@pytest.mark.parametrize("width", [80, 140])
def test_long_tables_show_their_ends(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    logps = {name: -np.linspace(0.1, 3, 1000) for name in ("logp_new", "logp_old", "logp_ref")}
    table = Table.from_arrays(reward=np.arange(1000) % 2, **logps)
    text = written(monkeypatch, work(table), width)
    lines = text.splitlines()
    assert any(line.startswith("… 970 more rows") for line in lines)
    numbers = [int(line.split()[0]) for line in lines if line[:4].strip().isdigit()]
    assert set(numbers) == {*range(1, 21), *range(991, 1001)}


def test_a_level_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    worked = work(batch())
    completions = written(monkeypatch, worked, 120, level=Level.COMPLETION)
    assert "007" in completions
    assert "mean r" in completions
    assert "std R" in written(monkeypatch, worked, 120, level=Level.GROUP)
    assert written(monkeypatch, worked, 120, level=Level.BATCH).startswith(" Batch")


def test_masked_rows_are_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    worked = work(batch())
    assert "two␊" not in written(monkeypatch, worked, 200)
    row = next(line for line in written(monkeypatch, worked, 200, masked=True).splitlines() if "two␊" in line)
    assert row.split()[-1] == "·"


@pytest.mark.parametrize("name", ["dapo", "gspo"])
def test_recipes_name_themselves_and_their_source(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    text = " ".join(written(monkeypatch, work(batch(), name), 100).split())
    assert f"Recipe {name}" in text
    assert RECIPES[name].source in text
    assert "eps_high=" in text


@given(table=batches())
def test_any_batch_is_shown(table: Table) -> None:
    out = io.StringIO()
    write_terminal(work(table), out)
    assert not {c for c in out.getvalue() if ord(c) < 32 and c != "\n"}


def test_wrapping_keeps_every_word() -> None:
    text = "概率比 ratio 是新旧策略之比（见 PPO，式 6），裁剪到 [0.8, 1.2]。"
    for width in range(4, 40):
        lines = wrapped(text, width)
        assert "".join("".join(lines).split()) == "".join(text.split())
        assert max(map(cell_len, lines)) <= width
    assert not any(line.startswith(("，", "。", "）")) for width in range(12, 40) for line in wrapped(text, width))


def test_a_page_is_printed_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    out = io.StringIO()
    page = Page(out)
    page.line(("[bold]not markup[/bold] :smile: " * 2, "bold"))
    page.print()
    assert out.getvalue() == "[bold]not markup[/bold] :smile: " * 2 + "\n"


def test_a_sequence_ratio_shows_what_it_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "mean log r" in written(monkeypatch, work(batch(), "gspo"), 200)
    assert "mean log r" not in written(monkeypatch, work(batch()), 200)


def test_without_a_kl_its_columns_are_left_to_the_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    worked = work(batch(), "dapo")
    assert "k3" not in written(monkeypatch, worked, 200)
    assert "k3" in written(monkeypatch, worked, 200, columns=["row", "k3"])


@pytest.mark.parametrize("width", WIDTHS)
def test_a_chinese_heading_breaks_no_word(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    text = written(monkeypatch, work(batch()), width, lang="zh")
    for term in ("概率比", "对数概率", "替代目标", "梯度"):
        assert term in text
    assert "completion" not in text.split(" 批次 ")[0]
