"""How much of a batch is live: whole completions, the first that fit; and what Excel itself cannot hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grpo_calc.say import Note, Problem, note
from grpo_calc.table import Integers, Table
from grpo_calc.work import Worked

FIRST_ROW = 6
"""The first row of values on a sheet of rows: title, sections, symbols, names and keys stand above it."""

EXCEL_ROWS = 1_048_576
EXCEL_COLUMNS = 16_384
LIVE_ROWS = 20_000


@dataclass(frozen=True)
class Extent:
    """Which rows stand on the sheets, and which of them are live.

    Tokens stand for the first ``completions`` completions, all of them live. Completions and groups are listed as far
    as Excel has rows; a group is live when all its completions are. ``rows`` is the table that the Tokens sheet lists:
    the worked one, or the one with its masked tokens kept, greyed.
    """

    table: Table
    rows: Table
    completions: int
    groups: int
    listed_completions: int
    listed_groups: int

    @property
    def whole(self) -> bool:
        """Whether every row of the batch is live."""
        return self.completions == self.table.completion_count

    @property
    def token_rows(self) -> int:
        """How many rows the Tokens sheet has."""
        return int(self.rows.token_offsets[self.completions])

    @property
    def tokens(self) -> int:
        """How many counted tokens are live."""
        return int(self.table.token_offsets[self.completions])

    def first_rows(self) -> Integers:
        """The sheet row where each listed completion's tokens begin."""
        return FIRST_ROW + self.rows.token_offsets[:-1]

    def last_rows(self) -> Integers:
        """The sheet row where each listed completion's tokens end (before its first, for one without rows)."""
        return FIRST_ROW + self.rows.token_offsets[1:] - 1


def extent(worked: Worked, live_rows: int = LIVE_ROWS, *, keep_masked: bool = False) -> Extent:
    """What of a batch is live with at most ``live_rows`` rows of tokens.

    Errors: :class:`~grpo_calc.say.Problem` where ``live_rows`` is not a whole number from 0.
    """
    if isinstance(live_rows, bool) or not isinstance(live_rows, int) or live_rows < 0:
        raise Problem("workbook.bad_live_rows", seen=live_rows, most=EXCEL_ROWS - FIRST_ROW)
    table = worked.table
    rows = table.masked if keep_masked and table.masked is not None else table
    room = EXCEL_ROWS - FIRST_ROW + 1
    fits = int(np.searchsorted(rows.token_offsets, min(live_rows, room), side="right")) - 1
    completions = min(fits, room, table.completion_count)
    groups = int(np.searchsorted(table.group_offsets, completions, side="right")) - 1
    return Extent(table, rows, completions, groups, min(table.completion_count, room), min(table.group_count, room))


def forecast(worked: Worked, *, live_rows: int = LIVE_ROWS, keep_masked: bool = False) -> tuple[Note, ...]:
    """What a workbook of this batch will not hold live, or not hold at all: said before it is written."""
    part = extent(worked, live_rows, keep_masked=keep_masked)
    table, notes = part.table, []
    if not part.whole:
        notes.append(
            note(
                "workbook.live_part",
                tokens=part.tokens,
                all_tokens=table.token_count,
                completions=part.completions,
                all_completions=table.completion_count,
            )
        )
    if live_rows > EXCEL_ROWS - FIRST_ROW + 1:
        notes.append(note("workbook.excel_rows", most=EXCEL_ROWS - FIRST_ROW + 1))
    alone = [step.name for step in worked.plan.steps if not step.column.live]
    if alone:
        notes.append(note("workbook.values_alone", names=", ".join(alone)))
    if part.listed_completions < table.completion_count:
        notes.append(note("workbook.cut", listed=part.listed_completions, count=table.completion_count))
    return tuple(notes)
