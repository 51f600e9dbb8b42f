"""One call of soft scores: all raters bin by bin, comparisons of models, other priors, calibration, and groups."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import Frame
from plurivox.base.errors import SoftScoresWarning
from plurivox.domain.attributes import places_of
from plurivox.domain.axis import Axis
from plurivox.domain.predictions import Predictions
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import group_counts, weighted_counts
from plurivox.engine.pool import Running
from plurivox.infer.call import Call
from plurivox.infer.claims import tells_unweighted
from plurivox.infer.exchange import Exchange
from plurivox.infer.grouping import Compared, items_of_values, raters_who_rated
from plurivox.infer.intervals import percentile_interval
from plurivox.infer.lens import keywords
from plurivox.infer.result import AxisDraws, Row, Table
from plurivox.infer.tables import typed
from plurivox.lenses.soft import SoftSettings
from plurivox.lenses.soft.comparisons import (
    BY_RATING,
    GROUPS,
    PARTS,
    Tests,
    compared,
    over_bins,
    over_groups,
    scored_votes,
    two_by_two,
)
from plurivox.lenses.soft.matching import (
    NO_PREDICTION,
    REFERENCES,
    Bin,
    Counts,
    Floats,
    PredictedItems,
    Prior,
    bin_codes,
    bins_of,
    folds_of,
    match,
    prior_words,
    reference_predictions,
    require_points,
    resolve_prior,
)
from plurivox.lenses.soft.result import SoftScores, model_frame
from plurivox.lenses.soft.sums import (
    ALL,
    MOST_ITEMS,
    SENSITIVITY,
    ScoreSums,
    ScoringTarget,
    calibration,
    leading,
    ranked,
    sensitivity,
)
from plurivox.lenses.soft.words import SoftFindings
from plurivox.statistics.soft_blocks import EMPIRICAL, Scoring, step_lengths
from plurivox.statistics.undefined import NO_RATING

# The rows of a result of soft scores ----------------------------------------------------------------------------------
# The rows of a result of soft scores: every prediction against all raters, bin by bin, and against each group.


class TargetScores(NamedTuple):
    """What was found about a target: its sums, the values, and those of resampled items."""

    scored: ScoreSums
    values: Floats
    draws: Floats
    unweighted: Floats | None = None

    def rows(self) -> list[Row]:
        """Return a row for each bin, all items first, prediction and metric."""
        scored, target, values = self.scored, self.scored.target, self.values
        n_ratings = target.counts.sum(axis=1)
        interval = percentile_interval(self.draws) if len(self.draws) > 1 else None
        infinite, rows = scored.infinite(), []
        for b in (len(target.bins), *range(len(target.bins))):
            inside = n_ratings if b == len(target.bins) else n_ratings[target.codes == b]
            for (p, name), (m, metric) in itertools.product(enumerate(target.predictions), enumerate(scored.metrics)):
                counted, value = (
                    np.count_nonzero(inside) if metric in EMPIRICAL else len(inside),
                    float(values[b, p, m]),
                )
                row = Row(
                    "reference" if name in REFERENCES else "model", target.axis, target.group, metric, value,
                    n_raters=target.n_raters, n_items=int(counted), n_ratings=int(inside.sum()),
                    note=_note(metric, value, int(infinite[b, p, m]), int(counted), len(inside)),
                    subset=ALL if b == len(target.bins) else target.bins[b], model=name,
                    unweighted=None if self.unweighted is None else float(self.unweighted[b, p, m]),
                )  # fmt: skip
                if interval is not None and not math.isnan(value) and counted > 1:
                    low, high, undefined = (float(end[b, p, m]) for end in interval)
                    row = row.with_interval(low, high, undefined / len(self.draws))
                rows.append(row)
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class SoftScoring:
    """One call of :func:`plurivox.soft_scores`: what scoring all raters and each group share."""

    ratings: Ratings
    models: tuple[str, ...]
    matched: PredictedItems
    prior: Prior
    train: Counts | None
    scoring: Scoring
    settings: SoftSettings
    how: Running

    def everybody(self, bins: Sequence[Bin]) -> ScoringTarget:
        """Return the ratings of all raters, in bins of their numbers."""
        n = self.ratings.counts()[self.matched.items].sum(axis=1)
        return self._whole(bin_codes(n, bins), tuple(one.name for one in bins))

    def parts(self) -> ScoringTarget | None:
        """Return the ratings of all raters, in parts of the items by the requested attribute; None without one."""
        if self.settings.items_by is None:
            return None
        masks = items_of_values(self.ratings, self.settings.items_by)
        codes = np.full(len(self.matched.items), len(masks), dtype=np.int64)
        for at, mask in enumerate(masks.values()):
            codes[mask[self.matched.items]] = at
        return self._whole(codes, tuple(masks))

    def _whole(self, codes: NDArray[np.int64], bins: tuple[str, ...]) -> ScoringTarget:
        n_raters = int(np.count_nonzero(self.rated()))
        return self._target(self.ratings.counts(), None, slice(None), codes, bins, n_raters)

    def rated(self) -> NDArray[np.bool_]:
        """Return which raters rated any scored item; empty for totals."""
        ratings = self.ratings
        if not ratings.has_raters:
            return np.zeros(0, dtype=bool)
        chosen = np.zeros(ratings.n_items, dtype=bool)
        chosen[self.matched.items] = True
        return raters_who_rated(ratings, chosen)

    def group(self, axis: Axis, g: int) -> tuple[list[Row], ScoringTarget | None]:
        """Return the rows of a group: models are scored against its ratings, on the items that it rated.

        And what predictions were compared with; None if it rated nothing.
        """
        raters = np.where(axis.codes == g, 0, -1).astype(np.int32)
        counted = [group_counts(part, raters, 1, len(self.ratings.scale))[:, 0] for part in self.ratings.parts()]
        pool = np.concatenate(counted)
        rated = np.flatnonzero(pool[self.matched.items].sum(axis=1) > 0)
        name, n_raters = axis.groups[g], int(axis.sizes[g])
        if not len(rated):
            rows = [
                Row("model", axis.name, name, metric, np.nan, n_raters=n_raters, model=model,
                    note="the group rated none of the items")
                for model in self.models for metric in self.scoring.metrics
            ]  # fmt: skip
            return rows, None
        nowhere = np.zeros(len(rated), dtype=np.int64)
        target = self._target(pool, raters, rated, nowhere, (), n_raters, axis.name, name)
        return self.score(target, f"{axis.name}: {name}").rows(), target

    def score(self, target: ScoringTarget, what: str) -> TargetScores:
        """Score all items of a target, as they are and resampled."""
        seed = self.settings.seed
        scored = ScoreSums.of(target, self.scoring, seed, self.how.doing(what))
        draws = scored.draws(self.settings.bootstrap, seed, self.how.doing(f"{what}, resampling"))
        return TargetScores(scored, scored.values(), draws, self._unweighted(target))

    def _unweighted(self, target: ScoringTarget) -> Floats | None:
        """Return the values with all raters counted equally; None without weights, or if that would reveal too much."""
        if target.weights is None or not tells_unweighted(self.ratings, self.settings.min_group_size):
            return None
        alike = replace(self, ratings=self.ratings.unweighted())
        kept = np.searchsorted(self.matched.items, target.items)
        pool = np.zeros((self.ratings.n_items, target.counts.shape[1]), np.int64)
        pool[target.items] = target.counts
        if target.raters is None:
            pool = self.ratings.counts()
        given = (pool, target.raters, kept, target.codes, target.bins, target.n_raters, target.axis, target.group)
        return ScoreSums.of(alike._target(*given), self.scoring, self.settings.seed, Running()).values()

    def _target(
        self, pool: Counts, raters: NDArray[np.int32] | None, kept: NDArray[np.intp] | slice,
        codes: NDArray[np.int64], bins: tuple[str, ...], n_raters: int, axis: str = ALL, group: str = ALL,
    ) -> ScoringTarget:  # fmt: skip
        """Return what predictions are compared with: the counts of ``pool`` for the scored items that are kept."""
        items = self.matched.items[kept]
        counts, folds = pool[items], folds_of(len(self.matched.items), self.settings.seed)[kept]
        train, weighed = self.train is not None, self._weighed(raters)
        own = None if weighed is None else weighed[items]
        others = self.train if self.train is not None else pool if weighed is None else weighed
        beside = reference_predictions(counts if own is None else own, others, items, self.prior.weights, folds, train)
        predictions = {**dict(zip(self.models, self.matched.shares[:, kept], strict=True)), **beside}
        told = {name: one.told(items, raters) for name, one in self.matched.by_rater.items()}
        return ScoringTarget(
            self.ratings.parts(), raters, items, counts, codes, bins, predictions, n_raters, axis, group, told,
            self.ratings.weights, own,
        )  # fmt: skip

    def _weighed(self, raters: NDArray[np.int32] | None) -> Floats | None:
        """Return the weights of some raters, or of all, on each point of every item; None where all count equally."""
        ratings = self.ratings
        if ratings.weights is None:
            return None
        codes = np.zeros(ratings.n_raters, np.int32) if raters is None else raters
        parts = [
            weighted_counts(part, codes, 1, len(ratings.scale), ratings.weights, 0, part.n_items)[0][:, 0]
            for part in ratings.parts()
        ]
        return np.concatenate(parts)


def _note(metric: str, value: float, n_infinite: int, counted: int, n_items: int) -> str:
    if math.isnan(value):
        return NO_RATING if n_items else "no item is in this bin"
    notes = []
    if n_infinite:
        one = n_infinite == 1
        given = "was given" if one else "were given"
        what = f"{given} a point" if metric in EMPIRICAL else "may, by the prior, be given a point"
        items = "1 item" if one else f"{n_infinite:,} items"
        notes.append(f"{items} {what} with predicted probability 0; --floor (floor=) makes this finite")
    if counted < n_items:
        left_out = n_items - counted
        notes.append(f"{left_out:,} items without a rating are left out" if left_out > 1 else
                     "1 item without a rating is left out")  # fmt: skip
    return "; ".join(notes)


# The call -------------------------------------------------------------------------------------------------------------

MOST_KEPT = 4_000_000  # the most numbers of bootstrap draws that a result keeps


@keywords(SoftSettings, positional=("prior",), weights=True)
def soft_scores(
    ratings: Ratings, predictions: Predictions | Frame, *, train: Ratings | None = None, settings: SoftSettings,
    how: Running,
) -> SoftScores:  # fmt: skip
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
    if train is not None:
        require_points("training ratings", train.scale, ratings.scale)
    matched = match(ratings, known, min_ratings=settings.min_ratings, strict=settings.strict)
    counts = ratings.counts()[matched.items]
    prior = resolve_prior(settings.prior, counts, train)
    others = None if train is None else train.counts()
    lengths = partial(step_lengths, len(ratings.scale), settings.normalized)
    scoring = Scoring(prior.weights, lengths(ratings.scale.values), lengths(), settings.floor, settings.metrics)
    work = SoftScoring(ratings, known.models, matched, prior, others, scoring, settings, how)
    whole = work.everybody(bins_of(counts.sum(axis=1), settings.bins))
    found = work.score(whole, "scoring")
    call = Call.of(ratings, settings, how, rated=work.rated(), exchanged=bool(settings.by))
    axes, exchange = call.axes, call.inference.exchange
    call.check_design(axes if len(work.models) > 1 else ())
    design = call.inference.remembered()
    apart = work.parts()
    parts = None if apart is None else work.score(apart, f"by {settings.items_by}")
    tables = _tables(work, found, _interactions(work, found, parts, axes, exchange), design["axes"])
    rows, weights = found.rows(), [prior_weight(whole, prior)]
    for axis, g in ((axis, g) for one in axes for axis, places in one.shown for g in places):
        own, target = work.group(axis, g)
        rows += own
        weights += [] if target is None else [prior_weight(target, prior)]
    result = SoftScores(
        rows=tuple(rows),
        draws=_kept_draws(found),
        tables=(*tables, Table("parts", _parts_frame(parts, prior)), Table("prior weight", pl.concat(weights))),
        **call.kept(
            **_described(work, whole, train),
            n_items_in_no_part=0 if apart is None else int(np.count_nonzero(apart.codes == len(apart.bins))),
            design=design,
        ),
    )  # fmt: skip
    for text in SoftFindings(result).warnings():
        warnings.warn(text, SoftScoresWarning, stacklevel=3)
    return result


def _tables(
    work: SoftScoring, found: TargetScores, interactions: list[Tests], design: dict[str, dict[str, Any]]
) -> tuple[Table, ...]:
    """Return what lies behind the ranking for all raters."""
    target, asked = found.scored.target, work.settings
    how, labels = work.how.doing("strengths of the prior"), [str(label) for label in work.ratings.scale.labels]
    curve = sensitivity(target, work.scoring, asked.seed, how) if asked.curve else pl.DataFrame(schema=SENSITIVITY)
    pairs, moved = compared(*found[:3], asked, work.how.doing("sign-flips"), interactions)
    entangled = [name for name, one in design.items() if one["entangled"]]  # nothing is claimed about their groups
    whose = (pl.col("kind") == GROUPS) & pl.col("axis").is_in(entangled)
    found_by = {
        "comparisons": pairs, "interactions": moved.with_columns(claim=pl.col("claim") & ~whose),
        "missing": work.matched.missing, "sensitivity": curve, **calibration(target, labels, asked.seed),
    }  # fmt: skip
    return tuple(Table(name, frame) for name, frame in found_by.items())


def _interactions(
    work: SoftScoring, found: TargetScores, parts: TargetScores | None, axes: list[Compared], exchange: Exchange
) -> list[Tests]:
    """Return the tests of whether bins, groups or parts of the items change how models compare, by the main metric."""
    target, metric, settings = found.scored.target, leading(found.scored.metrics), work.settings
    values = found.values[-1, :, found.scored.metrics.index(metric)].tolist()
    pairs = two_by_two(work.models, ranked(dict(zip(work.models, values, strict=False))))
    if not settings.permutations or not len(pairs[0]):
        return []
    tests = [*over_bins(found.scored.of_metric(metric), target, metric, pairs, settings.seed)]
    if axes and metric in BY_RATING:
        ratings, scoring = work.ratings.unweighted(), replace(work.scoring, metrics=(BY_RATING[metric],))
        votes = scored_votes(ratings, target, work.models, scoring)
        tests += over_groups(ratings, votes, work.models, metric, pairs, axes, exchange.strata, settings.seed)
    if parts is not None:
        of_parts, attribute = parts.scored, str(settings.items_by)
        scores = of_parts.of_metric(metric)
        tests += over_bins(scores, of_parts.target, metric, pairs, settings.seed, PARTS, attribute)
    return tests


def _parts_frame(parts: TargetScores | None, prior: Prior) -> pl.DataFrame:
    """Return the scores of each part of the items, like rows of ``to_frame()``."""
    rows = [] if parts is None else [row for row in parts.rows() if row.subset != ALL]
    rows = [replace(row, note=row.note.replace("in this bin", "in this part")) for row in rows]
    frame = model_frame(rows)
    if parts is None:
        return frame.with_columns(prior_share=pl.lit(None, pl.Float64))
    weight = prior_weight(parts.scored.target, prior).select(pl.col("bin").alias("subset"), "prior_share")
    return frame.join(weight, on="subset", how="left", maintain_order="left")


def _described(work: SoftScoring, target: ScoringTarget, train: Ratings | None) -> dict[str, Any]:
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


def _kept_draws(found: TargetScores) -> tuple[AxisDraws, ...]:
    """Return the draws of each bin and of all items, unless they are too many to keep."""
    target, draws = found.scored.target, found.draws
    kept = draws if draws.size <= MOST_KEPT else draws[:0]
    names = tuple(target.predictions)
    nothing = np.zeros((0, len(names), 0))
    return tuple(
        AxisDraws("model", names, (), nothing, found.scored.metrics, kept[:, b], label)
        for b, label in enumerate([*target.bins, ALL])
    )


def _shared(ratings: Ratings, matched: PredictedItems, train: Ratings) -> int:
    """Return how many scored items are among the training items with ratings."""
    places = places_of(ratings.items["item"].gather(matched.items), train.items["item"])
    rated = np.diff(train.offsets) > 0
    return int(np.count_nonzero(rated[places[places >= 0]]))


def prior_weight(target: ScoringTarget, prior: Prior) -> pl.DataFrame:
    """Return the prior's mean share α₀/(α₀ + n) of the weight in each bin and overall."""
    n = target.counts.sum(axis=1)
    share = prior.share(target.held.sum(axis=1))
    rows = []
    for b, name in enumerate([*target.bins, ALL]):
        inside = np.ones(len(n), dtype=bool) if b == len(target.bins) else target.codes == b
        held = float(share[inside].mean()) if inside.any() else np.nan
        rows.append((target.axis, target.group, name, int(np.count_nonzero(inside)), int(n[inside].sum()), held))
    return pl.DataFrame(rows, schema=typed("axis group bin n_items n_ratings prior_share"), orient="row")
