"""Whether the items that people rated are like those that only models answered, as every estimate assumes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import chdtrc, stdtr

from plurivox.infer.families import SIGNIFICANT, adjust
from plurivox.lenses.estimate.estimands import Estimand
from plurivox.lenses.estimate.population import EstimatedItems, Floats, Mask

POPULATION = {
    "axis": pl.String, "group": pl.String, "compared": pl.String, "attribute": pl.String, "value": pl.String,
    "rated": pl.Float64, "others": pl.Float64, "p_value": pl.Float64, "p_adjusted": pl.Float64, "differs": pl.Boolean,
    "n_rated": pl.Int64, "n_others": pl.Int64,
}  # fmt: skip
"""How rated items differ from others: in an item attribute, in a model's answer; and items without an answer."""
ATTRIBUTE, ANSWER, SILENT = "attribute", "answer", "without an answer"
MOST_VALUES = 20
"""Attributes with more values, such as texts, are compared only if they are numbers."""
_LEAST_EXPECTED = 5.0


class Difference(NamedTuple):
    """Where two sets of items differ most: the value of an attribute, and its share in each; or the means of both."""

    value: str
    first: float
    second: float
    p: float


def compared_sets(
    found: EstimatedItems, estimand: Estimand, groups: list[tuple[str, str, Mask]], *, keep_silent: bool
) -> pl.DataFrame:
    """Compare the items that each group rated with the other items of models; all p-values are corrected together.

    Parameters
    ----------
    found
        The items.
    estimand
        The quantity by which answers are compared.
    groups
        The axis and name of each group, and which ratings are its own.
    keep_silent
        Whether items that a model was asked about but did not answer are kept.
    """
    spoken = {str(voice): own.numbers(estimand.numbers, found.n_items, keep_silent=False)
              for voice, own in zip(found.voices, found.spoken, strict=True)}  # fmt: skip
    asked = [own.numbers(estimand.numbers, found.n_items, keep_silent=keep_silent) for own in found.spoken]
    answered = ~np.isnan(np.stack(asked)).all(axis=0)
    rows: list[tuple[Any, ...]] = []
    for axis, group, own in groups:
        rated = np.zeros(found.n_items, dtype=bool)
        rated[found.rated.item[own]] = True
        for name in found.items.columns[1:]:
            first, second = rated & answered, answered & ~rated
            rows += _rows(axis, group, ATTRIBUTE, name, first, second, _by_attribute(found.items[name], first, second))
        for name, numbers in spoken.items():
            known = ~np.isnan(numbers)
            first, second = rated & known, known & ~rated
            rows += _rows(axis, group, ANSWER, name, first, second, _by_mean(numbers, first, second))
    if not keep_silent:
        rows += list(_silent(found, estimand, spoken))
    adjusted = adjust(np.array([row[7] for row in rows], dtype=float), "holm")
    made = [(*row[:8], float(p), bool(p < SIGNIFICANT), *row[8:]) for row, p in zip(rows, adjusted, strict=True)]
    return pl.DataFrame(made, schema=POPULATION, orient="row")


def _rows(
    axis: str, group: str, kind: str, name: str, first: Mask, second: Mask, found: Difference | None
) -> list[tuple[Any, ...]]:
    if found is None:
        return []
    return [(axis, group, kind, name, *found, int(first.sum()), int(second.sum()))]


def _silent(found: EstimatedItems, estimand: Estimand, spoken: dict[str, Floats]) -> Iterator[tuple[Any, ...]]:
    """Compare ratings of items that a model answered with ratings of items that it did not."""
    human = found.rated.means(estimand.numbers, found.n_items)
    rated = ~np.isnan(human)
    for name, numbers in spoken.items():
        known, silent = rated & ~np.isnan(numbers), rated & np.isnan(numbers)
        yield from _rows("all", "all", SILENT, name, known, silent, _by_mean(human, known, silent))


def _by_attribute(column: pl.Series, first: Mask, second: Mask) -> Difference | None:
    """Compare two sets of items in an attribute: shares of its values, or the means of numbers."""
    n_values = column.drop_nulls().n_unique()
    if n_values < 2:
        return None
    if n_values > MOST_VALUES:
        numbers = column.cast(pl.Float64, strict=False)
        if numbers.null_count() > column.null_count():
            return None
        values = numbers.fill_null(math.nan).to_numpy()
        return _by_mean(values, first & ~np.isnan(values), second & ~np.isnan(values))
    names = column.drop_nulls().unique().sort().to_list()
    codes = column.replace_strict(names, range(len(names)), default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
    counts = np.array([np.bincount(codes[own & (codes >= 0)], minlength=len(names)) for own in (first, second)])
    return _by_counts(counts.astype(float), names)


def _by_counts(counts: Floats, names: list[str]) -> Difference | None:
    """Compare counts of two sets by χ²; values that are expected in few items are combined."""
    sizes = counts.sum(axis=1)
    if (sizes == 0).any():
        return None
    few = counts.sum(axis=0) * sizes.min() / sizes.sum() < _LEAST_EXPECTED
    pooled = np.column_stack([counts[:, ~few], counts[:, few].sum(axis=1)]) if few.any() else counts
    expected = np.outer(sizes, pooled.sum(axis=0)) / sizes.sum()
    used = expected.min(axis=0) >= _LEAST_EXPECTED
    if np.count_nonzero(used) < 2:
        return None
    square = float(((pooled - expected)[:, used] ** 2 / expected[:, used]).sum())
    shares = counts / sizes[:, np.newaxis]
    most = int(np.argmax(np.abs(shares[0] - shares[1])))
    p = float(chdtrc(np.count_nonzero(used) - 1, square))
    return Difference(names[most], float(shares[0, most]), float(shares[1, most]), p)


def _by_mean(numbers: Floats, first: Mask, second: Mask) -> Difference | None:
    """Compare the means of two sets by Welch's test."""
    a, b = numbers[first], numbers[second]
    if min(len(a), len(b)) < 2:
        return None
    parts = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    if sum(parts) <= 0:
        return None
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (len(a) - 1) + parts[1] ** 2 / (len(b) - 1))
    t = abs(a.mean() - b.mean()) / math.sqrt(sum(parts))
    return Difference("mean", float(a.mean()), float(b.mean()), float(2 * stdtr(freedom, -t)))
