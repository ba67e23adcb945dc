"""Every shape of the same batch gives the same table."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import openpyxl
import pytest

from grpo_calc.read import read
from grpo_calc.table import Table

DATA = Path(__file__).parent / "data"
INPUT = json.loads((DATA / "expected.json").read_text())["input"]
LONG = ("long_tokens.csv", "long_tokens.tsv", "long_tokens.csv.gz", "long_tokens_utf16.tsv", "long_tokens_excel_de.csv")
LOGPS = ("logp_new", "logp_old", "logp_ref")


def assert_batch(table: Table) -> None:
    lengths = [len(row) for row in INPUT["logp_new"]]
    assert np.diff(table.token_offsets).tolist() == lengths
    assert table.group_id == ("q1", "q2")
    assert np.diff(table.group_offsets).tolist() == [2, 2]
    assert table.completions["reward"].tolist() == INPUT["reward"]
    for name in LOGPS:
        assert table.tokens[name].tolist() == [value for row in INPUT[name] for value in row]
    assert table.masked is None


@pytest.mark.parametrize("name", [*LONG, "wide_lists.csv"])
def test_the_same_batch(name: str) -> None:
    table = read(DATA / name)
    assert_batch(table)
    assert table.notes == ()


@pytest.mark.parametrize("name", LONG)
def test_texts(name: str) -> None:
    table = read(DATA / name)
    assert list(table.texts["token"])[:3] == ["The", " sum", "."]
    assert list(table.texts["token_id"])[:3] == ["11", "12", "2"]
    assert table.completion_id == ("q1-0", "q1-1", "q2-2", "q2-3")
    assert not read(DATA / name, texts=False).texts


def rows() -> list[dict[str, object]]:
    return [{key: column[i] for key, column in INPUT.items()} for i in range(4)]


def token_rows() -> list[dict[str, object]]:
    return [
        {
            "group_id": row["group_id"],
            "completion_id": str(i),
            "reward": row["reward"],
            **dict(zip(LOGPS, values, strict=True)),
        }
        for i, row in enumerate(rows())
        for values in zip(*(row[name] for name in LOGPS), strict=True)  # type: ignore[call-overload]
    ]


def padded() -> dict[str, object]:
    longest = max(map(len, INPUT["logp_new"]))
    columns = {name: [row + [0.0] * (longest - len(row)) for row in INPUT[name]] for name in LOGPS}
    mask = [[1] * len(row) + [0] * (longest - len(row)) for row in INPUT["logp_new"]]
    return {"group_id": INPUT["group_id"], "reward": INPUT["reward"], **columns, "mask": mask}


def columns_of(found: list[dict[str, object]]) -> dict[str, list[object]]:
    return {key: [row[key] for row in found] for key in found[0]}


JSONS = {
    "columns": INPUT,
    "rows": rows(),
    "token rows": token_rows(),
    "token columns": columns_of(token_rows()),
}


@pytest.mark.parametrize("name", JSONS)
@pytest.mark.parametrize("indent", [None, 1])
def test_json(name: str, indent: int | None, file) -> None:
    assert_batch(read(file(json.dumps(JSONS[name], indent=indent), "x.json")))


@pytest.mark.parametrize("found", [rows(), token_rows()])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_json_lines(found: list[dict[str, object]], end: str, file) -> None:
    assert_batch(read(file(end.join(map(json.dumps, found)), "x.jsonl")))


def test_padded_with_a_mask(file) -> None:
    table = read(file(padded(), "x.json"))
    assert table.masked is not None
    assert table.masked.token_count == 16
    assert table.tokens["logp_new"].tolist() == [value for row in INPUT["logp_new"] for value in row]


def test_boolean_mask(file) -> None:
    found = padded()
    found["mask"] = [[bool(one) for one in row] for row in found["mask"]]  # type: ignore[attr-defined]
    assert read(file(found, "x.json")).token_count == 11


def test_padding_may_hold_anything_harmless(file) -> None:
    found = padded()
    for row in found["logp_new"]:  # type: ignore[attr-defined]
        row[2:] = [value or harmless for value, harmless in zip(row[2:], [float("nan"), -float("inf")], strict=True)]
    found["logp_old"][1][3] = None  # type: ignore[index]
    found["logp_ref"][1][3] = float("inf")  # type: ignore[index]
    assert read(file(found, "x.json")).token_count == 11


def test_one_row_object(file) -> None:
    table = read(file({"group_id": "a", "reward": 1, "logp_new": [-1, -2], "logp_old": [-1, -2]}, "x.json"))
    assert (table.completion_count, table.token_count) == (1, 2)


def test_our_own_json(file) -> None:
    completions = [
        {"group_id": "q", "completion_id": "1", "reward": 1.0, "advantage": 0.5, "length": 2},
        {"group_id": "q", "completion_id": "2", "reward": 0.0, "advantage": -0.5, "length": 0},
    ]
    tokens = [
        {"group_id": "q", "completion_id": "1", "token": "a", "logp_new": -1.0, "logp_old": -1.1, "ratio": 1.1},
        {"group_id": "q", "completion_id": "1", "token": "b", "logp_new": -2.0, "logp_old": -2.0, "ratio": None},
    ]
    table = read(file({"recipe": {}, "notes": [], "tokens": tokens, "completions": completions}, "x.json"))
    assert table.tokens["logp_new"].tolist() == [-1.0, -2.0]
    assert np.diff(table.token_offsets).tolist() == [2, 0]
    assert table.completions["advantage"].tolist() == [0.5, -0.5]
    assert list(table.texts["token"]) == ["a", "b"]
    assert set(table.tokens) == {"logp_new", "logp_old"}


def workbook(path: Path, sheets: dict[str, list[list[object]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)  # type: ignore[arg-type]
    for name, content in sheets.items():
        sheet = book.create_sheet(name)
        for row in content:
            sheet.append(row)
    book.save(path)
    return path


def grid() -> list[list[object]]:
    found = token_rows()
    return [list(found[0]), *([row[key] for key in found[0]] for row in found)]


def test_workbook(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", {"Data": [[None], *grid()], "More": [["a"]]})
    assert_batch(read(path))
    assert_batch(read(path, sheet="Data"))
    assert_batch(read(path.rename(tmp_path / "no_suffix")))


def test_workbook_wide(tmp_path: Path) -> None:
    content = [
        list(INPUT),
        *([row[k] if isinstance(row[k], (str, float)) else json.dumps(row[k]) for k in INPUT] for row in rows()),
    ]
    assert_batch(read(workbook(tmp_path / "x.xlsx", {"S": content})))


def test_logits_are_exact() -> None:
    table = read(DATA / "six_tokens_inputs.csv")
    with (DATA / "six_tokens_table.csv").open() as stream:
        expected = list(csv.DictReader(stream))
    for name in ("logp_old", "logp_new"):
        assert np.abs(table.tokens[name] - [float(row[name]) for row in expected]).max() <= 1e-15
    assert table.completions["reward"].tolist() == [5.0, 3.0, 6.0, 2.0, 1.0, 4.0]
    assert (table.group_count, table.completion_count, table.token_count) == (1, 6, 6)
    assert [note.key for note in table.notes] == ["note.one_group"]


def test_probabilities(file) -> None:
    table = read(
        file("group_id,completion_id,reward,prob_new,prob_old,mask\na,1,1,0.5,0.25,1\na,1,1,0,,0\na,2,0,1,1e-3,1\n")
    )
    assert table.tokens["logp_new"].tolist() == [np.log(0.5), 0.0]
    assert table.tokens["logp_old"].tolist() == [np.log(0.25), np.log(1e-3)]


def test_probabilities_in_lists(file) -> None:
    table = read(file([{"group_id": "a", "reward": 1, "prob_new": [0.5, 1], "prob_old": [0.5, 0.5]}], "x.json"))
    assert table.tokens["logp_new"].tolist() == [np.log(0.5), 0.0]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("long_tokens.csv", "long_tokens.csv.gz", "long_tokens_utf16.tsv"):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO((DATA / name).read_bytes())))
        table = read("-")
        assert_batch(table)
        assert table.source == "stdin"


def test_named_rewards_and_truncated(file) -> None:
    table = read(
        file(
            "group_id,completion_id,reward_math,reward_form,truncated,logp_new,logp_old\na,1,1,0.5,true,-1,-1\na,2,0,,0,-1,-1\n"
        )
    )
    assert table.completions["reward_math"].tolist() == [1.0, 0.0]
    assert table.completions["truncated"].tolist() == [1.0, 0.0]
    assert np.isnan(table.completions["reward_form"][1])


def test_the_chapters_case(file) -> None:
    found = {
        "log_probs_new": [-1.0, -0.5, -1.5, -0.2],
        "log_probs_old": [-1.1, -0.4, -1.6, -0.3],
        "rewards": [1, 2, 0.5, 1.5],
        "group_ids": [0, 0, 1, 1],
    }
    table = read(file(found, "x.json"))
    assert (table.group_id, table.completion_count, table.token_count) == (("0", "1"), 4, 4)
    assert [note.key for note in table.notes] == ["read.row_is_completion"]


def test_on_policy(file) -> None:
    table = read(file("group_id,completion_id,reward,logp_new\na,1,1,-1\na,2,0,-2\n"), on_policy=True)
    assert table.tokens["logp_old"].tolist() == [-1.0, -2.0]
    assert [note.key for note in table.notes] == ["note.on_policy"]
