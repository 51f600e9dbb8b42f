"""What :func:`plurivox.responsiveness` found, as tables, sentences and JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import SelectionError
from plurivox.infer.intervals import NORMAL_95
from plurivox.infer.result import GroupResult, Row, Statement, Table, as_lists, frame_of
from plurivox.lenses.psychometrics.result import Psychometrics
from plurivox.lenses.responsiveness.verdicts import verdicts
from plurivox.lenses.responsiveness.words import statements
from plurivox.statistics.registry import names_of, with_trait
from plurivox.statistics.responsiveness import MEASURES


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """The scores of each group of an axis against the reference.

    Attributes
    ----------
    tables
        Groups × scores × reference points: how many reference ratings of a point met a score of the group.
    votes
        Groups × scores: for how many items with a reference it was the group's score.
    usage
        Groups × scores: how often the group's raters gave it.
    """

    axis: str
    groups: tuple[str, ...]
    tables: NDArray[np.float64]
    votes: NDArray[np.float64]
    usage: NDArray[Any]
    subset: str = "all"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as lists and texts; the shape keeps what empty lists lose."""
        return {**as_lists(self), "shape": list(self.tables.shape)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Scored:
        """Undo :meth:`as_dict`."""
        shape = data["shape"]
        tables = np.array(data["tables"], dtype=float).reshape(shape)
        votes = np.array(data["votes"], dtype=float).reshape(shape[:2])
        usage = np.array(data["usage"], dtype=np.int64).reshape(shape[:2])
        return cls(data["axis"], tuple(data["groups"]), tables, votes, usage, data["subset"])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Responsiveness(GroupResult):
    """Whose scores convey severity.

    In addition to what every result has:

    Attributes
    ----------
    pair_rows
        The difference between every two groups, if requested.
    held_rows
        Each claim about a group, tested again within each other attribute of the call; ``other`` names it.
    scored
        For each axis, the scores against the reference; :meth:`scores` and :meth:`boundaries` show them as tables.
    tables
        The finer tables of the scales that raters or groups form, if requested; see :meth:`psychometrics`.
    """

    pair_rows: tuple[Row, ...] = ()
    held_rows: tuple[Row, ...] = ()
    scored: tuple[Scored, ...] = ()
    tables: tuple[Table, ...] = ()

    KIND: ClassVar[str] = "responsiveness"
    ROLES: ClassVar[tuple[str, ...]] = ("main", "scaled")
    PARTS: ClassVar[dict[str, Any]] = {
        **GroupResult.PARTS,
        "pair_rows": Row,
        "held_rows": Row,
        "scored": Scored,
        "tables": Table,
    }

    def __post_init__(self) -> None:
        # Compiled code walks over these tables and trusts their sizes, even where they come from JSON.
        for found in self.scored:
            points, boundaries = self.settings["points"], self.settings["reference"]["boundaries"]
            if found.tables.shape != (len(found.groups), len(points), len(boundaries) + 1):
                raise ValueError(f"the scores on {found.axis} have the wrong shape {found.tables.shape}")

    def __repr__(self) -> str:
        return f"<Responsiveness: {self._on_axes('group', 'rater')} against {self.settings['reference']['name']}>"

    def to_frame(self) -> pl.DataFrame:
        """Return one row per axis, group, subset and statistic, with the number of boundaries its value averages."""
        counts = [
            (found.axis, group, found.subset, _two_classes(table))
            for found in self.scored
            for group, table in zip(found.groups, found.tables, strict=True)
        ]
        keys = ("axis", "group", "subset")
        schema = {**dict.fromkeys(keys, pl.String), "n_boundaries_used": pl.Int64}
        used = pl.DataFrame(counts, schema=schema, orient="row")
        return frame_of(self.rows).join(used, on=keys, how="left", maintain_order="left")

    def pairs(self) -> pl.DataFrame:
        """Return the difference of every two groups, one row per pair and statistic."""
        return frame_of(self.pair_rows)

    def psychometrics(self) -> Psychometrics:
        """Return what was found by comparing raters or groups with each other: Mokken's H_j and the discrimination."""
        if not self.tables:
            raise SelectionError("psychometrics were not requested", hint="Set psychometrics=True.")
        rows = tuple(row for row in self.rows if row.statistic in names_of("scaled"))
        ties = "lowest" if self.settings["ties"] == "share" else self.settings["ties"]
        settings = {**self.settings, "ties": ties}
        return Psychometrics(rows, self.withheld, self.outside, (), settings, self.tables, revealing=self.revealing)

    def scores(self) -> pl.DataFrame:
        """Return precision and recall at each score and boundary, with what they rest on and how often it is used.

        ``boundary`` is the lowest reference point that counts as unsafe; ``share`` is of the group's ratings.
        """
        labels, boundaries = self.settings["points"], self.settings["reference"]["boundaries"]
        frames = []
        for found in self.scored:
            share = found.usage / np.maximum(found.usage.sum(axis=1, keepdims=True), 1)
            for b, boundary in enumerate(boundaries, start=1):
                zeros, ones = found.tables[:, :, :b].sum(axis=2), found.tables[:, :, b:].sum(axis=2)
                with np.errstate(invalid="ignore", divide="ignore"):  # NaN where a score is unused or nothing is unsafe
                    precision, recall = ones / (ones + zeros), ones / ones.sum(axis=1, keepdims=True)
                n_groups = len(found.groups)
                columns = {
                    "axis": [found.axis] * n_groups * len(labels),
                    "group": [group for group in found.groups for _ in labels],
                    "subset": [found.subset] * n_groups * len(labels),
                    "boundary": [boundary] * n_groups * len(labels),
                    "score": list(labels) * n_groups,
                    "precision": precision.ravel(), "recall": recall.ravel(),
                    "ones": ones.ravel(), "zeros": zeros.ravel(),
                    "n_items": found.votes.ravel(), "n_ratings": found.usage.astype(np.int64).ravel(),
                    "share": share.ravel(), "rare": (found.votes < self.settings["min_support"]).ravel(),
                }  # fmt: skip
                frames.append(pl.DataFrame(columns, schema_overrides=_SCORE_TEXTS))
        return pl.concat(frames)

    def verdicts(self) -> pl.DataFrame:
        """Return how each group relates to the reference, in one word, or why that is unknown.

        In line: nothing is claimed about it. Granular: its MPA is low. Broad: its WRA is low. Different: both, or its
        scores run against the reference. Advice, curation and the report use this.
        """
        found = verdicts(self.rows, self.settings).values()
        rows = [(one.axis, one.group, one.name, one.low_mpa, one.low_wra, one.against, one.why) for one in found]
        low = dict.fromkeys(("low_mpa", "low_wra", "against"), pl.Boolean)
        schema = {**dict.fromkeys(("axis", "group", "verdict"), pl.String), **low, "why": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def boundaries(self) -> pl.DataFrame:
        """Return the values at each boundary; the rows hold their means."""
        from plurivox.kernels.metrics import boundary_values

        names, capped = self.settings["reference"]["boundaries"], self.settings["convention"] != "published"
        kept = [at for at, name in enumerate(MEASURES) if name not in with_trait("of means")]
        rows = []
        for found in self.scored:
            for group, table in zip(found.groups, found.tables, strict=True):
                values = np.zeros((len(names), len(MEASURES)))
                boundary_values(table, capped, values)
                rows += [
                    (found.axis, group, found.subset, boundary, MEASURES[at], float(values[b, at]))
                    for b, boundary in enumerate(names)
                    for at in kept
                ]
        schema = dict.fromkeys(("axis", "group", "subset", "boundary", "statistic"), pl.String) | {"value": pl.Float64}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def correlations(self) -> pl.DataFrame:
        """Return Pearson's r over the groups of each axis between MPA or WRA and each other metric.

        The 95 % interval is Fisher's, which treats groups as independent; with few groups it is wide.
        """
        rows = []
        scaled = names_of("scaled")
        for subset in self.subsets:
            for axis in self.axes:
                own = [row for row in self.rows if (row.axis, row.subset) == (axis, subset)]
                values = {name: _column(own, name) for name in (*MEASURES, *scaled)}
                others = (*names_of("traditional"), *(name for name in scaled if len(values[name])))
                rows += [
                    (axis, subset, first, second, *_correlation(values[first], values[second]))
                    for first in with_trait("stated")
                    for second in others
                ]
        schema = {
            "axis": pl.String, "subset": pl.String, "statistic": pl.String, "other": pl.String, "value": pl.Float64,
            "ci_low": pl.Float64, "ci_high": pl.Float64, "n_groups": pl.Int64, "note": pl.String,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=schema, orient="row")

    def statements(self) -> list[Statement]:
        """Return the values of all raters, which groups and families stand out, and what was left out or withheld."""
        return statements(self)


_SCORE_TEXTS = {"axis": pl.String, "group": pl.String, "subset": pl.String, "boundary": pl.String, "score": pl.String}


def _two_classes(table: NDArray[np.float64]) -> int:
    """Return the number of boundaries with reference ratings on both sides."""
    rated = np.flatnonzero(table.sum(axis=0) > 0)
    return int(rated[-1] - rated[0]) if len(rated) else 0


def _column(rows: list[Row], statistic: str) -> NDArray[np.float64]:
    return np.array([row.value for row in rows if row.statistic == statistic and row.kind in ("group", "rater")])


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float, float, int, str]:
    """Return Pearson's r, the ends of its interval, the number of groups, and why something is undefined."""
    both = ~(np.isnan(x) | np.isnan(y))
    x, y, n = x[both], y[both], int(np.count_nonzero(both))
    if n < 3:
        return math.nan, math.nan, math.nan, n, "fewer than three groups"
    dx, dy = x - x.mean(), y - y.mean()
    spread = math.sqrt(float(dx @ dx) * float(dy @ dy))
    if np.ptp(x) < 1e-12 or np.ptp(y) < 1e-12:
        return math.nan, math.nan, math.nan, n, "all groups have the same value"
    r = min(1.0, max(-1.0, float(dx @ dy) / spread))
    if n < 4 or abs(r) == 1:
        return r, math.nan, math.nan, n, "too few groups for an interval" if n < 4 else "no interval at a perfect r"
    centre, half = math.atanh(r), NORMAL_95 / math.sqrt(n - 3)
    return r, math.tanh(centre - half), math.tanh(centre + half), n, ""
