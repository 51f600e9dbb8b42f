"""One call of alignment: distances from all raters and each group, the closest groups, models as raters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import SelectionError
from plurivox.domain.answers import Answers
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import Label
from plurivox.domain.scale_files import GivenScale, as_scale
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums, Values, and_all
from plurivox.infer.call import Call
from plurivox.infer.claims import tells_unweighted
from plurivox.infer.grouping import Compared, Grouping
from plurivox.infer.inference import Inference
from plurivox.infer.intervals import percentile_interval
from plurivox.infer.lens import keywords
from plurivox.infer.result import Row, Table
from plurivox.lenses.alignment import models
from plurivox.lenses.alignment.closest import MISSED, Closest, corrected_leads, frames
from plurivox.lenses.alignment.matching import (
    ALL,
    AnsweredItems,
    AnswersLike,
    References,
    account_items,
    as_answers,
    match,
    on_scale,
    subsets_of,
)
from plurivox.lenses.alignment.result import Alignment
from plurivox.lenses.alignment.settings import AlignmentSettings
from plurivox.lenses.alignment.stand_ins import STAND_INS, Closeness, StandIns
from plurivox.lenses.alignment.sums import (
    REFERENCE,
    STATISTICS,
    Aligner,
    Codes,
    KernelAnswers,
    MeanDistances,
    ShownGroup,
    vote_counts,
    votes_of,
)
from plurivox.lenses.responsiveness.references import EACH, by_others, split
from plurivox.lenses.responsiveness.run import notes_of
from plurivox.statistics.checks import Level, level_of, prior_of, usual_level
from plurivox.statistics.responsiveness import MEASURES

# The rows of an alignment result --------------------------------------------------------------------------------------
# The rows of an alignment result: how far each voice is from all raters, subset by subset, and from each group.


@dataclass(frozen=True, slots=True, eq=False)
class VoiceDistances:
    """One call of :func:`plurivox.alignment`: what all of its axes share.

    Rows of ``reference`` answers are marked as such, and contain only distances.
    """

    aligner: Aligner
    level: Level
    bootstrap: int
    reference: bool = False

    def rows(self, compared: Compared | None = None) -> list[Row]:
        """Return the distances from the votes of each shown group, or, for all items and each subset, of all raters."""
        matched = self.aligner.matched
        if compared is None:
            n = len(matched.subsets)
            subsets = [(n + 1 if n else 0, ALL), *enumerate(matched.subsets)]
            everybody = [ShownGroup.everybody(matched.ratings.n_raters)]
            return self._rows(self.aligner.everybody(), 1, everybody, subsets, "all raters, resampling")
        rows = []
        for axis, shown in ShownGroup.shown(compared):
            rows += self._rows(axis.codes, len(axis), shown, [(0, ALL)], f"{axis.name}, resampling")
        return rows

    def _rows(
        self, codes: Codes, n_groups: int, shown: Sequence[ShownGroup], subsets: Sequence[tuple[int, str]], what: str
    ) -> list[Row]:
        """Return a row for each voice, group, subset and statistic."""
        from plurivox.kernels.alignment import ANSWERED, ITEMS

        aligner, matched = self.aligner, self.aligner.matched
        sums = aligner.distances(codes, n_groups, by_subset=len(subsets) > 1)
        finish, observed = MeanDistances(matched.top), sums.totals()
        whole, values = and_all(observed)[0], finish(observed)[0]
        xrr = None if self.reference else aligner.xrr(codes, n_groups, self.level)
        more = matched.subset, len(matched.subsets) + 1
        votes = aligner.added(vote_counts, KernelAnswers.of(matched), codes, n_groups, *more)["votes"][0]
        how = aligner.how.doing(what)
        how.tell(0, 1)
        draws = sums.resampled(self.bootstrap, aligner.seed, finish, how)
        interval = percentile_interval(draws) if len(draws) > 1 else None
        rows = []
        for v, (model, prompt) in enumerate(matched.voices):
            for g, axis, group, n_raters in shown:
                kind = REFERENCE if self.reference else "voice" if axis == ALL else "group"
                for part, subset in subsets:
                    n, answered = (round(float(whole[part, v, g, at])) for at in (ITEMS, ANSWERED))
                    given = votes[:, g].sum() if subset == ALL else votes[part, g]
                    base = Row(
                        kind, axis, group, "", math.nan, n_raters=n_raters, n_items=n, n_ratings=round(float(given)),
                        subset=subset, model=model, prompt=prompt,
                        note="" if n == answered else f"answered {answered:,} of {n:,} items",
                    )  # fmt: skip
                    for at, statistic in enumerate(STATISTICS):
                        row = _with(base, statistic, float(values[part, v, g, at]))
                        if interval is not None and not math.isnan(row.value) and n > 1:
                            low, high, undefined = (float(end[part, v, g, at]) for end in interval)
                            row = row.with_interval(low, high, undefined / self.bootstrap)
                        rows.append(row)
                    if subset == ALL and xrr is not None:
                        rows.append(_with(base, "xrr", float(xrr[v, g])))
        return rows


def _with(base: Row, statistic: str, value: float) -> Row:
    """Return a row with a value, or with why it is undefined."""
    row = replace(base, statistic=statistic, value=value)
    if not math.isnan(value):
        return row
    why = "no item has both votes and an answer" if base.n_items == 0 else "no answer can be read"
    return row.with_note("expected disagreement is 0, or no item has both" if statistic == "xrr" else why)


# Models as raters -----------------------------------------------------------------------------------------------------
# Models as raters: how their answers respond to severity, as trained raters, all raters or a group see it.
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


# Models without human ratings -----------------------------------------------------------------------------------------


def without_humans(given: AnswersLike, scale: GivenScale | None, settings: AlignmentSettings) -> Alignment:
    """Return what answers show about models alone: accounts, agreement, prompts, repeated answers and positions.

    Answers that were read before have a scale; others are put on the one given.
    """
    if isinstance(given, Answers):
        answers = given
    elif scale is None:
        hint = 'Give it: scale="1:5" or scale=["No", "Yes"] (--scale).'
        raise SelectionError("without ratings, the scale of the answers is unknown", hint=hint)
    else:
        answers = on_scale(given, as_scale(scale))
    if settings.by:
        raise SelectionError("by needs human ratings, and there are none", hint="Give ratings, or leave out by.")
    items = pl.DataFrame({"item": answers.items}).with_columns(
        () if answers.attributes is None else answers.attributes.drop("item", strict=False)
    )
    subsets, subset_of = subsets_of(items, settings.subset)
    everything = np.ones(len(answers.items), dtype=bool)
    accounts = account_items(answers, answers.item.astype(np.int64), everything, subsets, subset_of)
    told = {
        **settings.as_dict(), "by": [], "several": {}, "voices": [list(voice) for voice in answers.voices],
        "references": [], "labels": [str(label) for label in answers.scale.labels],
        "values": list(answers.scale.values), "subsets": list(subsets), "n_items": len(answers.items),
        "n_unrated": 0, "n_elsewhere": answers.n_elsewhere,
        "n_unsorted": int(np.count_nonzero(subset_of == len(subsets))) if subsets else 0, "n_raters": 0,
        "humans": False, "design": {},
    }  # fmt: skip
    tables = _tables(accounts, frames([], [], {}), pl.DataFrame(schema=STAND_INS), answers, None, settings)
    return Alignment((), {}, {}, (), told, tables)


# The call -------------------------------------------------------------------------------------------------------------


@keywords(AlignmentSettings, weights=True)
def alignment(
    ratings: Ratings | None, answers: AnswersLike, *, trained: Ratings | None = None, scale: GivenScale | None = None,
    settings: AlignmentSettings, how: Running,
) -> Alignment:  # fmt: skip
    """Find out whose view language models reflect, and how sure that is.

    Distances are in points of the scale; lower is closer. A refused or unreadable answer costs the whole scale in
    ``ada_met`` and ``voter_distance``, and is left out of ``ada_met_answered`` and ``expected_emd``; a failed or
    missing one is never charged. ``accounts()`` counts all of them.

    Parameters
    ----------
    ratings
        Who rated what, or counts per point (then without groups). None if there are no human ratings: the result then
        only shows what became of the questions, and how far models agree with each other and with themselves.
    answers
        A frame with ``model``, ``item`` and ``answer`` (or ``point``, ``text`` or a distribution), and ``prompt``,
        ``sample``, ``state``, ``order``, ``family`` if there are any; a store of ``plurivox ask``; or :class:`Answers`.
    trained
        Trained raters against whom models are judged as raters (MPA, WRA); without them, models are judged against all
        raters and each group.
    scale
        Without ratings, the points that the answers are on, unless they are :class:`Answers`.

    Returns
    -------
    Alignment
        With ``to_frame()``, ``findings()``, ``accounts()``, ``closest()``, ``standings()``, ``contrasts()``,
        ``alphas()``, ``stand_ins()``, ``prompts()``, ``stability()``, ``positions()``, ``distances()``, ``items()``,
        ``bands()`` and ``to_json()``.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=100, n_raters=60, seed=1)
    >>> found = pv.alignment(study.ratings, study.answers, bootstrap=0, permutations=0, subsamples=0)
    >>> round(found.value("model-a"), 2) < round(found.value("model-c"), 2)
    True
    """
    if ratings is None:
        if trained is not None:
            raise SelectionError("trained raters need rated items, and there are no ratings", hint="Give ratings.")
        return without_humans(answers, scale, settings)
    settings = replace(settings, level=usual_level(settings.level, len(ratings.scale)))
    if ratings.weights is not None:  # they add up without rounding, so that tied votes tie in any order
        ratings = ratings.with_known(weights=np.round(ratings.weights * 2.0**30) / 2.0**30)
    given = as_answers(answers, ratings)
    matched = match(ratings, given, settings.subset)
    call = Call.of(ratings, settings, how, answered=np.diff(matched.rows) > 0)
    axes, inference = call.axes, call.inference
    prior, level = prior_of(settings.prior, matched.top + 1), level_of(settings.level, matched.top + 1)
    aligner, references = Aligner(matched, prior, settings.seed, how), References.of(matched, settings.seed)
    beside = replace(aligner, matched=references.matched)
    works = [VoiceDistances(aligner, level, settings.bootstrap),
             VoiceDistances(beside, level, settings.bootstrap, reference=True)]  # fmt: skip
    rows = [row for one in (None, *axes) for work in works for row in work.rows(one)]
    if tells_unweighted(ratings, settings.min_group_size):
        rows = _with_unweighted(rows, works, axes)
    closest, adjusted = _closest(aligner, axes, inference, settings)
    if settings.as_rater:
        rows += as_raters(aligner, [one for one in axes if not one.overlapping], trained, settings.threshold)
    values = {(row.model, row.prompt, row.axis, row.group, row.statistic): row.value for row in rows}
    each = [one.rows(inference, p) for one, p in zip(closest, adjusted, strict=True)]
    rows += [row for own, _ in each for row in own]
    closeness = Closeness.of(level, ratings.scale.values)
    stand_ins = StandIns(aligner, references, closeness, settings.tolerance).table()
    near = frames(closest, [row for _, own in each for row in own], values)
    return Alignment(
        rows=tuple(rows),
        draws=tuple(one.draws() for one in closest),
        tables=_tables(matched.accounts, near, stand_ins, given, matched, settings),
        **call.kept(
            by=[one.axis.name for one in axes],
            level=settings.level if isinstance(settings.level, str) else "matrix", prior=prior.tolist(),
            voices=[list(voice) for voice in matched.voices],
            references=[voice.model for voice in references.matched.voices],
            labels=[str(label) for label in ratings.scale.labels], values=list(ratings.scale.values),
            subsets=list(matched.subsets), n_items=int(np.count_nonzero(np.diff(matched.rows))),
            n_unrated=matched.n_unrated,
            n_elsewhere=given.n_elsewhere, n_unsorted=matched.n_unsorted, n_raters=ratings.n_raters,
            humans=True, design=inference.remembered(),
        ),
    )  # fmt: skip


def _with_unweighted(rows: Sequence[Row], works: Sequence[VoiceDistances], axes: Sequence[Compared]) -> list[Row]:
    """Return rows with their values where all raters count equally, which are made in the same order."""
    alike = []
    for work in works:
        matched = replace(work.aligner.matched, ratings=work.aligner.matched.ratings.unweighted())
        alike.append(replace(work, aligner=replace(work.aligner, matched=matched), bootstrap=0))
    plain = (row for one in (None, *axes) for work in alike for row in work.rows(one))
    return [replace(row, unweighted=other.value) for row, other in zip(rows, plain, strict=True)]


def _closest(
    aligner: Aligner, axes: Sequence[Compared], inference: Inference, settings: AlignmentSettings
) -> tuple[list[Closest], NDArray[np.float64]]:
    """Compare the groups of each axis, and shuffle raters until it is clear which leads are more than chance.

    Only of axes whose groups may be called the closest. Also return the corrected p-values of leads, axes × voices.
    """
    ratings, found = aligner.matched.ratings, []
    own = [one.axis for one in axes
           if len(one.axis.shown) > 1 and not one.overlapping and one.axis.attributes != ("rater",)]  # fmt: skip
    level = float((1 - MISSED) ** (1 / max(len(aligner.matched.voices) * len(own), 1)))  # together, after Šidák
    for axis in own:
        inference.check(ratings, axis.name, Grouping.of(ratings, axis.codes, len(axis), inference.exchange.strata))
        found.append(Closest.of(aligner, axis, inference, settings, level))

    p = inference.decide([one.tested for one in found], lambda: corrected_leads(found, settings.correction).ravel())
    return found, p.reshape(len(found), -1) if len(p) else corrected_leads(found, settings.correction)


def _tables(
    accounts: pl.DataFrame, closest: Mapping[str, pl.DataFrame], stand_ins: pl.DataFrame, answers: Answers,
    matched: AnsweredItems | None, settings: AlignmentSettings,
) -> tuple[Table, ...]:  # fmt: skip
    """Return the finer tables; those that need votes are empty without any."""
    families: Any = settings.families
    if families is None:
        families = models.guessed_families(answers.models, answers.families)
    of_votes = {
        "distances": (models.distances, models.DISTANCES), "items": (models.item_table, models.ITEMS),
        "bands": (models.item_bands, models.BANDS),
    }  # fmt: skip
    found = {
        "accounts": accounts,
        **closest,
        "alphas": models.alphas(answers, matched, families, published=settings.convention == "published"),
        "stand ins": stand_ins,
        "prompts": models.between_prompts(answers),
        "stability": models.stability(answers),
        "positions": models.positions(answers if matched is None else matched),
        **{name: pl.DataFrame(schema=schema) if matched is None else made(matched)
           for name, (made, schema) in of_votes.items()},
    }  # fmt: skip
    return tuple(Table(name, frame) for name, frame in found.items())
