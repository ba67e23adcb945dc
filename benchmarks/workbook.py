"""The live workbook against openpyxl write-only with the same cells, and against pandas with ``to_excel``.

    python benchmarks/workbook.py [TOKENS] [--pandas]      (default 20,000)

openpyxl writes formulas without their values; ours have both. Its rows are read beforehand, which hides its memory.
``--pandas`` starts from a CSV, as a script of one's own does, and writes values only.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import figures
import made
from measure import case, goal, installed, run, show


def ours(folder: str, tokens: str) -> Callable[[], object]:
    import grpo_calc as gc

    worked = gc.work(made.table(int(tokens)), gc.recipe("grpo"))
    return lambda: gc.write_workbook(worked, Path(folder, "ours.xlsx"), live_rows=int(tokens), force=True)


def openpyxl(folder: str, _tokens: str) -> Callable[[], object]:
    """The cells of our workbook, read beforehand, written by openpyxl row by row."""
    from openpyxl import Workbook, load_workbook

    book = load_workbook(Path(folder, "ours.xlsx"), read_only=True)
    sheets = {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets}

    def work() -> None:
        written = Workbook(write_only=True)
        for title, rows in sheets.items():
            sheet = written.create_sheet(title)
            for row in rows:
                sheet.append(row)
        written.save(Path(folder, "openpyxl.xlsx"))

    return work


def ours_from_csv(folder: str, tokens: str) -> Callable[[], object]:
    def work() -> None:
        import grpo_calc as gc

        worked = gc.work(gc.read(Path(folder, "tokens.csv")), gc.recipe("grpo"))
        gc.write_workbook(worked, Path(folder, "ours.xlsx"), live_rows=int(tokens), force=True)

    return work


def pandas_from_csv(folder: str, _tokens: str) -> Callable[[], object] | None:
    """A script of one's own: read, transform, compute, write fourteen columns of values."""
    if not installed("pandas"):
        return None

    def work() -> None:
        import numpy as np
        import pandas as pd

        frame = pd.read_csv(Path(folder, "tokens.csv"))
        answers = frame.groupby("completion_id", sort=False).agg(
            group=("group_id", "first"), reward=("reward", "first")
        )
        groups = answers.groupby("group")["reward"]
        advantage = (answers["reward"] - groups.transform("mean")) / (groups.transform("std") + figures.ADV_EPS)
        frame["advantage"] = frame["completion_id"].map(advantage)
        frame["ratio"] = np.exp(frame["logp_new"] - frame["logp_old"])
        frame["clipped_ratio"] = frame["ratio"].clip(1 - figures.EPS, 1 + figures.EPS)
        frame["surrogate"] = frame["ratio"] * frame["advantage"]
        frame["clipped_surrogate"] = frame["clipped_ratio"] * frame["advantage"]
        frame["token_objective"] = frame[["surrogate", "clipped_surrogate"]].min(axis=1)
        frame["k3"] = np.exp(frame["logp_ref"] - frame["logp_new"]) + frame["logp_new"] - frame["logp_ref"] - 1
        frame["token_loss"] = -frame["token_objective"] + figures.BETA * frame["k3"]
        frame.to_excel(Path(folder, "pandas.xlsx"), index=False)

    return work


CASES = {f.__name__: f for f in (ours, openpyxl, ours_from_csv, pandas_from_csv)}


def main(tokens: int, *, with_pandas: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ours(folder, str(tokens))()
        found = run(__file__, ["ours", "openpyxl"], folder, tokens)
        if with_pandas:
            figures.write(Path(folder, "tokens.csv"), tokens)
            found |= run(__file__, ["ours_from_csv", "pandas_from_csv"], folder, tokens, repeats=1)
        megabytes = Path(folder, "ours.xlsx").stat().st_size / 2**20
    rows = [
        [
            name,
            f"{s:.2f}",
            f"{tokens / s:,.0f}",
            s / found["ours"].seconds,
            "-" if name == "openpyxl" else f"{extra:.0f}",
        ]
        for name, (s, _, extra) in found.items()
    ]
    show(f"{tokens:,} tokens, {megabytes:.1f} MB", ["writer", "s", "tokens/s", "x ours", "extra MB"], rows)
    faster = found["openpyxl"].seconds / found["ours"].seconds
    print(f"  {faster:.1f}x openpyxl write-only, goal {goal(faster, 5 if tokens <= 20_000 else 7, least=True)}")
    print(f"  extra memory {found['ours'].extra_mb:.0f} MB, goal {goal(found['ours'].extra_mb, 40)}")
    if "pandas_from_csv" in found:
        mine, theirs = found["ours_from_csv"], found["pandas_from_csv"]
        faster, share = theirs.seconds / mine.seconds, mine.extra_mb / theirs.extra_mb
        print(f"  CSV to workbook {faster:.1f}x pandas and to_excel, goal {goal(faster, 12, least=True)}")
        print(f"  CSV to workbook takes {share:.3f} of its memory, goal {goal(share, 0.125)}")


if __name__ == "__main__":
    if "--case" in sys.argv:
        case(CASES, times=1)
    else:
        numbers = [int(float(word)) for word in sys.argv[1:] if word[0].isdigit()]
        main(numbers[0] if numbers else 20_000, with_pandas="--pandas" in sys.argv)
