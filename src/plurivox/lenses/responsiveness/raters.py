"""Individual raters: the tables of their scores, and how they compare with raters of the same items.

Individual raters have no votes to count. Their tables are sums over items like those of groups, but over each rater's
few items, so draws run over raters instead of parts of the items.

A value such as WRA depends on the items as much as on the rater: a rater with a harder batch has a lower one. So a
rater is compared with what would be expected of another rater of these items, with the rater left out. In blocks of
raters who saw the same items, that is the median of the others in the block. Otherwise a value is the mean of effects
of the rater's items, drawn from one normal distribution, plus the rater's own effect, and what is expected follows from
the values of those who share items with the rater (best linear prediction, with the rater left out).

A rater who is more lenient than others uses fewer points of the scale and has lower values for that reason, which makes
the lower tail of ordinary raters long. So the expected value bends with leniency, within the range of ordinary
leniency.

Each residual is compared with the spread of the others' residuals. The spread is Rousseeuw and Croux's Q_n (1993),
which one fifth of careless raters hardly moves, so that they do not hide one another. The tail probabilities are those
of a t-distribution for raters drawn from one population; ``tests/test_rater_peers.py`` measures them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import item_weights
from plurivox.engine.pool import Running, batched
from plurivox.engine.run import Sums, Values
from plurivox.infer.exchange import Exchange
from plurivox.infer.intervals import Interval, percentile_interval
from plurivox.infer.jackknife import LeftOut
from plurivox.lenses.responsiveness.references import Reference
from plurivox.lenses.responsiveness.sums import Metrics, Support, refuse_tables
from plurivox.statistics.responsiveness import MEASURED_ON, MEASURES

_KEPT = 4_000_000  # the most bootstrap draws of raters kept in a result
_COST = 1e-6  # seconds for one draw of one rater, roughly
_MAKING = Lock()
Floats = NDArray[np.float64]
Places = NDArray[np.intp]

LEAST_PEERS = 5
"""With fewer others to compare with, nothing is said about a rater."""
MOST_LEFT_OUT = 200
"""Up to this many raters, each is left out of the spread in turn; in larger sets one rater hardly moves it."""
MOST_PAIRED = 1000
"""The most values used to compute the spread: evenly spaced ones of those sorted."""
MOST_TOGETHER = 1500
"""The most raters predicted from one another; more are dealt into parts."""
EFFICIENCY = 0.82
"""The efficiency of Q_n relative to the standard deviation for normal values, which reduces degrees of freedom."""
TAILS = 5.0
"""Degrees of freedom of ordinary raters, whose values have longer tails than normal ones."""
FAR = 3.0
"""Values further out, in spreads, are pulled in before others are predicted from them."""
ORDINARY = 2.5
"""Leniency further out, in spreads, explains no more than leniency at this point."""
LEAST_SLOPES = 15
"""The fewest raters needed to estimate how values bend with leniency."""
_FEW = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}
_RATIOS = np.concatenate(([0.0], np.geomspace(1e-2, 1e3, 31)))


@dataclass(frozen=True, slots=True, eq=False)
class RaterResponses:
    """The responsiveness of every rater to one reference.

    Attributes
    ----------
    bounds
        The ratings of rater ``r`` are entries ``bounds[r]`` to ``bounds[r + 1]``.
    items, scores
        The item and the score of each rating.
    references
        Ratings × reference points: how many reference ratings it meets, or their weight, without the rater's own.
    """

    n_points: int
    bounds: NDArray[np.int64]
    items: NDArray[np.int32]
    scores: NDArray[Any]
    references: NDArray[Any]
    n_items: int
    capped: bool

    @classmethod
    def of(cls, ratings: Ratings, reference: Reference, *, capped: bool = True) -> RaterResponses:
        """Sort the ratings by rater and find each one's own part in the reference."""
        n_items = ratings.n_items
        order = np.argsort(ratings.codes_of_raters, kind="stable")
        rater, items = ratings.codes_of_raters[order], ratings.item_codes[order]
        references = reference.totals(weighted=True)[items]
        references = references if len(reference.weights) else references.astype(np.int32)
        inside = reference.raters >= 0
        item = np.repeat(np.arange(n_items), np.diff(reference.offsets))[inside]
        known = rater.astype(np.int64) * n_items + items
        wanted = reference.raters[inside].astype(np.int64) * n_items + item
        places = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))  # of keys sorted and unique
        places = np.where(known[places] == wanted, places, -1) if len(known) else np.full(len(wanted), -1)
        own = (places[places >= 0], reference.scores[inside][places >= 0])
        if len(reference.weights):
            np.subtract.at(references, own, reference.weights[inside][places >= 0])
            references[references < 1e-9 * references.sum(axis=1, keepdims=True).max(initial=1.0)] = 0.0  # rounding
        else:
            np.subtract.at(references, own, 1)
        bounds = np.searchsorted(rater, np.arange(ratings.n_raters + 1)).astype(np.int64)
        return cls(len(ratings.scale), bounds, items, ratings.scores[order], references, n_items, capped)

    def observed(self) -> tuple[Values, Values]:
        """Return the tables, raters × scores × reference points, and the values."""
        from plurivox.kernels.responsiveness import rater_tables

        shape = (len(self.bounds) - 1, self.n_points, self.references.shape[1])
        refuse_tables(*shape)
        tables = np.zeros((1, *shape))
        rater_tables(self.bounds, self.items, self.scores, self.references, tables[0])
        return tables[0], Metrics(self.capped)(Sums(tables=tables))[0]

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
        n_raters = len(self.bounds) - 1
        work = partial(_resampled, self, draws, seed, draws * n_raters * len(MEASURES) <= _KEPT, how.threads)
        try:
            parts = batched(work, n_raters, how, cost=draws * _COST, width=max(1, len(MEASURES) * draws))
        finally:
            _weights.cache_clear()
        *ends, kept = zip(*parts, strict=True)
        return Interval(*map(np.concatenate, ends)), np.concatenate(kept, axis=1)

    def jackknife(self, how: Running) -> Interval:
        """Return intervals over items, raters × :data:`MEASURES`: each rater without each of their items."""
        most = int(np.diff(self.bounds).max(initial=1))
        width = max(1, most * self.n_points * self.references.shape[1])
        parts = batched(partial(_without_each_item, self), len(self.bounds) - 1, how, cost=most * _COST, width=width)
        return Interval(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _without_each_item(own: RaterResponses, first: int, last: int) -> Interval:
    """Return the intervals of raters ``first`` to ``last``, each without any one of the items that have a reference."""
    from plurivox.kernels.responsiveness import rater_tables

    finish, tables = Metrics(own.capped), np.zeros((last - first, own.n_points, own.references.shape[1]))
    rater_tables(own.bounds[first : last + 1], own.items, own.scores, own.references, tables)
    found = []
    for r, table in enumerate(tables):
        met = np.arange(*own.bounds[first + r : first + r + 2])
        met = met[own.references[met].any(axis=1)]
        without = np.repeat(table[np.newaxis], len(met), axis=0)
        without[np.arange(len(met)), own.scores[met]] -= own.references[met]
        values = finish(Sums(tables=without[:, np.newaxis]))
        observed = finish(Sums(tables=table[np.newaxis, np.newaxis]))[0]
        found.append(LeftOut(observed, (values,)).interval(*MEASURED_ON))
    return Interval(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _resampled(
    own: RaterResponses, draws: int, seed: int, kept: bool, threads: int | None, first: int, last: int
) -> tuple[Values, Values, NDArray[np.int64], Values]:
    """Return the intervals of raters ``first`` to ``last`` under all draws of items, and the values if kept."""
    from plurivox.kernels.responsiveness import rater_draws

    values = np.zeros((last - first, len(MEASURES), draws))
    with _MAKING:  # the first makes them, the others wait
        made = _weights(own.n_items, draws, seed, threads)
    at = 0
    for weights in made:
        given = (own.bounds, own.items, own.scores, own.references, weights)
        rater_draws(*given, first, at, own.n_points, own.capped, values)
        at += len(weights)
    by_draw = np.moveaxis(values, 2, 0)
    low, high, n_undefined = percentile_interval(by_draw)
    nothing = np.zeros((0, *low.shape))  # not a view, which would keep everything
    return low, high, n_undefined, by_draw if kept else nothing


@lru_cache(maxsize=1)
def _weights(n_items: int, draws: int, seed: int, threads: int | None) -> list[NDArray[np.uint8]]:
    """Return how often each item is drawn, in batches of draws; each process makes them once.

    One byte each: no item is drawn more than 255 times unless there are 10^500 weights.
    """

    def some(first: int, last: int) -> NDArray[np.uint8]:
        return item_weights(n_items, last - first, seed, first).astype(np.uint8)

    return batched(some, draws, Running(threads), cost=1e-8 * max(n_items, 1), width=max(n_items, 1))


# Raters of the same items ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Peers:
    """What is expected of raters, and how far each is from it; NaN where that is unknown.

    Attributes
    ----------
    expected
        The value to expect of another rater of the same items who is equally lenient.
    residual
        The value minus that.
    z
        The residual in units of the others' spread.
    below, above
        How likely a rater of the same population is to be this far below, or above.
    n_peers
        How many others each is compared with.
    adjusted
        Whether there are no blocks, so that values were adjusted for the items.
    """

    expected: Floats
    residual: Floats
    z: Floats
    below: Floats
    above: Floats
    n_peers: NDArray[np.int64]
    adjusted: bool

    @property
    def either(self) -> Floats:
        """How likely a rater of the same population is to be this far on either side."""
        return np.asarray(np.minimum(1.0, 2 * np.fmin(self.below, self.above)))


def against_peers(
    values: Floats, ratings: Ratings, exchange: Exchange, errors: Floats | None = None, *,
    leniency: bool = True, numbers: bool = True, alike: bool = False, freedom: float = TAILS,
) -> Peers:  # fmt: skip
    """Compare each rater's value with those of raters of the same items.

    Parameters
    ----------
    values
        One for each rater; NaN where undefined, and such raters are not compared with anyone.
    ratings
        The ratings that the raters gave.
    exchange
        Blocks of raters who saw the same items, or given strata; otherwise values are adjusted for items.
    errors
        Standard errors of the values, where raters have different numbers of ratings. Only how they fall with the
        number of ratings is used: a rater's own error depends on the rater's own value.
    leniency
        Whether what is expected bends with the rater's leniency.
    numbers
        Whether it depends on the number of ratings, where there are no blocks and raters have different numbers.
    alike
        Whether values scatter equally in all blocks, so that small ones can borrow from the others.
    freedom
        Degrees of freedom of the values of ordinary raters: the fewer, the longer their tails.
    """
    groups = _together(ratings, np.isfinite(values), exchange)
    expected, off = np.full((2, len(values)), np.nan)
    tails = np.full((3, len(values)), np.nan)
    n_peers = np.zeros(len(values), np.int64)
    explained = _explained(values, ratings, groups, unlike=numbers and exchange.kind == "all", leniency=leniency)
    smooth = None
    if errors is not None:  # errors that depend only on the number of ratings, falling with its root
        n = np.bincount(ratings.codes_of_raters, minlength=ratings.n_raters)
        usable = np.isfinite(errors) & (n > 0)
        typical = float(np.median(errors[usable] * np.sqrt(n[usable]))) if usable.any() else 0.0
        smooth = typical / np.sqrt(np.maximum(n, 1))
    for own in groups:
        n_peers[own] = len(own) - 1
        if len(own) > LEAST_PEERS:
            given = (values - explained)[own], None if smooth is None else smooth[own]
            expected[own], off[own] = _predicted(*given, ratings, own) if exchange.kind == "all" else _block(*given)
    for own in [np.arange(len(values))] if alike else groups:
        judged = own[np.isfinite(off[own])]
        if len(judged):
            tails[:, judged] = _tails(off[judged], freedom)
    expected = expected + explained
    z, below, above = tails
    return Peers(expected, values - expected, z, below, above, n_peers, exchange.kind == "all")


def leniencies(ratings: Ratings, numbers: Floats | None = None) -> Floats:
    """Return how far each rater's scores lie above those of the other raters of the same items, on average.

    In positions on the scale, or by a number for each rating; items that nobody else rated do not count. NaN for raters
    who share no item.
    """
    items, raters = ratings.item_codes, ratings.codes_of_raters
    scores = ratings.scores.astype(float) if numbers is None else numbers
    n = np.bincount(items, minlength=ratings.n_items)[items]
    totals = np.bincount(items, scores, minlength=ratings.n_items)[items]
    shared = n > 1
    off = (scores - (totals - scores) / np.maximum(n - 1, 1))[shared]
    counts = np.bincount(raters[shared], minlength=ratings.n_raters)
    with np.errstate(invalid="ignore"):
        return np.bincount(raters[shared], off, minlength=ratings.n_raters) / counts


def _together(ratings: Ratings, known: NDArray[np.bool_], exchange: Exchange) -> list[Places]:
    """Return the raters who are compared with one another: strata, or all who are linked by items they share."""
    strata = exchange.strata
    if exchange.kind == "all":
        strata = linked(ratings)
    elif strata is None:
        return [np.flatnonzero(known)]
    inside = known & (strata >= 0)
    groups = [np.flatnonzero(inside & (strata == number)) for number in np.unique(strata[inside])]
    if exchange.kind != "all":
        return groups
    parts = [(own, -(-len(own) // MOST_TOGETHER)) for own in groups]
    return [own[at::n] for own, n in parts for at in range(n)]


def linked(ratings: Ratings) -> NDArray[np.int32]:
    """Return a number for each rater, the same for raters who share an item or are linked by others who do."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = ratings.n_raters + ratings.n_items
    items = ratings.item_codes.astype(np.int64) + ratings.n_raters
    graph = coo_array((np.ones(len(items), np.int8), (ratings.codes_of_raters, items)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1][: ratings.n_raters], np.int32)


# What values are expected to differ by, apart from the items --------------------------------------------------------


def _explained(values: Floats, ratings: Ratings, groups: list[Places], *, unlike: bool, leniency: bool) -> Floats:
    """Return what leniency, and having few ratings, explain of the values: slopes common to all groups of raters.

    MPA from few ratings is lower, which matters where raters have different numbers of them.
    """
    found = np.zeros(len(values))
    columns = []
    if leniency:
        off = np.nan_to_num(leniencies(ratings))
        known = np.isfinite(values)
        middle, width = float(np.median(off[known])) if known.any() else 0.0, spread(off[known])
        off = np.clip(off - middle, -ORDINARY * width, ORDINARY * width) if math.isfinite(width) else 0 * off
        columns += [off, off**2]
    counts = np.bincount(ratings.codes_of_raters, minlength=ratings.n_raters)
    if unlike and counts.std() > 0.05 * counts.mean():
        columns.append(1 / np.sqrt(np.maximum(counts, 1)))
    groups = [own for own in groups if len(own) > LEAST_PEERS]
    if not columns or sum(map(len, groups)) < LEAST_SLOPES:
        return found
    x = np.stack(columns, axis=1)
    centred = [np.concatenate([each[own] - np.median(each[own], axis=0) for own in groups]) for each in (x, values)]
    slopes = _robust_slopes(*centred)
    for own in groups:
        found[own] = (x[own] - np.median(x[own], axis=0)) @ slopes
    return found


def _robust_slopes(x: Floats, y: Floats) -> Floats:
    """Return slopes by Huber's weights, with values far out left out."""
    x = np.column_stack([x, np.ones(len(y))])
    slopes: Floats = np.zeros(x.shape[1])
    for _ in range(30):
        off = np.abs(y - x @ slopes)
        width = float(np.median(off)) / 0.6745
        if width <= 0:
            break
        root = np.sqrt(np.where(off < 4 * width, np.minimum(1.0, 1.5 * width / np.maximum(off, 1e-300)), 0.0))
        slopes = np.asarray(np.linalg.lstsq(x * root[:, np.newaxis], y * root, rcond=None)[0], np.float64)
    return slopes[:-1]


# What is expected, and how far each is from it ----------------------------------------------------------------------


def _block(values: Floats, errors: Floats | None) -> Floats:
    """Return what is expected of raters of one block, and how far off each is, scattering equally up to a factor."""
    middle = _without_each(values, lambda others: float(np.median(others)))
    loose = math.sqrt(1 + math.pi / 2 / (len(values) - 1))  # a median also scatters
    return np.stack([middle, (values - middle) / _sizes(values, errors) / loose])


def _tails(x: Floats, freedom: float) -> Floats:
    """Return z and both tails of residuals, each in spreads of the others."""
    from scipy.stats import t

    scale = _without_each(x, spread)
    # Where most are alike, Q_n is 0 and anyone who differs would be infinitely far; with all in it, z is at most √n.
    scale = np.where(scale > 0, scale, x.std(ddof=1))
    z = np.divide(x, scale, out=np.zeros(len(x)), where=scale > 0)
    left = 1 / (1 / freedom + 1 / (EFFICIENCY * (len(x) - 2)))
    return np.stack([z, t.cdf(z, left), t.sf(z, left)])


def _sizes(values: Floats, errors: Floats | None) -> Floats:
    """Return how much each value scatters, up to a factor: between raters, and its own sampling error."""
    if errors is None or not (errors > 0).all():
        return np.ones(len(values))
    between = max(0.0, spread(values) ** 2 - float(np.median(errors**2)))
    return np.sqrt(between + errors**2)


def _without_each(values: Floats, of: Callable[[Floats], float]) -> Floats:
    """Return a function of the others for each value; in large sets, of all."""
    if len(values) > MOST_LEFT_OUT:
        return np.full(len(values), of(values))
    return np.array([of(np.delete(values, at)) for at in range(len(values))])


def spread(values: Floats) -> float:
    """Return Rousseeuw and Croux's Q_n: about the lower quartile of all distances between two values.

    Scaled to estimate the standard deviation of normal values without bias, even of few.

    Examples
    --------
    >>> round(spread(np.array([1.0, 2.0, 3.0, 4.0, 100.0])), 3)
    1.875
    """
    n = len(values)
    if n < 2:
        return math.nan
    ordered = np.sort(values)
    if n > MOST_PAIRED:
        ordered = ordered[np.linspace(0, n - 1, MOST_PAIRED).round().astype(np.int64)]
        n = MOST_PAIRED
    first, second = np.triu_indices(n, 1)
    half = n // 2 + 1
    at = half * (half - 1) // 2 - 1
    # For few values, Croux and Rousseeuw's table (1992) up to 9, their formula above.
    few = _FEW.get(n) or (n / (n + 1.4) if n % 2 else n / (n + 3.8))
    return float(np.partition(ordered[second] - ordered[first], at)[at]) * 2.2219 * few


def _predicted(values: Floats, errors: Floats | None, ratings: Ratings, raters: Places) -> Floats:
    """Return what is expected of raters who share some items with others, and how far off each is, all scaled alike.

    With K the covariance of means over the raters' items of item effects of variance 1, and D what is each rater's own,
    the covariance C of the values is φ·(λK + D). λ is that of the largest restricted likelihood. What is expected of
    rater r without r is off by (Py)_r / P_rr, of variance φ / P_rr, where P = C⁻¹ − C⁻¹1(1'C⁻¹1)⁻¹1'C⁻¹.
    """
    from scipy.sparse import csr_array

    own = _sizes(values, errors)
    middle, width = float(np.median(values)), spread(values)
    drawn_in = np.clip(values, middle - FAR * width, middle + FAR * width)
    codes = ratings.codes_of_raters
    n = np.bincount(codes, minlength=ratings.n_raters)
    rated = csr_array((1 / n[codes], (codes, ratings.item_codes)), shape=(ratings.n_raters, ratings.n_items))[raters]
    # K_rs = Σ_i 1/(n_r n_s) over the items that r and s share
    k, axes = np.linalg.eigh(np.asarray((rated @ rated.T).todense()) / np.outer(own, own))
    k = np.maximum(k, 0.0) / max(float(k.mean()), 1e-300)
    x, y = axes.T @ (1 / own), axes.T @ (drawn_in / own)
    ratio = max(_RATIOS.tolist(), key=lambda one: _likelihood(one, k, x, y))
    weights = 1 / (1 + ratio * k)
    side = axes @ (weights * x) / math.sqrt(float((weights * x**2).sum()))
    diagonal = (axes**2) @ weights - side**2
    expected = drawn_in - own * (axes @ (weights * y) - side * float(side @ (drawn_in / own))) / diagonal
    return np.stack([expected, (values - expected) / own * np.sqrt(diagonal)])


def _likelihood(ratio: float, k: Floats, x: Floats, y: Floats) -> float:
    """Return the restricted log-likelihood of how large item effects are, up to a constant."""
    weights = 1 / (1 + ratio * k)
    inner = float((weights * x**2).sum())
    off = y - x * float((weights * x * y).sum()) / inner
    residual = float((weights * off**2).sum())
    if residual <= 0:
        return 0.0 if ratio else math.inf
    return float(np.log(weights).sum() - math.log(inner) - (len(y) - 1) * math.log(residual)) / 2
