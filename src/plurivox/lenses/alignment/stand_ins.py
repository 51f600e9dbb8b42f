"""Models as raters: whether one may stand in for a rater, and how its answers respond to severity.

Standing in is decided by the alternative annotator test, and by whether the model beats a constant answer.

The published test alone passes a constant answer where one point dominates. So a model is only said to stand in where
it is also closer to the other raters than the best constant is, by a paired bootstrap over items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.wording import counted
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import Label
from plurivox.engine.run import Sums, Values, units_of
from plurivox.infer.families import SIGNIFICANT, adjust, undecided
from plurivox.infer.grouping import Compared
from plurivox.infer.result import Row
from plurivox.infer.tables import typed
from plurivox.lenses.alignment.matching import ALL, AnsweredItems, Floats, Ints, References, answering
from plurivox.lenses.alignment.sums import Aligner, KernelAnswers, ShownGroup, votes_of
from plurivox.lenses.responsiveness.references import EACH, by_others, split
from plurivox.lenses.responsiveness.run import notes_of
from plurivox.statistics.alignment import LEAST_HUMANS, LEAST_ITEMS, MAY_STAND_IN, stand_in_p, unit_values
from plurivox.statistics.checks import Level
from plurivox.statistics.responsiveness import MEASURES

STAND_INS = typed(
    "model prompt reference omega advantage advantage_low advantage_high n_humans n_rejected n_few tolerance constant "
    "constant_advantage p_value p_adjusted stands_in why"
)
DRAWS, MORE_DRAWS = 1_999, 19_999
"""How often items are resampled, and how often if the p-value is too close to .05."""
_AT_ONCE = 500
_EQUAL = 1e-12
_CHILD = 1011  # of the seed; other children draw for others
_MOST_UNITS = 5_000  # of items; with more, a unit is a few of them


# Contests ------------------------------------------------------------------------------------------------------------


Closeness = tuple[int, Floats, Floats]
"""How close a point is to other raters: which way, and the values or the matrix that it needs."""


def closeness_of(level: Level, values: tuple[float, ...]) -> Closeness:
    """Return agreement on the nominal level, the mean of a matrix, or the squared distance of values."""
    from plurivox.kernels.alignment import BY_AGREEMENT, BY_MATRIX, BY_VALUE

    numbers = unit_values(np.array(values))
    if not isinstance(level, str):
        return BY_MATRIX, numbers, np.ascontiguousarray(level)
    return BY_AGREEMENT if level == "nominal" else BY_VALUE, numbers, np.zeros((0, 0))


def contest_sums(
    given: KernelAnswers, codes: NDArray[np.int32], n_groups: int, closeness: Closeness, n_raters: int, part: Part
) -> Sums:
    """Return how each voice and each rater compete in closeness to the others: voices × raters × the kernel's sums."""
    from plurivox.kernels.alignment import N_CONTEST_SUMS, contests

    sums, none = np.zeros((given.n_voices, n_raters, N_CONTEST_SUMS)), np.zeros((0, 0))
    contests(*votes_of(part)[:3], *closeness, *given.within(part), none, sums, none)
    return Sums(contests=sums[np.newaxis])


class Humans(NamedTuple):
    """A voice against each human.

    Attributes
    ----------
    enough
        Which humans have enough items.
    said
        Whether there are enough of them to say anything.
    omega, rho
        The share of humans that the voice may stand in for, ω, and the mean share of items that it wins or ties, ρ.
    low, high
        Quartiles of the latter.
    n, n_rejected, n_few
        How many humans have enough items, how many of these are rejected, and how many have too few.
    """

    enough: NDArray[np.bool_]
    said: bool
    omega: float
    rho: float
    low: float
    high: float
    n: int
    n_rejected: int
    n_few: int

    @classmethod
    def of(cls, sums: Floats, tolerance: float) -> Humans:
        """Test a voice, raters × sums, against each human, with Benjamini–Yekutieli's correction."""
        from plurivox.kernels.alignment import BEHIND, MET, SQUARED, WON

        met = sums[:, MET]
        enough = met >= LEAST_ITEMS
        n, won, behind, squared = (sums[enough, at] for at in (MET, WON, BEHIND, SQUARED))
        share, rejected = won / n, adjust(stand_in_p(n, behind, squared, tolerance), "by") <= SIGNIFICANT
        few = int(np.count_nonzero((met > 0) & ~enough))
        if len(share) < LEAST_HUMANS:
            return cls(enough, False, math.nan, math.nan, math.nan, math.nan, len(share), 0, few)
        low, high = np.quantile(share, [0.25, 0.75]).tolist()
        omega, rho, n_rejected = float(rejected.mean()), float(share.mean()), int(rejected.sum())
        return cls(enough, True, omega, rho, low, high, len(share), n_rejected, few)


class Constant(NamedTuple):
    """The best constant on the items of a model: which voice it is, its point and its ρ."""

    name: str
    point: int
    rho: float


# The table -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class StandIns:
    """The test of every model and every reference."""

    aligner: Aligner
    references: References
    level: Level
    tolerance: float

    def table(self) -> pl.DataFrame:
        """Return a row for each model and prompt, then one for each reference."""
        matched = self.aligner.matched
        if not matched.ratings.has_raters:
            return pl.DataFrame(schema=STAND_INS)
        beside, models = (
            self._sums(self.references.matched),
            [Humans.of(one, self.tolerance) for one in self._sums(matched)],
        )
        constants = [self._constant(v, one, beside) for v, one in enumerate(models)]
        p_values, adjusted = self._beats(models, constants)
        rows: list[tuple[Any, ...]] = [
            (*voice, False, *one[2:], self.tolerance, best.name, best.rho, alone, p,
             one.omega >= MAY_STAND_IN and p <= SIGNIFICANT, why(one, best, p))
            for voice, one, best, alone, p in zip(matched.voices, models, constants, p_values, adjusted, strict=True)
        ]  # fmt: skip
        none = (None, None, None, None, False, "a reference, which makes no judgement")
        for voice, sums in zip(self.references.matched.voices, beside, strict=True):
            rows.append((*voice, True, *Humans.of(sums, self.tolerance)[2:], self.tolerance, *none))
        return pl.DataFrame(rows, schema=STAND_INS, orient="row").with_columns(
            pl.col("p_value", "p_adjusted", "constant_advantage").fill_nan(None)
        )

    def _sums(self, matched: AnsweredItems) -> Floats:
        """Return voices × raters × the kernel's sums over all items."""
        given, codes, n = KernelAnswers.of(matched), self.aligner.everybody(), matched.ratings.n_raters
        closeness = closeness_of(self.level, matched.scale.values)
        sums: Floats = self.aligner.added(contest_sums, given, codes, 1, closeness, n)["contests"][0]
        return sums

    def _constant(self, v: int, one: Humans, beside: Floats) -> Constant:
        """Return the constant with the highest ρ, on the items and for the humans of a model."""
        from plurivox.kernels.alignment import MET, WON

        if not one.said:
            return Constant("", 0, math.nan)
        matched, points = self.aligner.matched, self.references.constants
        names = [voice.model for voice in self.references.matched.voices[: len(points)]]
        items = np.unique(matched.item[matched.voice == v])  # including refused ones
        sums = beside[: len(points)]
        if len(items) < np.count_nonzero(np.diff(matched.rows)):  # not those of all models
            sums = self._sums(answering(matched, items, names, np.repeat(points[:, np.newaxis], len(items), axis=1)))
        rho = (sums[:, one.enough, WON] / sums[:, one.enough, MET]).mean(axis=1)
        best = int(rho.argmax())
        return Constant(names[best], int(points[best]), float(rho[best]))

    # Is it closer than the best constant? ----------------------------------------------------------------------------

    def _beats(self, models: list[Humans], constants: list[Constant]) -> tuple[Floats, Floats]:
        """Return p of every model for being closer than the best constant, and p after Holm's correction over models.

        A model with ω below ½ is not tested, and counts in the correction as one that is not closer.
        """
        known = np.array([one.said for one in models])
        p = np.full(len(models), np.nan)
        tried = np.array([v for v, one in enumerate(models) if one.omega >= MAY_STAND_IN], dtype=np.int64)
        if len(tried):
            leads = self._leads(tried, models, constants)
            p[tried] = self._not_ahead(leads, DRAWS)
            close = undecided(_holm(p, known)[tried], DRAWS)
            if close.any():
                p[tried[close]] = self._not_ahead(leads[:, close], MORE_DRAWS)
        return p, _holm(p, known)

    def _leads(self, tried: Ints, models: list[Humans], constants: list[Constant]) -> Floats:
        """Return what each unit of items adds to how much higher ρ of some models is than that of their constants."""
        from plurivox.kernels.alignment import MET, contests

        matched, humans = self.aligner.matched, np.stack([models[v].enough for v in tried])
        place = np.full(len(matched.voices), -1)
        place[tried] = np.arange(len(tried))
        own = place[matched.voice] >= 0
        chosen = replace(  # their answers alone
            matched, voices=tuple(matched.voices[v] for v in tried), voice=place[matched.voice[own]],
            rows=np.searchsorted(matched.item[own], np.arange(len(matched.rows))).astype(np.int64),
            point=matched.point[own], part=matched.part[own], shares=None, shown=None, order=None,
        )  # fmt: skip
        flat = replace(chosen, point=np.array([constants[v].point for v in tried])[chosen.voice])
        met = np.maximum(self._sums(chosen)[..., MET], 1.0)
        weight = np.where(humans, 1.0 / (met * humans.sum(axis=1, keepdims=True)), 0.0)
        closeness = closeness_of(self.level, matched.scale.values)
        won, other = np.zeros((2, matched.ratings.n_items, len(tried)))  # what each item adds to the mean share
        for one, out in ((chosen, won), (flat, other)):
            for part in matched.ratings.parts():
                given = KernelAnswers.of(one).within(part)
                contests(*votes_of(part)[:3], *closeness, *given, weight, np.zeros((0, 0, 0)), out[part.items])
        items = np.flatnonzero(np.diff(matched.rows))
        unit, starts = units_of(np.zeros(len(items), dtype=np.int64), 1, self.aligner.seed, _MOST_UNITS)
        by_unit = np.zeros((int(starts[-1]), len(tried)))
        np.add.at(by_unit, unit, won[items] - other[items])
        return by_unit

    def _not_ahead(self, leads: Floats, n: int) -> Floats:
        """Return p of every model: how often its lead is gone when items are resampled, the same for all models.

        A rater's share keeps the number of items that the rater has, which a draw may change where raters rated
        different items. That hardly moves the mean over raters across 0.
        """
        gone, size = np.zeros(leads.shape[1]), len(leads)
        rng = np.random.default_rng(np.random.SeedSequence(self.aligner.seed, spawn_key=(_CHILD,)))
        for first in range(0, n, _AT_ONCE):
            draws = min(_AT_ONCE, n - first)
            drawn = rng.integers(size, size=(draws, size)) + size * np.arange(draws)[:, np.newaxis]
            times = np.bincount(drawn.ravel(), minlength=draws * size).reshape(draws, size)
            gone += np.count_nonzero(times.astype(float) @ leads <= _EQUAL, axis=0)
        return np.asarray((gone + 1) / (n + 1))


def _holm(p: Floats, known: NDArray[np.bool_]) -> Floats:
    """Correct over the models about which anything is said; NaN for those that were not tested."""
    adjusted = adjust(np.where(known & np.isnan(p), 1.0, p), "holm")
    return np.where(np.isnan(p), np.nan, adjusted)


def why(one: Humans, constant: Constant, p: float) -> str:
    """Say why a model stands in, or does not."""
    if not one.said:
        few = counted(one.n, "human")
        return f"{few} rated {LEAST_ITEMS} or more items that others also rated; {LEAST_HUMANS} are needed"
    humans = f"it holds its own against {one.n_rejected} of {one.n} humans"
    if one.omega < MAY_STAND_IN:
        return f"{humans}, fewer than half"
    beside = f"closer to the others than {constant.name} (ρ {one.rho:.2f} against {constant.rho:.2f})"
    return f"{humans}, and is {beside}" if p <= SIGNIFICANT else f"it is not clearly {beside}"


# Models as raters -----------------------------------------------------------------------------------------------------
# How their answers respond to severity, as trained raters, all raters or a group see it.
#
# An answer meets the ratings of its item. MPA and WRA are computed from how often each answer meets each rating, as
# for a human rater. A model is not one of the raters, so no rating is left out.

AS_RATER = ("mpa", "wra")


def met_ratings_of(given: KernelAnswers, codes: NDArray[np.int32], n_groups: int, n_met: int, part: Part) -> Sums:
    """Return which ratings of each group the answers of each voice meet: voices × groups × answers × points.

    ``votes`` counts the answers that meet any. ``n_met`` is how many points the ratings have.
    """
    from plurivox.kernels.alignment import met_ratings

    shape = (1, given.n_voices, n_groups, given.n_points)
    sums = Sums(tables=np.zeros((*shape, n_met)), votes=np.zeros(shape))
    rows, voice, point, _ = given.within(part)
    arrays = (array[0] for array in sums.values())
    met_ratings(*votes_of(part), codes, n_met, rows, voice, point, *arrays)
    return sums


def as_raters(
    aligner: Aligner, axes: Sequence[Compared], trained: Ratings | None, threshold: Label | None
) -> list[Row]:
    """Return MPA and WRA of models as raters, against trained raters or against all raters and each group."""
    matched, ratings = aligner.matched, aligner.matched.ratings
    answered = np.flatnonzero(matched.point >= 0)
    _, first = np.unique(matched.item[answered] * len(matched.voices) + matched.voice[answered], return_index=True)
    kept = answered[first]  # the first answer of every voice to every item
    places = np.searchsorted(matched.item[kept], np.arange(len(matched.rows))).astype(np.int64)
    given = KernelAnswers.of(matched)._replace(
        rows=places, voice=matched.voice[kept], point=matched.point[kept], share=np.ones(len(kept))
    )
    if trained is not None:
        items = np.flatnonzero(np.diff(given.rows))
        nobody = pl.Series([], dtype=pl.String)  # models are not among the raters
        reference = by_others(ratings.items["item"].gather(items), nobody, trained, threshold)
        part = Part(0, reference.offsets, np.zeros_like(reference.raters), reference.scores, np.zeros(0, np.int64))
        judged = given._replace(rows=given.rows[np.append(items, len(given.rows) - 1)])
        sums = met_ratings_of(judged, np.zeros(1, np.int32), 1, reference.n_points, part)
        everybody = ShownGroup.everybody(trained.n_raters)
        return _as_rater(matched, sums["tables"][0, :, 0], sums["votes"][0, :, 0], everybody)
    _, place = split(ratings.scale, np.arange(given.n_points), EACH if threshold is None else threshold)
    sides = np.eye(int(place.max()) + 1)[place]  # points × sides of the boundaries
    each = [(axis.codes, len(axis), shown) for one in axes for axis, shown in ShownGroup.shown(one)]
    rows = []
    for codes, n_groups, shown in [(aligner.everybody(), 1, [ShownGroup.everybody(ratings.n_raters)]), *each]:
        sums = aligner.added(met_ratings_of, given, codes, n_groups, given.n_points)
        for group in shown:
            rows += _as_rater(matched, sums["tables"][0, :, group.at] @ sides, sums["votes"][0, :, group.at], group)
    return rows


def _as_rater(matched: AnsweredItems, tables: Values, votes: Values, group: ShownGroup) -> list[Row]:
    """Return the rows of every voice with an answer, from voices × answers × points."""
    from plurivox.kernels.metrics import macro_values

    values = np.zeros((len(tables), len(MEASURES)))
    macro_values(np.ascontiguousarray(tables), True, values)
    notes, n_items = notes_of(tables, values, votes, matched.ratings.scale), votes.sum(axis=1)
    spoken = np.bincount(matched.voice[matched.point >= 0], minlength=len(tables)) > 0
    return [
        Row("voice" if group.axis == ALL else "group", group.axis, group.name, name,
            float(values[v, MEASURES.index(name)]), model=matched.voices[v].model, prompt=matched.voices[v].prompt,
            n_raters=group.n_raters, n_items=int(n_items[v]), n_ratings=int(n_items[v]), note=notes[v].get(name, ""))
        for v in sorted(np.flatnonzero(spoken).tolist(), key=str)  # in the order of raters, which is by text
        for name in AS_RATER
    ]  # fmt: skip
