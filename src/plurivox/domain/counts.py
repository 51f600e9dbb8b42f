"""What can be counted of ratings: their sizes, and sums over their parts."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import NeedsRatersError
from plurivox.domain.part import Part, cut

if TYPE_CHECKING:
    import polars as pl

    from plurivox.domain.check import Intake
    from plurivox.domain.scale import Scale


class RatingCounts:
    """The part of :class:`plurivox.Ratings` that counts; nothing in it needs all ratings at once."""

    __slots__ = ()

    scale: Scale
    items: pl.DataFrame
    raters: pl.DataFrame
    item_codes: NDArray[np.int32]
    rater_codes: NDArray[np.int32] | None
    scores: NDArray[np.uint8] | NDArray[np.int16]
    multiplicity: NDArray[np.int64] | None
    intake: Intake
    offsets: NDArray[np.int64]
    _parts: list[Part]
    _found: dict[str, Any]

    def __len__(self) -> int:
        """Return the number of ratings."""
        return self.n_entries if self.multiplicity is None else int(self.multiplicity.sum())

    @property
    def n_items(self) -> int:
        """The number of items, including those with only missing scores."""
        return self.items.height

    @property
    def n_raters(self) -> int:
        """The number of raters, 0 for totals."""
        return self.raters.height

    @property
    def has_raters(self) -> bool:
        """Whether it is known who gave which rating."""
        return self.multiplicity is None

    @property
    def codes_of_raters(self) -> NDArray[np.int32]:
        """The rater of each rating.

        Raises
        ------
        NeedsRatersError
            If the table holds totals.
        """
        if self.rater_codes is None:
            raise NeedsRatersError(
                f"{self.intake.source} holds counts per scale point, but this analysis needs to know who rated. "
                "Give a table with one row per rating."
            )
        return self.rater_codes

    @property
    def crossed(self) -> bool:
        """Whether every rater rated every item."""
        return self.has_raters and len(self) == self.n_items * self.n_raters

    @property
    def n_entries(self) -> int:
        """How many rows the ratings have: one for each, or for as many as ``multiplicity`` says."""
        return int(self.offsets[-1])

    def parts(self) -> Sequence[Part]:
        """Return the ratings in runs of whole items, cut by the data alone: what every lens adds up."""
        if not self._parts:
            self._parts.extend(cut(self.offsets, self.rater_codes, self.scores, self.multiplicity))
        return tuple(self._parts)

    def of_items(self, first: int, last: int) -> Part:
        """Return the ratings of items ``first`` to ``last``, exclusive, as one part."""
        found = [
            one.some(slice(max(first - one.first, 0), min(last - one.first, one.n_items)))
            for one in self._parts_with(first, last)
        ]
        if len(found) == 1:
            return found[0]
        offsets = np.cumsum(np.concatenate([[0], *(np.diff(one.offsets) for one in found)])).astype(np.int64)
        arrays = zip(*((one.raters, one.scores, one.multiplicity) for one in found), strict=True)
        return Part(first, offsets, *map(np.concatenate, arrays))

    def _parts_with(self, first: int, last: int) -> list[Part]:
        """Return the parts that have any of some items, at least one."""
        parts, starts = self.parts(), [one.first for one in self.parts()]
        at = bisect.bisect_right(starts, first) - 1
        return [*parts[at : max(bisect.bisect_left(starts, last), at + 1)]]

    def counts(self) -> NDArray[np.int64]:
        """Return how often each item got each point, items × points."""
        found = np.zeros((self.n_items, len(self.scale)), dtype=np.int64)
        for part in self.parts():
            own, cells = found[part.items].reshape(-1), part.item_of_each() * len(self.scale) + part.scores
            if len(part.multiplicity):
                own[cells] = part.multiplicity
            else:
                own[:] = np.bincount(cells, minlength=len(own))
        return found

    def used(self) -> NDArray[np.int64]:
        """Return how often each point was given."""
        found = np.zeros(len(self.scale), np.int64)
        for part in self.parts():
            each = part.multiplicity if len(part.multiplicity) else None
            found += np.bincount(part.scores, each, len(self.scale)).astype(np.int64)
        return found

    def sizes(self, codes: NDArray[np.int32], n_groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many items the raters of each group rated, and how many ratings they gave."""
        n_items, n_ratings = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
        for part in self.parts():
            group = codes[part.raters]
            inside = group >= 0
            n_ratings += np.bincount(group[inside], minlength=n_groups)
            cells = group[inside].astype(np.int64) * part.n_items + part.item_of_each()[inside]
            if n_groups * part.n_items > 50 * len(cells):  # marking cells would leave most unmarked
                met = np.unique(cells)
            else:
                marked = np.zeros(n_groups * part.n_items, bool)
                marked[cells] = True
                met = np.flatnonzero(marked)
            n_items += np.bincount(met // max(part.n_items, 1), minlength=n_groups)
        return n_items, n_ratings

    def profiles(self, codes: NDArray[np.int32], n_groups: int) -> NDArray[np.int64]:
        """Return how often the raters of each group gave each point, groups × points."""
        found = np.zeros(n_groups * len(self.scale), np.int64)
        for part in self.parts():
            group = codes[part.raters].astype(np.int64)
            cells = (group * len(self.scale) + part.scores)[group >= 0]
            found += np.bincount(cells, minlength=len(found))
        return found.reshape(n_groups, len(self.scale))

    def per_rater(self) -> NDArray[np.int64]:
        """Return how many ratings each rater gave."""

        def counted() -> NDArray[np.int64]:
            found = np.zeros(self.n_raters, np.int64)
            for part in self.parts() if self.has_raters else ():
                found += np.bincount(part.raters, minlength=self.n_raters)
            return found

        return self.once("per rater", counted)

    def once(self, what: str, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return something computed from all ratings on first use; nobody may write to it."""
        if what not in self._found:
            made = make()
            made.flags.writeable = False
            self._found[what] = made
        return np.asarray(self._found[what])
