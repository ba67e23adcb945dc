"""Time and memory, measured plainly: every case in a process of its own, one thread, medians, ratios within one run.

A case is a function of a benchmark script that returns the work to be timed. ``run`` starts Python on that script for
each case and repeat, in turns, so that a slow minute of the machine falls on every case alike. Time is processor time,
user and system, so that what else runs on the machine counts little.
"""

import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Measured(NamedTuple):
    """A case's time, its time at first (with what it imports), and the most memory it took beyond what was there."""

    seconds: float
    first: float
    extra_mb: float


def run(script: str, cases: Sequence[str], *arguments: object, repeats: int = 3) -> dict[str, Measured]:
    """Each case of a script, measured in turns. A case that reports nothing (a missing package) is left out."""
    results: dict[str, list[Measured]] = {case: [] for case in cases}
    for _ in range(repeats):
        for case in cases:
            command = [sys.executable, script, "--case", case, *map(str, arguments)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | ONE_THREAD)
            if done.stdout.strip():
                results[case].append(Measured(*json.loads(done.stdout.splitlines()[-1])))
    return {
        case: Measured(*(statistics.median(values) for values in zip(*found, strict=True)))
        for case, found in results.items()
        if found
    }


def case(functions: dict[str, Callable[..., Callable[[], object] | None]], times: int = 3) -> None:
    """In the started process: prepare the named case, do its work, print seconds, seconds at first, extra megabytes."""
    name, *arguments = sys.argv[sys.argv.index("--case") + 1 :]
    work = functions[name](*arguments)
    if work is None:
        return
    forget_peak()
    before = resident_mb()
    first = timed(work)
    extra = peak_mb() - before
    again = [timed(work) for _ in range(times - 1)]
    print(json.dumps([statistics.median(again or [first]), first, extra]))


def timed(work: Callable[[], object]) -> float:
    """The seconds of one call; its result is let go outside them."""
    start = time.process_time()
    result = work()
    seconds = time.process_time() - start
    del result
    return seconds


def forget_peak() -> None:
    """Let the peak count from now on, where the system can (Linux); elsewhere it counts from the process's start."""
    peak = Path("/proc/self/clear_refs")
    if peak.exists():
        peak.write_text("5")


def peak_mb() -> float:
    """The most memory this process has held, in MB (of 2^20 bytes)."""
    status = Path("/proc/self/status")
    if status.exists():
        return _status_mb(status, "VmHWM")
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def resident_mb() -> float:
    """The memory this process holds now, in MB; where that cannot be read, its peak so far."""
    status = Path("/proc/self/status")
    return _status_mb(status, "VmRSS") if status.exists() else peak_mb()


def _status_mb(status: Path, name: str) -> float:
    line = next(line for line in status.read_text().splitlines() if line.startswith(name + ":"))
    return int(line.split()[1]) / 2**10


def installed(name: str) -> bool:
    """Whether an optional package is here; says so if it is not."""
    found = importlib.util.find_spec(name) is not None
    if not found:
        print(f"{name} is not installed: left out", file=sys.stderr)
    return found


def goal(value: float, limit: float, *, least: bool = False) -> str:
    """A goal and whether the value meets it: the value must be at most the limit, or at least.

    >>> goal(3.5, 4), goal(3.5, 4, least=True)
    ('<= 4: met', '>= 4: missed by 12 %')
    """
    met = value >= limit if least else value <= limit
    sign = ">=" if least else "<="
    return f"{sign} {limit:g}: " + ("met" if met else f"missed by {abs(value / limit - 1):.0%}".replace("%", " %"))


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A small table on the terminal."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    for place, name in enumerate(head):
        table.add_column(name, justify="left" if place == 0 or name == "goal" else "right")
    for row in rows:
        table.add_row(*(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row))
    Console(width=110).print(table)
