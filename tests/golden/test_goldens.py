"""Every golden file, from its inputs and options alone: values, gradients, metrics, at its own tolerance."""

import json
from pathlib import Path

import pytest

from tests.golden.runner import run

FILES = sorted((Path(__file__).parent / "trainers").glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden(path: Path, record_property) -> None:
    result = run(json.loads(path.read_text(encoding="utf-8")))
    for name, reason in result.left_out.items():
        record_property(f"left out: {name}", reason)
    assert not result.failed
    assert {"loss", "advantages"} & {name.rpartition("/")[2] for name in result.compared}
