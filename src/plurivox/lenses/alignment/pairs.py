"""Two groups at a time: how much farther one is from a voice than the other, and which group leads all others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from plurivox.domain.axis import Axis
from plurivox.engine.run import Sums, UnitSums, Values
from plurivox.lenses.alignment.matching import Floats, Ints

LEAST_ITEMS = 10
"""Two groups that both voted on fewer items than this are not compared."""


class Pairs(NamedTuple):
    """The pairs of groups of an axis that may be shown, each once, in the order of the axis.

    Attributes
    ----------
    groups
        The positions of the groups that are shown.
    first, second
        For each pair, positions among them.
    table
        All groups × all groups: the number of a pair, -1 where a group is withheld.
    """

    groups: tuple[int, ...]
    first: Ints
    second: Ints
    table: Ints

    @classmethod
    def of(cls, axis: Axis) -> Pairs:
        """List the pairs of an axis."""
        shown = np.flatnonzero(~axis.withheld)
        first, second = np.triu_indices(len(shown), 1)
        table = np.full((len(axis), len(axis)), -1, dtype=np.int64)
        table[shown[first], shown[second]] = np.arange(len(first))
        return cls(tuple(shown.tolist()), first.astype(np.int64), second.astype(np.int64), table)

    def __len__(self) -> int:
        return len(self.first)

    def against(self, values: Floats) -> Floats:
        """Return values of pairs, … × pairs, as … × groups × groups, NaN where two are not compared.

        Values of the first against the second are unchanged; the other way round they have the opposite sign.
        """
        n = len(self.groups)
        found = np.full((*values.shape[:-1], n, n), np.nan)
        found[..., self.first, self.second] = values
        found[..., self.second, self.first] = -values
        return found

    def margins(self, farther: Floats) -> Floats:
        """Return by how much each group is closer than every other it is compared with: … × groups.

        From how much farther the second group of each pair is, … × pairs. Negative where another group is closer; NaN
        for a group that is compared with none.
        """
        against = self.against(farther)
        least = np.where(np.isnan(against), np.inf, against).min(axis=-1, initial=np.inf)
        return np.where(np.isinf(least), np.nan, least)


def differences(sums: Values) -> Floats:
    """Return from … × pairs × (3 + 2 points) sums how much farther the second group is, and that beyond random order.

    With weights w_i, answers s_i and f_i(s) how much farther point s is from the second group than from the first::

        farther = Σ_i w_i f_i(s_i) / Σ_i w_i        beyond = farther − Σ_s q_s Σ_i w_i f_i(s) / Σ_i w_i

    where q_s is the share of point s among the answers: what the same answers would give on average if they were
    assigned to the items in random order. … × pairs × 2; NaN where fewer than :data:`LEAST_ITEMS` items are compared.
    """
    from plurivox.kernels.alignment import ANSWERS, COMPARED, FARTHER, WEIGHT

    n_points = (sums.shape[-1] - ANSWERS) // 2
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = np.where(sums[..., COMPARED] >= LEAST_ITEMS - 1e-6, sums[..., WEIGHT], np.nan)
        farther = sums[..., FARTHER] / weight
        by_order = (_shares(sums, n_points) * sums[..., ANSWERS + n_points :]).sum(axis=-1) / weight
        beyond = farther - by_order
    return np.stack([farther, np.where(np.abs(beyond) < 1e-12, 0.0, beyond)], axis=-1)  # 0 of a constant is 0


def _shares(sums: Values, n_points: int) -> Floats:
    """Return how answers are shared between the points; 0 without any."""
    from plurivox.kernels.alignment import ANSWERS

    answers = sums[..., ANSWERS : ANSWERS + n_points]
    return np.asarray(answers / np.maximum(answers.sum(axis=-1, keepdims=True), 1e-12))


def influences(by_unit: Values) -> Floats:
    """Return what each unit of items contributes to the error of :func:`differences`, units × voices × pairs × 2.

    To first order. Each column adds up to 0, and the squares to the variance of what other items would give.
    """
    return np.stack([_influences(by_unit[:, v]) for v in range(by_unit.shape[1])], axis=1)


def _influences(by_unit: Values) -> Floats:
    """Return the same for one voice, since all of them at once would fill memory."""
    from plurivox.kernels.alignment import ANSWERS, FARTHER, WEIGHT

    n_points = (by_unit.shape[-1] - ANSWERS) // 2
    whole = by_unit.sum(axis=0)
    values, shares = differences(whole), _shares(whole, n_points)
    answers, at_point = by_unit[..., ANSWERS : ANSWERS + n_points], by_unit[..., ANSWERS + n_points :]
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = whole[..., WEIGHT]
        mean = whole[..., ANSWERS + n_points :] / weight[..., np.newaxis]
        n = np.maximum(whole[..., ANSWERS : ANSWERS + n_points].sum(axis=-1), 1e-12)
        own = by_unit[..., WEIGHT]
        farther = (by_unit[..., FARTHER] - values[..., 0] * own) / weight
        of_shares = ((answers - shares * answers.sum(axis=-1, keepdims=True)) * mean).sum(axis=-1) / n
        of_means = (shares * (at_point - mean * own[..., np.newaxis])).sum(axis=-1) / weight
    return np.stack([farther, farther - of_shares - of_means], axis=-1)


class OverItems(NamedTuple):
    """Differences of pairs with their intervals over items: voices × pairs × 2, as :func:`differences` has them."""

    value: Floats
    low: Floats
    high: Floats
    n_items: Floats
    """Voices × pairs."""

    @classmethod
    def of(cls, sums: UnitSums, errors: Floats, level: float) -> OverItems:
        """Make intervals that each miss the truth with probability ``1 − level``, from :func:`influences`."""
        from plurivox.kernels.alignment import COMPARED

        whole = sums.by_unit.sum(axis=0)
        value = differences(whole)
        n = np.count_nonzero(sums.by_unit[..., COMPARED] > 0, axis=0)[..., np.newaxis].astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.sqrt(np.einsum("uvpk,uvpk->vpk", errors, errors) * n / (n - 1))
            reach = stdtrit(np.maximum(n - 1, 1), (1 + level) / 2) * error
        return cls(value, value - reach, value + reach, whole[..., COMPARED])


def farther_of_all(sums: Sums) -> Values:
    """Return how much farther the second group of each pair is, draws × voices × pairs, with all items as one unit."""
    return differences(sums["by_unit"][:, 0])[..., 0]


def shifted(moved: Values) -> Values:
    """Return what draws of units add to the differences: draws × voices × pairs, from draws × one subset × … × 2."""
    return np.asarray(moved[:, 0, ..., 0])


def wins(margins: Floats) -> Floats:
    """Return how often each group has the largest margin: voices × groups; ties share. NaN without draws."""
    if not len(margins):
        return np.full(margins.shape[1:], np.nan)
    known = ~np.isnan(margins).all(axis=-1, keepdims=True)
    largest = np.nanmax(np.where(known, margins, 0.0), axis=-1, keepdims=True)
    ahead = (margins >= largest - 1e-12) & known
    with np.errstate(invalid="ignore"):
        share = ahead / ahead.sum(axis=-1, keepdims=True)
    won = np.nansum(share, axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(np.isnan(margins).all(axis=0), np.nan, won)
