"""Habits of scoring: what the use of the scale and the precision at each score show, compared with chance.

A mark is a number that describes how somebody scores: the share of a score, of both ends together, or how much
precision rises over a range of scores. It becomes a habit where it lies beyond what raters of the same items have: for
a group, beyond what shuffled raters give; for a rater, beyond what the other raters of these items do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums, Values, run
from plurivox.infer.exchange import Exchange
from plurivox.infer.families import adjust, step_down
from plurivox.lenses.responsiveness.raters import RaterResponses, against_peers
from plurivox.lenses.responsiveness.sums import Responses
from plurivox.statistics.responsiveness import MEASURES

Floats = NDArray[np.float64]

MANY_POINTS = 20
"""On longer scales, only neighbouring scores are compared."""
AT_ONCE = 500
"""How many shuffles are counted at a time for the use of the scale."""
HARDLY = 0.01
"""Where both ends are preferred, all scores between them are used less; only those below this share are named."""
EDGE = 0.02
"""MPA and WRA are compared as logits, kept this far from their ends."""
NORMAL = 1e6
"""Degrees of freedom of values without long tails."""
TWICE = 2.0
"""A share within this many sampling errors of what is usual shows nothing, however similar the others are."""


class HabitRules(NamedTuple):
    """The thresholds for calling something a habit, beyond chance."""

    part: float = 0.5
    """Below this fraction of what is usual, a score is hardly used, or precision stands still."""
    most: float = 0.5
    """Above this share, one score is given to most items."""


class Mark(NamedTuple):
    """A number that describes how somebody scores, and the scores that it is about."""

    kind: str
    scores: tuple[int, ...]


class Habit(NamedTuple):
    """A habit: which scores it concerns, its value, what is usual, and how unlikely that is by chance."""

    name: str
    scores: tuple[int, ...]
    value: float
    usual: float
    p: float


def marks(n_points: int) -> list[Mark]:
    """Return what is examined on a scale: each score, both ends, and ranges of scores.

    Examples
    --------
    >>> [mark.scores for mark in marks(3)]
    [(0,), (1,), (2,), (0, 2), (0, 1), (0, 2), (1, 2)]
    """
    ranges = [(a, b) for a, b in combinations(range(n_points), 2) if n_points <= MANY_POINTS or b == a + 1]
    if n_points > MANY_POINTS:
        ranges.append((0, n_points - 1))
    ends = [Mark("ends", (0, n_points - 1))] if n_points > 2 else []
    return [*(Mark("share", (c,)) for c in range(n_points)), *ends, *(Mark("rise", one) for one in ranges)]


def precision(tables: Floats) -> Floats:
    """Return the mean of the reference, from 0 to 1, at each score: … × scores of … × scores × reference points.

    Against a reference with two points it is precision; otherwise the mean of the precisions at all boundaries.
    """
    steps = np.arange(tables.shape[-1]) / max(tables.shape[-1] - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((tables * steps).sum(axis=-1) / tables.sum(axis=-1))


def measured(usage: Floats, curve: Floats) -> Floats:
    """Return all marks, in the order of :func:`marks`, from the use of each score and the precision at it.

    A rise is the increase in precision over the range; NaN where one of its ends has none.
    """
    n_points = usage.shape[-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = usage / usage.sum(axis=-1, keepdims=True)
    found = []
    for mark in marks(n_points):
        if mark.kind == "rise":
            found.append(curve[..., mark.scores[1]] - curve[..., mark.scores[0]])
        else:
            found.append(share[..., list(mark.scores)].sum(axis=-1))
    return np.stack(found, axis=-1)


# Groups --------------------------------------------------------------------------------------------------------------


def _curves(sums: Sums) -> Values:
    """Return the precision at each score, draws × groups × scores."""
    return precision(sums["tables"])


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """The marks of some groups, with those of shuffled raters.

    Attributes
    ----------
    observed, null
        Groups × marks, and shuffles × groups × marks.
    alone
        Which groups have no raters to be exchanged with.
    """

    observed: Floats
    null: Floats
    alone: NDArray[np.bool_]

    @property
    def usual(self) -> Floats:
        """What shuffled raters give: the median of each mark."""
        found = np.full(self.observed.shape, np.nan)
        known = np.isfinite(self.null).any(axis=0)
        found[known] = np.nanmedian(self.null[:, known], axis=0)
        return found

    @classmethod
    def of(
        cls, ratings: Ratings, responses: Responses, places: Sequence[int], shuffles: Draws, how: Running,
        min_support: float,
    ) -> Looked:  # fmt: skip
        """Examine some groups of an axis; scores given to fewer items than ``min_support`` have no precision."""
        grouping, own = responses.scored.grouping, list(places)
        tables, _ = responses.observed()
        curve = precision(tables)
        curve[responses.votes().votes < min_support] = np.nan
        use = _use_of_raters(ratings)
        observed = measured(_use_of_groups(use, grouping.codes[np.newaxis], grouping.n_groups)[0], curve)
        made = run(ratings.parts(), responses.scored, shuffles, _curves, how)
        curves = np.concatenate([np.zeros((0, *curve.shape)), *made])
        used = [np.zeros((0, grouping.n_groups, use.shape[1]))]
        for start in range(0, shuffles.total, AT_ONCE):
            labels = grouping.labels(shuffles.between(start, min(start + AT_ONCE, shuffles.total)))
            used.append(_use_of_groups(use, labels, grouping.n_groups))
        null = measured(np.concatenate(used), curves)
        return cls(observed[own], null[:, own], ~grouping.exchangeable[own])


def _use_of_raters(ratings: Ratings) -> Floats:
    """Return how often each rater gave each score."""
    n_points = len(ratings.scale)
    cells = ratings.codes_of_raters.astype(np.int64) * n_points + ratings.scores
    counted = np.bincount(cells, minlength=ratings.n_raters * n_points)
    return np.asarray(counted.reshape(-1, n_points), dtype=np.float64)


def _use_of_groups(use: Floats, labels: NDArray[np.int32], n_groups: int) -> Floats:
    """Return how often groups gave each score, for each row of the labels of all raters."""
    n_draws, n_points = len(labels), use.shape[1]
    cell = np.where(labels < 0, n_groups, labels) + (n_groups + 1) * np.arange(n_draws)[:, np.newaxis]
    found = np.zeros((n_draws * (n_groups + 1), n_points))
    for c in range(n_points):
        found[:, c] = np.bincount(cell.ravel(), np.tile(use[:, c], n_draws), len(found))
    return found.reshape(n_draws, n_groups + 1, n_points)[:, :n_groups]


def adjusted(looked: Sequence[Looked]) -> list[Floats]:
    """Return the p-values of all marks, corrected over all of them by the largest deviation in each shuffle."""
    kept = [np.broadcast_to(~one.alone[:, np.newaxis], one.observed.shape) for one in looked]
    if not looked or not any(one.any() for one in kept):
        return [np.full(one.observed.shape, np.nan) for one in looked]
    observed = np.concatenate([one.observed[inside] for one, inside in zip(looked, kept, strict=True)])
    null = np.concatenate([one.null[:, inside] for one, inside in zip(looked, kept, strict=True)], axis=1)
    pieces = np.split(step_down(observed, null), np.cumsum([np.count_nonzero(inside) for inside in kept])[:-1])
    found = [np.full(one.observed.shape, np.nan) for one in looked]
    for each, inside, p in zip(found, kept, pieces, strict=True):
        each[inside] = p
    return found


# Raters --------------------------------------------------------------------------------------------------------------


AREAS = (Mark("mpa", ()), Mark("wra", ()))


def of_raters(
    ratings: Ratings, responses: RaterResponses, exchange: Exchange, min_support: float
) -> tuple[Floats, Floats, Floats]:
    """Compare every rater's marks, and MPA and WRA, with what raters of the same items do.

    Returns raters × marks and two more: the values, what is usual, and p-values, two-sided for shares, one-sided
    (below) for all else. They are corrected by Holm's method over those of the rater, separately for marks and the two
    areas, each allowed half the errors.

    Shares are compared as arcsines of their roots, whose error depends only on the number of ratings; where raters do
    not form blocks, minus the share that the others gave on the rater's items. MPA and WRA are compared as logits.
    """
    tables, values = responses.observed()
    curve = precision(tables)
    curve[responses.votes().votes < min_support] = np.nan
    use = _use_of_raters(ratings)
    areas = values[:, [MEASURES.index("mpa"), MEASURES.index("wra")]]
    own = np.concatenate([measured(use, curve), areas], axis=1)
    others = measured(_use_of_others(ratings), curve) if exchange.kind == "all" else np.zeros_like(own)
    together = replace(exchange, kind="blocks") if exchange.kind == "all" else exchange
    usual, p = np.full(own.shape, np.nan), np.full(own.shape, np.nan)
    n, start = np.maximum(use.sum(axis=1), 1), np.arcsin(np.sqrt(np.clip(others, 0, 1)))
    for at, mark in enumerate([*marks(len(ratings.scale)), *AREAS]):
        value = own[:, at]
        if mark.kind in ("share", "ends"):
            moved = np.arcsin(np.sqrt(np.clip(value, 0, 1))) - start[:, at]
            beside = against_peers(moved, ratings, together, 0.5 / np.sqrt(n), freedom=NORMAL)
            share = np.sin(np.clip(beside.expected + start[:, at], 0, np.pi / 2)) ** 2
            near = np.abs(value - share) <= TWICE * np.sqrt(share * (1 - share) / n)
            usual[:, at], p[:, at] = share, np.where(near, 1.0, beside.either)
        elif mark in AREAS:
            beside = against_peers(np.log((value + EDGE) / (1 - value + EDGE)), ratings, exchange)
            usual[:, at], p[:, at] = (1 + 2 * EDGE) / (1 + np.exp(-beside.expected)) - EDGE, beside.below
        else:
            beside = against_peers(value, ratings, together)
            usual[:, at], p[:, at] = beside.expected, beside.below
    corrected = [np.concatenate([adjust(part, "holm") for part in (row[:-2], row[-2:])]) for row in p]
    return own, usual, np.minimum(1.0, 2 * np.array(corrected).reshape(p.shape))


def _use_of_others(ratings: Ratings) -> Floats:
    """Return the mean use of each score by the other raters of a rater's items; NaN where nobody else rated them."""
    counts = ratings.counts().astype(float)[ratings.item_codes]
    counts[np.arange(len(counts)), ratings.scores] -= 1
    n = counts.sum(axis=1)
    shares = counts[n > 0] / n[n > 0, np.newaxis]
    rater = ratings.codes_of_raters[n > 0]
    total = np.stack([np.bincount(rater, each, ratings.n_raters) for each in shares.T], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / np.bincount(rater, minlength=ratings.n_raters)[:, np.newaxis])


# Habits --------------------------------------------------------------------------------------------------------------


def habits(values: Floats, usual: Floats, p: Floats, most: float, n_points: int, rules: HabitRules) -> list[Habit]:
    """Return what marks show: those whose p is at most ``most``, each once.

    Parameters
    ----------
    values, usual, p
        One number for each of :func:`marks`; undefined ones show nothing.
    """
    found = {
        mark: Habit(mark.kind, mark.scores, *numbers)
        for mark, *numbers in zip(marks(n_points), values.tolist(), usual.tolist(), p.tolist(), strict=True)
    }
    sure = {mark: one for mark, one in found.items() if one.p <= most and one.value == one.value}  # NaN fails both
    return [*_in_use(found, sure, n_points, rules), *_in_curve(found, sure, n_points, rules)]


def _in_use(found: dict[Mark, Habit], sure: dict[Mark, Habit], n_points: int, rules: HabitRules) -> Iterator[Habit]:
    """Yield what the use of the scale shows: ends preferred or avoided, scores hardly used, one given to most items."""
    share = [found[Mark("share", (c,))] for c in range(n_points)]
    rare = [one for mark, one in sure.items() if mark.kind == "share" and one.value < rules.part * one.usual]
    ends = sure.get(Mark("ends", (0, n_points - 1)))
    inner = tuple(range(1, n_points - 1))
    if ends is not None and all(one.value > one.usual for one in (share[0], share[-1])):
        yield ends._replace(name="extreme")
        rare = [one for one in rare if one.value < HARDLY]
    elif ends is not None and all(one.value < one.usual for one in (share[0], share[-1])):
        yield Habit("central", inner, 1 - ends.value, 1 - ends.usual, ends.p)
        rare = [one for one in rare if one.scores[0] in inner]
    else:
        for mark, one in sure.items():
            if mark.kind == "share" and one.value > max(rules.most, one.usual):
                yield one._replace(name="piled")
    if rare:
        value, usual = sum(one.value for one in rare), sum(one.usual for one in rare)
        yield Habit("unused", tuple(one.scores[0] for one in rare), value, usual, max(one.p for one in rare))


def _in_curve(found: dict[Mark, Habit], sure: dict[Mark, Habit], n_points: int, rules: HabitRules) -> Iterator[Habit]:
    """Yield where precision falls, and the longest ranges over which it stands still; if over the whole, only that."""
    whole = found[Mark("rise", (0, n_points - 1))]
    ranges = [one for mark, one in sure.items() if mark.kind == "rise" and one.value < rules.part * one.usual]
    ranges.sort(key=lambda one: (one.scores[0] - one.scores[1], one.scores))
    falls = [one for one in ranges if one.value < 0]
    if falls and whole.value < 0:  # it surely falls somewhere, and does not rise again
        yield whole._replace(name="reversed", p=min(one.p for one in falls))
        return
    taken: set[int] = set()
    for one in [*falls, *(one for one in ranges if one.value >= 0)]:
        scores = set(range(one.scores[0], one.scores[1] + 1))
        if len(taken & scores) < 2:
            taken |= scores
            yield one._replace(name="falling" if one.value < 0 else "still")
