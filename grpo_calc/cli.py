"""The command line: each command is a few lines over the public API.

At module level only the standard library and typer, so that ``--help`` starts fast; a command imports what it needs.
"""

# No postponed annotations here: typer would compile each one again at every start.

import contextlib
import enum
import functools
import gc
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from grpo_calc.lessons import Lesson
    from grpo_calc.work import Worked

FAILED, STOPPED = 2, 130

USAGE: type[Exception] = typer.BadParameter.__mro__[1]
"""What the parser of the command line raises: its UsageError, wherever this version of typer takes it from."""


class Format(enum.StrEnum):
    """How a result is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MD = "md"


class Rows(enum.StrEnum):
    """Which rows are shown."""

    TOKEN = "token"  # noqa: S105  (a level, not a password)
    COMPLETION = "completion"
    GROUP = "group"
    BATCH = "batch"


class Language(enum.StrEnum):
    """The languages of labels and sentences."""

    EN = "en"
    ZH = "zh"


File = Annotated[str | None, typer.Argument(metavar="[FILE]", show_default=False)]
RecipeName = Annotated[str | None, typer.Option("--recipe", metavar="NAME", show_default=False)]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", show_default=False)]
Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", show_default=False)]
Mapping = Annotated[list[str] | None, typer.Option("--map", metavar="NAME=COLUMN", show_default=False)]
Sheet = Annotated[str | None, typer.Option("--sheet", metavar="NAME", show_default=False)]
OnPolicy = Annotated[bool, typer.Option("--on-policy", show_default=False)]
KeepMasked = Annotated[bool, typer.Option("--keep-masked", show_default=False)]
Lang = Annotated[Language | None, typer.Option("--lang", show_default=False)]
Debug = Annotated[bool, typer.Option("--debug", show_default=False)]
Formats = Annotated[Format, typer.Option("--format")]


class Command(TyperCommand):
    """A command that says its help in the user's language, and every failure in one line."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fill in the help texts, which no other run needs, and print them."""
        _describe(self, ctx)
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; whatever goes wrong is one line on stderr, and a traceback only where ``--debug`` asks."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except typer.Exit:
            raise
        except KeyboardInterrupt:
            from grpo_calc.say import say

            _complain(say("cli.interrupted", _spoken(ctx.params.get("lang"))))
            raise typer.Exit(STOPPED) from None
        except BrokenPipeError:
            _close_stdout()
            raise typer.Exit(0) from None
        except Exception as problem:  # noqa: BLE001  (the last place that can turn it into one line)
            if ctx.params.get("debug"):
                import traceback

                traceback.print_exc()
            _explain_failure(ctx, problem)
            raise typer.Exit(FAILED) from None
        return result


class Commands(TyperGroup):
    """The commands together: their help in the user's language, and whatever is wrong with the words in one line."""

    words: "tuple[str, ...]" = ()

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **settings: Any) -> Any:
        """Take the words apart; the program's own options are checked here."""
        self.words = tuple(args)
        try:
            return super().make_context(info_name, args, *more, **settings)
        except USAGE as error:
            self._complain(error)

    def invoke(self, ctx: Any) -> Any:
        """Run a command, whose words are checked here."""
        try:
            return super().invoke(ctx)
        except USAGE as error:
            self._complain(error)

    def _complain(self, error: Any) -> NoReturn:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise error
        from grpo_calc.usage import language_of, usage

        _complain(usage(error, self.words, language_of(self.words)))
        raise typer.Exit(FAILED) from None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fill in the help texts of every command, and print them."""
        for command in (self, *self.commands.values()):
            _describe(command, ctx)
        super().format_help(ctx, formatter)


def _describe(command: Any, ctx: Any) -> None:
    from grpo_calc.say import say

    lang = _spoken(ctx.params.get("lang"))
    command.help = say(f"cli.help_{'main' if isinstance(command, TyperGroup) else command.name}", lang)
    for parameter in command.get_params(ctx):
        parameter.help = say(f"cli.option_{'help' if '--help' in parameter.opts else parameter.name}", lang)


def _explain_failure(ctx: Any, problem: Exception) -> None:
    from grpo_calc.say import Problem, say

    lang = _spoken(ctx.params.get("lang"))
    if isinstance(problem, Problem):
        _complain(problem.text(lang))
    elif isinstance(problem, OSError):
        place = f"{problem.filename}: " if problem.filename else ""
        _complain(say("cli.system", lang, reason=f"{place}{problem.strerror or problem}"))
        if not problem.filename:
            _close_stdout()
    else:
        reason = " ".join(str(problem).split())
        _complain(say("cli.unexpected", lang, kind=type(problem).__name__, reason=reason))


def _complain(sentence: str) -> None:
    typer.echo(f"grpo-calc: {sentence}", err=True)


def _close_stdout() -> None:
    """Nobody takes standard output any more: send the rest nowhere, or Python complains of it at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# A callback of the whole program and its version come first; then the commands.

app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
command = functools.partial(app.command, cls=Command)


def _version(asked: bool) -> None:
    if asked:
        from grpo_calc import __version__

        typer.echo(f"grpo-calc {__version__}")
        raise typer.Exit


@app.callback()
def door(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False) -> None:
    """Stand before every command."""


@command()
def table(
    file: File = None,
    recipe: RecipeName = None,
    settings: Settings = None,
    config: Config = None,
    format: Formats = Format.TABLE,  # noqa: A002
    columns: Annotated[str | None, typer.Option("--columns", metavar="A,B,C", show_default=False)] = None,
    level: Annotated[Rows | None, typer.Option("--level", metavar="LEVEL", show_default=False)] = None,
    lang: Lang = None,
    mapping: Mapping = None,
    sheet: Sheet = None,
    on_policy: OnPolicy = False,
    keep_masked: KeepMasked = False,
    debug: Debug = False,  # noqa: ARG001  (Command reads it)
) -> None:
    """Show every column of the loss."""
    worked, lesson = _worked(file, recipe, settings, config, mapping, sheet, on_policy, lang)
    from grpo_calc.usage import names
    from grpo_calc.write.show import show

    chosen = names(columns) if columns is not None else None
    show(worked, _stdout(), format, lang=_spoken(lang), level=level, columns=chosen, masked=keep_masked, lesson=lesson)


@command()
def sheet(
    file: File = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT.xlsx", show_default=False)] = None,
    force: Annotated[bool, typer.Option("--force", show_default=False)] = False,
    live_rows: Annotated[int, typer.Option("--live-rows", min=0)] = 20_000,
    recipe: RecipeName = None,
    settings: Settings = None,
    config: Config = None,
    lang: Lang = None,
    mapping: Mapping = None,
    sheet: Sheet = None,
    on_policy: OnPolicy = False,
    keep_masked: KeepMasked = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Write a workbook of live formulas."""
    from grpo_calc.usage import must_be_xlsx

    must_be_xlsx(output)
    worked, lesson = _worked(file, recipe, settings, config, mapping, sheet, on_policy, lang)
    from grpo_calc.write.workbook import forecast, write_workbook

    path = output or _beside(file, lesson)
    told = lesson.notes if lesson else ()
    before = forecast(worked, live_rows=live_rows, keep_masked=keep_masked)
    for note in before:  # what will not be live is said before it is written
        _tell_user(lang, "cli.note", text=note.text(_spoken(lang)))
    notes = write_workbook(
        worked,
        path,
        lang=_spoken(lang),
        force=force,
        live_rows=live_rows,
        keep_masked=keep_masked,
        title=lesson.text("title", _spoken(lang)) if lesson else None,
        figures=lesson.figures if lesson else (),
        notes=told,
    )
    for note in notes:
        if note not in (*worked.notes, *told, *before):
            _tell_user(lang, "cli.note", text=note.text(_spoken(lang)))
    _tell_user(lang, "cli.wrote", path=path)


@command()
def explain(
    file: File = None,
    token: Annotated[int, typer.Option("--token", metavar="N", min=1)] = 1,
    recipe: RecipeName = None,
    settings: Settings = None,
    config: Config = None,
    lang: Lang = None,
    mapping: Mapping = None,
    sheet: Sheet = None,
    on_policy: OnPolicy = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Show how one token is worked."""
    worked, lesson = _worked(file, recipe, settings, config, mapping, sheet, on_policy, lang)
    from grpo_calc.write.explained import write_explained

    write_explained(worked, token, _stdout(), lang=_spoken(lang), lesson=lesson)


def _listing(name: str) -> Callable[..., None]:
    """A command that lists what there is of one kind."""

    def listed(format: Formats = Format.TABLE, lang: Lang = None, debug: Debug = False) -> None:  # noqa: A002, ARG001
        from grpo_calc.write import listing

        listing.write_records(getattr(listing, name)(), _stdout(), format=format, lang=_spoken(lang))

    return listed


for _name in ("columns", "recipes", "lessons"):
    command(_name)(_listing(_name))


def _worked(
    file: str | None,
    name: str | None,
    settings: list[str] | None,
    config: Path | None,
    mapping: list[str] | None,
    sheet: str | None,
    on_policy: bool,
    lang: Language | None,
) -> "tuple[Worked, Lesson | None]":
    """The table of FILE worked by its recipe, as the options say; and the lesson, if FILE is one."""
    from grpo_calc.recipes import recipe
    from grpo_calc.trainers.config import configured
    from grpo_calc.work import work

    lesson = _lesson(file, lang)
    if lesson is not None:
        given = lesson.table.on_policy() if on_policy else lesson.table
    else:
        from grpo_calc.read import read

        assert file is not None
        given = read(file, map=_pairs(mapping, "map"), sheet=sheet, on_policy=on_policy)
    chosen = recipe(name or (lesson.recipe if lesson else "grpo"))
    worked = work(given, configured(chosen, config, _pairs(settings, "set")))
    for note in worked.notes:
        _tell_user(lang, "cli.note", text=note.text(_spoken(lang)))
    return worked, lesson


def _lesson(file: str | None, lang: Language | None) -> "Lesson | None":
    """The lesson of that name, unless a file has it: what a user made comes before what we made."""
    from grpo_calc.lessons import LESSONS, lesson
    from grpo_calc.say import Problem

    name = file or "six-tokens"
    exists = file is not None and (file == "-" or Path(file).exists())
    if name in LESSONS and not exists:
        return lesson(name)
    if name in LESSONS:
        _tell_user(lang, "cli.shadowed", name=name)
    elif not exists and Path(name).name == name and not Path(name).suffix:
        raise Problem("cli.no_file", name=name, known=", ".join(LESSONS))
    return None


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    """``KEY=VALUE`` words as a mapping."""
    from grpo_calc.say import Problem

    pairs = {}
    for word in given or ():
        key, equals, value = word.partition("=")
        if not (key.strip() and equals):
            raise Problem("cli.not_a_setting", option=option, seen=word)
        pairs[key.strip()] = value.strip()
    return pairs


def _beside(file: str | None, lesson: "Lesson | None") -> Path:
    """Where a workbook goes that no one named: into this folder, by the name of its input."""
    from grpo_calc.say import Problem

    if lesson is not None:
        return Path(f"{lesson.name}.xlsx")
    if file is None or file == "-":
        raise Problem("cli.no_output")
    return Path(f"{Path(file).name.split('.')[0]}.xlsx")


def _spoken(lang: Language | None) -> str:
    """The language to speak: the chosen one, else the locale's."""
    from grpo_calc.say import locale_language

    return str(lang or locale_language())


def _tell_user(lang: Language | None, key: str, **values: Any) -> None:
    """A sentence for the user, on stderr: standard output holds data only."""
    from grpo_calc.say import say

    typer.echo(say(key, _spoken(lang), **values), err=True)


def _stdout() -> TextIO:
    """Standard output as UTF-8 with the line ends that we write, whatever the locale."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="")
    return sys.stdout


def main() -> None:
    """Run the program."""
    gc.set_threshold(100_000)  # imports make many objects and no garbage: looking for it takes a tenth of the start
    try:
        app(prog_name="grpo-calc")
    finally:
        gc.freeze()  # nor is there any at the end
