"""The view of one item: which scores it got, from whom, and which groups stand apart by more than chance."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import Kind, fits, is_text
from plurivox.base.errors import SelectionError
from plurivox.base.settings import Axes
from plurivox.base.wording import counted, listed
from plurivox.domain.attributes import as_categories, clean, id_texts, places_of
from plurivox.domain.axis import OUTSIDE, Axis
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Counts, Draws, counts_of, weighted_counts_of
from plurivox.engine.pool import Running, batched
from plurivox.infer.call import Call
from plurivox.infer.claims import tells_unweighted, weights_in
from plurivox.infer.families import SIGNIFICANT, corrected
from plurivox.infer.grouping import Grouping, exchangeable, named_axes, together
from plurivox.infer.lens import keywords
from plurivox.infer.permutation import upper_p
from plurivox.infer.result import Table
from plurivox.lenses.item import ItemViewSettings
from plurivox.lenses.item.result import ItemRow, ItemView
from plurivox.lenses.items.dividing import family

CLOSE = 3
"""The most similar ids suggested for an unknown one."""
_CANDIDATES = 5_000  # ids to compare it with: each takes some microseconds
_COST = 5e-8  # seconds that a rater takes in a shuffle, roughly
FEW_DIFFER = "withheld, since few raters are said to differ on this item"
_EQUAL = 1e-12  # of the scale's length: means that differ by less are the same up to rounding

Floats = NDArray[np.float64]
Scores = tuple[str, str, Counts, NDArray[Any]]
"""An axis, a group, how many of its raters gave the item each point, and their weights."""

_GROUPS = {
    "axis": pl.String, "group": pl.String, "plurality": pl.String, "mean": pl.Float64, "difference": pl.Float64,
    "value": pl.Float64, "null_median": pl.Float64, "p_value": pl.Float64, "p_adjusted": pl.Float64,
    "p_adjusted_items": pl.Float64, "direction": pl.String, "n_ratings": pl.Int64, "note": pl.String,
}  # fmt: skip
_DISTRIBUTION = {
    "axis": pl.String, "group": pl.String, "point": pl.String, "n_ratings": pl.Int64, "share": pl.Float64,
}  # fmt: skip
_USE = {"point": pl.String, "n_ratings": pl.Int64, "share": pl.Float64, "share_of_study": pl.Float64}


ItemId = Annotated[
    str | float, Kind("the id of an item", lambda one: is_text(one) or (fits(one, float) and math.isfinite(one)))
]


@keywords(ItemViewSettings, weights=True)
def item_view(ratings: Ratings, item: ItemId, *, settings: ItemViewSettings, how: Running) -> ItemView:
    """Show one item: the scores it got, from which groups, and which groups stand apart by more than chance.

    A group is compared with the item's other raters on its axis, by the earth mover's distance between their
    distributions. With F the cumulative shares and v the values of the points::

        d = Σ_k |F_group(k) − F_others(k)| · (v(k+1) − v(k)) / (v(last) − v(first))

    It is 0 if both are alike and 1 if they are at opposite ends. The item's raters are shuffled between the groups of
    the axis: p = (1 + #{d* ≥ d})/(1 + permutations), corrected over all groups of the call (Benjamini and Hochberg).
    Anyone who opens an item because it differs has chosen it among all items: ``p_adjusted_items`` is the p-value of
    the group's difference of means among those of all items and groups, as in :func:`plurivox.items`, and findings rest
    on it unless the item was ``fixed``. A group that stands apart sees the item differently; who is right is another
    question.

    Parameters
    ----------
    ratings
        Who rated what. For totals, only the use of the scale is shown.
    item
        The id; ``173`` and ``"173"`` are the same.

    Raises
    ------
    SelectionError
        If there is no such item, nobody rated it, or ``by`` names something that raters lack.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=10, n_raters=40, seed=1)
    >>> view = pv.item_view(study.ratings, study.ratings.items["item"][0], by="gender", permutations=99)
    >>> view.to_frame()["n_ratings"][0]
    40
    >>> view.table("use")["n_ratings"].sum()
    40
    """
    place, remembered = _place(ratings, item), weights_in(ratings, settings.min_group_size)
    if not tells_unweighted(ratings, settings.min_group_size):
        ratings = ratings.unweighted()
    whole = counts_of(ratings, None, place, place + 1)[0, 0]
    weighed = whole if ratings.weights is None else weighted_counts_of(ratings, None, place, place + 1)[0, 0]
    if not whole.sum():
        raise SelectionError(
            f"nobody rated item {str(item)!r}", hint="It is listed, but all of its scores are missing."
        )
    by = settings.by if ratings.has_raters else ()
    rows, parts, among, hidden = _by_group(ratings, place, by, settings, how)
    parts = [("all", "all", whole, weighed), *parts]
    rows = [replace(row, p_adjusted_items=among.get((row.axis, row.group))) for row in rows]
    told = {key for key, p in among.items() if p < SIGNIFICANT} - {(row.axis, row.group) for row in rows}
    schema = (
        _GROUPS if ratings.weights is None else {**_GROUPS, "unweighted": pl.Float64, "unweighted_mean": pl.Float64}
    )
    everyone = {**dict.fromkeys(schema), "axis": "all", "group": "all", "note": ""}
    if told:  # few raters are said to differ on this item, and next to its scores that would tell theirs
        rows, parts = [], []
        everyone |= {"n_ratings": int(whole.sum()), "note": FEW_DIFFER}
    else:
        everyone |= _given(whole, weighed, ratings)
    groups = [{name: getattr(row, name) for name in schema} for row in corrected(rows, "bh")]
    study, labels = ratings.used(), [str(label) for label in ratings.scale.labels]
    use = pl.DataFrame(
        {"point": labels, "n_ratings": whole, "share": weighed / weighed.sum(), "share_of_study": study / study.sum()},
        schema=_USE,
    )
    use = use if ratings.weights is None else use.with_columns(unweighted=whole / whole.sum())
    about = ratings.items.slice(place, 1)
    told_of = {name: as_categories(clean(about[name]))[0] for name in about.columns[1:]}
    known = [(name, value) for name, value in told_of.items() if value is not None]
    tables = (
        Table("groups", pl.DataFrame([{name: one[name] for name in schema} for one in (everyone, *groups)], schema)),
        Table("distribution", _distribution(parts, ratings)),
        Table("use", use[: 0 if told else None]),
        Table("attributes", pl.DataFrame(known, schema={"name": pl.String, "value": pl.String}, orient="row")),
    )
    asked = {
        "item": str(id_texts(ratings.items["item"].slice(place, 1))[0]), "n_items": ratings.n_items,
        "has_raters": ratings.has_raters, "by": named_axes(by),
        "several": sorted(settings.several), "points": labels,
        "values": list(ratings.scale.values), "permutations": settings.permutations, "seed": settings.seed,
        "within": None if settings.within is None else list(settings.within), "fixed": settings.fixed,
        "min_group_size": settings.min_group_size, **hidden, **remembered,
    }  # fmt: skip
    return ItemView(tables, asked)


def _place(ratings: Ratings, item: str | float) -> int:
    """Return the row of an item, or raise and suggest ids with similar spelling."""
    ids = ratings.items["item"]
    place = int(places_of(pl.Series([item], strict=False), ids)[0])
    if place < 0:
        wanted, texts = str(item), id_texts(ids)
        half = max(1, len(wanted) // 2)
        if len(texts) > _CANDIDATES:
            texts = texts.filter(texts.str.starts_with(wanted[:half]) | texts.str.ends_with(wanted[-half:]))
        close = difflib.get_close_matches(wanted, texts.head(_CANDIDATES).to_list(), CLOSE)
        known = f"The study has {counted(len(ids), 'item')}."
        hint = f"Is it {listed([repr(one) for one in close], word='or')}?" if close else known
        raise SelectionError(f"there is no item {wanted!r}", source=ratings.intake.source, hint=hint)
    return place


def _by_group(
    ratings: Ratings, place: int, by: Axes, settings: ItemViewSettings, how: Running
) -> tuple[list[ItemRow], list[Scores], dict[tuple[str, str], float], dict[str, dict[str, int]]]:
    """Compare the item's raters along each axis.

    Returns their rows, their scores, p of each group corrected over all items and groups, as the list of items has it,
    and for each axis how many groups are withheld, and how many of the item's raters are in none.
    """
    if any("rater" in one for one in by):
        raise SelectionError(
            "an item's view compares groups, not raters", hint="Ratings.to_frame() lists who rated it."
        )
    call, own = Call.of(ratings, settings, how, by=by, exchanged=bool(by)), ratings.of_items(place, place + 1)
    rated = np.zeros(ratings.n_raters, dtype=bool)
    rated[own.raters if by else []] = True
    rows: list[ItemRow] = []
    parts: list[Scores] = []
    hidden: dict[str, dict[str, int]] = {"withheld": {}, "outside": {}}
    for one, axis in [(own_axes, axis) for own_axes in together(call.axes, rated) for axis in own_axes.each]:
        counts = counts_of(ratings, axis, place, place + 1)[0]
        weights = counts if ratings.weights is None else weighted_counts_of(ratings, axis, place, place + 1)[0]
        there = (counts.sum(axis=1) > 0) & (np.arange(len(axis)) < (1 if one.overlapping else len(axis)))
        shown = np.flatnonzero(there & ~axis.withheld)
        rows += _compared(call, axis, own, counts, weights, shown)
        parts += [(axis.name, axis.groups[g], counts[g], weights[g]) for g in shown.tolist()]
        n_withheld = int(np.count_nonzero(there & axis.withheld))
        hidden["withheld"][axis.name] = hidden["withheld"].get(axis.name, 0) + n_withheld
        hidden["outside"][axis.name] = int(np.count_nonzero(axis.codes[own.raters] == OUTSIDE))
    among: dict[tuple[str, str], float] = {}
    if by and settings.permutations and not settings.fixed and ratings.n_items > 1:
        draws, alike = (
            Draws.permuted(settings.permutations, settings.seed),
            ratings.unweighted(),
        )  # as items counts them
        listing = family(alike, call.axes, call.inference.exchange.strata, draws, how.doing("items"))
        among = listing.of_item(alike, place, draws, how)
    return rows, parts, among, hidden


def _compared(
    call: Call, axis: Axis, own: Part, counts: Counts, weighed: NDArray[Any], shown: NDArray[np.intp]
) -> list[ItemRow]:
    """Return a row for each shown group of an axis, with its distance from the others and what shuffling gives.

    ``counts`` and ``weighed`` are groups × points: how many raters of the item gave each, and their weights.
    """
    ratings, settings, strata = call.ratings, call.settings, call.inference.exchange.strata
    values, total = np.array(ratings.scale.values), weighed.sum(axis=0)
    length = values[-1] - values[0]
    steps = np.diff(values) / length
    observed = _distances(weighed[shown], total, steps)
    plain = _distances(counts[shown], counts.sum(axis=0), steps)
    inside = axis.codes[own.raters] != OUTSIDE
    raters, scores = own.raters[inside], own.scores[inside].astype(np.int64)
    null = np.empty((0, len(shown)))
    if len(shown) and settings.permutations:  # only those who rated the item and have a value on the axis are shuffled
        grouping = Grouping.of(ratings, axis.codes, len(axis), strata, np.isin(np.arange(ratings.n_raters), raters))
        draws, width = Draws.permuted(settings.permutations, settings.seed), max(ratings.n_raters, counts.size)
        work = partial(_shuffled, grouping, raters, scores, counts, shown, steps, draws)
        null = np.concatenate(batched(work, draws.total, call.inference.how, cost=width * _COST, width=width))
    moved = exchangeable(axis.codes[own.raters], len(axis), None if strata is None else strata[own.raters])
    rows = []
    for at, g in enumerate(shown.tolist()):
        row = ItemRow(
            "group", axis.name, axis.groups[g], "distance", float(observed[at]),
            unweighted=None if ratings.weights is None else float(plain[at]), **_given(counts[g], weighed[g], ratings),
        )  # fmt: skip
        if counts[g].sum() == counts.sum():
            rows.append(replace(row, note="nobody else on this axis rated the item"))
            continue
        rest = total - weighed[g]
        difference = row.mean - float(rest @ values / rest.sum())
        if abs(difference) <= _EQUAL * length:
            difference = 0.0
        direction = "above" if difference > 0 else "below" if difference < 0 else None
        row = replace(row, difference=difference, direction=direction)
        if not moved[g]:
            row = replace(row, note="raters cannot be shuffled between this group and others within their strata")
        elif settings.permutations:
            p = float(upper_p(observed[at], null[:, at]))
            row = replace(row, null_median=float(np.median(null[:, at])), p_value=p)
        rows.append(row)
    return rows


def _distances(counts: NDArray[Any], total: NDArray[Any], steps: Floats) -> Floats:
    """Return the earth mover's distance between each distribution and the rest of the total."""
    n = counts.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):  # 0/0 is the intended NaN
        own = np.cumsum(counts, axis=-1) / n
        rest = np.cumsum(total - counts, axis=-1) / (total.sum(axis=-1, keepdims=True) - n)
    distances: Floats = (np.abs(own - rest)[..., :-1] * steps).sum(axis=-1)
    return np.where(np.isnan(rest[..., 0]), np.nan, distances)


def _shuffled(
    grouping: Grouping, raters: NDArray[np.int32], scores: Counts, counts: Counts, shown: NDArray[np.intp],
    steps: Floats, draws: Draws, first: int, last: int,
) -> Floats:  # fmt: skip
    """Return the distances of the shown groups from the others under draws ``first`` to ``last``, draws × groups.

    ``raters`` and ``scores`` have one entry per rater of the item on the axis, ``counts`` are groups × points.
    """
    n, (n_groups, n_points) = last - first, counts.shape
    some = draws.between(first, last)
    labels = grouping.labels(some)[:, raters].astype(np.int64)
    cells = (np.arange(n)[:, np.newaxis] * n_groups + labels) * n_points + scores
    if len(grouping.weights):  # which move with the groups
        weights = grouping.rater_weights(some)[:, raters]
        moved = np.bincount(cells.ravel(), weights.ravel(), n * counts.size).reshape(n, n_groups, n_points)
        return _distances(moved[:, shown], moved.sum(axis=1, keepdims=True), steps)
    made = np.bincount(cells.ravel(), minlength=n * counts.size).reshape(n, n_groups, n_points)
    return _distances(made[:, shown], counts.sum(axis=0), steps)


def _given(counts: Counts, weighed: NDArray[Any], ratings: Ratings) -> dict[str, Any]:
    """Return what raters gave: the points with most weight, their mean, and how many ratings."""
    values, most = np.array(ratings.scale.values), weighed.max() - _EQUAL * weighed.sum()
    top = [str(label) for label, n in zip(ratings.scale.labels, weighed.tolist(), strict=True) if n >= most]
    mean = float(weighed @ values / weighed.sum())
    beside = {} if ratings.weights is None else {"unweighted_mean": float(counts @ values / counts.sum())}
    return {"plurality": ", ".join(top), "mean": mean, "n_ratings": int(counts.sum()), **beside}


def _distribution(parts: Sequence[Scores], ratings: Ratings) -> pl.DataFrame:
    """Return how often each group gave each point, and its share, weighted where raters have weights."""
    cells = [
        (axis, group, str(label), n, w / weighed.sum(), n / int(counts.sum()))
        for axis, group, counts, weighed in parts
        for label, n, w in zip(ratings.scale.labels, counts.tolist(), weighed.tolist(), strict=True)
    ]
    frame = pl.DataFrame(cells, schema={**_DISTRIBUTION, "unweighted": pl.Float64}, orient="row")
    return frame.drop("unweighted") if ratings.weights is None else frame
