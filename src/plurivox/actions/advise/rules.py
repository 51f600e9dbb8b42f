"""Habits of scoring: what the scores of one rater or group show beside those of the others, and how sure that is.

Each rule looks at counts and a reference, and speaks only where an interval, and not an estimate alone, is beyond its
threshold, so that noise is not called a habit.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.actions.advise.settings import Thresholds
from plurivox.engine.intervals import NORMAL_95, wilson

Floats = NDArray[np.float64]

LIKELY, CLEAR = NORMAL_95, 3.2905267314919255
"""Beyond so many standard errors: in one of 20 cases by chance, and in one of 1,000."""
PEERS = 3
"""With fewer others than these to compare with, shares are compared with even use of the scale."""
MANY_POINTS = 20
"""On longer scales only neighbouring scores are compared."""


class Evidence(NamedTuple):
    """One thing that was seen.

    ``scores`` are positions on the scale; the value and its interval are what ``habit`` is judged by.
    """

    habit: str
    scores: tuple[int, ...]
    value: float
    low: float
    high: float
    clear: bool
    compared: bool = True
    """Whether the others, or random groups of the same size, are what it was compared with."""


class Curve(NamedTuple):
    """Precision at each score, with its standard error and the number of items it rests on; NaN where unused."""

    precision: Floats
    error: Floats
    n_items: Floats


def curve_of(point: NDArray[np.int64], share: Floats, ones: Floats, total: Floats, n_points: int) -> Curve:
    """Return the precision at each score of one member, from its scores of items and the reference ratings they meet.

    Items are taken as drawn at random: of a score's items with reference ratings n_i, of which u_i are unsafe, the
    error of Σu/Σn is √Σ(u_i − P·n_i)² / Σn, with m/(m − 1) for m items.
    """
    met = total > 0
    point, share, ones, total = point[met], share[met], ones[met], total[met]
    weight = np.bincount(point, share * total, n_points)
    n_items = np.bincount(point, share, n_points).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.bincount(point, share * ones, n_points) / weight
        off = share * (ones - precision[point] * total)
        spread = np.bincount(point, off**2, n_points)
        error = np.sqrt(spread * n_items / np.maximum(n_items - 1, 0.0)) / weight
    known = n_items > 1
    return Curve(np.where(known, precision, np.nan), np.where(known, error, np.nan), n_items)


def share_bounds(n: float, total: float, z: float) -> tuple[float, float]:
    """Return Wilson's interval of a share; of nothing it is everything."""
    return wilson(n / total, total, z) if total > 0 else (0.0, 1.0)


def found_in_use(usage: NDArray[np.int64], others: Floats | None, at: Thresholds) -> Iterator[Evidence]:
    """Yield what the use of the scale shows: scores hardly used, ends or middle preferred, one score for most items.

    ``usage`` counts the member's ratings of each point; ``others`` is the median share of each point among the others,
    None if there are too few of them.
    """
    total, n_points = float(usage.sum()), len(usage)
    if total == 0 or n_points < 2:
        return
    share = usage / total
    rare = tuple(c for c in range(n_points) if share_bounds(usage[c], total, LIKELY)[1] < at.rare_share)
    if rare:
        n = float(usage[list(rare)].sum())
        clear = all(share_bounds(usage[c], total, CLEAR)[1] < at.rare_share for c in rare)
        yield Evidence("unused", rare, n / total, *share_bounds(n, total, LIKELY), clear)
    if n_points < 3:
        return
    usual = np.full(n_points, 1 / n_points) if others is None else others
    style = _extreme(usage, usual, at) or (None if others is None else _central(usage, usual, at))
    if style is not None:
        yield style
    top = int(share.argmax())
    for z in (CLEAR, LIKELY):
        if share_bounds(usage[top], total, z)[0] > max(at.piled_share, at.piled_times * usual[top]):
            yield Evidence("piled", (top,), share[top], *share_bounds(usage[top], total, LIKELY), z == CLEAR)
            return


def _extreme(usage: NDArray[np.int64], usual: Floats, at: Thresholds) -> Evidence | None:
    """Return whether both ends are preferred."""
    total, ends = float(usage.sum()), (0, len(usage) - 1)
    n = float(usage[0] + usage[-1])
    for z in (CLEAR, LIKELY):
        both = all(share_bounds(usage[c], total, z)[0] > at.extreme_times * usual[c] for c in ends)
        if both and share_bounds(n, total, z)[0] > at.extreme_share:
            return Evidence("extreme", ends, n / total, *share_bounds(n, total, LIKELY), z == CLEAR)
    return None


def _central(usage: NDArray[np.int64], usual: Floats, at: Thresholds) -> Evidence | None:
    """Return whether both ends are avoided."""
    total, inner = float(usage.sum()), tuple(range(1, len(usage) - 1))
    n = float(usage[0] + usage[-1])
    for z in (CLEAR, LIKELY):
        if share_bounds(n, total, z)[1] < at.central_times * (usual[0] + usual[-1]):
            rest = total - n
            return Evidence("central", inner, rest / total, *share_bounds(rest, total, LIKELY), z == CLEAR)
    return None


def overall_rise(curve: Curve, min_support: float) -> tuple[float, float]:
    """Return how much precision rises per score over all scores in use, and its standard error."""
    used = _used(curve, min_support)
    return _rise(curve, used) if len(used) > 1 else (np.nan, np.nan)


def _used(curve: Curve, min_support: float) -> list[int]:
    known = (curve.n_items >= max(min_support, 2)) & ~np.isnan(curve.precision)
    return [int(c) for c in np.flatnonzero(known)]


def found_in_curve(curve: Curve, at: Thresholds, min_support: float, usual: float = np.nan) -> Iterator[Evidence]:
    """Yield where precision falls from one score to the next, and the longest ranges over which it stands still.

    If it falls over the whole scale, that is all there is to say. ``usual`` is its rise per score among the others.
    """
    used = _used(curve, min_support)
    least = at.rise(len(curve.precision), usual)
    whole, error = overall_rise(curve, min_support)
    if whole + LIKELY * error < 0:
        yield Evidence("reversed", tuple(used), whole, whole - LIKELY * error, whole + LIKELY * error,
                       whole + CLEAR * error < 0)  # fmt: skip
        return
    falling = []
    for low, high in pairwise(used):
        rise, error = _rise(curve, [low, high])
        step = rise * (high - low)
        if rise + LIKELY * error < 0 and step < -least / 2:
            falling.append((low, high))
            width = LIKELY * error * (high - low)
            clear = rise + CLEAR * error < 0
            yield Evidence("falling", (low, high), step, step - width, step + width, clear)
    taken: set[int] = set()
    for low, high in _ranges(len(used)):
        scores = used[low : high + 1]
        if taken.intersection(scores) or any(set(pair) <= set(scores) for pair in falling):
            continue
        if _still(curve, scores, least, at.edge, LIKELY):
            taken.update(scores)
            rise, error = _rise(curve, scores)
            clear = _still(curve, scores, least, at.edge, CLEAR)
            yield Evidence("still", tuple(scores), rise, rise - LIKELY * error, rise + LIKELY * error, clear)


def _ranges(n: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of positions, the longest first."""
    every = [(a, b) for a, b in combinations(range(n), 2) if n <= MANY_POINTS or b == a + 1]
    yield from sorted(every, key=lambda pair: (pair[0] - pair[1], pair[0]))


def _rise(curve: Curve, scores: list[int]) -> tuple[float, float]:
    """Return how much precision rises per score, by least squares over the items, and its standard error."""
    at = np.array(scores, dtype=float)
    n, precision, error = curve.n_items[scores], curve.precision[scores], curve.error[scores]
    off = n * (at - (n * at).sum() / n.sum())
    size = (off * at).sum()
    return float((off * precision).sum() / size), float(np.sqrt(((off * error) ** 2).sum()) / size)


def _still(curve: Curve, scores: list[int], least: float, edge: float, z: float) -> bool:
    """Tell whether precision surely rises by less than the least over a range where it could rise and fall."""
    n = curve.n_items[scores]
    pooled = float((n * curve.precision[scores]).sum() / n.sum())
    if not edge < pooled < 1 - edge:
        return False
    rise, error = _rise(curve, scores)
    if rise + z * error >= least or rise - LIKELY * error > least / 8:  # it rises slowly, but it does
        return False
    for pair in pairwise(scores):
        step, own = _rise(curve, list(pair))
        if step - LIKELY * own > least:
            return False
    return True


class Area(NamedTuple):
    """MPA or WRA with the ends of its interval."""

    value: float
    low: float
    high: float


def found_in_areas(mpa: Area, wra: Area, others: tuple[float, float], at: Thresholds) -> Iterator[Evidence]:
    """Yield whether MPA, WRA or both are low.

    ``others`` are MPA and WRA of random groups of the same size, or medians of the others; NaN if there are neither.
    """
    compared = [not np.isnan(usual) for usual in others]
    bounds = [
        floor if np.isnan(usual) else max(floor, usual - margin)
        for usual, floor, margin in zip(others, (at.low_mpa, at.low_wra), (at.mpa_margin, at.wra_margin), strict=True)
    ]
    low = [one.high < bound for one, bound in zip((mpa, wra), bounds, strict=True)]  # never where it is NaN
    clear = [
        one.value + CLEAR / LIKELY * (one.high - one.value) < bound
        for one, bound in zip((mpa, wra), bounds, strict=True)
    ]
    if all(low):
        yield Evidence("both_low", (), *mpa, all(clear), all(compared))
    elif low[0]:
        yield Evidence("low_mpa", (), *mpa, clear[0], compared[0])
    elif low[1]:
        yield Evidence("low_wra", (), *wra, clear[1], compared[1])
