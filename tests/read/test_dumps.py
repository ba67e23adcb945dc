"""What trainers' dumps hold: several masks, ids of answers, missing rewards, objects, tables in JSON, formulas."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

import grpo_calc as gc
from grpo_calc.read import read
from grpo_calc.say import Problem
from grpo_calc.write.show import show

LONG = "group_id,completion_id,reward,logp_new,logp_old,completion_mask,tool_mask\n"
LONG += "q,a,1,-1,-1,1,1\nq,a,1,-2,-2,1,0\nq,b,0,-3,-3,0,1\nq,b,0,-4,-4,1,1\n"


def keys(table: gc.Table) -> list[str]:
    return [note.key for note in table.notes]


def both(problem: Problem, *words: str) -> None:
    for lang in ("en", "zh"):
        said = problem.text(lang)
        assert "\n" not in said
        assert all(word in said for word in words), said


def test_masks_of_a_long_file_are_multiplied(file) -> None:
    table = read(file(LONG))
    assert table.tokens["logp_new"].tolist() == [-1.0, -4.0]
    assert "completion_mask, tool_mask" in table.notes[0].text("en")
    assert "相乘" in table.notes[0].text("zh")
    assert "read.masks" in keys(table)


@pytest.mark.parametrize(("mask", "kept"), [("completion_mask", [-1, -2, -4]), ("tool_mask", [-1, -3, -4])])
def test_map_takes_one_mask(file, mask: str, kept: list[float]) -> None:
    table = read(file(LONG), map={"mask": mask})
    assert table.tokens["logp_new"].tolist() == kept
    assert "read.masks" not in keys(table)
    assert "read.unused" in keys(table)


@pytest.mark.parametrize("sample", [[1, 0], [1.0, 0.0], [True, False]])
def test_a_mask_a_completion_times_a_mask_a_token(file, sample: list[Any]) -> None:
    rows = [
        {
            "group_id": "q",
            "reward": at,
            "logp_new": [-1.0, -2.0],
            "logp_old": [-1.0, -2.0],
            "token_loss_mask": [1, at],
            "sample_loss_mask": sample[at],
            "loss_mask": [1, 1],
        }
        for at in (0, 1)
    ]
    table = read(file(rows, "x.json"))
    assert np.diff(table.token_offsets).tolist() == [1, 0]
    assert "token_loss_mask" in str(table.notes[0])


@pytest.mark.parametrize(
    ("ids", "prefix"),
    [
        (["7_0_0", "7_1_0", "8_0_0", "8_1_0"], "7"),
        (["a-b_0_0", "a-b_0_1", "c_0_0"], "a-b"),
        (["q1-0", "q1-1", "q2-0"], "q1"),
        (["x_0", "x_1"], "x"),
    ],
)
def test_ids_of_answers_are_no_groups(file, ids: list[str], prefix: str) -> None:
    rows = [{"uid": uid, "score": at, "input": "p", "output": "o"} for at, uid in enumerate(ids)]
    path = file(rows, "7.json")
    with pytest.raises(Problem, match="every group would have one member") as caught:
        read(path)
    both(caught.value, "7.json", "uid", ids[0], ids[1], prefix, "--map group=")
    assert read(path, map={"group": "uid"}).group_count == len(ids)
    assert read(path, map={"group": "input"}).group_count == 1


@pytest.mark.parametrize("ids", [["7_0", "7_0", "8_0"], ["q1", "q2"], ["a_1", "b_1"], ["x_1"], ["x_1", "x_2", "y"]])
def test_other_groups_are_taken(file, ids: list[str]) -> None:
    assert read(file([{"uid": uid, "score": 1} for uid in ids], "x.json")).group_count == len(set(ids))


def test_a_missing_reward_of_several_is_said(file) -> None:
    text = "group_id,completion_id,reward_a,reward_b\nq,1,1,0\nq,2,,1\nq,3,2,1\n"
    table = read(file(text))
    found = next(note for note in table.notes if note.key == "note.unscored")
    assert "reward_a" in found.text("en")
    assert "1 completion:" in found.text("en")
    assert "缺失" in found.text("zh")
    again = gc.Table.from_arrays(group_id=["q", "q"], rewards={"a": [1.0, None]})
    assert "note.unscored" in keys(again)
    with pytest.raises(Problem, match="reward_a is inf"):
        gc.Table.from_arrays(group_id=["q", "q"], rewards={"a": [1.0, np.inf]})


@pytest.mark.parametrize("seen", ["nan", "inf", "-inf", "1e400"])
@pytest.mark.parametrize("column", ["reward", "reward_math"])
def test_a_reward_is_not_to_be_masked(file, seen: str, column: str) -> None:
    path = file(f"group_id,completion_id,{column},logp_new,logp_old\na,1,{seen},-1,-1\n")
    with pytest.raises(Problem, match=f"line 2: column {column}: saw '{seen}', which is not a finite number") as caught:
        read(path)
    assert "mask" not in caught.value.text("en")
    assert "掩码" not in caught.value.text("zh")


SPLIT = {
    "columns": ["step", "prompt", "completion", "accuracy", "reward", "advantage"],
    "data": [[7, "p", "x", 1.0, 1.0, 0.5], [7, "p", "y", 0.0, 0.0, -0.5]],
}


@pytest.mark.parametrize("more", [{}, {"index": [0, 1]}, {"ncols": 6, "nrows": 2, "column_types": {}}])
def test_a_table_of_columns_and_data(file, more: dict[str, Any]) -> None:
    table = read(file({**SPLIT, **more}, "t.table.json"), map={"group": "prompt"})
    assert table.completions["reward"].tolist() == [1.0, 0.0]
    assert table.group_count == 1


def test_a_fault_in_a_table_of_columns_and_data_has_its_line(file) -> None:
    text = '{"columns": ["group_id", "reward"],\n"data": [["q", 1],\n["q", "x"]]}'
    with pytest.raises(Problem, match="line 3: column reward: saw 'x'"):
        read(file(text, "x.json"))


def test_objects_are_not_offered_as_groups(file) -> None:
    rows = [{"prompt": [{"role": "user"}], "agent": {"a": 1}, "task": "t", "reward": 1}]
    with pytest.raises(Problem, match=r"could it be task\? Then add --map group=task"):
        read(file(rows, "x.json"))
    with pytest.raises(Problem, match="add a column group_id"):
        read(file([{"prompt": [1], "reward": 1}], "x.json"))


@pytest.mark.parametrize("more", [{"entropy": 0.5}, {"completion_ids": [1, 2, 3]}])
def test_a_dump_without_log_probs_has_no_completions_of_one_token(file, more: dict[str, Any]) -> None:
    table = read(file([{"group_id": "q", "reward": at, **more} for at in (0, 1)], "x.json"))
    assert "read.row_is_completion" not in keys(table)
    assert "read.no_logps" in keys(table)


def test_a_formula_that_was_never_calculated(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (
        ["group_id", "completion_id", "reward", "logp_new", "logp_old", "own"],
        ["q", 1, 1, -1, "=D2-0.1", "=1"],
    ):
        book.active.append(row)
    path = tmp_path / "x.xlsx"
    book.save(path)
    with pytest.raises(Problem, match="line 2: column logp_old: holds a formula that was never calculated") as caught:
        read(path)
    both(caught.value, "x.xlsx", "logp_old")


def test_a_lesson_is_pointed_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Problem, match=r'grpo_calc.lesson\("six-tokens"\)') as caught:
        read("six-tokens")
    both(caught.value, "six-tokens")


def test_what_cannot_be_worked_names_the_file(file) -> None:
    path = file("group_id,completion_id,reward,logp_new,logp_old\nq,1,1,-1,-1\nq,2,0,-1,-1\n")
    for given in ("grpo", gc.recipe("dr-grpo", beta=0)):
        with pytest.raises(Problem) as caught:
            gc.work(read(path), given)
        assert str(caught.value).startswith(f"{path}: ")
        assert caught.value.text("zh").startswith(f"{path}：")
    with pytest.raises(Problem) as caught:
        gc.work(read(path), gc.recipe("grpo", beta=0))["k3"]
    assert str(caught.value).startswith(f"{path}: ")


def test_a_dump_of_completions_has_no_length(file) -> None:
    out = io.StringIO()
    show(gc.work(read(file([{"group_id": "q", "reward": at} for at in (0, 1)], "x.json"))), out, "csv")
    assert "length" not in out.getvalue().splitlines()[0]
