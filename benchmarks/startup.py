"""Start-up: `grpo-calc --help` and `grpo-calc table` against bare apps on the same typer, NumPy and rich.

python benchmarks/startup.py [REPEATS]
"""

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import goal, show

# The least that a command line with as many commands can be.
BARE_HELP = """
import typer
app = typer.Typer()
for name in ("table", "sheet", "explain", "columns", "recipes", "lessons"):
    @app.command(name)
    def command(file: str = "", recipe: str = "", format: str = "table", lang: str = "en") -> None:
        "A command."
app()
"""

# The least that prints a table of six NumPy values: everything is imported inside the command.
BARE_TABLE = """
import typer
app = typer.Typer()
@app.callback()
def door() -> None: ...
@app.command()
def table(file: str = "") -> None:
    import numpy as np
    from rich.console import Console
    from rich.table import Table
    shown = Table(title="six tokens")
    values = np.exp(np.linspace(-0.01, 0.01, 6))
    for name in ("token", "ratio"):
        shown.add_column(name)
    for place, value in enumerate(values):
        shown.add_row(str(place), f"{value:.4f}")
    Console().print(shown)
app()
"""

GRPO_CALC = "from grpo_calc.cli import main; main()"


def main(repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("help.py", BARE_HELP), ("table.py", BARE_TABLE), ("ours.py", GRPO_CALC)):
            Path(folder, name).write_text(text)
        commands = {
            "bare --help": ["help.py", "--help"],
            "grpo-calc --help": ["ours.py", "--help"],
            "bare table": ["table.py", "table"],
            "grpo-calc table": ["ours.py", "table"],
            "import numpy": ["-c", "import numpy"],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(repeats):
            for name, command in commands.items():
                seconds[name].append(timed(command, folder))
        modules = {name: loaded(command, folder) for name, command in commands.items()}
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    rows = []
    for name, median in medians.items():
        bare = medians.get(name.replace("grpo-calc", "bare"), median)
        wanted = goal(median / bare, 1.15) if name.startswith("grpo-calc") else ""
        heavy = ", ".join(sorted({"numpy", "openpyxl", "pydantic", "rich"} & modules[name])) or "-"
        rows.append([name, f"{1000 * median:.0f}", median / bare, wanted, heavy])
    show(f"start-up, medians of {repeats}", ["program", "ms", "x bare", "goal", "imports"], rows)


def timed(command: list[str], folder: str) -> float:
    """The processor time of one run, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def loaded(command: list[str], folder: str) -> set[str]:
    """The top-level packages that the program imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *command], cwd=folder, capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip().split(".")[0] for line in lines}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
