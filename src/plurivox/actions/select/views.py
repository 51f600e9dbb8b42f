"""How much of a group's own view its chosen raters keep.

The deviation of a group is how far its mean score of an item is from what the other raters' mean predicts. A rater's
leniency is removed, and so is a wider or narrower use of the scale, since neither is a view of single items: a group
with some members who always give the same score would otherwise seem to deviate on every item. The share kept is the
slope of the chosen raters' deviation on that of the rest of their group. With S the chosen, U the group without them, R
the others, x̄ means of an item, and covariances over items::

    d_U = x̄_U − b_U x̄_R,  b_U = Cov(x̄_U, x̄_R) / Var(x̄_R),  d_S alike;  kept = Cov(d_S, d_U) / Var(d_U)

The variances of x̄_U and x̄_R are reduced by the mean of s²/n, the sampling error of their means, so that noise counts
neither as deviation nor, through R, as something that both share. A random choice gives 1 on average.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.actions.select.choosing import CandidateGroup, JudgedRater, Ranked
from plurivox.actions.select.result import NOISE
from plurivox.domain.ratings import Ratings
from plurivox.lenses.responsiveness.raters import Floats, leniencies

LEAST_ITEMS = 10
"""Items that chosen, group and others must share."""
PARTS = 20
"""Parts of the items that are left out in turn."""
SURE = 3.0
"""A deviation is distinguished from none if its variance is this many standard errors above 0."""


class ShareKept(NamedTuple):
    """The share kept with its 95 % interval over items; NaN with the reason if it cannot be measured."""

    share: float
    low: float
    high: float
    n_items: int
    note: str


def centred(ratings: Ratings) -> Floats:
    """Return the scores as values of the scale, without each rater's leniency."""
    values = np.asarray(ratings.scale.values, float)[ratings.scores]
    return np.asarray(values - np.nan_to_num(leniencies(ratings, values))[ratings.codes_of_raters], np.float64)


def kept(
    ratings: Ratings, scores: Floats, members: NDArray[np.bool_], rest: NDArray[np.bool_], chosen: NDArray[np.bool_]
) -> ShareKept:
    """Return the share of its deviation that a group keeps in its chosen raters.

    Parameters
    ----------
    scores
        Of each rating, from :func:`centred`.
    members, rest, chosen
        For each rater, whether they are in the group, among the others on the axis, and chosen.
    """
    nothing = ShareKept(math.nan, math.nan, math.nan, 0, "")
    if not chosen.any():
        return nothing
    if not (members & ~chosen).any():
        return nothing._replace(note="all its raters are chosen")
    s, u, r = (_means(ratings, scores, who) for who in (chosen, members & ~chosen, rest))
    shared = (s.n >= 1) & (u.n >= 2) & (r.n >= 2)
    n_items = int(np.count_nonzero(shared))
    if n_items < LEAST_ITEMS:
        return nothing._replace(n_items=n_items, note="chosen, group and others share too few items")
    s, u, r = (_Means(one.n[shared], one.mean[shared], one.noise[shared]) for one in (s, u, r))
    whole = _parts(s, u, r, np.ones(n_items, bool))
    of = np.arange(n_items) % PARTS
    without = np.array([_parts(s, u, r, of != part) for part in range(min(PARTS, n_items))])
    error = _jackknife_error(without[:, 1])
    if not whole[1] > SURE * error:
        return nothing._replace(n_items=n_items, note=NOISE)
    share = whole[0] / whole[1]
    reach = 2.09 * _jackknife_error(without[:, 0] / without[:, 1])  # t, 19 degrees of freedom
    return ShareKept(share, share - reach, share + reach, n_items, "")


class _Means(NamedTuple):
    """For each item, how many scores, their mean, and its squared sampling error (0 if unknown)."""

    n: Floats
    mean: Floats
    noise: Floats


def _means(ratings: Ratings, scores: Floats, who: NDArray[np.bool_]) -> _Means:
    own = who[ratings.codes_of_raters]
    items, x = ratings.item_codes[own], scores[own]
    n, total, squares = (
        np.bincount(items, weights, minlength=ratings.n_items).astype(np.float64)
        for weights in (np.ones(len(x)), x, x**2)
    )
    mean = total / np.maximum(n, 1)
    variance = (squares - n * mean**2) / np.maximum(n - 1, 1)
    return _Means(n, mean, np.where(n > 1, np.maximum(variance, 0.0) / np.maximum(n, 1), 0.0))


def _parts(s: _Means, u: _Means, r: _Means, use: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the covariance of the chosen's deviation with the group's, and the variance of the group's."""
    x, y, z = (one.mean[use] - one.mean[use].mean() for one in (s, u, r))
    n = len(x) - 1
    others = float(z @ z / n - r.noise[use].mean())
    if others <= 0:
        return math.nan, math.nan
    like_others = float(y @ z) / n / others
    covariance = float(x @ y - like_others * (x @ z)) / n
    variance = float(y @ y - like_others * (y @ z)) / n - float(u.noise[use].mean())
    return covariance, variance


def _jackknife_error(without: Floats) -> float:
    n = len(without)
    return float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))


# Who is chosen, group by group ---------------------------------------------------------------------------------------
# Who is chosen, group by group: shares, rates, how much of their group's view the chosen keep, and harder batches.


def fairness_rows(
    ratings: Ratings, groups: Sequence[CandidateGroup], judged: Mapping[tuple[str, str], Sequence[JudgedRater]],
    ranked: Mapping[tuple[str, str], Ranked], least: int,
) -> list[tuple[Any, ...]]:  # fmt: skip
    """Return a row for each group; shares are of all raters in groups of the axis that are shown.

    The mean score of the chosen is told only if they, and those of the group who are not, are none or ``least``.
    """
    scores = centred(ratings)
    numbers = np.asarray(ratings.scale.values, float)[ratings.scores]
    rows = []
    for one in groups:
        beside = [other for other in groups if other.axis == one.axis]
        counts = np.array([  # raters of a group, eligible ones, and chosen ones
            (len(raters := judged[other.key]), sum(not each.reason for each in raters), len(ranked[other.key].chosen))
            for other in beside
        ], float)  # fmt: skip
        own = counts[beside.index(one)]
        totals = counts.sum(axis=0)
        shares = [_ratio(own[at], totals[at]) for at in range(3)]
        low, high = _share_interval(int(own[1]), int(own[0]))
        usual = _ratio(totals[1], totals[0])
        chosen, wanted = np.zeros(len(one.members), bool), {each.rater for each in ranked[one.key].chosen}
        places = np.flatnonzero(one.members).tolist()
        chosen[[at for at, name in zip(places, one.raters, strict=True) if name in wanted]] = True
        keeps = kept(ratings, scores, one.members, one.rest, chosen)
        few = any(0 < np.count_nonzero(who) < least for who in (chosen, one.members & ~chosen))
        means = [_mean(ratings, numbers, one.members), None if few else _mean(ratings, numbers, chosen)]
        hard = _hard(judged[one.key], ranked[one.key].chosen)
        rows.append((
            one.axis, one.name, *(int(n) for n in own), *shares, _ratio(own[2], own[0]),
            _ratio(_ratio(own[2], own[0]), _ratio(totals[2], totals[0])), _ratio(_ratio(own[1], own[0]), usual),
            _ratio(low, usual), _ratio(high, usual), keeps.share, keeps.low, keeps.high, keeps.n_items, *means, *hard,
            keeps.note,
        ))  # fmt: skip
    return rows


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _share_interval(k: int, n: int) -> tuple[float, float]:
    """Return Clopper and Pearson's 95 % interval for a share."""
    from scipy.stats import beta

    low = float(beta.ppf(0.025, k, n - k + 1)) if k else 0.0
    return low, float(beta.ppf(0.975, k + 1, n - k)) if k < n else 1.0


def _mean(ratings: Ratings, numbers: Any, who: Any) -> float:
    """Return the mean over raters of their own mean score."""
    raters = ratings.codes_of_raters
    n = np.bincount(raters, minlength=ratings.n_raters)
    means = np.bincount(raters, numbers, minlength=ratings.n_raters)[who & (n > 0)] / n[who & (n > 0)]
    return float(means.mean()) if len(means) else math.nan


def _hard(own: Sequence[JudgedRater], chosen: Sequence[JudgedRater]) -> tuple[float | None, float | None]:
    """Return the share of eligible raters, and of the chosen, whose batch is a harder one.

    A batch is harder if its median value is below the median of the group's eligible raters.
    """
    values: dict[int, list[float]] = {}
    for one in own:
        if not one.reason and one.values[0] is not None:
            values.setdefault(one.block, []).append(one.values[0])
    if len(values) < 2 or not chosen:
        return None, None
    middle = float(np.median([value for block in values.values() for value in block]))
    hard = {block for block, own_values in values.items() if float(np.median(own_values)) < middle}
    eligible = [one.block in hard for one in own if not one.reason]
    return float(np.mean(eligible)), float(np.mean([one.block in hard for one in chosen]))
