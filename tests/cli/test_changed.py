"""What was changed from the named recipe is shown, and a loss that lacks a column ends every command with 2."""

from __future__ import annotations

import json

import pytest

from .conftest import Run


@pytest.mark.parametrize(("lang", "said"), [("en", "Changed: beta=0.0"), ("zh", "已更改：beta=0.0")])
def test_what_was_changed_is_on_the_page(run: Run, lang: str, said: str) -> None:
    assert said in run("table", "--set", "beta=0", "--lang", lang).stdout
    assert said[:5] not in run("table", "--lang", lang).stdout


def test_what_was_changed_is_in_json(run: Run) -> None:
    found = json.loads(run("table", "--set", "beta=0", "--format", "json").stdout)
    assert found["recipe"]["changed"] == {"beta": 0.0}


@pytest.mark.parametrize("command", ["table", "sheet", "explain"])
def test_a_loss_that_lacks_a_column_is_2_everywhere(run: Run, command: str) -> None:
    done = run(command, "six-tokens", "--set", "entropy=top")
    assert done.exit_code == 2
    assert "entropy" in done.stderr
    assert done.stdout == ""
