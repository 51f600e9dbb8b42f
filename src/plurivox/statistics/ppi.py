"""Few human ratings, many model ratings: prediction-powered inference of a mean over items (PPI++).

Humans rated n items; a model (or several judges) rated these and N further items from the same population. The humans'
mean is corrected by how far the model's mean over the further items is from its mean over the items that humans rated,
multiplied by the trust that the model deserves, λ. A share is the mean of zeros and ones, so all of this holds for
shares, too. Everything is a sum over items, then a finish, in which λ is fitted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from plurivox.base.errors import InputError
from plurivox.statistics.checks import Floats

Ints = NDArray[np.int64]

_SWEEPS, _STILL = 10_000, 1e-13


class ItemSums(NamedTuple):
    """Sums over the common items, one for each set of them, and over further items: all that θ and its variance need.

    Numbers are relative to the first item, so that anything that does not vary is 0.
    """

    n: Floats
    y: Floats
    yy: Floats
    f: Floats
    yf: Floats
    ff: Floats
    n_further: int
    g: Floats
    gg: Floats

    @classmethod
    def of(cls, y: Floats, f: Floats, more: Floats, units: Ints | None = None) -> ItemSums:
        """Add up all common items or, with units, all except those of each unit."""
        first = f[:1].sum(axis=0) if len(f) else more[:1].sum(axis=0)
        y, f, more = y - y[:1].sum(), f - first, more - first
        terms = (np.ones(len(y)), y, y * y, f, y[:, np.newaxis] * f, f[:, :, np.newaxis] * f[:, np.newaxis])
        whole = [term.sum(axis=0)[np.newaxis] for term in terms]
        if units is not None:
            order = np.argsort(units, kind="stable")
            starts = np.searchsorted(units[order], np.arange(int(units.max()) + 1))
            whole = [
                total - np.add.reduceat(term[order], starts, axis=0) for total, term in zip(whole, terms, strict=True)
            ]
        n, own, square, f, both, ff = whole
        return cls(n, own, square, f, both, ff, len(more), more.sum(axis=0), more.T @ more)


class PpiEstimates(NamedTuple):
    """What follows from the sums of each set of items."""

    moved: Floats
    weights: Floats
    variance: Floats
    freedom: Floats
    human_variance: Floats


def finish(sums: ItemSums) -> PpiEstimates:
    """Return λ, how far it moves the mean, and the variance with Satterthwaite's degrees of freedom."""
    n, more = sums.n[:, np.newaxis], sums.n_further
    with np.errstate(invalid="ignore", divide="ignore"):
        every = (sums.f + sums.g) / (n + more)
        spread = (sums.ff + sums.gg) - (n + more)[..., np.newaxis] * every[:, :, np.newaxis] * every[:, np.newaxis]
        spread = spread / (n + more - 1)[..., np.newaxis]
        shared = sums.yf - sums.y[:, np.newaxis] * sums.f / n
        own = sums.ff - sums.f[:, :, np.newaxis] * sums.f[:, np.newaxis] / n[..., np.newaxis]
        weights = np.zeros_like(sums.f)
        if more:
            each = zip(spread * (1 + n / more)[..., np.newaxis], shared / n, sums.n, strict=True)
            last = weights[0]
            for at, (q, c, size) in enumerate(each):
                weights[at] = last = least(q, c, last) if size > 1 else np.zeros(len(c))  # starts near where it ends
        squares = sums.yy - sums.y**2 / sums.n
        left = squares - 2 * (weights * shared).sum(axis=1) + np.einsum("uk,ukl,ul->u", weights, own, weights)
        free = sums.n - 1 - np.count_nonzero((weights > 0) & (weights < 1), axis=1)
        of_both = np.where(free > 0, np.maximum(left, 0.0) / free / sums.n, np.nan)
        of_model = np.einsum("uk,ukl,ul->u", weights, spread, weights) / more if more else np.zeros(len(free))
        of_model = np.where(weights.any(axis=1), of_model, 0.0)
        total = of_both + of_model
        freedom = total**2 / (of_both**2 / free + of_model**2 / np.maximum(sums.n + more - 1, 1))
        beside = sums.g / max(more, 1) - sums.f / n
        moved = np.where(weights.any(axis=1), (weights * beside).sum(axis=1), 0.0)
        human = np.where(sums.n > 1, squares / (sums.n - 1) / sums.n, np.nan)
    return PpiEstimates(moved, weights, total, np.where(total > 0, freedom, np.where(free > 0, free, np.nan)), human)


def least(quadratic: Floats, linear: Floats, start: Floats) -> Floats:
    """Return the λ in [0, 1] that minimise λ'Qλ − 2c'λ, one coordinate after the other until none moves.

    The function is convex and the bounds apply to single coordinates, so this ends at its minimum. A judge that does
    not vary keeps 0.
    """
    size = np.diag(quadratic)
    varies = np.flatnonzero(size > 1e-12 * max(float(size.max(initial=0.0)), 1e-300))
    weights = np.where(np.isin(np.arange(len(linear)), varies), start, 0.0)
    if len(size) == 1 and len(varies):
        return np.clip(linear / size, 0.0, 1.0)
    for _ in range(_SWEEPS):
        before = weights.copy()
        for k in varies:
            rest = linear[k] - quadratic[k] @ weights + size[k] * weights[k]
            weights[k] = min(max(rest / size[k], 0.0), 1.0)
        if np.abs(weights - before).max(initial=0.0) <= _STILL:
            break
    return weights


_MOST_UNITS = 400
_MOST_ITEMS = 1 << 40


class Powered(NamedTuple):
    """A mean over items, from humans and a model together, and what each says alone.

    Attributes
    ----------
    value
        θ, NaN if there is no item that both humans and the model rated.
    weights
        λ of each judge, from 0 (ignored) to 1.
    variance, freedom
        The variance of ``value`` over items, and its degrees of freedom; NaN with fewer than two items.
    n, n_further
        How many items both humans and the model rated, and how many more only the model rated.
    human, human_variance, human_freedom
        The humans' mean, its variance over items, and the degrees of freedom of the variance.
    model, model_variance
        The model's mean (that of the judges, weighted equally) over all its items, and its variance over items.
    """

    value: float
    weights: Floats
    variance: float
    freedom: float
    n: int
    n_further: int
    human: float
    human_variance: float
    human_freedom: float
    model: float
    model_variance: float


def prediction_powered(human: ArrayLike, model: ArrayLike, further: ArrayLike) -> Powered:
    """Return a mean over items from few human and many model ratings.

    Let y be the humans' mean of an item and f the model's rating, with n items of both and N of the model alone::

        θ = ȳ + λ(f̄_N − f̄_n)          λ = Cov(y, f)/((1 + n/N)·Var f), clipped to [0, 1]
        Var θ = Var(y − λf)/n + λ²·Var(f)/N

    Var f is over all n + N items. Each λ inside (0, 1) was fitted and costs Var(y − λf) a degree of freedom. With
    several judges, λ is the vector in [0, 1] with the least Var θ. Without further items, or if the model does not
    vary, λ = 0.

    Parameters
    ----------
    human
        The mean of the human ratings of each of the n items.
    model
        The model's rating of the same items; items × judges for several.
    further
        The model's rating of the N other items; items × judges for several.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), PPI++: Efficient Prediction-Powered Inference.

    Examples
    --------
    >>> found = prediction_powered([0, 1, 2, 3], [1, 1, 2, 4], [2, 3, 4, 5, 1, 3, 4, 2])
    >>> found.human, round(found.value, 4), found.weights.round(4).tolist()
    (1.5, 1.9435, [0.4435])
    """
    y, f, more = _checked(human, model, further)
    every = np.concatenate([f, more]).mean(axis=1)
    n, n_all = len(y), len(every)
    found = finish(ItemSums.of(y, f, more))
    mean = float(y.mean()) if n else np.nan
    return Powered(
        mean + float(found.moved[0]) if n else np.nan, found.weights[0], float(found.variance[0]),
        float(found.freedom[0]), n, len(more), mean, float(y.var(ddof=1) / n) if n > 1 else np.nan,
        float(n - 1) if n > 1 else np.nan, float(every.mean()) if n_all else np.nan,
        float(every.var(ddof=1) / n_all) if n_all > 1 else np.nan,
    )  # fmt: skip


def reach(variance: ArrayLike, freedom: ArrayLike, level: float = 0.95) -> Floats:
    """Return half the width of an interval with a given variance: the quantile of t, times √variance."""
    return np.asarray(stdtrit(np.asarray(freedom), (1 + level) / 2) * np.sqrt(np.asarray(variance)), dtype=float)


# Raters --------------------------------------------------------------------------------------------------------------


class RaterVariance(NamedTuple):
    """How much a mean over items would vary with other raters, beyond what its variance over items already includes."""

    variance: float
    """NaN with a single rater."""
    freedom: float


def rater_variance(
    items: ArrayLike, raters: ArrayLike, numbers: ArrayLike, weights: ArrayLike | None = None
) -> RaterVariance:
    """Return the jackknife variance over raters of the mean over items of their mean rating.

    Each rater is left out once; an item that nobody else rated is left out with them. The noise of individual ratings
    is also in the variance over items, so it is subtracted once, as in every interval over items and raters::

        V = max(0, (R − 1)/R·Σ_r (ȳ_(r) − mean)² − Σ_ir (ȳ_(ir) − ȳ)²)

    where ȳ_(r) is the mean without rater r and ȳ_(ir) that without their rating of item i alone.

    Parameters
    ----------
    items, raters
        The item and the rater of each rating, numbered from 0; no rater rates an item twice.
    numbers
        Each rating, or what is left of it after subtracting λf.
    weights
        How much each rating counts in the mean of its item, above 0; by default all count equally.

    Examples
    --------
    Two raters of the same eight items, one higher by 2: ȳ_(r) is 1 or 3, and ȳ_(ir) is off by ⅛ sixteen times.

    >>> rater_variance([0, 1, 2, 3, 4, 5, 6, 7] * 2, [0] * 8 + [1] * 8, [1] * 8 + [3] * 8).variance
    0.75
    """
    item, rater, x = np.asarray(items), np.asarray(raters), np.asarray(numbers, dtype=float)
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=float)
    item, rater = np.unique(item, return_inverse=True)[1], np.unique(rater, return_inverse=True)[1]
    n, n_raters = int(item.max(initial=-1)) + 1, int(rater.max(initial=-1)) + 1
    if n_raters < 2:
        return RaterVariance(np.nan, np.nan)
    whole_weight = np.bincount(item, weights=w)
    mean = np.bincount(item, weights=w * x) / whole_weight
    several = np.bincount(item)[item] > 1
    off, others = w * (mean[item] - x), np.where(several, whole_weight[item] - w, 1.0)
    moved = np.bincount(rater, weights=np.where(several, off / others, -x), minlength=n_raters)
    left = n - np.bincount(rater[~several], minlength=n_raters)
    whole = (mean.sum() + moved)[left > 0] / left[left > 0]
    if len(whole) < 2:
        return RaterVariance(np.nan, np.nan)
    squares = (whole - whole.mean()) ** 2
    of_raters = float((len(whole) - 1) / len(whole) * squares.sum())
    alone = np.where(several, off / (n * others), (mean.mean() - x) / max(n - 1, 1))
    of_ratings = float((alone**2).sum())
    uneven = float((squares**2).sum() - squares.sum() ** 2 / len(whole))
    freedom = 2 * float(squares.sum()) ** 2 / uneven if uneven > 0 else np.inf
    return RaterVariance(max(0.0, of_raters - of_ratings), float(np.clip(freedom, 1.0, len(whole) - 1.0)))


def added(first: float, first_freedom: float, second: float, second_freedom: float) -> tuple[float, float]:
    """Return the sum of two variances, with Satterthwaite's degrees of freedom."""
    total = first + second
    if np.isnan(total) or total <= 0:
        return total, first_freedom
    return total, total**2 / (first**2 / first_freedom + (second**2 / second_freedom if second > 0 else 0.0))


# What a model is worth -----------------------------------------------------------------------------------------------


class Worth(NamedTuple):
    """How many more items humans would have to rate to know as much without the model."""

    items: float
    low: float
    high: float


def worth(human: ArrayLike, model: ArrayLike, further: ArrayLike, raters: float = 0.0, level: float = 0.95) -> Worth:
    """Return how many more items of human ratings a model is worth, with an interval over items.

    n·(V_human/V − 1), where V_human is the variance of the humans alone and V that of both together; ``raters`` is what
    other raters add to both. The additional items would have as many ratings each as those that humans rated, and
    raters would rate as many items each. The interval is that of the jackknife over items on the scale of
    log(V_human/V); both ends are 0 if λ = 0 whichever item is left out.

    Parameters
    ----------
    human, model, further
        As for :func:`prediction_powered`.
    raters
        The variance that other raters add, from :func:`rater_variance`.
    level
        Between 0 and 1.

    Examples
    --------
    >>> found = worth([0, 1, 2, 3], [1, 1, 2, 4], [2, 3, 4, 5, 1, 3, 4, 2])
    >>> round(found.items, 2)
    2.31
    """
    y, f, more = _checked(human, model, further)
    n = len(y)
    whole = _log_ratio(finish(ItemSums.of(y, f, more)), raters)
    if n < 4:
        return Worth(_items(n, whole[0]), np.nan, np.nan)
    left = _log_ratio(finish(ItemSums.of(y, f, more, np.arange(n) % min(n, _MOST_UNITS))), raters)
    off = jackknife_reach(left, level)
    return Worth(_items(n, whole[0]), _items(n, whole[0] - off), _items(n, whole[0] + off))


def jackknife_reach(left: Floats, level: float = 0.95) -> float:
    """Return half the width of the interval from leave-one-out values; NaN if fewer than four are defined."""
    known = left[np.isfinite(left)]
    if len(known) < 4:
        return np.nan
    variance = (len(known) - 1) / len(known) * float(((known - known.mean()) ** 2).sum())
    return float(reach(variance, len(known) - 1, level))


def _log_ratio(found: PpiEstimates, raters: float) -> Floats:
    whole, alone = found.variance + raters, found.human_variance + raters
    known = (whole > 0) & (alone > 0)
    return np.where(known, np.log(np.where(known, alone, 1.0) / np.where(known, whole, 1.0)), np.nan)


def _items(n: int, ratio: float) -> float:
    return float(n * np.expm1(ratio))


class Needed(NamedTuple):
    """How many items humans would have to rate for an interval of a given width."""

    alone: float
    """Without the model."""
    together: float
    """With the model's existing answers; items that humans rate are not further ones. Infinite if out of reach."""


def items_needed(
    width: float, human: ArrayLike, model: ArrayLike, further: ArrayLike, raters: float = 0.0, level: float = 0.95
) -> Needed:
    """Return how many items humans would have to rate for an interval no wider than this, without and with the model.

    Variances of items are those found here; items keep their number of ratings and raters their number of items, so
    the variance over raters falls as the number of items grows. Of the model's n + N items, those that humans rate are
    not further items, so humans gain less from it the more they rate; λ is fitted again.

    Parameters
    ----------
    width
        The width of the interval from end to end.
    human, model, further, raters, level
        As for :func:`worth`.

    Examples
    --------
    >>> found = items_needed(1.0, [0, 1, 2, 3], [1, 1, 2, 4], [2, 3, 4, 5, 1, 3, 4, 2] * 50)
    >>> int(found.alone), int(found.together)
    (29, 13)
    """
    if not width > 0:
        raise InputError(f"width is {width!r}", hint="Give the width of the interval, a number above 0.")
    y, f, more = _checked(human, model, further)
    n, n_all = len(y), len(f) + len(more)
    found = prediction_powered(y, f, more)
    if n < 2 or np.isnan(found.variance):
        return Needed(np.nan, np.nan)
    of_raters, every = n * raters, np.concatenate([f, more])
    spread = np.cov(every.T).reshape(f.shape[1], f.shape[1])
    shared = (y - y.mean()) @ (f - f.mean(axis=0)) / n
    of_items = float(y.var(ddof=1))

    def alone(size: int) -> float:
        return 2 * float(reach((of_items + of_raters) / size, size - 1, level))

    def together(size: int) -> float:
        others = n_all - size
        if others < 1:
            return alone(size)
        inflated = spread * (1 + size / others)
        weights = least(inflated, shared, found.weights)
        gain = float(2 * shared @ weights - weights @ inflated @ weights)
        return 2 * float(reach((max(of_items - gain, 0.0) + of_raters) / size, max(size - 2, 1), level))

    return Needed(_smallest(alone, width), _smallest(together, width))


def _smallest(wide: Callable[[int], float], width: float) -> float:
    """Return the smallest size, at least 2, whose interval is not wider; widths fall with the size."""
    high = 2
    while wide(high) > width:
        if high > _MOST_ITEMS:
            return np.inf
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if wide(middle) > width else (low, middle)
    return float(max(high, 2))


# Judges whose errors go together --------------------------------------------------------------------------------------


def error_correlation(human: ArrayLike, model: ArrayLike, noise: float = 0.0) -> Floats:
    """Return the correlations over items of judges' errors f − y, judges × judges.

    The noise of the humans' mean is an error that all judges seem to share. ``noise``, its mean variance
    Σ_i s²_i/m_i/n, is subtracted from every covariance. NaN for a judge whose errors do not vary beyond it.

    Examples
    --------
    >>> error_correlation([0, 0, 0, 0], [[1, 1], [0, 0], [1, 0], [0, 1]]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    y, f, _ = _checked(human, model, np.zeros((0, *np.asarray(model, dtype=float).shape[1:])))
    n_judges = f.shape[1]
    if len(y) < 2:
        return np.full((n_judges, n_judges), np.nan)
    spread = np.cov((f - y[:, np.newaxis]).T).reshape(n_judges, n_judges)
    own = np.diag(spread) - noise
    size = np.sqrt(np.where(own > 1e-12 * np.maximum(np.diag(spread), 1e-300), own, np.nan))
    found = np.clip((spread - noise) / np.outer(size, size), -1.0, 1.0)
    found[np.arange(n_judges), np.arange(n_judges)] = np.where(np.isnan(size), np.nan, 1.0)
    return np.asarray(found, dtype=float)


def effective_judges(correlation: ArrayLike) -> float:
    """Return how many judges with unrelated errors these are equivalent to: the eigenvalues' participation ratio.

    (Σ_k l_k)²/Σ_k l²_k = K²/Σ_jk c²_jk: K if errors are unrelated, 1 if all judges err alike (or in opposite ways).

    Parameters
    ----------
    correlation
        Judges × judges, from :func:`error_correlation`; judges whose row is NaN are left out.

    Examples
    --------
    >>> effective_judges([[1.0, 0.0], [0.0, 1.0]]), effective_judges([[1.0, 1.0], [1.0, 1.0]])
    (2.0, 1.0)
    """
    table = np.asarray(correlation, dtype=float)
    known = ~np.isnan(np.diag(table))
    table = table[np.ix_(known, known)]
    return float(len(table) ** 2 / (table**2).sum()) if len(table) else np.nan


class Effective(NamedTuple):
    """How many judges with unrelated errors these are equivalent to, with an interval over items."""

    value: float
    low: float
    high: float


def effective_interval(human: ArrayLike, model: ArrayLike, noise: float = 0.0, level: float = 0.95) -> Effective:
    """Return :func:`effective_judges` of :func:`error_correlation`, with the interval of the jackknife over items.

    The interval is made on the log scale and stays between 1 and the number of judges.

    Examples
    --------
    >>> found = effective_interval([0, 0, 0, 0, 0, 0], [[1, 1], [0, 0], [1, 0], [0, 1], [2, 1], [1, 2]])
    >>> round(found.value, 2), round(found.low, 2), found.high
    (1.84, 1.34, 2.0)
    """
    y, f = np.asarray(human, dtype=float), np.asarray(model, dtype=float)
    value = effective_judges(error_correlation(y, f, noise))
    units = np.arange(len(y)) % max(min(len(y), _MOST_UNITS), 1)
    left = [effective_judges(error_correlation(y[units != u], f[units != u], noise)) for u in np.unique(units)]
    off = jackknife_reach(np.log(np.array(left)), level)
    ends = np.clip(value * np.exp([-off, off]), 1.0, float(f.shape[1]))
    return Effective(value, float(ends[0]), float(ends[1]))


def _checked(human: ArrayLike, model: ArrayLike, further: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return one number per item, and items × judges twice; or raise an error."""
    y, f, more = (np.asarray(given, dtype=float) for given in (human, model, further))
    f, more = (one[:, np.newaxis] if one.ndim == 1 else one for one in (f, more))
    if y.ndim != 1 or f.ndim != 2 or more.ndim != 2 or len(f) != len(y) or f.shape[1] != more.shape[1]:
        raise InputError(
            f"human, model and further have the shapes {y.shape}, {f.shape} and {more.shape}",
            hint="Give one number per item, or items × judges for model and further; human and model need equal items.",
        )
    if not all(np.isfinite(one).all() for one in (y, f, more)):
        raise InputError("an item has no finite number", hint="Leave out items that were not rated.")
    return y, f, more
