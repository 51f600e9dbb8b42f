"""The parts of curation: selected raters and their scores, items over the whole scale, pairs, and a person's decisions.

Everything here is about low and high scores; the caller decides which of the two a model should prefer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.actions.select.result import Selection
from plurivox.base.errors import ColumnError, InputError, SelectionError, few
from plurivox.domain.attributes import COUNTED_FROM_1, Locate, as_categories
from plurivox.domain.axis import Axis
from plurivox.domain.code import as_text
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import to_polars

INCLUDE, EXCLUDE, OPEN = "include", "exclude", ""
UNCOMPARED = 0.5
"""The certainty of a pair of items if no selected rater rated both."""

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


class ItemPairs(NamedTuple):
    """Items by their rows in the table of items: the one scored lower, the one scored higher, margin and certainty."""

    low: Places
    high: Places
    margin: Floats
    certainty: Floats

    def at(self, rows: NDArray[Any]) -> ItemPairs:
        """Return some of them."""
        return ItemPairs(*(part[rows] for part in self))


@dataclass(frozen=True, slots=True, eq=False)
class GroupScores:
    """How the selected raters of a group score the items.

    Attributes
    ----------
    given
        Selected raters × items: the value of the point each gave, NaN where there is none.
    mean
        For each item the mean of those, NaN where fewer than ``min_votes`` of them rated it.
    votes
        For each item how many of them rated it.
    step
        The largest difference that counts as none, to allow for floating-point error.
    """

    group: str
    given: Floats
    mean: Floats
    votes: NDArray[np.int64]
    step: float

    @classmethod
    def of(cls, ratings: Ratings, group: str, raters: Sequence[int], min_votes: int) -> GroupScores:
        """Gather the scores of some raters."""
        row = np.full(ratings.n_raters, -1)
        row[list(raters)] = np.arange(len(raters))
        own = row[ratings.codes_of_raters]
        given = np.full((len(raters), ratings.n_items), np.nan)
        values = np.array(ratings.scale.values, dtype=float)
        given[own[own >= 0], ratings.item_codes[own >= 0]] = values[ratings.scores[own >= 0]]
        votes = np.count_nonzero(~np.isnan(given), axis=0)
        mean = np.nansum(given, axis=0) / np.maximum(votes, 1)
        mean[votes < max(min_votes, 1)] = np.nan
        return cls(group, given, mean, votes.astype(np.int64), 1e-9 * float(values[-1] - values[0]))

    def scored(self) -> Places:
        """Return the items with enough votes."""
        return np.flatnonzero(~np.isnan(self.mean))

    def compared(self, low: Places, high: Places, min_margin: float) -> tuple[ItemPairs, NDArray[np.bool_]]:
        """Return the margin and certainty of pairs, and which of them the ratings support.

        The means must be at least ``min_margin`` apart. Of the raters who rated both items, if there are any, more must
        score them in this order than in the other, and their own means must also be in this order. Certainty is the
        share of them who do so, those who give both the same score counting half.
        """
        margin = self.mean[high] - self.mean[low]
        apart = self.given[:, high] - self.given[:, low]
        both = np.count_nonzero(~np.isnan(apart), axis=0)
        with np.errstate(invalid="ignore"):  # NaN is neither
            agree, oppose = (apart > self.step).sum(axis=0), (apart < -self.step).sum(axis=0)
            wide = (margin > self.step) & (margin >= min_margin - self.step)
        certainty = np.where(both > 0, (both + agree - oppose) / (2 * np.maximum(both, 1)), UNCOMPARED)
        borne_out = (both == 0) | ((agree > oppose) & (np.nansum(apart, axis=0) > self.step))
        return ItemPairs(low, high, margin, certainty), wide & borne_out


def chosen_raters(found: Selection, ratings: Ratings, axis: Axis) -> dict[str, list[int]]:
    """Return the raters of each group that a selection chose, as codes."""
    places = _codes(ratings)
    chosen: dict[str, list[int]] = {group: [] for group in axis.shown}
    for group, rater in found.to_frame().select("group", "rater").drop_nulls().iter_rows():
        chosen[group].append(places[rater])
    return {group: sorted(raters) for group, raters in chosen.items()}


def named_raters(raters: Sequence[object], ratings: Ratings, axis: Axis) -> dict[str, list[int]]:
    """Sort raters named by the caller into their groups; raters in no shown group are ignored."""
    known = _codes(ratings)
    wanted = list(dict.fromkeys(str(rater) for rater in raters))
    missing = [rater for rater in wanted if rater not in known]
    if missing:
        raise SelectionError(
            f"{len(missing)} of the {len(wanted)} given raters did not rate here; the first is number "
            f"{wanted.index(missing[0]) + 1:,} of them",
            hint="raters= must list rater ids from the ratings.",
        )
    chosen: dict[str, list[int]] = {group: [] for group in axis.shown}
    for code in sorted(known[rater] for rater in wanted):
        group = axis.codes[code]
        if group >= 0 and axis.groups[group] in chosen:
            chosen[axis.groups[group]].append(code)
    return chosen


def _codes(ratings: Ratings) -> dict[str, int]:
    return {text: code for code, text in enumerate(as_categories(ratings.raters["rater"]).to_list())}


class Texts(NamedTuple):
    """What is known about the items: ids, and prompt and response or text if there are such columns."""

    ids: list[str]
    prompts: list[str | None] | None
    texts: list[str | None] | None

    def prompt(self, item: int) -> str:
        """Return the prompt of an item, empty where there is none."""
        return "" if self.prompts is None else self.prompts[item] or ""

    def text(self, item: int) -> str:
        """Return the response, or the text, of an item, empty where there is none."""
        return "" if self.texts is None else self.texts[item] or ""

    def prompts_of_items(self, items: Iterable[int]) -> dict[str, list[int]]:
        """Return the items of each prompt, without those that lack prompt or response."""
        found: dict[str, list[int]] = {}
        for item in items:
            if self.prompt(item) and self.text(item):
                found.setdefault(self.prompt(item), []).append(item)
        return found

    def unpaired(self) -> dict[str, int]:
        """Return how many prompts have only one response, and how many items lack prompt or response."""
        if self.prompts is None:
            return {"n_prompts_of_one": 0, "n_items_without_prompt": 0}
        members = self.prompts_of_items(range(len(self.ids)))
        return {
            "n_prompts_of_one": sum(len(own) == 1 for own in members.values()),
            "n_items_without_prompt": len(self.ids) - sum(map(len, members.values())),
        }


def drawing_order(texts: Texts, seed: int) -> NDArray[np.int64]:
    """Return each item's place in an order that depends only on the seed, its id and its prompt.

    Responses to one prompt are adjacent, so that they are drawn together and can be paired.
    """
    first = [texts.prompt(item) or one for item, one in enumerate(texts.ids)]
    keys = [(_digest(seed, a), a, _digest(seed, b), b) for a, b in zip(first, texts.ids, strict=True)]
    order = np.empty(len(keys), np.int64)
    order[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return order


def _digest(*parts: object) -> str:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()


def nearest_points(means: Floats, values: Sequence[float]) -> NDArray[np.intp]:
    """Return the position of the point nearest to each mean; the lower one if it lies half-way."""
    gaps = (np.array(values[1:], dtype=float) + np.array(values[:-1], dtype=float)) / 2
    return np.searchsorted(gaps, means, side="left")


def stratified(view: GroupScores, values: Sequence[float], order: NDArray[np.int64], per_point: int) -> Places:
    """Return items over the whole scale: at most ``per_point`` whose mean is nearest to each point, drawn by ``order``.

    The item with the lowest mean and the one with the highest are always among them.
    """
    items = view.scored()
    if not len(items):
        return items
    rank = order[items].copy()
    means = view.mean[items]
    for end in (np.lexsort((rank, means))[0], np.lexsort((rank, -means))[0]):
        rank[end] = -1
    point = nearest_points(means, values)
    kept = [
        items[own[np.argsort(rank[own], kind="stable")[:per_point]]]
        for own in (np.flatnonzero(point == p) for p in range(len(values)))
    ]
    return np.sort(np.concatenate(kept))


def pairs_within_prompts(view: GroupScores, items: Places, texts: Texts, min_margin: float) -> ItemPairs:
    """Return every pair of items of one prompt that the group's ratings support; equal responses do not form a pair."""
    lows, highs = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
    for own in texts.prompts_of_items(items.tolist()).values():
        members = np.array(own, np.intp)
        members = members[np.argsort(view.mean[members], kind="stable")]
        first, second = np.triu_indices(len(members), 1)
        lows.append(members[first])
        highs.append(members[second])
    pairs, holds = view.compared(np.concatenate(lows), np.concatenate(highs), min_margin)
    differ = np.array([texts.text(a) != texts.text(b) for a, b in zip(*pairs[:2], strict=True)], bool)
    return in_order(pairs.at(holds & differ))


def in_order(pairs: ItemPairs) -> ItemPairs:
    """Return pairs in the order of their items."""
    return pairs.at(np.lexsort((pairs.high, pairs.low)))


def pairs_of_all(views: Sequence[GroupScores], candidates: Sequence[ItemPairs], min_margin: float) -> ItemPairs:
    """Return the pairs that every group with scores of both items supports, at least two of them.

    Margin and certainty are the smallest among these groups.
    """
    low, high = (np.concatenate([np.zeros(0, np.intp), *(one[at] for one in candidates)]) for at in range(2))
    low, high = np.unique(np.stack([low, high]), axis=1)
    margin, certainty = np.full(len(low), np.inf), np.full(len(low), np.inf)
    n_groups, agreed = np.zeros(len(low), int), np.ones(len(low), bool)
    for view in views:
        known = ~np.isnan(view.mean[low] + view.mean[high])
        own, holds = view.compared(low, high, min_margin)
        agreed &= holds | ~known
        n_groups += known
        margin = np.where(known, np.minimum(margin, own.margin), margin)
        certainty = np.where(known, np.minimum(certainty, own.certainty), certainty)
    return in_order(ItemPairs(low, high, margin, certainty).at(agreed & (n_groups > 1)))


def high_against_low(view: GroupScores, order: NDArray[np.int64], min_margin: float) -> ItemPairs:
    """Return the item scored highest with the one scored lowest, the next ones with each other, and so on."""
    items = view.scored()
    n = len(items) // 2
    means, rank = view.mean[items], order[items]
    low = items[np.lexsort((rank, means))[:n]]
    high = items[np.lexsort((rank, -means))[:n]]
    pairs, holds = view.compared(low, high, min_margin)
    return pairs.at(holds)


def pair_key(group: str, high: str, low: str) -> str:
    """Return a short name for a group's pair of items that no spreadsheet mistakes for a number."""
    return f"p{_digest(group, high, low)}"


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """A person's decisions on pairs: for each, the decision and where it is written."""

    source: str
    by_pair: Mapping[str, tuple[str, str]]

    @classmethod
    def of(cls, frame: Any, source: str = "decisions", locate: Locate = COUNTED_FROM_1) -> Decisions:
        """Check a table with the columns ``pair`` and ``decision``."""
        if isinstance(frame, Decisions):
            return frame
        table = to_polars(frame)
        for column in ("pair", "decision"):
            if column not in table.columns:
                hint = "Fill in the column decision of the list as it was written, and leave its other columns as they "
                hint += "are."
                known = few(table.columns) or "none"
                raise ColumnError(f"there is no column '{column}'; it has {known}", source=source, hint=hint)
        found: dict[str, tuple[str, str]] = {}
        named, decided = (as_text(table[name]).fill_null("").to_list() for name in ("pair", "decision"))
        for row, (pair, text) in enumerate(zip(named, decided, strict=True)):
            key, word, place = pair.strip(), text.strip().casefold(), locate(row)
            if not key and not word:
                continue  # a blank line
            if word not in (INCLUDE, EXCLUDE, OPEN):
                raise InputError(
                    f"{text!r} is not a decision", source=source, column="decision", places=[place],
                    hint="Write include or exclude, or leave it blank.",
                )  # fmt: skip
            if found.setdefault(key, (word, place))[0] != word:
                raise InputError(
                    f"pair {key!r} has two decisions, {found[key][0] or 'blank'!r} in {found[key][1]} and another here",
                    source=source, column="decision", places=[place], hint="Keep one of them.",
                )  # fmt: skip
        return cls(source, found)

    def check(self, listed: pl.Series) -> None:
        """Raise if a pair is decided that is not among those listed."""
        known = set(listed.to_list())
        unknown = [(pair, place) for pair, (word, place) in self.by_pair.items() if word and pair not in known]
        if unknown:
            raise SelectionError(
                f"pair {unknown[0][0]!r} is decided but is not one of the {len(known)} that these ratings and settings "
                "list",
                source=self.source, column="pair", places=[place for _, place in unknown[: InputError.SHOWN]],
                n_places=len(unknown),
                hint="Use the ratings, reference and settings that the list was made with, or remove these rows and "
                "list the pairs again.",
            )  # fmt: skip

    def of_pair(self, pair: str) -> str:
        """Return the decision on a pair, empty if it is open."""
        return self.by_pair.get(pair, (OPEN, ""))[0]
