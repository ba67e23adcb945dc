"""What is wrong with a command line, in one sentence: an unknown option or command, a value that does not fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grpo_calc.near import near
from grpo_calc.say import LANGUAGES, Problem, locale_language, say


def usage(error: Any, words: Sequence[str], lang: str) -> str:
    """The sentence for a usage error of the command line's parser; ``words`` are what the user typed.

    Where the parser's error is of a kind not known here, its own words are said.
    """
    context = error.ctx
    option = getattr(error, "option_name", None)
    parameter = getattr(error, "param", None) or _parameter(context, option)
    path = " ".join(["grpo-calc", *(context.command_path.split()[1:] if context is not None else [])])
    if hasattr(error, "possibilities") and option:
        return _unknown(error, option, path, lang)
    if option:  # a flag that was given a value, or an option that was given none
        flag = any(word.startswith(f"{option}=") for word in words)
        return say(f"cli.usage_{'flag' if flag else 'no_value'}", lang, option=option)
    if parameter is not None:
        return _unfit(error, parameter, words, lang)
    found = re.search(r"extra argument\S* \((.*)\)", error.message, re.DOTALL)
    if found:
        return say("cli.usage_extra", lang, seen=" ".join(found[1].split()), path=path)
    commands = list(getattr(getattr(context, "command", None), "commands", ()))
    typed = next((word for word in words if not word.startswith("-")), "")
    if commands and typed not in commands:
        return _no_command(typed, commands, lang)
    return say("cli.usage", lang, reason=" ".join(error.format_message().split()))


def language_of(words: Sequence[str]) -> str:
    """The language asked for among words that could not be taken apart, else the locale's.

    >>> language_of(["table", "--lang", "zh", "--formt"]), language_of(["--lang=en"])
    ('zh', 'en')
    """
    asked = _typed(["--lang"], words)
    return asked if asked in LANGUAGES else locale_language()


def names(given: str) -> list[str]:
    """The names between commas, each once.

    >>> names("row, ratio,row")
    ['row', 'ratio']

    Errors: :class:`~grpo_calc.say.Problem` where one is empty.
    """
    found = [name.strip() for name in given.split(",")]
    if "" in found:
        raise Problem("cli.empty_column", seen=given)
    return list(dict.fromkeys(found))


def must_be_xlsx(path: Path | None) -> None:
    """Refuse to call a workbook anything else.

    Errors: :class:`~grpo_calc.say.Problem` for a name with another ending.
    """
    if path is not None and path.suffix.lower() != ".xlsx":
        raise Problem("cli.not_xlsx", path=path)


def _parameter(context: Any, option: str | None) -> Any:
    if context is None or option is None:
        return None
    return next((each for each in context.command.params if option in each.opts), None)


def _unknown(error: Any, option: str, path: str, lang: str) -> str:
    known = (
        [name for each in error.ctx.command.params for name in each.opts if name.startswith("-")] if error.ctx else []
    )
    close = near(option, known)
    if close is None:
        return say("cli.usage_option", lang, option=option, path=path)
    return say("cli.usage_option_near", lang, option=option, path=path, close=close)


def _unfit(error: Any, parameter: Any, words: Sequence[str], lang: str) -> str:
    name = next((each for each in parameter.opts if each.startswith("--")), parameter.opts[0])
    seen = _typed(parameter.opts, words)
    choices = getattr(parameter.type, "choices", None)
    if choices:
        known = ", ".join(str(getattr(choice, "value", choice)) for choice in choices)
        return say("cli.usage_choice", lang, option=name, seen=seen, known=known)
    if hasattr(parameter.type, "min") and parameter.type.min is not None:
        return say("cli.usage_number", lang, option=name, seen=seen, least=str(parameter.type.min))
    return say("cli.usage", lang, reason=" ".join(error.format_message().split()))


def _typed(options: Sequence[str], words: Sequence[str]) -> str:
    """The last value that was typed for an option."""
    seen = ""
    for place, word in enumerate(words):
        for option in options:
            if word == option and place + 1 < len(words):
                seen = words[place + 1]
            elif word.startswith(f"{option}=") or (len(option) == 2 and word.startswith(option) and word != option):
                seen = word[len(option) :].removeprefix("=")
    return seen


def _no_command(typed: str, commands: Sequence[str], lang: str) -> str:
    close = near(typed, commands)
    known = ", ".join(commands)
    if close is None:
        return say("cli.usage_command", lang, seen=typed, known=known)
    return say("cli.usage_command_near", lang, seen=typed, close=close, known=known)
