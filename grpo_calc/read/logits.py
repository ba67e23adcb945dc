"""Logit vectors: columns x1..xK (old), y1..yK (new) and the chosen component ``action``, counted from 1."""

from __future__ import annotations

import numpy as np

from grpo_calc.read.aliases import Naming
from grpo_calc.read.block import Block
from grpo_calc.read.faults import HARMLESS, cell_problem
from grpo_calc.read.words import Flags
from grpo_calc.softmax import log_softmax_at
from grpo_calc.table import Floats


def chosen_logps(block: Block, naming: Naming, source: str, decimal: str, masked: Flags | None) -> dict[str, Floats]:
    """``logp_old`` and ``logp_new`` of a block's rows; NaN where a masked row has no whole vector."""
    x, y = naming.logits
    off = np.zeros(block.count, dtype=np.bool_) if masked is None else masked
    column = naming.columns["action"]
    action, _ = block.numbers(column, decimal)
    wrong = ~((action >= 1) & (action <= len(x)) & (action == np.floor(action))) & ~off
    if wrong.any():
        row = int(np.argmax(wrong))
        seen = block.cells(column, np.array([row]))[0]
        raise cell_problem(
            "action", source=source, line=block.line(row, column, None), column=column, seen=seen, largest=len(x)
        )
    found = {}
    for name, columns in (("logp_old", x), ("logp_new", y)):
        logits = np.empty((block.count, len(columns)))
        for place, logit in enumerate(columns):
            logits[:, place], faults = block.numbers(logit, decimal)
            for row, fault in faults.items():
                if not (off[row] and fault in HARMLESS):
                    raise cell_problem(
                        fault,
                        source=source,
                        line=block.line(row, logit, None),
                        column=logit,
                        seen=block.cells(logit, np.array([row]))[0],
                    )
        whole = np.isfinite(logits).all(axis=1) & ~wrong & np.isfinite(action)
        whole &= (action >= 1) & (action <= len(columns))
        values = np.full(block.count, np.nan)
        values[whole] = log_softmax_at(logits[whole], action[whole].astype(np.int64) - 1)
        found[name] = values
    return found
