"""One call of soft scores: all raters bin by bin, comparisons of models, other priors, calibration, and groups."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from plurivox.base.arguments import Frame
from plurivox.base.errors import SoftScoresWarning
from plurivox.domain.attributes import places_of
from plurivox.domain.axis import names_raters
from plurivox.domain.predictions import Predictions
from plurivox.domain.ratings import Ratings
from plurivox.engine.pool import Running
from plurivox.infer.call import keywords
from plurivox.infer.exchange import Entanglement, Exchange
from plurivox.infer.grouping import Compared, Grouping, compared, counting, overlapping_axes
from plurivox.infer.result import Draws, Table, frame_of
from plurivox.infer.weighting import weights_in
from plurivox.lenses.soft.checks import MOST_ITEMS, SENSITIVITY, calibration, sensitivity
from plurivox.lenses.soft.comparisons import Comparing, leading, ranked
from plurivox.lenses.soft.interactions import (
    BY_RATING,
    GROUPS,
    PARTS,
    Tests,
    Two,
    Votes,
    over_bins,
    over_groups,
    two_by_two,
)
from plurivox.lenses.soft.matching import (
    NO_PREDICTION,
    PredictedItems,
    Prior,
    bins_of,
    check_train,
    match,
    prior_words,
    resolve_prior,
)
from plurivox.lenses.soft.result import SoftScores
from plurivox.lenses.soft.rows import Analysis, Found
from plurivox.lenses.soft.settings import SoftSettings
from plurivox.lenses.soft.sums import ALL, Target
from plurivox.lenses.soft.words import SoftFindings
from plurivox.statistics.soft_blocks import Scoring, step_lengths

MOST_KEPT = 4_000_000  # the most numbers of bootstrap draws that a result keeps


@keywords(SoftSettings, positional=("prior",), weights=True)
def soft_scores(
    ratings: Ratings,
    predictions: Predictions | Frame,
    *,
    train: Ratings | None = None,
    settings: SoftSettings,
    how: Running,
) -> SoftScores:
    """Score predicted rating distributions, and say how sure the ranking is.

    Lower is better. *Empirical* scores treat the shares of an item's ratings as the truth. *Expected* scores allow for
    how little two ratings say: they average over the distributions that are likely given a prior and the ratings. To
    decide which model is better, sentences, tables and charts lead with RPS against the ratings: it needs no prior and,
    however few ratings there are, does not reward flat predictions.

    Two models are compared on the same items by flipping the signs of their differences; a model is called the best, or
    said to depend on the number of ratings or on whose they are, only if a test of exactly that survives correction.

    Parameters
    ----------
    ratings
        Who rated what, or counts per point.
    predictions
        A frame with ``model``, ``item`` and one column of probabilities for each point; or :class:`Predictions`.
    train
        Ratings of other items, for the marginal prediction and the prior.

    Returns
    -------
    SoftScores
        With ``to_frame()``, ``findings()``, ``comparisons()``, ``interactions()``, ``sensitivity()``,
        ``calibration()``, ``pit()``, ``reliability()``, ``prior_weight()``, ``missing()`` and ``to_json()``.

    Warns
    -----
    SoftScoresWarning
        If a model is certainly worse than the uniform prediction, or the prior outweighs the ratings of a bin.

    Examples
    --------
    >>> import plurivox as pv
    >>> models = [pv.SimulatedPredictor("near", error_sd=0.2), pv.SimulatedPredictor("far", error_sd=0.6)]
    >>> study = pv.simulate(n_items=100, n_raters=40, predictors=models, seed=1)
    >>> result = pv.soft_scores(study.ratings, study.predictions, bootstrap=0)
    >>> result.main, result.ranking()
    ('rps', ['near', 'far'])
    """
    known = predictions if isinstance(predictions, Predictions) else Predictions.from_frame(predictions, ratings.scale)
    check_train(ratings, train)
    overlapping = overlapping_axes(settings.by, settings.several, pairs=False)
    whole_axes = compared(ratings, settings.by, overlapping, settings.min_group_size)
    matched = match(ratings, known, min_ratings=settings.min_ratings, strict=settings.strict)
    counts = ratings.counts()[matched.items]
    prior = resolve_prior(settings.prior, counts, train)
    others = None if train is None else train.counts()
    work = Analysis(ratings, known.models, matched, prior, others, _scoring(ratings, prior, settings), settings, how)
    whole = work.everybody(bins_of(counts.sum(axis=1), settings.bins))
    found = work.score(whole, "scoring")
    axes = counting(whole_axes, work.rated())  # only raters who rated a scored item count towards group sizes
    exchange = Exchange.of(ratings, settings.within if axes else None)
    design = _design(work, axes, exchange)
    apart = work.parts()
    parts = None if apart is None else work.score(apart, f"by {settings.items_by}")
    tests = [*_interactions(work, found, axes, exchange), *_over_parts(work, found, parts)]
    tables = _tables(work, found, tests, design)
    rows, weights = found.rows(), [prior_weight(whole, prior)]
    for axis, g in ((axis, g) for one in axes for axis, places in one.shown for g in places):
        group = work.group(axis, g)
        rows += group.rows
        weights += [prior_weight(group.target, prior)] if group.target is not None else []
    result = SoftScores(
        tuple(rows),
        {one.axis.name: one.n_withheld for one in axes},
        {one.axis.name: one.axis.n_outside for one in axes},
        _kept_draws(found),
        {
            **settings.as_dict(), "several": overlapping, **_described(work, whole, train),
            "n_items_in_no_part": 0 if apart is None else int(np.count_nonzero(apart.codes == len(apart.bins))),
            "design": {**exchange.as_dict(), "axes": design}, **weights_in(ratings, settings.min_group_size),
        },
        (*tables, Table("parts", _parts_frame(parts, prior)), Table("prior weight", pl.concat(weights))),
        revealing={one.axis.name: one.n_revealing for one in axes},
    )  # fmt: skip
    for text in SoftFindings(result).warnings():
        warnings.warn(text, SoftScoresWarning, stacklevel=3)
    return result


def _tables(
    work: Analysis, found: Found, interactions: list[Tests], design: dict[str, dict[str, Any]]
) -> tuple[Table, ...]:
    """Return what lies behind the ranking for all raters."""
    target, asked = found.scored.target, work.settings
    curve = pl.DataFrame(schema=SENSITIVITY)
    if asked.curve:
        curve = sensitivity(target, work.scoring, asked.seed, work.how.doing("strengths of the prior"))
    labels = [str(label) for label in work.ratings.scale.labels]
    pairs, moved = Comparing(*found[:3], asked, work.how.doing("sign-flips")).frames(interactions)
    entangled = [name for name, one in design.items() if one["entangled"]]  # nothing is claimed about their groups
    whose = (pl.col("kind") == GROUPS) & pl.col("axis").is_in(entangled)
    moved = moved.with_columns(claim=pl.col("claim") & ~whose)
    return (
        Table("comparisons", pairs),
        Table("interactions", moved),
        Table("missing", work.matched.missing),
        Table("sensitivity", curve),
        *(Table(name, frame) for name, frame in calibration(target, labels, asked.seed).items()),
    )


def _interactions(work: Analysis, found: Found, axes: list[Compared], exchange: Exchange) -> Iterator[Tests]:
    """Yield the tests of whether bins or groups change how models compare, by the leading metric."""
    target, metric, pairs = found.scored.target, leading(found.scored.metrics), _pairs(work, found)
    if pairs is None:
        return
    by_bin = over_bins(found.scored.of_metric(metric), target, pairs, work.settings.seed)
    yield from () if by_bin is None else (by_bin,)
    if axes and metric in BY_RATING:
        scoring = replace(work.scoring, metrics=(BY_RATING[metric],))
        ratings = work.ratings.unweighted()
        votes = Votes.of(ratings, target, work.models, scoring)
        yield from over_groups(ratings, votes, work.models, pairs, axes, exchange.strata, work.settings.seed)


def _over_parts(work: Analysis, found: Found, parts: Found | None) -> Iterator[Tests]:
    """Yield the test of whether the comparison of models depends on the part of the items."""
    pairs = _pairs(work, found)
    if parts is None or pairs is None:
        return
    scores = parts.scored.of_metric(leading(found.scored.metrics))
    attribute = str(work.settings.items_by)
    tests = over_bins(scores, parts.scored.target, pairs, work.settings.seed, PARTS, attribute)
    yield from () if tests is None else (tests,)


def _pairs(work: Analysis, found: Found) -> Two | None:
    """Return every two models that are compared in parts, or None if nothing is tested."""
    at = found.scored.metrics.index(leading(found.scored.metrics))
    values = dict(zip(work.models, found.values[-1, :, at].tolist(), strict=False))
    pairs = two_by_two(work.models, ranked(values))
    return pairs if work.settings.permutations and len(pairs[0]) else None


def _parts_frame(parts: Found | None, prior: Prior) -> pl.DataFrame:
    """Return the scores of each part of the items, like rows of ``to_frame()``."""
    rows = [] if parts is None else [row for row in parts.rows() if row.subset != ALL]
    rows = [replace(row, note=row.note.replace("in this bin", "in this part")) for row in rows]
    own = {"model": [row.model for row in rows], "reference": [row.kind == "reference" for row in rows]}
    frame = pl.DataFrame(own, schema={"model": pl.String, "reference": pl.Boolean}).hstack(frame_of(rows))
    if parts is None:
        return frame.with_columns(prior_share=pl.lit(None, pl.Float64))
    weight = prior_weight(parts.scored.target, prior).select(pl.col("bin").alias("subset"), "prior_share")
    return frame.join(weight, on="subset", how="left", maintain_order="left")


def _design(work: Analysis, axes: list[Compared], exchange: Exchange) -> dict[str, dict[str, Any]]:
    """Return for each axis how far the assignment depends on its groups, unless blocks take care of it."""
    found: dict[str, Entanglement | None] = {}
    asked, how = work.settings, work.how.doing("design")
    for one in axes if len(work.models) > 1 else ():
        for axis, _ in one.shown if not names_raters(one.axis.name) else ():
            grouping = Grouping.of(work.ratings, axis.codes, len(axis), exchange.strata)
            found[one.axis.name] = exchange.check(
                work.ratings, grouping, asked.permutations, asked.seed, how, found.get(one.axis.name),
                stop_early=asked.stop_early,
            )  # fmt: skip
    return {name: one.as_dict() for name, one in found.items() if one is not None}


def _described(work: Analysis, target: Target, train: Ratings | None) -> dict[str, Any]:
    """Return what was scored, and the prior that was found."""
    n, matched, prior = target.counts.sum(axis=1), work.matched, work.prior
    return {
        "models": list(work.models), "bins": list(target.bins), "prior": prior.weights.tolist(),
        "prior_name": prior.name, "prior_total": prior.total, "prior_note": prior_words(prior, n),
        "train": train is not None,
        "points": [str(label) for label in work.ratings.scale.labels],
        "n_items": len(n), "n_ratings": int(n.sum()),
        "n_unpredicted": matched.missing.filter(problem=NO_PREDICTION)["item"].n_unique(), "n_few": matched.n_few,
        "n_unrated": int(np.count_nonzero(n == 0)),
        "n_in_no_bin": int(np.count_nonzero(target.codes == len(target.bins))),
        "n_trained_on": 0 if train is None else _shared(work.ratings, matched, train),
        "n_items_of_curve": min(len(n), MOST_ITEMS) if work.settings.curve else 0,
    }  # fmt: skip


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


def _scoring(ratings: Ratings, prior: Prior, settings: SoftSettings) -> Scoring:
    n_points, normalized = len(ratings.scale), settings.normalized
    moved = step_lengths(n_points, normalized, ratings.scale.values)
    return Scoring(prior.weights, moved, step_lengths(n_points, normalized), settings.floor, settings.metrics)


def _shared(ratings: Ratings, matched: PredictedItems, train: Ratings) -> int:
    """Return how many scored items are among the training items with ratings."""
    places = places_of(ratings.items["item"].gather(matched.items), train.items["item"])
    rated = np.diff(train.offsets) > 0
    return int(np.count_nonzero(rated[places[places >= 0]]))


def prior_weight(target: Target, prior: Prior) -> pl.DataFrame:
    """Return the prior's mean share α₀/(α₀ + n) of the weight in each bin and overall."""
    n = target.counts.sum(axis=1)
    share = prior.share(target.held.sum(axis=1))
    rows = []
    for b, name in enumerate([*target.bins, ALL]):
        inside = np.ones(len(n), dtype=bool) if b == len(target.bins) else target.codes == b
        held = float(share[inside].mean()) if inside.any() else np.nan
        rows.append((target.axis, target.group, name, int(np.count_nonzero(inside)), int(n[inside].sum()), held))
    schema = {"axis": pl.String, "group": pl.String, "bin": pl.String, "n_items": pl.Int64, "n_ratings": pl.Int64,
              "prior_share": pl.Float64}  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")
