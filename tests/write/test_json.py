"""JSON: the contract's keys, no NaN, full precision, and no tree in memory."""

import io
import json
import math
import tracemalloc

import numpy as np
from hypothesis import given

from grpo_calc.recipes import recipe
from grpo_calc.table import Table
from grpo_calc.work import SIGN, Worked, work
from grpo_calc.write.json import write_json

from .batches import batch, batches


def written(worked: Worked, **options: object) -> dict[str, object]:
    out = io.StringIO()
    write_json(worked, out, **options)

    def refused(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(out.getvalue(), parse_constant=refused)


@given(table=batches())
def test_any_batch_is_json(table: Table) -> None:
    worked = work(table)
    found = written(worked)
    assert list(found) == ["recipe", "sign", "sources", "notes", "batch", "groups", "completions", "tokens"]
    assert found["sign"] == SIGN
    assert found["batch"]["loss"] == worked.loss
    assert [token["token"] for token in found["tokens"]] == list(table.texts["token"])
    assert [token["gradient"] for token in found["tokens"]] == worked["gradient"].tolist()
    assert [each["completion_id"] for each in found["completions"]] == list(table.completion_id)


def test_the_levels_have_the_contract_s_keys() -> None:
    found = written(work(batch()))
    wanted = {
        "batch": {"surrogate_objective", "kl", "kl_token_mean", "objective", "policy_loss", "loss", "clip_fraction"},
        "groups": {"group_id", "group_size", "group_mean", "group_std"},
        "completions": {"completion_id", "length", "reward", "advantage", "mean_ratio", "completion_loss"},
        "tokens": {
            "row",
            "logp_new",
            "ratio",
            "clipped",
            "outside",
            "k1",
            "k2",
            "k3",
            "kl_proxy",
            "token_kl",
            "gradient",
        },
    }
    for level, keys in wanted.items():
        rows = found[level] if isinstance(found[level], list) else [found[level]]
        assert all(keys <= row.keys() for row in rows)


def test_ids_are_strings_and_flags_whole() -> None:
    found = written(work(batch()))
    assert [each["completion_id"] for each in found["completions"]] == ["007", "7", "a,b", 'q"', "e"]
    assert {type(token["clipped"]) for token in found["tokens"]} == {int}
    assert {type(token["row"]) for token in found["tokens"]} == {int}


def test_the_recipe_can_be_made_again_from_it() -> None:
    told = written(work(batch(), recipe("dapo", eps_high=0.3)))["recipe"]
    again = recipe(told["name"], **told["parameters"], **told["roles"])
    assert work(batch(), again).loss == work(batch(), recipe("dapo", eps_high=0.3)).loss


def test_undefined_is_null() -> None:
    table = Table.from_arrays(
        group_id=["p", "p"], reward=[1, 0], logp_new=[-1, -1], logp_old=[-900, -1], logp_ref=[-1, -1]
    )
    found = written(work(table))
    assert [token["ratio"] for token in found["tokens"]] == [None, 1.0]
    assert found["batch"]["loss"] is None
    assert "700" in found["notes"][0]


def test_a_zero_has_no_sign() -> None:
    assert all(
        math.copysign(1, value) == 1
        for row in written(work(batch()))["tokens"]
        for value in row.values()
        if isinstance(value, float) and value == 0
    )


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    table = Table.from_arrays(
        reward=[1.0], logp_new=[-1.0], logp_old=[-1.0], logp_ref=[-1.0], texts={"token": [["a\ud800"]]}
    )
    assert written(work(table))["tokens"][0]["token"] == "a\N{REPLACEMENT CHARACTER}"


def test_many_tokens_are_streamed() -> None:
    class Nowhere(io.TextIOBase):
        def write(self, text: str) -> int:
            return len(text)

    count = 200_000
    logps = {name: -np.linspace(0.1, 3, count).reshape(-1, 100) for name in ("logp_new", "logp_old", "logp_ref")}
    worked = work(Table.from_arrays(reward=np.arange(count // 100) % 2, **logps))
    worked.columns(["loss"])
    tracemalloc.start()
    write_json(worked, Nowhere())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < count * 8 * 40  # some forty columns of float64, not a tree of objects (over 400 MB)
