"""A random batch, padded, and our preset beside a trainer's own loss on it: the loss, and the gradient by autograd."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pytest

import grpo_calc as gc
from grpo_calc.trainers import trainer

Tensors = dict[str, Any]


def installed(package: str, name: str) -> str:
    """The version of an installed trainer that the preset ``name`` knows; else the test is skipped, and says why."""
    try:
        found = version(package)
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    if found not in trainer(name).versions:
        pytest.skip(f"{package} {found} is not a version that the preset knows: {', '.join(trainer(name).versions)}")
    return found


def drawn(seed: int) -> dict[str, np.ndarray]:
    """Six completions of up to seven tokens; ratios on both sides of any usual clip range, nothing on its edge."""
    rng = np.random.default_rng(seed)
    shape = (6, 7)
    lengths = rng.integers(2, shape[1] + 1, shape[0])
    new = -rng.exponential(1.0, shape) - 0.05
    return {
        "mask": np.arange(shape[1]) < lengths[:, None],
        "new": new,
        "old": new + rng.normal(0, 0.4, shape),
        "ref": new + rng.normal(0, 0.5, shape),
        "sampler": new + rng.normal(0, 0.4, shape),
        "advantage": rng.normal(0, 1.0, shape[0]),
    }


def agrees(recipe: gc.Recipe, loss: Callable[[Tensors], Any], seed: int) -> None:
    """Our loss and gradient are those of the trainer's own function, which is given tensors in double precision."""
    import torch

    arrays = drawn(seed)
    tensors = {name: torch.tensor(value, dtype=torch.float64) for name, value in arrays.items()}
    tensors["mask"] = tensors["mask"].to(torch.float32)  # as trainers have it: a count plus 1e-8 is the count
    tensors["new"].requires_grad_()
    theirs = loss(tensors)
    (gradient,) = torch.autograd.grad(theirs, tensors["new"])
    table = gc.Table.from_arrays(
        group_id=[0] * len(arrays["mask"]),
        **{f"logp_{name}": arrays[name] for name in ("new", "old", "ref", "sampler")},
        advantage=arrays["advantage"],
        mask=arrays["mask"].astype(int),
    )
    worked = gc.work(table, recipe.change(advantage="given"))
    assert worked.loss == pytest.approx(theirs.item(), rel=1e-10, abs=1e-12)
    np.testing.assert_allclose(worked["gradient"], gradient[arrays["mask"]], rtol=1e-9, atol=1e-12)
