"""Our columns laid out as a harness lays out its outputs: padded (B, T), or flat in the order of the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grpo_calc.trainers.figures import per_token
from grpo_calc.work import Worked


def grid(worked: Worked, values: Any) -> np.ndarray:
    """One value a token, laid out as the padded inputs were; 0 where masked."""
    table = worked.table
    laid = np.zeros((table.completion_count, int(table.positions.max())))
    laid.flat[table.row - 1] = values
    return laid


def token_column(name: str, sign: float = 1.0) -> Callable[[Worked], np.ndarray]:
    """A reading of a column, a value a token even where it is the completion's."""
    return lambda worked: grid(worked, sign * per_token(worked, name))


def flat(name: str, sign: float = 1.0) -> Callable[[Worked], np.ndarray]:
    """A reading of a column, the tokens that count in the order of the batch."""
    return lambda worked: (sign * per_token(worked, name))[worked.table.order]
