"""The article's six-token table, reconstructed so that every figure it prints comes out.

The article prints six KL proxies and three batch figures, and its table of inputs only as a picture. The inputs here
are ours: old and new logits of five actions, the chosen one, and a reward, such that the printed figures come out.
"""

from grpo_calc.lessons.figure import Figure

RECIPE = "article"
STATUS = ("given", "reconstructed", "computed")
FACTS = ("not_clipped", "float64")
AUDIT = (
    "mean_cut",
    "mean_loss_tenth",
    "objective",
    "no_update",
    "kl_old",
    "sum_or_mean",
    "ratio_not_pi",
    "reward_needed",
    "groups",
    "adaptive",
)

PRINTED_KL = ("0.0008011", "0.0002615", "0.001144", "0.000688", "0.000998", "0.000705")
FIGURES = (
    *(Figure("kl_proxy", printed, row) for row, printed in enumerate(PRINTED_KL, start=1)),
    Figure("kl", "0.0007662"),
    Figure("surrogate_objective", "0.00045977"),
    Figure("objective", "0.00038315"),
)
