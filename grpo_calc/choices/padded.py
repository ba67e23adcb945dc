"""A bug as a reduction: LUSPO averaged over every position of the padded batch, masked ones too.

Each token's loss is multiplied by its completion's length and the mean is taken over all B T positions, so that what
stands where the mask is 0 enters the loss. TRL 0.28 to 1.9 and Liger 0.8.5 do this where terms differ along a
completion; TRL 1.10 sums a completion's kept tokens and takes the mean over completions.
"""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.bind import Binding, Bindings, Use

EVERYWHERE = "everywhere"
"""A name that no recipe binds: a reduction whose ``counted`` it is counts every row."""


def _padded() -> Bindings:
    bound: dict[str, Binding] = {}
    for name, x in {"objective": "weighted_objective", "kl": "token_kl", "loss": "token_loss"}.items():
        bound[f"{name}_everywhere"] = Use("sum_within", x=x, counted=EVERYWHERE)
        bound[f"completion_{name}"] = Use("weighted", x=f"{name}_everywhere", weight="length")
    return {
        **bound,
        "within": "length",
        "across": Use("divisor_across_slope", divisor="area"),
        "surrogate_objective": Use("divisor_across", x="completion_objective", divisor="area"),
        "kl": Use("divisor_across", x="completion_kl", divisor="area"),
        "kl_share": "share",
        "completion_slope": Use("completion_slope", counted=EVERYWHERE),
        # Where the mask is 0 a token's sampler weight is 1, and it is none of the most uncertain.
        "log_mismatch": Use("where_counted", x="log_mismatch_anywhere"),
        "log_mismatch_anywhere": Use("log_mismatch"),
        "wrap:entropy_kept:padded": Use("where_counted", x="@"),
    }


PADDED: Mapping[str, Bindings] = {
    "padded_luspo": _padded(),
    "padded_luspo_sequence": {
        **_padded(),
        "kl_through_ratio": Use("constant_within", x="token_kl", max_length="length", counted=EVERYWHERE),
    },
}
