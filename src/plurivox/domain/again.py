"""Ratings given again: what a rater said about an item on occasions after the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Again:
    """Later ratings of (item, rater) pairs whose first rating is among the ratings themselves.

    Attributes
    ----------
    item_codes, rater_codes, scores
        One entry for each, as in :class:`plurivox.Ratings`, sorted by item, rater and occasion.
    times
        When each was given, NaN where unknown; None if no times were read.
    """

    item_codes: NDArray[np.int32]
    rater_codes: NDArray[np.int32]
    scores: NDArray[Any]
    times: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        for array in (self.item_codes, self.rater_codes, self.scores, self.times):
            if array is not None:
                array.flags.writeable = False

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.scores)

    def __eq__(self, other: object) -> bool:
        """Compare all fields."""
        if not isinstance(other, Again):
            return NotImplemented
        return (
            np.array_equal(self.item_codes, other.item_codes)
            and np.array_equal(self.rater_codes, other.rater_codes)
            and np.array_equal(self.scores, other.scores)
            and same_times(self.times, other.times)
        )

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def some(self, keep: NDArray[np.bool_]) -> Again | None:
        """Return those that ``keep`` marks, or None if none are left."""
        if not keep.any():
            return None
        times = None if self.times is None else self.times[keep]
        return Again(self.item_codes[keep], self.rater_codes[keep], self.scores[keep], times)


@dataclass(frozen=True, slots=True, eq=False)
class EveryRating:
    """All ratings, first ones and later ones, sorted by item, rater and occasion.

    Attributes
    ----------
    item_codes, rater_codes, scores, times
        One entry per rating, as in :class:`Again`.
    occasions
        1 for the first rating of an (item, rater) pair, 2 for the second, and so on.
    repeated
        Whether the pair was rated more than once.
    """

    item_codes: NDArray[np.int32]
    rater_codes: NDArray[np.int32]
    scores: NDArray[Any]
    times: NDArray[np.float64] | None
    occasions: NDArray[np.int64]
    repeated: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        item_codes: NDArray[np.int32],
        rater_codes: NDArray[np.int32],
        scores: NDArray[Any],
        times: NDArray[np.float64] | None,
        again: Again | None,
    ) -> EveryRating:
        """Merge first ratings, which are sorted by item and rater, with later ones."""
        n = len(scores)
        if again is None:
            return cls(item_codes, rater_codes, scores, times, np.ones(n, np.int64), np.zeros(n, bool))
        items = np.concatenate([item_codes, again.item_codes])
        raters = np.concatenate([rater_codes, again.rater_codes])
        order = np.lexsort((raters, items))  # stable, and both parts are in order of occasion
        items, raters = items[order], raters[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(items) != 0) | (np.diff(raters) != 0)
        starts = np.flatnonzero(new)
        sizes = np.diff(starts, append=len(order))
        moments = None if times is None or again.times is None else np.concatenate([times, again.times])[order]
        return cls(
            items,
            raters,
            np.concatenate([scores, again.scores])[order],
            moments,
            np.arange(len(order)) - np.repeat(starts, sizes) + 1,
            np.repeat(sizes > 1, sizes),
        )


def first_and_again(every: Again) -> dict[str, Any]:
    """Split ratings sorted by item, rater and occasion into the first ones and the later ones."""
    first = np.ones(len(every), dtype=bool)
    first[1:] = (np.diff(every.item_codes) != 0) | (np.diff(every.rater_codes) != 0)
    return {
        "item_codes": every.item_codes[first], "rater_codes": every.rater_codes[first], "scores": every.scores[first],
        "times": None if every.times is None else every.times[first], "again": every.some(~first),
    }  # fmt: skip


def same_times(a: NDArray[np.float64] | None, b: NDArray[np.float64] | None) -> bool:
    """Return whether two columns of times are equal; unknown times count as equal."""
    return a is b if a is None or b is None else bool(np.array_equal(a, b, equal_nan=True))
