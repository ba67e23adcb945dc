"""What csv writes comes back as it was."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_calc.column import Level
from grpo_calc.read import read
from grpo_calc.table import LOGPS, Table
from grpo_calc.work import work
from grpo_calc.write.delimited import write_csv
from grpo_calc.write.rows import rows

from .batches import batch, batches


def written(table: Table, **options: bool) -> str:
    out = io.StringIO()
    write_csv(rows(work(table), Level.TOKEN, complete=True, **options), out)
    return out.getvalue()


@given(table=batches(), masked=st.booleans())
def test_a_batch_comes_back_the_same(table: Table, masked: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("csv") / "batch.csv"
    path.write_text(written(table, masked=masked), encoding="utf-8", newline="")
    again = read(path)
    assert again.completion_id == table.completion_id
    assert again.group_id == table.group_id
    np.testing.assert_array_equal(again.token_offsets, table.token_offsets)
    np.testing.assert_array_equal(again.completions["reward"], table.completions["reward"])
    for name in LOGPS[:3]:
        np.testing.assert_array_equal(again.tokens[name], table.tokens[name])
    assert list(again.texts["token"]) == [
        text.replace("\0", "\N{REPLACEMENT CHARACTER}") for text in table.texts["token"]
    ]
    assert work(again).loss == work(table).loss


def test_every_number_has_its_full_precision() -> None:
    worked = work(batch())
    cells = list(csv.DictReader(io.StringIO(written(batch()))))
    for name in ("ratio", "k3", "gradient"):
        assert [float(row[name]) for row in cells] == worked[name].tolist()


def test_rows_are_numbered_as_the_user_had_them() -> None:
    assert [row["row"] for row in csv.DictReader(io.StringIO(written(batch())))] == list("13456789")


def test_places_count_masked_tokens_too() -> None:
    table = Table.from_arrays(
        group_id=["p"],
        reward=[1],
        logp_new=[[-1, -1, -1]],
        logp_old=[[-1, -1, -1]],
        logp_ref=[[-1, -1, -1]],
        mask=[[1, 0, 1]],
    )
    assert [row["token_index"] for row in csv.DictReader(io.StringIO(written(table)))] == ["0", "2"]


def test_an_undefined_number_is_nan_and_a_masked_one_empty() -> None:
    table = Table.from_arrays(
        group_id=["p", "p"],
        reward=[1, 0],
        logp_new=[[-1, -1], [-1]],
        logp_old=[[-900, -1], [-1]],
        logp_ref=[[-1, -1], [-1]],
        mask=[[1, 0], [1]],
    )
    cells = list(csv.DictReader(io.StringIO(written(table, masked=True))))
    assert [row["ratio"] for row in cells] == ["nan", "", "1.0"]


def test_no_zero_has_a_sign() -> None:
    assert not {"-0.0", "-0"} & set(written(batch()).replace("\n", ",").split(","))
