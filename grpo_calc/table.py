"""The input of everything: one batch of tokens as flat arrays, with offsets token -> completion -> group. No padding.

A completion is a contiguous run of token rows and a group a contiguous run of completions. Masked tokens are dropped at
the door (every completion stays, an empty one too); the user's own order can always be given back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grpo_calc.say import Note, Problem, note

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LOGPS = ("logp_new", "logp_old", "logp_ref", "logp_sampler")
LARGEST_LOGP = 0.0
SENTINELS = (-9999.0, -999.0, -1e4, -1e9, -1e5)
"""Log-probs that engines write for "no value" or "below range"; exactly these are never counted silently."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Table:
    """One batch.

    ``tokens`` and ``completions`` hold the given columns by their canonical names (``logp_new``, ``reward`` ...),
    float64, one value a row of that level; ``texts`` holds token columns that are text (``token``, ``token_id``).
    Completion *c* is the token rows ``token_offsets[c]:token_offsets[c + 1]``; group *g* the completions
    ``group_offsets[g]:group_offsets[g + 1]``. ``row`` is each token's 1-based row as the user had it; ``masked`` the
    same batch with its masked tokens kept (and a token column ``mask``), or ``None`` when nothing was masked.
    """

    tokens: Mapping[str, Floats]
    completions: Mapping[str, Floats]
    token_offsets: Integers
    group_offsets: Integers
    completion_id: tuple[str, ...]
    group_id: tuple[str, ...]
    row: Integers
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    source: str = ""
    masked: Table | None = None

    @property
    def token_count(self) -> int:
        """How many tokens count."""
        return int(self.token_offsets[-1])

    @property
    def completion_count(self) -> int:
        """How many completions there are, empty ones too."""
        return len(self.token_offsets) - 1

    @property
    def group_count(self) -> int:
        """How many groups there are."""
        return len(self.group_offsets) - 1

    @cached_property
    def positions(self) -> Floats:
        """The positions of each completion, masked ones too: in a padded batch its width."""
        return np.diff((self.masked or self).token_offsets).astype(np.float64)

    @cached_property
    def gap(self) -> Floats:
        """How many places on each token's next one of its completion stands, masked places counted; 0 at its last."""
        whole = self.masked or self
        place = np.flatnonzero(whole.tokens["mask"]) if self.masked is not None else np.arange(self.token_count)
        gap = np.diff(place, append=0).astype(np.float64)
        gap[self.token_offsets[1:][np.diff(self.token_offsets) > 0] - 1] = 0.0
        return gap

    @cached_property
    def completion_of_token(self) -> Integers:
        """The completion of each token row."""
        return np.repeat(np.arange(self.completion_count), np.diff(self.token_offsets))

    @cached_property
    def group_of_completion(self) -> Integers:
        """The group of each completion."""
        return np.repeat(np.arange(self.group_count), np.diff(self.group_offsets))

    @cached_property
    def order(self) -> Integers:
        """The token rows in the user's own order: ``values[table.order]``."""
        return np.argsort(self.row, kind="stable")

    def with_notes(self, *notes: Note) -> Table:
        """The same table with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def on_policy(self) -> Table:
        """The same table with old = new: every ratio is 1, and the gradient is still right."""
        masked = self.masked.on_policy() if self.masked is not None else None
        tokens = {**self.tokens, "logp_old": self.tokens["logp_new"]}
        return replace(self, tokens=tokens, masked=masked, notes=(*self.notes, note("note.on_policy")))

    def without_tokens(self, completions: NDArray[np.bool_]) -> Table:
        """The same table without the tokens of some completions; the completions themselves stay, empty."""
        every = self.masked or self
        drop = np.repeat(completions, np.diff(every.token_offsets))
        if not drop.any():
            return self
        whole = replace(every, tokens={**every.tokens, "mask": np.where(drop, 0.0, every.tokens.get("mask", 1.0))})
        return _unmasked(whole)

    @staticmethod
    def from_arrays(
        *,
        group_id: Sequence[Any] | None = None,
        completion_id: Sequence[Any] | None = None,
        mask: Any = None,
        source: str = "",
        texts: Mapping[str, Any] = _NOTHING,
        rewards: Mapping[str, Any] = _NOTHING,
        **columns: Any,
    ) -> Table:
        """A table from one entry a completion: ragged lists, or padded (B, T) arrays with a ``mask``.

        A column whose entries are numbers (``reward``) is a completion column; one whose entries are sequences
        (``logp_new``) a token column. A flat ``logp_new`` means completions of one token each. Without ``group_id``
        all completions are one group; that is noted. ``rewards`` gives several rewards by name, each as a column
        ``reward_<name>``.

        >>> table = Table.from_arrays(group_id=["a", "a"], reward=[1, 0], logp_new=[[-1, -2], [-3]])
        >>> table.token_count, table.completion_count, table.group_count
        (3, 2, 1)
        """
        columns |= {f"reward_{name}": value for name, value in rewards.items()}
        columns = {name: _rows(value, name) for name, value in columns.items() if value is not None}
        if not columns or not next(iter(columns.values())):
            raise Problem("table.empty", source=source or "table")
        count = len(next(iter(columns.values())))
        masks = None if mask is None else _rows(mask)
        ids = {"group_id": group_id, "completion_id": completion_id, "mask": masks}
        for name, value in {**columns, **{n: v for n, v in ids.items() if v is not None}}.items():
            if len(value) != count:
                raise Problem("table.count", column=name, seen=len(value), expected=count)
        tokens: dict[str, list[Any]] = {}
        completions: dict[str, list[Any]] = {}
        for name, value in columns.items():
            per_token = any(_is_rows(entry) for entry in value)
            (tokens if per_token or name in LOGPS else completions)[name] = value
        if "reward" in tokens:
            raise Problem("table.reward_per_token")
        lengths = _lengths(tokens, masks, texts, count)
        flat = {name: _flat(name, value, lengths) for name, value in tokens.items()}
        keep = None if masks is None else _flat("mask", masks, lengths)
        notes: list[Note] = []
        if group_id is None:
            group_id = ["1"] * count
            notes.append(note("note.one_group"))
        return Table.assemble(
            tokens=flat,
            completions={
                name: np.array(_numbers(name, value), dtype=np.float64) for name, value in completions.items()
            },
            lengths=np.array(lengths, dtype=np.int64),
            group_id=[str(i) for i in group_id],
            completion_id=[str(i) for i in (range(1, count + 1) if completion_id is None else completion_id)],
            mask=keep,
            texts={name: [text for entry in value for text in _texts(entry)] for name, value in texts.items()},
            source=source,
            notes=tuple(notes),
        )

    @staticmethod
    def assemble(
        *,
        tokens: Mapping[str, Floats],
        completions: Mapping[str, Floats],
        lengths: Integers,
        group_id: Sequence[str],
        completion_id: Sequence[str],
        mask: Floats | None = None,
        texts: Mapping[str, Sequence[str]] = _NOTHING,
        row: Integers | None = None,
        source: str = "",
        notes: tuple[Note, ...] = (),
    ) -> Table:
        """A table from flat token columns whose completions are contiguous, in any order of groups.

        ``lengths``, ``group_id``, ``completion_id`` and the completion columns have one entry a completion. Completions
        are regrouped by id (order kept, said in a note); tokens with mask 0 are left out, after all else is in place.

        Errors: :class:`~grpo_calc.say.Problem` for unequal lengths, for a log-prob that is NaN or infinite where the
        token counts, and for a sentinel such as -9999 there.
        """
        _same_length(tokens, texts, int(lengths.sum()))
        row = np.arange(1, int(lengths.sum()) + 1) if row is None else row
        codes, names = _factorise(group_id)
        by_group = np.argsort(codes, kind="stable")
        if not np.array_equal(by_group, np.arange(len(by_group))):
            notes = (*notes, note("note.regrouped"))
            offsets = np.concatenate(([0], np.cumsum(lengths)))
            order = _runs(offsets[:-1][by_group], lengths[by_group])
            tokens = {name: value[order] for name, value in tokens.items()}
            texts = {name: [value[i] for i in order] for name, value in texts.items()}
            completions = {name: value[by_group] for name, value in completions.items()}
            mask = None if mask is None else mask[order]
            lengths, row = lengths[by_group], row[order]
            completion_id = [completion_id[i] for i in by_group]
        whole = Table(
            tokens=tokens if mask is None else {**tokens, "mask": mask},
            completions=completions,
            token_offsets=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
            group_offsets=np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=len(names))))).astype(np.int64),
            completion_id=tuple(completion_id),
            group_id=names,
            row=row,
            texts=texts,
            notes=notes,
            source=source,
        )
        return _checked(whole if mask is None else _unmasked(whole))


def _unmasked(whole: Table) -> Table:
    keep = whole.tokens["mask"] != 0
    if keep.all():
        return replace(whole, tokens={name: value for name, value in whole.tokens.items() if name != "mask"})
    kept = np.concatenate(([0], np.cumsum(keep)))[whole.token_offsets]
    return replace(
        whole,
        tokens={name: value[keep] for name, value in whole.tokens.items() if name != "mask"},
        texts={
            name: [text for text, kept_here in zip(value, keep, strict=True) if kept_here]
            for name, value in whole.texts.items()
        },
        token_offsets=kept.astype(np.int64),
        row=whole.row[keep],
        notes=(*whole.notes, note("note.masked", count=int(len(keep) - keep.sum()))),
        masked=whole,
    )


def _checked(table: Table) -> Table:
    notes = []
    for name in LOGPS:
        values = table.tokens.get(name)
        if values is None or not values.size:
            continue
        bad = ~np.isfinite(values)
        if bad.any():
            first = int(np.argmax(bad))
            raise Problem(
                "table.not_finite",
                source=table.source or "table",
                row=int(table.row[first]),
                column=name,
                seen=values[first],
            )
        sentinel = np.isin(values, SENTINELS)
        if sentinel.any():
            first = int(np.argmax(sentinel))
            raise Problem(
                "table.sentinel",
                source=table.source or "table",
                row=int(table.row[first]),
                column=name,
                seen=values[first],
            )
        positive = int((values > LARGEST_LOGP).sum())
        if positive:
            notes.append(note("note.positive_logp", column=name, count=positive))
    for name in ("reward", "advantage"):
        values = table.completions.get(name)
        if values is not None and not np.isfinite(values).all():
            first = int(np.argmax(~np.isfinite(values)))
            raise Problem(
                "table.not_finite_completion",
                source=table.source or "table",
                completion=table.completion_id[first],
                column=name,
                seen=values[first],
            )
    for name in (name for name in table.completions if name.startswith("reward_")):
        notes += _unscored(table, name)
    empty = int((np.diff(table.token_offsets) == 0).sum())
    if empty and table.tokens:  # without log-probs no completion has tokens, and the reader says so
        notes.append(note("note.empty_completions", count=empty))
    return table.with_notes(*notes)


def _unscored(table: Table, name: str) -> list[Note]:
    """A note of the completions to which one of several rewards is not given: it is missing there, and no 0."""
    values = table.completions[name]
    infinite = np.isinf(values)
    if infinite.any():
        first = int(np.argmax(infinite))
        source, completion = table.source or "table", table.completion_id[first]
        raise Problem(
            "table.not_finite_completion", source=source, completion=completion, column=name, seen=values[first]
        )
    missing = int(np.isnan(values).sum())
    return [note("note.unscored", column=name, count=missing)] if missing else []


def _factorise(ids: Sequence[str]) -> tuple[Integers, tuple[str, ...]]:
    """Codes 0, 1, ... in order of first appearance, and the ids they stand for."""
    seen: dict[str, int] = {}
    codes = np.fromiter((seen.setdefault(i, len(seen)) for i in ids), dtype=np.int64, count=len(ids))
    return codes, tuple(seen)


def _runs(starts: Integers, lengths: Integers) -> Integers:
    """The row numbers of runs that start at ``starts`` and are ``lengths`` long, one after another."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)


def _is_rows(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) > 0


def _rows(value: Any, name: str = "mask") -> list[Any]:
    """A column as a list of entries; a 2-D array as a list of its rows."""
    entries = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(entries, str) or not isinstance(entries, Iterable):
        raise Problem("table.not_a_column", column=name, seen=entries)
    return list(entries)


def _texts(entry: Any) -> list[Any]:
    """The texts of a completion's tokens; one text is one token's, not its letters."""
    return [entry] if isinstance(entry, str) else _rows(entry)


def _numbers(name: str, values: Sequence[Any]) -> list[float]:
    try:
        return [float("nan") if value is None else float(value) for value in values]
    except (TypeError, ValueError):
        raise Problem("table.not_numbers", column=name) from None


def _lengths(
    tokens: Mapping[str, list[Any]], masks: list[Any] | None, texts: Mapping[str, Any], count: int
) -> list[int]:
    for values in (*tokens.values(), *([masks] if masks is not None else []), *texts.values()):
        if any(_is_rows(entry) for entry in values):
            return [len(_rows(entry)) if _is_rows(entry) else 1 for entry in values]
    return [1] * count


def _flat(name: str, values: list[Any], lengths: list[int]) -> Floats:
    """A token column as one flat array; entries of one number are completions of one token."""
    parts = []
    for place, (entry, length) in enumerate(zip(values, lengths, strict=True)):
        part = _numbers(name, _rows(entry)) if _is_rows(entry) else _numbers(name, [entry])
        if len(part) != length:
            raise Problem("table.length", column=name, completion=place + 1, seen=len(part), expected=length)
        parts.append(np.array(part, dtype=np.float64))
    return np.concatenate(parts) if parts else np.zeros(0)


def _same_length(tokens: Mapping[str, Floats], texts: Mapping[str, Sequence[str]], count: int) -> None:
    columns: dict[str, Sequence[str] | Floats] = {**tokens, **texts}
    for name, value in columns.items():
        if len(value) != count:
            raise Problem("table.count", column=name, seen=len(value), expected=count)
