"""The rows of Tokens, Completions and Groups as XML, a block at a time: templates filled with numbers of 17 digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from grpo_calc.column import Level
from grpo_calc.over import BELOW
from grpo_calc.sym import names
from grpo_calc.table import Floats, Integers
from grpo_calc.write.workbook.cells import BLANK, LIVE, UNDEFINED, VALUE, Pieces
from grpo_calc.write.workbook.extent import FIRST_ROW
from grpo_calc.write.workbook.formulas import TICK
from grpo_calc.write.workbook.layout import COMPLETION, FIRST, GROUP, LAST, NEXT, OWN, Field, Layout, Sheet
from grpo_calc.write.workbook.text import in_xml
from grpo_calc.write.workbook.values import BLOCK, Block, Values

Texts = Callable[[Field], Sequence[str]]


def spelled(values: Floats) -> list[str]:
    """Numbers as they are written in a file: 17 digits where needed, a zero without a sign.

    >>> spelled(np.array([-0.0, 0.1, 2.0]))
    ['0.0', '0.1', '2.0']
    """
    return list(map(repr, (values + 0.0).tolist()))


def token_rows(layout: Layout, values: Values, pieces: Pieces) -> Iterator[str]:
    """The rows of the Tokens sheet, as a text a completion."""
    part, sheet = layout.part, layout.sheets[Level.TOKEN]
    fill = _Filler(sheet, pieces)
    firsts, lasts, groups = part.first_rows(), part.last_rows(), part.table.group_of_completion
    listed = layout.token_rows()
    for block in values.blocks():
        a, b = (int(part.table.token_offsets[c]) for c in (block.first, block.end))
        states = fill.states(block.columns, b - a)
        arguments = fill.arguments(block.columns, b - a, _token_texts(layout, pieces, a, b))
        masked = _masked_rows(layout, pieces, block) if part.rows is not part.table else {}
        below = [*map(str, listed[a + 1 : b + 1].tolist()), str(int(lasts[block.end - 1]) + 1)]
        for c in range(block.first, block.end):
            numbers = {COMPLETION: str(FIRST_ROW + c), GROUP: str(FIRST_ROW + int(groups[c]))}
            start, stop = (int(part.table.token_offsets[i]) - a for i in (c, c + 1))
            live, row, lines = fill.template(fill.live, numbers), int(firsts[c]), []
            for place in range(start, stop):
                while row in masked:
                    lines.append(masked[row])
                    row += 1
                odd = states.get(place)
                template = live if odd is None else fill.template(fill.marked(fill.live, odd), numbers)
                if fill.reads_below:
                    template = template.replace(NEXT, below[place])
                lines.append(template.replace(OWN, str(row)) % arguments[place])
                row += 1
            lines += [masked[r] for r in range(row, int(lasts[c]) + 1)] if masked else []
            yield "".join(lines)


def coarse_rows(layout: Layout, values: Values, pieces: Pieces, level: Level) -> Iterator[str]:
    """The rows of Completions or Groups: live where all their tokens are, values elsewhere."""
    part, sheet, table = layout.part, layout.sheets[level], layout.part.table
    fill = _Filler(sheet, pieces)
    if level is Level.COMPLETION:
        live, begun = part.completions, part.completions
        first, last, groups = part.first_rows(), part.last_rows(), table.group_of_completion
        hollow = np.diff(table.token_offsets) == 0
    else:
        live, begun = part.groups, int(np.searchsorted(table.group_offsets, part.completions, side="left"))
        first, last = FIRST_ROW + table.group_offsets[:-1], FIRST_ROW + table.group_offsets[1:] - 1
        groups, hollow = np.arange(table.group_count), np.diff(table.group_offsets) == 0
    for a in range(0, layout.count(level), BLOCK):
        b = min(a + BLOCK, layout.count(level))
        columns = values.rows(level, a, b)
        states = fill.states(columns, b - a)
        arguments = fill.arguments(columns, b - a, _coarse_texts(layout, pieces, level, a, b))
        for i in range(a, b):
            numbers = {GROUP: str(FIRST_ROW + int(groups[i])), FIRST: str(first[i]), LAST: str(last[i])}
            variants = fill.live if i < live else fill.stale(begun=i < begun)
            if hollow[i]:
                variants = fill.without_rows(variants)
            if i - a in states:
                variants = fill.marked(variants, states[i - a])
            yield fill.template(variants, numbers).replace(OWN, str(FIRST_ROW + i)) % arguments[i - a]


class _Filler:
    """Fills a sheet's row templates."""

    def __init__(self, sheet: Sheet, pieces: Pieces) -> None:
        self.sheet, self.pieces = sheet, pieces
        self.live = (LIVE,) * len(sheet.fields)
        self.reads_below = any(
            field.step is not None and BELOW in names(field.step.expression) for field in sheet.fields
        )

    def template(self, variants: tuple[str, ...], numbers: Mapping[str, str]) -> str:
        """A row's template with all row numbers but its own put in."""
        text = self.pieces.row(variants)
        for mark, number in numbers.items():
            text = text.replace(mark, number)
        return text

    def arguments(self, columns: Mapping[str, Any], count: int, texts: Texts) -> list[tuple[str, ...]]:
        """The values of each row's cells, spelled."""
        spellings = {name: spelled(columns[name]) for name in columns if name in self.sheet.letters}
        lists: list[Sequence[str]] = []
        ticked = in_xml(TICK)
        for field in self.sheet.fields:
            if field.kind in ("number", "text", "mask"):
                lists.append(texts(field))
            elif field.key in spellings:
                lists.append(spellings[field.key])
            elif field.of in spellings:
                lists.append(spellings[field.of])
            elif field.of == "sum":
                lists.append(spelled(row_sums(self.sheet, columns, count)))
            else:
                lists.append([ticked if field.kind == "check" else "0"] * count)
        return list(zip(*lists, strict=True))

    def states(self, columns: Mapping[str, Any], count: int) -> dict[int, dict[str, str]]:
        """The rows with something undefined: for each, the variant of every field that a formula cannot fill.

        An undefined value is a marked text, a missing input an empty cell. A defined value that reads an undefined one
        (a spreadsheet takes a text for greater than any number) is a value alone.
        """
        odd: dict[int, dict[str, str]] = {}
        for key, variant, rows in self._states(columns, np.zeros(count, dtype=bool)):
            for row in np.flatnonzero(rows).tolist():
                odd.setdefault(row, {}).setdefault(key, variant)
        return odd

    def _states(self, columns: Mapping[str, Any], none: Any) -> Iterator[tuple[str, str, Any]]:
        """Field, variant, and the rows where the field has it; the first that names a row counts."""
        undefined = {field.key: ~np.isfinite(columns[field.key]) for field in self.sheet.computed}
        for field in self.sheet.of_kind("input", "fixed", "given"):
            yield field.key, BLANK, ~np.isfinite(columns[field.of or field.key])
        for field in self.sheet.computed:
            yield field.key, UNDEFINED, undefined[field.key]
            step = field.step
            if step is not None and step.consumes is None:
                for name in step.reads:
                    if name in undefined or (name in columns and name not in self.sheet.letters):
                        yield field.key, VALUE, none | ~np.isfinite(columns[name])
            elif step is not None and BELOW in names(step.expression):
                yield field.key, VALUE, np.append(undefined[field.key][1:], False)
        for field in self.sheet.of_kind("frozen"):
            yield field.key, UNDEFINED, undefined.get(field.of, none)
        yield "check", UNDEFINED, np.logical_or.reduce([none, *undefined.values()])

    def marked(self, variants: tuple[str, ...], odd: Mapping[str, str]) -> tuple[str, ...]:
        """The variants of a row with something undefined."""
        return tuple(v if v == BLANK else odd.get(f.key, v) for f, v in zip(self.sheet.fields, variants, strict=True))

    def stale(self, *, begun: bool) -> tuple[str, ...]:
        """The variants of a row that is not live; ``begun`` where some of its finer rows are."""
        kinds = {
            **dict.fromkeys(("number", "text"), LIVE),
            **dict.fromkeys(("input", "fixed", "step", "spread"), VALUE),
            "edited": LIVE if begun else BLANK,
        }
        return tuple(kinds.get(field.kind, BLANK) for field in self.sheet.fields)

    def without_rows(self, variants: tuple[str, ...]) -> tuple[str, ...]:
        """The variants of a row with no finer row under it: there is no range to reduce, the value is a constant."""

        def reduces(field: Field) -> bool:
            if field.kind == "edited":
                return field.key != "edited"
            return field.step is not None and field.step.consumes is not None

        return tuple(
            VALUE if reduces(field) and v == LIVE else v for field, v in zip(self.sheet.fields, variants, strict=True)
        )


def row_sums(sheet: Sheet, columns: Mapping[str, Floats], count: int) -> Floats:
    """The sum of each row's computed cells, undefined ones left out as a spreadsheet's SUM leaves texts out."""
    total = np.zeros(count)
    for field in sheet.computed:
        column = columns[field.key]
        total = total + np.where(np.isfinite(column), column, 0.0)
    return total


def _token_texts(layout: Layout, pieces: Pieces, a: int, b: int) -> Texts:
    table, code = layout.part.table, pieces.text
    completions = np.searchsorted(table.token_offsets, np.arange(a, b), side="right") - 1

    def texts(field: Field) -> Sequence[str]:
        if field.kind == "mask":
            return ["1"] * (b - a)
        if field.key == "row":
            return list(map(str, table.row[a:b].tolist()))
        if field.key == "token_index":
            return list(map(str, _index(layout, completions, a, b).tolist()))
        if field.key == "completion_id":
            return [code(table.completion_id[c]) for c in completions.tolist()]
        if field.key == "group_id":
            return [code(table.group_id[g]) for g in table.group_of_completion[completions].tolist()]
        return [code(text) for text in table.texts[field.key][a:b]]

    return texts


def _index(layout: Layout, completions: Integers, a: int, b: int) -> Integers:
    """Each token's 0-based place in its completion, masked tokens counted."""
    table = layout.part.table
    if table.masked is None:
        return np.arange(a, b) - table.token_offsets[completions]
    first, end = int(completions[0]), int(completions[-1]) + 1
    whole = table.masked.token_offsets
    kept = np.flatnonzero(table.masked.tokens["mask"][whole[first] : whole[end]] != 0) + whole[first]
    index: Integers = kept[a - int(table.token_offsets[first]) :][: b - a] - whole[completions]
    return index


def _masked_rows(layout: Layout, pieces: Pieces, block: Block) -> dict[int, str]:
    """The greyed rows of a block's masked tokens, by row number: who they are, weight 0, no numbers."""
    sheet, rows, code = layout.sheets[Level.TOKEN], layout.part.rows, pieces.masked_text
    variants = tuple(LIVE if field.kind in ("text", "mask") else BLANK for field in sheet.fields)
    template, found = pieces.row(variants), {}
    for c in range(block.first, block.end):
        a, b = int(rows.token_offsets[c]), int(rows.token_offsets[c + 1])
        ids = {"completion_id": rows.completion_id[c], "group_id": rows.group_id[int(rows.group_of_completion[c])]}
        for i in range(a, b):
            if rows.tokens["mask"][i] == 0:
                texts = {**ids, **{name: value[i] for name, value in rows.texts.items()}}
                values = tuple(code(texts[field.key]) if field.kind == "text" else "0" for field in sheet.fields)
                found[FIRST_ROW + i] = template.replace(OWN, str(FIRST_ROW + i)) % values
    return found


def _coarse_texts(layout: Layout, pieces: Pieces, level: Level, a: int, b: int) -> Texts:
    table, code = layout.part.table, pieces.text

    def texts(field: Field) -> Sequence[str]:
        if field.key == "row":
            return list(map(str, range(a + 1, b + 1)))
        if field.key == "completion_id":
            return [code(text) for text in table.completion_id[a:b]]
        groups = range(a, b) if level is Level.GROUP else table.group_of_completion[a:b].tolist()
        return [code(table.group_id[g]) for g in groups]

    return texts
