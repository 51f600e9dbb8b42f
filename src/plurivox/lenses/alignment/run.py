"""One call of alignment: distances from all raters and each group, the closest groups, models as raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import SelectionError
from plurivox.base.settings import Axes, Frozen
from plurivox.domain.answers import Answers
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale_files import GivenScale
from plurivox.engine.pool import Running
from plurivox.infer.call import keywords
from plurivox.infer.exchange import Exchange
from plurivox.infer.grouping import Compared, Grouping, compared, counting, overlapping_axes, raters_who_rated, together
from plurivox.infer.inference import Inference
from plurivox.infer.result import Row, Table
from plurivox.infer.weighting import tells_unweighted, weights_in
from plurivox.lenses.alignment import models
from plurivox.lenses.alignment.alone import answers_alone, without_humans
from plurivox.lenses.alignment.as_raters import as_raters
from plurivox.lenses.alignment.closest import Closest, corrected_leads, frames, level_over
from plurivox.lenses.alignment.matching import ALL, AnsweredItems, AnswersLike, as_answers, match
from plurivox.lenses.alignment.references import References
from plurivox.lenses.alignment.result import Alignment
from plurivox.lenses.alignment.rows import Analysis
from plurivox.lenses.alignment.settings import AlignmentSettings
from plurivox.lenses.alignment.stand_ins import Closeness, StandIns
from plurivox.lenses.alignment.sums import Aligner
from plurivox.statistics.checks import level_of, prior_of, usual_level


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
    axes, overlapping = compared_axes(matched, settings)
    prior = prior_of(settings.prior, matched.top + 1)
    work = Analysis(
        Aligner(matched, prior, settings.seed, how), level_of(settings.level, matched.top + 1), settings.bootstrap
    )
    references = References.of(matched, settings.seed)
    beside = replace(work, aligner=replace(work.aligner, matched=references.matched), reference=True)
    rows = work.overall() + beside.overall()
    for one in axes:
        rows += work.groups(one) + beside.groups(one)
    if tells_unweighted(ratings, settings.min_group_size):
        rows = _with_unweighted(rows, [work, beside], axes)
    inference = Inference(settings, how, Exchange.of(ratings, settings.within))
    closest, corrected = _closest(work, [one for one in axes if _comparable(one)], inference, settings)
    if settings.as_rater:
        apart = [one for one in axes if not one.overlapping]
        rows += as_raters(work.aligner, apart, trained, settings.threshold)
    values = {(row.model, row.prompt, row.axis, row.group, row.statistic): row.value for row in rows}
    for compared_groups, adjusted in zip(closest, corrected, strict=True):
        rows += compared_groups.rows(matched.voices, inference, adjusted)
    return Alignment(
        tuple(rows),
        {one.axis.name: one.n_withheld for one in axes},
        {one.axis.name: one.axis.n_outside for one in axes},
        tuple(one.draws(matched.voices) for one in closest),
        {
            **settings.as_dict(), "by": [one.axis.name for one in axes], "several": overlapping,
            "level": settings.level if isinstance(settings.level, str) else "matrix", "prior": prior.tolist(),
            "voices": [list(voice) for voice in matched.voices],
            "references": [voice.model for voice in references.matched.voices],
            "labels": [str(label) for label in ratings.scale.labels], "values": list(ratings.scale.values),
            "subsets": list(matched.subsets),
            "n_items": int(np.count_nonzero(np.diff(matched.rows))), "n_unrated": matched.n_unrated,
            "n_elsewhere": given.n_elsewhere, "n_unsorted": matched.n_unsorted, "n_raters": ratings.n_raters,
            "humans": True, "design": inference.remembered(), **weights_in(ratings, settings.min_group_size),
        },
        _tables(work, given, frames(closest, matched.voices, values), references, settings),
        revealing={one.axis.name: one.n_revealing for one in axes},
    )  # fmt: skip


class _Groups(Protocol):
    """The settings that say which groups are compared."""

    @property
    def by(self) -> Axes:
        """Attributes of the axes."""

    @property
    def several(self) -> Frozen:
        """Attributes of which a rater may have several values."""

    @property
    def min_group_size(self) -> int:
        """Below how many raters a group is withheld."""


def compared_axes(matched: AnsweredItems, settings: _Groups) -> tuple[list[Compared], dict[str, str]]:
    """Return the groups of raters of answered items that answers are compared with, and attributes that overlap."""
    ratings = matched.ratings
    if (ALL,) in settings.by:
        raise SelectionError("an attribute is called 'all', which stands for all raters", hint="Rename it.")
    overlapping = overlapping_axes(settings.by, settings.several, pairs=False)
    axes = compared(ratings, settings.by, overlapping, settings.min_group_size)
    if axes:
        answered = np.diff(matched.rows) > 0
        axes = together(counting(axes, raters_who_rated(ratings)), raters_who_rated(ratings, answered))
    return axes, overlapping


def _exact(ratings: Ratings) -> Ratings:
    """Return ratings whose weights add up without rounding, so that tied votes tie in any order."""
    if ratings.weights is None:
        return ratings
    return ratings.with_known(weights=np.round(ratings.weights * 2.0**30) / 2.0**30)


def _with_unweighted(rows: Sequence[Row], works: Sequence[Analysis], axes: Sequence[Compared]) -> list[Row]:
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
    work: Analysis, axes: Sequence[Compared], inference: Inference, settings: AlignmentSettings
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
    work: Analysis, answers: Answers, closest: Mapping[str, pl.DataFrame], references: References,
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
