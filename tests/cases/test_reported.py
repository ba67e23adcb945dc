"""Troubles that users reported to trainers' projects: each case's figures, from its input and its options alone.

``expected`` names a figure; ``READ`` says how it is read from a worked table, ``KINDS`` how the figures of a case that
is not a whole loss are. ``wrong`` is what the reporter had: it must differ, and where ``MADE`` knows how it came about,
making the same mistake must give it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pytest

import grpo_calc as gc
from grpo_calc.columns import kl, overlong
from tests.cases.batches import agrees, cases, completions, table, tokens

CASES = cases("reported")
NOT_OURS = ("kind", "dtype")
"""Options that say what a case is about, not how a loss is worked."""


class Case:
    """One reported case: its table and its recipe, and either with a change."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        self.id: str = case["id"]
        self.given: dict[str, Any] = case["input"]
        self.options = {key: value for key, value in case["options"].items() if key not in NOT_OURS}
        self.kind: str | None = case["options"].get("kind")
        self.expected: dict[str, Any] = case["expected"]
        self.wrong: dict[str, Any] = case["wrong"]
        self.tolerance: dict[str, float] = case["tolerance"]

    def work(self, given: Mapping[str, Any] | None = None, **changes: Any) -> gc.Worked:
        """The case worked, from another input or with other options."""
        weights = {"reward_weights": self.given["weights"]} if "weights" in self.given else {}
        recipe = gc.recipe("grpo", **self.options, **weights).change(**changes)
        return gc.work(table(given or self.given), recipe)

    @cached_property
    def worked(self) -> gc.Worked:
        """The case worked as it stands."""
        return self.work(scored(self.given))

    def without(self, *names: str) -> dict[str, Any]:
        """The input without some columns."""
        return {key: value for key, value in self.given.items() if key not in names}

    def notes(self) -> dict[str, Mapping[str, Any]]:
        """The notes of the result, by key."""
        return {each.key: each.values for each in self.worked.notes}


def scored(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The input with the reward of an answer that is compared with the truth."""
    if "answer" not in given:
        return given
    right = zip(given["answer"], given["truth"], strict=True)
    return {**given, "reward": [float(answer == truth) for answer, truth in right]}


def per_completion(name: str, **changes: Any) -> Callable[[Case], Any]:
    return lambda case: completions(case.work(**changes) if changes else case.worked, name)


def per_token(name: str, **changes: Any) -> Callable[[Case], Any]:
    return lambda case: tokens(case.work(**changes) if changes else case.worked, name)


def batch(name: str, **changes: Any) -> Callable[[Case], Any]:
    return lambda case: (case.work(**changes) if changes else case.worked)[name]


def group(name: str) -> Callable[[Case], Any]:
    return lambda case: case.worked[name].tolist()


def negative(name: str) -> Callable[[Case], Any]:
    return lambda case: [[None if x is None else -x for x in row] for row in tokens(case.worked, name)]


def first(name: str, place: int, **changes: Any) -> Callable[[Case], Any]:
    """The first token of a completion."""
    return lambda case: tokens(case.work(**changes), name)[place][0]


def firsts(name: str, **changes: Any) -> Callable[[Case], Any]:
    return lambda case: [row[0] for row in tokens(case.work(**changes), name)]


def per_group(case: Case) -> list[float]:
    """The token mean of each group: the sum of its completions' shares."""
    worked = case.work(agg="group_token_mean")
    return np.add.reduceat(worked["completion_loss"], worked.table.group_offsets[:-1]).tolist()


def to_clamped(case: Case) -> float:
    """How far apart the two places of eps are: added to the std, or a floor of 1e-6 under the variance."""
    clamped = case.work(std_eps="at_least", adv_eps=1e-6**0.5)
    return completions(case.worked, "advantage")[0] / completions(clamped, "advantage")[0]


def sizes(case: Case) -> Any:
    return {name: int(n) for name, n in zip(case.worked.table.group_id, case.worked["group_size"], strict=True)}


def refused(**changes: Any) -> Callable[[Case], str]:
    def read(case: Case) -> str:
        with pytest.raises(gc.Problem, match="give a number"):
            case.work(**changes)
        return "error"

    return read


def noted(key: str, sentence: str) -> Callable[[Case], str]:
    """A sentence of the case, where a note of ours says it."""
    return lambda case: sentence if key in case.notes() else ""


def kl_at_start(case: Case) -> float:
    """The KL where the reference is the policy that the run starts from."""
    return case.work({**case.given, "logp_ref": case.given["logp_new"]})["kl"]


READ: Mapping[str, Callable[[Case], Any]] = {
    "advantage": per_completion("advantage"),
    "advantage_float32": per_completion("advantage"),  # single precision: within the case's tolerance
    "advantage_ddof1": per_completion("advantage", ddof=1),
    "advantage_ddof0": per_completion("advantage", ddof=0),
    "advantage_equal_weights": per_completion("advantage", reward_weights=[1, 1]),
    "adv_group": per_completion("advantage", scale_rewards="group"),
    "adv_batch": per_completion("advantage", scale_rewards="batch"),
    "adv_none": per_completion("advantage", scale_rewards="none"),
    "ratio_to_clamped": to_clamped,
    "loo_advantage_first": lambda case: completions(case.worked, "advantage")[0],
    "loo_std_first": lambda case: completions(case.worked, "leave_one_out_std")[0],
    "action": noted("note.others_alike", "zero spread of the others: do not divide, warn"),
    "warning": noted("note.one_member", "group a has 1 member"),
    "reward": per_completion("reward"),
    "total": per_completion("reward"),
    "shaped_reward": per_completion("reward"),
    "z_r1": per_completion("z@r1"),
    "z_r2": per_completion("z@r2"),
    "batch_std_ddof1": batch("batch_std"),
    "mean_group_std_ddof1": lambda case: float(np.mean(case.worked["group_std"])),
    "group_std_ddof1": group("group_std"),
    "reward_std_ddof1": group("group_std"),
    "frac_groups_zero_std": lambda case: float(np.mean(case.worked["zero_spread"])),
    "group_sizes": sizes,
    "ratio": per_token("ratio"),
    "clipped_ratio": per_token("clipped_ratio"),
    "surr": per_token("surrogate"),
    "clipped_surr": per_token("clipped_surrogate"),
    "pg": negative("weighted_objective"),
    "gate": lambda case: (case.worked["token_objective"] / case.worked["advantage"]).tolist(),
    "kl": per_token("token_kl"),
    "per_token_loss": per_token("token_loss"),
    "loss": batch("loss"),
    "mean_kl": batch("kl"),
    "policy_part": batch("policy_loss"),
    "kl_part": lambda case: case.worked.recipe.parameters["beta"] * case.worked["kl"],
    "printed_6_decimals": lambda case: f"{case.worked.loss:.6f}",
    "n_tokens": batch("tokens"),
    "n_clamped": lambda case: case.notes()["note.clamped"]["count"],
    "grad_logp_new": per_token("gradient"),
    "grad_nonzero": lambda case: (case.worked["gradient"] != 0).tolist(),
    "clip_frac": batch("clip_fraction"),
    "clip_frac_high": batch("clip_high_fraction"),
    "clip_frac_low": batch("clip_low_fraction"),
    "outside_interval_frac": lambda case: float(np.mean(case.worked["outside"])),
    "c_below_1": refused(dual_clip_c=0.5),
    "product_ratio": lambda case: case.work(ratio_level="product")["ratio"].tolist(),
    "ratio_geometric": per_token("ratio"),
    "loss_geometric": batch("loss"),
    "ratio_product": per_token("ratio", ratio_level="product"),
    "loss_product": batch("loss", ratio_level="product"),
    "expected_at_step0_if_ref_is_start": kl_at_start,
    "loss_batch_token_mean": batch("loss"),
    "loss_group_token_mean": batch("loss", agg="group_token_mean"),
    "per_group": per_group,
    "loss_count_empty": batch("loss"),
    "loss_exclude_empty": batch("loss", divisor_of="nonempty"),
    "grad_per_token_short": first("gradient", 0),
    "grad_per_token_long": first("gradient", 1),
    "grad_per_token_dr_grpo_L8": firsts("gradient", agg="seq-mean-token-sum-norm", max_length=8),
    "grad_per_token_token_mean": firsts("gradient", agg="token-mean"),
}  # fmt: skip
"""How each expected figure is read."""


# Cases that are not a whole loss: their figures, each from columns or a recipe of ours.


def estimators(case: Case) -> dict[str, Any]:
    """The KL estimators of each token, as they are and with the clamps of the options."""
    free = gc.work(table(case.given), gc.recipe("grpo"))
    held = case.work()
    return {
        **{name: free[name].tolist() for name in ("k1", "k2", "k3")},
        "mean_k1": gc.work(free.table, gc.recipe("grpo", kl="k1"))["kl_token_mean"],
        "mean_k3": free["kl_token_mean"],
        "k3_clamped": held["token_kl"].tolist(),
        "worst_token": int(np.argmax(free["k3"])),
        "float32_overflows": bool(np.isinf(_quiet_exp(-free["k1"].astype(np.float32))).any()),
        "float64_overflows": not bool(np.isfinite(free["k3"]).all()),
    }


def _quiet_exp(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.exp(x)


def kl_gradient(case: Case, **changes: Any) -> dict[str, Any]:
    """A KL and its slope: the gradient of a token's loss where the advantage is 0 and beta is 1."""
    still = {**case.given, "advantage": [0.0] * len(case.given["logp_new"])}
    worked = case.work(still, beta=1, **changes)
    return {"value": worked["token_kl"].tolist(), "grad": worked["token_gradient"].tolist()}


def small(case: Case) -> dict[str, Any]:
    """k3 near 0, by its column: delta = ref - new = -k1."""
    delta = np.array(case.given["delta"])
    value = kl.k3(-delta, kl.base_ratio(-delta))
    return {"k3": value.tolist(), "never_negative": bool((value >= 0).all())}


def mean_size(first: list[float], second: list[float]) -> float:
    """The mean absolute difference of two sequences of log-probs."""
    built = gc.Table.from_arrays(logp_old=[first], logp_sampler=[second])
    return float(gc.work(built)["mismatch_mean_size"])


def shifted(case: Case) -> dict[str, Any]:
    """By how many places one side must move for the two to agree; no column holds a move, the difference is ours."""
    new, old = case.given["logp_new"][0], case.given["logp_old"][0]
    sizes = {
        0: mean_size(new, old),
        1: mean_size(new[1:], old[:-1]),
        -1: mean_size(new[:-1], old[1:]),
    }
    best = min(sizes, key=lambda shift: sizes[shift])
    return {"mean_abs_diff_shift0": sizes[0], "best_shift": best, "mean_abs_diff_best": sizes[best]}


def checked(case: Case) -> dict[str, Any]:
    """Which log-probs cannot be: a sentinel is refused by its place, one above 0 is noted."""
    given = {key: [list(row) for row in value] for key, value in case.given.items()}
    width = len(given["logp_new"][0])
    mask = [[1] * width for _ in given["logp_new"]]
    with pytest.raises(gc.Problem) as refusal:
        gc.Table.from_arrays(**given, mask=mask)
    assert refusal.value.key == "table.sentinel"
    sentinel = divmod(refusal.value.values["row"] - 1, width)
    mask[sentinel[0]][sentinel[1]] = 0
    built = gc.Table.from_arrays(**given, mask=mask)
    (positive,) = {each.values["count"] for each in built.notes if each.key == "note.positive_logp"}
    assert positive == 1
    above = divmod(int(built.row[np.argmax(built.tokens["logp_new"])]) - 1, width)
    return {
        "invalid": [list(above), list(sentinel)],
        "reason": ["logprob > 0", f"sentinel {refusal.value.values['seen']:.0f}"],
        "valid_token_count": built.token_count - positive,
    }


def divided(case: Case) -> dict[str, Any]:
    """A sum of token losses over what it should be divided by; micro-batches of equal weight, averaged."""
    if "micro_losses" in case.given:
        losses = case.given["micro_losses"]
        built = {"advantage": [-x for x in losses], "logp_new": [[-0.5]] * len(losses)}
        return {"loss": case.work(built, beta=0).loss, "wrong loss": case.work(built, beta=0, agg="token-sum").loss}
    given = case.given
    window = {"advantage": [-1.0], "logp_new": [[-0.5] * int(given["sum_token_loss_in_window"])]}
    tokens, factor = (
        given["tokens_in_generation_batch"],
        given["steps_per_generation"] / given["gradient_accumulation_steps"],
    )
    return {
        "loss": case.work(window, beta=0, reduction="given_divisor", divisor=tokens / factor).loss,
        "wrong loss": case.work(window, beta=0, reduction="given_divisor", divisor=tokens).loss,
        "factor": factor,
    }


def nucleus(case: Case) -> dict[str, Any]:
    """An engine's log-probs are of the nucleus: the mass is the case's own, what it does to weights is ours."""
    prob = sorted(case.given["prob"], reverse=True)
    kept = float(next(mass for mass in np.cumsum(prob) if mass >= case.given["top_p"] - 1e-12))
    full = float(np.log(case.given["prob"][case.given["token"]]))
    engine = full - float(np.log(kept))
    length = case.given["length"]
    built = gc.Table.from_arrays(logp_old=[[full] * length], logp_sampler=[[engine] * length])
    worked = gc.work(built)
    return {
        "kept_mass": kept,
        "logp_full": full,
        "logp_engine": engine,
        "bias_per_token": float(-worked["log_mismatch"][0]),
        f"seq_ratio_bias_{length}_tokens": float(np.exp(worked["log_mismatch_sum"][0])),
    }


def corrected(case: Case) -> dict[str, Any]:
    """The correction's weight at each level, and what a cap makes of it."""

    def weight(sampler: str) -> float:
        recipe = gc.recipe("grpo", sampler=sampler, sampler_cap=case.given["cap"])
        return float(gc.work(table(case.given), recipe)["sampler_weight"][0])

    return {
        "token_weight": weight("token"),
        "seq_weight": weight("sequence"),
        "geo_mean_weight": weight("mean_truncate"),
        "sequence_mask_weight": weight("sequence_mask"),
        "sequence_truncate_weight": weight("sequence_truncate"),
        "token_truncate_weight": weight("token_truncate"),
    }


def mismatched(case: Case) -> dict[str, Any]:
    """How far trainer and engine are apart."""
    worked = gc.work(table(case.given))
    return {
        "per_token": worked["mismatch_factor"].tolist(),
        "token_mult_prob_error": worked["mismatch_mean_factor"],
        "worst_token": int(np.argmax(worked["mismatch_factor"])),
        "k3_gen_train": worked["mismatch_mean_k3"],
        "mean_abs": worked["mismatch_mean_size"],
        "max_abs": worked["mismatch_largest"],
        "wrong signed_mean": float(np.mean(worked["log_mismatch"])),
    }


def too_long(case: Case) -> dict[str, Any]:
    """The overlong penalty by its column, and taken together with a reward."""
    length, most, cache = np.array(case.given["length"], dtype=float), case.given["L_max"], case.given["L_cache"]
    penalty = overlong.overlong_penalty(length, most, cache)
    rows = [[-0.5] * int(n) for n in length]
    built = gc.Table.from_arrays(reward=[1.0] * len(rows), logp_new=rows, logp_old=rows)
    worked = gc.work(built, gc.recipe("grpo", beta=0, L_max=most, L_cache=cache))
    np.testing.assert_allclose(worked["reward"], 1 + penalty)
    started = overlong.overlong_penalty(length, most, most - cache)
    return {"penalty": penalty.tolist(), "wrong penalty_from_L_cache": started.tolist()}


KINDS: Mapping[str, Callable[[Case], dict[str, Any]]] = {
    "kl_estimators": estimators,
    "kl_gradient": kl_gradient,
    "k3_small": small,
    "shift_check": shifted,
    "validate": checked,
    "scale": divided,
    "top_p": nucleus,
    "is_correction": corrected,
    "mismatch": mismatched,
    "overlong": too_long,
}


@pytest.mark.parametrize("case", [Case(case) for case in CASES], ids=lambda case: case.id)
def test_reported(case: Case) -> None:
    figures = KINDS[case.kind](case) if case.kind else {}
    assert case.expected
    for key, expected in case.expected.items():
        found = figures[key] if case.kind else READ[key](case)
        assert agrees(found, expected, **case.tolerance), f"{key}: {found}, expected {expected}"


# How the reporters' figures came about, each made again with a recipe or a table of ours.


def averaged(case: Case) -> float:
    """The mean of micro-batches' own token means."""
    parts = [
        {key: [case.given[key][i] for i in rows] for key in ("advantage", "logp_new")}
        for rows in case.given["micro_batches"]
    ]
    return float(np.mean([case.work(part).loss for part in parts]))


def packed(case: Case) -> float:
    """Each pack averaged as if it were one answer."""
    joined: dict[str, list[list[float]]] = {"logp_new": [], "advantage": []}
    for rows in case.given["packs"]:
        joined["logp_new"].append([x for i in rows for x in case.given["logp_new"][i]])
        joined["advantage"].append([case.given["advantage"][i] for i in rows for _ in case.given["logp_new"][i]])
    return case.work(joined).loss


def along_tokens(case: Case) -> list[Any]:
    """An advantage an answer, laid along the tokens."""
    rows = [case.given["advantage"]] * len(case.given["advantage"])
    return tokens(case.work({**case.given, "advantage": rows}), "surrogate")


def twice(case: Case) -> list[float]:
    """Advantages of each group, normalised over the batch as if they were rewards."""
    return completions(case.work({"reward": completions(case.worked, "advantage")}, adv_eps=0), "advantage")


def unmasked(case: Case) -> float:
    return case.work(case.without("mask")).loss


MADE: Mapping[tuple[str, str], Callable[[Case], Any]] = {
    ("A05", "loss_with_full_mask"): unmasked,
    ("B03", "verl_convention"): per_completion("advantage", singleton="raw", lone_scale=1 + 1e-6),
    ("B08", "variance_clamped"): per_completion("advantage", std_eps="at_least", adv_eps=1e-3),
    ("B11", "batch_normalised"): lambda case: completions(case.work(case.without("group_id")), "advantage"),
    ("B12", "normalised_twice"): twice,
    ("E03", "loss_with_max"): batch("loss", objective="clipped"),
    ("F01", "loss"): batch("loss", ratio_level="product"),
    ("G02", "mean"): lambda case: -estimators(case)["mean_k1"],
    ("G06", "grad"): lambda case: kl_gradient(case, kl_gradient="own")["grad"],
    ("G08", "advantage"): per_completion("advantage", kl_coef=0),
    ("H01", "loss_pads_counted"): unmasked,
    ("H08", "loss"): unmasked,
    ("H09", "surr"): along_tokens,
    ("I02", "mean_of_micro_means"): averaged,
    ("I03", "loss"): batch("loss", accumulation="steps", accumulated_steps=4),
    ("I04", "loss"): lambda case: divided(case)["wrong loss"],
    ("I09", "loss"): batch("loss", reduction="given_divisor", divisor=20),
    ("I13", "loss"): packed,
    ("I15", "loss"): lambda case: divided(case)["wrong loss"],
    ("J06", "signed_mean"): lambda case: mismatched(case)["wrong signed_mean"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("case", "key"), [(Case(case), key) for case in CASES for key in case["wrong"]], ids=lambda x: getattr(x, "id", x)
)
def test_what_the_reporter_had_is_another_number(case: Case, key: str) -> None:
    wrong = case.wrong[key]
    if (case.id, key) in MADE:
        assert agrees(MADE[case.id, key](case), wrong, **case.tolerance)
    if key in case.expected and key != "outside_interval_frac":  # it is right, and not the fraction that was clipped
        assert not agrees(case.expected[key], wrong, **case.tolerance)


def test_what_is_made_again_is_in_the_cases() -> None:
    assert MADE.keys() <= {(case["id"], key) for case in CASES for key in case["wrong"]}


@pytest.mark.parametrize("case", [Case(case) for case in CASES], ids=lambda case: case.id)
def test_options_are_taken_as_text_too(case: Case) -> None:
    """What ``--set`` gives is text."""
    texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in case.options.items()}
    assert gc.recipe("grpo", **texts) == gc.recipe("grpo", **case.options)


@pytest.mark.parametrize("case", [Case(case) for case in CASES], ids=lambda case: case.id)
def test_the_order_of_options_means_nothing(case: Case) -> None:
    backwards = dict(reversed(case.options.items()))
    assert gc.recipe("grpo", **backwards) == gc.recipe("grpo", **case.options)


# What our output says of a trouble, where the reporter's trainer said nothing.
SAID = {
    "B03": "note.one_member",
    "B05": "note.zero_spread",
    "B10": "note.others_alike",
    "D02": "note.regrouped",
    "F05": "note.clamped",
    "H06": "note.clamped",
    "H01": "note.masked",
    "I03": "note.whole_batch",
    "I11": "note.empty_completions",
}


@pytest.mark.parametrize("name", SAID)
def test_the_result_says_so(name: str) -> None:
    case = next(Case(case) for case in CASES if case["id"] == name)
    assert SAID[name] in case.notes()


def test_without_a_clamp_an_overflow_is_said() -> None:
    case = next(Case(case) for case in CASES if case["id"] == "F05")
    worked = case.work(ratio="token")
    assert np.isnan(worked["ratio"]).all()
    assert "note.undefined" in {each.key for each in worked.notes}
