"""Parts: runs of whole items as plain arrays, the unit in which ratings are stored, shipped and added up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIZE = 1 << 20
"""How many ratings a part has: it ends with the first item past every multiple of this."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Part:
    """The ratings of some items, one after the other.

    Attributes
    ----------
    first
        The code of its first item among all items.
    offsets
        The ratings of its item ``i`` are entries ``offsets[i]`` to ``offsets[i + 1]``.
    raters, scores
        For each rating, the code of its rater and the position on the scale; no raters in a table of totals.
    multiplicity
        How many ratings an entry stands for, in a table of totals; otherwise empty, which means 1.
    """

    first: int
    offsets: NDArray[np.int64]
    raters: NDArray[np.int32]
    scores: NDArray[Any]
    multiplicity: NDArray[np.int64]

    def __post_init__(self) -> None:
        # Kernels are compiled for read-only arrays, wherever these come from.
        for array in (self.offsets, self.raters, self.scores, self.multiplicity):
            array.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        return Part, (self.first, self.offsets, self.raters, self.scores, self.multiplicity)

    @property
    def n_items(self) -> int:
        """How many items it has."""
        return len(self.offsets) - 1

    @property
    def items(self) -> slice:
        """Where its items are among all items."""
        return slice(self.first, self.first + self.n_items)

    def some(self, items: slice) -> Part:
        """Return some of its items, counted from its first, as a part."""
        if items == slice(0, self.n_items):
            return self
        start, stop = int(self.offsets[items.start]), int(self.offsets[items.stop])
        given: list[Any] = [array[start:stop] for array in (self.raters, self.scores, self.multiplicity)]
        return Part(self.first + items.start, self.offsets[items.start : items.stop + 1] - start, *given)

    def item_of_each(self) -> NDArray[np.int64]:
        """Return for each rating the number of its item within the part."""
        return np.repeat(np.arange(self.n_items), np.diff(self.offsets))


def cut(
    offsets: NDArray[np.int64],
    raters: NDArray[np.int32] | None,
    scores: NDArray[Any],
    multiplicity: NDArray[np.int64] | None,
    size: int = SIZE,
) -> tuple[Part, ...]:
    """Cut ratings that are sorted by item into parts; the cuts depend on the data alone.

    Examples
    --------
    >>> parts = cut(np.array([0, 2, 4, 5]), np.zeros(5, np.int32), np.zeros(5, np.uint8), None, size=3)
    >>> [(part.first, part.n_items) for part in parts]
    [(0, 2), (2, 1)]
    """
    found = []
    for first, last in runs(offsets, size):
        start, stop = int(offsets[first]), int(offsets[last])
        found.append(Part(
            first, offsets if last - first == len(offsets) - 1 else offsets[first : last + 1] - start,
            np.zeros(0, np.int32) if raters is None else raters[start:stop], scores[start:stop],
            np.zeros(0, np.int64) if multiplicity is None else multiplicity[start:stop],
        ))  # fmt: skip
    return tuple(found)


def runs(offsets: NDArray[np.int64], size: int = SIZE) -> Iterator[tuple[int, int]]:
    """Yield the first item of each part and the one after its last; one empty part if there are no items."""
    n_items, first = len(offsets) - 1, 0
    if n_items == 0:
        yield 0, 0
    while first < n_items:
        last = min(int(np.searchsorted(offsets, offsets[first] + size, side="left")), n_items)
        last = max(last, first + 1)
        if last < n_items and offsets[last] == offsets[n_items]:
            last = n_items  # items without ratings make no part of their own
        yield first, last
        first = last
