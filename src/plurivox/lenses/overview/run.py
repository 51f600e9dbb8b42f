"""Overview: the design of a study, how groups use the scale, and how raters answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.cards import plain_grid
from plurivox.base.wording import counted, named
from plurivox.domain.axis import names_raters
from plurivox.domain.panel import PanelSummary
from plurivox.domain.ratings import Ratings
from plurivox.engine.pool import Running
from plurivox.infer.grouping import compared
from plurivox.infer.lens import keywords
from plurivox.infer.result import Statement
from plurivox.infer.view import Column, View, columns
from plurivox.lenses.overview.description import (
    Description,
    DescriptionSettings,
    OverviewSettings,
    describe,
    description_html,
)

CELLS = 48
"""The most rows and columns in the picture of the design."""
SHOWN_POINTS = 10
"""The most points whose use a notebook shows."""
QUANTILES = {"low": 0.1, "median": 0.5, "high": 0.9}


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False)
class Overview:
    """What a study looks like.

    Attributes
    ----------
    description
        Sizes, gaps and groups, as :func:`plurivox.describe` gives them.
    design
        Rectangles of raters × items, those with most ratings first: ``rater_from``, ``rater_to``, ``item_from``,
        ``item_to``, and the ``share`` of their pairs that was rated. Empty for totals.
    usage
        How often each group gave each point: ``axis``, ``group``, ``point``, ``position``, ``n_ratings``, ``share``.
    styles
        How raters of each group answer: the share of their ratings at the two ends of the scale (``ends_low``,
        ``ends_median``, ``ends_high``: its 10 %, 50 % and 90 % quantile over raters), the median share in the middle,
        and the share of raters who only ever gave one score.
    """

    description: Description
    design: pl.DataFrame
    usage: pl.DataFrame
    styles: pl.DataFrame

    def statements(self) -> list[Statement]:
        """Return what to know about the table itself."""
        return self.description.statements()

    def findings(self) -> list[str]:
        """Return what to know about the table itself, one sentence each."""
        return self.description.findings()

    def _repr_html_(self) -> str:
        """Show sizes and groups in a notebook, and how groups use the scale; ids of raters are not shown."""
        rows = []
        for (axis, group), own in self.usage.group_by("axis", "group", maintain_order=True):
            if not names_raters(str(axis)):
                rows.append([named(str(axis), str(group)), *(f"{share:.0%}" for share in own["share"][:SHOWN_POINTS])])
        points = self.description.points
        cut = f", the first {SHOWN_POINTS} of {len(points):,} points" if len(points) > SHOWN_POINTS else ""
        use = plain_grid(["raters", *points[:SHOWN_POINTS]], rows, title=f"Use of the scale{cut}")
        return description_html(self.description, use, kind="Overview")

    def __repr__(self) -> str:
        about = self.description
        return f"<Overview: {counted(about.n_ratings, 'rating')} of {counted(about.n_items, 'item')}>"


@keywords(OverviewSettings, weights=True)
def overview(ratings: Ratings, *, settings: OverviewSettings, how: Running) -> Overview:
    """Show how a study is designed and how its raters use the scale.

    Examples
    --------
    >>> import plurivox as pv
    >>> seen = pv.overview(pv.simulate(n_items=30, n_raters=20).ratings, by="gender")
    >>> seen.design["share"].to_list()[:2]
    [1.0, 1.0]
    """
    described = describe.run(ratings, settings=DescriptionSettings(**settings.as_dict()), how=how)
    totals = ratings.used()
    usage, styles = [_usage("all", "all", totals, ratings)], []
    if ratings.has_raters:
        profile = ratings.profiles(np.arange(ratings.n_raters, dtype=np.int32), ratings.n_raters)  # raters × points
        styles.append(_style("all", "all", profile))
        for one in compared(ratings, settings.by, settings.several, settings.min_group_size):
            for axis, places in one.shown:
                for g in places:
                    own = profile[axis.codes == g]
                    usage.append(_usage(axis.name, axis.groups[g], own.sum(axis=0), ratings))
                    styles.append(_style(axis.name, axis.groups[g], own))
    return Overview(described, _design(ratings), pl.concat(usage), pl.DataFrame(styles, schema=_STYLE_SCHEMA))


def _usage(axis: str, group: str, counts: NDArray[np.int64], ratings: Ratings) -> pl.DataFrame:
    n, points = len(counts), [str(label) for label in ratings.scale.labels]
    return pl.DataFrame({
        "axis": [axis] * n, "group": [group] * n, "point": points, "position": np.arange(n), "n_ratings": counts,
        "share": counts / max(int(counts.sum()), 1),
    })  # fmt: skip


_STYLE_SCHEMA = {
    "axis": pl.String, "group": pl.String, "n_raters": pl.Int64, "ends_low": pl.Float64, "ends_median": pl.Float64,
    "ends_high": pl.Float64, "middle_median": pl.Float64, "one_score": pl.Float64,
}  # fmt: skip


def _style(axis: str, group: str, profile: NDArray[np.int64]) -> dict[str, Any]:
    """Return the response style of some raters; those without a rating are left out."""
    profile = profile[profile.sum(axis=1) > 0]
    n_points = profile.shape[1]
    share = profile / profile.sum(axis=1, keepdims=True)
    ends = share[:, [0, -1]].sum(axis=1)
    middle = share[:, (n_points - 1) // 2 : n_points // 2 + 1].sum(axis=1)
    defined = n_points > 2 and len(profile) > 0  # two points are both ends
    return {
        "axis": axis, "group": group, "n_raters": len(profile),
        **{f"ends_{name}": float(np.quantile(ends, q)) if defined else None for name, q in QUANTILES.items()},
        "middle_median": float(np.median(middle)) if defined else None,
        "one_score": float(np.mean((profile > 0).sum(axis=1) == 1)) if len(profile) else None,
    }  # fmt: skip


def _design(ratings: Ratings) -> pl.DataFrame:
    """Return the picture of who rated what."""
    schema = {"rater_from": pl.Int64, "rater_to": pl.Int64, "item_from": pl.Int64, "item_to": pl.Int64,
              "share": pl.Float64}  # fmt: skip
    if not ratings.has_raters or not len(ratings):
        return pl.DataFrame(schema=schema)
    rater_bin, rater_edges = _binned(ratings.per_rater())
    item_bin, item_edges = _binned(np.diff(ratings.offsets))
    n_items = len(item_edges) - 1
    cells_rated = np.zeros((len(rater_edges) - 1) * n_items, np.int64)
    for part in ratings.parts():
        cells = rater_bin[part.raters] * n_items + item_bin[part.items][part.item_of_each()]
        cells_rated += np.bincount(cells, minlength=len(cells_rated))
    rated = cells_rated.reshape(-1, n_items)
    pairs = np.diff(rater_edges)[:, np.newaxis] * np.diff(item_edges)
    rater, item = (one.ravel() for one in np.indices(rated.shape))
    return pl.DataFrame({
        "rater_from": rater_edges[rater] + 1, "rater_to": rater_edges[rater + 1],
        "item_from": item_edges[item] + 1, "item_to": item_edges[item + 1], "share": (rated / pairs).ravel(),
    }, schema=schema)  # fmt: skip


def _binned(numbers: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort by size, the largest first, and return each one's bin and the edges of the bins."""
    n = len(numbers)
    edges = np.unique(np.linspace(0, n, min(n, CELLS) + 1).astype(np.int64))
    place = np.empty(n, dtype=np.int64)
    place[np.argsort(-numbers, kind="stable")] = np.arange(n)
    return np.searchsorted(edges, place, side="right") - 1, edges


def panel_view(panel: PanelSummary) -> View:
    """Return the shares of panel and population, and the weight of a rater in each group."""
    header = ["attribute", "value", "raters", *columns(".1%", ("panel", "population", "weighted"))]
    names = ("attribute", "value", "n_raters", "panel_share", "population_share", "weighted_share", "mean_weight")
    rows = [[getattr(cell, name) for name in names] for cell in panel.cells]
    return View("Panel against population", [*header, Column("weight of each", ".2f")], rows)
