"""What the tests of reading share: a file on disk in one call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Written = Callable[..., Path]


@pytest.fixture
def file(tmp_path: Path) -> Written:
    """Writes text (UTF-8) or bytes, or a value as JSON, to a file of that name."""

    def write(content: object, name: str = "x.csv") -> Path:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            path.write_bytes(text.encode("utf-8"))
        return path

    return write
