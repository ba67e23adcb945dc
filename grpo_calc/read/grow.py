"""An array that grows by the end, in place: a long column needs no second copy when its last block has come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

STEP = 1 << 19
"""Values of room to add at least: on Linux a large array grows without being copied, so small steps cost little."""


class Growing:
    """Values that come in parts.

    >>> column = Growing()
    >>> column.add(np.array([1.0])); column.add(np.array([2.0, 3.0]))
    >>> column.done()
    array([1., 2., 3.])
    """

    def __init__(self, kind: type = np.float64) -> None:
        self._room: NDArray[Any] = np.empty(0, dtype=kind)
        self._count = 0

    def add(self, part: NDArray[Any]) -> None:
        """Put a part at the end."""
        end = self._count + len(part)
        if end > len(self._room):
            more = min(max(self._count // 4, len(part)), STEP)
            self._room.resize(max(end, self._count + more), refcheck=False)
        self._room[self._count : end] = part
        self._count = end

    def done(self) -> NDArray[Any]:
        """The whole; nothing more can be added."""
        self._room.resize(self._count, refcheck=False)
        return self._room
