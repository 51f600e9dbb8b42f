"""Raters, or groups, as the parts of one measuring scale: Mokken's coefficients and the graded response model.

Neither is a sum over items with a finish: the first looks at pairs of raters, the second at all items repeatedly until
a likelihood stops rising. So the engine's parts and draws do not apply here, and the unit of work is the fit of one
whole scale: the raters or groups of one axis on one set of items.

A group's score of an item is defined as in responsiveness; of tied points it is the lowest, since a model needs one.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import InputError
from plurivox.domain.axis import Axis
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.engine.pool import Running, in_batches
from plurivox.engine.run import Values
from plurivox.infer.grouping import Compared
from plurivox.infer.intervals import NORMAL_95
from plurivox.infer.result import Row, Table
from plurivox.lenses.responsiveness.references import resolve
from plurivox.lenses.responsiveness.settings import ALWAYS
from plurivox.lenses.responsiveness.sums import Responses, Scores, scores_of
from plurivox.statistics.graded import GradedResponse, graded_of
from plurivox.statistics.graded_fit import BOUND, MAX_CELLS
from plurivox.statistics.mokken import Mokken, interval, mokken_of, monotonicity_of, scales_of
from plurivox.statistics.registry import names_of

MANY = 200
"""With more raters or groups, a lens leaves the scale out unless the setting is "always"; pairs are not kept."""
LEFT_OUT = f"left out above {MANY} or with very many items, unless psychometrics is {ALWAYS!r}"
OVERLAP = "groups that share raters scale together for that reason alone"
TOGETHER = "all together"
"""The group of the row that holds H of the whole scale."""
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


class Scaling(NamedTuple):
    """How scales are made: which tied score a group gets, and how many raters or groups there may be.

    Above ``limit`` of them, or with very many items, a scale is left out; None leaves none out.
    """

    ties: str
    group_score: str
    lower_bound: float
    seed: int
    limit: int | None = None

    def scale(self, ratings: Ratings, compared: Compared, subset: str = "all") -> list[Scale]:
        """Return the scale of an axis, for overlapping groups that of the first of each; none if all are withheld."""
        voters = [_Voters.of(ratings, axis, self, overlapping=compared.overlapping) for axis in compared.each]
        groups = [voter.axis.groups[g] for voter in voters for g in voter.shown.tolist()]
        if not groups:
            return []
        members = _Members(
            "rater" if compared.axis.attributes == ("rater",) else "group", compared.axis.name, subset, groups,
            np.concatenate([voter.axis.sizes[voter.shown] for voter in voters]),
            np.concatenate([voter.given(ratings) for voter in voters]), OVERLAP if compared.overlapping else "",
        )  # fmt: skip
        too_large = len(groups) * ratings.n_items > MAX_CELLS
        if too_large and self.limit is None:
            raise InputError(
                f"{len(groups):,} raters or groups × {ratings.n_items:,} items are too many for one scale",
                hint="Use groups of raters, or fewer items.",
            )
        scale = Scale(
            members, ratings.parts(), tuple(voters), ratings.items["item"].cast(pl.String),
            np.array(ratings.scale.values, dtype=float), [str(label) for label in ratings.scale.labels],
            self.lower_bound, self.limit is not None and (len(groups) > self.limit or too_large),
        )  # fmt: skip
        return [scale]


class Scaled(NamedTuple):
    """The rows of one scale or several, and their finer tables by name."""

    rows: list[Row]
    frames: dict[str, pl.DataFrame]

    def tables(self) -> tuple[Table, ...]:
        """Return the finer tables."""
        return tuple(Table(name, frame) for name, frame in self.frames.items())


def fitted(scales: Sequence[Scale], how: Running) -> Scaled:
    """Fit scales, each as one unit of work, and combine their rows and tables."""
    here = how.executor is None or isinstance(how.executor, ThreadPoolExecutor)
    telling = _Telling(how) if here else None
    quiet = how._replace(progress=None) if here else how.doing("fitting scales")
    try:
        found = [one for batch in in_batches(_Fits(tuple(scales), telling), len(scales), quiet) for one in batch]
    finally:
        if telling is not None:
            telling.stopped = True
    frames = {
        name: pl.concat([pl.DataFrame(schema=schema), *(one.frames[name] for one in found if name in one.frames)])
        for name, schema in SCHEMAS.items()
    }
    return Scaled([row for one in found for row in one.rows], frames)


class _Telling:
    """Reports the progress of fits from worker threads, and ends those that are no longer needed."""

    def __init__(self, how: Running) -> None:
        self.how, self.lock, self.stopped = how, Lock(), False

    def __call__(self, where: str, iterations: int, _: float = 0.0) -> None:
        if self.stopped:
            raise InterruptedError
        with self.lock:
            self.how.doing(f"fitting {where}").tell(iterations, MAX_ITERATIONS)


@dataclass(frozen=True, slots=True, eq=False)
class _Fits:
    """Some of the scales; in other processes, without reporting progress."""

    scales: tuple[Scale, ...]
    telling: _Telling | None

    def __call__(self, first: int, last: int) -> list[Scaled]:
        return [scale.fitted(self.telling) for scale in self.scales[first:last]]


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """The raters or groups of one axis, on one set of items.

    Attributes
    ----------
    parts, voters
        The ratings, and how they become scores, groups × items.
    items, points, labels
        The ids of the items, and the values and names of the points.
    left_out
        Whether they are too many, so that only a note says so.
    """

    members: _Members
    parts: Sequence[Part]
    voters: tuple[_Voters, ...]
    items: pl.Series
    points: Values
    labels: list[str]
    lower_bound: float
    left_out: bool

    def fitted(self, telling: _Telling | None) -> Scaled:
        """Fit both models and record what they give."""
        members, groups = self.members, self.members.groups
        if self.left_out:
            each = range(len(groups))
            rows = [members.row(at, one, np.nan, 0, LEFT_OUT) for at in each for one in names_of("scaled")]
            return Scaled(rows, {})
        scores = np.concatenate([voters.scores(self.parts) for voters in self.voters])
        where = members.axis if members.subset == "all" else f"{members.subset}: {members.axis}"
        step = None if telling is None else partial(telling, where)
        mokken = mokken_of(scores, self.points)
        model = graded_of(scores, self.points, self.labels, max_iterations=MAX_ITERATIONS, progress=step)
        if step is not None:
            step(MAX_ITERATIONS)
        columns = {
            "severity": _severity(self.items, scores, model),
            "thresholds": _thresholds(model, groups, self.labels),
            "pairs": _pairs(mokken, groups) if len(groups) <= MANY else {},
            "checks": _checks(scores, self.points, mokken, groups, self.lower_bound),
            "fits": _fit(mokken, model, members.worded(model.note)),
        }
        return Scaled(
            self._rows(scores, mokken, model), {name: self._frame(name, one) for name, one in columns.items()}
        )

    def _rows(self, scores: NDArray[np.int32], mokken: Mokken, model: GradedResponse) -> list[Row]:
        members = self.members
        scale = Row(
            "scale", members.axis, TOGETHER, "mokken_h", mokken.h, n_raters=int(members.sizes.sum()),
            n_items=int(np.count_nonzero((scores >= 0).any(axis=0))), n_ratings=int(members.given.sum()),
            note="; ".join(note for note in (members.worded(mokken.note), members.note) if note),
            subset=members.subset,
        )  # fmt: skip
        rows = [_with(scale, mokken.h_low, mokken.h_high)]
        half = NORMAL_95 * model.discrimination_se
        for at, own in enumerate(np.count_nonzero(scores >= 0, axis=1).tolist()):
            h, a = float(mokken.h_raters[at]), float(model.discrimination[at])
            first = members.row(at, "mokken_h", h, own, mokken.notes[at])
            low, high = max(a - half[at], -BOUND), min(a + half[at], BOUND)
            wide = AT_END if a - half[at] < -BOUND or a + half[at] > BOUND else ""
            rows.append(_with(first, mokken.h_raters_low[at], mokken.h_raters_high[at]))
            notes = [note for note in (model.notes[at], wide, model.note if not np.isnan(a) else "") if note]
            rows.append(_with(members.row(at, "grm_a", a, own, "; ".join(notes)), low, high))
        return rows

    def _frame(self, name: str, columns: dict[str, Any]) -> pl.DataFrame:
        n = len(next(iter(columns.values()), []))
        whole = {"axis": [self.members.axis] * n, "subset": [self.members.subset] * n} | columns
        return pl.DataFrame(whole if columns else None, schema=SCHEMAS[name])


@dataclass(frozen=True, slots=True, eq=False)
class _Voters:
    """The groups of an axis that belong to a scale: those shown, or only the first where groups overlap.

    ``votes`` is how ratings become a group's score; individual raters have their own scores.
    """

    axis: Axis
    shown: NDArray[np.intp]
    votes: Scores | None

    @classmethod
    def of(cls, ratings: Ratings, axis: Axis, how: Scaling, *, overlapping: bool) -> _Voters:
        """Find the groups that are shown."""
        shown = np.flatnonzero(~axis.withheld)
        shown = shown[shown == 0] if overlapping else shown
        if axis.attributes == ("rater",):
            return cls(axis, shown, None)
        ties = "lowest" if how.ties == "share" else how.ties
        made = Responses.of(
            ratings, axis.codes, len(axis), resolve(ratings, "crowd"), group_score=how.group_score, ties=ties,
            seed=how.seed,
        )  # fmt: skip
        return cls(axis, shown, made.scored)

    def given(self, ratings: Ratings) -> NDArray[np.int64]:
        """Return how many ratings each of them gave."""
        codes = self.axis.codes[ratings.codes_of_raters]
        return np.bincount(codes[codes >= 0], minlength=len(self.axis))[self.shown]

    def scores(self, parts: Sequence[Part]) -> NDArray[np.int32]:
        """Return groups × items, the position of each score, -1 where there is none."""
        if self.votes is not None:
            return scores_of(self.votes, parts)[self.shown]
        found = np.full((len(self.axis), sum(part.n_items for part in parts)), -1, np.int32)
        for part in parts:
            found[self.axis.codes[part.raters], part.first + part.item_of_each()] = part.scores
        return found[self.shown]


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
        """Return a note on raters as one on groups, if they are groups, whose scores combine several raters."""
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


def _with(row: Row, low: float, high: float) -> Row:
    """Return the row with an interval, if there is one."""
    return row if np.isnan(low) or np.isnan(high) else row.with_interval(low, high)


def _severity(items: pl.Series, scores: NDArray[np.int32], model: GradedResponse) -> dict[str, Any]:
    half = NORMAL_95 * model.severity_se
    return {
        "item": items, "severity": model.severity, "se": model.severity_se,
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
    scores: NDArray[np.int32], points: Values, mokken: Mokken, groups: Sequence[str], bound: float
) -> dict[str, Any]:
    found = monotonicity_of(scores, points, mokken)
    return {
        "group": list(groups), "scale": scales_of(mokken, bound),
        "n_rest_groups": found.n_groups, "n_active": found.n_active, "n_violations": found.n_violations,
        "largest": found.largest, "total": found.total, "z": found.z, "n_significant": found.n_significant,
        "crit": found.crit, "note": list(found.notes),
    }  # fmt: skip


def _fit(mokken: Mokken, model: GradedResponse, note: str) -> dict[str, Any]:
    return {
        "n_fitted": [int(np.count_nonzero(~np.isnan(model.discrimination)))],
        "n_items": [int(np.count_nonzero(~np.isnan(model.severity)))],
        "smallest_pair": [mokken.smallest_pair], "n_undefined_pairs": [mokken.n_undefined_pairs],
        "log_likelihood": [model.log_likelihood], "iterations": [model.iterations],
        "converged": [model.converged], "n_grid": [model.n_grid], "note": [note],
    }  # fmt: skip
