"""Which lenses apply to a table of ratings, and to which of its groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.actions.plan.crowd import GROUP, REST
from plurivox.actions.plan.result import LENSES, NO, PARTLY, SCHEMAS, YES
from plurivox.base.wording import counted, why_withheld
from plurivox.domain.axis import OUTSIDE
from plurivox.domain.ratings import Ratings
from plurivox.infer.grouping import Compared, Grouping
from plurivox.lenses.cohesion.sums import GroupAgreement
from plurivox.lenses.responsiveness.references import CROWD, resolve
from plurivox.lenses.responsiveness.sums import Responses
from plurivox.statistics import undefined
from plurivox.statistics.graded_fit import MAX_CELLS
from plurivox.statistics.responsiveness import MEASURES

MODEL_RATERS = 3
_SAMPLE = 200  # raters whose pairs are looked at for common items
_ITEM_BLOCK = 4096
_TEXT_LENGTH = 20  # the fewest characters for which a column of items is treated as their texts
_GIVE_RATERS = "give a table with one row per rating"


class Sides(NamedTuple):
    """A group that may be shown, and the side of each rater: in the group, in its rest, or outside the axis."""

    axis: str
    group: str
    n_raters: int
    codes: NDArray[np.int32]
    n_groups: int
    """How many groups of the axis may be shown."""


class Facts(NamedTuple):
    """What the lenses need from a table."""

    n_items: int
    """Items with a rating."""
    n_pairable: int
    """Items with two."""
    per_item: float
    sides: list[Sides]
    groups: pl.DataFrame
    n_divisible: int
    """Items on which two groups can be compared."""


# Groups -------------------------------------------------------------------------------------------------------------


def facts_of(ratings: Ratings, axes: Sequence[Compared], least: int) -> Facts:
    """Examine all groups."""
    per_item = ratings.counts().sum(axis=1)
    rated = per_item[per_item > 0]
    sides: list[Sides] = []
    rows: list[tuple[Any, ...]] = []
    divisible = np.zeros(ratings.n_items, bool)
    for axis in axes:
        n_groups = sum(len(places) for _, places in axis.shown)
        own = [
            Sides(
                each.name, each.groups[g], int(each.sizes[g]),
                np.select([each.codes < 0, each.codes == g], [OUTSIDE, GROUP], REST).astype(np.int32), n_groups,
            )
            for each, places in axis.shown
            for g in places
        ]  # fmt: skip
        n_comparable = np.zeros(ratings.n_items, np.int64)
        for one in own:
            by_group = _per_item(ratings, one.codes == GROUP)
            n_comparable += by_group >= max(least, 1)
            rows.append(_group_row(ratings, one, by_group))
        if not axis.overlapping:
            divisible |= n_comparable > 1
        if axis.n_withheld:
            why = f"withheld{why_withheld(axis.n_withheld, axis.n_revealing, least)}"
            rows.append((axis.axis.name, None, None, None, None, None, None, why, why, why, axis.n_withheld))
        sides += own
    return Facts(
        len(rated), int(np.count_nonzero(rated > 1)), float(np.median(rated)) if len(rated) else 0.0, sides,
        pl.DataFrame(rows, schema=SCHEMAS["groups"], orient="row"), int(np.count_nonzero(divisible)),
    )  # fmt: skip


def _per_item(ratings: Ratings, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many ratings by some raters each item has."""
    item = ratings.item_codes[chosen[ratings.codes_of_raters]]
    return np.bincount(item, minlength=ratings.n_items).astype(np.int64, copy=False)


def _group_row(ratings: Ratings, one: Sides, own: NDArray[np.int64]) -> tuple[Any, ...]:
    rest = _per_item(ratings, one.codes == REST)
    given = own[own > 0]
    median = float(np.median(given)) if len(given) else 0.0
    shared = int(np.count_nonzero((own > 0) & (rest > 0)))
    cohesion = GroupAgreement.of(ratings, Grouping.of(ratings, one.codes, 2)).why("gai", GROUP, one.n_raters) or YES
    tables, values = Responses.of(ratings, one.codes, 2, resolve(ratings, CROWD)).observed()
    responsiveness = scale = YES
    if not tables[GROUP].any():
        responsiveness = undefined.NO_COMMON_ITEM
    elif math.isnan(values[GROUP, MEASURES.index("mpa")]):
        responsiveness = "the rest gave the same point to every item"
    elif np.count_nonzero(tables[GROUP].any(axis=1)) == 1:
        responsiveness = undefined.ONE_SCORE
    if not shared:
        scale = undefined.NO_COMMON_ITEM
    elif one.n_groups < MODEL_RATERS:
        scale = f"the axis shows {one.n_groups} groups, but a model needs {MODEL_RATERS}"
    return (
        one.axis, one.group, one.n_raters, int(own.sum()), median, int(np.count_nonzero(own > 1)), shared,
        cohesion, responsiveness, scale, 0,
    )  # fmt: skip


# Lenses -------------------------------------------------------------------------------------------------------------


def lens_rows(ratings: Ratings, facts: Facts) -> list[tuple[str, ...]]:
    """Return for each lens whether it applies, why, and what to do next."""
    totals = () if ratings.has_raters else (NO, "the table holds totals, not who rated what", _GIVE_RATERS)
    unpaired = () if facts.n_pairable else (NO, "no item has two ratings", "have at least two raters rate each item")
    apart = totals or unpaired
    items, text = counted(facts.n_items, "item"), _text_column(ratings)
    without = "give texts of items with --items, ask models"
    ask = without if text is None else f"ask models about the column {text!r}"
    found = (
        apart or _groups_say(ratings, facts, "cohesion", "only the agreement of all raters can be measured"),
        apart or _against_crowd(ratings, facts),
        totals or (
            NO, f"there are no ratings of trained raters; {items} could be compared with them",
            "give ratings of trained raters with --reference",
        ),
        totals or _psychometrics(ratings),
        (
            NO, f"there are no predictions; {items} with a median of {facts.per_item:g} ratings could score them",
            "give predicted distributions with plurivox score",
        ),
        (NO, f"there are no answers by language models to {items}", f"{ask} with plurivox ask, then plurivox align"),
        _items(ratings, facts),
    )  # fmt: skip
    return [(lens, *rest) for lens, rest in zip(LENSES, found, strict=True)]


_Says = tuple[str, str, str]


def _groups_say(ratings: Ratings, facts: Facts, lens: str, without: str) -> _Says:
    """Say whether a lens for groups applies; ``without`` is what it can do if there are none."""
    if not facts.sides:
        if ratings.raters.width == 1:
            return PARTLY, f"raters have no attributes, so {without}", "give rater attributes with --raters"
        return PARTLY, f"no group may be shown, so {without}", "recruit more raters, or name axes with --by"
    n, able = len(facts.sides), facts.groups.filter(pl.col(lens) == YES).height
    if able < n:
        words = f"it applies to {able} of {counted(n, 'group')}"
        return (PARTLY if able else NO), words, "the table of groups shows what is too small"
    axes = len({one.axis for one in facts.sides})
    return YES, f"{counted(n, 'group')} on {counted(axes, 'axis', 'axes')}", f"run plurivox {lens}"


def _against_crowd(ratings: Ratings, facts: Facts) -> _Says:
    applies, why, following = _groups_say(
        ratings, facts, "responsiveness", "only individual raters can be compared with the others"
    )
    if applies == YES and len(ratings.scale) == 2:
        return PARTLY, "the scale has 2 points, so MPA has a single step", "read WRA, or rate on more points"
    return applies, why, following


def _psychometrics(ratings: Ratings) -> _Says:
    n_raters = len(np.unique(ratings.codes_of_raters))
    share = _share_of_pairs(ratings)
    if n_raters < MODEL_RATERS:
        return NO, f"it compares raters, and {counted(n_raters, 'rater')} rated", "recruit at least 3 raters"
    if not share:
        return NO, "no two raters rated the same item", "have raters rate items in common"
    words = f"{share:.0%} of the pairs of raters have items in common"
    if n_raters * ratings.n_items > MAX_CELLS:
        return PARTLY, "there are too many raters and items to analyse individual raters", "use groups with --by"
    if share < 0.5:
        return PARTLY, words, "have raters rate more items in common, or use groups with --by"
    return YES, words, "run plurivox scale"


def _items(ratings: Ratings, facts: Facts) -> _Says:
    if not facts.n_items:
        return NO, "no item has a rating", "collect ratings"
    if not facts.n_divisible:
        return (
            PARTLY, "items that deserve more ratings can be found, but not items that divide groups",
            "have more raters of each group rate the same items" if ratings.has_raters else _GIVE_RATERS,
        )  # fmt: skip
    words = f"two groups gave enough ratings to compare on {counted(facts.n_divisible, 'item')}"
    return YES, words, "run plurivox items"


def _text_column(ratings: Ratings) -> str | None:
    """Return the column of items that holds their texts, if there is one."""
    columns = [name for name in ratings.items.columns[1:] if ratings.items[name].dtype == pl.String]
    if "text" in columns:
        return "text"
    lengths = {name: ratings.items[name].str.len_chars().mean() for name in columns}
    return next((name for name, n in lengths.items() if isinstance(n, float) and n >= _TEXT_LENGTH), None)


def _share_of_pairs(ratings: Ratings) -> float:
    """Return the share of pairs of raters who rated an item in common; with very many raters, from a sample."""
    raters = np.unique(ratings.codes_of_raters)
    chosen = raters[np.unique(np.linspace(0, len(raters) - 1, _SAMPLE).astype(np.int64))] if len(raters) else raters
    if len(chosen) < 2:
        return 0.0
    place = np.full(ratings.n_raters, -1)
    place[chosen] = np.arange(len(chosen))
    common = np.zeros((len(chosen), len(chosen)), np.float32)
    for first in range(0, ratings.n_items, _ITEM_BLOCK):
        last = min(first + _ITEM_BLOCK, ratings.n_items)
        entries = slice(ratings.offsets[first], ratings.offsets[last])
        who, item = place[ratings.codes_of_raters[entries]], ratings.item_codes[entries] - first
        rated = np.zeros((len(chosen), last - first), np.float32)
        rated[who[who >= 0], item[who >= 0]] = 1
        common += rated @ rated.T
    above = np.triu_indices(len(chosen), 1)
    return float(np.mean(common[above] > 0))
