"""Tables: offsets, order, masks, and what stops the work with one line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import grpo_calc as gc
from grpo_calc.say import Problem


def made(**columns: Any) -> gc.Table:
    return gc.Table.from_arrays(**columns)


def test_ragged_lists_become_flat_columns_and_offsets() -> None:
    table = made(group_id=["a", "a", "b"], reward=[1, 0, 2], logp_new=[[-1, -2], [], [-3]])
    assert table.tokens["logp_new"].tolist() == [-1.0, -2.0, -3.0]
    assert table.tokens["logp_new"].dtype == np.float64
    assert table.token_offsets.tolist() == [0, 2, 2, 3]
    assert table.group_offsets.tolist() == [0, 2, 3]
    assert (table.token_count, table.completion_count, table.group_count) == (3, 3, 2)
    assert table.completion_of_token.tolist() == [0, 0, 2]
    assert table.group_of_completion.tolist() == [0, 0, 1]
    assert [note.key for note in table.notes] == ["note.empty_completions"]


def test_padded_arrays_and_ragged_lists_are_the_same_batch() -> None:
    padded = made(
        group_id=[1, 1], reward=[1, 0], logp_new=np.array([[-1.0, -2.0], [-3.0, 99.0]]), mask=[[1, 1], [1, 0]]
    )
    ragged = made(group_id=[1, 1], reward=[1, 0], logp_new=[[-1.0, -2.0], [-3.0]])
    np.testing.assert_array_equal(padded.tokens["logp_new"], ragged.tokens["logp_new"])
    np.testing.assert_array_equal(padded.token_offsets, ragged.token_offsets)
    assert padded.masked is not None
    assert padded.masked.tokens["mask"].tolist() == [1.0, 1.0, 1.0, 0.0]
    assert padded.row.tolist() == [1, 2, 3]
    assert ragged.masked is None


def test_a_mask_of_ones_masks_nothing() -> None:
    table = made(reward=[1], logp_new=[[-1.0, -2.0]], mask=[[1, 1]])
    assert table.masked is None
    assert "mask" not in table.tokens


def test_one_log_prob_a_completion_is_a_completion_of_one_token() -> None:
    assert made(reward=[1, 0], logp_new=[-1.0, -2.0]).token_offsets.tolist() == [0, 1, 2]


def test_groups_that_are_apart_are_put_together_and_the_order_can_be_given_back() -> None:
    table = made(
        group_id=["a", "b", "a"], reward=[1, 2, 3], logp_new=[[-1, -2], [-3], [-4]], completion_id=["x", "y", "z"]
    )
    assert table.completion_id == ("x", "z", "y")
    assert table.completions["reward"].tolist() == [1.0, 3.0, 2.0]
    assert table.tokens["logp_new"].tolist() == [-1.0, -2.0, -4.0, -3.0]
    assert table.tokens["logp_new"][table.order].tolist() == [-1.0, -2.0, -3.0, -4.0]
    assert "note.regrouped" in [note.key for note in table.notes]


def test_without_groups_all_completions_are_one_and_that_is_said() -> None:
    table = made(reward=[1, 0], logp_new=[[-1], [-2]])
    assert table.group_count == 1
    assert [note.key for note in table.notes] == ["note.one_group"]


def test_one_text_a_completion_is_one_token() -> None:
    table = gc.Table.from_arrays(logp_new=[-1.0, -2.0], texts={"token": ["10", ""]})
    assert list(table.texts["token"]) == ["10", ""]


def test_texts_go_with_their_tokens() -> None:
    table = made(
        group_id=["a", "b", "a"],
        logp_new=[[-1, -2], [-3], [-4]],
        mask=[[1, 0], [1], [1]],
        texts={"token": [["p", "q"], ["r"], ["s"]]},
    )
    assert list(table.texts["token"]) == ["p", "s", "r"]
    assert table.masked is not None
    assert list(table.masked.texts["token"]) == ["p", "q", "s", "r"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "no rows"),
        ({"reward": [], "logp_new": []}, "no rows"),
        ({"reward": [1], "logp_new": [[-1], [-2]]}, "logp_new has 2 entries where 1 are expected"),
        ({"reward": [1, 0], "logp_new": [[-1], [-2]], "group_id": ["a"]}, "group_id has 1 entries where 2"),
        ({"reward": [1, 0], "logp_new": [[-1], [-2]], "completion_id": ["a"]}, "completion_id has 1 entries where 2"),
        ({"reward": [1, 0], "logp_new": [[-1], [-2]], "mask": [[1]]}, "mask has 1 entries where 2"),
        ({"logp_new": [[-1, -2]], "logp_old": [[-1]]}, "completion 1: logp_old has 1 tokens where 2"),
        ({"logp_new": [[-1, -2]], "mask": [[1]]}, "completion 1: mask has 1 tokens where 2"),
        ({"logp_new": [["a"]]}, "logp_new holds something that is not a number"),
        ({"reward": [[1, 1]], "logp_new": [[-1, -2]]}, "one number a completion"),
        ({"logp_new": [[-1, math.nan]]}, "row 2: logp_new is nan"),
        ({"logp_new": [[-1, None]]}, "row 2: logp_new is nan"),
        ({"logp_new": [[-1], [-math.inf]]}, "row 2: logp_new is -inf"),
        ({"logp_new": [[-1.0]], "logp_ref": [[-9999.0]]}, "row 1: logp_ref is -9999.0, which engines write"),
        ({"reward": [math.nan], "logp_new": [[-1]]}, "completion 1: reward is nan"),
        ({"reward": [None], "logp_new": [[-1]]}, "completion 1: reward is nan"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_stops_the_work_is_one_line(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(Problem) as raised:
        made(**columns)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert raised.value.text("zh").strip()


def test_what_is_masked_may_hold_anything() -> None:
    table = made(reward=[1], logp_new=[[-1.0, -9999.0, math.nan]], logp_old=[[-1.0, None, 3.0]], mask=[[1, 0, 0]])
    assert table.tokens["logp_new"].tolist() == [-1.0]
    assert table.notes[-1].key == "note.masked" or "note.masked" in [note.key for note in table.notes]


def test_a_log_prob_above_zero_is_counted_and_used() -> None:
    table = made(reward=[1], logp_new=[[0.0, 1e-9, 0.5]])
    assert [note.values["count"] for note in table.notes if note.key == "note.positive_logp"] == [2]
    assert table.tokens["logp_new"].tolist() == [0.0, 1e-9, 0.5]


def test_on_policy_takes_new_for_old_and_changes_nothing_else() -> None:
    table = made(reward=[1, 0], logp_new=[[-1.0, -2.0], [-3.0, -4.0]], mask=[[1, 0], [1, 1]])
    policy = table.on_policy()
    np.testing.assert_array_equal(policy.tokens["logp_old"], table.tokens["logp_new"])
    assert "logp_old" not in table.tokens
    assert policy.masked is not None
    assert "logp_old" in policy.masked.tokens
