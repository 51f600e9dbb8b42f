"""Permutation tests: where an observed value is among those of shuffled raters; and sign-flips.

If a group were a random part of the raters it is exchanged with, its value would be one of those that shuffles give,
each as likely as any other, whatever the distribution of scores. So p is the share of them that lie as far out, the
observed one included::

    shuffled    ·  ·  ·· ····:···· ···  ·   ·       N values
    observed                              o         one of them reaches it: p = 2 · (1 + 1)/(N + 1)

An undefined draw says nothing and is left out; one that differs only by rounding is a tie, which counts on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.base.errors import InputError
from plurivox.engine.draws import kept_signs

CONVENTIONS = ("default", "published")
TOLERANCE = 1e-12
"""Values closer than this times max(1, \\|observed\\|) are ties: equal counts may differ in their last bits."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PermutationResult(NamedTuple):
    """What a permutation test says about each observed value, in arrays of their shape."""

    p_value: Floats
    """NaN if the observed value, or every draw, is undefined."""
    direction: NDArray[np.object_]
    """``"above"`` or ``"below"`` the null median; None if equal or undefined."""
    null_median: Floats
    """The median of the defined draws; under the published convention, the lower median."""
    n_undefined: Ints
    """How many draws are NaN and were left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    """The largest of several groups' values, tested against the largest of each draw."""

    value: float
    """NaN if no group is defined."""
    index: int
    """Which group attains it, the first if tied; -1 if none is defined."""
    p_value: float
    """One-sided, see :func:`upper_p`."""
    null: Floats
    """The maximum of each draw, NaN if no group is defined in it."""


class MaxT(NamedTuple):
    """A maximum over groups, raw and standardised."""

    raw: Maximum
    """Of the values as they are, which favours groups whose values vary much, as those of small groups do."""
    standardised: Maximum
    """Of the values in standard deviations from their group's null mean."""


class _NullPlace(NamedTuple):
    """Where the observed values are among the defined draws."""

    n: Ints
    at_most: Ints
    at_least: Ints
    margin: Floats


def compare(
    observed: ArrayLike, null: ArrayLike, *, convention: str = "default", exhaustive: bool = False
) -> PermutationResult:
    """Return the p-value of each observed value, and on which side of its null it is.

    Two-sided, over the N defined draws s* of an observed value o::

        p = min(1, 2 · min(#{s* ≤ o} + 1, #{s* ≥ o} + 1) / (N + 1))

    The +1 counts the observed labelling as one of the draws, without which the test rejects too often.

    Parameters
    ----------
    observed
        One value or an array of them, NaN where undefined.
    null
        Draws × the shape of ``observed``, NaN where a draw is undefined.
    convention
        ``"published"`` is GRASP's rule: #{s* < o}/N if o is below the lower median of s*, otherwise #{s* > o}/N. It can
        be 0, and rejects about twice as often as it claims.
    exhaustive
        Whether the draws are all possible relabellings, including the observed one: the default rule without +1.

    References
    ----------
    Phipson & Smyth (2010), Permutation p-values should never be zero, SAGMB 9(1), 39.

    Examples
    --------
    >>> result = compare([2.5, 0.5], [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    >>> result.p_value.tolist(), result.direction.tolist()
    ([0.5, 1.0], ['above', 'below'])
    """
    if convention not in CONVENTIONS:
        raise InputError(f"convention is {convention!r}", hint=f"Choose one of {', '.join(CONVENTIONS)}.")
    values, draws = _paired(observed, null)
    n, at_most, at_least, margin = place = _place(values, draws)
    median = _median(draws, n, lower=convention == "published")
    above, below = values > median + margin, values < median - margin
    if convention == "published":
        p = _share(place, np.where(below, n - at_least, n - at_most), values)
    else:
        p = np.minimum(1.0, 2 * _share(place, np.minimum(at_most, at_least), values, plus=0 if exhaustive else 1))
    direction = np.full(values.shape, None, dtype=object)
    direction[above], direction[below] = "above", "below"
    return PermutationResult(np.asarray(p), direction, median, np.asarray(len(draws) - n))


def among_peers(observed: ArrayLike, strata: ArrayLike | None = None) -> PermutationResult:
    """Return the p-value of each value among those of its peers: :func:`compare` for groups of one.

    If every group has one member, shuffling members between groups gives each group the value of a random peer, so all
    relabellings are known without drawing, and the null is the peers' values, including its own.

    Parameters
    ----------
    observed
        Peers × anything, NaN where undefined.
    strata
        A number for each peer; values are compared only within a stratum, and NaN for a peer who is alone in one.

    Examples
    --------
    >>> among_peers([1.0, 2.0, 3.0, 4.0]).p_value.tolist()
    [0.5, 1.0, 1.0, 0.5]
    """
    values = np.asarray(observed, dtype=np.float64)
    own = np.zeros(len(values), np.int64) if strata is None else np.asarray(strata)
    p, median = np.full(values.shape, np.nan), np.full(values.shape, np.nan)
    direction = np.full(values.shape, None, dtype=object)
    n_undefined = np.zeros(values.shape, np.int64)
    for stratum in np.unique(own):
        members = np.flatnonzero(own == stratum)
        for column in np.ndindex(values.shape[1:]):
            at = (members, *column)
            found = values[at]
            peers = np.sort(found[~np.isnan(found)])
            margin = TOLERANCE * np.maximum(1.0, np.abs(found))
            at_most = np.searchsorted(peers, found + margin, side="right")
            at_least = len(peers) - np.searchsorted(peers, found - margin, side="left")
            place = _NullPlace(np.full(len(found), len(peers)), at_most, at_least, margin)
            p[at] = np.minimum(1.0, 2 * _share(place, np.minimum(at_most, at_least), found))
            if len(peers) == 1:
                p[at] = np.nan  # nobody to compare with
            middle = float(np.median(peers)) if len(peers) else np.nan
            median[at], n_undefined[at] = middle, len(found) - len(peers)
            sides = np.where(found > middle + margin, "above", np.where(found < middle - margin, "below", ""))
            direction[at] = [side or None for side in sides.tolist()]
    return PermutationResult(p, direction, median, n_undefined)


def upper_p(observed: ArrayLike, null: ArrayLike, *, exhaustive: bool = False) -> Floats:
    """Return the one-sided p-value of each observed value, small if the value is large: (#{s* ≥ o} + 1)/(N + 1).

    Parameters and ties are those of :func:`compare`.

    Examples
    --------
    >>> float(upper_p(2.0, [0.0, 1.0, 2.0]))
    0.5
    """
    values, draws = _paired(observed, null)
    place = _place(values, draws)
    return _share(place, place.at_least, values, plus=0 if exhaustive else 1)


def max_t(observed: ArrayLike, null: ArrayLike, *, exhaustive: bool = False) -> MaxT:
    """Test the largest value of several groups against the largest of each draw, raw and standardised.

    With o_g the value of group g, and μ_g and σ_g the mean and standard deviation of its defined draws::

        raw = max_g o_g        standardised = max_g (o_g − μ_g) / σ_g        p = (#{max* ≥ max} + 1) / (N + 1)

    A group is left out of the maxima in which it is undefined; the standardised maximum also leaves out groups whose
    draws do not vary.

    Parameters
    ----------
    observed
        One value per group.
    null
        Draws × groups.
    exhaustive
        As in :func:`compare`.

    References
    ----------
    Westfall & Young (1993), Resampling-based multiple testing, Wiley.

    Examples
    --------
    >>> found = max_t([3.0, 1.0], [[2.0, 0.1], [4.0, 0.2], [3.0, 0.3]])
    >>> found.raw.index, found.raw.p_value, found.standardised.index, found.standardised.p_value
    (0, 0.75, 1, 0.25)
    """
    values, draws = _paired(observed, null)
    if values.ndim != 1:
        raise InputError(f"observed has the shape {values.shape}", hint="Give one value for each group.")
    mean, deviation = _moments(draws)
    deviation = np.where(deviation > TOLERANCE * np.maximum(1.0, np.abs(mean)), deviation, np.nan)
    with np.errstate(invalid="ignore"):  # an infinite draw makes the mean infinite and excludes its group
        scaled = _maximum((values - mean) / deviation, (draws - mean) / deviation, exhaustive)
    return MaxT(_maximum(values, draws, exhaustive), scaled)


def _paired(observed: ArrayLike, null: ArrayLike) -> tuple[Floats, Floats]:
    """Return both as floats, with the draws along the first dimension of the second."""
    values, draws = np.asarray(observed, dtype=np.float64), np.asarray(null, dtype=np.float64)
    if draws.ndim == 0 or draws.shape[1:] != values.shape:
        raise InputError(
            f"observed has the shape {values.shape}, but null has {draws.shape}",
            hint="Give null the shape of observed, with the draws as an additional first dimension.",
        )
    return values, draws


def _place(values: Floats, draws: Floats) -> _NullPlace:
    """Count the defined draws, and those at most and at least each value, with ties in both."""
    margin = np.where(np.isinf(values), 0.0, TOLERANCE * np.maximum(1.0, np.abs(values)))
    return _NullPlace(
        _count(~np.isnan(draws)), _count(draws <= values + margin), _count(draws >= values - margin), margin
    )


def _count(true: NDArray[np.bool_]) -> Ints:
    """Count along the draws; an array even if one value was observed."""
    return np.asarray(np.count_nonzero(true, axis=0), dtype=np.int64)


def _share(place: _NullPlace, count: Ints, values: Floats, plus: int = 0) -> Floats:
    """Return (count + plus)/(N + plus), NaN if the value or every draw is undefined."""
    share = (count + plus) / np.maximum(place.n + plus, 1)
    return np.where((place.n > 0) & ~np.isnan(values), share, np.nan)


def _median(draws: Floats, n: Ints, *, lower: bool) -> Floats:
    """Return the median of the n defined draws: the lower of the middle two, or their mean."""
    if len(draws) == 0:
        return np.full(draws.shape[1:], np.nan)
    ordered = np.sort(draws, axis=0)  # NaN come last
    low = _at(ordered, np.maximum(n - 1, 0) // 2)
    if lower:
        return low
    high = _at(ordered, n // 2)
    with np.errstate(invalid="ignore"):  # −∞ and ∞ have no middle
        return np.where(low == high, low, low / 2 + high / 2)


def _at(ordered: Floats, position: Ints) -> Floats:
    """Return for each value the draw at its own position."""
    taken: Floats = np.take_along_axis(ordered, np.asarray(position)[np.newaxis], axis=0)[0]
    return np.asarray(taken)


def _moments(draws: Floats) -> tuple[Floats, Floats]:
    """Return the mean and standard deviation (divisor n − 1) of the defined draws, NaN if there are too few."""
    n = np.count_nonzero(~np.isnan(draws), axis=0).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):  # 0/0 gives the intended NaN
        mean = np.nansum(draws, axis=0) / n
        variance = np.nansum((draws - mean) ** 2, axis=0) / (n - 1)
        return mean, np.sqrt(np.where(n > 1, variance, np.nan))


def _maximum(values: Floats, draws: Floats, exhaustive: bool) -> Maximum:
    """Test the maximum over the defined groups."""
    largest: Floats = np.fmax.reduce(draws, axis=1, initial=np.nan)  # fmax passes over NaN
    defined = np.flatnonzero(~np.isnan(values))
    if len(defined) == 0:
        return Maximum(np.nan, -1, np.nan, largest)
    index = int(defined[np.argmax(values[defined])])
    value = float(values[index])
    return Maximum(value, index, float(upper_p(value, largest, exhaustive=exhaustive)), largest)


# Sign-flips -----------------------------------------------------------------------------------------------------------
#
# Sign-flips: what paired differences would add up to if chance had decided which of the two is which.
#
# If two predictions are equally good, the difference of their scores on an item is as likely to be d as −d. Flipping
# the signs of some items therefore gives sums that might equally well have been observed. For up to 16 items, all flips
# are made, and p is exact; for more, as many random ones as requested.


EXACT = 16
"""Up to this many items, all sign-flips are made."""
ROUNDING = 1e-10
"""Sums that differ by less, as a share of the sum of all magnitudes, are equal."""


class Flips(NamedTuple):
    """Sign-flips of some units, the same for every test, numbered from 1; number 0 flips nothing."""

    n_units: int
    seed: int
    exact: bool
    """Whether all flips are made."""

    @classmethod
    def of(cls, n_units: int, seed: int, *, every: bool = True) -> Flips:
        """Use all flips if there are few units and ``every`` is set, otherwise random ones."""
        return cls(n_units, seed, every and n_units <= EXACT)

    @property
    def number(self) -> int:
        """How many flips there are if all are made, without the one that flips nothing; otherwise 0."""
        return 2**self.n_units - 1 if self.exact else 0

    def kept(self, first: int, last: int) -> NDArray[np.int64]:
        """Return which units keep their sign under flips ``first`` to ``last``, draws × units."""
        if not self.exact:
            return kept_signs(self.n_units, last - first, self.seed, first)
        numbers = np.arange(first, last)[:, np.newaxis]
        return 1 - ((numbers >> np.arange(self.n_units)) & 1)


def exact_p(differences: ArrayLike) -> float:
    """Return the share of all sign-flips under which the sum is at least as far from 0, on either side.

    Differences of 0 have no sign and do not count. NaN if there are no others.

    Examples
    --------
    >>> exact_p([1.0, 2.0, 3.0]), exact_p([1.0, -1.0, 0.0])
    (0.25, 1.0)
    """
    given = np.asarray(differences, dtype=np.float64)
    given = given[given != 0]
    if not len(given) or not np.isfinite(given).all():
        return float("nan")
    sums = np.array([given[0]])  # the first keeps its sign: flipping all changes no magnitude
    for one in given[1:]:
        sums = np.concatenate([sums + one, sums - one])
    reached = np.abs(sums) >= abs(given.sum()) - ROUNDING * np.abs(given).sum()
    return float(np.count_nonzero(reached) / len(sums))
