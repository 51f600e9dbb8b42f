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
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import InputError
from plurivox.domain.axis import Axis
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.domain.scale_names import poles_in
from plurivox.engine.pool import Running, in_batches
from plurivox.engine.run import Values
from plurivox.infer.call import Call
from plurivox.infer.grouping import Compared
from plurivox.infer.intervals import NORMAL_95
from plurivox.infer.lens import keywords
from plurivox.infer.result import Row, Table
from plurivox.lenses.psychometrics import LEFT_OUT, MANY, PsychometricsSettings
from plurivox.lenses.psychometrics.result import Psychometrics
from plurivox.lenses.responsiveness.references import resolve
from plurivox.lenses.responsiveness.sums import Responses, VoteTables, scores_of
from plurivox.statistics.graded import GradedResponse, graded_of
from plurivox.statistics.graded_fit import BOUND, MAX_CELLS
from plurivox.statistics.mokken import Mokken, interval, mokken_of, monotonicity_of, scales_of
from plurivox.statistics.registry import names_of

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


@keywords(PsychometricsSettings)
def psychometrics(ratings: Ratings, *, settings: PsychometricsSettings, how: Running) -> Psychometrics:
    """Check whether raters order items alike (Mokken's H), and how sharply each one's scores follow severity (GRM).

    No reference is used: what raters have in common is taken as the severity of an item.

    Returns
    -------
    Psychometrics
        With ``to_frame()``, ``findings()``, ``severity()``, ``thresholds()``, ``curves()``, ``pairs()``, ``checks()``,
        ``fits()`` and ``to_json()``.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=200, n_raters=12, seed=1)
    >>> result = pv.psychometrics(study.ratings)
    >>> round(result.value("rater", "all together", "mokken_h"), 2)
    0.8
    """
    few_points(ratings.scale, "psychometrics")
    call = Call.of(ratings, settings, how)
    scales = [
        scale for part in call.parts for one in part.axes
        for scale in rater_scales(
            part.ratings, one, part.inference.subset, settings.ties, settings.group_score, settings.lower_bound,
            settings.seed,
        )
    ]  # fmt: skip
    rows, tables = fitted(scales, how)
    return Psychometrics(
        rows=tuple(rows),
        draws=(),
        tables=tables,
        **call.kept(
            points=[str(label) for label in ratings.scale.labels],
            poles=poles_in(ratings.scale),
            values=[float(value) for value in ratings.scale.values],
        ),
    )


def rater_scales(
    ratings: Ratings, compared: Compared, subset: str, ties: str, group_score: str, lower_bound: float, seed: int,
    limit: int | None = None,
) -> list[RaterScale]:  # fmt: skip
    """Return the scale of an axis, for overlapping groups that of the first of each; none if all are withheld.

    Above ``limit`` of them, or with very many items, a scale is left out; None leaves none out.
    """
    alone, ties = compared.axis.attributes == ("rater",), "lowest" if ties == "share" else ties
    voters: list[tuple[Axis, NDArray[np.intp], VoteTables | None]] = []
    given = []
    for axis in compared.each:
        shown = np.flatnonzero(~axis.withheld)
        shown = shown[shown == 0] if compared.overlapping else shown
        codes = axis.codes[ratings.codes_of_raters]
        given.append(np.bincount(codes[codes >= 0], minlength=len(axis))[shown])
        votes = None if alone else Responses.of(
            ratings, axis.codes, len(axis), resolve(ratings, "crowd"), group_score=group_score, ties=ties, seed=seed
        ).scored  # fmt: skip
        voters.append((axis, shown, votes))
    groups = [axis.groups[g] for axis, shown, _ in voters for g in shown.tolist()]
    if not groups:
        return []
    too_large = len(groups) * ratings.n_items > MAX_CELLS
    if too_large and limit is None:
        raise InputError(
            f"{len(groups):,} raters or groups × {ratings.n_items:,} items are too many for one scale",
            hint="Use groups of raters, or fewer items.",
        )
    return [RaterScale(
        "rater" if alone else "group", compared.axis.name, subset, groups,
        np.concatenate([axis.sizes[shown] for axis, shown, _ in voters]), np.concatenate(given),
        OVERLAP if compared.overlapping else "", ratings.parts(), tuple(voters), ratings.items["item"].cast(pl.String),
        np.array(ratings.scale.values, dtype=float), [str(label) for label in ratings.scale.labels], lower_bound,
        limit is not None and (len(groups) > limit or too_large),
    )]  # fmt: skip


Scaled = tuple[list[Row], dict[str, pl.DataFrame]]
"""The rows of a scale, and its finer tables by name."""


def fitted(scales: Sequence[RaterScale], how: Running) -> tuple[list[Row], tuple[Table, ...]]:
    """Fit scales, each as one unit of work, and combine their rows and tables."""
    here = how.executor is None or isinstance(how.executor, ThreadPoolExecutor)
    telling = _Telling(how) if here else None  # in other processes, no progress is reported
    quiet = how._replace(progress=None) if here else how.doing("fitting scales")
    try:
        found = in_batches(partial(_fits, tuple(scales), telling), len(scales), quiet)
    finally:
        if telling is not None:
            telling.stopped = True
    each = [one for batch in found for one in batch]
    tables = [
        Table(name, pl.concat([pl.DataFrame(schema=schema), *(own[name] for _, own in each if name in own)]))
        for name, schema in SCHEMAS.items()
    ]
    return [row for rows, _ in each for row in rows], tuple(tables)


class _Telling:
    """Reports the progress of fits from worker threads, and ends those that are no longer needed."""

    def __init__(self, how: Running) -> None:
        self.how, self.lock, self.stopped = how, Lock(), False

    def __call__(self, where: str, iterations: int, _: float = 0.0) -> None:
        if self.stopped:
            raise InterruptedError
        with self.lock:
            self.how.doing(f"fitting {where}").tell(iterations, MAX_ITERATIONS)


def _fits(scales: tuple[RaterScale, ...], telling: _Telling | None, first: int, last: int) -> list[Scaled]:
    return [scale.fitted(telling) for scale in scales[first:last]]


@dataclass(frozen=True, slots=True, eq=False)
class RaterScale:
    """The raters or groups of one axis, on one set of items.

    Attributes
    ----------
    kind, axis, subset, groups, sizes, given, note
        Who they are, how many raters each has and how many ratings they gave, and what to say about each.
    parts, voters
        The ratings, and how they become scores, groups × items: axes, their groups that are shown, and how ratings
        become a group's score; individual raters have their own scores.
    items, points, labels
        The ids of the items, and the values and names of the points.
    left_out
        Whether they are too many, so that only a note says so.
    """

    kind: str
    axis: str
    subset: str
    groups: list[str]
    sizes: NDArray[np.int64]
    given: NDArray[np.int64]
    note: str
    parts: Sequence[Part]
    voters: tuple[tuple[Axis, NDArray[np.intp], VoteTables | None], ...]
    items: pl.Series
    points: Values
    labels: list[str]
    lower_bound: float
    left_out: bool

    def fitted(self, telling: _Telling | None) -> Scaled:
        """Fit both models and record what they give."""
        if self.left_out:
            each = range(len(self.groups))
            return [self.row(at, one, np.nan, 0, LEFT_OUT) for at in each for one in names_of("scaled")], {}
        scores = self.scores()
        where = self.axis if self.subset == "all" else f"{self.subset}: {self.axis}"
        step = None if telling is None else partial(telling, where)
        mokken = mokken_of(scores, self.points)
        model = graded_of(scores, self.points, self.labels, max_iterations=MAX_ITERATIONS, progress=step)
        if step is not None:
            step(MAX_ITERATIONS)
        frames = {}
        for name, own in self._columns(scores, mokken, model).items():
            n = len(next(iter(own.values()), []))
            whole = {"axis": [self.axis] * n, "subset": [self.subset] * n} | own
            frames[name] = pl.DataFrame(whole, schema=SCHEMAS[name])
        return self._rows(scores, mokken, model), frames

    def scores(self) -> NDArray[np.int32]:
        """Return groups × items, the position of each score, -1 where there is none."""
        each = []
        for axis, shown, votes in self.voters:
            if votes is not None:
                each.append(scores_of(votes, self.parts)[shown])
                continue
            found = np.full((len(axis), sum(part.n_items for part in self.parts)), -1, np.int32)
            for part in self.parts:
                found[axis.codes[part.raters], part.first + part.item_of_each()] = part.scores
            each.append(found[shown])
        return np.concatenate(each)

    def _rows(self, scores: NDArray[np.int32], mokken: Mokken, model: GradedResponse) -> list[Row]:
        scale = Row(
            "scale", self.axis, TOGETHER, "mokken_h", mokken.h, n_raters=int(self.sizes.sum()),
            n_items=int(np.count_nonzero((scores >= 0).any(axis=0))), n_ratings=int(self.given.sum()),
            note="; ".join(note for note in (self.worded(mokken.note), self.note) if note),
            subset=self.subset,
        )  # fmt: skip
        rows = [_with(scale, mokken.h_low, mokken.h_high)]
        half = NORMAL_95 * model.discrimination_se
        for at, own in enumerate(np.count_nonzero(scores >= 0, axis=1).tolist()):
            h, a = float(mokken.h_raters[at]), float(model.discrimination[at])
            first = self.row(at, "mokken_h", h, own, mokken.notes[at])
            low, high = max(a - half[at], -BOUND), min(a + half[at], BOUND)
            wide = AT_END if a - half[at] < -BOUND or a + half[at] > BOUND else ""
            rows.append(_with(first, mokken.h_raters_low[at], mokken.h_raters_high[at]))
            notes = [note for note in (model.notes[at], wide, model.note if not np.isnan(a) else "") if note]
            rows.append(_with(self.row(at, "grm_a", a, own, "; ".join(notes)), low, high))
        return rows

    def _columns(self, scores: NDArray[np.int32], mokken: Mokken, model: GradedResponse) -> dict[str, dict[str, Any]]:
        """Return the columns of the finer tables that are not the same for all rows."""
        groups, labels, half = self.groups, self.labels[1:], NORMAL_95 * model.severity_se
        first, second = np.triu_indices(len(groups) if len(groups) <= MANY else 0, 1)
        h, se = mokken.h_pairs[first, second], mokken.h_pairs_se[first, second]
        low, high = interval(h, se)
        found = monotonicity_of(scores, self.points, mokken)
        return {
            "severity": {
                "item": self.items, "severity": model.severity, "se": model.severity_se,
                "ci_low": model.severity - half, "ci_high": model.severity + half,
                "n_scores": np.count_nonzero(scores >= 0, axis=0), "part": model.part,
            },
            "thresholds": {
                "group": [group for group in groups for _ in labels], "point": labels * len(groups),
                "threshold": model.thresholds.ravel(), "se": model.thresholds_se.ravel(),
            },
            "pairs": {
                "group": [groups[i] for i in first.tolist()], "other": [groups[j] for j in second.tolist()],
                "value": h, "se": se, "ci_low": low, "ci_high": high, "n_items": mokken.n_common[first, second],
            },
            "checks": {
                "group": groups, "scale": scales_of(mokken, self.lower_bound),
                "n_rest_groups": found.n_groups, "n_active": found.n_active, "n_violations": found.n_violations,
                "largest": found.largest, "total": found.total, "z": found.z, "n_significant": found.n_significant,
                "crit": found.crit, "note": list(found.notes),
            },
            "fits": {
                "n_fitted": [int(np.count_nonzero(~np.isnan(model.discrimination)))],
                "n_items": [int(np.count_nonzero(~np.isnan(model.severity)))],
                "smallest_pair": [mokken.smallest_pair], "n_undefined_pairs": [mokken.n_undefined_pairs],
                "log_likelihood": [model.log_likelihood], "iterations": [model.iterations],
                "converged": [model.converged], "n_grid": [model.n_grid], "note": [self.worded(model.note)],
            },
        }  # fmt: skip

    def row(self, at: int, statistic: str, value: float, n_items: int, note: str) -> Row:
        """Return a row of one of them."""
        notes = [one for one in (self.worded(note), self.note) if one]
        return Row(
            self.kind, self.axis, self.groups[at], statistic, value, n_raters=int(self.sizes[at]), n_items=n_items,
            n_ratings=int(self.given[at]), note="; ".join(notes), subset=self.subset,
        )  # fmt: skip

    def worded(self, note: str) -> str:
        """Return a note on raters as one on groups, if they are groups, whose scores combine several raters."""
        for of_raters, of_groups in () if self.kind == "rater" else _OF_GROUPS:
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
