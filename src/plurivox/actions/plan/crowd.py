"""What simulated raters are like: a crowd that agrees and differs as much as that of a study.

A rater's latent score of an item is its severity, plus the rater's leniency, plus noise, which is larger for some
raters than for others; cuts turn it into points::

    x = √ρ·θ_i + √β·b_r + σ_r·ε,    σ_r = √(1 − ρ − β)·exp(τ·t_r − τ²),    all of θ, b, t, ε standard normal

The cuts give each point as often as in the study. ρ is chosen so that ordinal alpha equals that of the study, β so that
each rater agrees with themselves across items as much as in the study, and τ (see :mod:`plurivox.actions.plan.power`)
so that random groups of raters differ in their GAI as much as in the study.

Members of a cohesive group share a view of their own, κ·v_i, which is added to what everybody sees in item i. So they
agree with each other more, and with others less: IRR grows, XRR falls, and κ is chosen to give the wanted GAI =
IRR/XRR. This is one kind of cohesion. Groups may be alike in other ways that are easier or harder to find.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.infer.exchange import Exchange
from plurivox.infer.grouping import Grouping, raters_who_rated
from plurivox.lenses.cohesion.sums import Agreement, AgreementValues
from plurivox.statistics import krippendorff_alpha
from plurivox.statistics.records import About
from plurivox.statistics.registry import STATISTICS

MOST_POINTS = 8
"""Longer scales are simulated with this many points, which saves time and changes little."""
WIDEST_VIEW = 5.0
"""The largest standard deviation of a group's view, in units of that of all latent scores."""
_MOST_SHARED = 0.97  # of a score's variance that items and leniency may have, so that noise is left
_STEPS = 20
_GRID = np.linspace(-8, 8, 641)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Crowd:
    """What simulated raters draw their scores from.

    Attributes
    ----------
    shares
        How often each point is given.
    agreement, repeated
        Ordinal alpha of raters on the same item, and of items by the same rater; NaN where undefined.
    items, leniency
        ρ and β, the parts of a latent score's variance.
    unequal
        τ, how far raters differ in their noise.
    cuts
        Between the points.
    """

    shares: tuple[float, ...]
    agreement: float
    repeated: float
    items: float = 0.0
    leniency: float = 0.0
    unequal: float = 0.0
    cuts: tuple[float, ...] = ()

    @classmethod
    def of(cls, ratings: Ratings) -> Crowd:
        """Learn from a study how points are used, and how much raters agree with each other and with themselves."""
        place = coarse(np.bincount(ratings.scores, minlength=len(ratings.scale)))
        n_points = int(place.max()) + 1
        scores = place[ratings.scores]
        shares = np.bincount(scores, minlength=n_points) / max(len(scores), 1)
        units = ((ratings.item_codes, ratings.n_items), (ratings.codes_of_raters, ratings.n_raters))
        agreement, repeated = (
            krippendorff_alpha(
                np.bincount(unit.astype(np.int64) * n_points + scores, minlength=n * n_points).reshape(-1, n_points),
                "ordinal",
            )
            for unit, n in units
        )
        return cls(tuple(shares.tolist()), agreement, repeated).fitted(0.0)

    @property
    def noise(self) -> float:
        """The part of a latent score's variance that is noise, on average over raters."""
        return 1.0 - self.items - self.leniency

    def fitted(self, unequal: float) -> Crowd:
        """Return the crowd with raters whose noise differs this much, and everything else as in the study."""
        crowd = replace(self, unequal=unequal, items=max(self.agreement, 0.0), leniency=max(self.repeated, 0.0))
        if not self.agreement > 0:
            return crowd
        for _ in range(3):  # each depends little on the other
            crowd = crowd._solved("items", self.agreement, Crowd.alpha)
            crowd = crowd._solved("leniency", self.repeated, Crowd.alpha_of_raters)
        return crowd._cut()

    def alpha(self) -> float:
        """Return ordinal alpha of very many raters."""
        x, w = _normal(21)
        noises, frequent = self._noises()
        points = self._points(math.sqrt(self.items) * x[:, None], np.sqrt(self.leniency + noises**2))
        heights = self._heights(np.array(self.shares))
        return _explained(frequent @ points @ heights, w, heights, np.array(self.shares))

    def alpha_of_raters(self) -> float:
        """Return ordinal alpha of very many items by the same rater."""
        x, w = _normal(15)
        noises, weight = self._noises()
        points = self._points(math.sqrt(self.leniency) * x[:, None], np.sqrt(self.items + noises**2))
        heights = self._heights(np.array(self.shares))
        return _explained(points @ heights, w[:, None] * weight, heights, np.array(self.shares))

    def gai(self, view: float) -> float:
        """Return the GAI of a very large group among very many raters if its view has this standard deviation."""
        (group, rest), (points, weight), others = self._seen(view)
        heights = self._heights(group)
        irr = _explained(points @ heights, weight, heights, group)
        heights = self._heights((group + rest) / 2)
        own, other = points @ heights, others @ heights
        means = (float((own * weight).sum()), float((other * weight).sum()))
        squares = float(group @ heights**2 + rest @ heights**2)
        chance = squares - 2 * means[0] * means[1]
        return irr / (1 - (squares - 2 * float((own * other * weight).sum())) / chance)

    def view(self, gai: float) -> float:
        """Return the standard deviation of a group's view that gives the wanted GAI."""
        return _bisected(lambda view: self.gai(view) < gai, 0.0, WIDEST_VIEW)

    def _seen(self, view: float) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats], Floats]:
        """Return how often a group and others give each point, in total and by what is seen in an item.

        The second is severity × view × points for the group with the weight of each, the third the same for others.
        """
        x, w = _normal(21)
        noises, frequent = self._noises()
        severity = math.sqrt(self.items) * x
        sd = np.sqrt(self.leniency + noises**2)
        own = np.einsum("tvkc,k->tvc", self._points((severity[:, None] + view * x)[..., None], sd), frequent)
        others = np.einsum("tkc,k->tc", self._points(severity[:, None], sd), frequent)
        weight = w[:, None] * w
        shares = np.einsum("tvc,tv->c", own, weight), w @ others
        return shares, (own, weight), np.broadcast_to(others[:, None], own.shape)

    def _solved(self, name: str, wanted: float, alpha: Callable[[Crowd], float]) -> Crowd:
        """Return the crowd with the part of variance that gives the wanted alpha."""

        def having(part: float) -> Crowd:
            share: dict[str, Any] = {name: part}
            return replace(self, **share)._cut()

        other = self.leniency if name == "items" else self.items
        if not wanted > 0:
            return having(0.0)
        return having(_bisected(lambda part: alpha(having(part)) < wanted, 0.0, max(_MOST_SHARED - other, 0.0)))

    def _noises(self) -> tuple[Floats, Floats]:
        """Return standard deviations of raters' noise, and how frequent they are."""
        t, w = _normal(7)
        return np.sqrt(max(self.noise, 0.0)) * np.exp(self.unequal * t - self.unequal**2), w

    def _cut(self) -> Crowd:
        """Return the crowd with cuts that give each point as often as wanted."""
        noises, weight = self._noises()
        sd = np.sqrt(self.items + self.leniency + noises**2)
        share = _below(_GRID[:, None] / sd) @ weight
        return replace(self, cuts=tuple(np.interp(np.cumsum(self.shares)[:-1], share, _GRID).tolist()))

    def _points(self, mean: Floats, sd: Floats) -> Floats:
        """Return how often each point is given around a mean, in a last dimension."""
        ends = (np.array(self.cuts) - mean[..., None]) / np.maximum(sd, 1e-9)[..., None]
        return np.diff(_below(ends), axis=-1, prepend=0.0, append=1.0)

    @staticmethod
    def _heights(shares: Floats) -> Floats:
        """Return the mid-ranks of points, between which ordinal distances are."""
        return np.asarray(np.cumsum(shares) - shares / 2)


def _explained(score: Floats, weight: Floats, heights: Floats, shares: Floats) -> float:
    """Return the share of the variance of scores that is due to expected scores."""
    whole = float(shares @ heights**2 - (shares @ heights) ** 2)
    mean = float((score * weight).sum())
    return float(((score - mean) ** 2 * weight).sum() / whole) if whole > 0 else math.nan


def coarse(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each point of a scale its place on a shorter one; a short scale keeps its points.

    Examples
    --------
    >>> coarse(np.array([5, 0, 3])).tolist(), int(coarse(np.ones(100, np.int64)).max()) + 1
    ([0, 1, 2], 8)
    """
    n_points = len(counts)
    if n_points <= MOST_POINTS:
        return np.arange(n_points)
    middle = (np.cumsum(counts) - counts / 2) / max(counts.sum(), 1)
    return np.unique(np.minimum((middle * MOST_POINTS).astype(np.int64), MOST_POINTS - 1), return_inverse=True)[1]


@lru_cache(maxsize=4)
def _normal(n: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of a standard normal."""
    x, w = np.polynomial.hermite_e.hermegauss(n)
    return x, w / w.sum()


def _below(x: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(x))


def _bisected(below: Callable[[float], bool], low: float, high: float) -> float:
    """Return where something stops being below, to a few digits."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2


# Simulated studies ---------------------------------------------------------------------------------------------------
# Who rates what is as in a real study.
#
# A study has a group and its rest, of any size, and any number of items. If raters saw the same items in blocks, or
# all in one block, a simulated rater sees what a real one saw and is shuffled within the same block; otherwise each
# sees as large a share of the items as a real one, drawn at random.

MOST_CELLS = 20_000_000
"""The largest number of items × raters for which who saw what is looked up."""
GROUP, REST = 0, 1
SHUFFLES = 40
"""How many times raters of a simulated study are shuffled, to find how many standard deviations its group is apart."""
PLAIN_SHUFFLES = 10
"""The same without a view, used only for the variance over many studies."""
_STUDY = 1010  # child of the seed
_DENSE = 0.3  # from this share of rated cells upwards, every cell gets its own draw
_GAI = tuple(STATISTICS[name] for name in ("irr", "xrr", "gai"))


class Shape(NamedTuple):
    """The size of a study, as far as it matters to one group."""

    n_group: int
    n_rest: int
    n_items: int


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Who rates what in a study.

    Attributes
    ----------
    share
        Of each rater who rated anything, the share of the items that they rated.
    rated
        Items × raters: who rated what, if raters form blocks; otherwise empty.
    strata
        Of each rater, within which raters are shuffled; None for all together.
    """

    share: Floats
    rated: NDArray[np.bool_]
    strata: NDArray[np.int32] | None

    @classmethod
    def of(cls, ratings: Ratings, exchange: Exchange) -> Layout:
        """Learn who rated what."""
        who = np.flatnonzero(raters_who_rated(ratings))
        items = np.flatnonzero(np.diff(ratings.offsets))
        given = np.bincount(ratings.codes_of_raters, minlength=ratings.n_raters)[who]
        rated = np.zeros((0, 0), bool)
        if exchange.kind == "blocks" and len(who) * len(items) <= MOST_CELLS:
            whole = np.zeros((ratings.n_items, ratings.n_raters), bool)
            whole[ratings.item_codes, ratings.codes_of_raters] = True
            rated = whole[np.ix_(items, who)]
        return cls(given / max(len(items), 1), rated, None if exchange.strata is None else exchange.strata[who])

    def cells(
        self, shape: Shape, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32] | None]:
        """Return item and rater of each rating, sorted, and the stratum of each rater."""
        n_raters = shape.n_group + shape.n_rest
        like = _repeated(len(self.share), n_raters, rng)
        strata = None if self.strata is None else self.strata[like]
        if self.rated.size:
            items = _repeated(len(self.rated), shape.n_items, rng)
            cells = np.flatnonzero(self.rated[np.ix_(items, like)])
        elif self.share.mean() > _DENSE:
            cells = np.flatnonzero(rng.random((shape.n_items, n_raters)) < self.share[like])
        else:
            cells = _few_cells(self.share[like], shape.n_items, rng)
        return cells // n_raters, cells % n_raters, strata


def _repeated(n: int, wanted: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return this many of n in random order, each equally often except in the last round."""
    rounds = [rng.permutation(n) for _ in range(-(-wanted // n))]
    return np.concatenate(rounds)[:wanted]


def _few_cells(share: Floats, n_items: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return which cells of items × raters are filled, each with the probability of its rater.

    A Poisson number of draws with replacement, of mean −n·ln(1 − share), fills each of n cells with exactly that
    probability.
    """
    draws = rng.poisson(-n_items * np.log1p(-np.minimum(share, 0.999)))
    rater = np.repeat(np.arange(len(share)), draws)
    return np.unique(rng.integers(n_items, size=len(rater)) * len(share) + rater)


class SimulatedGroup(NamedTuple):
    """What a simulated study shows about its group: GAI minus the mean of shuffled raters, and their variance.

    Also the same if the group had no view of its own and was apart only by chance.
    """

    apart: float
    variance: float
    null_apart: float
    null_variance: float


@dataclass(frozen=True, slots=True, eq=False)
class Studies:
    """Simulated studies of several shapes, each with a group that has a view of its own."""

    crowd: Crowd
    layout: Layout
    shapes: tuple[Shape, ...]
    view: float
    seed: int

    def __call__(self, first: int, last: int) -> list[SimulatedGroup]:
        """Return what studies ``first`` to ``last`` show; their shapes take turns."""
        return [self.study(number) for number in range(first, last)]

    def study(self, number: int) -> SimulatedGroup:
        """Simulate a study without and with a view, and shuffle its raters."""
        shape = self.shapes[number % len(self.shapes)]
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(_STUDY, number)))
        item, rater, strata = self.layout.cells(shape, rng)
        sizes = [shape.n_group, shape.n_rest]
        codes = np.repeat(np.array([GROUP, REST], np.int32), sizes)
        plain, viewed = self._scores(shape, item, rater, rng)
        offsets = np.concatenate(([0], np.cumsum(np.bincount(item, minlength=shape.n_items)))).astype(np.int64)
        seed, found = int(rng.integers(2**62)), []
        for scores, n in ((plain, PLAIN_SHUFFLES), (viewed, SHUFFLES))[: 2 if self.view else 1]:
            part = Part(0, offsets, rater.astype(np.int32), scores, np.zeros(0, np.int64))
            draws = Draws.permuted(n, seed)._replace(first=0)  # 0 is the group as it is
            found.append(_apart(shuffled_gai(part, codes, strata, len(self.crowd.shares), draws)))
        return SimulatedGroup(*found[-1], *found[0])

    def _scores(
        self, shape: Shape, item: NDArray[np.int64], rater: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return scores as if the group had no view of its own, and as it has one."""
        crowd, n_raters = self.crowd, shape.n_group + shape.n_rest
        severity = math.sqrt(crowd.items) * rng.standard_normal(shape.n_items)
        leniency = math.sqrt(crowd.leniency) * rng.standard_normal(n_raters)
        noise = math.sqrt(crowd.noise) * np.exp(crowd.unequal * rng.standard_normal(n_raters) - crowd.unequal**2)
        view = self.view * rng.standard_normal(shape.n_items)
        latent = severity[item] + leniency[rater] + noise[rater] * rng.standard_normal(len(item))
        plain = _cut(latent, crowd.cuts)
        viewed = plain.copy()
        own = np.flatnonzero(rater < shape.n_group)
        viewed[own] = _cut(latent[own] + view[item[own]], crowd.cuts)
        return plain, viewed


def _cut(latent: Floats, cuts: tuple[float, ...]) -> NDArray[np.uint8]:
    """Return the points of latent scores; with few cuts, this is faster than searching for each."""
    points = np.zeros(len(latent), np.uint8)
    for cut in cuts:
        points += latent > cut
    return points


def shuffled_gai(
    part: Part, codes: NDArray[np.int32], strata: NDArray[np.int32] | None, n_points: int, draws: Draws
) -> Floats:
    """Return the GAI of the group of code 0 against its rest, of code 1, under each draw."""
    n_raters = len(codes)
    own = np.zeros(n_raters, np.int32) if strata is None else strata
    order = np.argsort(own, kind="stable").astype(np.int64)
    bounds = np.concatenate(([0], np.flatnonzero(np.diff(own[order])) + 1, [n_raters])).astype(np.int64)
    about = About(n_points, np.arange(n_points, dtype=float), "ordinal")
    none = np.zeros((0, 2, n_points), np.int32)
    work = Agreement(Grouping(codes, 2, order, bounds), about, part.n_items, False, none, (), np.zeros(0), 1.0)
    return np.asarray(AgreementValues(_GAI, about)(work(part, draws))[:, GROUP, -1])


def _apart(values: Floats) -> tuple[float, float]:
    """Return how far the first of some values lies above the mean of the others, and their variance."""
    known = values[1:][np.isfinite(values[1:])]
    return (float(values[0] - known.mean()), variance(known)) if len(known) else (math.nan, math.nan)


def variance(values: Floats) -> float:
    """Return the variance of those that are defined."""
    known = values[np.isfinite(values)]
    return float(known.var(ddof=1)) if len(known) > 1 else math.nan
