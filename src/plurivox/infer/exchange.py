"""Who may be exchanged with whom: raters who saw the same items, or all if groups and assignment are not entangled.

Shuffling profiles asks what a study would look like if raters were exchangeable given the items they saw. If raters
were assigned in batches, that holds only within a batch; if items and groups go together, it does not hold at all, and
no difference may be claimed::

    items      1 2 3 4 5 6
    rater a    x x x . . .    a and b saw the same items: a block, within which profiles may change hands
    rater b    x x x . . .
    rater c    . . . x x x    c and d are another block; shuffling a with c would give a's scores to other items
    rater d    . . . x x x

Where at least nine in ten raters are in blocks, only blocks are shuffled, and the null hypothesis is true of any
assignment. Otherwise all raters are shuffled, which is valid only if who rated what does not depend on the group; that
is tested (:func:`entanglement`) under the same shuffles, and where it fails, nothing is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import Axis
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums, Values, run, total
from plurivox.infer.families import ALL_DRAWS, DrawPlan, Looks
from plurivox.infer.grouping import Grouping, raters_who_rated
from plurivox.infer.permutation import upper_p

ALIKE = 0.9
"""Any two raters of a block share at least this part of the items that either of them saw (Jaccard's index)."""
COVERED = 0.9
"""At least this part of the raters must be in blocks of two or more."""
MOST_SETS = 20_000
"""The most distinct sets of items for which blocks are looked for."""
MOST_STEPS = 1_000_000_000
"""The most steps it may take to see that most raters share their items with nobody."""
MOST_PAIRS, BLOCK, MOST_CELLS = 20_000_000, 100_000, 200_000_000
"""How many pairs of sets are looked at individually, how many at a time, and how large a table of all sets may be."""
ENTANGLED = 0.01
"""Up to this p, who rated what depends on the group."""
ALONE = "no rater of another group shares its {where}, so there is nobody to exchange it with"

Within = tuple[str, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """Who is shuffled with whom in a call.

    Attributes
    ----------
    kind
        ``"all"`` raters, those in ``"blocks"`` who saw the same items, or those ``"within"`` given attributes.
    strata
        A number for each rater; raters with the same number are shuffled. None for all together.
    n_blocks, n_fixed
        How many strata have two raters or more, and how many raters stay put.
    within
        The given attributes.
    """

    kind: Literal["all", "blocks", "within"]
    strata: NDArray[np.int32] | None
    n_blocks: int
    n_fixed: int
    within: tuple[str, ...] = ()

    @classmethod
    def of(cls, ratings: Ratings, within: Within = ("auto",)) -> Exchange:
        """Find who may be exchanged: by the items they saw (``auto``), within attributes, or all (None)."""
        if within is None or not ratings.has_raters:
            return cls("all", None, 1, 0)
        rated = raters_who_rated(ratings)
        if within == ("auto",):
            blocks = blocks_of(ratings)
            if blocks is None:
                return cls("all", None, 1, 0)
            sizes = np.bincount(blocks[rated])
            n_blocks = int(np.count_nonzero(sizes > 1))
            strata = None if n_blocks == 1 and sizes.max() == np.count_nonzero(rated) else blocks
            return cls("blocks", strata, n_blocks, int(np.count_nonzero(sizes == 1)))
        strata = Axis.of(ratings, within, min_group_size=1).codes
        sizes = np.unique(strata[rated], return_counts=True)[1]
        return cls("within", strata, int(np.count_nonzero(sizes > 1)), int(np.count_nonzero(sizes == 1)), within)

    def finer(self, codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return strata within which raters also share another code."""
        own = np.zeros(len(codes), np.int64) if self.strata is None else self.strata.astype(np.int64)
        together = np.unique(np.stack([own, codes.astype(np.int64)]), axis=1, return_inverse=True)[1]
        return together.reshape(-1).astype(np.int32)

    @property
    def alone(self) -> str:
        """Why a group has no p-value if nobody can be exchanged with its raters."""
        return ALONE.format(where="block of raters who saw the same items" if self.kind == "blocks" else "stratum")

    def check(
        self, ratings: Ratings, grouping: Grouping, permutations: int, seed: int, how: Running,
        before: Entanglement | None = None,
    ) -> Entanglement | None:  # fmt: skip
        """Return how far who rated what depends on the group; None if blocks take care of it, or nothing is shuffled.

        If ``before`` was found for other groups of the same axis, the smaller p-values count.
        """
        if self.kind == "blocks" or not permutations:
            return before
        found = entanglement(ratings, grouping, permutations, seed, how)
        return found if before is None else Entanglement(*map(min, found, before))

    def as_dict(self) -> dict[str, Any]:
        """Return what a result keeps."""
        return {"kind": self.kind, "blocks": self.n_blocks, "raters_fixed": self.n_fixed, "within": list(self.within)}


class Entanglement(NamedTuple):
    """How far who rated what depends on the group, as p-values under the shuffles of the call."""

    exposure: float
    """p of the χ² of items × groups."""
    workload: float
    """p of the variance between groups of how much their raters rated."""

    @property
    def entangled(self) -> bool:
        """Whether no difference may be claimed."""
        return self.exposure <= ENTANGLED or self.workload <= ENTANGLED

    def as_dict(self) -> dict[str, Any]:
        """Return what a result keeps."""
        return {**self._asdict(), "entangled": self.entangled}


def entanglement(
    ratings: Ratings, grouping: Grouping, permutations: int, seed: int, how: Running, looks: Looks = ALL_DRAWS
) -> Entanglement:
    """Return how far items and workload depend on the group, under the same shuffles as every test of the call.

    With n_ig ratings of item i by group g, their sums n_i, n_g and n, and R_g raters::

        χ² = Σ_ig (n_ig − n_i n_g / n)² / (n_i n_g / n) = n · Σ_g Σ_i n_ig² / n_i / n_g − n
        workload: Σ_g n_g² / R_g, which grows with the variance between groups of ratings per rater
    """
    work = Exposure(grouping, ratings.per_rater(), max(ratings.n_entries, 1) * 3e-9)
    parts = ratings.parts()
    observed = work.statistics(total(parts, work))[0]
    null = np.zeros((0, 2))

    def step(made: int, wanted: int) -> tuple[Values, Values]:
        nonlocal null
        some = Draws.permuted(permutations, seed).between(made, wanted)
        null = np.concatenate([null, *run(parts, work, some, work.statistics, how)])
        return upper_p(observed, null), np.zeros(0)

    looked = DrawPlan(permutations, permutations, looks=looks).run(step)[0]
    exposure, workload = looks.told(looked, len(null)).tolist()
    return Entanglement(exposure, workload)


def count_type(part: Part) -> NDArray[Any]:
    """Return an empty array of the smallest type that can count the ratings of any item of a part."""
    most = int(np.diff(part.offsets).max(initial=0))
    return np.zeros(0, np.uint8 if most < 256 else np.uint16 if most < 65_536 else np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class Exposure:
    """The contribution of a part: for each group Σ n_ig²/n_i and, in the first part, how much its raters rated."""

    grouping: Grouping
    per_rater: NDArray[np.int64]
    cost: float

    @property
    def width(self) -> int:
        """How many numbers a draw holds."""
        return 5 * self.grouping.n_groups + len(self.grouping.codes)

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part, for each draw."""
        from plurivox.kernels.variation import add_labelled, add_squares

        own, shape = self.grouping, (draws.total, self.grouping.n_groups)
        labels = own.labels(draws)
        squares, ratings = np.zeros((*shape, 2)), np.zeros((*shape, 1))
        add_squares(part.offsets, part.raters, labels, *own.sixteens_if_many(draws), count_type(part), squares)
        if part.first == 0:  # a sum over raters, which the parts share
            add_labelled(labels, self.per_rater.astype(float)[:, np.newaxis], ratings)
        return Sums(exposure=np.concatenate([squares[..., :1], ratings], axis=-1))

    def statistics(self, sums: Sums) -> Values:
        """Return χ² and the variance of workload, up to constants under shuffles, draws × 2."""
        squares, ratings = np.moveaxis(sums["exposure"], -1, 0)
        codes = self.grouping.codes
        raters = np.bincount(codes[codes >= 0], minlength=self.grouping.n_groups)
        chi = np.divide(squares, ratings, out=np.zeros_like(squares), where=ratings > 0).sum(axis=-1)
        workload = (ratings**2 / np.maximum(raters, 1)).sum(axis=-1)
        return np.stack([chi, workload], axis=-1)


def blocks_of(ratings: Ratings) -> NDArray[np.int32] | None:
    """Return the block of each rater; raters of a block saw nearly the same items. None if too few raters are in any.

    Raters with the same set of items are together; sets are joined by complete linkage, so that any two of a block are
    alike. Raters who rated nothing are in no block and have the number -1. First those are counted whose items nearly
    match nobody else's: if they are too many, or if counting takes long, the rest is not worth the time.
    """
    from plurivox.kernels.variation import alone

    signs = signs_of(ratings.parts(), ratings.n_raters)
    rated = raters_who_rated(ratings)
    who = np.flatnonzero(rated)
    _, first, place, count = np.unique(signs[who], return_index=True, return_inverse=True, return_counts=True)
    n_rated = len(who)
    if n_rated == 0 or len(first) > MOST_SETS:
        return None
    order = np.argsort(first)
    members = np.full(ratings.n_raters, -1, np.int64)
    members[who] = np.argsort(order)[place]
    offsets, owners = _one_of_each(ratings, who[first[order]])
    most = math.floor((1 - COVERED) * n_rated + 1e-9)
    if alone(offsets, owners, count[order] > 1, ALIKE - 1e-9, most, np.int64(MOST_STEPS)) > most:
        return None
    sets = _sets(offsets, owners, len(order))
    linked = np.zeros(len(sets), np.int64) if len(sets) == 1 else _linked(sets, ratings.n_items)
    blocks = np.where(rated, linked[members], -1)
    sizes = np.bincount(blocks[rated])
    if sizes[sizes > 1].sum() < COVERED * n_rated:
        return None
    # Blocks are numbered by their first rater, so that nothing depends on how sets were sorted.
    _, first, place = np.unique(blocks[rated], return_index=True, return_inverse=True)
    blocks[rated] = np.argsort(np.argsort(first))[place]
    return blocks.astype(np.int32)


def signs_of(parts: Sequence[Part], n_raters: int) -> NDArray[np.uint64]:
    """Return a number for each rater that is the same for those who rated the same items."""
    from plurivox.kernels.variation import add_signs

    signs = np.zeros(n_raters, np.uint64)
    for part in parts:
        add_signs(part.first, part.offsets, part.raters, signs)
    return signs


def _one_of_each(ratings: Ratings, chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the ratings of some raters, by each rater's index among them, and where those of each item begin."""
    place = np.full(ratings.n_raters, -1, np.int32)
    place[chosen] = np.arange(len(chosen))
    owners, sizes = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)]
    for part in ratings.parts():
        own = place[part.raters]
        owners.append(own[own >= 0])
        sizes.append(np.bincount(part.item_of_each()[own >= 0], minlength=part.n_items))
    return np.cumsum(np.concatenate(sizes)), np.concatenate(owners)


def _sets(offsets: NDArray[np.int64], owners: NDArray[np.int32], n_owners: int) -> list[NDArray[np.int32]]:
    """Return the items of each owner, in order."""
    items = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    ends = np.cumsum(np.bincount(owners, minlength=n_owners))
    return np.split(items[np.argsort(owners, kind="stable")], ends[:-1])


def _linked(sets: list[NDArray[np.int32]], n_items: int) -> NDArray[np.int64]:
    """Return the block of each set: complete linkage, cut where two sets would share less than :data:`ALIKE`."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first, second, distance = _close_pairs(sets, n_items)
    n = len(sets)
    _, component = connected_components(coo_array((np.ones(len(first)), (first, second)), shape=(n, n)), directed=False)
    linked = np.arange(n) + n  # alone, unless below
    edge = component[first]
    for number in np.unique(edge):
        own = np.flatnonzero(component == number)
        mine = edge == number
        if 2 * np.count_nonzero(mine) == len(own) * (len(own) - 1):
            linked[own] = own[0]
            continue
        place = np.full(n, -1)
        place[own] = np.arange(len(own))
        condensed = np.ones(len(own) * (len(own) - 1) // 2)
        a, b = place[first[mine]], place[second[mine]]
        condensed[a * len(own) - a * (a + 1) // 2 + b - a - 1] = distance[mine]
        cut = fcluster(linkage(condensed, "complete"), (1 - ALIKE) * (1 + 1e-9), "distance")
        for cluster in np.unique(cut):
            together = own[cut == cluster]
            linked[together] = together[0]
    return linked


Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def _close_pairs(sets: list[NDArray[np.int32]], n_items: int) -> Pairs:
    """Return every pair of similar sets, the first before the second, and their Jaccard distance.

    Two sets that share so much share at least one of the few rarest items of either, so only pairs that do are
    looked at; if most do, all sets are compared at once.
    """
    sizes = np.array([len(one) for one in sets])
    table = _table(sets, n_items)
    rank = np.argsort(np.argsort(np.asarray(table.sum(axis=0)).ravel(), kind="stable"))
    rarest = [one[np.argsort(rank[one])[: len(one) - math.ceil(ALIKE * len(one) - 1e-9) + 1]] for one in sets]
    few = _table(rarest, n_items)
    if float((np.asarray(few.sum(axis=0), dtype=float) ** 2).sum()) > MOST_PAIRS:
        return _all_pairs(table, sizes)
    pairs = (few @ few.T).tocoo()
    later = pairs.col > pairs.row
    first, second = pairs.row[later].astype(np.int64), pairs.col[later].astype(np.int64)
    some = [slice(at, at + BLOCK) for at in range(0, len(first), BLOCK)]
    shared = (table[first[one]].multiply(table[second[one]]).sum(axis=1) for one in some)
    common = np.concatenate([np.zeros(0), *(np.asarray(one, dtype=np.float64).ravel() for one in shared)])
    jaccard = common / (sizes[first] + sizes[second] - common)
    close = jaccard >= ALIKE - 1e-9
    return first[close], second[close], 1.0 - jaccard[close]


def _table(sets: list[NDArray[np.int32]], n_items: int) -> Any:
    """Return sets × items, 1 where a set has an item."""
    from scipy.sparse import csr_array

    offsets = np.concatenate(([0], np.cumsum([len(one) for one in sets])))
    return csr_array((np.ones(offsets[-1], np.float32), np.concatenate(sets), offsets), shape=(len(sets), n_items))


def _all_pairs(table: Any, sizes: NDArray[np.int64]) -> Pairs:
    """Return the same by comparing every set with every other, some at a time; counts in float32 are exact."""
    n_sets, n_items = table.shape
    dense = table.nnz > 0.02 * n_sets * n_items and n_sets * n_items <= MOST_CELLS
    right = table.toarray().T if dense else table.T.tocsr()
    found = []
    for start in range(0, n_sets, 512):
        left = table[start : start + 512]
        common = left.toarray() @ right if dense else (left @ right).toarray()
        jaccard = common / (sizes[start : start + 512, np.newaxis] + sizes - common)
        a, b = np.nonzero(jaccard >= ALIKE - 1e-9)
        later = b > a + start
        found.append((a[later] + start, b[later], 1.0 - jaccard[a[later], b[later]].astype(np.float64)))
    first, second, distance = (np.concatenate(each) for each in zip(*found, strict=True))
    return first, second, distance
