"""The tables of a curation: how groups relate to the reference, pairs or points with their weights, decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.actions.advise.seen import HabitsSeen
from plurivox.actions.curate.parts import (
    EXCLUDE,
    Decisions,
    GroupScores,
    ItemPairs,
    Places,
    Texts,
    high_against_low,
    nearest_points,
    pair_key,
    pairs_of_all,
    pairs_within_prompts,
    stratified,
)
from plurivox.actions.curate.settings import CurationSettings
from plurivox.base.wording import counted
from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.infer.result import Table
from plurivox.lenses.responsiveness.result import DIFFERENT, UNKNOWN, Responsiveness, verdicts

ACROSS = "all"
"""The group of pairs on which all groups agree."""
OPEN_PAIR = "open"
"""The mark of a different group's preferences until a person has decided on them."""
REACHED = 0.1
"""A note says if a group's selected raters score a smaller share of the items that it rated."""
_TEXT = pl.String
SCHEMAS: dict[str, dict[str, Any]] = {
    "pairs": dict.fromkeys(("prompt", "chosen", "rejected"), pl.String)
    | dict.fromkeys(("margin", "weight"), pl.Float64)
    | dict.fromkeys(("group", "chosen_item", "rejected_item", "standing", "decision"), pl.String),
    "points": {"item": _TEXT, "text": _TEXT, "score": pl.Float64, "weight": pl.Float64, "group": _TEXT}
    | {"n_votes": pl.Int64, "standing": _TEXT, "decision": _TEXT},
    "groups": {"axis": _TEXT, "group": _TEXT, "standing": _TEXT}
    | dict.fromkeys(("mpa", "mpa_low", "mpa_high", "wra", "wra_low", "wra_high"), pl.Float64)
    | {"ranges": _TEXT}
    | dict.fromkeys(("n_raters", "n_raters_selected", "n_items", "n_items_chosen", "n_written"), pl.Int64)
    | {"note": _TEXT},
    "items": {"group": _TEXT, "item": _TEXT, "score": pl.Float64, "n_votes": pl.Int64, "point": _TEXT}
    | {"weight": pl.Float64},
    "decisions": dict.fromkeys(("pair", "group", "item_high", "item_low"), pl.String)
    | dict.fromkeys(("score_high", "score_low"), pl.Float64)
    | dict.fromkeys(("prompt", "text_high", "text_low", "decision"), pl.String),
}  # fmt: skip
"""The tables and their columns."""


class GroupStanding(NamedTuple):
    """How a group relates to the reference, and the ranges of scores whose steps are its own, as positions."""

    name: str
    why: str
    ranges: tuple[tuple[int, int], ...]
    mpa: tuple[float, float | None, float | None]
    wra: tuple[float, float | None, float | None]

    def within(self, points: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return for each range and each point whether the point lies in the range."""
        first, last = np.array(self.ranges, dtype=np.intp).reshape(-1, 2).T[:, :, np.newaxis]
        return np.asarray((first <= points) & (points <= last))


def standings(
    judged: Responsiveness, axis: Axis, seen: Mapping[tuple[str, str], HabitsSeen]
) -> dict[str, GroupStanding]:
    """Return the standing of each group shown: the verdict of the lens, with the ranges that advice names."""
    found = {}
    for (name, group), verdict in verdicts(judged.rows, judged.settings).items():
        if name == axis.name and group in axis.shown:
            ranges = [one.scores for one, _ in seen[name, group].habits if one.name in ("still", "falling")]
            areas = [(row.value, row.ci_low, row.ci_high) for row in (verdict.mpa, verdict.wra)]
            found[group] = GroupStanding(verdict.name, verdict.why, tuple((one[0], one[-1]) for one in ranges), *areas)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Everything that the tables are made of."""

    ratings: Ratings
    axis: Axis
    form: str
    texts: Texts
    selected: Mapping[str, list[int]]
    standings: dict[str, GroupStanding]
    settings: CurationSettings
    order: Any
    decisions: Decisions | None

    @property
    def across(self) -> str:
        """The name of pairs of all groups; no group has it."""
        name = ACROSS
        while name in self.axis.groups:
            name += " groups"
        return name

    def tables(self) -> tuple[Table, ...]:
        """Return all tables, the pairs or points first."""
        values = self.ratings.scale.values
        views = {
            group: GroupScores.of(self.ratings, group, raters, self.settings.min_votes)
            for group, raters in self.selected.items()
        }
        chosen = {group: stratified(view, values, self.order, self.settings.per_point) for group, view in views.items()}
        made = {
            group: pairs_within_prompts(view, chosen[group], self.texts, self.settings.min_margin)
            for group, view in views.items()
            if self.form == "pairs"
        }
        listed = self._listed(views, made)
        decisions = _frame(
            "decisions", [row for group in listed for row in self._decision_rows(views[group], listed[group])]
        )
        if self.decisions is not None:
            self.decisions.check(decisions["pair"])
        if self.form == "pairs":
            records = self._pair_rows(views, made)
        else:
            records = self._point_rows(views, chosen, listed)
        frame = _frame(self.form, records)
        if self.form == "points" and self.texts.texts is None:
            frame = frame.drop("text")
        return (
            Table(self.form, frame),
            Table("groups", self._groups(views, chosen, frame)),
            Table("items", self._items(views, chosen)),
            Table("decisions", decisions),
        )

    def _listed(self, views: dict[str, GroupScores], made: dict[str, ItemPairs]) -> dict[str, ItemPairs]:
        """Return the high–low pairs of the groups that see things quite differently."""
        return {
            group: made[group] if self.form == "pairs" else high_against_low(view, self.order, self.settings.min_margin)
            for group, view in views.items()
            if self.standings[group].name == DIFFERENT
        }

    def _key(self, group: str, low: int, high: int) -> str:
        return pair_key(group, self.texts.ids[high], self.texts.ids[low])

    def _decision(self, group: str, low: int, high: int) -> str:
        return "" if self.decisions is None else self.decisions.of_pair(self._key(group, low, high))

    def _decision_rows(self, view: GroupScores, pairs: ItemPairs) -> list[tuple[Any, ...]]:
        group, texts = view.group, self.texts
        return [
            (
                self._key(group, low, high), group, texts.ids[high], texts.ids[low], float(view.mean[high]),
                float(view.mean[low]), texts.prompt(low), texts.text(high), texts.text(low),
                self._decision(group, low, high),
            )
            for low, high in _items_of(pairs)
        ]  # fmt: skip

    def _marks(self, group: str, pairs: ItemPairs) -> list[str]:
        """Return the mark of each pair: a person's decision for a different group, otherwise none."""
        if self.standings[group].name != DIFFERENT:
            return [""] * len(pairs.low)
        return [self._decision(group, low, high) or OPEN_PAIR for low, high in _items_of(pairs)]

    def _weights(self, group: str, *items: Places, view: GroupScores) -> NDArray[np.float64]:
        """Return a weight for each item, or each pair of items: more where all of it lies in one of the ranges."""
        standing, values = self.standings[group], self.ratings.scale.values
        each = [standing.within(nearest_points(view.mean[own], values)) for own in items]
        return np.where(np.logical_and.reduce(each).any(axis=0), self.settings.range_weight, 1.0)

    def _pair_rows(self, views: dict[str, GroupScores], made: dict[str, ItemPairs]) -> list[tuple[Any, ...]]:
        records = []
        for group, pairs in made.items():
            weight = self._weights(group, pairs.low, pairs.high, view=views[group]) * pairs.certainty
            records += self._pairs(group, pairs, weight, self.standings[group].name, self._marks(group, pairs))
        common = pairs_of_all(list(views.values()), list(made.values()), self.settings.min_margin)
        return records + self._pairs(self.across, common, common.certainty, "", [""] * len(common.low))

    def _pairs(
        self, group: str, pairs: ItemPairs, weight: Any, standing: str, marks: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        texts = self.texts
        rows = []
        for at, (low, high) in enumerate(_items_of(pairs)):
            best, worst = (high, low) if self.settings.higher_is_better else (low, high)
            if marks[at] != EXCLUDE:
                rows.append((
                    texts.prompt(best), texts.text(best), texts.text(worst), float(pairs.margin[at]),
                    float(weight[at]), group, texts.ids[best], texts.ids[worst], standing, marks[at],
                ))  # fmt: skip
        return rows

    def _point_rows(
        self, views: dict[str, GroupScores], chosen: dict[str, Places], listed: dict[str, ItemPairs]
    ) -> list[tuple[Any, ...]]:
        """Return the items with their scores; a different group's are marked like the pair they are listed in."""
        records = []
        for group, view in views.items():
            items, standing = chosen[group], self.standings[group].name
            mark = dict.fromkeys(items.tolist(), OPEN_PAIR if standing == DIFFERENT else "")
            if group in listed:
                for pair, word in zip(_items_of(listed[group]), self._marks(group, listed[group]), strict=True):
                    mark |= dict.fromkeys(pair, word)
            weights = dict(zip(items.tolist(), self._weights(group, items, view=view).tolist(), strict=True))
            records += [
                (self.texts.ids[i], self.texts.text(i), float(view.mean[i]), weights[i], group, int(view.votes[i]),
                 standing, mark[i])
                for i in items.tolist() if mark[i] != EXCLUDE
            ]  # fmt: skip
        return records

    def _groups(self, views: dict[str, GroupScores], chosen: dict[str, Places], frame: pl.DataFrame) -> pl.DataFrame:
        written = dict(frame.group_by("group").len().iter_rows())
        rows = []
        for group, view in views.items():
            standing, n_selected = self.standings[group], len(self.selected[group])
            rows.append((
                self.axis.name, group, standing.name, *standing.mpa, *standing.wra, self._ranges(standing),
                int(self.axis.sizes[self.axis.groups.index(group)]), n_selected, len(view.scored()),
                len(chosen[group]), written.get(group, 0), self._note(group, view),
            ))  # fmt: skip
        return _frame("groups", rows)

    def _note(self, group: str, view: GroupScores) -> str:
        """Say what keeps a group from being represented."""
        n_selected, least = len(self.selected[group]), self.settings.min_votes
        if not n_selected:
            return "none of its raters is eligible or among those given, so nothing is made from its scores"
        if not len(view.scored()):
            return f"no item has scores from {least} of its {counted(n_selected, 'selected rater')}"
        own = self.axis.codes[self.ratings.codes_of_raters] == self.axis.groups.index(group)
        n_rated = len(np.unique(self.ratings.item_codes[own]))
        if len(view.scored()) < REACHED * n_rated:
            return (
                f"{len(view.scored()):,} of the {n_rated:,} items that it rated have the scores of {least} of "
                f"its {counted(n_selected, 'selected rater')}; selecting more raters would cover more items"
            )
        if self.standings[group].name == UNKNOWN:
            return f"how it relates to the reference is unknown: {self.standings[group].why}"
        return ""

    def _ranges(self, standing: GroupStanding) -> str:
        """Name the ranges of scores whose steps are the group's own."""
        labels = self.ratings.scale.labels
        return ", ".join(f"{labels[first]} to {labels[last]}" for first, last in standing.ranges)

    def _items(self, views: dict[str, GroupScores], chosen: dict[str, Places]) -> pl.DataFrame:
        scale, rows = self.ratings.scale, []
        for group, view in views.items():
            items = chosen[group]
            points = nearest_points(view.mean[items], scale.values).tolist()
            weights = self._weights(group, items, view=view).tolist()
            rows += [
                (group, self.texts.ids[i], float(view.mean[i]), int(view.votes[i]), str(scale.labels[p]), weight)
                for i, p, weight in zip(items.tolist(), points, weights, strict=True)
            ]
        return _frame("items", rows)


def _items_of(pairs: ItemPairs) -> list[tuple[int, int]]:
    return list(zip(pairs.low.tolist(), pairs.high.tolist(), strict=True))


def _frame(name: str, rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMAS[name], orient="row")
