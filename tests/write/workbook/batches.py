"""Batches that hit every corner: both clip sides with both signs of A, flat and one-member groups, an empty answer."""

from typing import Any

import numpy as np

import grpo_calc as gc

WORDS = ("The", " answer", " is", " 42", "。", "概率", "\n", "=1+1", "🙂", " πλ")


def batch(seed: int = 0, *, lengths: tuple[int, ...] = (5, 3, 7, 4, 6, 2, 8, 3), mask: bool = True) -> gc.Table:
    """Three groups: one with spread, one flat, one of a single answer; with a mask, one answer has no kept token."""
    rng = np.random.default_rng(seed)
    new = [-rng.exponential(1.0, n) - 1e-3 for n in lengths]

    def near(width: float) -> list[list[float]]:
        return [np.minimum(x + rng.normal(0, width, len(x)), -1e-4).tolist() for x in new]

    old, ref = near(0.3), near(0.3)
    for row, (x, y) in enumerate(zip(new, old, strict=True)):
        y[0] = min(float(x[0]) - 0.5, -1e-4) if row % 2 else min(float(x[0]) + 0.5, -1e-4)
    groups = ["q1"] * 4 + ["q2"] * (len(lengths) - 5) + ["q3"]
    rewards = [1.0, 0.0, 0.5, 0.75] + [0.1] * (len(lengths) - 5) + [1.0]
    holes: Any = None
    if mask:
        holes = [(rng.random(n) > 0.3).astype(float).tolist() for n in lengths]
        for kept in holes:
            kept[0] = 1.0
        holes[5] = [0.0] * lengths[5]
    return gc.Table.from_arrays(
        group_id=groups,
        completion_id=[f"a{place}" for place in range(len(lengths))],
        reward=rewards,
        logp_new=[x.tolist() for x in new],
        logp_old=old,
        logp_ref=ref,
        mask=holes,
        texts={"token": [[WORDS[(r + t) % len(WORDS)] for t in range(n)] for r, n in enumerate(lengths)]},
    )
