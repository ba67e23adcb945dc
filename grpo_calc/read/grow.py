"""An array that grows by the end, in place: a long column needs no second copy when its last block has come."""

from __future__ import annotations

import numpy as np

from grpo_calc.table import Floats


class Growing:
    """Numbers that come in parts.

    >>> column = Growing()
    >>> column.add(np.array([1.0])); column.add(np.array([2.0, 3.0]))
    >>> column.done()
    array([1., 2., 3.])
    """

    def __init__(self) -> None:
        self._room: Floats = np.empty(0)
        self._count = 0

    def add(self, part: Floats) -> None:
        """Put a part at the end."""
        end = self._count + len(part)
        if end > len(self._room):
            self._room.resize(max(end, len(self._room) * 5 // 4), refcheck=False)
        self._room[self._count : end] = part
        self._count = end

    def done(self) -> Floats:
        """The whole; nothing more can be added."""
        self._room.resize(self._count, refcheck=False)
        return self._room
