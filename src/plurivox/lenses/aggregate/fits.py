"""Models that assume one true point for each item: Dawid and Skene's, MACE, and one for ordered points.

They are not sums over items but climb a likelihood: each round gives every item a probability for each point, and then
every rater the parameters that make these most likely. Parts of the items are visited in order, so that neither the
order of rows nor threads change a bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import InputError
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.lenses.aggregate import OF_COUNTS, AggregateSettings

Floats = NDArray[np.float64]

TOLERANCE = 1e-8
"""A model has converged once a round adds less than this to the log-likelihood, for each rating."""
TRIED = 10
"""Rounds after which the best of MACE's starts is chosen and continues alone."""
MOST_CELLS = 1 << 27
"""The most raters × points × points: two tables of a gigabyte."""
KNOWING, GUESSING = 0.5, 10.0
"""MACE's priors: both weights of the Beta on whether a rater knows, and that of each point they guess (Hovy 2013)."""
ORDERED = (1.0, 1.0, 0.25)
"""The ordinal model's priors: precision ~ Gamma(2, 1), and bias, in units of noise, ~ Normal(0, 2²)."""
_STARTS = 1021  # which child of the seed MACE's starts come from


@dataclass(frozen=True, slots=True, eq=False)
class LabelModel:
    """What a model says about items and raters.

    Attributes
    ----------
    posterior
        Items × points: how likely each point is the true one; NaN for items without ratings.
    iterations, converged
        How many rounds it took, and whether the last one changed almost nothing.
    log_likelihood
        The log-likelihood of the ratings; for the ordinal model, including the log prior of its parameters.
    raters
        What is known about each rater, by name: how often they are right or know the answer, or how precise and how
        biased they are.
    """

    posterior: Floats
    iterations: int
    converged: bool
    log_likelihood: float
    raters: dict[str, Floats]


def dawid_skene(ratings: Ratings, *, max_iterations: int = 1000, tolerance: float = TOLERANCE) -> LabelModel:
    """Fit a table of errors for each rater, P(says x | the item is t), and the share of items of each point.

    It starts from the shares of each item's ratings and climbs to the nearest maximum of the likelihood.

    References
    ----------
    Dawid & Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm.
    """
    from plurivox.kernels import aggregate as k

    def improve(counts: Floats, log_errors: Floats) -> float:
        k.fill_errors(counts, log_errors)
        return 0.0

    counts, fitted = _tables_fitted(ratings, "Dawid–Skene", improve, max_iterations, tolerance)
    right = np.einsum("rtt->r", counts) / np.maximum(counts.sum(axis=(1, 2)), 1e-300)
    return LabelModel(*fitted, {"right": _known(ratings, right)})


def ordinal(
    ratings: Ratings, *, max_iterations: int = 1000, tolerance: float = TOLERANCE,
    prior: tuple[float, float, float] = ORDERED,
) -> LabelModel:  # fmt: skip
    """Fit a precision and a bias for each rater who sees the item's point, on an ordered scale, with noise.

    With positions 0 … K of the points, and the logistic function σ::

        P(rater r says x or lower | the item is t) = σ(a_r (x + ½ − t) − β_r)        x < K

    so that a rater with bias β/a = 1 sees items one point higher, and a large precision a means little noise. Instead
    of the tables of Dawid and Skene, it has two numbers for each rater, and makes points near t more likely than points
    further away. Precisions have the prior Gamma(2, 1) and biases Normal(0, 2²); ``prior`` holds the weight and the
    rate of the first, and the weight of the second, which is 1/2². With two points and no priors, it is Dawid and
    Skene's model of raters who are right more often than by chance.
    """
    from plurivox.kernels import aggregate as k

    precision, bias, weights = np.ones(ratings.n_raters), np.zeros(ratings.n_raters), np.array(prior)

    def improve(counts: Floats, log_errors: Floats) -> float:
        own: float = k.fit_ordered(counts, weights, precision, bias)
        k.fill_ordered(precision, bias, log_errors)
        return own

    _, fitted = _tables_fitted(ratings, "the ordinal model", improve, max_iterations, tolerance)
    known = {"precision": _known(ratings, precision), "bias": _known(ratings, bias / precision)}
    return LabelModel(*fitted, known)


def too_large(ratings: Ratings) -> bool:
    """Return whether a table of points × points for each rater would be too large."""
    return ratings.n_raters * len(ratings.scale) ** 2 > MOST_CELLS


def _tables_fitted(
    ratings: Ratings, model: str, improve: Callable[[Floats, Floats], float], most: int, tolerance: float
) -> tuple[Floats, tuple[Floats, int, bool, float]]:
    """Fit tables of what each rater says for items of each true point, raters × true × said, starting from votes.

    In each round, ``improve`` makes logarithms of shares from the expected counts and returns the log prior. Returns
    the counts, and the first fields of :class:`LabelModel`.
    """
    from plurivox.kernels import aggregate as k

    n_raters, n_points = ratings.n_raters, len(ratings.scale)
    if too_large(ratings):
        raise InputError(
            f"{model} needs a table of {n_points:,} × {n_points:,} points for each of {n_raters:,} raters",
            hint="Leave it out with --methods (methods=), or sort the scores into fewer points.",
        )
    votes = ratings.counts()
    with np.errstate(invalid="ignore"):  # 0/0 is the intended NaN
        posterior = np.asarray(votes / votes.sum(axis=1, keepdims=True))
    shares = np.zeros(n_points)
    counts, log_errors = (np.zeros((n_raters, n_points, n_points)) for _ in range(2))
    for part in ratings.parts():
        k.errors_pass(*_given(part), np.zeros((0, 0, 0)), shares, posterior[part.items], counts, shares)
    shares /= max(shares.sum(), 1.0)

    def step() -> float:
        prior = improve(counts, log_errors)
        with np.errstate(divide="ignore"):  # a point that nobody gave is impossible
            log_shares = np.log(np.where(shares > 0, np.maximum(shares, k.LEAST), 0.0))
        counts[:], shares[:] = 0.0, 0.0
        total = 0.0
        for part in ratings.parts():
            total += k.errors_pass(*_given(part), log_errors, log_shares, posterior[part.items], counts, shares)
        shares[:] = np.where(np.isfinite(log_shares), np.maximum(shares, k.LEAST), 0.0)
        shares[:] /= max(shares.sum(), 1.0)
        return total + prior

    done, converged, value = _climb(step, ratings, most, tolerance)
    return counts, (posterior, done, converged, value)


def _climb(
    step: Callable[[], float], ratings: Ratings, most: int, tolerance: float, done: int = 0, last: float = -math.inf
) -> tuple[int, bool, float]:
    """Repeat rounds until one adds almost nothing to the log-likelihood: how many, whether it converged, its value."""
    while done < most and ratings.n_entries:
        value = step()
        done += 1
        if abs(value - last) <= tolerance * ratings.n_entries:
            return done, True, value
        last = value
    return done, not ratings.n_entries, last


# MACE ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Where MACE starts: P(knows) of each rater, and raters × points, what raters guess when they do not know."""

    knows: Floats
    guesses: Floats


def mace(
    ratings: Ratings, *, max_iterations: int = 1000, tolerance: float = TOLERANCE, starts: int = 10, seed: int = 0,
    start: Start | None = None,
) -> LabelModel:  # fmt: skip
    """Fit how likely each rater is to know the answer, and what they say when they guess.

    A rater who knows gives the item's point; one who does not draws from a distribution of their own. Every point that
    anybody gave is equally likely beforehand. Parameters have priors, Beta(½, ½) and Dirichlet(10), and are improved by
    variational Bayes. Of several starts, a level one and others by seed, the one that makes the ratings most likely
    after 10 rounds continues.

    References
    ----------
    Hovy, Berg-Kirkpatrick, Vaswani & Hovy (2013), Learning Whom to Trust with MACE, NAACL.
    """
    used = ratings.used() > 0
    each = [start] if start is not None else [_start(ratings.n_raters, used, seed, at) for at in range(starts)]
    climbers = [_Mace(ratings, used, one) for one in each]
    chosen, done, value = climbers[0], 0, -math.inf
    if len(climbers) > 1:
        tried = [_climb(one.step, ratings, min(TRIED, max_iterations), tolerance) for one in climbers]
        best = int(np.argmax([value for _, _, value in tried]))  # the first of ties
        chosen, (done, _, value) = climbers[best], tried[best]
    done, converged, value = _climb(chosen.step, ratings, max_iterations, tolerance, done, value)
    return LabelModel(chosen.posterior, done, converged, value, {"knows": _known(ratings, chosen.knows)})


def _start(n_raters: int, used: NDArray[np.bool_], seed: int, number: int) -> Start:
    """Return a start: level if it is the first, otherwise drawn as in MACE, from the seed and its number alone."""
    if number == 0:
        knows, guesses = np.ones((n_raters, 2)), np.ones((n_raters, len(used)))
    else:
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(_STARTS, number))))
        knows, guesses = (rng.uniform(1.0, 2.5, (n_raters, n)) for n in (2, len(used)))
    guesses = guesses * used
    return Start((knows / knows.sum(axis=1, keepdims=True))[:, 1], guesses / guesses.sum(axis=1, keepdims=True))


class _Mace:
    """MACE on its way up; it can be continued."""

    def __init__(self, ratings: Ratings, used: NDArray[np.bool_], start: Start) -> None:
        self.ratings, self.used = ratings, used
        self.knows, self.guessing, self.guesses = start.knows, 1.0 - start.knows, start.guesses
        self.posterior = np.full((ratings.n_items, len(used)), np.nan)
        self._expect()

    def step(self) -> float:
        """Improve the parameters, and return how likely they make the ratings."""
        both = np.stack([self._strategy.sum(axis=1), self._knowing], axis=1)
        self.guessing, self.knows = _mean_logs(both + KNOWING).T
        self.guesses = np.zeros(self._strategy.shape)
        self.guesses[:, self.used] = _mean_logs(self._strategy[:, self.used] + GUESSING)
        return self._expect()

    def _expect(self) -> float:
        from plurivox.kernels import aggregate as k

        n_raters, n_points = self.guesses.shape
        guess, know = self.guessing[:, np.newaxis] * self.guesses, self.knows[:, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore"):  # points that nobody gave are never looked up
            log_shares = np.where(self.used, -math.log(max(int(self.used.sum()), 1)), -np.inf)
            tables = np.log(guess), np.log1p(know / guess), know / (guess + know)
        self._strategy, self._knowing = np.zeros((n_raters, n_points)), np.zeros(n_raters)
        total = 0.0
        for part in self.ratings.parts():
            total += k.competence_pass(
                *_given(part), log_shares, *tables, self.posterior[part.items], self._strategy, self._knowing
            )
        return total


def _mean_logs(weights: Floats) -> Floats:
    """Return exp E[ln p] of Dirichlet distributions, one for each row."""
    from scipy.special import digamma

    return np.asarray(np.exp(digamma(weights) - digamma(weights.sum(axis=1, keepdims=True))))


# Shared --------------------------------------------------------------------------------------------------------------


def _given(part: Part) -> tuple[NDArray[Any], ...]:
    """Return the ratings of a part as kernels expect them."""
    return part.offsets, part.raters, part.scores


def _known(ratings: Ratings, values: Floats) -> Floats:
    """Return the values of raters who rated, NaN for others."""
    return np.where(ratings.per_rater() > 0, values, np.nan)


# One label for each item, by each method ------------------------------------------------------------------------------

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
