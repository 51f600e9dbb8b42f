"""The tables of a curation: how groups stand to the reference, pairs or points with their weights, what to decide."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from plurivox.actions.curate.parts import (
    INCLUDE,
    Decisions,
    Pairs,
    Places,
    Selected,
    Texts,
    View,
    high_against_low,
    nearest_points,
    pair_key,
    pairs_of_all,
    pairs_within_prompts,
    stratified,
    widest,
)
from plurivox.actions.curate.settings import CurationSettings
from plurivox.axis import Axis
from plurivox.lenses.responsiveness.result import Responsiveness
from plurivox.ratings import Ratings
from plurivox.results.result import Row, Table
from plurivox.results.wording import counted

IN_LINE, GRANULAR, BROAD, DIFFERENT, UNKNOWN = "in line", "granular", "broad", "different", "unknown"
ACROSS = "all"
"""The group of pairs on which all groups agree."""
WHOLE_POINT = 1.0
"""Pairs of a broad group that lie at least so far apart have full weight."""
REACHED = 0.1
"""A note tells if the selected raters of a group give a score to a smaller share of the items that it rated."""
CHANCE = 0.5
"""The AUROC of scores that have nothing to do with the reference."""
_TEXT = pl.String
SCHEMAS: dict[str, dict[str, Any]] = {
    "pairs": dict.fromkeys(("prompt", "chosen", "rejected"), pl.String)
    | dict.fromkeys(("margin", "weight"), pl.Float64)
    | dict.fromkeys(("group", "chosen_item", "rejected_item"), pl.String),
    "points": {"item": _TEXT, "text": _TEXT, "score": pl.Float64, "weight": pl.Float64, "group": _TEXT}
    | {"n_votes": pl.Int64},
    "groups": {"axis": _TEXT, "group": _TEXT, "standing": _TEXT}
    | dict.fromkeys(("mpa", "mpa_low", "mpa_high", "wra", "wra_low", "wra_high", "weight"), pl.Float64)
    | dict.fromkeys(("n_raters", "n_raters_selected", "n_items", "n_items_chosen", "n_written"), pl.Int64)
    | {"note": _TEXT},
    "items": {"group": _TEXT, "item": _TEXT, "score": pl.Float64, "n_votes": pl.Int64, "point": _TEXT}
    | {"weight": pl.Float64},
    "decisions": dict.fromkeys(("pair", "group", "item_high", "item_low"), pl.String)
    | dict.fromkeys(("score_high", "score_low"), pl.Float64)
    | dict.fromkeys(("prompt", "text_high", "text_low", "decision"), pl.String),
}  # fmt: skip
"""The tables and their columns."""


class Standing(NamedTuple):
    """How a group stands to the reference."""

    name: str
    weight: float | None
    mpa: tuple[float, float | None, float | None]
    wra: tuple[float, float | None, float | None]


def standings(judged: Responsiveness, axis: Axis, settings: CurationSettings) -> dict[str, Standing]:
    """Return the standing of each group shown."""
    rows = {(row.group, row.statistic): row for row in judged.rows if row.kind == "group"}
    low: dict[str, dict[str, bool]] = {}
    for name, floor in {"mpa": settings.low_mpa, "wra": settings.low_wra}.items():
        values = np.array([rows[group, name].value for group in axis.shown])
        middle = float(np.median(values[~np.isnan(values)])) if not np.isnan(values).all() else math.nan
        for group in axis.shown:
            against = _upper(rows[group, "auroc"]) < CHANCE
            end = _upper(rows[group, name])
            below = end < middle - settings.low_by or (floor is not None and end < floor)
            low.setdefault(group, {})[name] = bool(against or below)
    weights = {IN_LINE: 1.0, GRANULAR: settings.granular_weight, BROAD: settings.broad_weight, DIFFERENT: None}
    return {group: _standing(rows, group, weights, **low[group]) for group in axis.shown}


def _standing(
    rows: dict[tuple[str, str], Row], group: str, weights: dict[str, float | None], mpa: bool, wra: bool
) -> Standing:
    first, second = ((row.value, row.ci_low, row.ci_high) for row in (rows[group, "mpa"], rows[group, "wra"]))
    if math.isnan(first[0]) or math.isnan(second[0]):
        return Standing(UNKNOWN, 1.0, first, second)
    name = {(False, False): IN_LINE, (True, False): GRANULAR, (False, True): BROAD, (True, True): DIFFERENT}[mpa, wra]
    return Standing(name, weights[name], first, second)


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Everything that the tables are made of."""

    ratings: Ratings
    axis: Axis
    form: str
    texts: Texts
    selected: Selected
    standings: dict[str, Standing]
    settings: CurationSettings
    order: Any
    decisions: Decisions | None

    @property
    def across(self) -> str:
        """How pairs of all groups are called; no group has that name."""
        name = ACROSS
        while name in self.axis.groups:
            name += " groups"
        return name

    def tables(self) -> tuple[Table, ...]:
        """Return all tables, the pairs or points first."""
        values = self.ratings.scale.values
        views = {
            group: View.of(self.ratings, group, raters, self.settings.min_votes)
            for group, raters in self.selected.raters.items()
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
        included = {group: self._included(group, pairs) for group, pairs in listed.items()}
        if self.form == "pairs":
            records = self._pair_rows(views, made, included)
        else:
            records = self._point_rows(views, chosen, included)
        frame = _frame(self.form, records)
        if self.form == "points" and self.texts.texts is None:
            frame = frame.drop("text")
        return (
            Table(self.form, frame),
            Table("groups", self._groups(views, chosen, frame)),
            Table("items", self._items(views, chosen)),
            Table("decisions", decisions),
        )

    def _listed(self, views: dict[str, View], made: dict[str, Pairs]) -> dict[str, Pairs]:
        """Return the high-against-low pairs of the groups that see things quite differently."""
        asked, found = self.settings, {}
        for group, view in views.items():
            if self.standings[group].name == DIFFERENT:
                if self.form == "pairs":
                    found[group] = widest(made[group], asked.most_listed)
                else:
                    found[group] = high_against_low(view, self.order, asked.min_margin, asked.most_listed)
        return found

    def _key(self, group: str, low: int, high: int) -> str:
        return pair_key(group, self.texts.ids[high], self.texts.ids[low])

    def _decision(self, group: str, low: int, high: int) -> str:
        return "" if self.decisions is None else self.decisions.of_pair(self._key(group, low, high))

    def _included(self, group: str, pairs: Pairs) -> Pairs:
        words = [self._decision(group, low, high) for low, high in _items_of(pairs)]
        return pairs.at(np.array([word == INCLUDE for word in words], bool))

    def _decision_rows(self, view: View, pairs: Pairs) -> list[tuple[Any, ...]]:
        group, texts = view.group, self.texts
        return [
            (
                self._key(group, low, high), group, texts.ids[high], texts.ids[low], float(view.mean[high]),
                float(view.mean[low]), texts.prompt(low), texts.text(high), texts.text(low),
                self._decision(group, low, high),
            )
            for low, high in _items_of(pairs)
        ]  # fmt: skip

    def _pair_rows(
        self, views: dict[str, View], made: dict[str, Pairs], included: dict[str, Pairs]
    ) -> list[tuple[Any, ...]]:
        records = []
        for group, pairs in made.items():
            standing = self.standings[group]
            if standing.name == DIFFERENT:
                own = included[group]
                records += self._pairs(group, own, np.ones(len(own.low)))
                continue
            weight = np.full(len(pairs.low), standing.weight)
            if standing.name == BROAD:
                weight[pairs.margin >= WHOLE_POINT - views[group].step] = 1.0
            records += self._pairs(group, pairs, weight * pairs.certainty)
        common = pairs_of_all(list(views.values()), list(made.values()), self.settings.min_margin)
        return records + self._pairs(self.across, common, common.certainty)

    def _pairs(self, group: str, pairs: Pairs, weight: Any) -> list[tuple[Any, ...]]:
        texts = self.texts
        rows = []
        for at, (low, high) in enumerate(_items_of(pairs)):
            best, worst = (high, low) if self.settings.higher_is_better else (low, high)
            rows.append((
                texts.prompt(best), texts.text(best), texts.text(worst), float(pairs.margin[at]),
                float(weight[at]), group, texts.ids[best], texts.ids[worst],
            ))  # fmt: skip
        return rows

    def _point_rows(
        self, views: dict[str, View], chosen: dict[str, Places], included: dict[str, Pairs]
    ) -> list[tuple[Any, ...]]:
        records = []
        for group, view in views.items():
            items, weight = chosen[group], self.standings[group].weight
            if group in included:
                items, weight = np.sort(np.concatenate(included[group][:2])), 1.0
            records += [
                (self.texts.ids[i], self.texts.text(i), float(view.mean[i]), weight, group, int(view.votes[i]))
                for i in items.tolist()
            ]
        return records

    def _groups(self, views: dict[str, View], chosen: dict[str, Places], frame: pl.DataFrame) -> pl.DataFrame:
        written = dict(frame.group_by("group").len().iter_rows())
        rows = []
        for group, view in views.items():
            standing, n_selected = self.standings[group], len(self.selected.raters[group])
            rows.append((
                self.axis.name, group, standing.name, *standing.mpa, *standing.wra, standing.weight,
                int(self.axis.sizes[self.axis.groups.index(group)]), n_selected, len(view.scored()),
                len(chosen[group]), written.get(group, 0), self._note(group, view),
            ))  # fmt: skip
        return _frame("groups", rows)

    def _note(self, group: str, view: View) -> str:
        """Say what keeps a group from having its say."""
        n_selected, least = len(self.selected.raters[group]), self.settings.min_votes
        if not n_selected:
            return "none of its raters is eligible, or among those given, so that nothing is made from its scores"
        if not len(view.scored()):
            return f"no item has the scores of {least} of its {counted(n_selected, 'selected rater')}"
        own = self.axis.codes[self.ratings.codes_of_raters] == self.axis.groups.index(group)
        n_rated = len(np.unique(self.ratings.item_codes[own]))
        if len(view.scored()) < REACHED * n_rated:
            return (
                f"{len(view.scored()):,} of the {n_rated:,} items that it rated have the scores of {least} of "
                f"its {counted(n_selected, 'selected rater')}; more selected raters reach more items"
            )
        if self.standings[group].name == UNKNOWN:
            return "its MPA or WRA is undefined, so that its distance from the reference is not known"
        return ""

    def _items(self, views: dict[str, View], chosen: dict[str, Places]) -> pl.DataFrame:
        scale, rows = self.ratings.scale, []
        for group, view in views.items():
            items = chosen[group]
            points = nearest_points(view.mean[items], scale.values).tolist()
            rows += [
                (group, self.texts.ids[i], float(view.mean[i]), int(view.votes[i]), str(scale.labels[p]),
                 self.standings[group].weight)
                for i, p in zip(items.tolist(), points, strict=True)
            ]  # fmt: skip
        return _frame("items", rows)


def _items_of(pairs: Pairs) -> list[tuple[int, int]]:
    return list(zip(pairs.low.tolist(), pairs.high.tolist(), strict=True))


def _frame(name: str, rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMAS[name], orient="row")


def _upper(row: Row) -> float:
    """Return the upper end of the interval, or the value where there is none."""
    return row.value if row.ci_high is None or math.isnan(row.ci_high) else row.ci_high
