"""Tokens in memory: loss, loss and gradient, nine columns stored, against exp() alone and torch eager; one thread.

    python benchmarks/tokens.py [TOKENS ...] [--avx2]      (default 1e6 and 1e7)

Time is over ``numpy.exp`` of one column into memory that is already there. Extra memory is beyond inputs and outputs.
The goals were set on a machine without AVX-512, whose ``exp`` took 9 ns a value. Where NumPy has AVX-512, its ``exp``
alone is five times as fast while everything else is not, so ``--avx2`` turns those loops off for every case.
"""

import os
import sys
from collections.abc import Callable

import made
import numpy as np
from measure import case, goal, installed, run, show

COLUMNS = (
    *("ratio", "clipped_ratio", "surrogate", "clipped_surrogate", "token_objective", "clipped", "k3", "token_loss"),
    "gradient",
)
EPS, BETA, ADV_EPS = 0.2, 0.04, 1e-4


def exp(tokens: str) -> Callable[[], object]:
    values = made.batch(int(tokens))[0]["logp_new"]
    out = np.ones_like(values)
    return lambda: np.exp(values, out=out)


def ours(tokens: str, *names: str) -> Callable[[], object]:
    import grpo_calc as gc

    table, recipe = made.table(int(tokens)), gc.recipe("grpo")
    return lambda: gc.work(table, recipe).columns(names)


def loss(tokens: str) -> Callable[[], object]:
    return ours(tokens, "loss")


def loss_and_gradient(tokens: str) -> Callable[[], object]:
    return ours(tokens, "loss", "gradient")


def nine_columns(tokens: str) -> Callable[[], object]:
    return ours(tokens, "loss", *COLUMNS)


def torch_eager(tokens: str) -> Callable[[], object] | None:
    """The same nine columns and the loss, as one writes them with flat torch tensors."""
    if not installed("torch"):
        return None
    import torch

    torch.set_num_threads(1)
    columns, sizes, rewards = made.batch(int(tokens))
    new, old, ref = (torch.from_numpy(columns[name]) for name in ("logp_new", "logp_old", "logp_ref"))
    counts, reward = torch.from_numpy(sizes), torch.from_numpy(rewards)
    completion = torch.repeat_interleave(torch.arange(len(counts)), counts)

    def work() -> list[torch.Tensor]:
        group = reward.reshape(-1, made.GROUP)
        centred = group - group.mean(1, keepdim=True)
        advantage = (centred / (group.std(1, keepdim=True) + ADV_EPS)).reshape(-1)[completion]
        ratio = torch.exp(new - old)
        clipped_ratio = torch.clamp(ratio, 1 - EPS, 1 + EPS)
        surrogate, clipped_surrogate = ratio * advantage, clipped_ratio * advantage
        objective = torch.minimum(surrogate, clipped_surrogate)
        clipped = (surrogate - clipped_surrogate > 1e-12).double()
        k1 = new - ref
        inverse = torch.exp(-k1)
        k3 = inverse + k1 - 1
        token_loss = -objective + BETA * k3
        sums = torch.zeros(len(counts), dtype=torch.float64).index_add_(0, completion, token_loss)
        share = (1 / (counts * len(counts)).double())[completion]
        gradient = share * (-surrogate * (1 - clipped) + BETA * (1 - inverse))
        loss = (sums / counts).mean()
        return [ratio, clipped_ratio, surrogate, clipped_surrogate, objective, clipped, k3, token_loss, gradient, loss]

    return work


CASES = {f.__name__: f for f in (exp, loss, loss_and_gradient, nine_columns, torch_eager)}
STORED = {"loss_and_gradient": 1, "nine_columns": len(COLUMNS), "torch_eager": len(COLUMNS)}
LIMITS = {"loss": 4.0, "loss_and_gradient": 5.0, "nine_columns": 9.0}


def main(sizes: list[int]) -> None:
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for tokens in sizes:
        found = run(__file__, list(CASES), tokens)
        rows = []
        for name, (seconds, _, taken) in found.items():
            times[name].append(seconds / tokens)
            ratio = seconds / found["exp"].seconds
            extra = max(taken - STORED.get(name, 0) * tokens * 8 / 2**20, 0.0)
            wanted = goal(ratio, LIMITS[name]) if name in LIMITS else ""
            rows.append([name, f"{seconds * 1000:.0f}", f"{tokens / seconds / 1e6:.1f}", ratio, wanted, f"{extra:.0f}"])
        show(f"{tokens:,} tokens", ["work", "ms", "Mtok/s", "x exp()", "goal", "extra MB"], rows)
        most = max(float(row[-1]) for row in rows if row[0] in LIMITS)
        print(f"  extra memory {most:.0f} MB, goal {goal(most, 32)}")
        if "torch_eager" in found:
            faster = found["torch_eager"].seconds / found["nine_columns"].seconds
            print(f"  nine columns {faster:.1f}x as fast as torch eager, goal {goal(faster, 3, least=True)}")
    if len(sizes) > 1:
        for name in LIMITS:
            growth = times[name][-1] / times[name][0] * 10
            print(f"  {name}: ten times the tokens take {growth:.1f}x the time, goal {goal(growth, 13)}")


if __name__ == "__main__":
    if "--case" in sys.argv:
        case(CASES)
    else:
        if "--avx2" in sys.argv:
            os.environ["NPY_DISABLE_CPU_FEATURES"] = "X86_V4 AVX512_ICL AVX512_SPR"
        main([int(float(word)) for word in sys.argv[1:] if word[0].isdigit()] or [10**6, 10**7])
