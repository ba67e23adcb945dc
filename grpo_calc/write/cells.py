"""A field's rows as short texts for a reader: numbers in the column's own decimals, strange text made visible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grpo_calc.say import say
from grpo_calc.write.numbers import speller
from grpo_calc.write.rows import Field, Rows
from grpo_calc.write.visible import visible

MASKED = "·"
"""What a masked row shows in a computed column."""


def cells(field: Field, shown: Rows, spans: Sequence[tuple[int, int]], lang: str = "en") -> list[str]:
    """The texts of the rows in the spans; an undefined number says so, in the language."""
    if field.texts is not None:
        return [visible(text) for start, stop in spans for text in field.texts(start, stop)]
    assert field.numbers is not None
    places = np.concatenate([np.arange(start, stop) for start, stop in spans])
    values = field.numbers[places]
    kept = np.ones(len(places), dtype=bool) if shown.kept is None else shown.kept[places]
    spell = speller(field.key, values)
    undefined = say("cli.undefined", lang)
    return [
        spell(value) if value == value else undefined if counts else MASKED
        for value, counts in zip(values.tolist(), kept.tolist(), strict=True)
    ]
