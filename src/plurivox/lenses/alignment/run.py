"""One call of alignment: distances from all raters and each group, the closest groups, models as raters."""

from __future__ import annotations

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
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums, Values, total
from plurivox.infer.call import Call
from plurivox.infer.grouping import Compared, Grouping
from plurivox.infer.inference import Inference
from plurivox.infer.keywords import keywords
from plurivox.infer.result import Row, Table
from plurivox.infer.weighting import tells_unweighted
from plurivox.lenses.alignment import models
from plurivox.lenses.alignment.closest import Closest, corrected_leads, frames, level_over
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
from plurivox.lenses.alignment.sums import Aligner, KernelAnswers, Once, ShownGroup, VoiceDistances, votes_of
from plurivox.lenses.responsiveness.references import EACH, by_others, split
from plurivox.lenses.responsiveness.run import notes_of
from plurivox.statistics.checks import level_of, prior_of, usual_level
from plurivox.statistics.responsiveness import MEASURES

# Models as raters -----------------------------------------------------------------------------------------------------
# Models as raters: how their answers respond to severity, as trained raters, all raters or a group see it.
#
# An answer meets the ratings of its item. MPA and WRA are computed from how often each answer meets each rating, as
# for a human rater. A model is not one of the raters, so no rating is left out.

AS_RATER = ("mpa", "wra")


@dataclass(frozen=True, slots=True, eq=False)
class MetRatings(Once):
    """Which ratings of each group the answers of each voice meet: voices × groups × answers × points.

    ``votes`` counts the answers that meet any. ``n_met`` is how many points the ratings have.
    """

    n_met: int

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the counts over the items of a part."""
        from plurivox.kernels.alignment import met_ratings

        shape = (1, self.given.n_voices, self.n_groups, self.given.n_points)
        sums = Sums(tables=np.zeros((*shape, self.n_met)), votes=np.zeros(shape))
        rows, voice, point, _ = self.given.within(part)
        arrays = (array[0] for array in sums.values())
        met_ratings(*votes_of(part), self.codes, self.n_met, rows, voice, point, *arrays)
        return sums


def as_raters(
    aligner: Aligner, axes: Sequence[Compared], trained: Ratings | None, threshold: Label | None
) -> list[Row]:
    """Return MPA and WRA of models as raters, against trained raters or against all raters and each group."""
    matched, ratings = aligner.matched, aligner.matched.ratings
    given = _first_answers(matched)
    if trained is not None:
        return _against(trained, matched, given, threshold)
    _, place = split(ratings.scale, np.arange(given.n_points), EACH if threshold is None else threshold)
    sides = np.eye(int(place.max()) + 1)[place]  # points × sides of the boundaries
    everybody = aligner.everybody(), 1, [ShownGroup.everybody(ratings.n_raters)]
    each = [(axis.codes, len(axis), shown) for one in axes for axis, shown in ShownGroup.shown(one)]
    rows = []
    for codes, n_groups, shown in [everybody, *each]:
        sums = aligner.added(MetRatings(given, codes, n_groups, given.n_points))
        for group in shown:
            rows += _rows(matched, sums["tables"][0, :, group.at] @ sides, sums["votes"][0, :, group.at], group)
    return rows


def _against(trained: Ratings, matched: AnsweredItems, given: KernelAnswers, threshold: Label | None) -> list[Row]:
    """Return the rows of models that are judged by other ratings, matched by item id."""
    items = np.flatnonzero(np.diff(given.rows))
    nobody = pl.Series([], dtype=pl.String)  # models are not among the raters
    reference = by_others(matched.ratings.items["item"].gather(items), nobody, trained, threshold)
    part = Part(0, reference.offsets, np.zeros_like(reference.raters), reference.scores, np.zeros(0, np.int64))
    judged = given._replace(rows=given.rows[np.append(items, len(given.rows) - 1)])
    sums = total([part], MetRatings(judged, np.zeros(1, np.int32), 1, reference.n_points))
    return _rows(matched, sums["tables"][0, :, 0], sums["votes"][0, :, 0], ShownGroup.everybody(trained.n_raters))


def _first_answers(matched: AnsweredItems) -> KernelAnswers:
    """Return the first answer of every voice to every item."""
    answered = np.flatnonzero(matched.point >= 0)
    item, voice = matched.item[answered], matched.voice[answered]
    _, first = np.unique(item * len(matched.voices) + voice, return_index=True)
    rows = np.searchsorted(item[first], np.arange(len(matched.rows))).astype(np.int64)
    kept = answered[first]
    return KernelAnswers.of(matched)._replace(
        rows=rows, voice=matched.voice[kept], point=matched.point[kept], share=np.ones(len(kept))
    )


def _rows(matched: AnsweredItems, tables: Values, votes: Values, group: ShownGroup) -> list[Row]:
    """Return the rows of every voice with an answer, from voices × answers × points."""
    from plurivox.kernels.metrics import macro_values

    values = np.zeros((len(tables), len(MEASURES)))
    macro_values(np.ascontiguousarray(tables), True, values)
    notes, n_items = notes_of(tables, values, votes, matched.ratings.scale), votes.sum(axis=1)
    silent = np.bincount(matched.voice[matched.point >= 0], minlength=len(tables)) == 0
    rows = []
    for v in sorted(np.flatnonzero(~silent).tolist(), key=str):  # in the order of raters, which is by text
        model, prompt = matched.voices[v]
        rows += [
            Row("voice" if group.axis == ALL else "group", group.axis, group.name, name,
                float(values[v, MEASURES.index(name)]), model=model, prompt=prompt, n_raters=group.n_raters,
                n_items=int(n_items[v]), n_ratings=int(n_items[v]), note=notes[v].get(name, ""))
            for name in AS_RATER
        ]  # fmt: skip
    return rows


# Models without human ratings -----------------------------------------------------------------------------------------
# Models without human ratings: what became of the questions, and how far models agree with each other.


def answers_alone(given: Any, scale: GivenScale | None) -> Answers:
    """Return answers on a scale; answers that were read before have their own."""
    if isinstance(given, Answers):
        return given
    if scale is None:
        raise SelectionError(
            "without ratings, the scale of the answers is unknown",
            hint='Give it: scale="1:5" or scale=["No", "Yes"] (--scale).',
        )
    return on_scale(given, as_scale(scale))


def without_humans(answers: Answers, settings: AlignmentSettings) -> Alignment:
    """Return what answers show about models alone: accounts, agreement, prompts, repeated answers and positions."""
    if settings.by:
        raise SelectionError("by needs human ratings, and there are none", hint="Give ratings, or leave out by.")
    items = pl.DataFrame({"item": answers.items}).with_columns(
        () if answers.attributes is None else answers.attributes.drop("item", strict=False)
    )
    subsets, subset_of = subsets_of(items, settings.subset)
    everything = np.ones(len(answers.items), dtype=bool)
    accounts = account_items(answers, answers.item.astype(np.int64), everything, subsets, subset_of)
    families = models.families_of(answers, settings.families)
    found = {
        "accounts": accounts,
        **frames([], answers.voices, {}),
        "alphas": models.alphas(answers, None, families, published=settings.convention == "published"),
        "stand ins": pl.DataFrame(schema=STAND_INS),
        "prompts": models.between_prompts(answers),
        "stability": models.stability(answers),
        "positions": models.positions(answers),
        "distances": pl.DataFrame(schema=models.DISTANCES),
        "items": pl.DataFrame(schema=models.ITEMS),
        "bands": pl.DataFrame(schema=models.BANDS),
    }
    told = {
        **settings.as_dict(), "by": [], "several": {}, "voices": [list(voice) for voice in answers.voices],
        "references": [], "labels": [str(label) for label in answers.scale.labels],
        "values": list(answers.scale.values), "subsets": list(subsets), "n_items": len(answers.items),
        "n_unrated": 0, "n_elsewhere": answers.n_elsewhere,
        "n_unsorted": int(np.count_nonzero(subset_of == len(subsets))) if subsets else 0, "n_raters": 0,
        "humans": False, "design": {},
    }  # fmt: skip
    return Alignment((), {}, {}, (), told, tuple(Table(name, frame) for name, frame in found.items()))


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
        return without_humans(answers_alone(answers, scale), settings)
    settings = replace(settings, level=usual_level(settings.level, len(ratings.scale)))
    ratings = _exact(ratings)
    given = as_answers(answers, ratings)
    matched = match(ratings, given, settings.subset)
    call = Call.of(ratings, settings, how, answered=np.diff(matched.rows) > 0)
    axes = call.axes
    prior = prior_of(settings.prior, matched.top + 1)
    work = VoiceDistances(
        Aligner(matched, prior, settings.seed, how), level_of(settings.level, matched.top + 1), settings.bootstrap
    )
    references = References.of(matched, settings.seed)
    beside = replace(work, aligner=replace(work.aligner, matched=references.matched), reference=True)
    rows = work.overall() + beside.overall()
    for one in axes:
        rows += work.groups(one) + beside.groups(one)
    if tells_unweighted(ratings, settings.min_group_size):
        rows = _with_unweighted(rows, [work, beside], axes)
    inference = call.inference
    closest, corrected = _closest(work, [one for one in axes if _comparable(one)], inference, settings)
    if settings.as_rater:
        apart = [one for one in axes if not one.overlapping]
        rows += as_raters(work.aligner, apart, trained, settings.threshold)
    values = {(row.model, row.prompt, row.axis, row.group, row.statistic): row.value for row in rows}
    for compared_groups, adjusted in zip(closest, corrected, strict=True):
        rows += compared_groups.rows(matched.voices, inference, adjusted)
    return Alignment(
        rows=tuple(rows),
        draws=tuple(one.draws(matched.voices) for one in closest),
        tables=_tables(work, given, frames(closest, matched.voices, values), references, settings),
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


def _exact(ratings: Ratings) -> Ratings:
    """Return ratings whose weights add up without rounding, so that tied votes tie in any order."""
    if ratings.weights is None:
        return ratings
    return ratings.with_known(weights=np.round(ratings.weights * 2.0**30) / 2.0**30)


def _with_unweighted(rows: Sequence[Row], works: Sequence[VoiceDistances], axes: Sequence[Compared]) -> list[Row]:
    """Return rows with their unweighted values."""
    plain: list[Row] = []
    for work in works:
        matched = replace(work.aligner.matched, ratings=work.aligner.matched.ratings.unweighted())
        alike = replace(work, aligner=replace(work.aligner, matched=matched), bootstrap=0)
        plain += alike.overall() + [row for one in axes for row in alike.groups(one)]

    def key(row: Row) -> tuple[str, ...]:
        return row.kind, row.model, row.prompt, row.axis, row.group, row.subset, row.statistic

    values = {key(row): row.value for row in plain}
    return [replace(row, unweighted=values[key(row)]) for row in rows]


def _comparable(one: Compared) -> bool:
    """Return whether one of the groups of an axis may be called the closest."""
    return len(one.axis.shown) > 1 and not one.overlapping and one.axis.attributes != ("rater",)


def _closest(
    work: VoiceDistances, axes: Sequence[Compared], inference: Inference, settings: AlignmentSettings
) -> tuple[list[Closest], NDArray[np.float64]]:
    """Compare the groups of each axis, and shuffle raters until it is clear which leads are more than chance.

    Also return the corrected p-values of the leads, axes × voices.
    """
    ratings, voices = work.aligner.matched.ratings, work.aligner.matched.voices
    level, found = level_over(len(voices) * len(axes)), []
    for one in axes:
        axis = one.axis
        grouping = Grouping.of(ratings, axis.codes, len(axis), inference.exchange.strata)
        inference.check(ratings, axis.name, grouping)
        found.append(Closest.of(work.telling(f"{axis.name}, closest group"), axis, inference, settings, level))

    p = inference.decide([one.tested for one in found], lambda: corrected_leads(found, settings.correction).ravel())
    return found, p.reshape(len(found), -1) if len(p) else corrected_leads(found, settings.correction)


def _tables(
    work: VoiceDistances, answers: Answers, closest: Mapping[str, pl.DataFrame], references: References,
    settings: AlignmentSettings,
) -> tuple[Table, ...]:  # fmt: skip
    matched = work.aligner.matched
    families = models.families_of(answers, settings.families)
    found = {
        "accounts": matched.accounts,
        **closest,
        "alphas": models.alphas(answers, matched, families, published=settings.convention == "published"),
        "stand ins": StandIns(
            work.aligner, references, Closeness.of(work.level, matched.ratings.scale.values), settings.tolerance
        ).table(),
        "prompts": models.between_prompts(answers),
        "stability": models.stability(answers),
        "positions": models.positions(matched),
        "distances": models.distances(matched),
        "items": models.item_table(matched),
        "bands": models.item_bands(matched),
    }
    return tuple(Table(name, frame) for name, frame in found.items())
