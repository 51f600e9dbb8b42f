"""Why a value is NaN, in plain words, from the same sums of which the value was made.

Each ``why_…`` returns None where the value is defined. The sums are those of one value, without leading dimensions.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.errors import InputError
from plurivox.statistics.checks import choice_of, counts_of, items_of, level_of, pair_of, values_of, weights_of
from plurivox.statistics.cohesion import parts as parts
from plurivox.statistics.cohesion import xrr
from plurivox.statistics.levels import Level
from plurivox.statistics.soft_blocks import EMPIRICAL, METRICS
from plurivox.statistics.ties import votes

ONE_RATER = "a group of one cannot agree with itself"
NO_PAIR = "no item has two ratings"
NO_RATING = "no item was rated"
NO_COMMON_ITEM = "no item was rated by both sides"
ONE_POINT = "everyone gave the same point"
ONE_VOTE = "both sides chose the same point for every item"
NO_DISTANCE = "the level puts no distance between the points given"
NO_REFERENCE = "no item it rated has a reference"
ALL_UNSAFE = "the reference calls everything unsafe"
ALL_SAFE = "the reference calls everything safe"
ONE_SCORE = "only one score was used"
NOT_ABOVE_CHANCE = "cross-agreement is not above chance, so the ratio says nothing"

Over = Literal["rated", "pairable", "common"]


def why_irr(marginals: NDArray[Any], level: Level = "nominal", *, n_raters: int | None = None) -> str | None:
    """Tell why alpha is undefined, from its marginals (L,)."""
    if not marginals.any():
        return ONE_RATER if n_raters == 1 else NO_PAIR
    return _why_no_spread(marginals, marginals, level)


def why_xrr(marginals_x: NDArray[Any], marginals_y: NDArray[Any], level: Level = "nominal") -> str | None:
    """Tell why XRR is undefined, from both marginals (L,)."""
    if not marginals_x.any():
        return NO_COMMON_ITEM
    return _why_no_spread(marginals_x, marginals_y, level)


def why_gai(cross: float, reason_irr: str | None, reason_xrr: str | None) -> str | None:
    """Tell why GAI is undefined, from XRR and the reasons why IRR and XRR may be."""
    reason = reason_irr or reason_xrr
    if reason is None and not cross > parts.ROUNDING:
        return NOT_ABOVE_CHANCE
    return reason


def why_mean(count: float, over: Over = "rated", *, n_raters: int | None = None) -> str | None:
    """Tell why a mean over items is undefined, from how many counted; AC1 and AC2 are ``over="pairable"``."""
    if count > 0:
        return None
    if over == "pairable":
        return ONE_RATER if n_raters == 1 else NO_PAIR
    return NO_COMMON_ITEM if over == "common" else NO_RATING


def why_voting(votes_x: NDArray[Any], votes_y: NDArray[Any]) -> str | None:
    """Tell why voting agreement is undefined, from both sides' sums of votes (L,)."""
    if not votes_x.any():
        return NO_COMMON_ITEM
    return ONE_VOTE if np.count_nonzero(votes_x + votes_y) < 2 else None


def why_responsiveness(statistic: str, ones: NDArray[Any], zeros: NDArray[Any]) -> str | None:
    """Tell why a statistic of responsiveness is undefined, from the samples called unsafe and safe, each (L,)."""
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
    """Tell why a statistic of counts is NaN, in plain words; None where it is defined.

    ``statistic`` is a name of the registry. Statistics of two sides need ``counts_rest``. For statistics of
    responsiveness, such as ``"mpa"``, ``counts`` is ``ones`` and ``counts_rest`` is ``zeros``: the weight of samples
    of each score that the reference calls unsafe and safe. Scores of predictions lack only ratings, and expected ones
    not even these.

    Examples
    --------
    >>> undefined_reason("irr", [[3, 0], [2, 0]])
    'everyone gave the same point'
    >>> undefined_reason("xrr", [[1, 1], [0, 0]], [[0, 0], [2, 0]])
    'no item was rated by both sides'
    >>> undefined_reason("mpa", [1, 0, 2], [0, 0, 0])
    'the reference calls everything unsafe'
    """
    if statistic in METRICS:
        rated = items_of("counts", counts)[0].any()
        return NO_RATING if statistic in EMPIRICAL and not rated else None
    if statistic in _OF_ONE_SIDE:
        return _why_one(statistic, counts_of("counts", counts), level)
    counted = _counted()
    if statistic in counted:
        return _why_counted(counted[statistic], counts_of("counts", counts), values)
    known = {*_OF_ONE_SIDE, *_OF_TWO_SIDES, *_OF_REFERENCE, *METRICS, *counted}
    name = choice_of("statistic", statistic, sorted(known))
    if name in _OF_REFERENCE:
        if counts_rest is None:
            raise InputError(
                f"{name} compares what a reference calls unsafe and safe, and counts_rest is missing",
                hint="Give ones as counts and zeros as counts_rest.",
            )
        return why_responsiveness(name, *weights_of("counts", counts, "counts_rest", counts_rest))
    if counts_rest is None:
        raise InputError(f"{name} compares two sides, and counts_rest is missing", hint="Give the other side's counts.")
    x, y = pair_of("counts", counts, "counts_rest", counts_rest)
    if name == "gai":
        return why_gai(xrr(x, y, level, values=values), _why_one("irr", x, level), _why_two("xrr", x, y, level))
    return _why_two(name, x, y, level)


_OF_ONE_SIDE = frozenset({"ac1", "ac2", "irr", "negentropy", "percent_agreement", "plurality_size"})
_OF_TWO_SIDES = frozenset({"cross_negentropy", "gai", "voting_agreement", "xrr"})
_OF_REFERENCE = frozenset(
    {
        "auroc",
        "average_precision",
        "hm",
        "hm_of_means",
        "kendall_tau_b",
        "mpa",
        "mpa_raw",
        "spearman_rho",
        "wra",
    }
)


def _counted() -> dict[str, Any]:
    """Return the records of statistics of one side whose contribution is a function of counts."""
    from plurivox.statistics.registry import STATISTICS

    found = {name: record for name, record in STATISTICS.items() if record.needs == "group" and record.why is not None}
    return {name: record for name, record in found.items() if STATISTICS[record.source].contribution is not None}


def _why_counted(record: Any, n: NDArray[Any], values: ArrayLike | None) -> str | None:
    from plurivox.statistics.records import About
    from plurivox.statistics.registry import STATISTICS

    about = About(n.shape[1], values_of(values, n.shape[1]))
    contribution = STATISTICS[record.source].contribution
    assert contribution is not None
    reason: str | None = record.why({record.source: contribution(n, None, about).sum(axis=0)}, about, {}, None)
    return reason


def _why_one(statistic: str, n: NDArray[Any], level: str | ArrayLike) -> str | None:
    if statistic in ("plurality_size", "negentropy"):
        return why_mean(parts.plurality_parts(n)[:, 1].sum())
    if statistic == "irr":
        return why_irr(parts.alpha_nominal_parts(n)[:, 1:].sum(axis=0), level_of(level, n.shape[1]))
    return why_mean(parts.percent_agreement_parts(n)[:, 1].sum(), "pairable")


def _why_two(statistic: str, x: NDArray[Any], y: NDArray[Any], level: str | ArrayLike) -> str | None:
    n_points = x.shape[1]
    if statistic == "cross_negentropy":
        return why_mean(parts.cross_entropy_parts(x, y)[:, 1].sum(), "common")
    if statistic == "voting_agreement":
        summed = parts.voting_parts(votes(x), votes(y)).sum(axis=0)
        return why_voting(summed[1 : n_points + 1], summed[n_points + 1 :])
    summed = parts.xrr_nominal_parts(x, y).sum(axis=0)
    return why_xrr(summed[1 : n_points + 1], summed[n_points + 1 :], level_of(level, n_points))


def _why_no_spread(marginals_x: NDArray[Any], marginals_y: NDArray[Any], level: Level) -> str | None:
    """Tell why the expected disagreement is 0."""
    if np.count_nonzero(marginals_x + marginals_y) < 2:
        return ONE_POINT
    if not isinstance(level, str) and not level[np.ix_(marginals_x > 0, marginals_y > 0)].any():
        return NO_DISTANCE
    return None
