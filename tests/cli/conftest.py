"""The program as a user runs it: in this process, or as one of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from grpo_calc.cli import app

ROOT = Path(__file__).parents[2]
PROGRAM = "import sys; sys.argv[0] = 'grpo-calc'; from grpo_calc.cli import main; main()"

Run = Callable[..., Result]
Process = Callable[..., subprocess.CompletedProcess[str]]

TOKENS = """\
group_id,completion_id,token,reward,logp_new,logp_old,logp_ref,mask
q,a,The,1,-0.5,-0.9,-0.7,1
q,a, end,1,-1.2,-1.2,-1.1,0
q,b,No,0,-2.0,-2.3,-2.1,1
q,b,.,0,-0.3,-0.3,-0.3,1
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program here: ``run("table", "six-tokens")``; stdout and stderr apart, English, 120 columns."""
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return lambda *arguments, **options: CliRunner().invoke(app, [*map(str, arguments)], **options)


@pytest.fixture
def process(tmp_path: Path) -> Process:
    """Run the program as a process, in an empty folder."""

    def started(
        *arguments: str, env: dict[str, str] | None = None, **options: object
    ) -> subprocess.CompletedProcess[str]:
        clean = {key: os.environ[key] for key in ("PATH", "SYSTEMROOT") if key in os.environ}
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, *map(str, arguments)],
            cwd=tmp_path,
            env={**clean, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", "COLUMNS": "120", **(env or {})},
            encoding="utf-8",
            check=False,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        )

    return started


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    """A small file: one group, two completions, one masked token."""
    path = tmp_path / "tokens.csv"
    path.write_text(TOKENS, encoding="utf-8")
    return path
