"""Who is chosen, group by group: shares, rates, how much of their group's view the chosen keep, and harder batches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plurivox.actions.select.choosing import JudgedRater, Ranked
from plurivox.actions.select.judging import CandidateGroup
from plurivox.actions.select.views import centred, kept
from plurivox.domain.ratings import Ratings


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
        counts = np.array([_counts(judged[other.key], ranked[other.key]) for other in beside], float)
        own = counts[beside.index(one)]
        totals = counts.sum(axis=0)
        shares = [_ratio(own[at], totals[at]) for at in range(3)]
        low, high = _share_interval(int(own[1]), int(own[0]))
        usual = _ratio(totals[1], totals[0])
        chosen = _mask(one, [each.rater for each in ranked[one.key].chosen])
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


def _counts(own: Sequence[JudgedRater], ranked: Ranked) -> tuple[int, int, int]:
    """Return how many raters a group has, how many are eligible, and how many are chosen."""
    return len(own), sum(not one.reason for one in own), len(ranked.chosen)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _share_interval(k: int, n: int) -> tuple[float, float]:
    """Return Clopper and Pearson's 95 % interval for a share."""
    from scipy.stats import beta

    low = float(beta.ppf(0.025, k, n - k + 1)) if k else 0.0
    return low, float(beta.ppf(0.975, k + 1, n - k)) if k < n else 1.0


def _mask(group: CandidateGroup, raters: Sequence[str]) -> Any:
    """Return for each rater of the ratings whether they are among some raters of a group."""
    found = np.zeros(len(group.members), bool)
    wanted = set(raters)
    places = np.flatnonzero(group.members).tolist()
    found[[at for at, name in zip(places, group.raters, strict=True) if name in wanted]] = True
    return found


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
