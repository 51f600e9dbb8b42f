"""Passes over ratings and reference: the responsiveness of all groups of an axis, observed, permuted or resampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.engine.draws import item_weights, rater_weights
from plurivox.engine.grouping import Grouping
from plurivox.engine.intervals import Interval, percentile_interval
from plurivox.engine.pool import batched
from plurivox.engine.run import Values
from plurivox.engine.running import Running
from plurivox.lenses.responsiveness.references import CROWD, Reference
from plurivox.ratings import Ratings
from plurivox.statistics.ties import tie_ranks

STATISTICS = (
    "mpa_raw", "mpa", "wra", "hm", "hm_of_means", "auroc", "kendall_tau_b", "spearman_rho", "average_precision",
)  # fmt: skip
"""In the order of the kernel's values."""
GROUP_SCORES = ("plurality", "median", "mean")
"""How a group's ratings of an item become its score."""
_KEPT = 4_000_000  # bootstrap draws of raters kept in a result, at most
_RATERS_COST = 1e-6  # seconds for one draw of one rater, roughly


class Support(NamedTuple):
    """What the scores of groups or raters rest on, as far as there is a reference.

    ``votes``, groups × points, tells for how many items the group's score was each point.
    """

    votes: Values
    n_items: NDArray[np.int64]
    n_ratings: NDArray[np.int64]

    def of(self, groups: NDArray[np.intp]) -> Support:
        """Return what some groups, in the order given, rest on."""
        return Support(self.votes[groups], self.n_items[groups], self.n_ratings[groups])


@dataclass(frozen=True, slots=True, eq=False)
class Responses:
    """Everything a pass needs, for one grouping of the raters and one reference."""

    ratings: Ratings
    codes: NDArray[np.int32]
    n_groups: int
    reference: Reference
    group_score: str
    ranks: NDArray[np.int32]
    capped: bool
    shuffled: NDArray[np.int64]
    bounds: NDArray[np.int64]
    totals: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        ratings: Ratings,
        codes: NDArray[np.int32],
        n_groups: int,
        reference: Reference,
        *,
        group_score: str = "plurality",
        ties: str = "share",
        seed: int = 0,
        capped: bool = True,
        strata: NDArray[np.int32] | None = None,
        among: NDArray[np.bool_] | None = None,
    ) -> Responses:
        """Prepare the passes; ``strata`` and ``among`` as in :meth:`plurivox.engine.grouping.Grouping.of`."""
        grouping = Grouping.of(ratings, codes, n_groups, strata, among)
        shuffled, bounds = grouping.shuffled, grouping.bounds
        ids = ratings.items["item"].to_list() if ties == "random" else range(ratings.n_items)
        ranks = np.ascontiguousarray(tie_ranks(ids, len(ratings.scale), ties, seed)[:, 0])
        against = reference.on_axis(codes)
        totals = against.totals()
        return cls(ratings, codes, n_groups, against, group_score, ranks, capped, shuffled, bounds, totals)

    def observed(self) -> tuple[Values, Values]:
        """Return the tables, groups × scores × reference points, and the values, groups × :data:`STATISTICS`."""
        tables, values = self._permuted(0, 1, 0)
        return tables, values[0]

    def votes(self) -> Support:
        """Return what each group's scores rest on.

        An item whose only reference ratings are the group's own has no reference for it.
        """
        offsets, places, shares, references = self.entries()
        met = references.sum(axis=1) > 0
        n_points, n_items = len(self.ratings.scale), self.ratings.n_items
        group = places[met, 0].astype(np.int64)
        votes = np.bincount(group * n_points + places[met, 1], shares[met], self.n_groups * n_points)
        item = np.repeat(np.arange(n_items), np.diff(offsets))[met]
        rated = np.unique(group * n_items + item)
        given = self.codes[self.ratings.codes_of_raters].astype(np.int64)
        given = given[np.isin(given * n_items + self.ratings.item_codes, rated) & (given >= 0)]
        return Support(
            votes.reshape(self.n_groups, n_points).astype(float),
            np.bincount(rated // max(n_items, 1), minlength=self.n_groups).astype(np.int64),
            np.bincount(given, minlength=self.n_groups).astype(np.int64),
        )

    def scores(self) -> NDArray[np.int32]:
        """Return each group's score of each item, groups × items: the lowest where points tie, -1 if it has none."""
        offsets, places, _, _ = self.entries()
        item = np.repeat(np.arange(self.ratings.n_items), np.diff(offsets))
        group, point = places[::-1].T  # an item's points are in order, so that the lowest is written last
        found = np.full((self.n_groups, self.ratings.n_items), -1, np.int32)
        found[group, item[::-1]] = point
        return found

    def null(self, permutations: int, seed: int, how: Running) -> Values:
        """Return the values under permutations 1 to ``permutations`` of the raters."""
        return self._batched(lambda first, last: self._permuted(first + 1, last + 1, seed)[1], permutations, how)

    def bootstrap(self, draws: int, seed: int, resample: str, how: Running) -> Values:
        """Return the values when items, raters (within their groups) or both are drawn with replacement.

        The reference's own raters, if they are not among the judged, are not drawn.
        """
        from plurivox.kernels import responsiveness as k

        n_given = np.bincount(self.ratings.codes_of_raters, minlength=self.ratings.n_raters)
        rated = np.where(n_given > 0, self.codes, -1)  # who rated nothing is not drawn either
        if resample == "items":
            entries = self.entries()

            def work(first: int, last: int) -> Values:
                weights = item_weights(self.ratings.n_items, last - first, seed, first).astype(np.int32)
                tables, values = self._room(last - first)
                k.resampled_values(*entries, weights, self.capped, tables, values)
                return values

        else:

            def work(first: int, last: int) -> Values:
                n = last - first
                items = np.zeros((n, 0), dtype=np.int32)
                if resample == "both":
                    items = item_weights(self.ratings.n_items, n, seed, first).astype(np.int32)
                raters = rater_weights(rated, n, seed, first).astype(np.int32)
                tables, values = self._room(n)
                k.weighted_values(*self._given(), raters, items, self.capped, tables, values)
                return values

        return self._batched(work, draws, how)

    def _batched(self, work: Callable[[int, int], Values], total: int, how: Running) -> Values:
        if not total:
            return np.zeros((0, self.n_groups, len(STATISTICS)))
        given = len(self.ratings.scores) + len(self.reference.scores)
        cost = given * 5e-9 + self.n_groups * self.reference.n_points * 2e-7
        width = self.n_groups * len(STATISTICS) + self.ratings.n_items
        return np.concatenate(batched(work, total, how, cost=cost, width=width))

    def _permuted(self, first: int, last: int, seed: int) -> tuple[Values, Values]:
        from plurivox.kernels.responsiveness import permuted_values

        tables, values = self._room(last - first)
        permuted_values(*self._given(), self.shuffled, self.bounds, np.uint64(seed), first, self.capped, tables, values)
        return tables, values

    def _given(self) -> tuple[Any, ...]:
        from plurivox.kernels.responsiveness import Against, Given, Voting

        ratings, reference = self.ratings, self.reference
        same = reference.kind == CROWD and reference.n_points == len(ratings.scale) and bool((self.codes >= 0).all())
        shared = bool((reference.raters >= 0).any())
        voting = Voting(GROUP_SCORES.index(self.group_score), np.array(ratings.scale.values), self.ranks)
        return (
            Given(ratings.offsets, ratings.codes_of_raters, ratings.scores),
            Against(reference.offsets, reference.raters, reference.scores, self.totals, shared, same),
            voting,
            Grouping(self.codes, self.n_groups, self.shuffled, self.bounds).kernel_codes,
        )

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int32], Values, NDArray[np.int32]]:
        """Return each item's votes: where they start, their group and score, their shares, the reference they meet."""
        from plurivox.kernels.responsiveness import write_entries

        offsets = np.zeros(self.ratings.n_items + 1, np.int64)

        def room(n: int) -> tuple[NDArray[np.int32], Values, NDArray[np.int32]]:
            return np.zeros((n, 2), np.int32), np.zeros(n), np.zeros((n, self.reference.n_points), np.int32)

        count = write_entries(*self._given(), self.n_groups, offsets, *room(0))
        entries = room(count)
        write_entries(*self._given(), self.n_groups, offsets, *entries)
        return offsets, *entries

    def _room(self, draws: int) -> tuple[Values, Values]:
        tables = np.zeros((self.n_groups, len(self.ratings.scale), self.reference.n_points))
        return tables, np.zeros((draws, self.n_groups, len(STATISTICS)))


@dataclass(frozen=True, slots=True, eq=False)
class RaterResponses:
    """The same for raters one by one, who have no votes to count: their scores, sorted by rater.

    Attributes
    ----------
    bounds
        The ratings of rater ``r`` are entries ``bounds[r]`` to ``bounds[r + 1]``.
    items, scores
        Of each rating.
    references
        Ratings × reference points: how many reference ratings it meets, the rater's own left out.
    """

    n_points: int
    bounds: NDArray[np.int64]
    items: NDArray[np.int32]
    scores: NDArray[Any]
    references: NDArray[np.int32]
    n_items: int
    capped: bool

    @classmethod
    def of(cls, ratings: Ratings, reference: Reference, *, capped: bool = True) -> RaterResponses:
        """Sort the ratings by rater and find each one's own part in the reference."""
        n_items = ratings.n_items
        order = np.argsort(ratings.codes_of_raters, kind="stable")
        rater, items = ratings.codes_of_raters[order], ratings.item_codes[order]
        references = reference.totals()[items].astype(np.int32)
        inside = reference.raters >= 0
        item = np.repeat(np.arange(n_items), np.diff(reference.offsets))[inside]
        places = _sorted_places(
            rater.astype(np.int64) * n_items + items, reference.raters[inside].astype(np.int64) * n_items + item
        )
        np.subtract.at(references, (places[places >= 0], reference.scores[inside][places >= 0]), 1)
        bounds = np.searchsorted(rater, np.arange(ratings.n_raters + 1)).astype(np.int64)
        return cls(len(ratings.scale), bounds, items, ratings.scores[order], references, n_items, capped)

    def observed(self) -> tuple[Values, Values]:
        """Return the tables, raters × scores × reference points, and the values."""
        from plurivox.kernels.metrics import macro_values
        from plurivox.kernels.responsiveness import rater_tables

        tables = np.zeros((len(self.bounds) - 1, self.n_points, self.references.shape[1]))
        rater_tables(self.bounds, self.items, self.scores, self.references, tables)
        values = np.zeros((len(tables), len(STATISTICS)))
        macro_values(tables, self.capped, values)
        return tables, values

    def votes(self) -> Support:
        """Return what each rater's scores rest on."""
        met = self.references.any(axis=1)
        n_raters = len(self.bounds) - 1
        rater = np.repeat(np.arange(n_raters), np.diff(self.bounds))[met]
        votes = np.bincount(rater * self.n_points + self.scores[met], minlength=n_raters * self.n_points)
        votes = votes.reshape(n_raters, self.n_points)
        n_items = votes.sum(axis=1).astype(np.int64)
        return Support(votes.astype(float), n_items, n_items)

    def bootstrap(self, draws: int, seed: int, how: Running) -> tuple[Interval, Values]:
        """Return intervals with items drawn with replacement, and the draws unless they are too many to keep."""
        from plurivox.kernels.responsiveness import rater_draws

        n_raters = len(self.bounds) - 1
        kept = draws * n_raters * len(STATISTICS) <= _KEPT
        # An item is drawn more than 255 times in a study of fewer than 10^500.
        weights = np.empty((draws, self.n_items), np.uint8)

        def draw(first: int, last: int) -> None:
            weights[first:last] = item_weights(self.n_items, last - first, seed, first)

        quiet = how._replace(progress=None)
        batched(draw, draws, quiet, cost=1e-8 * self.n_items, width=self.n_items)

        def work(first: int, last: int) -> tuple[Values, Values, NDArray[np.int64], Values]:
            values = np.zeros((last - first, len(STATISTICS), draws))
            given = (self.bounds, self.items, self.scores, self.references)
            rater_draws(*given, weights, first, self.n_points, self.capped, values)
            by_draw = np.moveaxis(values, 2, 0)
            low, high, n_undefined = percentile_interval(by_draw)
            return (
                low,
                high,
                n_undefined,
                by_draw if kept else np.zeros((0, *low.shape)),
            )  # no view, which would keep all

        width = max(1, len(STATISTICS) * draws)
        parts = batched(work, n_raters, how, cost=draws * _RATERS_COST, width=width)
        low, high, n_undefined = (np.concatenate([part[at] for part in parts]) for at in range(3))
        return Interval(low, high, n_undefined), np.concatenate([part[3] for part in parts], axis=1)


def _sorted_places(known: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each wanted key is among the known ones, which are sorted and differ; -1 if it is not there."""
    places = np.searchsorted(known, wanted)
    there = places < len(known)
    there[there] = known[places[there]] == wanted[there]
    return np.where(there, places, -1)
