"""``python -m tests.golden FILES...``: a JSON line a file; exit 1 where one differs, 2 where one cannot be run."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from grpo_calc.say import Problem
from tests.golden.case import UnknownKeys
from tests.golden.runner import run


def main(paths: list[str]) -> int:
    """Run the files; the worst exit code of all."""
    code = 0
    for path in paths:
        try:
            golden = json.loads(Path(path).read_text(encoding="utf-8"))
            result = run(golden)
        except (UnknownKeys, Problem, KeyError, ValueError, OSError) as problem:
            print(f"{path}: {type(problem).__name__}: {problem}", file=sys.stderr)
            code = 2
            continue
        print(json.dumps(_finite(asdict(result))))
        code = max(code, 1 if result.failed else 0)
    return code


def _finite(value: object) -> object:
    """NaN and infinity as null: JSON has neither."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
