"""From tokens to one number: tokens joined in a completion, completions in the batch; the KL in a way of its own."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.bind import Binding, Bindings, Use

Choices = Mapping[str, Bindings]

WITHIN: Mapping[str, tuple[str, str, str]] = {
    "mean": ("mean_within", "mean_within_slope", ""),
    "mean_plus": ("constant_within", "constant_within_slope", "length_plus"),
    "mean_bare": ("constant_within", "constant_within_slope", "length"),
    "sum": ("sum_within", "sum_slope", ""),
    "constant": ("constant_within", "constant_within_slope", "max_length"),
    "group": ("constant_within", "constant_within_slope", "group_tokens"),
}
"""How tokens of a completion are joined: the column, its slope, and the length it divides by, if any."""

ACROSS: Mapping[str, tuple[str, str, str]] = {
    "mean": ("mean_across", "mean_across_slope", ""),
    "tokens": ("tokens_across", "tokens_across_slope", ""),
    "sum": ("sum_across", "sum_slope", ""),
    "divisor": ("divisor_across", "divisor_across_slope", ""),
    "groups": ("divisor_across", "divisor_across_slope", "groups"),
}
"""How completions are joined in the batch: the column, its slope, and the number it divides by, if any."""

WAYS: Mapping[str, tuple[str, str]] = {
    "completion_mean": ("mean", "mean"),
    "token_mean": ("sum", "tokens"),
    # The mean over groups of each group's token mean.
    "group_token_mean": ("group", "groups"),
    "completion_sum": ("sum", "mean"),
    "constant_length": ("constant", "mean"),
    "token_sum": ("sum", "sum"),
    "given_divisor": ("sum", "divisor"),
    "completion_mean_plus": ("mean_plus", "mean"),
    # An empty completion makes such a loss undefined.
    "completion_mean_bare": ("mean_bare", "mean"),
}
"""Each way to reduce: within a completion, and across completions."""

SHARED: Bindings = {
    "length_plus": Use("count_plus", x="length"),
    "kl_within": "within",
    "length_everywhere": Use("length", counted="everywhere"),
    "tokens_everywhere": Use("tokens", length="length_everywhere"),
    "all_length": Use("length", counted="given_counted"),
    "all_tokens": Use("tokens", length="all_length"),
    "all_tokens_plus": Use("count_plus", x="all_tokens"),
    "all_length_plus": Use("count_plus", x="all_length"),
    "all_has_tokens": Use("has_tokens", length="all_length"),
    "all_nonempty": Use("nonempty", has_tokens="all_has_tokens"),
}
"""What every recipe has: counts that do not divide by 0, counts before any token is rejected, the KL's share."""

DIVISORS: Mapping[str, Binding] = {
    "tokens": "tokens",
    "tokens_plus": Use("count_plus", x="tokens"),
    "nonempty": "nonempty",
    "nonempty_plus": Use("count_plus", x="nonempty"),
    "completions_plus": Use("count_plus", x="completions"),
    "nonempty_of_all": "all_nonempty",
    "positions": "area",
    "all_tokens": "all_tokens_plus",
    "width": "width",
    "everywhere": "tokens_everywhere",
}
"""What a sum over completions is divided by, where that is not what the reduction itself says."""


def _within(way: str, x: str) -> tuple[Use, Use]:
    """The column that joins a completion's tokens, and its slope."""
    column, slope, length = WITHIN[way]
    by = {"max_length": length} if length else {}
    return Use(column, x=x, **by), Use(slope, **by)


def _across(way: str, x: str) -> tuple[Use, Use]:
    """The column that joins the completions of a batch, and its slope."""
    column, slope, divisor = ACROSS[way]
    by = {"divisor": divisor} if divisor else {}
    return Use(column, x=x, **by), Use(slope, **by)


def _reduced(way: str) -> Bindings:
    """Every quantity reduced in one way."""
    inside, outside = WAYS[way]
    joined = {"objective": "weighted_objective", "kl": "token_kl", "loss": "token_loss"}
    bound: dict[str, Binding] = {f"completion_{name}": _within(inside, x)[0] for name, x in joined.items()}
    bound["within"] = _within(inside, "")[1]
    bound["surrogate_objective"], bound["across"] = _across(outside, "completion_objective")
    bound["kl"], _ = _across(outside, "completion_kl")
    return {**bound, "kl_share": "share"}


def _kl_reduced(way: str) -> Bindings:
    """The KL reduced in a way of its own."""
    inside, outside = WAYS[way]
    joined, share = _within(inside, "token_kl")
    summed, across = _across(outside, "completion_kl")
    return {
        "completion_kl": joined,
        "kl": summed,
        "kl_within": share,
        "kl_across": across,
        "kl_share": Use("share", within="kl_within", across="kl_across"),
    }


def _divided(by: str) -> Bindings:
    """Completions summed, over a divisor of a kind or the parameter of that name; the KL too."""
    bound: Bindings = {
        "surrogate_objective": Use("divisor_across", x="completion_objective"),
        "across": Use("divisor_across_slope"),
        "kl": Use("divisor_across", x="completion_kl"),
    }
    return bound if by == "given" else {**bound, "divisor": DIVISORS[by]}


def _kl_divided(by: str) -> Bindings:
    """The KL of completions summed, over a divisor of its own."""
    bound: Bindings = {
        "kl": Use("divisor_across", x="completion_kl", divisor="kl_divisor"),
        "kl_across": Use("divisor_across_slope", divisor="kl_divisor"),
        "kl_share": Use("share", within="kl_within", across="kl_across"),
    }
    return bound if by == "given" else {**bound, "kl_divisor": DIVISORS[by]}


ALL = {"tokens": "all_tokens", "nonempty": "all_nonempty", "length": "all_length", "length_plus": "all_length_plus"}


def _of_all(bound: Bindings) -> Bindings:
    """A reduction by the tokens that count before any is rejected."""

    def every(use: Binding) -> Binding:
        if not isinstance(use, Use):
            return use
        counts = {
            "mean_within_slope": {"length": "length"},
            "tokens_across": {"tokens": "tokens"},
            "tokens_across_slope": {"tokens": "tokens"},
        }
        names = {**counts.get(use.column, {}), **use.renamed, "counted": "given_counted"}
        return Use(use.column, **{parameter: ALL.get(name, name) for parameter, name in names.items()})

    return {name: every(use) for name, use in bound.items()}


REDUCTION: Choices = {way: _reduced(way) for way in WAYS}
DIVISOR: Choices = {"own": {}, **{by: _divided(by) for by in ("given", *DIVISORS)}}
KL_REDUCTION: Choices = {
    "same": {},
    **{way: _kl_reduced(way) for way in WAYS},
    **{f"{way}_of_all": _of_all(_kl_reduced(way)) for way in WAYS},
}
KL_DIVISOR: Choices = {"own": {}, **{by: _kl_divided(by) for by in ("given", *DIVISORS)}}
