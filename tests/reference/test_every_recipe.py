"""Every recipe against its reference: the loss, and by JAX the gradient."""

import importlib
from pathlib import Path

import pytest

import grpo_calc as gc
from grpo_calc.recipes import RECIPES
from tests.reference.loops import REFERENCES, agrees, gradient_agrees

for path in sorted(Path(__file__).parent.glob("test_*.py")):
    if path.stem != Path(__file__).stem:
        importlib.import_module(f"tests.reference.{path.stem}")


def test_every_recipe_has_a_reference() -> None:
    assert sorted(REFERENCES) == sorted(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("seed", range(5))
def test_loss(name: str, seed: int) -> None:
    agrees(gc.recipe(name, **REFERENCES[name].changes), seed, REFERENCES[name].loss)


@pytest.mark.parametrize("name", RECIPES)
def test_gradient(name: str) -> None:
    gradient_agrees(gc.recipe(name, **REFERENCES[name].changes), 0, REFERENCES[name].loss)
