"""Passes over the ratings: the cohesion statistics of all groups of an axis, observed, permuted or resampled."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from plurivox.axis import Axis
from plurivox.engine.bootstrap import item_weights, rater_weights
from plurivox.engine.pool import in_batches, processors
from plurivox.ratings import Ratings
from plurivox.statistics import cohesion_parts as finish
from plurivox.statistics.levels import Level
from plurivox.statistics.ties import tie_priorities

STATISTICS = ("irr", "xrr", "gai", "negentropy", "cross_negentropy", "plurality_size", "voting_agreement")
"""What a pass gives, in the order of the last dimension of its values."""
BESIDE = ("percent_agreement", "ac1", "ac2")
"""What stands beside alpha; the bootstrap gives these, too."""
OF_ONE_SIDE = ("irr", "negentropy", "plurality_size")

Values = NDArray[np.float64]
T = TypeVar("T")
Progress = Callable[[int, int], object]
_CELLS = 2_000_000  # counts held at once
_SECONDS = 0.2  # a batch should take about this long, so that Ctrl-C and progress are prompt


class Running(NamedTuple):
    """How draws are made: on how many threads, by whom, and who is told how far it is."""

    threads: int | None = None
    executor: Executor | None = None
    progress: Progress | None = None


class Parts(NamedTuple):
    """Sums of passes, draws × groups × …; see :mod:`plurivox.kernels.cohesion` for what stands where."""

    sums: Values
    vectors: Values
    matrices: Values


@dataclass(frozen=True, slots=True, eq=False)
class Passes:
    """Everything a pass over the ratings needs, for one grouping of the raters.

    Attributes
    ----------
    codes
        The group of each rater, -1 outside the axis.
    shuffled, bounds
        The raters that a permutation shuffles, stratum by stratum, and where each stratum starts.
    """

    ratings: Ratings
    codes: NDArray[np.int32]
    n_groups: int
    level: Level
    published: bool
    ranks: NDArray[np.int32]
    shuffled: NDArray[np.int64]
    bounds: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        ratings: Ratings,
        codes: NDArray[np.int32],
        n_groups: int,
        *,
        level: Level = "nominal",
        published: bool = False,
        ties: str = "share",
        seed: int = 0,
        strata: NDArray[np.int32] | None = None,
        among: NDArray[np.bool_] | None = None,
    ) -> Passes:
        """Prepare the passes.

        Parameters
        ----------
        strata, among
            See :func:`shuffling`.
        """
        shuffled, bounds = shuffling(ratings, codes, strata, among)
        return cls(ratings, codes, n_groups, level, published, tie_ranks(ratings, ties, seed), shuffled, bounds)

    def observed(self) -> Parts:
        """Return the parts of the raters as they are."""
        return self._permuted(0, 1, 0)

    def values(self, parts: Parts) -> Values:
        """Finish parts into values, draws × groups × :data:`STATISTICS`."""
        from plurivox.kernels import cohesion as k

        sums, vectors, matrices = parts
        scalar = [sums[..., i] for i in range(k.N_SUMS)]
        vector = [vectors[..., i, :] for i in range(k.N_VECTORS)]
        numbers = np.array(self.ratings.scale.values)
        if isinstance(self.level, str) and self.level == "nominal":
            irr = finish.alpha_nominal_from(scalar[k.COINCIDENT], vector[k.MARGINALS], self_pairs=scalar[k.SELF_PAIRS])
            xrr = finish.xrr_nominal_from(scalar[k.CROSSED], vector[k.OWN], vector[k.REST])
        else:
            within, across = matrices[..., k.COINCIDENCES, :, :], matrices[..., k.CROSSINGS, :, :]
            irr = finish.alpha_from(within, self.level, numbers, self_pairs=scalar[k.SELF_PAIRS])
            xrr = finish.xrr_from(across, vector[k.OWN], vector[k.REST], self.level, numbers)
        n_points = len(self.ratings.scale)
        found = {
            "irr": irr,
            "xrr": xrr,
            "gai": finish.gai_from(irr, xrr),
            "negentropy": finish.negentropy_from(scalar[k.ENTROPY], scalar[k.RATED], n_points),
            "cross_negentropy": finish.negentropy_from(scalar[k.CROSS_ENTROPY], scalar[k.SHARED], n_points),
            "plurality_size": finish.mean_from(scalar[k.PLURALITY], scalar[k.RATED]),
            "voting_agreement": finish.voting_from(scalar[k.SAME_VOTE], vector[k.OWN_VOTES], vector[k.REST_VOTES]),
        }
        return np.stack([found[name] for name in STATISTICS], axis=-1)

    def null(self, permutations: int, seed: int, how: Running) -> Values:
        """Return the values under permutations 1 to ``permutations`` of the raters."""

        def work(first: int, last: int) -> Values:
            return self.values(self._permuted(first + 1, last + 1, seed))

        return self._batched(work, permutations, how)

    def bootstrap(self, draws: int, seed: int, resample: str, how: Running) -> Values:
        """Return the values when items, raters (within their groups) or both are drawn with replacement.

        The last dimension has :data:`STATISTICS`, then :data:`BESIDE`.
        """

        def work(first: int, last: int) -> Values:
            n = last - first
            items = raters = np.zeros((n, 0), dtype=np.int32)
            if resample in ("items", "both"):
                items = item_weights(self.ratings.n_items, n, seed, first).astype(np.int32)
            if resample in ("raters", "both"):
                raters = rater_weights(self.codes, n, seed, first).astype(np.int32)
            if known is None:
                beside = [self.beside(raters[d], items[d]) for d in range(n)]
            else:  # draw by draw and not by a matrix product, whose order of adding depends on the machine
                beside = [self._beside_from(np.einsum("i,igk->gk", items[d].astype(float), known)) for d in range(n)]
            return np.concatenate([self.values(self._weighted(raters, items)), np.stack(beside)], axis=-1)

        # What items add does not change when items are drawn, so it is counted once if there is room.
        known = None
        if resample == "items" and self.ratings.n_items * self.n_groups * (4 + len(self.ratings.scale)) <= 10 * _CELLS:
            known = self._beside_parts(np.zeros(0, np.int32), 0, self.ratings.n_items)
        return self._batched(work, draws, how)

    def beside(self, raters: NDArray[np.int32], items: NDArray[np.int32]) -> Values:
        """Return percent agreement, AC1 and AC2, groups × :data:`BESIDE`, under weights; none mean 1."""
        sums = np.zeros((self.n_groups, 4 + len(self.ratings.scale)))
        step = max(1, _CELLS // ((self.n_groups + 1) * len(self.ratings.scale)))
        for first in range(0, self.ratings.n_items, step):
            parts = self._beside_parts(raters, first, min(first + step, self.ratings.n_items))
            times = items[first : first + step].astype(float) if len(items) else np.ones(len(parts))
            sums += np.einsum("i,igk->gk", times, parts)
        return self._beside_from(sums)

    def _beside_parts(self, raters: NDArray[np.int32], first: int, last: int) -> Values:
        """Return what items add: items × groups × (agreeing share, the same by near misses, pairable, rated, shares).

        A rater of weight w counts w times but pairs with others only, as in the weighted alpha: of an item with
        weights W = Σw and Q = Σw², the agreeing share of pairs is (Σ_ck v_ck n_c n_k − Q)/(W² − Q).
        """
        numbers = np.array(self.ratings.scale.values)
        apart = (numbers[:, None] - numbers) / (numbers[-1] - numbers[0])
        n, q = self._weighted_counts(raters, first, last)
        total = n.sum(axis=-1)
        pairs = total**2 - q
        per_pair = (pairs > 0) / np.where(pairs > 0, pairs, 1)
        agreeing, nearly = (
            per_pair * ((n * (n @ near)).sum(axis=-1) - q) for near in (np.eye(len(numbers)), 1 - apart**2)
        )
        scalars = np.stack([agreeing, nearly, pairs > 0, total > 0], axis=-1)
        return np.concatenate([scalars, n / np.maximum(total, 1)[..., None]], axis=-1)

    def _beside_from(self, sums: Values) -> Values:
        agreeing, nearly, pairable, rated = sums[:, :4].T
        numbers = np.array(self.ratings.scale.values)
        return np.stack(
            [
                finish.mean_from(agreeing, pairable),
                finish.ac_from(agreeing, pairable, rated, sums[:, 4:]),
                finish.ac_from(nearly, pairable, rated, sums[:, 4:], numbers),
            ],
            axis=-1,
        )

    def _weighted_counts(self, raters: NDArray[np.int32], first: int, last: int) -> tuple[Values, Values]:
        """Return Σw by item, group and point, and Σw² by item and group."""
        ratings = self.ratings
        entries = slice(ratings.offsets[first], ratings.offsets[last])
        who = ratings.codes_of_raters[entries]
        shape = (last - first, self.n_groups + 1, len(ratings.scale))
        cells = (ratings.item_codes[entries].astype(np.int64) - first) * shape[1] + self._groups()[who]
        weight = raters[who].astype(float) if len(raters) else np.ones(len(who))
        n: Values = np.bincount(cells * shape[2] + ratings.scores[entries], weight, math.prod(shape)).astype(float)
        q: Values = np.bincount(cells, weight**2, shape[0] * shape[1]).astype(float)
        return n.reshape(shape)[:, :-1], q.reshape(shape[:2])[:, :-1]

    def _batched(self, work: Callable[[int, int], Values], total: int, how: Running) -> Values:
        if not total:
            return np.zeros((0, self.n_groups, len(STATISTICS)))
        cost = len(self.ratings.scores) * 3e-9 + self.ratings.n_items * min(self.n_groups, 50) * 5e-8
        width = self.n_groups * len(self.ratings.scale) * (7 + 2 * len(self.ratings.scale) * self._with_matrices)
        return np.concatenate(batched(work, total, how, cost=cost, width=width))

    @property
    def _with_matrices(self) -> bool:
        return not (isinstance(self.level, str) and self.level == "nominal")

    def _groups(self) -> NDArray[Any]:
        """Return the codes as the kernel wants them: those outside in one more group at the end."""
        return kernel_groups(self.codes, self.n_groups)

    def _empty(self, draws: int) -> Parts:
        from plurivox.kernels import cohesion as k

        n_points = len(self.ratings.scale)
        n_matrices = self.n_groups if self._with_matrices else 0
        return Parts(
            np.zeros((draws, self.n_groups, k.N_SUMS)),
            np.zeros((draws, self.n_groups, k.N_VECTORS, n_points)),
            np.zeros((draws, n_matrices, k.N_MATRICES, n_points, n_points)),
        )

    def _permuted(self, first: int, last: int, seed: int) -> Parts:
        from plurivox.kernels.cohesion import make_tables, permuted_passes

        ratings, parts = self.ratings, self._empty(last - first)
        most = int(np.diff(ratings.offsets).max(initial=0))
        permuted_passes(
            ratings.offsets, ratings.codes_of_raters, ratings.scores, self._groups(), self.shuffled, self.bounds,
            np.uint64(seed), first, most, *make_tables(most, len(ratings.scale)), self.published, self.ranks, *parts,
        )  # fmt: skip
        return parts

    def _weighted(self, raters: NDArray[np.int32], items: NDArray[np.int32]) -> Parts:
        from plurivox.kernels.cohesion import make_tables, weighted_passes

        ratings, parts = self.ratings, self._empty(len(raters))
        most = int(np.diff(ratings.offsets).max(initial=0)) * int(raters.max(initial=1))
        weighted_passes(
            ratings.offsets, ratings.codes_of_raters, ratings.scores, self._groups(), raters, items,
            *make_tables(most, len(ratings.scale)), self.published, self.ranks, *parts,
        )  # fmt: skip
        return parts


def strata_of(ratings: Ratings, within: str | tuple[str, ...] | None) -> NDArray[np.int32] | None:
    """Return a stratum for each rater; those without a value make one of their own."""
    return None if within is None else Axis.of(ratings, within, min_group_size=1).codes


def shuffling(
    ratings: Ratings,
    codes: NDArray[np.int32],
    strata: NDArray[np.int32] | None = None,
    among: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the raters that a permutation shuffles, stratum by stratum, and where each stratum starts.

    Parameters
    ----------
    strata
        A stratum for each rater, within which raters are shuffled; all together without it.
    among
        Which raters to shuffle; those with a group without it. A rater without ratings is never shuffled.
    """
    rated = np.bincount(ratings.codes_of_raters, minlength=ratings.n_raters) > 0
    chosen = np.flatnonzero((codes >= 0) & rated if among is None else among & rated)
    own = np.zeros(ratings.n_raters, np.int32) if strata is None else strata
    shuffled = chosen[np.argsort(own[chosen], kind="stable")]
    starts = np.flatnonzero(np.diff(own[shuffled])) + 1
    return shuffled.astype(np.int64), np.concatenate(([0], starts, [len(shuffled)])).astype(np.int64)


def kernel_groups(codes: NDArray[np.int32], n_groups: int) -> NDArray[Any]:
    """Return the codes as kernels want them: those outside in one more group at the end."""
    return np.where(codes < 0, n_groups, codes).astype(np.uint8 if n_groups < 255 else np.int32)


def batched(work: Callable[[int, int], T], total: int, how: Running, *, cost: float, width: int) -> list[T]:
    """Make draws in batches of a size that keeps Ctrl-C and progress prompt and memory small.

    Parameters
    ----------
    cost, width
        Seconds that a draw takes, roughly, and how many numbers it holds at once.
    """
    spread = -(-total // (4 * (how.threads or processors())))  # enough batches to keep every thread busy to the end
    batch = max(1, min(int(_SECONDS / cost), int(_CELLS / width), spread))
    return in_batches(work, total, batch=batch, threads=how.threads, executor=how.executor, progress=how.progress)


def tie_ranks(ratings: Ratings, ties: str, seed: int) -> NDArray[np.int32]:
    """Return for each item, side and point the rank by which a tie is decided; none if tied points share."""
    n_points = len(ratings.scale)
    if ties == "share":
        return np.zeros((0, 2, n_points), dtype=np.int32)
    if ties == "lowest":
        lowest = np.arange(n_points, 0, -1, dtype=np.int32)
        return np.ascontiguousarray(np.broadcast_to(lowest, (ratings.n_items, 2, n_points)))
    ids = ratings.items["item"].to_list()
    both = [tie_priorities(ids, n_points, seed=seed, side=side) for side in (0, 1)]
    priorities = np.stack(both, axis=1)
    return np.argsort(np.argsort(priorities, axis=-1), axis=-1).astype(np.int32)
