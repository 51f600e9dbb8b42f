"""One call of aggregation: labels of all methods, where they differ, and which groups they depart from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import InputError
from plurivox.domain.attributes import id_texts
from plurivox.domain.axis import names_raters
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import label_column
from plurivox.domain.scale import few_points
from plurivox.engine.counting import weighted_counts_of
from plurivox.engine.pool import Running
from plurivox.infer.call import keywords
from plurivox.infer.exchange import Exchange
from plurivox.infer.grouping import compared, overlapping_axes
from plurivox.infer.inference import Inference
from plurivox.infer.result import Row, Table
from plurivox.infer.weighting import tells_unweighted, weights_in
from plurivox.lenses.aggregate.labels import Labels, labels_of
from plurivox.lenses.aggregate.result import Aggregation
from plurivox.lenses.aggregate.rows import Analysis
from plurivox.lenses.aggregate.settings import OF_COUNTS, AggregateSettings
from plurivox.lenses.soft.matching import prior_words, resolve_prior


@keywords(AggregateSettings, weights=True)
def aggregate(ratings: Ratings, *, settings: AggregateSettings, how: Running) -> Aggregation:
    """Give each item one label by several methods, and show what that hides.

    Every method assumes that an item has one true label, and that anyone who says otherwise is wrong. With groups, the
    result shows how far the labels lie from what each group says, compared with raters shuffled between groups.

    Returns
    -------
    Aggregation
        With ``labels()``, ``probabilities()``, ``to_frame()``, ``methods()``, ``differing()``, ``findings()``,
        ``to_json()`` and the draws.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=60, n_raters=60, effects=[pv.Effect({"age": "18-29"}, bias=1.2)], seed=4)
    >>> result = pv.aggregate(study.ratings, "age", methods="plurality,dawid_skene".split(","), permutations=99)
    >>> result.value("age", "18-29", "departure", method="plurality") > 0.3
    True
    """
    few_points(ratings.scale, "aggregation")
    _check(ratings, settings)
    settings = settings.replace(interval=settings.interval or "jackknife")
    counts = ratings.counts()
    prior = resolve_prior(settings.prior, counts, None)
    weighed = weighted_counts_of(ratings)[:, 0] if ratings.has_raters else counts.astype(np.float64)
    labels = labels_of(ratings, settings, weighed, prior.weights)
    overlapping = overlapping_axes(settings.by, settings.several, pairs=False)
    exchange = Exchange.of(ratings, settings.within if settings.by else None)
    inference = Inference(settings, how, exchange)
    alike = _alike(ratings, settings, inference, labels, prior.weights)
    work = Analysis(ratings, settings, inference, labels, prior.weights, alike)
    axes = compared(ratings, settings.by, overlapping, settings.min_group_size)
    prepared = {one.axis.name: work.prepare(one) for one in axes}
    inference.decide([one.tested for each in prepared.values() for own in each for one in own])
    rows: list[Row] = work.overall() if ratings.has_raters else []
    for name, each in prepared.items():
        rows += [row for own in each for row in work.rows(name, own)]
    tables = {
        "labels": _labels(ratings, labels, alike), "methods": _methods(labels), "differing": _differing(labels),
        "raters": _raters(ratings, labels),
    }  # fmt: skip
    return Aggregation(
        rows=tuple(rows),
        withheld={one.axis.name: one.n_withheld for one in axes},
        revealing={one.axis.name: one.n_revealing for one in axes},
        outside={one.axis.name: one.axis.n_outside for one in axes},
        draws=tuple(draws for name, each in prepared.items() for draws in work.draws(name, each)),
        settings={
            **settings.as_dict(), "several": overlapping, "bootstrap": 0, "design": inference.remembered(),
            "points": [str(label) for label in ratings.scale.labels], "n_items": ratings.n_items,
            "prior": prior.weights.tolist(), "prior_note": prior_words(prior, counts.sum(axis=1)),
            **weights_in(ratings, settings.min_group_size),
        },
        held_rows=tuple(work.held(prepared, rows)),
        tables=tuple(Table(name, frame) for name, frame in tables.items()),
    )  # fmt: skip


def _check(ratings: Ratings, settings: AggregateSettings) -> None:
    """Raise if the ratings cannot give what is requested."""
    models = [name for name in settings.methods if name not in OF_COUNTS]
    if models and not ratings.has_raters:
        raise InputError(
            f"{models[0]} needs to know who gave which rating, but these are totals",
            hint=f"Choose from the methods {', '.join(OF_COUNTS)}.",
        )
    if any(names_raters(name) for one in settings.by for name in one):
        raise InputError(
            "a single rater rates an item once, which cannot separate their view from noise",
            hint="Give attributes that several raters share; raters() has what the models say about each rater.",
        )


def _alike(
    ratings: Ratings, settings: AggregateSettings, inference: Inference, labels: Sequence[Labels],
    prior: NDArray[np.float64],
) -> Analysis | None:  # fmt: skip
    """Return the same analysis without weights, None if there are none; models of raters give the same labels."""
    if ratings.weights is None:
        return None
    plain = ratings.unweighted()
    own = tuple(one.method for one in labels if one.method in OF_COUNTS)
    again = labels_of(plain, settings.replace(methods=own), plain.counts().astype(np.float64), prior) if own else []
    made = {one.method: one for one in again}
    return Analysis(plain, settings, inference, [made.get(one.method, one) for one in labels], prior)


def _labels(ratings: Ratings, labels: Sequence[Labels], alike: Analysis | None) -> pl.DataFrame:
    """Return a row for each item: labels, confidence and probabilities of each method, and unweighted labels."""
    beside = {}
    if alike is not None and tells_unweighted(ratings, alike.settings.min_group_size):
        beside = {one.method: one for one in alike.labels if one.method in OF_COUNTS}
    points = [str(label) for label in ratings.scale.labels]
    names = label_column(ratings.scale)
    n_ratings = ratings.counts().sum(axis=1)
    found: dict[str, Any] = {"item": id_texts(ratings.items["item"]), "n_ratings": n_ratings}
    chosen = np.stack([one.chosen for one in labels], axis=1)
    found["agreed"] = (chosen == chosen[:, :1]).all(axis=1)

    def named(one: Labels) -> pl.Series:
        given = names.gather(np.maximum(one.chosen, 0).astype(np.uint32))
        return given.zip_with(pl.Series(one.chosen >= 0), pl.Series(given.name, [None] * len(given), given.dtype))

    for one in labels:
        found[one.method] = named(one)
        if one.method in beside:
            found[f"{one.method}_unweighted"] = named(beside[one.method])
        if one.method in ("mean", "posterior"):
            found[f"{one.method}_score"] = pl.Series(one.numbers, nan_to_null=True)
        found[f"{one.method}_confidence"] = pl.Series(one.confidence, nan_to_null=True)
        found[f"{one.method}_tied"] = one.tied
    for one in labels:
        if one.method != "mean":
            for at, point in enumerate(points):
                found[f"{one.method}_p_{point}"] = pl.Series(one.probabilities[:, at], nan_to_null=True)
    frame = pl.DataFrame(found)
    return frame.with_columns(pl.when(pl.col("n_ratings") > 0).then("agreed").alias("agreed"))


def _methods(labels: Sequence[Labels]) -> pl.DataFrame:
    """Return a row for each method: how its fit went, how sure its labels are, and how many are tied."""
    rows = [
        (one.method, None if one.fit is None else one.fit.iterations, None if one.fit is None else one.fit.converged,
         None if one.fit is None else one.fit.log_likelihood, int(np.count_nonzero(one.chosen >= 0)),
         int(np.count_nonzero(one.tied)),
         float(one.confidence[one.chosen >= 0].mean()) if (one.chosen >= 0).any() else None)
        for one in labels
    ]  # fmt: skip
    schema = {
        "method": pl.String, "iterations": pl.Int64, "converged": pl.Boolean, "log_likelihood": pl.Float64,
        "n_items": pl.Int64, "n_tied": pl.Int64, "mean_confidence": pl.Float64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def _differing(labels: Sequence[Labels]) -> pl.DataFrame:
    """Return for each pair of methods the number of items to which they give different labels."""
    rows = []
    for one, other in combinations(labels, 2):
        n_items = int(np.count_nonzero(one.chosen >= 0))
        n = int(np.count_nonzero(one.chosen != other.chosen))
        rows.append((one.method, other.method, n, n_items, n / n_items if n_items else None))
    schema = {"method": pl.String, "other": pl.String, "n_differ": pl.Int64, "n_items": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _raters(ratings: Ratings, labels: Sequence[Labels]) -> pl.DataFrame:
    """Return what the models say about each rater, with a column for each parameter."""
    fitted = [one for one in labels if one.fit is not None]
    ids = id_texts(ratings.raters["rater"]) if ratings.has_raters else pl.Series("rater", [], pl.String)
    found: dict[str, Any] = {"rater": ids, "n_ratings": ratings.per_rater()}
    for one in fitted:
        assert one.fit is not None
        found |= {f"{one.method}_{name}": pl.Series(v, nan_to_null=True) for name, v in one.fit.raters.items()}
    return pl.DataFrame(found)
