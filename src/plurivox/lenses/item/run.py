"""The view of one item: which scores it got, from whom, and which groups stand apart by more than chance."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import Kind, fits, is_text
from plurivox.base.errors import SelectionError
from plurivox.base.wording import counted, listed
from plurivox.domain.attributes import as_categories, clean, id_texts, places_of
from plurivox.domain.axis import OUTSIDE, Axis, By, Members
from plurivox.domain.ratings import Ratings
from plurivox.engine.counting import Counts, counts_of, weighted_counts_of
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running, batched
from plurivox.infer.exchange import Exchange
from plurivox.infer.families import SIGNIFICANT, corrected
from plurivox.infer.grouping import Grouping, compared, exchangeable, named_axes, overlapping_axes, together
from plurivox.infer.keywords import keywords
from plurivox.infer.permutation import upper_p
from plurivox.infer.result import Table
from plurivox.infer.weighting import tells_unweighted, weights_in
from plurivox.lenses.item.result import ItemRow, ItemView
from plurivox.lenses.item.settings import ItemViewSettings
from plurivox.lenses.items.dividing import family

CLOSE = 3
"""The most similar ids suggested for an unknown one."""
_CANDIDATES = 5_000  # ids to compare it with: each takes some microseconds
_COST = 5e-8  # seconds that a rater takes in a shuffle, roughly
FEW_DIFFER = "withheld, since few raters are said to differ on this item"
_EQUAL = 1e-12  # of the scale's length: means that differ by less are the same up to rounding

Floats = NDArray[np.float64]
Strata = NDArray[np.int32] | None

_GROUPS = {
    "axis": pl.String, "group": pl.String, "plurality": pl.String, "mean": pl.Float64, "difference": pl.Float64,
    "value": pl.Float64, "null_median": pl.Float64, "p_value": pl.Float64, "p_adjusted": pl.Float64,
    "p_adjusted_items": pl.Float64, "direction": pl.String, "n_ratings": pl.Int64, "note": pl.String,
}  # fmt: skip
_DISTRIBUTION = {
    "axis": pl.String, "group": pl.String, "point": pl.String, "n_ratings": pl.Int64, "share": pl.Float64,
}  # fmt: skip


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
    sorted_raters = _sorted_raters(ratings, by, settings.several, place)
    rated = np.zeros(ratings.n_raters, dtype=bool)
    rated[sorted_raters[0].raters if sorted_raters else []] = True
    study = together(compared(ratings, by, settings.several, settings.min_group_size), rated)
    hidden = [one.withheld for own in study for one in own.each]
    rows: list[ItemRow] = []
    parts: list[tuple[str, str, Counts, NDArray[Any]]] = [("all", "all", whole, weighed)]
    strata = Exchange.of(ratings, settings.within).strata if by else None
    for one, unseen in zip(sorted_raters, hidden, strict=True):
        shown = np.flatnonzero((one.sizes > 0) & ~unseen & one.listed)
        rows += _compared(one, shown, ratings, strata, settings, how)
        parts += [(one.axis.name, one.axis.groups[g], one.counts[g], one.weighed[g]) for g in shown.tolist()]
    among = _among_items(ratings, place, strata, settings, how) if by else {}
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
    tables = (
        Table("groups", pl.DataFrame([{name: one[name] for name in schema} for one in (everyone, *groups)], schema)),
        Table("distribution", _distribution(parts, ratings)),
        Table("use", _use(whole, weighed, ratings)[: 0 if told else None]),
        Table("attributes", _attributes(ratings, place)),
    )
    asked = {
        "item": str(id_texts(ratings.items["item"].slice(place, 1))[0]), "n_items": ratings.n_items,
        "has_raters": ratings.has_raters, "by": named_axes(by),
        "several": sorted(settings.several), "points": [str(label) for label in ratings.scale.labels],
        "values": list(ratings.scale.values), "permutations": settings.permutations, "seed": settings.seed,
        "within": None if settings.within is None else list(settings.within), "fixed": settings.fixed,
        "min_group_size": settings.min_group_size, **_uncounted(sorted_raters, hidden),
        **remembered,
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


class _Sorted(NamedTuple):
    """The raters of an item sorted along one axis.

    ``raters``, ``codes`` and ``scores`` have one entry per rating, ``counts`` are groups × points; of overlapping
    groups, only the group itself is ``listed``, not its rest. ``weighed`` has weights instead of counts, where raters
    have any.
    """

    axis: Axis
    raters: NDArray[np.int32]
    codes: NDArray[np.int32]
    scores: Counts
    counts: Counts
    listed: Members
    weighed: NDArray[Any]

    @property
    def sizes(self) -> Counts:
        """How many raters of the item each group has."""
        sizes: Counts = self.counts.sum(axis=1)
        return sizes


def _sorted_raters(ratings: Ratings, by: Sequence[By], several: Mapping[str, str], place: int) -> list[_Sorted]:
    """Sort the raters of an item along each axis, and along each value of an attribute that may have several."""
    if any("rater" in ([one] if isinstance(one, str) else one) for one in by):
        raise SelectionError(
            "an item's view compares groups, not raters", hint="Ratings.to_frame() lists who rated it."
        )
    if not by:
        return []
    overlapping = overlapping_axes(by, several, pairs=False)
    own = ratings.of_items(place, place + 1)
    raters, scores = own.raters, own.scores.astype(np.int64)
    return [
        _Sorted(
            axis, raters, axis.codes[raters], scores, counts_of(ratings, axis, place, place + 1)[0],
            np.arange(len(axis)) < (1 if one.overlapping else len(axis)),
            (counts_of if ratings.weights is None else weighted_counts_of)(ratings, axis, place, place + 1)[0],
        )
        for one in compared(ratings, by, overlapping, 1)
        for axis in one.each
    ]  # fmt: skip


def _compared(
    one: _Sorted, shown: NDArray[np.intp], ratings: Ratings, strata: Strata, settings: ItemViewSettings, how: Running
) -> list[ItemRow]:
    """Return a row for each shown group of an axis, with its distance from the others and what shuffling gives."""
    values, total = np.array(ratings.scale.values), one.weighed.sum(axis=0)
    length = values[-1] - values[0]
    steps = np.diff(values) / length
    observed = _distances(one.weighed[shown], total, steps)
    plain = _distances(one.counts[shown], one.counts.sum(axis=0), steps)
    work = DistanceShuffles.of(ratings, one, shown, steps, strata, settings)
    null = work.distances(how) if len(shown) else np.empty((0, 0))
    moved = exchangeable(one.codes, len(one.axis), None if strata is None else strata[one.raters])
    rows = []
    for at, g in enumerate(shown.tolist()):
        own = one.weighed[g]
        row = ItemRow(
            "group", one.axis.name, one.axis.groups[g], "distance", float(observed[at]),
            unweighted=None if ratings.weights is None else float(plain[at]), **_given(one.counts[g], own, ratings),
        )  # fmt: skip
        if one.counts[g].sum() == one.counts.sum():
            rows.append(replace(row, note="nobody else on this axis rated the item"))
            continue
        rest = total - own
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


@dataclass(frozen=True, slots=True, eq=False)
class DistanceShuffles:
    """The raters of an item, shuffled between the groups of an axis, and how far the shown groups are from the others.

    ``raters`` and ``scores`` have one entry per rater of the axis, ``counts`` are groups × points.
    """

    grouping: Grouping
    raters: NDArray[np.int32]
    scores: Counts
    counts: Counts
    shown: NDArray[np.intp]
    steps: Floats
    draws: Draws

    @classmethod
    def of(
        cls, ratings: Ratings, one: _Sorted, shown: NDArray[np.intp], steps: Floats, strata: Strata,
        settings: ItemViewSettings,
    ) -> DistanceShuffles:  # fmt: skip
        """Shuffle only those who rated the item and have a value on the axis."""
        inside = one.codes != OUTSIDE
        among = np.zeros(ratings.n_raters, dtype=bool)
        among[one.raters[inside]] = True
        grouping = Grouping.of(ratings, one.axis.codes, len(one.axis), strata, among)
        draws = Draws.permuted(settings.permutations, settings.seed)
        return cls(grouping, one.raters[inside], one.scores[inside], one.counts, shown, steps, draws)

    def distances(self, how: Running) -> Floats:
        """Return the distances under each permutation, permutations × shown groups."""
        if not self.draws.total:
            return np.empty((0, len(self.shown)))
        width = max(len(self.grouping.codes), self.counts.size)
        return np.concatenate(batched(self, self.draws.total, how, cost=width * _COST, width=width))

    def __call__(self, first: int, last: int) -> Floats:
        """Return the distances under permutations ``first`` to ``last``, counted from 0."""
        n, (n_groups, n_points) = last - first, self.counts.shape
        some = self.draws.between(first, last)
        labels = self.grouping.labels(some)[:, self.raters].astype(np.int64)
        cells = (np.arange(n)[:, np.newaxis] * n_groups + labels) * n_points + self.scores
        if len(self.grouping.weights):  # which move with the groups
            weights = self.grouping.rater_weights(some)[:, self.raters]
            moved = np.bincount(cells.ravel(), weights.ravel(), n * self.counts.size).reshape(n, n_groups, n_points)
            return _distances(moved[:, self.shown], moved.sum(axis=1, keepdims=True), self.steps)
        counts = np.bincount(cells.ravel(), minlength=n * self.counts.size).reshape(n, n_groups, n_points)
        return _distances(counts[:, self.shown], self.counts.sum(axis=0), self.steps)


def _among_items(
    ratings: Ratings, place: int, strata: Strata, settings: ItemViewSettings, how: Running
) -> dict[tuple[str, str], float]:
    """Return p of each group by axis and name, corrected over all items and groups, as the list of items has it."""
    if settings.fixed or not settings.permutations or ratings.n_items == 1:
        return {}
    ratings = ratings.unweighted()  # as the list of items counts them
    axes = compared(ratings, settings.by, settings.several, settings.min_group_size)
    draws = Draws.permuted(settings.permutations, settings.seed)
    return family(ratings, axes, strata, draws, how.doing("items")).of_item(ratings, place, draws, how)


def _given(counts: Counts, weighed: NDArray[Any], ratings: Ratings) -> dict[str, Any]:
    """Return what raters gave: the points with most weight, their mean, and how many ratings."""
    values, most = np.array(ratings.scale.values), weighed.max() - _EQUAL * weighed.sum()
    top = [str(label) for label, n in zip(ratings.scale.labels, weighed.tolist(), strict=True) if n >= most]
    mean = float(weighed @ values / weighed.sum())
    beside = {} if ratings.weights is None else {"unweighted_mean": float(counts @ values / counts.sum())}
    return {"plurality": ", ".join(top), "mean": mean, "n_ratings": int(counts.sum()), **beside}


def _distribution(parts: Sequence[tuple[str, str, Counts, NDArray[Any]]], ratings: Ratings) -> pl.DataFrame:
    """Return how often each group gave each point, and its share, weighted where raters have weights."""
    cells = [
        (axis, group, str(label), n, w / weighed.sum(), n / int(counts.sum()))
        for axis, group, counts, weighed in parts
        for label, n, w in zip(ratings.scale.labels, counts.tolist(), weighed.tolist(), strict=True)
    ]
    frame = pl.DataFrame(cells, schema={**_DISTRIBUTION, "unweighted": pl.Float64}, orient="row")
    return frame.drop("unweighted") if ratings.weights is None else frame


def _use(whole: Counts, weighed: NDArray[Any], ratings: Ratings) -> pl.DataFrame:
    """Return how often each point was given to the item, and its share among all ratings of the study."""
    study = ratings.used()
    shares = weighed / weighed.sum()
    frame = pl.DataFrame(
        {
            "point": [str(label) for label in ratings.scale.labels], "n_ratings": whole,
            "share": shares, "share_of_study": study / study.sum(),
        },
        schema={"point": pl.String, "n_ratings": pl.Int64, "share": pl.Float64, "share_of_study": pl.Float64},
    )  # fmt: skip
    return frame if ratings.weights is None else frame.with_columns(unweighted=whole / whole.sum())


def _attributes(ratings: Ratings, place: int) -> pl.DataFrame:
    """Return what is known about an item, as text."""
    row = ratings.items.slice(place, 1)
    values = {name: as_categories(clean(row[name]))[0] for name in row.columns[1:]}
    known = [(name, value) for name, value in values.items() if value is not None]
    return pl.DataFrame(known, schema={"name": pl.String, "value": pl.String}, orient="row")


def _uncounted(axes: Sequence[_Sorted], hidden: Sequence[Members]) -> dict[str, dict[str, int]]:
    """Count per axis the groups that are withheld, and the item's raters who are in none."""
    withheld: dict[str, int] = {}
    outside: dict[str, int] = {}
    for one, unseen in zip(axes, hidden, strict=True):
        name = one.axis.name
        withheld[name] = withheld.get(name, 0) + int(np.count_nonzero(unseen & one.listed & (one.sizes > 0)))
        outside[name] = int(np.count_nonzero(one.codes == OUTSIDE))
    return {"withheld": withheld, "outside": outside}
