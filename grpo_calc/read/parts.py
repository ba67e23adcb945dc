"""What a file comes to before it is a table, and the last checks that every format shares."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grpo_calc.read.aliases import Naming, candidates, listed
from grpo_calc.read.block import Frame
from grpo_calc.read.faults import shown
from grpo_calc.say import Note, Problem, note
from grpo_calc.table import LOGPS, Floats, Integers, Table

_ANSWER_IDS = (re.compile(r"(.+?)_\d+_\d+"), re.compile(r"(.+)[_-]\d+"))
"""``sample_rollout_output``, ``sample_rollout``: ids of single answers, and the part that a prompt's answers share."""


@dataclass(frozen=True)
class Parts:
    """One batch: flat token columns, and one entry a completion of everything else; ``line`` is where each begins."""

    tokens: Mapping[str, Floats]
    shared: Mapping[str, Floats]
    lengths: Integers
    group: Sequence[str] | None
    completion: Sequence[str]
    mask: Floats | None = None
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    row: Integers | None = None
    line: Sequence[int] = ()
    notes: tuple[Note, ...] = ()


def check_naming(naming: Naming, frame: Frame) -> None:
    """Refuse a file whose columns cannot be worked: nothing known, or rewards without a group.

    >>> from grpo_calc.read.aliases import name_columns
    >>> naming = name_columns(["prompt", "reward"], {}, "f", 1)
    >>> check_naming(naming, Frame("f", ("prompt", "reward"), iter(())))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    grpo_calc.say.Problem: f: line 1: no group column: ... could it be prompt? Then add --map group=prompt ...
    """
    if not naming.logits[0] and not any(
        name.startswith(("logp_", "prob_", "reward", "advantage")) for name in naming.columns
    ):
        raise Problem("read.unknown_columns", source=frame.source, line=frame.header_line, seen=listed(frame.header))
    if (
        any(name.startswith("reward") for name in naming.columns)
        and "group_id" not in naming.columns
        and not naming.logits[0]
    ):
        could = _plain(candidates(naming), frame)
        key = "no_group" if could else "no_group_at_all"
        raise Problem(
            f"read.{key}", source=frame.source, line=frame.header_line, columns=listed(could), first=listed(could[:1])
        )


def _plain(columns: Sequence[str], frame: Frame) -> tuple[str, ...]:
    """Those of the columns whose first cells could be ids: no lists, no objects."""
    block = next(frame.blocks, None)
    if block is None:
        return tuple(columns)
    rows = np.arange(min(block.count, 64))
    return tuple(name for name in columns if not any(_nested(cell) for cell in block.cells(name, rows)))


def _nested(cell: Any) -> bool:
    return isinstance(cell, (list, dict)) or (isinstance(cell, str) and cell.lstrip().startswith(("[", "{")))


def _check_groups(parts: Parts, naming: Naming, source: str) -> None:
    """Refuse ids of single answers as groups: all of them differ, and what is left without their last number does not.

    >>> parts = Parts({}, {}, np.zeros(2, dtype=np.int64), ["7_0_0", "7_1_0"], ["1", "2"])
    >>> _check_groups(parts, Naming({"group_id": "uid", "reward": "score"}, ()), "f")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    grpo_calc.say.Problem: f: column uid: every group would have one member: its ids look like 7_0_0, 7_1_0, ...
    """
    ids = parts.group
    rewarded = any(name.startswith("reward") for name in naming.columns)
    if ids is None or not rewarded or "group_id" in naming.told or len(ids) < 2 or len(set(ids)) < len(ids):
        return
    for form in _ANSWER_IDS:
        found = [form.fullmatch(each) for each in ids]
        prefixes = [match[1] for match in found if match]
        if len(prefixes) == len(ids):
            if len(set(prefixes)) < len(ids):
                first = Counter(prefixes).most_common(1)[0][0]
                alike = [each for each, prefix in zip(ids, prefixes, strict=True) if prefix == first]
                raise Problem(
                    "read.ids_of_answers",
                    source=source,
                    column=shown(naming.columns["group_id"]),
                    seen=listed(alike[:2]),
                    prefix=shown(first),
                )
            return


def table_of(parts: Parts, naming: Naming, frame: Frame, on_policy: bool) -> Table:
    """The table, with notes on what it cannot tell."""
    tokens, shared, lengths, mask, texts = (
        dict(parts.tokens),
        dict(parts.shared),
        parts.lengths,
        parts.mask,
        parts.texts,
    )
    _check_groups(parts, naming, frame.source)
    notes = [*naming.notes, *parts.notes]
    for name in ("reward", "advantage"):
        missing = np.isnan(shared[name]) if name in shared else np.zeros(0, dtype=np.bool_)
        if missing.any():
            at = int(np.argmax(missing))
            raise Problem(
                "read.missing_shared",
                source=frame.source,
                line=parts.line[at],
                column=naming.columns[name],
                completion=parts.completion[at],
            )
    if not any(name in tokens for name in LOGPS):
        if "advantage" in tokens:
            raise Problem("read.advantage_alone", source=frame.source, column=shown(naming.columns["advantage"]))
        notes.append(note("read.no_logps"))
        tokens, texts, mask, lengths = {}, {}, None, np.zeros(len(parts.completion), dtype=np.int64)
    elif "logp_new" not in tokens:
        notes.append(note("read.no_new"))
    elif "logp_old" not in tokens and not on_policy and "logp_sampler" not in tokens:
        raise Problem("read.no_old", source=frame.source, line=frame.header_line)
    if "advantage" not in tokens and not any(name == "advantage" or name.startswith("reward") for name in shared):
        notes.append(note("read.no_signal"))
    if parts.group is None:
        notes.append(note("note.one_group"))
    table = Table.assemble(
        tokens=tokens,
        completions=shared,
        lengths=lengths,
        group_id=parts.group if parts.group is not None else ["1"] * len(parts.completion),
        completion_id=parts.completion,
        mask=mask,
        texts=texts,
        row=parts.row if tokens else None,
        source=frame.source,
        notes=tuple(notes),
    )
    return table.on_policy() if on_policy and "logp_new" in tokens else table
