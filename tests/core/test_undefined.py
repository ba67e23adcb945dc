"""What has no value is undefined, never infinite and never 0; and a note says why."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest

import grpo_calc as gc
from grpo_calc.column import Level
from grpo_calc.recipes import recipe
from grpo_calc.work import NAMES
from grpo_calc.write.show import show

LOGPS = {"logp_new": [-1.0, -2.0], "logp_old": [-1.0, -2.0], "logp_ref": [-1.0, -2.0]}


def worked(given: str | gc.Recipe = "grpo", **columns: Any) -> gc.Worked:
    return gc.work(gc.Table.from_arrays(**{"group_id": ["q", "q"], "reward": [1.0, 0.0], **LOGPS, **columns}), given)


def told(result: gc.Worked) -> Any:
    out = io.StringIO()
    show(result, out, "json")
    return json.loads(out.getvalue(), parse_constant=lambda constant: pytest.fail(f"holds {constant}"))


@pytest.mark.parametrize("scale", ["group_std", "batch_std", "leave_one_out_std"])
def test_a_spread_too_large_for_a_float_makes_no_advantage_of_0(scale: str) -> None:
    columns = {name: [value[0]] * 4 for name, value in LOGPS.items()}
    result = worked(recipe("grpo", scale=scale), **columns, group_id=["q"] * 4, reward=[1e200, -1e200, 3e200, 0.0])
    assert np.isnan(result["advantage"]).all()
    assert np.isnan(result.loss)
    assert [note.key for note in result.notes] == ["note.overflow"]
    assert "group_std (1)" in result.notes[0].text("en")
    assert "group_std (1)" in result.notes[0].text("zh")


OVERFLOWING = [
    {"reward": [1e200, -1e200]},
    {"reward": [1.5e308, 1e308]},
    {"logp_old": [-600.0, -2.0]},
    {"logp_old": [-600.0, -2.0], "reward": [1e300, 0.0]},
    {"logp_new": [-1e308, -1.0], "logp_old": [1e308, -1.0]},
]


@pytest.mark.parametrize("columns", OVERFLOWING)
@pytest.mark.parametrize("name", ["grpo", "gspo", "dapo", "article", "rloo"])
def test_nothing_is_infinite(name: str, columns: dict[str, list[float]]) -> None:
    result = worked(name, **columns)
    for level in Level:
        for column in NAMES[level]:
            if result.has(column):
                assert not np.isinf(result[column]).any(), column
    told(result)


def test_only_what_overflows_is_undefined() -> None:
    result = worked(logp_old=[-600.0, -2.0])
    assert np.isnan(result["kl_proxy"]).tolist() == [True, False]
    assert np.isfinite(result.loss)
    assert "kl_proxy (1)" in str(result.notes[0])


def test_what_a_masked_token_holds_is_no_number_in_json() -> None:
    table = gc.Table.from_arrays(
        reward=[1.0], mask=[[1, 0]], **{name: [[-1.0, -np.inf]] for name in ("logp_new", "logp_old", "logp_ref")}
    )
    out = io.StringIO()
    show(gc.work(table), out, "json", masked=True)
    assert [row["logp_new"] for row in json.loads(out.getvalue(), parse_constant=pytest.fail)["tokens"]] == [-1, None]


def test_a_log_ratio_against_the_base_alone_leaves_the_ratio_alone() -> None:
    result = worked(logp_ref=[-1.0, -2000.0])
    assert [note.key for note in result.notes] == ["note.undefined_kl"]
    assert "|logp_new - logp_ref| > 700: " in result.notes[0].text("en")
    assert "KL" in result.notes[0].text("zh")
    both = worked(logp_ref=[-1.0, -2000.0], logp_old=[-900.0, -2.0])
    assert [note.key for note in both.notes] == ["note.undefined", "note.undefined_kl"]
    unweighted = worked(recipe("grpo", beta=0), logp_ref=[-1.0, -2000.0])
    assert [note.key for note in unweighted.notes] == ["note.undefined_kl"]


def test_the_mean_ratio_of_no_token_is_undefined() -> None:
    columns = {name: [[-1.0], []] for name in LOGPS}
    result = worked(**columns)
    assert result["mean_ratio"].tolist()[0] == 1.0
    assert np.isnan(result["mean_ratio"][1])
    assert np.isfinite(result.loss)
    assert told(result)["completions"][1]["mean_ratio"] is None


def test_without_tokens_there_is_no_length() -> None:
    result = gc.work(gc.Table.from_arrays(group_id=["q", "q"], reward=[1.0, 0.0]))
    assert not result.has("length")
    assert "length" not in told(result)["completions"][0]


def test_an_unknown_column_has_the_closest_one_and_the_usual_ones() -> None:
    with pytest.raises(gc.Problem, match=r"has no column ratoi: ratio\? The usual ones: logp_new") as caught:
        worked()["ratoi"]
    assert "是 ratio 吗" in caught.value.text("zh")
    assert "surrogate_slope" not in str(caught.value)
