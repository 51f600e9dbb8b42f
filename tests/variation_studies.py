"""Studies of who rates higher, and the same values by least squares with item dummies, loops and matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import plurivox as pv
import reference as twin
from plurivox.domain.axis import Axis
from plurivox.infer.grouping import Grouping
from plurivox.lenses.variation.sums import GroupLeniency

FEW: dict[str, Any] = {"permutations": 0, "interval": "none", "min_group_size": 1}
Rows = list[twin.Rating]

# Studies: crossed, where items have more than four times as many ratings as points; sparse, where they have fewer; of
# very many points, where single ratings are looked up; and with gaps of every size.
SHAPES: dict[str, dict[str, Any]] = {
    "crossed": {"n_items": 8, "n_raters": 26, "missing": 0.0, "values": [0, 1, 2, 7]},
    "sparse": {"n_items": 24, "n_raters": 22, "missing": 0.75, "values": [1, 2, 3, 4, 5]},
    "many points": {"n_items": 20, "n_raters": 18, "missing": 0.6, "values": list(range(101))},
    "mixed": {"n_items": 14, "n_raters": 40, "missing": 0.5, "values": [-1, 0, 3], "uneven": True},
}


def study(seed: int, shape: str = "sparse", **changed: Any) -> pv.Ratings:
    """Return ratings of raters with two attributes, of which some are missing."""
    asked = {**SHAPES[shape], **changed}
    n_items, n_raters, values = asked["n_items"], asked["n_raters"], asked["values"]
    rng = np.random.default_rng(seed)
    missing = np.full(n_items, asked["missing"])
    if asked.get("uneven"):
        missing = np.linspace(0.0, 0.95, n_items)
    rated = rng.random((n_items, n_raters)) >= missing[:, np.newaxis]
    rated[:, :2] |= ~rated.any(axis=1, keepdims=True)
    rated[0] |= ~rated.any(axis=0)
    item, rater = np.nonzero(rated)
    latent = rng.normal(size=n_items)[item] + 0.7 * rng.normal(size=n_raters)[rater] + rng.normal(size=len(item))
    place = np.searchsorted(np.linspace(-2, 2, len(values) - 1), latent)
    frame = pl.DataFrame({"item": item, "rater": rater, "score": np.array(values)[place]})
    g = np.array(["x", "y", "z"])[np.arange(n_raters) % 3]
    h = rng.choice(["p", "q", "r"], n_raters)
    known = asked["missing"] == 0
    raters = pl.DataFrame({
        "rater": range(n_raters),
        "g": [None if k == 7 and not known else str(one) for k, one in enumerate(g)],
        "h": [None if k in (3, 7) and not known else str(one) for k, one in enumerate(h)],
    })  # fmt: skip
    items = pl.DataFrame({"item": range(n_items), "topic": ["a" if i % 3 else "b" for i in range(n_items)]})
    return pv.Ratings.from_frame(frame, scale=pv.Scale(values), raters=raters, items=items)


def rows_of(ratings: pv.Ratings, keep: Callable[[Any, Any], bool] = lambda item, rater: True) -> Rows:
    """Return items, raters and scores as numbers."""
    rows = ratings.to_frame().select("item", "rater", "score").rows()
    return [(item, rater, float(score)) for item, rater, score in rows if keep(item, rater)]


def groups_of(ratings: pv.Ratings, name: str) -> dict[Any, Any]:
    return dict(ratings.raters.select("rater", name).rows())


def lenient(rows: Rows, group: dict[Any, Any], one: Any) -> float:
    """Return a group's coefficient in a regression with item dummies, of raters whose group is known."""
    inside = [row for row in rows if group[row[1]] is not None]
    found = twin.absorbed(inside, [lambda rater: group[rater] == one])
    return math.nan if found is None else float(found[0])


def dominant(rows: Rows, group: dict[Any, Any], one: Any) -> float:
    found = twin.dominance(rows, group, one)
    return math.nan if found is None else found


def measured(ratings: pv.Ratings, name: str = "g", strata: Any = None) -> tuple[GroupLeniency, Axis]:
    axis = Axis.of(ratings, name, min_group_size=1)
    return GroupLeniency(ratings, Grouping.of(ratings, axis.codes, len(axis), strata)), axis


def fitted(
    rows: Rows, attributes: dict[str, dict[Any, Any]], references: dict[str, str]
) -> dict[tuple[str, str], float]:
    """Return the effects of all attributes at once by least squares with item dummies; raters who lack one left out."""
    inside = [row for row in rows if all(own[row[1]] is not None for own in attributes.values())]
    names = [
        (attribute, group) for attribute, own in attributes.items()
        for group in sorted({own[rater] for _, rater, _ in inside}) if group != references[attribute]
    ]  # fmt: skip
    columns = [lambda rater, at=at: attributes[at[0]][rater] == at[1] for at in names]
    found = twin.absorbed(inside, columns)
    return dict(zip(names, [math.nan] * len(names) if found is None else found.tolist(), strict=True))
