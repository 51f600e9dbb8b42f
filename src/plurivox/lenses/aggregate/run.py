"""One call of aggregation: labels of all methods, where they differ, and which groups they depart from.

Labels are made from all ratings, no matter who gave them, so shuffling raters between groups leaves them unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import InputError
from plurivox.domain.attributes import id_texts
from plurivox.domain.axis import names_raters
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import label_column
from plurivox.domain.scale import few_points
from plurivox.engine.draws import Draws, weighted_counts_of
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums, Values, run, total
from plurivox.infer.call import Call, Comparison, MeasuredGroups
from plurivox.infer.claims import tells_unweighted
from plurivox.infer.grouping import Compared, Grouping, raters_who_rated
from plurivox.infer.inference import Shuffled, Sizes
from plurivox.infer.intervals import Spread
from plurivox.infer.jackknife import LeftOut, left_out
from plurivox.infer.lens import keywords
from plurivox.infer.result import AxisDraws, Row, Table
from plurivox.lenses.aggregate import OF_COUNTS, AggregateSettings
from plurivox.lenses.aggregate.fits import MethodLabels, labels_of
from plurivox.lenses.aggregate.result import Aggregation
from plurivox.lenses.soft.matching import prior_words, resolve_prior
from plurivox.statistics.registry import of_role

# How far labels lie from what groups say: what a part of the items adds, under any draws ------------------------------

STATISTICS = ("departure", "overruled", "label_shift")
"""The statistics of a group and a method, in the order of values."""
KINDS = {"plurality": 1, "mean": 2, "posterior": 3}
"""How methods that do not need to know who gave a rating make labels, as named in :mod:`plurivox.kernels.aggregate`."""
_NONE = 1e-9  # rounding error of whole numbers that were added and subtracted again


@dataclass(frozen=True, slots=True, eq=False)
class Departing:
    """The contribution of a part to the sums of one grouping of the raters.

    Attributes
    ----------
    grouping
        The groups, and who is shuffled with whom.
    values
        The numbers of the scale.
    chosen, numbers, own
        Items × methods: the label's position, the item's score, and by how much one rating moves it.
    cost
        Roughly how many seconds a draw takes.
    mass, kinds, prior
        Where raters have weights: the weight of all ratings of each item, how each method makes labels, and the
        posterior's prior.
    """

    grouping: Grouping
    values: NDArray[np.float64]
    chosen: NDArray[np.int64]
    numbers: NDArray[np.float64]
    own: NDArray[np.float64]
    cost: float
    mass: NDArray[np.float64]
    kinds: NDArray[np.int64]
    prior: NDArray[np.float64]

    @property
    def width(self) -> int:
        """How many numbers a draw holds."""
        return len(self.grouping.codes) + self.grouping.n_groups * (2 + 3 * int(self.chosen.shape[1]))

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part, for each draw."""
        from plurivox.kernels.aggregate import add_departures, weighted_departures

        sums = np.zeros((draws.total, self.grouping.n_groups, 2 + 3 * self.chosen.shape[1]))
        units = np.zeros(0, np.int64)
        if draws.resample == "items" and draws.units is not None:
            units = draws.units[part.items] - draws.first
        if len(self.grouping.weights):
            labels, weights = self._labels(draws), self.grouping.rater_weights(draws)
            weighted_departures(
                part.offsets, part.raters, part.scores, self.values, labels, weights, units,
                *(array[part.items] for array in (self.chosen, self.numbers, self.mass)), self.kinds, self.prior,
                draws.kind == "permuted" and draws.first > 0, sums,
            )  # fmt: skip
            return Sums(groups=sums)
        given = (part.offsets, part.raters, part.scores, self.values, self._labels(draws), units)
        add_departures(*given, *(array[part.items] for array in (self.chosen, self.numbers, self.own)), sums)
        return Sums(groups=sums)

    def _labels(self, draws: Draws) -> NDArray[np.int32]:
        """Return the group of each rater under each draw; raters left out are in none."""
        if draws.kind == "permuted":
            return self.grouping.labels(draws)
        if len(self.grouping.weights):  # raters left out have weight 0
            return np.tile(self.grouping.codes, (draws.total, 1))
        keep = draws.rater_weights(self.grouping.codes)
        codes = np.tile(self.grouping.codes, (draws.total, 1))
        found = np.where(keep > 0, codes, np.int32(-1)) if keep.shape[1] else codes
        found.flags.writeable = False  # kernels are compiled for one kind of array
        return found

    def without(self, keep: Callable[[Part], NDArray[np.bool_]]) -> Departing:
        """Return the same: it holds no ratings itself."""
        return self


def finish(sums: Sums) -> Values:
    """Return the values of all groups, draws × groups × (methods × statistics)."""
    groups = sums["groups"]
    rated, twice = groups[..., 0], groups[..., 1]
    each = groups[..., 2:].reshape(*groups.shape[:-1], -1, 3)
    n = np.stack([twice, rated, rated], axis=-1)[..., np.newaxis, :]
    means = np.divide(each, n, out=np.full(each.shape, np.nan), where=np.broadcast_to(n > _NONE, each.shape))
    means[..., 0] = np.sign(means[..., 0]) * np.sqrt(np.abs(means[..., 0]))
    return np.asarray(means.reshape(*groups.shape[:-1], -1))


@dataclass(frozen=True, eq=False)
class LabelDepartures:
    """Groups compared with the labels of all methods: values, observed and under draws."""

    ratings: Ratings
    grouping: Grouping
    labels: Sequence[MethodLabels]
    prior: NDArray[np.float64]

    @cached_property
    def work(self) -> Departing:
        """What a part of the items adds."""
        values = np.array(self.ratings.scale.values, dtype=float)
        each = [(one.chosen, one.numbers, one.own) for one in self.labels]
        chosen, numbers, own = (np.stack(arrays, axis=1) for arrays in zip(*each, strict=True))
        cost = self.ratings.n_entries * 4e-9 + self.ratings.n_items * self.grouping.n_groups * 2e-8
        kinds = np.array([KINDS.get(one.method, 0) for one in self.labels])
        weighted = len(self.grouping.weights) > 0
        mass = weighted_counts_of(self.ratings)[:, 0].sum(axis=1) if weighted else np.zeros(0)
        return Departing(self.grouping, values, chosen, numbers, own, cost, mass, kinds, self.prior)

    @cached_property
    def observed(self) -> Sums:
        """The sums of the raters as they are."""
        return total(self.ratings.parts(), self.work)

    @cached_property
    def value(self) -> Values:
        """Groups × (methods × statistics)."""
        return np.asarray(finish(self.observed)[0])

    @cached_property
    def _made(self) -> dict[tuple[int, int], Values]:
        return {}

    def null(self, shuffles: Draws, how: Running) -> Values:
        """Return the values of shuffled raters; those of the last shuffles are kept, since every method needs them."""
        key = shuffles.first, shuffles.last
        if key not in self._made:
            made = run(self.ratings.parts(), self.work, shuffles, finish, how)
            self._made.clear()
            self._made[key] = np.concatenate([np.zeros((0, *self.value.shape)), *made])
        return self._made[key]

    def left_out(self, resample: str, how: Running) -> LeftOut:
        """Return the values without each item, each rater of a group, or both; labels stay as they are."""
        rated = np.where(raters_who_rated(self.ratings), self.grouping.codes, -1)
        given = (self.work, self.observed, finish, rated, self.grouping.n_groups)
        return left_out(self.ratings.parts(), *given, resample, how)


@dataclass(frozen=True, slots=True, eq=False)
class OfMethod:
    """The values of one method among those of all."""

    measured: LabelDepartures
    at: int

    def columns(self, values: Values) -> Values:
        """Return the columns of the method."""
        return values[..., self.at * len(STATISTICS) : (self.at + 1) * len(STATISTICS)]

    def null(self, shuffles: Draws, how: Running) -> Values:
        """Return the values of shuffled raters."""
        return self.columns(self.measured.null(shuffles, how))


# The rows of an aggregation -------------------------------------------------------------------------------------------


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
        ratings, labels = (self.ratings.unweighted(), self.alike) if alike else (self.ratings, self.labels)
        return LabelDepartures(ratings, grouping, labels, self.prior)

    def by_method(self, one: Compared) -> list[list[MeasuredGroups]]:
        """Measure the groups of an axis by all methods, overlapping groups each on an axis of their own."""
        found = []
        for (whole, _), (axis, places) in zip(one.shown, one.told, strict=True):
            self.inference.check(self.ratings, one.axis.name, self.grouping(whole))
            grouping = self.grouping(axis)
            measured = self.measure(grouping)
            each: list[Any] = [OfMethod(measured, at) for at in range(len(self.labels))]
            found.append([
                MeasuredGroups(axis, places, own, self.inference.shuffled(
                    own, grouping, STATISTICS, own.columns(measured.value), places, axis.name))
                for own in each
            ])  # fmt: skip
        return found

    def overall(self) -> list[Row]:
        """Return how far labels lie from what all raters together say."""
        sizes = (self.ratings.n_raters, self.ratings.n_items, len(self.ratings))
        measured = self.measure(Grouping.together(self.ratings))
        return self._rows("overall", "all", ("all",), measured, [0], [sizes], [None] * len(self.labels))

    def rows(self, name: str, each: Sequence[MeasuredGroups]) -> list[Row]:
        """Return the rows of the groups of an axis, by method."""
        axis, places = each[0].axis, each[0].places
        if not places:
            return []
        n_items, n_ratings = self.ratings.sizes(axis.codes, len(axis))
        sizes = [(int(axis.sizes[g]), int(n_items[g]), int(n_ratings[g])) for g in places]
        tests = [one.tested for one in each]
        return self._rows("group", name, each[0].groups, each[0].measured.measured, places, sizes, tests)

    def _rows(
        self, kind: str, name: str, groups: Sequence[str], measured: LabelDepartures, places: list[int],
        sizes: Sequence[Sizes], tests: Sequence[Shuffled | None],
    ) -> list[Row]:  # fmt: skip
        spread = Spread()
        if self.settings.interval != "none":
            how = self.inference.doing(f"resampling {name}")
            spread = Spread(left=measured.left_out(self.settings.resample, how)).of(places)
        interval = spread.interval(of_role("hidden") * len(self.labels))
        plain, notes = self.unweighted(measured.grouping), []
        for rated, twice in measured.observed["groups"][0, places, :2]:
            without = dict.fromkeys(STATISTICS, "this group rated nothing") if rated == 0 else {}
            notes.append(without or ({} if twice else {"departure": "no item has two ratings from this group"}))
        found = []
        for at, (labels, tested) in enumerate(zip(self.labels, tests, strict=True)):
            rows = self.inference.rows(
                kind, name, groups, list(enumerate(STATISTICS, at * len(STATISTICS))), measured.value[places], sizes,
                notes, interval, tested, None if plain is None else plain[places],
            )  # fmt: skip
            # Nothing is claimed where labels lie close: labels near a noisy group's mean do so by themselves.
            own = (row.with_claim(False) if row.claim and row.direction != "above" else row for row in rows)
            found += [replace(row, model=labels.method) for row in own]
        return found

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
        return OfMethod(super().again(one, strata), one.measured.at)

    def held_by_method(
        self, prepared: Mapping[str, Sequence[Sequence[MeasuredGroups]]], rows: Sequence[Row]
    ) -> list[Row]:
        """Test claims about groups again, within each other attribute of the call."""
        found = []
        for at, labels in enumerate(self.labels):
            own = {name: [one[at] for one in each] for name, each in prepared.items()}
            found += self.held(own, [row for row in rows if row.model == labels.method])
        return found


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
    tables = {"labels": _labels(ratings, labels, alike if work.both_ways else ()), **_about(ratings, labels)}
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


def _about(ratings: Ratings, labels: Sequence[MethodLabels]) -> dict[str, pl.DataFrame]:
    """Return tables about the methods, each pair of them, and what their models say about each rater.

    ``methods``: how a fit went, how sure its labels are, and how many are tied. ``differing``: to how many items two
    methods give different labels. ``raters``: a column for each parameter of a model.
    """
    methods, differing = [], []
    ids = id_texts(ratings.raters["rater"]) if ratings.has_raters else pl.Series("rater", [], pl.String)
    raters: dict[str, Any] = {"rater": ids, "n_ratings": ratings.per_rater()}
    for one in labels:
        labelled, fit = one.chosen >= 0, one.fit
        went = (None, None, None) if fit is None else (fit.iterations, fit.converged, fit.log_likelihood)
        sure = float(one.confidence[labelled].mean()) if labelled.any() else None
        methods.append((one.method, *went, int(labelled.sum()), int(one.tied.sum()), sure))
        known = {} if fit is None else fit.raters
        raters |= {f"{one.method}_{name}": pl.Series(values, nan_to_null=True) for name, values in known.items()}
    for one, other in combinations(labels, 2):
        n_items, n = int((one.chosen >= 0).sum()), int((one.chosen != other.chosen).sum())
        differing.append((one.method, other.method, n, n_items, n / n_items if n_items else None))
    schema = {
        "method": pl.String, "iterations": pl.Int64, "converged": pl.Boolean, "log_likelihood": pl.Float64,
        "n_items": pl.Int64, "n_tied": pl.Int64, "mean_confidence": pl.Float64,
    }  # fmt: skip
    pairs = {"method": pl.String, "other": pl.String, "n_differ": pl.Int64, "n_items": pl.Int64, "share": pl.Float64}
    return {
        "methods": pl.DataFrame(methods, schema=schema, orient="row"),
        "differing": pl.DataFrame(differing, schema=pairs, orient="row"),
        "raters": pl.DataFrame(raters),
    }
