"""Soft scores: how good a predicted rating distribution is, when an item has two ratings or two hundred.

Scores, posteriors and bins follow Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample
Sizes, with E[EMD] in closed form; predictions that know nothing of an item always stand beside the models.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from plurivox.axis import MIN_GROUP_SIZE, Axis, By, memberships
from plurivox.engine.families import METHODS
from plurivox.engine.grouping import axes_of, each_axis, named_axes, overlapping_axes
from plurivox.engine.running import Progress, Running
from plurivox.errors import InputError, SoftScoresWarning
from plurivox.intake.attributes import places_of
from plurivox.lenses.calls import check_choice, check_draws
from plurivox.lenses.soft.checks import MOST_ITEMS, SENSITIVITY, calibration, sensitivity
from plurivox.lenses.soft.matching import (
    NO_PREDICTION,
    Counts,
    Floats,
    Matched,
    Prior,
    bin_codes,
    bins_of,
    check_train,
    folds_of,
    match,
    reference_predictions,
    resolve_prior,
)
from plurivox.lenses.soft.result import SoftScores
from plurivox.lenses.soft.sums import ALL, Sums, Target, comparisons, rows_of
from plurivox.lenses.soft.words import SoftFindings
from plurivox.predictions import Predictions
from plurivox.ratings import Ratings
from plurivox.results.result import Draws, Row, Table
from plurivox.statistics.soft_blocks import METRICS, Scoring, step_lengths

MOST_KEPT = 4_000_000  # numbers of bootstrap draws that a result keeps


def soft_scores(
    ratings: Ratings,
    predictions: Any,
    prior: ArrayLike | str = 1.0,
    *,
    bins: str | Iterable[str] | None = None,
    by: By | Sequence[By] = (),
    several: Mapping[str, str] | None = None,
    metrics: Sequence[str] = METRICS,
    floor: float | None = None,
    normalized: bool = True,
    train: Ratings | None = None,
    min_ratings: int = 0,
    strict: bool = False,
    curve: bool = True,
    bootstrap: int = 1000,
    correction: str = "bh",
    seed: int = 0,
    min_group_size: int = MIN_GROUP_SIZE,
    threads: int | None = None,
    progress: Progress | None = None,
) -> SoftScores:
    """Tell how good predicted rating distributions are, and how sure that is.

    Lower is better. *Empirical* scores take the shares of an item's ratings for the truth. *Expected* scores know that
    two ratings say little: they average over the distributions that are likely given a prior and the ratings.

    Parameters
    ----------
    ratings
        Who rated what, or counts per point.
    predictions
        A frame with ``model``, ``item`` and one column of probabilities for each point; or :class:`Predictions`.
    prior
        The weight of each point before any rating: a number, one for each point, or ``"empirical-bayes"``: the prior
        under which the ratings of ``train``, or else of the scored items, are most likely.
    bins
        Numbers of ratings that items are sorted by: ``["2-3", "4-5", "6-10", "11+"]``. By default up to five bins of
        about as many items.
    by
        Rater attributes and crossings of several: models are also scored against the ratings of each group.
    several
        Attributes of which a rater may have several values, and what separates them: ``{"race": ";"}``.
    metrics
        Which scores to compute. Expected JS takes most of the time.
    floor
        What no predicted probability counts as less than, in cross-entropy and KL; without it, a point that was given
        and held impossible makes the score infinite.
    normalized
        Whether the whole scale has the length 1 for earth mover's distance and ranked probability score; else a step
        has its length in the scale's values.
    train
        Ratings of other items, for the marginal prediction and the prior.
    min_ratings
        Items with fewer ratings are left out and counted.
    strict
        Whether to raise if a rated item is not predicted, or a predicted one not rated.
    curve
        Whether to score for other strengths of the prior, too.
    bootstrap
        How many times items are drawn anew for 95 % intervals and comparisons.
    correction
        How p-values of comparisons are corrected over pairs and metrics: bh, by, holm, bonferroni or none.
    seed
        Same seed, same result, whatever the threads and the order of rows.
    min_group_size
        Groups with fewer raters are withheld and counted.
    threads
        How many threads the bootstrap uses, all by default.
    progress
        Called with what is being done, how far it is, and how far it goes.

    Returns
    -------
    SoftScores
        With ``to_frame()``, ``findings()``, ``comparisons()``, ``sensitivity()``, ``calibration()``, ``pit()``,
        ``reliability()``, ``prior_weight()``, ``missing()`` and ``to_json()``.

    Warns
    -----
    SoftScoresWarning
        If a model loses to the uniform prediction, or the prior outweighs the ratings of a bin.

    Examples
    --------
    >>> import plurivox as pv
    >>> models = [pv.SimulatedPredictor("near", error_sd=0.2), pv.SimulatedPredictor("far", error_sd=0.6)]
    >>> study = pv.simulate(n_items=100, n_raters=40, predictors=models, seed=1)
    >>> result = pv.soft_scores(study.ratings, study.predictions, bootstrap=0)
    >>> result.ranking("expected_emd")
    ['near', 'far']
    """
    check_choice("correction", correction, tuple(METHODS))
    check_draws(0, bootstrap, seed)
    wanted = _wanted(metrics)
    known = predictions if isinstance(predictions, Predictions) else Predictions.from_frame(predictions, ratings.scale)
    check_train(ratings, train)
    axes_by = each_axis(by)
    overlapping = overlapping_axes(axes_by, several or {}, pairs=False)
    axes = axes_of(ratings, axes_by, min_group_size)
    if not isinstance(min_ratings, int) or min_ratings < 0:
        raise InputError(f"min_ratings is {min_ratings!r}", hint="Give a whole number of at least 0.")
    matched = match(ratings, known, min_ratings=min_ratings, strict=strict)
    pool = ratings.counts()
    counts = pool[matched.items]
    chosen = resolve_prior(prior, counts, train)
    work = _Work(
        ratings, known.models, matched, chosen, None if train is None else train.counts(),
        _scoring(ratings, chosen, wanted, floor, normalized), bootstrap, correction, seed,
        Running(threads, progress=progress),
    )  # fmt: skip
    n = counts.sum(axis=1)
    limits = bins_of(n, bins)
    codes = bin_codes(n, limits)
    rated = _raters_of(ratings, matched.items)
    whole = work.target(counts, pool, codes, tuple(one.name for one in limits), int(np.count_nonzero(rated)))
    found = work.score(whole)
    found.tables += [
        Table("prior weight", _prior_weight(whole, chosen)),
        Table("missing", matched.missing),
        Table("sensitivity", work.curve(whole) if curve else pl.DataFrame(schema=SENSITIVITY)),
        *(Table(name, frame) for name, frame in work.calibration(whole).items()),
    ]
    withheld, outside = work.groups(found, axes, overlapping, rated)
    unpredicted = matched.missing.filter(problem=NO_PREDICTION)["item"].n_unique()
    settings = {
        "models": list(known.models), "bins": list(whole.bins), "metrics": list(wanted),
        "by": named_axes(axes_by), "several": overlapping,
        "prior": chosen.weights.tolist(), "prior_name": chosen.name, "prior_note": _prior_note(chosen),
        "floor": floor, "normalized": normalized, "train": train is not None, "min_ratings": min_ratings,
        "strict": strict, "bootstrap": bootstrap, "correction": correction, "seed": seed,
        "min_group_size": min_group_size, "points": [str(label) for label in ratings.scale.labels],
        "n_items": len(counts), "n_ratings": int(n.sum()), "n_unpredicted": unpredicted, "n_few": matched.n_few,
        "n_unrated": int(np.count_nonzero(n == 0)), "n_in_no_bin": int(np.count_nonzero(codes == len(limits))),
        "n_trained_on": 0 if train is None else _shared(ratings, matched, train),
        "n_items_of_curve": min(len(counts), MOST_ITEMS) if curve else 0,
    }  # fmt: skip
    result = SoftScores(tuple(found.rows), withheld, outside, tuple(found.draws), settings, tuple(found.tables))
    for text in SoftFindings(result).warnings():
        warnings.warn(text, SoftScoresWarning, stacklevel=2)
    return result


@dataclass(slots=True)
class _Found:
    """What was found so far."""

    rows: list[Row] = field(default_factory=list)
    draws: list[Draws] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """What scoring all raters and each group share."""

    ratings: Ratings
    models: tuple[str, ...]
    matched: Matched
    prior: Prior
    train: Counts | None
    scoring: Scoring
    bootstrap: int
    correction: str
    seed: int
    how: Running

    def target(
        self,
        counts: Counts,
        pool: Counts,
        codes: np.ndarray[Any, np.dtype[np.int64]],
        bins: tuple[str, ...],
        n_raters: int,
        rated: np.ndarray[Any, np.dtype[np.int64]] | None = None,
        axis: str = ALL,
        group: str = ALL,
    ) -> Target:
        """Return what predictions are held against; ``rated`` are the scored items that count, if not all do."""
        kept = np.arange(len(self.matched.items)) if rated is None else rated
        folds = folds_of(len(self.matched.items), self.seed)[kept]
        beside = reference_predictions(
            counts, pool if self.train is None else self.train, self.matched.items[kept], self.prior.weights, folds,
            self.train is not None,
        )  # fmt: skip
        shares = self.matched.shares if rated is None else self.matched.shares[:, rated]
        predictions: dict[str, Floats] = {**dict(zip(self.models, shares, strict=True)), **beside}
        return Target(counts, codes, bins, predictions, n_raters, axis, group)

    def score(self, target: Target) -> _Found:
        """Score all bins of a target, with intervals and comparisons."""
        sums, values, draws = self._sums(target, "scoring")
        kept = draws if draws.size <= MOST_KEPT else draws[:0]
        names = tuple(target.predictions)
        found = _Found(rows_of(sums, values, draws))
        found.draws = [
            Draws("model", names, (), np.zeros((0, len(names), 0)), sums.metrics, kept[:, b], label)
            for b, label in enumerate([*target.bins, ALL])
        ]
        found.tables = [Table("comparisons", comparisons(sums, values, draws, self.correction))]
        return found

    def groups(
        self,
        found: _Found,
        axes: Sequence[Axis],
        overlapping: Mapping[str, str],
        rated: np.ndarray[Any, np.dtype[np.bool_]],
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Score models against each group; return how many groups are withheld and raters outside, by axis.

        A group is as large as those of its raters who rated any scored item.
        """
        withheld, outside = {}, {}
        for whole in axes:
            axis = whole.counting(rated)
            outside[axis.name] = axis.n_outside
            parts = [(axis, g) for g in np.flatnonzero(~axis.withheld).tolist()]
            withheld[axis.name] = axis.n_withheld
            if axis.name in overlapping:
                separator = overlapping[axis.name]
                several = memberships(self.ratings, axis.name, separator, min_group_size=axis.min_group_size)
                each = [one.counting(rated) for one in several]
                parts = [(one, 0) for one in each if not one.withheld[0]]
                withheld[axis.name] = len(each) - len(parts)
            for one, g in parts:
                found.rows += self._group(one, g)
        return withheld, outside

    def _group(self, axis: Axis, g: int) -> list[Row]:
        pool = _counts_of(self.ratings, axis.codes == g)
        counts = pool[self.matched.items]
        rated = np.flatnonzero(counts.sum(axis=1) > 0)
        n_raters = int(axis.sizes[g])
        if not len(rated):
            return [
                Row("model", axis.name, axis.groups[g], metric, np.nan, n_raters=n_raters, model=name,
                    note="the group rated none of the items")
                for name in self.models for metric in self.scoring.metrics
            ]  # fmt: skip
        codes = np.zeros(len(rated), dtype=np.int64)
        target = self.target(counts[rated], pool, codes, (), n_raters, rated, axis.name, axis.groups[g])
        sums, values, draws = self._sums(target, f"{axis.name}: {axis.groups[g]}")
        return rows_of(sums, values, draws)

    def _sums(self, target: Target, what: str) -> tuple[Sums, Floats, Floats]:
        sums = Sums.of(target, self.scoring, self.seed, self.how.doing(what))
        return sums, sums.values(), sums.draws(self.bootstrap, self.seed, self.how.doing(f"{what}, resampling"))

    def curve(self, target: Target) -> pl.DataFrame:
        """Return scores over prior strengths."""
        return sensitivity(target, self.scoring, self.seed, self.how.doing("strengths of the prior"))

    def calibration(self, target: Target) -> dict[str, pl.DataFrame]:
        """Return the tables on calibration."""
        return calibration(target, [str(label) for label in self.ratings.scale.labels], self.seed)


def _raters_of(ratings: Ratings, items: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Tell which raters rated any of some items; nobody is known for totals."""
    if ratings.rater_codes is None:
        return np.zeros(0, dtype=bool)
    chosen = np.zeros(ratings.n_items, dtype=bool)
    chosen[items] = True
    return np.bincount(ratings.rater_codes[chosen[ratings.item_codes]], minlength=ratings.n_raters) > 0


def _counts_of(ratings: Ratings, members: np.ndarray[Any, np.dtype[np.bool_]]) -> Counts:
    """Return how often some raters gave each item each point."""
    inside = members[ratings.codes_of_raters]
    cells = ratings.item_codes[inside].astype(np.int64) * len(ratings.scale) + ratings.scores[inside]
    counts = np.bincount(cells, minlength=ratings.n_items * len(ratings.scale))
    return counts.reshape(ratings.n_items, -1).astype(np.int64, copy=False)


def _wanted(metrics: Sequence[str]) -> tuple[str, ...]:
    for name in metrics:
        check_choice("metrics", name, METRICS)
    if not metrics:
        raise InputError("metrics is empty", hint=f"Choose some of {', '.join(METRICS)}.")
    return tuple(name for name in METRICS if name in metrics)


def _scoring(
    ratings: Ratings, prior: Prior, metrics: tuple[str, ...], floor: float | None, normalized: bool
) -> Scoring:
    n_points = len(ratings.scale)
    if floor is not None and not 0 < floor < 1:
        raise InputError(f"floor is {floor!r}", hint="Give a small probability above 0, such as 1e-6.")
    moved = step_lengths(n_points, normalized, ratings.scale.values)
    return Scoring(prior.weights, moved, step_lengths(n_points, normalized), floor, metrics)


def _shared(ratings: Ratings, matched: Matched, train: Ratings) -> int:
    """Return how many scored items are among the training items with ratings."""
    places = places_of(ratings.items["item"].gather(matched.items), train.items["item"])
    rated = np.diff(train.offsets) > 0
    return int(np.count_nonzero(rated[places[places >= 0]]))


def _prior_weight(target: Target, prior: Prior) -> pl.DataFrame:
    """Return the prior's mean share α₀/(α₀ + n) of the weight in each bin and overall."""
    n = target.counts.sum(axis=1)
    share = prior.total / (prior.total + n)
    rows = []
    for b, name in enumerate([*target.bins, ALL]):
        inside = np.ones(len(n), dtype=bool) if b == len(target.bins) else target.codes == b
        held = float(share[inside].mean()) if inside.any() else np.nan
        rows.append((name, int(np.count_nonzero(inside)), int(n[inside].sum()), held))
    schema = {"bin": pl.String, "n_items": pl.Int64, "n_ratings": pl.Int64, "prior_share": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _prior_note(prior: Prior) -> str:
    if prior.fit is None:
        return ""
    weights = ", ".join(f"{weight:.3g}" for weight in prior.weights[:12]) + (" …" if len(prior.weights) > 12 else "")
    text = f"The prior was {prior.name}, {prior.fit.n_items:,} of them with two ratings or more: {weights}."
    return f"{text} {prior.fit.note}".strip()
