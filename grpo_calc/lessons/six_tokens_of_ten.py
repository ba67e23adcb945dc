"""A second reconstruction of the article's table: scores out of ten, population standard deviation 1."""

from grpo_calc.lessons.six_tokens import FIGURES, RECIPE, STATUS

AUDIT = ("not_unique",)

__all__ = ["AUDIT", "FIGURES", "RECIPE", "STATUS"]
