"""What :func:`plurivox.aggregate` found, as tables, sentences, JSON and a file of labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import FilePath, checked
from plurivox.base.csv_files import write_frame
from plurivox.base.errors import InputError, SelectionError
from plurivox.base.wording import NO_GROUPS, counted, in_words, intervals_over, listed, named, resampled
from plurivox.infer.claims import Claimed, digits, group_statements, weighted_statements
from plurivox.infer.result import GroupResult, Row, Statement, Table, frame_of, p_text
from plurivox.infer.view import ALL_RATERS, RANGE, Column, Value, View, columns, filled, mark_of, notes_of, view_of
from plurivox.lenses.aggregate import CALLED, SAID
from plurivox.statistics.registry import LABELS, of_role

ONE_TRUTH = (
    "Every method here assumes that an item has one true label, and treats other ratings as errors. Where raters "
    "differ in what they see, the label is only one of several views."
)
TITLES = {
    "departure": "how far labels lie from what a group says, in points",
    "overruled": "share of items whose label is not the group's most frequent point, in %",
    "label_shift": "how far a group's mean lies above the labels, in points",
}
"""What the table of a statistic is called."""
NOT_WEIGHTED = (
    "Plurality, mean and posterior, and what groups say, are weighted. Dawid–Skene, MACE and the ordinal model count "
    "all raters equally: their truth is not the view of a population."
)


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

    def statements(self) -> list[Statement]:
        """Return which groups labels depart from, where methods differ, and what was withheld."""

        def claimed(rows: Sequence[Row]) -> Claimed:
            """Say how far the labels of the surest method lie from a group, and for which others this also holds."""
            first = rows[0]
            others = [SAID[row.model] for row in rows[1:]]
            also = f"; so do labels by {listed(others)}" if others else ""
            told = (first.axis, first.group)
            overruled = self.value(*told, "overruled", method=first.model)
            shift = self.value(*told, "label_shift", method=first.model)
            text = (
                f"{_lies(self, first)}{also}. For {100 * overruled:.0f} % of their items, the label is not the group's "
                f"own most frequent point, and their mean lies {abs(shift):.2f} points "
                f"{'above' if shift > 0 else 'below'} the label on average."
            )
            return Claimed(text, first, "see items differently from their labels", f"by {first.value:.2f} points")

        def notable(row: Row) -> str:
            if row.survives:
                return f"{_lies(self, row)}. Nothing is claimed, since a noisier group can also look like this."
            return f"Before correction only: {_lies(self, row).replace('Labels', 'labels', 1)}."

        # of the claims tested again, those of the method with the surest claim about a group
        claims = [row for row in self.rows if row.claim and row.kind == "group"]
        surest: dict[tuple[str, str], str] = {}
        for row in sorted(claims, key=lambda row: (row.p_adjusted or 0.0, row.p_value or 0.0)):
            surest.setdefault((row.axis, row.group), row.model)
        again = [row for row in self.held_rows if surest[row.axis, row.group] == row.model]
        told = Statement(ONE_TRUTH, 1.6, statistic="assumption")
        return [
            *group_statements(self, claimed, notable, again), *_differing(self), told, *_fits(self),
            *weighted_statements(self.settings, self.rows, "departure"),
            *([] if self.axes else [Statement(NO_GROUPS, 0.0)]), *self.withheld_statement(),
        ]  # fmt: skip

    def _table(self, name: str) -> pl.DataFrame:
        return next(table.frame for table in self.tables if table.name == name)


# Labels as a file -----------------------------------------------------------------------------------------------------

ENDINGS = (".csv", ".parquet", ".jsonl")


def check_file(path: Path, slim: bool = False) -> None:
    """Raise if labels cannot be written under a name."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"cannot write labels to {path.name}", hint=f"Use a name that ends in {', '.join(ENDINGS)}.")


def write_labels(found: Aggregation, path: Path, slim: bool = False) -> str:
    """Write labels, with or without the probability of each point, and return a summary."""
    frame = found.labels()
    of_points = [f"{method}_p_{point}" for method in found.settings["methods"] for point in found.settings["points"]]
    write_frame(path, frame.drop(of_points, strict=False) if slim else frame)
    differ = int((~frame["agreed"].drop_nulls()).sum())
    unrated = frame["agreed"].null_count()
    left = f"; {counted(unrated, 'item')} without a rating" if unrated else ""
    return f"{counted(frame.height, 'item')}; methods give different labels to {differ:,}{left}"


# Sentences ------------------------------------------------------------------------------------------------------------


def _lies(result: Aggregation, row: Row) -> str:
    how = "further from" if row.direction == "above" else "closer to"
    form, p = digits(row), row.p_adjusted if row.claim else row.p_value
    ends = ""
    if row.ci_low is not None and row.ci_high is not None and not math.isnan(row.ci_low):
        ends = f" ({row.ci_low:{form}} to {row.ci_high:{form}} over {resampled(result.settings)})"
    chance = "" if row.null_median is None else f", where chance gives about {row.null_median:{form}}"
    after = " after correction" if row.claim else ""
    return (
        f"Labels by {SAID[row.model]} lie {how} what {named(row.axis, row.group)} say than chance explains: "
        f"{row.value:{form}} points{ends}{chance}, {p_text(p or 0.0)}{after}"
    )


def _differing(result: Aggregation) -> list[Statement]:
    """Say on how many items methods differ among themselves, and which two differ most."""
    frame, pairs = result.labels().drop_nulls("agreed"), result.differing()
    if not pairs.height or not frame.height:
        return []
    n = int((~frame["agreed"]).sum())
    text = (
        f"The {in_words(len(result.settings['methods']))} methods give different labels to {n:,} of "
        f"{counted(frame.height, 'item')} ({100 * n / frame.height:.0f} %)"
    )
    if n and pairs.height > 1:
        top = pairs.sort("n_differ", "method", "other", descending=[True, False, False]).row(0, named=True)
        text += f"; {SAID[top['method']]} and {SAID[top['other']]} differ most, on {counted(top['n_differ'], 'item')}"
    return [Statement(f"{text}.", 2.2, statistic="differing", group="all")]


def _fits(result: Aggregation) -> list[Statement]:
    """Say which models did not converge, and how many items have several points that most raters gave."""
    said, ties = [], []
    for row in result.methods().iter_rows(named=True):
        name, n = SAID[row["method"]], row["n_tied"]
        if row["converged"] is False:
            text = (
                f"{name[:1].upper()}{name[1:]} did not converge after {counted(row['iterations'], 'round')}: its "
                "labels may still change. Allow more with --max-iterations (max_iterations=)."
            )
            said.append(Statement(text, 1.8, statistic="methods", standing="open"))
        if row["method"] == "plurality" and n:
            text = (
                f"{n:,} of {counted(row['n_items'], 'item')} {'has' if n == 1 else 'have'} several most frequent "
                "points; the one nearest to the mean of the ratings is used."
            )
            ties.append(Statement(text, 0.5, statistic="methods"))
    return said + ties


# Tables ---------------------------------------------------------------------------------------------------------------


def tables(found: Aggregation) -> list[View]:
    """Return all tables of a result."""
    groups = [_groups(found, record.name, intervals=True) for record in of_role("hidden")]
    return filled(*groups, methods(found), differing(found))


def brief(found: Aggregation) -> list[View]:
    """Return how far labels lie from each group, how often its majority is overruled, and how methods differ."""
    return filled(*(_groups(found, name) for name in ("departure", "overruled")), methods(found))


def _groups(found: Aggregation, statistic: str, *, intervals: bool = False) -> View:
    """Return a line for each group, a column for each method."""
    groups: dict[tuple[str, str], dict[str, Row]] = {}
    for row in found.rows:
        if row.statistic == statistic:
            groups.setdefault((row.axis, row.group), {})[row.model] = row
    lines: list[list[Any]] = []
    last, scale = "all", 100 if statistic == "overruled" else 1
    for (axis, group), rows in groups.items():
        lines += [[axis]] if axis != last else []
        last = axis
        lines.append([ALL_RATERS if axis == "all" else group, next(iter(rows.values())).n_raters])
        for row in (rows[method] for method in found.settings["methods"]):
            ends = (row.value, row.ci_low, row.ci_high)
            value, low, high = (None if one is None else round(scale * one, 2) + 0.0 for one in ends)
            lines[-1].append(Value(value, low, high, mark_of(row)))
    over = f"; {said}" if intervals and (said := intervals_over(found.settings)) else ""
    form = ".0f [.0f]" if statistic == "overruled" else RANGE
    names = columns(form if intervals else form.partition(" ")[0], map(CALLED.__getitem__, found.settings["methods"]))
    return View(f"What one label per item hides: {TITLES[statistic]}{over}", ["group", "raters", *names], lines)


def methods(found: Aggregation) -> View:
    """Return how sure the labels of each method are, and how its fit went."""
    first = found.settings["methods"][0]
    frame = found.methods()
    differ = dict(found.differing().filter(method=first).select("other", "n_differ").iter_rows())
    names = {
        "method": "method", "mean_confidence": Column("mean confidence", ".2f"), "n_tied": "tied",
        "n_differ": f"differ from {CALLED[first]}", "iterations": "rounds", "converged": "converged",
    }  # fmt: skip
    beside = pl.Series("n_differ", [differ.get(name) for name in frame["method"]], pl.Int64)
    frame = frame.with_columns(pl.col("method").replace(CALLED), beside)
    return view_of("Methods, each of which assumes one true label per item", frame, names)


def differing(found: Aggregation) -> View:
    """Return to how many items every two methods give different labels."""
    frame = found.differing().with_columns(pl.col("method", "other").replace(CALLED))
    names = {"method": "method", "other": "other", "n_differ": "items", "share": Column("share", ".2f")}
    return view_of("Items to which two methods give different labels", frame, names)


def notes(found: Aggregation) -> list[str]:
    """Return why values are undefined, and what to be careful about; notes shared by all methods appear once."""
    first = found.settings["methods"][0]
    said = notes_of([row for row in found.rows if row.model == first], LABELS)
    return [*said, NOT_WEIGHTED] if "weights" in found.settings else said
