"""Models as raters: how their answers respond to severity, as trained raters, all raters or a group see it.

An answer meets the ratings of its item. MPA and WRA are computed from how often each answer meets each rating, as for
a human rater. A model is not one of the raters, so no rating is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import Label
from plurivox.engine.draws import Draws
from plurivox.engine.run import Sums, Values, total
from plurivox.infer.grouping import Compared
from plurivox.infer.result import Row
from plurivox.lenses.alignment.matching import ALL, AnsweredItems
from plurivox.lenses.alignment.rows import Group
from plurivox.lenses.alignment.sums import Aligner, Given, Once, votes_of
from plurivox.lenses.responsiveness.references import EACH, by_others, split
from plurivox.lenses.responsiveness.rows import notes_of
from plurivox.statistics.responsiveness import MEASURES

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
    everybody = aligner.everybody(), 1, [Group.everybody(ratings.n_raters)]
    each = [(axis.codes, len(axis), shown) for one in axes for axis, shown in Group.shown(one)]
    rows = []
    for codes, n_groups, shown in [everybody, *each]:
        sums = aligner.added(MetRatings(given, codes, n_groups, given.n_points))
        for group in shown:
            rows += _rows(matched, sums["tables"][0, :, group.at] @ sides, sums["votes"][0, :, group.at], group)
    return rows


def _against(trained: Ratings, matched: AnsweredItems, given: Given, threshold: Label | None) -> list[Row]:
    """Return the rows of models that are judged by other ratings, matched by item id."""
    items = np.flatnonzero(np.diff(given.rows))
    nobody = pl.Series([], dtype=pl.String)  # models are not among the raters
    reference = by_others(matched.ratings.items["item"].gather(items), nobody, trained, threshold)
    part = Part(0, reference.offsets, np.zeros_like(reference.raters), reference.scores, np.zeros(0, np.int64))
    judged = given._replace(rows=given.rows[np.append(items, len(given.rows) - 1)])
    sums = total([part], MetRatings(judged, np.zeros(1, np.int32), 1, reference.n_points))
    return _rows(matched, sums["tables"][0, :, 0], sums["votes"][0, :, 0], Group.everybody(trained.n_raters))


def _first_answers(matched: AnsweredItems) -> Given:
    """Return the first answer of every voice to every item."""
    answered = np.flatnonzero(matched.point >= 0)
    item, voice = matched.item[answered], matched.voice[answered]
    _, first = np.unique(item * len(matched.voices) + voice, return_index=True)
    rows = np.searchsorted(item[first], np.arange(len(matched.rows))).astype(np.int64)
    kept = answered[first]
    return Given.of(matched)._replace(
        rows=rows, voice=matched.voice[kept], point=matched.point[kept], share=np.ones(len(kept))
    )


def _rows(matched: AnsweredItems, tables: Values, votes: Values, group: Group) -> list[Row]:
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
