"""What the experiments with trained predictors share: fitting in processes, and scores with paired intervals.

A *prediction* is one way to foretell the ratings of every test item: a model, or a reference that no model has made.
A model is fitted once per seed, and its score on an item is the mean of its seeds' scores. Lower is better. Intervals
hold 95 % of what 1,000 draws of the test items, with replacement, make of a mean or of a difference of two means; both
sides of a difference are scored on the same drawn items, so that what is hard for both cancels. They are about test
items; how far seeds differ is shown on its own. They are not corrected for how many of them are looked at.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

import plurivox as pv
from plurivox.engine.draws import item_weights
from plurivox.infer.intervals import percentile_interval
from plurivox.lenses.soft.matching import bin_codes, bins_of, reference_predictions
from plurivox.statistics.checks import prior_of
from plurivox.statistics.soft_blocks import METRICS, Scoring, step_lengths

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]

MODELS = ("mlp-ce", "mlp-kl", "cumulative-link", "transformer-emd")
FAMILIES = ("CE", "KL", "JS", "EMD", "RPS")
"""The five scores in the order of METRICS, which has each against the shares of ratings, then each as expected."""
EXPECTED = tuple(f"E[{name}]" for name in FAMILIES)
ALL = "all"
DRAWS = 1000

# Fitting -------------------------------------------------------------------------------------------------------------


class Job(NamedTuple):
    """One fit: the prediction that it is for, the model, the columns before the text, and the seed."""

    name: str
    model: str
    context: tuple[str, ...]
    seed: int


class Material(NamedTuple):
    """What every fit gets: ratings of training items, and the texts of training and of test items."""

    ratings: pv.Ratings
    items: pl.DataFrame
    test_items: pl.DataFrame


class Fitted(NamedTuple):
    """What a fit foretells, test items × points, and how it went."""

    job: Job
    shares: Floats
    best_epoch: int
    epochs: int
    seconds: float


def fit_all(material: Material, jobs: Sequence[Job], workers: int) -> list[Fitted]:
    """Fit every job, several at a time in processes of one thread each, and return them in the order of the jobs."""
    import_module("plurivox.models")  # where torch is missing, this says so, once and clearly
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # read by each new process when it starts
    found: dict[Job, Fitted] = {}
    start = time.perf_counter()
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_take, initargs=(material,)
    ) as processes:
        waiting = [processes.submit(_fit, job) for job in jobs]
        for done in as_completed(waiting):
            one = done.result()
            found[one.job] = one
            tell(
                f"{len(found)}/{len(jobs)} {one.job.name}, seed {one.job.seed}: {one.seconds:.1f} s, best epoch "
                f"{one.best_epoch} of {one.epochs}; {time.perf_counter() - start:.0f} s so far"
            )
    return [found[job] for job in jobs]


_material: list[Material] = []
"""What this process was given when it started."""


def _take(material: Material) -> None:
    _material[:] = [material]


def _fit(job: Job) -> Fitted:
    from plurivox.models import fit

    ratings, items, test_items = _material[0]
    start = time.perf_counter()
    predictor = fit(ratings, items, job.model, context=job.context, seed=job.seed)
    foretold = predictor.predict(test_items)
    at = dict(zip(foretold["item"], range(foretold.height), strict=True))
    rows = [at[item] for item in test_items["item"]]
    columns = [str(label) for label in ratings.scale.labels]
    shares = foretold.select(columns).to_numpy().astype(float)[rows]
    run = predictor.training
    return Fitted(job, shares, run.best_epoch, run.epochs, time.perf_counter() - start)


def by_name(fitted: Iterable[Fitted]) -> dict[str, Floats]:
    """Return what each prediction foretells, seeds × items × points."""
    gathered: dict[str, list[Floats]] = {}
    for one in fitted:
        gathered.setdefault(one.job.name, []).append(one.shares)
    return {name: np.stack(shares) for name, shares in gathered.items()}


def references(counts: Counts, train: Counts) -> dict[str, Floats]:
    """Return the uniform, the marginal and the posterior mean prediction, 1 × items × points, as plurivox has them.

    The marginal is the share of each point among all training *ratings*, each counted once, with one rating's worth
    spread over the points; an item with many ratings weighs more than one with few.
    """
    n_items, n_points = counts.shape
    nowhere = np.zeros(n_items, dtype=np.int64)
    made = reference_predictions(counts, train, nowhere, np.ones(n_points), nowhere, train=True)
    return {name: np.array(shares)[None] for name, shares in made.items()}


# Scoring -------------------------------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """Scores against one thing: their labels, counts or shares of each item, and how to compute them."""

    labels: tuple[str, ...]
    against: NDArray[np.float64] | Counts
    scoring: Scoring


def usual(counts: Counts) -> Rule:
    """Return the ten scores: against the shares of ratings, and expected under the prior α = 1."""
    return Rule((*FAMILIES, *EXPECTED), counts, _scoring(counts.shape[1], 1.0, METRICS))


def expected(counts: Counts, prior: ArrayLike, said: str) -> Rule:
    """Return the five expected scores under another prior, which the labels name."""
    return Rule(tuple(f"{name} {said}" for name in EXPECTED), counts, _scoring(counts.shape[1], prior, METRICS[5:]))


def true(truth: Floats) -> Rule:
    """Return the five scores against the distribution that an item's ratings are drawn from."""
    return Rule(tuple(f"true {name}" for name in FAMILIES), truth, _scoring(truth.shape[1], 1.0, METRICS[:5]))


def _scoring(n_points: int, prior: ArrayLike, metrics: tuple[str, ...]) -> Scoring:
    steps = step_lengths(n_points, normalized=True)
    return Scoring(prior_of(prior, n_points), steps, steps, metrics=metrics)


class Difference(NamedTuple):
    """One prediction's mean score minus another's on the same items, and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def outside_chance(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        text = f"{signed(self.value)} [{signed(self.low)}, {signed(self.high)}]"
        return f"**{text}**" if self.outside_chance else text


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of every prediction on every test item, their means, and the means of drawn items.

    Attributes
    ----------
    names, labels
        The predictions and the scores.
    subsets
        Which items are in each part of the test items; the first is all of them.
    of_seeds
        For each prediction, seeds × items × scores.
    means
        Subsets × predictions × scores, over seeds and items.
    draws
        The same for each draw of items: draws × subsets × predictions × scores.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    subsets: Mapping[str, Bools]
    of_seeds: Mapping[str, Floats]
    means: Floats
    draws: Floats

    @classmethod
    def of(
        cls,
        predictions: Mapping[str, Floats],
        rules: Sequence[Rule],
        subsets: Mapping[str, Bools],
        draws: int = DRAWS,
        seed: int = 0,
    ) -> Scores:
        """Score predictions, each seeds × items × points, by rules; ``subsets`` come after all items."""
        of_seeds = {
            name: np.stack([
                np.concatenate([rule.scoring.scores(rule.against, q) for rule in rules], axis=1) for q in shares
            ])
            for name, shares in predictions.items()
        }  # fmt: skip
        of_items = np.stack([scores.mean(axis=0) for scores in of_seeds.values()], axis=1)
        parts = {ALL: np.ones(len(of_items), dtype=bool), **subsets}
        weights = item_weights(len(of_items), draws, seed)
        means = [weighted_means(of_items[inside], np.ones((1, int(inside.sum())))) for inside in parts.values()]
        drawn = [weighted_means(of_items[inside], weights[:, inside]) for inside in parts.values()]
        labels = tuple(itertools.chain(*(rule.labels for rule in rules)))
        return cls(tuple(predictions), labels, parts, of_seeds, np.concatenate(means), np.stack(drawn, axis=1))

    def value(self, name: str, label: str, subset: str = ALL) -> float:
        """Return the mean score of a prediction."""
        return float(self.means[self._at(name, label, subset)])

    def difference(self, one: str, other: str, label: str, subset: str = ALL) -> Difference:
        """Return how much higher one prediction scores than another."""
        first, second = self._at(one, label, subset), self._at(other, label, subset)
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            drawn = self.draws[:, *first] - self.draws[:, *second]
            interval = percentile_interval(drawn)
            return Difference(float(self.means[first] - self.means[second]), float(interval.low), float(interval.high))

    def interval(self, name: str, label: str, subset: str = ALL) -> tuple[float, float]:
        """Return the 95 % interval of the mean score of a prediction."""
        found = percentile_interval(self.draws[:, *self._at(name, label, subset)])
        return float(found.low), float(found.high)

    def seeds(self, name: str, label: str, subset: str = ALL) -> Floats:
        """Return the mean score of each seed."""
        scores = self.of_seeds[name][:, self.subsets[subset], self.labels.index(label)]
        return np.asarray(scores.mean(axis=1))

    def ranking(self, names: Sequence[str], label: str, subset: str = ALL) -> list[str]:
        """Return some predictions from the lowest score, which is best, to the highest."""
        return sorted(names, key=lambda name: self.value(name, label, subset))

    def picked(self, names: Sequence[str], label: str, best: str, subset: str = ALL) -> float:
        """Return in which share of the draws of items a score picks one prediction among some."""
        column = self.draws[:, list(self.subsets).index(subset), :, self.labels.index(label)]
        among = column[:, [self.names.index(name) for name in names]]
        return float(np.mean(np.argmin(among, axis=1) == list(names).index(best)))

    def _at(self, name: str, label: str, subset: str) -> tuple[int, int, int]:
        return list(self.subsets).index(subset), self.names.index(name), self.labels.index(label)


def weighted_means(scores: Floats, weights: NDArray[np.generic]) -> Floats:
    """Return the mean over items, each counted as often as each row of weights says; NaN where none is.

    Scores are items × any shape, weights draws × items; the result is draws × that shape. It is infinite where an item
    with an infinite score is drawn.
    """
    flat = scores.reshape(len(scores), int(np.prod(scores.shape[1:])))
    drawn = weights.astype(float)
    endless = np.isposinf(flat)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = drawn @ np.where(endless, 0.0, flat) / drawn.sum(axis=1, keepdims=True)
    if endless.any():
        means[drawn @ endless.astype(float) > 0] = np.inf
    return np.asarray(means.reshape(len(drawn), *scores.shape[1:]))


def binned(counts: Counts, names: Sequence[str]) -> dict[str, Bools]:
    """Return which items are in each bin of rating counts."""
    n = counts.sum(axis=1)
    bins = bins_of(n, names)
    codes = bin_codes(n, bins)
    return {f"{one.name} ratings": codes == at for at, one in enumerate(bins) if (codes == at).any()}


# Flatness ------------------------------------------------------------------------------------------------------------


def entropy(shares: Floats) -> float:
    """Return the mean entropy of predictions in nats; ln 5 = 1.609 is as flat as five points allow."""
    logs = np.log(np.where(shares > 0, shares, 1.0))
    return float(-(shares * logs).sum(axis=-1).mean())


def flattened(shares: Floats, wanted: float) -> Floats:
    """Return predictions, items × points, with as much of a uniform one mixed in as gives them a mean entropy."""
    low, high = 0.0, 1.0
    for _ in range(40):
        part = (low + high) / 2
        low, high = (part, high) if entropy((1 - part) * shares + part / shares.shape[1]) < wanted else (low, part)
    return np.asarray((1 - low) * shares + low / shares.shape[1])


SHARES_MIXED_IN = np.round(np.arange(0, 1.0001, 0.02), 2)


def best_mixtures(
    shares: Floats, towards: Floats, rule: Rule, label: str, subsets: Mapping[str, Bools]
) -> dict[str, float]:
    """Return for each part of the items the share λ that makes (1 − λ)·q + λ·towards, items × points, score best.

    ``shares`` are q, seeds × items × points. 0 means that the prediction is best as it is. A score that is best at a
    large λ although q is right rewards what is mixed in.
    """
    metric = rule.scoring.metrics[rule.labels.index(label)]
    scoring = _scoring(shares.shape[-1], rule.scoring.prior, (metric,))
    scored = np.stack([
        np.mean([scoring.scores(rule.against, (1 - part) * q + part * towards)[:, 0] for q in shares], axis=0)
        for part in SHARES_MIXED_IN
    ])  # fmt: skip
    return {
        name: float(SHARES_MIXED_IN[int(np.argmin(scored[:, inside].mean(axis=1)))]) for name, inside in subsets.items()
    }


# Helpers -------------------------------------------------------------------------------------------------------------


def tell(text: str) -> None:
    """Show progress, apart from the results."""
    print(text, file=sys.stderr, flush=True)


def signed(value: float) -> str:
    """Return a number with its sign, and with one more digit if it is small."""
    return f"{value:+.{3 if abs(value) >= 0.01 else 4}f}".replace("-", "−")
