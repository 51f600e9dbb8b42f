"""What :func:`plurivox.aggregate` found, as tables, sentences and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import FilePath, checked
from plurivox.base.errors import InputError, SelectionError
from plurivox.base.wording import counted
from plurivox.infer.result import GroupResult, Row, Statement, Table, frame_of
from plurivox.lenses.aggregate.words import statements
from plurivox.lenses.aggregate.writing import check_file, write_labels


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Aggregation(GroupResult):
    """One label for each item by several methods, and how far the labels lie from what groups say.

    In addition to what every result has:

    Attributes
    ----------
    held_rows
        Each claim about a group, tested again within each other attribute of the call; ``other`` names it.
    tables
        Labels, methods, where they differ, and raters, by name.
    """

    held_rows: tuple[Row, ...] = ()
    tables: tuple[Table, ...] = ()

    KIND: ClassVar[str] = "aggregation"
    ROLES: ClassVar[tuple[str, ...]] = ("hidden",)
    PARTS: ClassVar[dict[str, Any]] = {**GroupResult.PARTS, "held_rows": Row, "tables": Table}

    def __repr__(self) -> str:
        methods = counted(len(self.settings["methods"]), "method")
        return f"<Aggregation: {counted(self.settings['n_items'], 'item')} by {methods}, {self._on_axes('group')}>"

    def to_frame(self) -> pl.DataFrame:
        """Return one row per method, axis, group and statistic: what the method's labels hide about the group."""
        return pl.DataFrame({"method": [row.model for row in self.rows]}, schema={"method": pl.String}).hstack(
            frame_of(self.rows)
        )

    def row(self, axis: str, group: str, statistic: str, subset: str = "all", *, method: str | None = None) -> Row:
        """Return one row, of the first method unless another is named."""
        wanted = method or self.settings["methods"][0]
        for row in self.rows:
            if (row.axis, row.group, row.statistic, row.model) == (axis, group, statistic, wanted):
                return row
        raise SelectionError(
            f"there is no {statistic} of {group!r} on {axis!r} by {wanted!r}", hint="to_frame() lists what there is."
        )

    def value(self, axis: str, group: str, statistic: str, subset: str = "all", *, method: str | None = None) -> float:
        """Return one value; see :meth:`row`."""
        return self.row(axis, group, statistic, subset, method=method).value

    def null(
        self, axis: str, group: str, statistic: str, subset: str = "all", *, method: str | None = None
    ) -> NDArray[np.float64]:
        """Return the permutation draws of one value, in order of size."""
        # draws of methods are kept apart as those of parts of the items are in other results
        return GroupResult.null(self, axis, group, statistic, method or self.settings["methods"][0])

    def labels(self) -> pl.DataFrame:
        """Return one row per item: the label by each method, its ``…_confidence``, and the probability of each point.

        Mean and posterior also have ``…_score``, the number itself. ``…_tied`` says where several points are equally
        likely, of which the one nearest to the mean of the item's ratings is used. ``agreed`` says whether all methods
        give the same label. Items without ratings have no label.
        """
        return self._table("labels")

    def probabilities(self) -> pl.DataFrame:
        """Return one row per method and item with a column for each point, as :func:`plurivox.soft_scores` expects.

        The mean has no probabilities, and items without ratings are left out.
        """
        points, labels = self.settings["points"], self.labels().filter(pl.col("n_ratings") > 0)
        taken = [point for point in points if point in ("model", "item")]
        if taken:
            raise InputError(
                f"a point of the scale has the name of a column, {taken[0]!r}", hint="Recode the scale first."
            )
        found = [pl.DataFrame(schema={"model": pl.String, "item": pl.String, **dict.fromkeys(points, pl.Float64)})]
        for method in self.settings["methods"]:
            if method != "mean":
                own = [pl.col(f"{method}_p_{point}").alias(point) for point in points]
                found.append(labels.select(pl.lit(method).alias("model"), "item", *own))
        return pl.concat(found)

    def methods(self) -> pl.DataFrame:
        """Return one row per method: how many rounds its fit took and whether it converged, and how sure labels are."""
        return self._table("methods")

    def differing(self) -> pl.DataFrame:
        """Return one row per pair of methods: on how many items they give different labels."""
        return self._table("differing")

    def raters(self) -> pl.DataFrame:
        """Return one row per rater: what the models estimate about them, assuming that each item has one true label.

        A low value may reflect a different view. It is not a reason to drop a rater, and no report shows it.
        """
        return self._table("raters")

    @checked
    def write(self, path: FilePath, *, slim: bool = False) -> Path:
        """Write :meth:`labels` as .csv, .parquet or .jsonl; ``slim`` leaves out the probability of each point."""
        target = Path(path)
        check_file(target)
        write_labels(self, target, slim)
        return target

    def _table(self, name: str) -> pl.DataFrame:
        return next(table.frame for table in self.tables if table.name == name)

    def statements(self) -> list[Statement]:
        """Return which groups labels depart from, where methods differ, and what was withheld."""
        return statements(self)
