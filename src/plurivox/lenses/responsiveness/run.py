"""One call of responsiveness: for every set of items, all raters, the groups of every axis, contrasts and families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import SelectionError
from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import chosen_rows
from plurivox.domain.scale import Scale, few_points
from plurivox.domain.scale_names import poles_in
from plurivox.engine.pool import Running
from plurivox.engine.run import Values
from plurivox.infer.call import AxisMeasured, Call, Comparison, MeasuredGroups
from plurivox.infer.families import corrected
from plurivox.infer.grouping import Grouping, raters_who_rated
from plurivox.infer.inference import Shuffled, Sizes, with_tests
from plurivox.infer.intervals import Interval, Spread, with_interval
from plurivox.infer.lens import keywords
from plurivox.infer.permutation import among_peers, compare, upper_p
from plurivox.infer.result import AxisDraws, Row
from plurivox.lenses.psychometrics import LOWER_BOUND, MANY
from plurivox.lenses.psychometrics.run import RaterScale, fitted, rater_scales
from plurivox.lenses.responsiveness import ALWAYS, ResponsivenessSettings
from plurivox.lenses.responsiveness.raters import RaterResponses
from plurivox.lenses.responsiveness.references import CROWD, Reference, ReferenceLike, condition_name, resolve
from plurivox.lenses.responsiveness.result import Responsiveness, ScoreTables
from plurivox.lenses.responsiveness.sums import Responses, Support
from plurivox.statistics import undefined
from plurivox.statistics.registry import with_trait
from plurivox.statistics.responsiveness import MEASURED, MEASURES

COLUMNS = tuple(enumerate(MEASURES))
"""All statistics, and the position of each among the values."""
MIN_SUPPORT = 5
"""A score given to fewer items than this is noted for statistics that weigh every score equally."""


class ScoredAxis(NamedTuple):
    """Rows of an axis, its draws, and the tables behind its values."""

    rows: list[Row]
    draws: AxisDraws
    scored: ScoreTables
    spread: Spread = Spread()


@dataclass(frozen=True, eq=False)
class Responding(Comparison):
    """How the groups of a call respond to a reference, on one set of items."""

    settings: ResponsivenessSettings
    reference: Reference
    names = MEASURES

    @property
    def both_ways(self) -> bool:
        """Whether values are also measured with all raters counted equally, those of the reference included."""
        return self.ratings.weights is not None or len(self.reference.weights) > 0

    def measure(self, grouping: Grouping, *, alike: bool = False) -> Responses:
        """Measure all statistics of some groups."""
        asked, ratings, reference = self.settings, self.ratings, self.reference
        if alike:
            ratings, reference = ratings.unweighted(), reference.counting_alike()
        return Responses.by(
            ratings, grouping, reference, group_score=asked.group_score, ties=asked.ties, seed=asked.seed,
            capped=self._capped,
        )  # fmt: skip

    def overall(self) -> ScoredAxis:
        """Return the rows of all raters together; against the crowd, nobody is left to compare them with."""
        everybody, n_rated = np.zeros(self.ratings.n_raters, np.int32), np.count_nonzero(raters_who_rated(self.ratings))
        grouping = Grouping.of(self.ratings, everybody, 1, self.inference.exchange.strata)
        responses = self.measure(grouping)
        spread = Spread() if self.reference.kind == CROWD else self.inference.spread(responses, "all")
        sizes = np.array([self.ratings.n_raters if self.subset == "all" else n_rated])
        axis = Axis("all", (), ("all",), everybody, sizes, np.zeros(1, bool), 1)
        alone = undefined.NO_REFERENCE if self.reference.kind == "ratings" else "nobody is left as the reference"
        return self._found("overall", axis, [0], responses, None, spread, self.unweighted(grouping), alone)

    def found(self, name: str, prepared: Sequence[MeasuredGroups]) -> ScoredAxis:
        """Return the rows of the groups of an axis, its draws, and the tables behind its values."""
        each = [
            self._found(
                "group", one.axis, one.places, one.measured, one.tested,
                self.inference.spread(one.measured, one.axis.name), one.unweighted,
            )
            for one in prepared
        ]  # fmt: skip
        if len(each) == 1:
            return each[0]
        draws = self.draws_of(name, prepared, [one.spread for one in each], MEASURES)
        n_points = len(self.ratings.scale)
        like = {"tables": (0, n_points, self.reference.n_points), "votes": (0, n_points), "usage": (0, n_points)}
        stacked = {
            part: np.concatenate([np.zeros(shape), *(getattr(one.scored, part) for one in each)])
            for part, shape in like.items()
        }
        scored = ScoreTables(name, draws.groups, **stacked, subset=self.subset)
        return ScoredAxis([row for one in each for row in one.rows], draws, scored)

    def compared(self, two: MeasuredGroups, found: ScoredAxis, kind: str) -> list[Row]:
        """Return the rows of a difference that was tested."""
        pair, support = two.pair, two.measured.votes()
        assert pair is not None
        both, (a, b) = [pair.a, pair.b], (found.draws.groups.index(group) for group in pair.names)
        sizes = (int(pair.axis.sizes[both].sum()), int(support.n_items[both].min()), int(support.n_ratings[both].sum()))
        spread = found.spread.made(lambda values: values[:, [a]] - values[:, [b]])
        return self.of_two(two, COLUMNS, sizes, spread, kind)

    def family(self, axis: Axis, condition: Mapping[str, Any], found: ScoredAxis) -> list[Row]:
        """Return how the groups that share a value compare with all others: mean difference, all lowest, all highest.

        "All lowest" is the gap from the highest of them up to the lowest other group: positive if each of them lies
        below every other group.
        """
        members = np.unique(axis.codes[chosen_rows(self.ratings.raters, condition, "rater")])
        inside = np.isin([axis.groups.index(group) for group in axis.shown], members)
        if inside.all() or not inside.any():
            return []
        observed = np.array([[row.value for row in found.rows if row.group == group] for group in axis.shown])
        name = condition_name(condition)
        own = [row for row in found.rows if row.statistic == MEASURES[0] and row.group in np.array(axis.shown)[inside]]
        sizes = (sum(row.n_raters for row in own), max(row.n_items for row in own), sum(row.n_ratings for row in own))
        rows: list[Row] = []
        ways: tuple[tuple[Any, ...], ...] = (
            ("against the others", np.nanmean, inside, np.nanmean, ~inside),
            ("all lowest", np.nanmin, ~inside, np.nanmax, inside),
            ("all highest", np.nanmin, inside, np.nanmax, ~inside),
        )  # fmt: skip
        for what, first, of, second, other in ways:
            measure = partial(_gap, first, of, second, other)
            values, null = measure(observed[np.newaxis]), measure(found.draws.null)[:, np.newaxis]
            interval = found.spread.made(partial(measure, as_group=True)).difference(len(MEASURES))
            reason = "undefined in all of them, or in all others"
            notes = {name: reason for at, name in COLUMNS if np.isnan(values[0, at])}
            label = (f"{name} ({len(own)} of {len(inside)} groups), {what}",)
            own_rows = self.inference.rows("family", axis.name, label, COLUMNS, values, [sizes], [notes], interval)
            if len(null):
                test = compare(values, null)
                test = test if what == ways[0][0] else test._replace(p_value=upper_p(values, null))
                own_rows = with_tests(own_rows, test, len(null))
            rows += own_rows
        return rows

    def raters(self, axis: Axis) -> ScoredAxis:
        """Return the rows of every rater, compared with the other raters of their stratum."""
        responses = RaterResponses.of(self.ratings, self.reference, capped=self._capped)
        tables, values = responses.observed()
        plain = None
        if len(self.reference.weights):
            alike = RaterResponses.of(self.ratings, self.reference.counting_alike(), capped=self._capped)
            plain = alike.observed()[1]
        usage = self.ratings.profiles(axis.codes, len(axis))  # groups × points
        order = np.argsort(axis.codes, kind="stable")  # raters in the order of their names
        order = order[~axis.withheld[axis.codes[order]]]
        support = responses.votes().of(order)
        interval, kept = None, np.zeros((0, len(axis.codes), len(MEASURES)))
        how, n_draws = self.inference.doing("resampling raters"), self.settings.bootstrap
        if self.settings.interval != "none":
            if n_draws:
                whole, kept = responses.bootstrap(n_draws, self.settings.seed, how)
            else:
                whole = responses.jackknife(how)
            undefined_share = whole.n_undefined[order] / max(n_draws, self.ratings.n_items, 1)
            interval = Interval(whole.low[order], whole.high[order], undefined_share)
        scored = self._scored(
            "rater", axis.name, axis.shown, tables[order], values[order], np.ones(len(order), np.int64), support,
            usage[~axis.withheld], interval, kept[:, order], None, None if plain is None else plain[order],
        )  # fmt: skip
        if not self.settings.permutations:
            return scored
        strata = self.inference.exchange.strata
        test = among_peers(values[order], None if strata is None else strata[order])
        test = test._replace(n_undefined=np.zeros_like(test.n_undefined))  # these are raters, not draws
        return scored._replace(rows=with_tests(scored.rows, test))

    def _found(
        self, kind: str, axis: Axis, places: list[int], responses: Responses, tested: Shuffled | None, spread: Spread,
        unweighted: Values | None, alone: str = undefined.NO_REFERENCE,
    ) -> ScoredAxis:  # fmt: skip
        """Return the rows of the groups that may be shown, and their scores."""
        shown, own = np.array(places, dtype=np.intp), spread.of(places)
        tables, values = (array[shown] for array in responses.observed())
        scored = self._scored(
            kind, axis.name, tuple(axis.groups[g] for g in places), tables, values, axis.sizes[shown],
            responses.votes().of(shown), self.ratings.profiles(axis.codes, len(axis))[shown], own.interval(MEASURED),
            own.kept(len(shown), len(MEASURES)), tested, None if unweighted is None else unweighted[shown], alone,
        )  # fmt: skip
        return scored._replace(spread=own)

    def _scored(
        self, kind: str, axis: str, groups: tuple[str, ...], tables: Values, values: Values,
        n_raters: NDArray[np.int64], support: Support, usage: NDArray[np.int64], interval: Interval | None,
        kept: Values, tested: Shuffled | None, unweighted: Values | None, alone: str = undefined.NO_REFERENCE,
    ) -> ScoredAxis:  # fmt: skip
        """Combine rows, with notes on why values are undefined or what to be careful about, draws and scores."""
        sizes: list[Sizes] = list(
            zip(n_raters.tolist(), support.n_items.tolist(), support.n_ratings.tolist(), strict=True)
        )
        notes = notes_of(tables, values, support.votes, self.ratings.scale, self.settings.min_support, alone)
        null = np.zeros((0, len(groups), len(MEASURES))) if tested is None else tested.null
        return ScoredAxis(
            self.inference.rows(kind, axis, groups, COLUMNS, values, sizes, notes, interval, tested, unweighted),
            AxisDraws(axis, groups, MEASURES, null, MEASURES, kept, self.subset),
            ScoreTables(axis, groups, tables, support.votes, usage, self.subset),
        )

    @property
    def _capped(self) -> bool:
        return self.settings.convention != "published"


def notes_of(
    tables: Values, values: Values, votes: Values, scale: Scale, min_support: float = MIN_SUPPORT,
    alone: str = undefined.NO_REFERENCE,
) -> list[dict[str, str]]:  # fmt: skip
    """Say for each group why values are undefined, or what to be careful about; ``alone`` if it meets no reference."""
    by_point = tables.sum(axis=1)
    below = np.cumsum(by_point, axis=1)[:, :-1]
    total = by_point.sum(axis=1)
    above = by_point[:, ::-1].cumsum(axis=1)[:, -2::-1]
    two_classes = (below > 0) & (above > 0)
    n_defined, n_boundaries = two_classes.sum(axis=1), two_classes.shape[1]
    one_score = (tables.sum(axis=2) > 0).sum(axis=1) == 1
    rare = (votes > 0) & (votes < min_support)
    one_class, by_score, of_parts = (with_trait(trait) for trait in ("one class", "scores alike", "of parts"))
    notes: list[dict[str, str]] = []
    for g in range(len(tables)):
        if total[g] == 0:
            notes.append(dict.fromkeys(MEASURES, alone))
            continue
        if n_defined[g] == 0:
            reason = undefined.ALL_UNSAFE if by_point[g, 1] > 0 else undefined.ALL_SAFE
            if n_boundaries > 1:
                reason = "all reference ratings are the same point"
            notes.append({name: reason for name in MEASURES if name not in one_class})
            continue
        left_out = n_boundaries - n_defined[g]
        of_all = f"{left_out} of {n_boundaries} boundaries have a single class and are left out" if left_out else ""
        note = dict.fromkeys(MEASURES, of_all)
        if one_score[g]:
            note |= dict.fromkeys(with_trait("two scores"), undefined.ONE_SCORE)
        elif rare[g].any():
            scores = ", ".join(str(scale.labels[c]) for c in np.flatnonzero(rare[g]))
            remark = f"fewer than {min_support:g} items with score {scores}"
            for name in by_score:
                note[name] = f"{note[name]}; {remark}" if note[name] else remark
        for name in of_parts:
            if not note[name] and np.isnan(values[g, MEASURES.index(name)]):
                note[name] = "MPA and WRA add up to 0"  # where MPA is not capped
        notes.append(note)
    return notes


def _gap(
    first: Any, of: NDArray[np.bool_], second: Any, other: NDArray[np.bool_], values: Values, as_group: bool = False
) -> Values:
    """Return a function of some groups minus one of others, of the defined ones; NaN if there are none."""
    made = []
    for reduce, own in ((first, values[:, of]), (second, values[:, other])):
        empty: NDArray[np.bool_] = np.asarray(np.isnan(own).all(axis=1))
        filled = np.where(empty[:, np.newaxis], 0.0, own)
        made.append(np.where(empty, np.nan, reduce(filled, axis=1)))
    found = made[0] - made[1]
    return found[:, np.newaxis] if as_group else found


# The call -------------------------------------------------------------------------------------------------------------


@keywords(ResponsivenessSettings, weights=True)
def responsiveness(
    ratings: Ratings, reference: ReferenceLike = "crowd", *, settings: ResponsivenessSettings, how: Running
) -> Responsiveness:
    """Find out whose higher scores mean more severe, and who tells unsafe from safe.

    Parameters
    ----------
    ratings
        Who rated what. Higher points mean more severe.
    reference
        What the scores are compared with: ``"crowd"``, all raters outside the judged group; other Ratings of the same
        items, such as those of trained raters on safe < unsafe, or a language model's; or a group of the same raters,
        ``{"gender": "Woman"}``, with ``{"rater": "gpt-4o"}`` for one of them. Nobody is ever compared with themselves.

    Returns
    -------
    Responsiveness
        With ``to_frame()``, ``findings()``, ``scores()``, ``boundaries()``, ``correlations()``, ``to_json()`` and the
        draws.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=200, n_raters=40, seed=1)
    >>> result = pv.responsiveness(study.ratings, study.trained, by="gender", permutations=99, bootstrap=0)
    >>> round(result.value("all", "all", "wra"), 2)
    0.89
    """
    few_points(ratings.scale, "responsiveness")
    settings = with_interval(settings)
    call = Call.of(ratings, settings, how)
    against = resolve(ratings, reference, threshold=settings.threshold, min_group_size=settings.min_group_size)
    limit = None if settings.psychometrics == ALWAYS else MANY
    scaling = (settings.ties, settings.group_score, LOWER_BOUND, settings.seed, limit)
    rows: list[Row] = []
    scored: list[ScoreTables] = []
    scales: list[RaterScale] = []
    each: list[AxisMeasured] = []
    for part in call.parts:
        every = part.ratings is ratings
        near = against if every else against.within(ratings, part.ratings)
        work = Responding(part.ratings, settings, part.inference, near)
        overall = work.overall()
        rows += overall.rows
        scored.append(overall.scored)
        each += [work.everything(one, check=every) for one in part.axes]
        if settings.psychometrics:
            alike = part.ratings.unweighted()
            scales += [row for one in part.axes for row in rater_scales(alike, one, work.subset, *scaling)]
    call.decide(each)
    found: list[ScoredAxis] = []
    families: list[Row] = []
    pairs: list[Row] = []
    for axis in each:
        work, of = axis.work, axis.one
        alone = of.axis.attributes == ("rater",)
        own = work.raters(of.axis) if alone else work.found(of.axis.name, axis.prepared)
        found.append(own)
        rows += [row for two in axis.contrasts for row in work.compared(two, own, "contrast")] + own.rows
        pairs += [row for two in axis.pairs for row in work.compared(two, own, "pair")]
        for condition in settings.family:
            if not of.overlapping and axis.prepared and set(condition) <= set(of.axis.attributes):
                families += work.family(of.axis, condition, own)
    simple = "holm" if settings.correction == "maxt" else settings.correction
    rows += [row.with_claim(call.inference.claims(row)) for row in corrected(families, simple)]
    corrected([row for row in rows if row.kind == "rater"], simple)
    hint = call.refuse_missing(rows)
    for condition in settings.family:
        name = condition_name(condition)
        if not any(row.kind == "family" and row.group.startswith(f"{name} (") for row in rows):
            raise SelectionError(f"no axis has both groups with {condition} and groups without", hint=hint)
    scaled, tables = fitted(scales, how)
    known = {one.one.axis.name: one.prepared for one in each if one.work.subset == "all"}
    return Responsiveness(
        rows=(*rows, *scaled),
        draws=tuple(own.draws for own in found),
        pair_rows=tuple(pairs),
        held_rows=tuple(Responding(ratings, settings, call.inference, against).held(known, rows)),
        scored=(*scored, *(own.scored for own in found)),
        tables=tables if settings.psychometrics else (),
        **call.kept(**_remembered(settings, ratings, against), design=call.inference.remembered()),
    )


def _remembered(settings: ResponsivenessSettings, ratings: Ratings, reference: Reference) -> dict[str, Any]:
    """Return what was requested, and what is known about scale and reference."""
    return {
        "contrast": list(settings.contrast or ()),
        "points": [str(label) for label in ratings.scale.labels],
        "poles": poles_in(ratings.scale),
        "values": [float(value) for value in ratings.scale.values], "lower_bound": LOWER_BOUND,
        "n_items_in_no_subset": 0 if settings.items_by is None else ratings.items[settings.items_by].null_count(),
        "reference": {
            "kind": reference.kind, "name": reference.name, "boundaries": list(reference.boundaries),
            "n_raters": reference.n_raters, "n_shared_raters": reference.n_shared, "n_items": reference.n_items,
            "n_items_without": ratings.n_items - reference.n_items, "n_items_unused": reference.n_unused,
            "n_ratings": len(reference.scores),
        },
    }  # fmt: skip
