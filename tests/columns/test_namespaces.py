"""Every column, through the very same plan, on array-api-strict and JAX arrays; every gradient against autograd."""

import array_api_strict
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from grpo_calc.recipe import Recipe
from tests.columns.frames import SUMS, Case
from tests.core.tables import combined, corners, named, random_table, title

RECIPES = [*named(), *combined()]
every_recipe = pytest.mark.parametrize(("seed", "recipe"), list(enumerate(RECIPES)), ids=[title(r) for r in RECIPES])


@pytest.mark.parametrize("seed", range(5))
def test_random_batches_reach_every_corner(seed: int) -> None:
    table = random_table(seed)
    lengths, sizes = np.diff(table.token_offsets), np.diff(table.group_offsets)
    assert min(corners(table).values()) > 0, "both clip sides with both signs of the advantage"
    assert 0 in lengths
    assert len(set(lengths)) > 2
    assert sorted(sizes) == [1, 2, 3, 4]
    assert np.ptp(table.completions["reward"][4:7]) == 0
    assert table.masked is not None


@every_recipe
def test_array_api_strict_agrees(seed: int, recipe: Recipe) -> None:
    case = Case(random_table(seed % 5), recipe)
    difference, column = case.furthest(case.values(array_api_strict.asarray))
    assert difference <= SUMS, column


@every_recipe
def test_jax_agrees_and_differentiates_to_our_gradients(seed: int, recipe: Recipe) -> None:
    case = Case(random_table(0), recipe)  # one shape, so that JAX compiles each operation once
    difference, column = case.furthest(case.values(jnp.asarray))
    assert difference <= SUMS, column
    others = {name: jnp.asarray(value) for name, value in case.inputs.items() if name != "logp_new"}
    new = jnp.asarray(case.inputs["logp_new"])
    loss = jax.grad(lambda new: case.loss({**others, "logp_new": new}))(new)
    np.testing.assert_allclose(case.worked["gradient"], loss, rtol=2e-15, atol=2e-15)
    _, push = jax.linearize(lambda new: case.token_loss({**others, "logp_new": new}), new)
    token_loss = sum(np.asarray(push(jnp.asarray(place))) * place for place in case.places())
    ours, theirs = case.by_token("token_gradient")[case.counted], token_loss[case.counted]
    np.testing.assert_allclose(ours, theirs, rtol=2e-15, atol=2e-15)
