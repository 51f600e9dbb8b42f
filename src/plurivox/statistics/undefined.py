"""Why a value is NaN, in plain words, from the same sums from which the value was made.

Each ``why_…`` returns None if the value is defined. The sums are those of one value, without leading dimensions.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.base.errors import InputError
from plurivox.statistics.checks import (
    Floats,
    Level,
    choice_of,
    counts_of,
    items_of,
    level_of,
    pair_of,
    values_of,
    votes,
    weights_of,
)
from plurivox.statistics.cohesion import cross_negentropy, voting_agreement, xrr
from plurivox.statistics.cohesion import parts as parts
from plurivox.statistics.records import About, Known, Slots, Statistic
from plurivox.statistics.soft_blocks import EMPIRICAL

ONE_RATER = "a group of one cannot agree with itself"
NO_PAIR = "no item has two ratings"
NO_RATING = "no item was rated"
NO_COMMON_ITEM = "no item was rated by both sides"
ONE_POINT = "everyone gave the same point"
ONE_VOTE = "both sides chose the same point for every item"
NO_DISTANCE = "the level puts no distance between the points given"
NO_REFERENCE = "none of the rated items has a reference"
ALL_UNSAFE = "every reference rating lies at or above the boundary"
ALL_SAFE = "every reference rating lies below the boundary"
ONE_SCORE = "only one score was used"
NOT_ABOVE_CHANCE = "cross-agreement is not above chance, so the ratio says nothing"
NOT_FORESEEN = "the rest predicts the group's answers no better than an even spread, so the ratio says nothing"

Over = Literal["rated", "pairable", "common"]


def why_irr(marginals: NDArray[Any], level: Level = "nominal", *, n_raters: int | None = None) -> str | None:
    """Say why alpha is undefined, from its marginals (L,)."""
    if not marginals.any():
        return ONE_RATER if n_raters == 1 else NO_PAIR
    return why_no_spread(marginals, marginals, level)


def why_mean(count: float, over: Over = "rated", *, n_raters: int | None = None) -> str | None:
    """Say why a mean over items is undefined, from how many counted; AC1 and AC2 are ``over="pairable"``."""
    if count > 0:
        return None
    if over == "pairable":
        return ONE_RATER if n_raters == 1 else NO_PAIR
    return NO_COMMON_ITEM if over == "common" else NO_RATING


def why_unpaired(name: str, s: Slots, about: About, known: Known, n_raters: int | None) -> str | None:
    """Say why there is no value if the second sum, of items with two ratings, is 0."""
    return why_mean(float(s[name][1]), "pairable", n_raters=n_raters)


def why_voting(votes_x: NDArray[Any], votes_y: NDArray[Any]) -> str | None:
    """Say why voting agreement is undefined, from both sides' sums of votes (L,)."""
    if not votes_x.any():
        return NO_COMMON_ITEM
    return ONE_VOTE if np.count_nonzero(votes_x + votes_y) < 2 else None


def why_responsiveness(statistic: str, ones: NDArray[Any], zeros: NDArray[Any]) -> str | None:
    """Say why a statistic of responsiveness is undefined, from the samples called unsafe and safe, each (L,)."""
    if not ones.any() and not zeros.any():
        return NO_REFERENCE
    if statistic == "mpa_raw":
        return None
    if not zeros.any():
        return ALL_UNSAFE
    if not ones.any():
        return ALL_SAFE
    one_score = np.count_nonzero((ones > 0) | (zeros > 0)) == 1
    return ONE_SCORE if one_score and statistic in ("kendall_tau_b", "spearman_rho") else None


def undefined_reason(
    statistic: str,
    counts: ArrayLike,
    counts_rest: ArrayLike | None = None,
    level: str | ArrayLike = "nominal",
    *,
    values: ArrayLike | None = None,
) -> str | None:
    """Say why a statistic of counts is NaN, in plain words; None if it is defined.

    ``statistic`` is a name in the registry. Statistics of two sides need ``counts_rest``. For statistics of
    responsiveness, such as ``"mpa"``, ``counts`` is ``ones`` and ``counts_rest`` is ``zeros``: the weight of samples
    with each score that the reference calls unsafe and safe. Scores of predictions are undefined only without ratings,
    and expected ones never.

    Examples
    --------
    >>> undefined_reason("irr", [[3, 0], [2, 0]])
    'everyone gave the same point'
    >>> undefined_reason("xrr", [[1, 1], [0, 0]], [[0, 0], [2, 0]])
    'no item was rated by both sides'
    >>> undefined_reason("mpa", [1, 0, 2], [0, 0, 0])
    'every reference rating lies at or above the boundary'
    """
    from plurivox.statistics.registry import STATISTICS

    counted = ("group", "pair", "reference", "prediction")
    known = sorted(name for name, record in STATISTICS.items() if record.needs in counted)
    record = STATISTICS[choice_of("statistic", statistic, known)]
    if record.needs == "prediction":
        rated = items_of("counts", counts)[0].any()
        return NO_RATING if statistic in EMPIRICAL and not rated else None
    if counts_rest is None and record.needs != "group":
        what, hint = _TWO_SIDES[record.needs]
        raise InputError(f"{statistic} compares {what}, but counts_rest is missing", hint=hint)
    if record.needs == "reference" and counts_rest is not None:
        return why_responsiveness(statistic, *weights_of("counts", counts, "counts_rest", counts_rest))
    if record.needs == "group" or counts_rest is None:
        x, y = counts_of("counts", counts), None
    else:
        x, y = pair_of("counts", counts, "counts_rest", counts_rest)
    assert record.why is not None
    about = About(x.shape[1], values_of(values, x.shape[1]), level_of(level, x.shape[1]))
    cross = {} if y is None else _crossed(statistic, x, y, level, values)
    return record.why(_sums(STATISTICS[record.source], x, y, about), about, cross, None)


def _crossed(
    statistic: str, x: Floats, y: Floats, level: str | ArrayLike, values: ArrayLike | None
) -> dict[str, Floats]:
    """Return the divisor of a ratio, by its name."""
    if statistic == "gai":
        return {"xrr": np.asarray(xrr(x, y, level, values=values))}
    if statistic == "gai_negentropy":
        return {"cross_negentropy": np.asarray(cross_negentropy(x, y))}
    return {"voting_agreement": np.asarray(voting_agreement(x, y))} if statistic == "gai_plurality" else {}


_TWO_SIDES = {
    "pair": ("two sides", "Give the other side's counts."),
    "reference": ("what a reference calls unsafe and safe", "Give ones as counts and zeros as counts_rest."),
}


def _sums(record: Statistic, x: Floats, y: Floats | None, about: About) -> dict[str, NDArray[Any]]:
    """Return the sums of counts on which reasons rest: the record's contribution, or those of the compiled pass."""
    if record.contribution is not None:
        return {record.name: record.contribution(x, y, about).sum(axis=0)}
    sums = {"marginals": parts.alpha_nominal_parts(x)[:, 1:].sum(axis=0), "rated": parts.plurality_parts(x)[:, 1].sum()}
    if y is not None:
        sums["own"], sums["rest"] = np.split(parts.xrr_nominal_parts(x, y)[:, 1:].sum(axis=0), 2)
        sums["own_votes"], sums["rest_votes"] = np.split(parts.voting_parts(votes(x), votes(y))[:, 1:].sum(axis=0), 2)
        sums["shared"] = parts.cross_entropy_parts(x, y)[:, 1].sum()
    return sums


def why_no_spread(marginals_x: NDArray[Any], marginals_y: NDArray[Any], level: Level) -> str | None:
    """Say why the expected disagreement is 0."""
    if np.count_nonzero(marginals_x + marginals_y) < 2:
        return ONE_POINT
    if not isinstance(level, str) and not level[np.ix_(marginals_x > 0, marginals_y > 0)].any():
        return NO_DISTANCE
    return None
