"""Raking: weights of raters that give a panel the shares of a population, by iterative proportional fitting.

Each step multiplies the weights of the raters who share a value by what that value lacks; steps cycle through the
margins until all are met. A weight above the cap is set to it, and the steps continue from there. Both are projections
onto convex sets, so steps and caps together end where all conditions hold, if there are such weights.

Raters with the same value in every margin have the same weight, so cells are weighted, not raters: the cost depends
neither on the number of raters nor on their order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import InputError, SelectionError

TOLERANCE = 1e-8
TRIM = 5.0
MOST_ROUNDS = 20_000
_SLACK = 1e-12  # of a cap that holds up to rounding


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
    """One attribute, or a crossing of several, and the shares of its values in the population.

    Attributes
    ----------
    name
        The attribute, ``gender``, or the crossing, ``gender × age``.
    values
        The values that raters have, in order.
    codes
        For each rater, the index of their value, -1 if it is unknown.
    shares
        The share of each value, all above 0; they add up to 1.
    """

    name: str
    values: tuple[str, ...]
    codes: NDArray[np.int32]
    shares: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Raked:
    """Weights of raters, whose mean is 1.

    Attributes
    ----------
    weights
        One for each rater.
    known
        Whether a rater has a value in every margin; the others have weight 1.
    trimmed
        Whether a rater's weight would exceed the cap if there were none.
    """

    weights: NDArray[np.float64]
    known: NDArray[np.bool_]
    trimmed: NDArray[np.bool_]


def rake(margins: Sequence[Margin], *, trim: float = TRIM, tolerance: float = TOLERANCE) -> Raked:
    r"""Return weights that give raters the shares of every margin.

    The weights solve :math:`\sum_{r: v_r = v} w_r = s_v \sum_r w_r` for each value v of each margin, with
    :math:`w_r \le` ``trim``, as products of one factor for each value, up to the cap.

    Parameters
    ----------
    margins
        The shares; raters must be in the same order in each.
    trim
        The largest weight, as a multiple of the mean; ``math.inf`` for none.
    tolerance
        How far the share of a value may be off.

    Raises
    ------
    SelectionError
        If a value has a share but no rater, or no weights meet all shares under the cap; the message names the value.

    References
    ----------
    Deming and Stephan (1940). On a least squares adjustment of a sampled frequency table when the expected marginal
    totals are known.

    Examples
    --------
    >>> panel = Margin("gender", ("Man", "Woman"), np.array([0, 0, 0, 1], np.int32), np.array([0.5, 0.5]))
    >>> rake([panel]).weights.tolist()
    [0.6666666666666666, 0.6666666666666666, 0.6666666666666666, 2.0]
    """
    if not (isinstance(trim, float | int) and trim >= 1):
        raise InputError(f"trim is {trim!r}", hint="Give a number of at least 1, such as 5, or inf for no trimming.")
    codes = np.stack([margin.codes for margin in margins])
    known = np.asarray((codes >= 0).all(axis=0))
    cells, owner, sizes = np.unique(codes[:, known], axis=1, return_inverse=True, return_counts=True)
    owner, n = owner.reshape(-1), sizes.astype(float)
    _refuse_unreachable(margins, cells, n, trim)
    free = _fitted(margins, cells, n, math.inf, tolerance)
    capped = free if (free <= trim * (1 + _SLACK)).all() else _fitted(margins, cells, n, trim, tolerance)
    weights, trimmed = np.ones(len(known)), np.zeros(len(known), bool)
    weights[known], trimmed[known] = capped[owner], (free > trim * (1 + _SLACK))[owner]
    return Raked(weights, known, trimmed)


def _refuse_unreachable(
    margins: Sequence[Margin], cells: NDArray[np.int32], n: NDArray[np.float64], trim: float
) -> None:
    """Raise an error if a value has no rater, or too few for its share regardless of the other margins."""
    for margin, place in zip(margins, cells, strict=True):
        found = np.bincount(place, n, len(margin.values))
        for value, share, size in zip(margin.values, margin.shares, found, strict=True):
            if not size:
                raise SelectionError(
                    f"no rater has {margin.name} = '{value}' and a value of every other raked attribute, but its share "
                    f"of the population is {share:.3g}",
                    hint="Merge it with another value in both tables, or leave out this margin.",
                )
            needed = share * n.sum() / size
            if needed > trim * (1 + TOLERANCE):
                raise SelectionError(
                    f"{margin.name} = '{value}' is {share:.3g} of the population but {size / n.sum():.3g} of the "
                    f"panel: its raters would need a weight of {needed:.3g} times the mean, above the cap of {trim:g}",
                    hint="Raise the cap with --trim (trim=), merge the value with another, or leave out the margin.",
                )


def _fitted(
    margins: Sequence[Margin], cells: NDArray[np.int32], n: NDArray[np.float64], trim: float, tolerance: float
) -> NDArray[np.float64]:
    """Return the weight of each cell such that all margins are met and no weight is above the cap."""
    weights, total = np.ones(len(n)), n.sum()
    for _ in range(MOST_ROUNDS):
        for margin, place in zip(margins, cells, strict=True):
            found = np.bincount(place, weights * n, len(margin.values))
            weights = weights * (margin.shares * total / found)[place]
        weights = np.minimum(weights, trim)
        off = [
            np.asarray(np.bincount(place, (weights * n / total), len(margin.values)) - margin.shares)
            for margin, place in zip(margins, cells, strict=True)
        ]
        if max(abs(one).max() for one in off) <= tolerance:
            return weights
    worst = max(range(len(margins)), key=lambda at: float(abs(off[at]).max()))
    margin, value = margins[worst], int(abs(off[worst]).argmax())
    capped = "" if math.isinf(trim) else f" with no weight above {trim:g} times the mean"
    raise SelectionError(
        f"no weights meet all shares{capped}: {margin.name} = '{margin.values[value]}' comes to "
        f"{margin.shares[value] + off[worst][value]:.4g} instead of {margin.shares[value]:.4g}",
        hint="Too few raters have the missing combinations of values: merge values, raise --trim (trim=), or leave out "
        "a margin.",
    )


def design_effect(weights: NDArray[np.float64]) -> float:
    r"""Return Kish's design effect of weights, :math:`n \sum w^2 / (\sum w)^2`.

    This is the factor by which the variance of a mean grows if what is measured does not depend on the weights. It is 1
    for equal weights, NaN for none.

    References
    ----------
    Kish (1965). Survey Sampling.

    Examples
    --------
    >>> design_effect(np.array([1.0, 1.0, 1.0])), design_effect(np.array([1.0, 3.0]))
    (1.0, 1.25)
    """
    total = float(weights.sum())
    return len(weights) * float((weights * weights).sum()) / (total * total) if total > 0 else math.nan


def effective_raters(weights: NDArray[np.float64]) -> float:
    """Return how many raters of equal weight would be as informative: their number over the design effect.

    Examples
    --------
    >>> effective_raters(np.array([1.0, 3.0]))
    1.6
    """
    return len(weights) / design_effect(weights) if len(weights) else 0.0
