"""A second reconstruction of the article's table: scores out of ten, population standard deviation 1."""

from grpo_calc.lessons.six_tokens import FIGURES, RECIPE, STATUS

FACTS = ("not_unique",)
AUDIT = ()

__all__ = ["AUDIT", "FACTS", "FIGURES", "RECIPE", "STATUS"]
