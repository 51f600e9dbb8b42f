"""One call of estimate: all raters and each group with each judge, several judges together, and its assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from plurivox.base.errors import InputError
from plurivox.domain.attributes import places_of
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.domain.scale_names import poles_in
from plurivox.engine.pool import Running
from plurivox.infer.call import Call
from plurivox.infer.claims import tells_unweighted
from plurivox.infer.grouping import Compared
from plurivox.infer.lens import keywords
from plurivox.infer.result import Row, Table
from plurivox.lenses.alignment.matching import ALL, AnswersLike, as_answers
from plurivox.lenses.estimate import KEPT, EstimateSettings
from plurivox.lenses.estimate.measuring import (
    ERRORS,
    TOGETHER,
    WEIGHTS,
    Estimand,
    PoweredEstimate,
    beside,
    estimands,
    rows_of,
    together,
)
from plurivox.lenses.estimate.population import EstimatedItems, Floats, Mask, RatingEntries, compared_sets, population
from plurivox.lenses.estimate.result import Estimate


@keywords(EstimateSettings, weights=True)
def estimate(ratings: Ratings, answers: AnswersLike, *, settings: EstimateSettings, how: Running) -> Estimate:
    """Estimate what people think of all items that a model answered, from the few they rated.

    The humans' mean over the items that they rated is corrected by λ times the difference between the model's mean over
    the further items and its mean over these (prediction-powered inference). It assumes that the rated items are a
    random part of all items; ``population()`` shows where they differ. Items that a model refused or answered
    unreadably count with its mean answer, unless they are to be left out; ``accounts()`` counts them.

    Parameters
    ----------
    ratings
        Who rated what, or counts per point (then without groups, and with intervals over items alone).
    answers
        A frame with ``model``, ``item`` and ``answer`` (or ``point``, ``text`` or a distribution), and ``prompt``,
        ``sample``, ``state`` if there are any; a store of ``plurivox ask``; or :class:`Answers`, which also describe
        items that nobody rated. Samples of an item are averaged.

    Returns
    -------
    Estimate
        With ``to_frame()``, ``findings()``, ``accounts()``, ``judges()``, ``errors()``, ``population()`` and
        ``to_json()``.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=400, n_raters=60, n_rated=80, seed=1)
    >>> found = pv.estimate(study.ratings, study.answers)
    >>> together, humans = (found.row("model-a", name) for name in ("estimate", "estimate_humans"))
    >>> together.ci_high - together.ci_low < humans.ci_high - humans.ci_low
    True
    """
    few_points(ratings.scale, "an estimate")
    if settings.width is not None and not settings.width > 0:
        raise InputError(f"width is {settings.width:g}", hint="Give the width of the interval as a number above 0.")
    given = as_answers(answers, ratings)
    found = population(ratings, given, settings.subset)
    call = Call.of(ratings, settings, how, answered=places_of(ratings.items["item"], given.items) >= 0)
    axes = call.axes
    work = _Estimating(
        found, settings, ratings.has_raters and settings.resample == "both",
        tells_unweighted(ratings, settings.min_group_size),
    )  # fmt: skip
    asked = estimands(ratings.scale, settings)
    members = [member for one in axes for member in _members(found, one)]
    rows: list[Row] = []
    weights: list[tuple[Any, ...]] = []
    errors: list[tuple[Any, ...]] = []
    for at, estimand in enumerate(asked):
        own = work.of(estimand, members, first=at == 0)
        rows, weights, errors = rows + own[0], weights + own[1], errors + own[2]
    everybody = (ALL, ALL, np.ones(len(found.rated.item), dtype=bool))
    named = (one for one in axes if one.axis.attributes != ("rater",))  # without individual raters
    groups = [everybody, *(member for one in named for member in _members(found, one))]
    frames = {
        "accounts": found.accounts,
        "judges": pl.DataFrame(weights, schema=WEIGHTS, orient="row"),
        "errors": pl.DataFrame(errors, schema=ERRORS, orient="row"),
        "population": compared_sets(found, asked[0], groups, keep_silent=work.keep_silent),
    }
    n_unsorted = int(np.count_nonzero(found.subset == len(found.subsets))) if found.subsets else 0
    return Estimate(
        rows=tuple(rows),
        draws=(),
        tables=tuple(Table(name, frame) for name, frame in frames.items()),
        **call.kept(
            voices=[list(voice) for voice in found.voices], of=[one.name for one in asked],
            shares=[one.name for one in asked if one.share], subsets=list(found.subsets),
            labels=[str(label) for label in ratings.scale.labels], values=list(ratings.scale.values),
            poles=poles_in(ratings.scale), n_items=found.n_items, n_unsorted=n_unsorted,
            has_raters=ratings.has_raters,
            selected_items=ratings.intake.selected and not ratings.intake.selected_raters,
            n_elsewhere=given.n_elsewhere, by=[one.axis.name for one in axes],
            resample="both" if work.over_raters else "items",
        ),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Estimating:
    """What all estimates of a call share."""

    found: EstimatedItems
    settings: EstimateSettings
    over_raters: bool
    both_ways: bool
    """Whether unweighted values are shown next to the weighted ones."""

    @property
    def keep_silent(self) -> bool:
        """Whether items that a model was asked about but did not answer are kept."""
        return self.settings.unanswered == KEPT

    def of(
        self, estimand: Estimand, members: Sequence[tuple[str, str, Mask]], *, first: bool
    ) -> tuple[list[Row], list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """Return the rows from all raters, on all items and each part of them, and from groups; and those of tables."""
        found, every = self.found, range(len(self.found.voices))
        whole: Mask = np.ones(found.n_items, dtype=bool)
        base = Row("voice" if first else "also", ALL, ALL, "", np.nan)
        group = replace(base, kind="group" if first else "also")
        places = [
            (replace(base, subset=name), found.rated, found.subset == at) for at, name in enumerate(found.subsets)
        ]
        places += [(replace(group, axis=axis, group=name), found.rated.some(own), whole) for axis, name, own in members]
        single = [[v] for v in every]
        rows = [row for one in single for row in self._rows(one, estimand, base, found.rated, whole)]
        sets = [*single, *([list(every)] if len(every) > 1 else [])]
        rows += [row for place in places for one in sets for row in self._rows(one, estimand, *place)]
        if len(every) == 1:
            return rows, [], []
        joint, weights, errors = together(
            found.rated, *self._said(every, estimand), found.voices, estimand, base, self.settings.width,
            over_raters=self.over_raters, both_ways=self.both_ways,
        )  # fmt: skip
        return rows + joint, weights, errors

    def _said(self, voices: Sequence[int], estimand: Estimand) -> tuple[Floats, Mask]:
        """Return what judges say about each item, and which items each answered itself; items × judges."""
        n, spoken = self.found.n_items, [self.found.spoken[v] for v in voices]
        numbers = [one.numbers(estimand.numbers, n, keep_silent=self.keep_silent) for one in spoken]
        return np.stack(numbers, axis=1), np.stack([one.answered(n) for one in spoken], axis=1)

    def _rows(
        self, voices: Sequence[int], estimand: Estimand, base: Row, rated: RatingEntries, part: Mask
    ) -> list[Row]:
        """Return the rows of one judge, or of several with a weight each, with some raters on some items."""
        answers, each = self._said(voices, estimand)
        answered = np.asarray(each.all(axis=1), dtype=bool)
        own_items = np.unique(rated.item[part[rated.item]])
        n, n_answered = len(own_items), int(np.count_nonzero(answered[own_items]))
        model, prompt = self.found.voices[voices[0]] if len(voices) == 1 else (TOGETHER, "")
        note = "" if n == n_answered else f"answered {n_answered:,} of {n:,} rated items"
        made = replace(base, model=model, prompt=prompt).with_note(note)
        given = (answers, answered, estimand.numbers, part)

        def rows(own: RatingEntries) -> list[Row]:
            measured = PoweredEstimate.of(own, *given, over_raters=self.over_raters)
            return rows_of(measured, made, estimand, self.settings.width)

        return beside(rows(rated), rows(rated.alike())) if self.both_ways else rows(rated)


def _members(found: EstimatedItems, one: Compared) -> list[tuple[str, str, Mask]]:
    """Return the axis and name of each group that may be shown, and which ratings are its own."""
    return [
        (axis.name, axis.groups[g], axis.codes[found.rated.rater] == g) for axis, places in one.shown for g in places
    ]
