"""Which tokens count after rejection: one choice a list of rules, each with bounds of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from grpo_calc.bind import Binding, Bindings, Use

ESTIMATES = {"k1": "mismatch_k1", "k2": "mismatch_k2", "k3": "mismatch_k3"}
RULES: Mapping[str, tuple[str, str]] = {
    "token_k1": ("", "k1"),
    "token_k2": ("", "k2"),
    "token_k3": ("", "k3"),
    "seq_sum_k1": ("sum_within", "k1"),
    "seq_sum_k2": ("sum_within", "k2"),
    "seq_sum_k3": ("sum_within", "k3"),
    "seq_mean_k1": ("mean_within", "k1"),
    "seq_mean_k2": ("mean_within", "k2"),
    "seq_mean_k3": ("mean_within", "k3"),
    "seq_max_k2": ("max_within", "k2"),
    "seq_max_k3": ("max_within", "k3"),
}
"""Each rule: how a completion's tokens are joined (not at all for a token's own), and which estimate is compared."""

EVERY = "given_counted"
"""What a reduction reads in place of ``counted``: the tokens that count before any is rejected."""


def statistic(rule: str) -> Binding:
    """What a rule compares with its bounds, over all tokens."""
    join, estimate = RULES[rule]
    return Use(join, x=ESTIMATES[estimate], counted=EVERY) if join else ESTIMATES[estimate]


def bounds(rule: str) -> tuple[str, ...]:
    """The parameters of a rule: lower and upper bound of the ratio for k1, an upper bound else.

    >>> bounds("token_k1"), bounds("seq_max_k3")
    (('token_k1_low', 'token_k1_high'), ('seq_max_k3_high',))
    """
    return (f"{rule}_low", f"{rule}_high") if rule.endswith("k1") else (f"{rule}_high",)


def rejection(rules: list[str]) -> Bindings:
    """The tokens that every rule keeps, as ``kept``."""
    bound: dict[str, Binding] = {}
    so_far = ""
    for rule in rules:
        bound[f"statistic@{rule}"] = statistic(rule)
        names = dict(zip(("reject_low", "reject_high")[-len(bounds(rule)) :], bounds(rule), strict=True))
        column = "kept_between" if len(names) == 2 else "kept_at_most"
        bound[f"kept@{rule}"] = Use(column, x=f"statistic@{rule}", **names)
        if so_far:
            bound[f"kept_so_far@{rule}"] = Use("kept_by_both", x=so_far, y=f"kept@{rule}")
        so_far = f"kept_so_far@{rule}" if so_far else f"kept@{rule}"
    return {**bound, "kept": Use("not_rejected", x=so_far)}


class Rejections(Mapping[str, Bindings]):
    """The choices of the role: ``none``, one rule, or several with commas between.

    >>> choices = Rejections()
    >>> "token_k1,seq_max_k3" in choices, "token_k9" in choices, len(choices)
    (True, False, 12)
    """

    def __getitem__(self, choice: str) -> Bindings:
        """What a choice binds."""
        if choice == "none":
            return {}
        rules = choice.split(",")
        if not set(rules) <= set(RULES) or len(set(rules)) < len(rules):
            raise KeyError(choice)
        return rejection(rules)

    def __iter__(self) -> Iterator[str]:
        return iter(("none", *RULES))

    def __len__(self) -> int:
        return 1 + len(RULES)


# Rejected tokens are in no sum and no count, and have no gradient.
IN_LOSS: Bindings = {
    "counted": "kept",
    **{f"wrap:{name}:rejected": Use("where_counted", x="@") for name in ("policy_gradient", "kl_gradient")},
}
# Rejected from the policy's part alone.
IN_POLICY: Bindings = {name: bound for name, bound in IN_LOSS.items() if "kl_gradient" not in name}
# Rejected before advantages are worked: they see only what is kept.
BEFORE: Bindings = {
    **IN_LOSS,
    "advantage_counted": "kept",
    "wrap:advantage:rejected": Use("where_counted", x="@"),
    "wrap:token_reward:rejected": Use("where_counted", x="@"),
    "wrap:to_go_step:rejected": Use("step_past", x="@"),
}
REJECTION_PLACE: Mapping[str, Bindings] = {
    "nowhere": {},
    "loss": IN_LOSS,
    "policy": IN_POLICY,
    "loss_by_gate": {**IN_LOSS, "kept": Use("not_rejected", x="gate_open")},
    "before_advantage": BEFORE,
    "before_advantage_reset": {**BEFORE, "wrap:to_go_step:rejected": Use("where_counted", x="@")},
}

# A weight over its mean, over tokens or over completions, of all tokens, rejected ones too.
ALL: Bindings = {
    "all_length": Use("length", counted=EVERY),
    "all_tokens": Use("tokens", length="all_length"),
    "wrap:sampler_weight:norm": Use("over_mean", x="@"),
}
SAMPLER_NORM: Mapping[str, Bindings] = {
    "none": {},
    "token_mean": {
        **ALL,
        "sampler_sum": Use("sum_within", x="sampler_weight_before_norm", counted=EVERY),
        "sampler_mean": Use("divisor_across", x="sampler_sum", divisor="all_tokens_plus"),
    },
    "completion_mean": {
        **ALL,
        "sampler_sum": Use(
            "constant_within", x="sampler_weight_before_norm", max_length="all_length_plus", counted=EVERY
        ),
        "sampler_mean": Use("divisor_across", x="sampler_sum", divisor="all_nonempty"),
    },
}
MISMATCH_CLAMP: Mapping[str, Bindings] = {
    "none": {},
    "held": {"wrap:log_weight:clamp": Use("clamped_mismatch", x="@")},
}
# Which two policies the correction compares: the old one and the sampler, or the new one and the old (which sampled).
MISMATCH_OF: Mapping[str, Bindings] = {
    "old": {},
    "new": {"log_mismatch": Use("log_mismatch", logp_old="held_logp", logp_sampler="logp_old")},
}
