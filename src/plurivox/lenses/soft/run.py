"""Soft scores: how good a predicted rating distribution is, when an item has two ratings or two hundred.

Scores, posteriors and bins follow Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample
Sizes, with E[EMD] in closed form; predictions that know nothing of an item always stand beside the models.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from plurivox.axis import MIN_GROUP_SIZE, By
from plurivox.engine.families import METHODS
from plurivox.engine.grouping import compared, each_axis, named_axes, overlapping_axes
from plurivox.engine.running import Progress, Running
from plurivox.errors import InputError, SoftScoresWarning
from plurivox.intake.attributes import places_of
from plurivox.lenses.calls import check_choice, check_draws
from plurivox.lenses.soft.checks import MOST_ITEMS, SENSITIVITY, calibration, sensitivity
from plurivox.lenses.soft.comparisons import comparisons
from plurivox.lenses.soft.matching import (
    NO_PREDICTION,
    PredictedItems,
    Prior,
    bins_of,
    check_train,
    match,
    resolve_prior,
)
from plurivox.lenses.soft.result import SoftScores
from plurivox.lenses.soft.rows import Analysis, Found
from plurivox.lenses.soft.sums import ALL, Target
from plurivox.lenses.soft.words import SoftFindings
from plurivox.predictions import Predictions
from plurivox.ratings import Ratings
from plurivox.results.result import Draws, Table
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
    executor: Executor | None = None,
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
    threads, executor
        How many threads to use, all by default; or whose workers.
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
    whole_axes = list(compared(ratings, axes_by, overlapping, min_group_size))
    if not isinstance(min_ratings, int) or min_ratings < 0:
        raise InputError(f"min_ratings is {min_ratings!r}", hint="Give a whole number of at least 0.")
    matched = match(ratings, known, min_ratings=min_ratings, strict=strict)
    counts = ratings.counts()[matched.items]
    chosen = resolve_prior(prior, counts, train)
    how = Running(threads, executor, progress)
    work = Analysis(
        ratings, known.models, matched, chosen, None if train is None else train.counts(),
        _scoring(ratings, chosen, wanted, floor, normalized), bootstrap, seed, how,
    )  # fmt: skip
    n = counts.sum(axis=1)
    whole = work.everybody(bins_of(n, bins))
    found = work.score(whole, "scoring")
    labels, curves = [str(label) for label in ratings.scale.labels], how.doing("strengths of the prior")
    tables = (
        Table("comparisons", comparisons(*found, correction)),
        Table("prior weight", _prior_weight(whole, chosen)),
        Table("missing", matched.missing),
        Table(
            "sensitivity", sensitivity(whole, work.scoring, seed, curves) if curve else pl.DataFrame(schema=SENSITIVITY)
        ),
        *(Table(name, frame) for name, frame in calibration(whole, labels, seed).items()),
    )
    axes = [one.counting(work.rated()) for one in whole_axes]  # groups are as large as those who rated a scored item
    rows = found.rows() + [row for one in axes for axis, g in one.shown for row in work.group(axis, g)]
    unpredicted = matched.missing.filter(problem=NO_PREDICTION)["item"].n_unique()
    settings = {
        "models": list(known.models), "bins": list(whole.bins), "metrics": list(wanted),
        "by": named_axes(axes_by), "several": overlapping,
        "prior": chosen.weights.tolist(), "prior_name": chosen.name, "prior_note": _prior_note(chosen),
        "floor": floor, "normalized": normalized, "train": train is not None, "min_ratings": min_ratings,
        "strict": strict, "bootstrap": bootstrap, "correction": correction, "seed": seed,
        "min_group_size": min_group_size, "points": labels,
        "n_items": len(counts), "n_ratings": int(n.sum()), "n_unpredicted": unpredicted, "n_few": matched.n_few,
        "n_unrated": int(np.count_nonzero(n == 0)),
        "n_in_no_bin": int(np.count_nonzero(whole.codes == len(whole.bins))),
        "n_trained_on": 0 if train is None else _shared(ratings, matched, train),
        "n_items_of_curve": min(len(counts), MOST_ITEMS) if curve else 0,
    }  # fmt: skip
    result = SoftScores(
        tuple(rows),
        {one.axis.name: one.n_withheld for one in axes},
        {one.axis.name: one.axis.n_outside for one in axes},
        _kept_draws(found),
        settings,
        tables,
    )
    for text in SoftFindings(result).warnings():
        warnings.warn(text, SoftScoresWarning, stacklevel=2)
    return result


def _kept_draws(found: Found) -> tuple[Draws, ...]:
    """Return the draws of each bin and of all items, unless they are too many to keep."""
    target, draws = found.scored.target, found.draws
    kept = draws if draws.size <= MOST_KEPT else draws[:0]
    names = tuple(target.predictions)
    nothing = np.zeros((0, len(names), 0))
    return tuple(
        Draws("model", names, (), nothing, found.scored.metrics, kept[:, b], label)
        for b, label in enumerate([*target.bins, ALL])
    )


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


def _shared(ratings: Ratings, matched: PredictedItems, train: Ratings) -> int:
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
