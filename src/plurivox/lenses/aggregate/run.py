"""One call of aggregation: labels of all methods, where they differ, and which groups they depart from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from plurivox.infer.call import Call, Comparison, MeasuredGroups
from plurivox.infer.grouping import Compared, Grouping
from plurivox.infer.inference import Shuffled, Sizes
from plurivox.infer.intervals import Spread
from plurivox.infer.jackknife import LeftOut
from plurivox.infer.keywords import keywords
from plurivox.infer.result import AxisDraws, Row, Table
from plurivox.infer.weighting import tells_unweighted
from plurivox.lenses.aggregate.fits import MethodLabels, labels_of
from plurivox.lenses.aggregate.result import Aggregation
from plurivox.lenses.aggregate.settings import OF_COUNTS, AggregateSettings
from plurivox.lenses.aggregate.sums import STATISTICS, LabelDepartures, OfMethod, of_columns
from plurivox.lenses.soft.matching import prior_words, resolve_prior
from plurivox.statistics.registry import of_role

# The rows of an aggregation -------------------------------------------------------------------------------------------
# The rows of an aggregation: how far labels of each method lie from what groups say.

ONE_EACH = "no item has two ratings from this group"
NOTHING = "this group rated nothing"


@dataclass(frozen=True, eq=False)
class Departures(Comparison):
    """How far the labels of each method lie from what the groups of a call say."""

    settings: AggregateSettings
    labels: Sequence[MethodLabels]
    alike: Sequence[MethodLabels]
    """The same with all raters counted equally."""
    prior: NDArray[np.float64]

    @property
    def names(self) -> tuple[str, ...]:
        """The statistics that are tested."""
        return STATISTICS

    @property
    def both_ways(self) -> bool:
        """Whether values are also measured with all raters counted equally; not if both would reveal a group's mean."""
        return tells_unweighted(self.ratings, self.settings.min_group_size)

    def measure(self, grouping: Grouping, *, alike: bool = False) -> LabelDepartures:
        """Compare some groups with the labels of all methods."""
        if alike:
            return LabelDepartures(self.ratings.unweighted(), grouping, self.alike, self.prior)
        return LabelDepartures(self.ratings, grouping, self.labels, self.prior)

    def by_method(self, one: Compared) -> list[list[MeasuredGroups]]:
        """Measure the groups of an axis by all methods, overlapping groups each on an axis of their own."""
        found = []
        for (whole, _), (axis, places) in zip(one.shown, one.told, strict=True):
            self.inference.check(self.ratings, one.axis.name, self.grouping(whole))
            grouping = self.grouping(axis)
            each = map(self.measure(grouping).of, range(len(self.labels)))
            shuffled = self.inference.shuffled
            found.append([
                MeasuredGroups(axis, places, own, shuffled(own, grouping, STATISTICS, own.value, places, axis.name))
                for own in each
            ])  # fmt: skip
        return found

    def overall(self) -> list[Row]:
        """Return how far labels lie from what all raters together say."""
        measured = self.measure(Grouping.together(self.ratings))
        sizes = (self.ratings.n_raters, self.ratings.n_items, len(self.ratings))
        left = self._left_out(measured, "all raters")
        return [row for at in range(len(self.labels))
                for row in self._rows("overall", "all", ("all",), measured.of(at), [0], [sizes], left)]  # fmt: skip

    def rows(self, name: str, each: Sequence[MeasuredGroups]) -> list[Row]:
        """Return the rows of the groups of an axis, by method."""
        first = each[0]
        if not first.places:
            return []
        n_items, n_ratings = self.ratings.sizes(first.axis.codes, len(first.axis))
        sizes = [(int(first.axis.sizes[g]), int(n_items[g]), int(n_ratings[g])) for g in first.places]
        left = self._left_out(first.measured.measured, name)
        return [
            row for one in each
            for row in self._rows("group", name, one.groups, one.measured, one.places, sizes, left, one.tested)
        ]  # fmt: skip

    def _rows(
        self, kind: str, name: str, groups: Sequence[str], own: OfMethod, places: list[int], sizes: Sequence[Sizes],
        left: LeftOut | None, tested: Shuffled | None = None,
    ) -> list[Row]:  # fmt: skip
        plain = self.unweighted(own.measured.grouping)
        spread = Spread() if left is None else Spread(left=of_columns(left, own.columns)).of(places)
        rows = self.inference.rows(
            kind, name, groups, list(enumerate(STATISTICS)), own.value[places], sizes,
            [_why(own.measured, g) for g in places], spread.interval(of_role("hidden")), tested,
            None if plain is None else plain[places][:, own.columns],
        )  # fmt: skip
        return [_claimed(replace(row, model=self.labels[own.at].method)) for row in rows]

    def _left_out(self, measured: LabelDepartures, name: str) -> LeftOut | None:
        if self.settings.interval == "none":
            return None
        return measured.left_out(self.settings.resample, self.inference.doing(f"resampling {name}"))

    def draws(self, name: str, prepared: Sequence[Sequence[MeasuredGroups]]) -> list[AxisDraws]:
        """Return the shuffles behind the groups of an axis, a set for each method, those of each value sorted.

        Anyone who knows which shuffle gave which value has one equation per shuffle, and can solve for what each rater
        said.
        """
        found = []
        for at, one in enumerate(self.labels):
            null = [np.zeros((len(prepared[0][at].tested.null) if prepared else 0, 0, len(STATISTICS)))]
            null += [own[at].tested.null for own in prepared]
            groups = tuple(group for own in prepared for group in own[at].groups)
            ordered = np.sort(np.concatenate(null, axis=1), axis=0)
            none = np.zeros((0, len(groups), len(STATISTICS)))
            found.append(AxisDraws(name, groups, STATISTICS, ordered, STATISTICS, none, one.method))
        return found

    def again(self, one: MeasuredGroups, strata: NDArray[np.int32]) -> OfMethod:
        """Compare some groups with the labels of the same method once more."""
        measured: LabelDepartures = super().again(one, strata)
        return measured.of(one.measured.at)

    def held_by_method(
        self, prepared: Mapping[str, Sequence[Sequence[MeasuredGroups]]], rows: Sequence[Row]
    ) -> list[Row]:
        """Test claims about groups again, within each other attribute of the call."""
        found = []
        for at, labels in enumerate(self.labels):
            own = {name: [one[at] for one in each] for name, each in prepared.items()}
            found += self.held(own, [row for row in rows if row.model == labels.method])
        return found


def _claimed(row: Row) -> Row:
    """Return a row that claims nothing where labels lie close: labels near a noisy group's mean do so by themselves."""
    return row.with_claim(False) if row.claim and row.direction != "above" else row


def _why(measured: LabelDepartures, g: int) -> dict[str, str]:
    """Return why values of a group are undefined."""
    rated, twice = measured.observed["groups"][0, g, :2]
    if rated == 0:
        return dict.fromkeys(STATISTICS, NOTHING)
    return {} if twice else {"departure": ONE_EACH}


# The call -------------------------------------------------------------------------------------------------------------


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
    alike = _alike(ratings, settings, labels, prior.weights)
    call = Call.of(ratings, settings, how, exchanged=bool(settings.by))
    work = Departures(ratings, settings, call.inference, labels, alike, prior.weights)
    prepared = {one.axis.name: work.by_method(one) for one in call.axes}
    call.inference.decide([one.tested for each in prepared.values() for own in each for one in own])
    rows: list[Row] = work.overall() if ratings.has_raters else []
    for name, each in prepared.items():
        rows += [row for own in each for row in work.rows(name, own)]
    tables = {
        "labels": _labels(ratings, labels, alike if work.both_ways else ()), "methods": _methods(labels),
        "differing": _differing(labels), "raters": _raters(ratings, labels),
    }  # fmt: skip
    return Aggregation(
        rows=tuple(rows),
        draws=tuple(draws for name, each in prepared.items() for draws in work.draws(name, each)),
        held_rows=tuple(work.held_by_method(prepared, rows)),
        tables=tuple(Table(name, frame) for name, frame in tables.items()),
        **call.kept(
            bootstrap=0, design=call.inference.remembered(), points=[str(label) for label in ratings.scale.labels],
            n_items=ratings.n_items, prior=prior.weights.tolist(), prior_note=prior_words(prior, counts.sum(axis=1)),
        ),
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
    ratings: Ratings, settings: AggregateSettings, labels: Sequence[MethodLabels], prior: NDArray[np.float64]
) -> list[MethodLabels]:
    """Return the labels with all raters counted equally, none without weights; models of raters give the same."""
    if ratings.weights is None:
        return []
    plain = ratings.unweighted()
    own = tuple(one.method for one in labels if one.method in OF_COUNTS)
    again = labels_of(plain, settings.replace(methods=own), plain.counts().astype(np.float64), prior) if own else []
    made = {one.method: one for one in again}
    return [made.get(one.method, one) for one in labels]


def _labels(ratings: Ratings, labels: Sequence[MethodLabels], alike: Sequence[MethodLabels]) -> pl.DataFrame:
    """Return a row for each item: labels, confidence and probabilities of each method, and unweighted labels."""
    beside = {one.method: one for one in alike if one.method in OF_COUNTS}
    points = [str(label) for label in ratings.scale.labels]
    names = label_column(ratings.scale)
    n_ratings = ratings.counts().sum(axis=1)
    found: dict[str, Any] = {"item": id_texts(ratings.items["item"]), "n_ratings": n_ratings}
    chosen = np.stack([one.chosen for one in labels], axis=1)
    found["agreed"] = (chosen == chosen[:, :1]).all(axis=1)

    def named(one: MethodLabels) -> pl.Series:
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


def _methods(labels: Sequence[MethodLabels]) -> pl.DataFrame:
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


def _differing(labels: Sequence[MethodLabels]) -> pl.DataFrame:
    """Return for each pair of methods the number of items to which they give different labels."""
    rows = []
    for one, other in combinations(labels, 2):
        n_items = int(np.count_nonzero(one.chosen >= 0))
        n = int(np.count_nonzero(one.chosen != other.chosen))
        rows.append((one.method, other.method, n, n_items, n / n_items if n_items else None))
    schema = {"method": pl.String, "other": pl.String, "n_differ": pl.Int64, "n_items": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _raters(ratings: Ratings, labels: Sequence[MethodLabels]) -> pl.DataFrame:
    """Return what the models say about each rater, with a column for each parameter."""
    fitted = [one for one in labels if one.fit is not None]
    ids = id_texts(ratings.raters["rater"]) if ratings.has_raters else pl.Series("rater", [], pl.String)
    found: dict[str, Any] = {"rater": ids, "n_ratings": ratings.per_rater()}
    for one in fitted:
        assert one.fit is not None
        found |= {f"{one.method}_{name}": pl.Series(v, nan_to_null=True) for name, v in one.fit.raters.items()}
    return pl.DataFrame(found)
