"""docs/recipes.md is what the recipes say; a bug is a preset's, never a published variant's."""

import pytest

from grpo_calc.choices.bugs import BUGS
from grpo_calc.recipes import RECIPES
from grpo_calc.roles import ROLES
from tests.docs.recipes_page import PAGE, text


def test_the_page_is_what_the_recipes_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == text(), "python -m tests.docs.recipes_page writes it"


def test_every_bug_is_a_choice() -> None:
    assert [switch for switch in BUGS if switch[1] not in ROLES[switch[0]]] == []


@pytest.mark.parametrize("name", RECIPES)
def test_no_published_variant_has_a_bug(name: str) -> None:
    assert not BUGS.keys() & set(RECIPES[name].roles.items())
