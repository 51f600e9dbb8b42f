"""Ratings as soft labels: the share of an item's raters who gave each point, for all raters and for groups.

They are written as a table, as ``…_soft.tsv`` of LeWiDi 2025 (an item, a tab, a list of shares), or as the JSON of that
task: an object of items with their text, annotations, and soft and hard labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import FilePath
from plurivox.base.csv_files import write_frame
from plurivox.base.errors import InputError
from plurivox.base.files import write_text
from plurivox.base.wording import counted
from plurivox.domain.attributes import id_texts
from plurivox.domain.axis import AxisRaters, withheld_together
from plurivox.domain.predictions import SOFT, Predictions, object_text
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import group_counts
from plurivox.engine.pool import Running
from plurivox.infer.grouping import Compared, compared, overlapping_axes
from plurivox.infer.lens import keywords
from plurivox.lenses.soft import SoftLabelsSettings

ENDINGS = (".json", ".csv", ".parquet", ".jsonl", f"{SOFT}.tsv")
_KEYS = ("item", "axis", "group", "n_ratings")
_READ_BACK = ("lang", "split")  # what the task says about an item itself, apart from the text

Ints = NDArray[np.int64]


class SoftLabels(NamedTuple):
    """Soft labels, and how many labels of an item and a group are withheld."""

    frame: pl.DataFrame
    n_withheld: int

    def told(self, ratings: Ratings, least: int) -> str:
        """Say how many there are, and what is left out."""
        n = self.frame["item"].n_unique()
        unrated = ratings.n_items - n
        said = f"{counted(n, 'item')} on {ratings.scale}"
        said += f"; {counted(unrated, 'item')} without a rating left out" if unrated else ""
        few = f"with fewer than {least:,} raters of an item, or that would reveal one"
        return f"{said}; withheld {counted(self.n_withheld, 'label')} of groups {few}" if self.n_withheld else said


@keywords(SoftLabelsSettings)
def labels_of(ratings: Ratings, *, settings: SoftLabelsSettings, how: Running) -> SoftLabels:
    """Return the soft labels of all raters, and of groups, with how many are withheld."""
    names = [str(label) for label in ratings.scale.labels]
    taken = [name for name in names if name in _KEYS]
    if taken:
        raise InputError(f"a point of the scale has the name of a column, {taken[0]!r}", hint="Recode the scale first.")
    groups = list(_groups(ratings, settings)) if settings.by else []
    parts = [("all", "all", ratings.counts()), *(one[:3] for one in groups)]
    frame = pl.concat(_labels(ratings, names, *part) for part in parts)
    place = pl.DataFrame({"item": id_texts(ratings.items["item"]), "_place": np.arange(ratings.n_items)})
    found = frame.join(place, on="item").sort("_place", maintain_order=True).drop("_place")
    return SoftLabels(found if settings.by else found.drop("axis", "group"), sum(hidden for *_, hidden in groups))


@keywords(SoftLabelsSettings)
def soft_labels(ratings: Ratings, *, settings: SoftLabelsSettings, how: Running) -> pl.DataFrame:
    """Return the share of each item's raters who gave each point.

    One row per rated item, with ``n_ratings`` and a column for each point, named after it. With groups, rows of all
    raters have axis and group ``"all"``. Groups with fewer than ``min_group_size`` raters of an item are left out, and
    so are those from which a small one could be worked out.

    Examples
    --------
    >>> import plurivox as pv
    >>> frame = pl.DataFrame({"item": ["a", "a", "b"], "rater": ["x", "y", "x"], "score": [1, 2, 2]})
    >>> soft_labels(Ratings.from_frame(frame, scale=pv.Scale.range(1, 2))).rows()
    [('a', 2, 0.5, 0.5), ('b', 1, 0.0, 1.0)]
    """
    return labels_of.run(ratings, settings=settings, how=how).frame


def _labels(ratings: Ratings, names: Sequence[str], axis: str, group: str, counts: Ints) -> pl.DataFrame:
    n = counts.sum(axis=1)
    rated = np.flatnonzero(n)
    keys = pl.DataFrame({"item": id_texts(ratings.items["item"]).gather(rated), "n_ratings": n[rated]})
    shares = pl.DataFrame(counts[rated] / n[rated, np.newaxis], schema=dict.fromkeys(names, pl.Float64))
    keys = keys.with_columns(axis=pl.lit(axis, pl.String), group=pl.lit(group, pl.String)).select(_KEYS)
    return keys.hstack(shares)


def _groups(ratings: Ratings, settings: SoftLabelsSettings) -> Iterator[tuple[str, str, Ints, int]]:
    """Yield the axis and name of a group, its counts, and on how many items that it rated it may not be shown.

    Counts are 0 for items on which it may not be shown.
    """
    by, least = settings.by, settings.min_group_size
    axes = compared(ratings, by, overlapping_axes(by, settings.several, pairs=False), least)
    shown = _shown_on_items(ratings, axes, least)
    each = [(own, axis) for own in axes for axis in own.each]
    for at, (own, axis) in enumerate(each):
        for g in [0] if own.overlapping else range(len(axis.groups)):
            codes, n, may = np.where(axis.codes == g, 0, -1), len(ratings.scale), shown[at][:, g]
            counted = [group_counts(part, codes, 1, n)[:, 0] for part in ratings.parts()]
            counts = np.concatenate([np.zeros((0, n), np.int64), *counted])
            hidden = int(np.count_nonzero(counts.any(axis=1) & ~may))
            yield own.axis.name, axis.groups[g], counts * may[:, np.newaxis], hidden


def _shown_on_items(ratings: Ratings, axes: Sequence[Compared], least: int) -> list[NDArray[np.bool_]]:
    """Return for each axis which of its groups may be shown on which item, judging by the raters of that item alone."""
    each = [axis for own in axes for axis in own.each]
    shown = [np.zeros((ratings.n_items, len(axis.groups)), dtype=bool) for axis in each]
    decided: dict[bytes, list[NDArray[np.bool_]]] = {}
    every = ((part.first + at, part.raters[slice(*part.offsets[at : at + 2])])
             for part in ratings.parts() for at in range(part.n_items))  # fmt: skip
    for item, raters in every:
        if len(raters) < least:
            continue
        codes = np.stack([axis.codes[raters] for axis in each])
        codes = codes[:, np.lexsort(codes)]
        alike = codes.tobytes()  # only the raters' groups matter, and many items have the same raters or similar ones
        if alike not in decided:
            sides = [AxisRaters(own, axis.withheld) for own, axis in zip(codes, each, strict=True)]
            hidden = withheld_together(sides, least)
            decided[alike] = [~few & (side.sizes > 0) for side, few in zip(sides, hidden, strict=True)]
        for at, groups in enumerate(decided[alike]):
            shown[at][item] = groups
    return shown


def check_file(path: Path, by: Sequence[Any]) -> None:
    """Raise if soft labels cannot be written under a name, or not with groups."""
    if not path.name.lower().endswith(ENDINGS):
        raise InputError(
            f"cannot write soft labels to {path.name}", hint=f"Use a name that ends in {', '.join(ENDINGS)}."
        )
    if by and path.suffix.lower() == ".tsv":
        raise InputError(
            "a LeWiDi submission cannot hold groups",
            source=path.name,
            hint="Write .json or .csv, or select one group: --where gender=Woman.",
        )


@keywords(SoftLabelsSettings)
def write_soft_labels(
    ratings: Ratings, path: FilePath, *, ids: bool = False, settings: SoftLabelsSettings, how: Running
) -> Path:
    """Write the soft labels of ratings, for LeWiDi or as a table.

    Parameters
    ----------
    path
        ``labels_soft.tsv`` for an item and its shares on each line, as in submissions to LeWiDi 2025; ``labels.json``
        for the JSON of that task, which :func:`plurivox.read_ratings` reads as the same ratings; or .csv, .parquet,
        .jsonl for the table of :func:`plurivox.soft_labels`. A .tsv has no groups.
    ids
        Whether JSON names raters by their ids instead of numbering them.

    Returns
    -------
    Path
        The file.
    """
    target = Path(path)
    check_file(target, settings.by)
    return write_labels(ratings, labels_of.run(ratings, settings=settings, how=how).frame, target, ids=ids)


def write_labels(ratings: Ratings, found: pl.DataFrame, target: Path, *, ids: bool) -> Path:
    """Write soft labels made from ratings, in the format given by the file name."""
    kind = target.suffix.lower()
    if kind == ".tsv":
        labels = Predictions.from_frame(found, ratings.scale, source=ratings.intake.source)
        return labels.write_submission(target, items=found["item"].to_list())
    if kind == ".json":
        return write_text(target, object_text(_items(ratings, found, ids=ids)), [ratings.intake.source])
    write_frame(target, found, inputs=[ratings.intake.source])
    return target


def _items(ratings: Ratings, labels: pl.DataFrame, *, ids: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each rated item in the task's form; groups have their soft labels under ``soft_label_by``."""
    names = [str(label) for label in ratings.scale.labels]
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    if "axis" in labels.columns:
        for row in labels.filter(pl.col("axis") != "all").iter_rows(named=True):
            own = groups.setdefault(row["item"], {}).setdefault(row["axis"], {})
            own[row["group"]] = {name: row[name] for name in names}
        labels = labels.filter(axis="all")
    known = ratings.items.with_columns(id_texts(ratings.items["item"]).alias("item"))
    place = {row["item"]: (at, row) for at, row in enumerate(known.iter_rows(named=True))}
    called: list[str] = []
    if ratings.has_raters:
        numbered = [f"Ann{n + 1}" for n in range(ratings.n_raters)]
        called = id_texts(ratings.raters["rater"]).to_list() if ids else numbered
    for row in labels.iter_rows(named=True):
        at, described = place[row["item"]]
        soft = {name: row[name] for name in names}
        top = [name for name in names if soft[name] == max(soft.values())]
        given: dict[str, Any] = {}
        if called:  # otherwise it is not known who gave an item which point
            votes = ratings.of_items(at, at + 1)
            pairs = zip(votes.raters.tolist(), votes.scores.tolist(), strict=True)
            annotations = {called[rater]: names[score] for rater, score in pairs}
            given = {"annotations": annotations, "annotators": ",".join(annotations)}
        yield row["item"], {
            **_described(described), "number of annotations": row["n_ratings"], **given,
            "soft_label": soft, "hard_label": top[0] if len(top) == 1 else None,
            **({"soft_label_by": groups[row["item"]]} if row["item"] in groups else {}),
        }  # fmt: skip


def _described(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what describes an item: its text and the fields that the task names; other attributes are other_info."""
    own = {name: value for name, value in row.items() if name != "item" and value is not None}
    first = {name: own.pop(name) for name in ("text", *_READ_BACK) if name in own}
    return {**first, **({"other_info": {name: str(value) for name, value in own.items()}} if own else {})}
