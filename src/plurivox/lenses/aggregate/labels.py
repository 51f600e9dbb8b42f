"""One label for each item, by each method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.ratings import Ratings
from plurivox.lenses.aggregate.fits import LabelModel, dawid_skene, mace, ordinal
from plurivox.lenses.aggregate.settings import OF_COUNTS, AggregateSettings

Floats = NDArray[np.float64]

TIED = 1e-9
"""Points whose probabilities differ by less are tied."""


@dataclass(frozen=True, slots=True, eq=False)
class MethodLabels:
    """What a method makes of the ratings of each item.

    Attributes
    ----------
    chosen
        The position of the label, -1 without ratings; of tied points, the one nearest to the mean of the item's
        ratings, then the lower.
    numbers
        The item's score: the number of the label, or the mean itself; NaN without ratings.
    own
        By how much one rating moves the mean or the expected score; 0 for labels, which hardly any single rating moves.
    probabilities
        Items × points.
    confidence
        The probability of the label; for plurality and mean, the share of ratings that gave it.
    tied
        Which items have several equally likely points, or a mean midway between two.
    fit
        What a model of the raters also says.
    """

    method: str
    chosen: NDArray[np.int64]
    numbers: Floats
    own: Floats
    probabilities: Floats
    confidence: Floats
    tied: NDArray[np.bool_]
    fit: LabelModel | None = None


def labels_of(ratings: Ratings, settings: AggregateSettings, counts: Floats, prior: Floats) -> list[MethodLabels]:
    """Label every item by each method; ``counts`` are items × points, and may be weighted."""
    values = np.array(ratings.scale.values, dtype=float)
    total = counts.sum(axis=1)
    with np.errstate(invalid="ignore"):  # 0/0 is the intended NaN
        shares = counts / total[:, np.newaxis]
        means = np.einsum("ic,c->i", counts, values) / total
    found = []
    for method in settings.methods:
        fit = None if method in OF_COUNTS else _fit(method, ratings, settings)
        if method == "posterior":
            p = np.where(total[:, np.newaxis] > 0, (counts + prior) / (total + prior.sum())[:, np.newaxis], np.nan)
        else:
            p = shares if fit is None else fit.posterior
        nearness = -np.abs(values - means[:, np.newaxis])
        chosen, tied = _chosen(nearness if method == "mean" else p, nearness)
        numbers = np.where(chosen < 0, np.nan, values[chosen])
        own = np.zeros(len(total))
        if method in ("mean", "posterior"):
            numbers = np.einsum("ic,c->i", p, values)
            own = 1.0 / np.maximum(total + (prior.sum() if method == "posterior" else 0.0), 1.0)
        confidence = np.where(chosen < 0, np.nan, p[np.arange(len(p)), chosen])
        found.append(MethodLabels(method, chosen, numbers, own, p, confidence, tied, fit))
    return found


def _fit(method: str, ratings: Ratings, settings: AggregateSettings) -> LabelModel:
    if method == "mace":
        return mace(ratings, max_iterations=settings.max_iterations, starts=settings.starts, seed=settings.seed)
    return (dawid_skene if method == "dawid_skene" else ordinal)(ratings, max_iterations=settings.max_iterations)


def _chosen(by: Floats, nearness: Floats) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the point with the largest value, of tied ones the nearest to the mean; and which items have ties."""
    rated = np.asarray(~np.isnan(by).any(axis=1))
    best, near = np.where(rated[:, np.newaxis], by, 0.0), np.where(rated[:, np.newaxis], nearness, 0.0)
    top = best >= best.max(axis=1, keepdims=True) - TIED
    nearest = np.where(top, near, -np.inf)
    among = nearest >= nearest.max(axis=1, keepdims=True) - TIED
    return np.where(rated, among.argmax(axis=1), -1), np.asarray(rated & (top.sum(axis=1) > 1))
