"""A long CSV to figures: ``gc.read`` and ``gc.work`` against pandas ``read_csv`` and ``groupby``, with peak memory.

python benchmarks/figures.py [ROWS]      (default 1e6)
"""

import sys
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import made
import numpy as np
from measure import case, goal, installed, run, show

EPS, BETA, ADV_EPS = 0.2, 0.04, 1e-4
HEAD = "group_id,completion_id,reward,logp_new,logp_old,logp_ref"


def write(path: Path, rows: int) -> None:
    """The made batch as a long CSV, completion by completion."""
    columns, sizes, rewards = made.batch(rows)
    ends = np.cumsum(sizes)
    with path.open("w", encoding="utf-8") as file:
        file.write(HEAD + "\n")
        for place, (end, size, reward) in enumerate(zip(ends, sizes, rewards, strict=True)):
            start = f"{place // made.GROUP},{place},{reward:g},"
            part = slice(end - size, end)
            values = zip(*(columns[name][part] for name in ("logp_new", "logp_old", "logp_ref")), strict=True)
            file.writelines(f"{start}{new:.6f},{old:.6f},{ref:.6f}\n" for new, old, ref in values)


def ours(path: str) -> Callable[[], object]:
    def work() -> float:
        import grpo_calc as gc

        return gc.work(gc.read(path), gc.recipe("grpo")).loss

    return work


def loadtxt(path: str) -> Callable[[], object]:
    """The floor of a NumPy reader: the numbers alone, in parts of 100,000 rows; nothing is checked, nothing kept."""
    kind = np.dtype([(name, "i8" if name.endswith("_id") else "f8") for name in HEAD.split(",")])

    def work() -> float:
        total, lines = 0.0, 100_000
        with Path(path).open(encoding="utf-8") as file:
            next(file)
            while part := list(islice(file, lines)):
                total += np.loadtxt(part, kind, delimiter=",", comments=None, ndmin=1)["logp_new"].sum()
        return total

    return work


def pandas(path: str) -> Callable[[], object] | None:
    """The figures as one writes them with pandas: transform the rewards, NumPy for the tokens, group for the means."""
    if not installed("pandas"):
        return None

    def work() -> float:
        import pandas as pd

        frame = pd.read_csv(path)
        answers = frame.groupby("completion_id", sort=False).agg(
            group=("group_id", "first"), reward=("reward", "first")
        )
        groups = answers.groupby("group")["reward"]
        centred = answers["reward"] - groups.transform("mean")
        advantage = frame["completion_id"].map(centred / (groups.transform("std") + ADV_EPS)).to_numpy()
        ratio = np.exp(frame["logp_new"].to_numpy() - frame["logp_old"].to_numpy())
        objective = np.minimum(ratio * advantage, np.clip(ratio, 1 - EPS, 1 + EPS) * advantage)
        k1 = frame["logp_new"].to_numpy() - frame["logp_ref"].to_numpy()
        frame["loss"] = -objective + BETA * (np.exp(-k1) + k1 - 1)
        return float(frame.groupby("completion_id", sort=False)["loss"].mean().mean())

    return work


CASES = {"ours": ours, "loadtxt": loadtxt, "pandas": pandas}


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tokens.csv")
        write(path, rows)
        print(f"ours {ours(str(path))()!r}, pandas {(pandas(str(path)) or float)()!r}: the same loss, or a bug")
        found = run(__file__, list(CASES), path, repeats=3)
        size = path.stat().st_size
    mine = found["ours"]
    table = [
        [name, f"{first:.2f}", f"{seconds:.2f}", f"{rows / seconds / 1e6:.2f}", first / mine.first, f"{extra:.0f}"]
        for name, (seconds, first, extra) in found.items()
    ]
    head = ["reader", "script s", "again s", "Mrow/s again", "script, x ours", "extra MB"]
    show(f"{rows:,} rows, {size / 2**20:.0f} MB", head, table)
    speed = found["loadtxt"].seconds / mine.seconds
    print(f"  {speed:.2f}x the speed of chunked loadtxt, goal {goal(speed, 0.9, least=True)}")
    print(f"  extra memory {mine.extra_mb:.0f} MB, goal {goal(mine.extra_mb, 64)}")
    if "pandas" in found:
        share = mine.first / found["pandas"].first
        print(f"  script {share:.2f}x the time of pandas, goal {goal(share, 1)}")


if __name__ == "__main__":
    if "--case" in sys.argv:
        case(CASES)
    else:
        main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6)
