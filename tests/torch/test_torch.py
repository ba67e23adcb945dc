"""The torch lane: every column on torch tensors through the very same plan, every gradient against torch's autograd."""

import numpy as np
import pytest

from grpo_calc.recipe import Recipe
from tests.columns.frames import SUMS, Case
from tests.core.tables import combined, named, random_table, title

RECIPES = [*named(), *combined()]

pytestmark = pytest.mark.torch


@pytest.mark.parametrize(("seed", "recipe"), list(enumerate(RECIPES)), ids=[title(r) for r in RECIPES])
def test_torch_agrees_and_differentiates_to_our_gradients(seed: int, recipe: Recipe) -> None:
    import torch

    case = Case(random_table(seed % 5), recipe)
    difference, column = case.furthest(case.values(lambda x: torch.tensor(x, dtype=torch.float64)))
    assert difference <= SUMS, column
    inputs = {name: torch.tensor(value, dtype=torch.float64) for name, value in case.inputs.items()}
    new = inputs["logp_new"].requires_grad_()
    (loss,) = torch.autograd.grad(case.loss(inputs), new)
    np.testing.assert_allclose(case.worked["gradient"], loss, rtol=2e-15, atol=2e-15)
    token_loss = case.token_loss(inputs)
    rows = [torch.autograd.grad(value, new, retain_graph=True)[0][place] for place, value in enumerate(token_loss)]
    ours, theirs = case.by_token("token_gradient")[case.counted], np.array(rows)[case.counted]
    np.testing.assert_allclose(ours, theirs, rtol=2e-15, atol=2e-15)
