"""Worked examples that are public: books, courses, documentation and the tests of trainers.

``EXAMPLES`` works each one with columns and recipes of ours. Where a source made a mistake, the figure here is the
right one and what the source prints must differ: the test's name and its failure say so in the words of the case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import grpo_calc as gc
from grpo_calc.columns import to_go
from grpo_calc.over import Segments
from tests.cases.batches import agrees, cases, completions, table, tokens

CASES = cases("worked_examples")
SINGLE = ("W28", "W40", "W58")
"""Examples whose right values were worked in single precision, or from inputs with more digits than are printed."""

Inputs = Mapping[str, Any]
Figures = dict[str, Any]


def worked(inputs: Inputs, **options: Any) -> gc.Worked:
    """The input worked by ``grpo`` without KL, but for what the example says."""
    said = {
        key: inputs[key] for key in ("ddof", "adv_eps", "eps", "eps_low", "eps_high", "dual_clip_c") if key in inputs
    }
    kl = {} if "beta" in options else {"beta": 0}
    return gc.work(table(inputs), gc.recipe("grpo", **said, **kl, **options))


def column(inputs: Inputs, name: str, **options: Any) -> list[float]:
    """A column with one value a completion."""
    return completions(worked(inputs, **options), name)


def only(inputs: Inputs, name: str, **options: Any) -> float:
    """The value of the only group, or of the first completion."""
    return float(worked(inputs, **options)[name][0])


def negative(result: gc.Worked, name: str = "weighted_objective") -> list[Any]:
    """Minus a token's objective: what trainers call its policy loss."""
    return [[-x for x in row] for row in tokens(result, name)]


def from_probabilities(inputs: Inputs) -> Inputs:
    """Log-probs of one answer's tokens, from probabilities."""
    new, old = (np.log(np.atleast_1d(inputs[name])).tolist() for name in ("p_new", "p_old"))
    return {**inputs, "logp_new": [new], "logp_old": [old], "advantage": [1.0]}


def from_ratios(inputs: Inputs) -> Inputs:
    """Log-probs of one-token answers that have the ratios of the input, and its new log-probs where it has them."""
    new = np.array(inputs.get("logp_new", [-3.0] * len(inputs["ratio"])))
    old = new - np.log(inputs["ratio"])
    return {**inputs, "logp_new": new.reshape(-1, 1).tolist(), "logp_old": old.reshape(-1, 1).tolist()}


def on_policy(lengths: list[int], advantage: Any) -> Inputs:
    """A batch of ratio 1 everywhere."""
    return {"advantage": advantage, "logp_new": [[-0.5] * n for n in lengths]}


def of_losses(inputs: Inputs) -> Inputs:
    """A batch whose tokens have given losses: ratio 1 and the advantage of each token minus its loss."""
    rows = inputs["loss"]
    return {**inputs, **on_policy([len(row) for row in rows], [[-x for x in row] for row in rows])}


def std_and_advantage(inputs: Inputs) -> Figures:
    std = worked(inputs)["group_std"].tolist()
    return {"std": std if len(std) > 1 else std[0], "advantage": column(inputs, "advantage")}


def advantage(**options: Any) -> Callable[[Inputs], Figures]:
    return lambda inputs: {"advantage": column(inputs, "advantage", **options)}


def ratio_and_clip(inputs: Inputs) -> Figures:
    result = worked(from_probabilities(inputs))
    return {"ratio": result["ratio"].tolist(), "clipped_ratio": result["clipped_ratio"].tolist()}


def aggregations(inputs: Inputs) -> Figures:
    given = of_losses(inputs)
    mean = worked(given)
    return {
        "seq_means": mean["completion_loss"].tolist(),
        "seq_mean": mean.loss,
        "token_mean": worked(given, agg="token-mean").loss,
        "fixed": column(given, "completion_loss", agg="seq-mean-token-sum-norm", max_length=inputs["L_max"]),
    }


def token_mean(inputs: Inputs) -> Figures:
    given = on_policy(inputs["lengths"], [inputs["advantage"]] * len(inputs["lengths"]))
    result = worked(given, agg="token-mean")
    return {"token_mean": result["objective"], "grad": float(-result["gradient"][0])}


def summed_log_probs(inputs: Inputs) -> Figures:
    given = {**inputs, "logp_new": [[x] for x in inputs["logp_sum"]]}
    result = worked(given, objective="policy_gradient")
    return {"advantage": completions(result, "advantage"), "loss": result.loss}


def spread_of_advantages(inputs: Inputs) -> Figures:
    return {"adv_std": worked(inputs, whiten="batch")["advantage_std"]}


def objective_with_full_kl(inputs: Inputs) -> Figures:
    """The KL over a whole distribution is a sum of p k1; the source makes one of the answers' probabilities."""
    found = []
    for ratio, advantage, old, ref, eps, beta in inputs["cases"]:
        surrogate = gc.clipped_objective(np.array(ratio), np.array(advantage, dtype=float), eps, eps)
        new = np.array(ratio) * old
        p, q = new / new.sum(), np.array(ref) / np.sum(ref)
        built = gc.Table.from_arrays(logp_new=[np.log(p).tolist()], logp_ref=[np.log(q).tolist()]).on_policy()
        found.append(float(surrogate.mean() - beta * (p * gc.work(built)["k1"]).sum()))
    return {"objective": found}


def first_of_loo(inputs: Inputs) -> Figures:
    return {"first": column(inputs, "advantage", adv="loo")[0]}


def packed(inputs: Inputs) -> Figures:
    each = worked(on_policy(inputs["lengths"], inputs["advantage"]))
    joined = [a for a, n in zip(inputs["advantage"], inputs["lengths"], strict=True) for _ in range(n)]
    return {"loss": each.loss, "broken_loss": worked(on_policy([len(joined)], [joined])).loss}


def whitened(inputs: Inputs) -> Figures:
    given = {"reward": inputs["value"], "logp_new": [[-0.5]] * len(inputs["value"])}
    return {"advantage": column(given, "advantage", adv="none", whiten="tokens", whiten_eps=0, length_eps=0)}


def low_and_high(inputs: Inputs) -> Figures:
    found = column(inputs, "advantage", adv_eps=0)
    return {"low": min(found), "high": max(found)}


def tokens_and_product(inputs: Inputs) -> Figures:
    given = from_probabilities(inputs)
    product = worked(given, ratio_level="product")
    return {
        "ratio": worked(given)["ratio"].tolist(),
        "product": float(product["ratio"][0]),
        "clipped": float(product["clipped_ratio"][0]),
    }


def both_stds(inputs: Inputs) -> Figures:
    return {"std1": only(inputs, "group_std", ddof=1), "std0": only(inputs, "group_std", ddof=0)}


def population(inputs: Inputs) -> Figures:
    return {
        "std": only(inputs, "group_std", ddof=0),
        "advantage_right": only(inputs, "advantage", ddof=0, adv_eps=0),
    }


def virtual_best(inputs: Inputs) -> Figures:
    more = {**inputs, "reward": [*inputs["reward"], inputs["virtual_reward"]]}
    return {
        "grpo": column(inputs, "advantage", adv_eps=0)[:2],
        "ngrpo": column(more, "advantage", adv_eps=0)[:2],
    }


def course_tests(inputs: Inputs) -> Figures:
    whole = {key: value for key, value in inputs.items() if key != "mask"}
    steps = worked(inputs, eps=0.1, accumulation="steps", accumulated_steps=inputs["grad_accum"])
    assert "note.positive_logp" in {each.key for each in steps.notes}
    return {
        "loss_eps_0_1": tokens(worked(whole, eps=0.1), "token_loss"),
        "loss_eps_10": tokens(worked(whole, eps=10), "token_loss"),
        "reinforce": tokens(worked(whole, objective="policy_gradient"), "token_loss"),
        "micro_loss": steps.loss,
        "grad": [[0.0 if x is None else x for x in row] for row in tokens(steps, "gradient")],
    }


def clipped_tokens(inputs: Inputs) -> Figures:
    result = worked(inputs)
    return {"ratio": result["ratio"].tolist(), "pg": negative(result)[0], "loss": result.loss}


def kl_of_tokens(inputs: Inputs) -> Figures:
    result = worked({**inputs, "advantage": [0.0]}, beta=inputs["beta"])
    return {"kl": result["k3"].tolist(), "mean": result["kl"], "loss": result.loss}


def importance_weight(inputs: Inputs) -> Figures:
    result = worked(inputs, sampler="token")
    return {"is_weight": result["sampler_weight"].tolist(), "pg": negative(result)[0], "loss": result.loss}


def ice_pop(inputs: Inputs) -> Figures:
    given = {**inputs, "logp_new": inputs["logp_old"]}
    result = worked(given, sampler="token_mask", sampler_floor=0.5, sampler_cap=5)
    return {
        "is_weight": result["mismatch"].tolist(),
        "filtered": result["sampler_weight"].tolist(),
        "loss": result.loss,
    }


def dual_clip(inputs: Inputs) -> Figures:
    result = worked(inputs)
    return {
        "ratio": result["ratio"].tolist(),
        "pg": negative(result)[0],
        "mean": result.loss,
        "sum": worked(inputs, agg="token-sum").loss,
    }


def sequence_ratio(inputs: Inputs) -> Figures:
    result = worked(inputs, ratio_level="sequence")
    return {"ratio": result["ratio"].tolist(), "pg": negative(result), "loss": result.loss}


def single_pass(inputs: Inputs) -> Figures:
    """Ours leaves out a spread that is rounding; the source's std is E[x^2] - E[x]^2 in single precision."""
    result = worked(inputs, adv="loo", divide_by="loo_std", adv_eps=1e-6)
    assert completions(result, "advantage")[0] == pytest.approx(-0.95)
    rest = np.array(inputs["reward"][1:], dtype=np.float32)
    n = np.float32(len(rest))
    variance = ((rest**2).sum() / n - (rest.sum() / n) ** 2) * n / (n - 1)
    std = float(np.sqrt(variance))
    return {
        "true_rest_std": float(result["leave_one_out_std"][0]),
        "printed_std": std,
        "printed_advantage": float((inputs["reward"][0] - rest.mean()) / (std + 1e-6)),
    }


def dual_clip_of_ratios(inputs: Inputs) -> Figures:
    return {"pg": negative(worked(from_ratios(inputs)))}


def cispo_weight(inputs: Inputs) -> Figures:
    result = worked(from_ratios(inputs), objective="cispo")
    assert result["clipped"].tolist() == [0.0, 0.0, 1.0, 0.0]  # whatever the sign of A
    return {
        "clamped": result["cispo_weight"].tolist(),
        "pg": negative(result),
        "grad": result["token_gradient"].tolist(),
    }


def cispo_by_hand(inputs: Inputs) -> Figures:
    result = worked(inputs, objective="cispo", agg="token-sum")
    return {"pg": negative(result)[0], "sum": result.loss}


def estimators(inputs: Inputs) -> Figures:
    given = {key: [inputs[key]] for key in ("logp_new", "logp_ref", "mask")}
    result = worked(given)
    shown = {name: tokens(result, name)[0] for name in ("k1", "k2", "k3")}
    return {name: [0.0 if x is None else x for x in row] for name, row in shown.items()}


def returns(inputs: Inputs) -> Figures:
    """A reward a token is not a table's: the column by itself, along one completion."""
    rewards = np.array(inputs["reward"], dtype=float)
    gap = np.array([1.0] * (len(rewards) - 1) + [0.0])
    along = Segments(np.array([0, len(rewards)]))

    def run(gamma: float) -> list[float]:
        return to_go.reward_to_go(rewards, to_go.carried_step(gap, gamma), along).tolist()

    return {"ret": run(1.0), "ret_half": run(0.5)}


def soft_gate(inputs: Inputs) -> Figures:
    given = from_ratios(inputs)
    result = worked(given, objective="sapo", tau_pos=inputs["tau_pos"], tau_neg=inputs["tau_neg"])
    return {"ratio": result["ratio"].tolist(), "pg": negative(result)}


def over_ranks(inputs: Inputs) -> Figures:
    """Ranks that divide by the tokens of all give the whole batch's mean; their own means do not."""
    given = of_losses(inputs)
    parts = [
        {key: given[key][rows] for key in ("advantage", "logp_new", "mask")} for rows in (slice(2), slice(2, None))
    ]
    assert np.mean([worked(part, agg="token-mean").loss for part in parts]) == pytest.approx(5.0)
    return {"rank_average": worked(given, agg="token-mean").loss}


def without_empty(inputs: Inputs) -> Figures:
    given = of_losses(inputs)
    assert worked(given).loss == pytest.approx(1.0)  # counted, as TRL does
    return {"loss": worked(given, divisor_of="nonempty").loss}


def off_policy(inputs: Inputs) -> Figures:
    result = worked(inputs, off_policy="against_sampler", off_policy_mask_threshold=inputs["delta"])
    return {"keep": completions(result, "on_policy_enough")}


def two_directions(inputs: Inputs) -> Figures:
    policy, sampler = [[inputs["logp_policy"]]], [[inputs["logp_sampler"]]]
    of_sampler = worked({"logp_old": policy, "logp_sampler": sampler})
    of_policy = worked({"logp_new": policy, "logp_ref": sampler})
    return {"gen_kl": float(of_sampler["mismatch_k3"][0]), "policy_kl": float(of_policy["k3"][0])}


def shares(inputs: Inputs) -> Figures:
    given = on_policy(inputs["lengths"], [1.0] * len(inputs["lengths"]))
    by_token, by_answer = worked(given, agg="token-mean"), worked(given)
    share = np.broadcast_to(by_token["share"], len(inputs["lengths"]))
    return {
        "token_level_share": (share * by_token["length"]).tolist(),
        "per_token_factor": float(by_answer["share"][0] / by_answer["share"][1]),
    }


def eps_added_or_clamped(inputs: Inputs) -> Figures:
    given = {"reward": [float(np.float32(x)) for x in inputs["reward"]]}
    return {
        "added": only(given, "advantage", adv_eps=1e-6),
        "clamped": only(given, "advantage", std_eps="at_least", adv_eps=1e-3),
    }


def totals(inputs: Inputs) -> Figures:
    """Two prompts whose totals differ have the same advantages, unless each reward is normalised by itself."""
    rewards = [float(x) for pair in inputs["totals"] for x in pair]
    given = {"group_id": ["a", "a", "b", "b"], "reward": rewards}
    return {"grpo": column(given, "advantage", adv_eps=0)}


def one_ratio(inputs: Inputs) -> Figures:
    given = from_probabilities(inputs)
    result = worked(given)
    kept = worked({**given, "advantage": [-1.0]})["token_objective"]
    assert kept.tolist() == pytest.approx([-90.0])  # for A < 0 the min keeps the unclipped side
    return {"ratio": float(result["ratio"][0]), "clipped": float(result["clipped_ratio"][0])}


EXAMPLES: Mapping[str, Callable[[Inputs], Figures]] = {
    "W01": std_and_advantage,
    "W02": std_and_advantage,
    "W03": ratio_and_clip,
    "W04": aggregations,
    "W06": token_mean,
    "W07": summed_log_probs,
    "W09": spread_of_advantages,
    "W10": objective_with_full_kl,
    "W11": advantage(),
    "W12": advantage(scale_rewards="group"),
    "W13": first_of_loo,
    "W14": advantage(adv="loo"),
    "W16": packed,
    "W17": whitened,
    "W19": low_and_high,
    "W20": tokens_and_product,
    "W22": advantage(adv_eps=0),
    "W23": both_stds,
    "W25": population,
    "W26": virtual_best,
    "W28": course_tests,
    "W29": clipped_tokens,
    "W31": kl_of_tokens,
    "W32": importance_weight,
    "W34": ice_pop,
    "W35": dual_clip,
    "W37": sequence_ratio,
    "W38": lambda inputs: {"baseline": column(inputs, "baseline", adv="loo")},
    "W40": single_pass,
    "W41": dual_clip_of_ratios,
    "W42b": cispo_weight,
    "W43": cispo_by_hand,
    "W45": advantage(adv="maxrl", adv_eps=0),
    "W46": estimators,
    "W48": returns,
    "W49": soft_gate,
    "W51": over_ranks,
    "W52": without_empty,
    "W54": off_policy,
    "W55": two_directions,
    "W57": shares,
    "W58": eps_added_or_clamped,
    "W60": totals,
    "W61": one_ratio,
}


def title(case: Mapping[str, Any]) -> str:
    """What a test is called: the case, and that its source is mistaken."""
    return f"{case['id']}-{case['verdict']}"


def test_every_example_is_worked() -> None:
    assert [case["id"] for case in CASES] == list(EXAMPLES)


@pytest.mark.parametrize("case", CASES, ids=title)
def test_worked_example(case: Mapping[str, Any]) -> None:
    """Ours is the right value; it is what the source prints, or the source's mistake is told in ``note``."""
    figures = EXAMPLES[case["id"]](case["inputs"])
    for key, right in case["computed"].items():
        near = case["tolerance"] if case["id"] in SINGLE else 1e-12
        assert agrees(figures[key], right, 1e-9, near), f"{key}: {figures[key]}, right is {right}"
    for key, printed in case["printed"].items():
        same = agrees(figures[key], printed, 0.0, case["tolerance"])
        assert same == case["matches"][key], f"{key}: the source prints {printed}; {case['verdict']}: {case['note']}"


@pytest.mark.parametrize("case", [case for case in CASES if case["verdict"] == "mistake_in_source"], ids=title)
def test_a_mistaken_source_says_another_number(case: Mapping[str, Any]) -> None:
    assert not all(case["matches"].values())
    assert case["note"]
