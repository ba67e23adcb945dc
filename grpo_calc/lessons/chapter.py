"""The course chapter's ``compute_grpo_loss`` on its own case: four answers in two groups, one log-prob an answer.

The figures are not the chapter's print: they are worked by hand from its rule (the loss is sinh(0.1) / 2).
"""

from grpo_calc.lessons.figure import Figure

RECIPE = "chapter"
STATUS = ("given", "computed")
FACTS = ("not_clipped",)
AUDIT = ("formula_and_code", "weak_test")
TABLES = (
    "single_reward",
    "group_reward",
    "rlvr",
    "narrow_verifier",
    "unbalanced_parts",
    "within_group",
    "leakage",
    "why_no_critic",
    "global_normalisation",
    "ppo_same_and_different",
)

UP, DOWN = "1.1051709180756477", "0.9048374180359595"
FIGURES = (
    *(Figure("advantage", value, row, "exact") for row, value in enumerate(("-1", "1", "-1", "1"), start=1)),
    *(Figure("ratio", value, row, "exact") for row, value in enumerate((UP, DOWN, UP, UP), start=1)),
    Figure("loss", "0.05008337500992205", status="exact"),
    *(
        Figure("gradient", value, row, "exact")
        for row, value in enumerate(
            ("0.27629272951891193", "-0.2262093545089899", "0.27629272951891193", "-0.2762927295189119"), start=1
        )
    ),
)
