"""Cases that users reported to trainers' projects, worked with the options in the words of the report."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grpo_calc as gc
from grpo_calc.column import Level
from grpo_calc.work import Worked

CASES = json.loads((Path(__file__).parent / "data" / "reported.json").read_text(encoding="utf-8"))


def flat(value: Any) -> Iterator[float]:
    """Every number of nested lists, in order."""
    if isinstance(value, list):
        for entry in value:
            yield from flat(entry)
    else:
        yield float(value)


def ours(worked: Worked, name: str) -> Any:
    """A column by its key, ``"gradient 0"``: that of the completions' first tokens, there or in a range."""
    key, _, place = name.partition(" ")
    value = np.atleast_1d(worked[key])
    if worked.level(key) is Level.COMPLETION:  # in the user's own order
        value = value[np.argsort([int(name) for name in worked.table.completion_id])]
    if not place:
        return value
    firsts = value[worked.table.token_offsets[:-1]] if key == "gradient" else value
    return firsts[slice(*map(int, place.split(":")))] if ":" in place else firsts[[int(place)]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_reported(case: dict[str, Any]) -> None:
    table = gc.Table.from_arrays(**case["input"])
    if "logp_new" in case["input"] and "logp_old" not in case["input"]:
        table = table.on_policy()
    for check in case["checks"]:
        worked = gc.work(table, gc.recipe("grpo", **case["options"]).change(**check["set"]))
        assert check["expected"]
        for name, expected in check["expected"].items():
            wanted, found = np.array(list(flat(expected))), ours(worked, name)
            if len(found) != len(wanted):  # a completion's value, shown once a token
                found = np.repeat(found, np.diff(table.token_offsets))
            np.testing.assert_allclose(found, wanted, **case["tolerance"], err_msg=name)
