"""Raters, or groups, as the parts of one measuring scale: Mokken's coefficients and the graded response model of each.

A group's score of an item is what it is in responsiveness; where points tie, the lowest, since a model wants one score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.axis import Axis
from plurivox.engine.intervals import NORMAL_95
from plurivox.engine.running import Progress
from plurivox.errors import InputError
from plurivox.lenses.responsiveness.passes import Responses
from plurivox.lenses.responsiveness.references import resolve
from plurivox.ratings import Ratings
from plurivox.results.result import Row, Table
from plurivox.statistics.graded import GradedResponse, graded_of
from plurivox.statistics.graded_fit import BOUND, MAX_CELLS
from plurivox.statistics.mokken import Mokken, interval, mokken_of
from plurivox.statistics.mokken_checks import monotonicity_of, scales_of

STATISTICS = ("mokken_h", "grm_a")
MANY = 200
"""With more raters or groups, a lens leaves the scale out unless it is asked for always; pairs are not kept."""
ALWAYS = "always"
LEFT_OUT = f"left out above {MANY} or where there are very many items, unless psychometrics is {ALWAYS!r}"
OVERLAP = "groups that share raters go together for that alone"
TOGETHER = "all together"
"""The group of the row that holds H of the whole scale."""
LOWER_BOUND = 0.3
"""The H_j from which Mokken let a rater belong to a scale."""
AT_END = f"the interval ends at the bound of {BOUND:g}"
MAX_ITERATIONS = 2000
_KEYS = {"axis": pl.String, "subset": pl.String}
SCHEMAS: dict[str, dict[str, Any]] = {
    "severity": _KEYS | {"item": pl.String} | dict.fromkeys(("severity", "se", "ci_low", "ci_high"), pl.Float64)
    | {"n_scores": pl.Int64, "part": pl.Int64},
    "thresholds": _KEYS | dict.fromkeys(("group", "point"), pl.String)
    | dict.fromkeys(("threshold", "se"), pl.Float64),
    "pairs": _KEYS | dict.fromkeys(("group", "other"), pl.String)
    | dict.fromkeys(("value", "se", "ci_low", "ci_high"), pl.Float64) | {"n_items": pl.Int64},
    "checks": _KEYS | {"group": pl.String}
    | dict.fromkeys(("scale", "n_rest_groups", "n_active", "n_violations"), pl.Int64)
    | dict.fromkeys(("largest", "total", "z"), pl.Float64) | {"n_significant": pl.Int64, "crit": pl.Float64}
    | {"note": pl.String},
    "fits": _KEYS | dict.fromkeys(("n_fitted", "n_items", "smallest_pair", "n_undefined_pairs"), pl.Int64)
    | {"log_likelihood": pl.Float64, "iterations": pl.Int64, "converged": pl.Boolean, "n_grid": pl.Int64}
    | {"note": pl.String},
}  # fmt: skip
"""The finer tables and their columns."""


@dataclass(slots=True, eq=False)
class Scaling:
    """Rows and tables of all scales of a call, as they are gathered."""

    ties: str
    group_score: str
    lower_bound: float
    seed: int
    progress: Progress | None
    limit: int | None = None
    rows: list[Row] = field(default_factory=list)
    frames: dict[str, list[pl.DataFrame]] = field(default_factory=lambda: {name: [] for name in SCHEMAS})

    def tables(self) -> tuple[Table, ...]:
        """Return the finer tables of all scales."""
        return tuple(
            Table(name, pl.concat([pl.DataFrame(schema=SCHEMAS[name]), *frames]))
            for name, frames in self.frames.items()
        )

    def add(
        self,
        ratings: Ratings,
        axes: Sequence[Axis],
        subset: str = "all",
        *,
        overlapping: bool = False,
    ) -> None:
        """Add the scale of an axis; of ``overlapping`` groups, that of the first group of each axis.

        With more raters or groups than the limit only what was left out is noted.
        """
        if not axes:
            return
        parts = [_Part.of(ratings, axis, overlapping=overlapping) for axis in axes]
        members = _Members(
            "rater" if axes[0].attributes == ("rater",) else "group", axes[0].name, subset,
            [group for part in parts for group in part.groups],
            np.concatenate([part.sizes for part in parts]), np.concatenate([part.given for part in parts]),
            OVERLAP if overlapping else "",
        )  # fmt: skip
        n_groups = len(members.groups)
        if not n_groups:
            return  # all are withheld
        too_large = n_groups * ratings.n_items > MAX_CELLS
        if self.limit is not None and (n_groups > self.limit or too_large):
            self.rows += [members.row(at, one, np.nan, 0, LEFT_OUT) for at in range(n_groups) for one in STATISTICS]
            return
        if too_large:
            raise InputError(
                f"{n_groups:,} raters or groups × {ratings.n_items:,} items are more than a scale can be made of",
                hint="Take groups of raters, or fewer items.",
            )
        self._fit(ratings, np.concatenate([self._scores(ratings, part) for part in parts]), members)

    def _scores(self, ratings: Ratings, part: _Part) -> NDArray[np.int32]:
        """Return groups × items, the position of each score, -1 where there is none."""
        found = np.full((len(part.axis), ratings.n_items), -1, np.int32)
        if part.axis.attributes == ("rater",):
            found[part.axis.codes[ratings.codes_of_raters], ratings.item_codes] = ratings.scores
        else:
            ties = "lowest" if self.ties == "share" else self.ties
            crowd = resolve(ratings, "crowd")
            passes = Responses.of(
                ratings, part.axis.codes, len(part.axis), crowd, group_score=self.group_score, ties=ties, seed=self.seed
            )
            found = passes.scores()
        return found[part.shown]

    def _fit(self, ratings: Ratings, scores: NDArray[np.int32], members: _Members) -> None:
        """Fit both models and write down what they give."""
        name, subset, groups = members.axis, members.subset, members.groups
        points = np.array(ratings.scale.values, dtype=float)
        labels = [str(label) for label in ratings.scale.labels]
        where = name if subset == "all" else f"{subset}: {name}"
        telling = None if self.progress is None else partial(_tell, self.progress, f"fitting {where}")
        mokken = mokken_of(scores, points)
        model = graded_of(scores, points, labels, max_iterations=MAX_ITERATIONS, progress=telling)
        if self.progress is not None:
            self.progress(f"fitting {where}", MAX_ITERATIONS, MAX_ITERATIONS)
        n_items = np.count_nonzero(scores >= 0, axis=1)
        scale = Row(
            "scale", name, TOGETHER, "mokken_h", mokken.h, n_raters=int(members.sizes.sum()),
            n_items=int(np.count_nonzero((scores >= 0).any(axis=0))), n_ratings=int(members.given.sum()),
            note="; ".join(note for note in (members.worded(mokken.note), members.note) if note), subset=subset,
        )  # fmt: skip
        self.rows.append(_with(scale, mokken.h_low, mokken.h_high))
        half = NORMAL_95 * model.discrimination_se
        for at in range(len(groups)):
            h, a = float(mokken.h_raters[at]), float(model.discrimination[at])
            own = int(n_items[at])
            first = members.row(at, "mokken_h", h, own, mokken.notes[at])
            low, high = max(a - half[at], -BOUND), min(a + half[at], BOUND)
            wide = AT_END if high - low < 2 * half[at] else ""
            self.rows.append(_with(first, mokken.h_raters_low[at], mokken.h_raters_high[at]))
            notes = [note for note in (model.notes[at], wide, model.note if not np.isnan(a) else "") if note]
            self.rows.append(_with(members.row(at, "grm_a", a, own, "; ".join(notes)), low, high))
        keys = {"axis": name, "subset": subset}
        self._keep("severity", keys, _severity(ratings, scores, model))
        self._keep("thresholds", keys, _thresholds(model, groups, labels))
        self._keep("pairs", keys, _pairs(mokken, groups) if len(groups) <= MANY else {})
        self._keep("checks", keys, _checks(scores, points, mokken, groups, self.lower_bound))
        fit = {
            "n_fitted": [int(np.count_nonzero(~np.isnan(model.discrimination)))],
            "n_items": [int(np.count_nonzero(~np.isnan(model.severity)))],
            "smallest_pair": [mokken.smallest_pair], "n_undefined_pairs": [mokken.n_undefined_pairs],
            "log_likelihood": [model.log_likelihood], "iterations": [model.iterations],
            "converged": [model.converged], "n_grid": [model.n_grid], "note": [members.worded(model.note)],
        }  # fmt: skip
        self._keep("fits", keys, fit)

    def _keep(self, name: str, keys: dict[str, str], columns: dict[str, Any]) -> None:
        n = len(next(iter(columns.values()), []))
        whole = {key: [value] * n for key, value in keys.items()} | columns
        self.frames[name].append(pl.DataFrame(whole if columns else None, schema=SCHEMAS[name]))


class _Members(NamedTuple):
    """The raters or groups of a scale."""

    kind: str
    axis: str
    subset: str
    groups: list[str]
    sizes: NDArray[np.int64]
    given: NDArray[np.int64]
    note: str

    def row(self, at: int, statistic: str, value: float, n_items: int, note: str) -> Row:
        """Return a row of one of them."""
        notes = [one for one in (self.worded(note), self.note) if one]
        return Row(
            self.kind, self.axis, self.groups[at], statistic, value, n_raters=int(self.sizes[at]), n_items=n_items,
            n_ratings=int(self.given[at]), note="; ".join(notes), subset=self.subset,
        )  # fmt: skip

    def worded(self, note: str) -> str:
        """Return a note on raters as one on groups, if that is what they are; their scores are made of many."""
        if self.kind == "rater":
            return note
        for of_raters, of_groups in _OF_GROUPS:
            note = note.replace(of_raters, of_groups)
        return note


_OF_GROUPS = (
    ("never used ", "its score is never "),
    ("only one score was used", "its score is the same for every item"),
    ("no other rater", "no other group"),
    ("two raters", "two groups"),
    ("raters", "groups"),
)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The groups of an axis that belong to a scale: those shown, or of an overlapping one the first."""

    axis: Axis
    shown: NDArray[np.intp]
    groups: tuple[str, ...]
    sizes: NDArray[np.int64]
    given: NDArray[np.int64]

    @classmethod
    def of(cls, ratings: Ratings, axis: Axis, *, overlapping: bool) -> _Part:
        shown = np.flatnonzero(~axis.withheld)
        shown = shown[shown == 0] if overlapping else shown
        codes = axis.codes[ratings.codes_of_raters]
        given = np.bincount(codes[codes >= 0], minlength=len(axis))
        return cls(axis, shown, tuple(axis.groups[g] for g in shown), axis.sizes[shown], given[shown])


def _tell(report: Progress, what: str, iterations: int, _: float) -> None:
    report(what, iterations, MAX_ITERATIONS)


def _with(row: Row, low: float, high: float) -> Row:
    """Return the row with an interval, if there is one."""
    return row if np.isnan(low) or np.isnan(high) else row.with_interval(low, high)


def _severity(ratings: Ratings, scores: NDArray[np.int32], model: GradedResponse) -> dict[str, Any]:
    half = NORMAL_95 * model.severity_se
    return {
        "item": ratings.items["item"].cast(pl.String), "severity": model.severity, "se": model.severity_se,
        "ci_low": model.severity - half, "ci_high": model.severity + half,
        "n_scores": np.count_nonzero(scores >= 0, axis=0), "part": model.part,
    }  # fmt: skip


def _thresholds(model: GradedResponse, groups: Sequence[str], labels: Sequence[str]) -> dict[str, Any]:
    return {
        "group": [group for group in groups for _ in labels[1:]], "point": list(labels[1:]) * len(groups),
        "threshold": model.thresholds.ravel(), "se": model.thresholds_se.ravel(),
    }  # fmt: skip


def _pairs(mokken: Mokken, groups: Sequence[str]) -> dict[str, Any]:
    first, second = np.triu_indices(len(groups), 1)
    h, se = mokken.h_pairs[first, second], mokken.h_pairs_se[first, second]
    low, high = interval(h, se)
    return {
        "group": [groups[i] for i in first.tolist()], "other": [groups[j] for j in second.tolist()],
        "value": h, "se": se, "ci_low": low, "ci_high": high, "n_items": mokken.n_common[first, second],
    }  # fmt: skip


def _checks(
    scores: NDArray[np.int32], points: NDArray[np.float64], mokken: Mokken, groups: Sequence[str], bound: float
) -> dict[str, Any]:
    found = monotonicity_of(scores, points, mokken)
    return {
        "group": list(groups), "scale": scales_of(mokken, bound),
        "n_rest_groups": found.n_groups, "n_active": found.n_active, "n_violations": found.n_violations,
        "largest": found.largest, "total": found.total, "z": found.z, "n_significant": found.n_significant,
        "crit": found.crit, "note": list(found.notes),
    }  # fmt: skip
