"""The house rules that a reader of one file cannot see: who may import whom, what starts light, how long a file is."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "grpo_calc"
SOURCES = sorted(PACKAGE.rglob("*.py"))

# What each room may import of ours, besides itself. Imports run one way: no row names a room that stands below it.
LAW: dict[str, set[str]] = {
    "sym": set(),
    "say": set(),
    "near": set(),
    "softmax": set(),
    "usage": {"near", "say"},
    "table": {"say"},
    "ops": {"sym"},
    "over": {"ops", "sym"},
    "column": {"over", "ops", "sym"},
    "columns": {"column", "ops"},
    "bind": set(),
    "choices": {"bind"},
    "roles": {"bind", "choices"},
    "recipe": {"near", "roles", "bind", "choices", "column", "columns", "say"},
    "recipes": {"recipe", "roles", "say"},
    "trainers": {"recipes", "recipe", "roles", "choices", "column", "say"},
    "plan": {"recipe", "roles", "bind", "column", "say", "sym"},
    "lacks": {"plan", "recipe", "roles", "choices", "column", "say"},
    "run": {"plan", "column", "over", "ops"},
    "work": {"run", "lacks", "plan", "recipes", "recipe", "roles", "bind", "table", "column", "over", "ops", "say"}
    | {"near"},
    "plain": {"columns", "ops"},
    "read": {"table", "near", "softmax", "say"},
    "lessons": {"read", "softmax", "table", "say"},
}
LAW["write"] = LAW["doctor"] = {"work", "lessons", "trainers"} | LAW["work"] | LAW["plan"]
LAW["cli"] = set(LAW)
LAW["__init__"] = set(LAW) - {"cli"}
LAW["__main__"] = {"cli"}

# Imports against the stream, inside a function: asking for the catalogue declares the columns, asking for a recipe by a
# trainer's name opens its presets, and a file that is not there may be a lesson's name.
AGAINST_THE_STREAM = {("column", "columns"), ("recipes", "trainers"), ("work", "trainers"), ("read", "lessons")}

# Which rooms may import a third-party package when they are themselves imported. Anything else waits inside a function.
PACKAGES: dict[str, set[str]] = {
    "numpy": {"softmax", "table", "run", "work", "trainers", "read", "lessons", "write", "doctor"},
    "openpyxl": {"read", "write"},
    "rich": {"write"},
    "typer": {"cli"},
}


class Import(NamedTuple):
    """One imported module, and whether importing the file imports it too."""

    module: str
    at_once: bool


def imports(path: Path) -> Iterator[Import]:
    """Every import of a file. ``from grpo_calc import work`` counts as ``grpo_calc.work``."""
    yield from _imports(ast.parse(path.read_text(encoding="utf-8")), at_once=True)


def _imports(node: ast.AST, *, at_once: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, at_once) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            deeper = [f"grpo_calc.{alias.name}" for alias in child.names] if child.module == "grpo_calc" else []
            yield from (Import(module, at_once) for module in deeper or [child.module or ""])
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            yield from _imports(child, at_once=False)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(child, at_once=at_once and not inside)


def room(path: Path) -> str:
    """The room a file belongs to: its folder's name, else its own."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def name(path: Path) -> str:
    """How a file is called in a test's name."""
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_imports_run_one_way(path: Path) -> None:
    here = room(path)
    assert here in LAW, f"{here} has no row in the import law: add one"
    taken = {module.split(".")[1] for module, _ in imports(path) if module.startswith("grpo_calc.")} - {here}
    taken = {there for there in taken if (PACKAGE / there).is_dir() or (PACKAGE / f"{there}.py").exists()}
    against = {there for there in taken if (here, there) in AGAINST_THE_STREAM}
    at_once = {module.split(".")[1] for module, now in imports(path) if now and module.startswith("grpo_calc.")}
    assert taken - against <= LAW[here]
    assert not against & at_once, "an import against the stream stands inside a function"


def test_the_law_has_no_circle() -> None:
    below: set[str] = set()
    while rest := {here: there for here, there in LAW.items() if here not in below}:
        free = {here for here, there in rest.items() if there <= below}
        assert free, f"a circle among {sorted(rest)}"
        below |= free


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_third_party_packages_stay_in_their_rooms(path: Path) -> None:
    here = room(path)
    for module, at_once in imports(path):
        top = module.split(".")[0]
        if top == "grpo_calc" or top in sys.stdlib_module_names:
            continue
        assert not at_once or here in PACKAGES.get(top, set()), f"{name(path)} imports {top} at module level"
        assert here != "columns", f"a column is written with the verbs of ops, not with {top}"


@pytest.mark.parametrize("path", [PACKAGE / "__init__.py", PACKAGE / "cli.py"], ids=name)
def test_the_doors_open_light(path: Path) -> None:
    at_once = {module.split(".")[0] for module, now in imports(path) if now}
    assert at_once <= sys.stdlib_module_names | {"typer"}


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (["--help"], ["numpy", "openpyxl"]),
        (["--version"], ["numpy", "openpyxl"]),
        (["table", "six-tokens"], ["openpyxl"]),
    ],
    ids=" ".join,
)
def test_a_command_imports_only_what_it_needs(arguments: list[str], absent: list[str]) -> None:
    program = f"""
import sys
from grpo_calc.cli import main
sys.argv[1:] = {arguments!r}
try:
    main()
finally:
    print(*sorted(set({absent!r}) & sys.modules.keys()), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stderr.split("\n")[-2] == ""


def test_a_bare_import_is_light() -> None:
    program = "import sys, grpo_calc; print(*sorted({'numpy', 'openpyxl', 'rich', 'typer'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_file_is_one_idea(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_no_file_names_a_place_on_one_machine() -> None:
    places = ["/".join(parts) for parts in (("", "work", ""), ("..", "shared"), ("", "farm", ""))]
    for path in ROOT.rglob("*"):
        inside = path.relative_to(ROOT).parts
        if inside[0] in {".git", "build", "dist"} or inside[0].startswith(".venv") or not path.is_file():
            continue
        if (
            path.suffix in {".py", ".md", ".toml", ".csv", ".json", ".jsonl", ".txt", ".yml", ".yaml"}
            or ".ci" in inside
        ):
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not [place for place in places if place in text], name(path)
