"""What :func:`plurivox.psychometrics` found, as frames, sentences, tables and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.base.wording import counted, listed, named
from plurivox.domain.axis import names_raters
from plurivox.domain.scale_names import Poles
from plurivox.infer.intervals import NORMAL_95
from plurivox.infer.result import GroupResult, Row, Statement, Table, value_text
from plurivox.infer.view import (
    INTERVAL,
    TESTED_RANGE,
    Column,
    View,
    compact,
    filled,
    notes_of,
    spread_view,
    view_of,
    written,
)
from plurivox.lenses.psychometrics import LEFT_OUT, MANY
from plurivox.statistics.graded import DOUBTFUL, point_probabilities
from plurivox.statistics.mokken import STRENGTHS
from plurivox.statistics.registry import LABELS, names_of

CURVE = tuple(np.linspace(-3, 3, 61).tolist())
"""The severities at which curves are given."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Psychometrics(GroupResult):
    """Whether raters measure one severity, and how sharply each of them does.

    In addition to what every result has:

    Attributes
    ----------
    rows
        H_j (``mokken_h``) and discrimination (``grm_a``) of every rater or group; the group "all together" has the H
        of a whole axis.
    draws
        None: intervals come from the delta method and the observed information.
    tables
        The finer tables, which the methods return.
    """

    tables: tuple[Table, ...] = ()

    KIND: ClassVar[str] = "psychometrics"
    ROLES: ClassVar[tuple[str, ...]] = ("scaled",)
    PARTS: ClassVar[dict[str, Any]] = {**GroupResult.PARTS, "tables": Table}

    def __repr__(self) -> str:
        return f"<Psychometrics: {self._on_axes('group', 'rater', many='raters or groups')}>"

    def severity(self) -> pl.DataFrame:
        """Return the model's severity of each item, in standard deviations from the mean, with its error.

        An item that no fitted rater scored has NaN. Severities of items with different ``part``, which no raters link,
        cannot be compared.
        """
        return self._table("severity")

    def thresholds(self) -> pl.DataFrame:
        """Return the severity above which each rater or group is more likely than not to give a point or a higher one.

        Where the discrimination is negative, it is the severity below which they are.
        """
        return self._table("thresholds")

    def pairs(self) -> pl.DataFrame:
        """Return H_ij of every two raters or groups, and over how many items; empty for more than 200 of them."""
        return self._table("pairs")

    def checks(self) -> pl.DataFrame:
        """Return Mokken's checks: the scale that each rater or group is put into, and where its scores fall.

        ``scale`` is 1 for the first scale, 0 for none. ``n_violations`` counts pairs of rest-score groups
        of which the lower reaches a point more often; a ``crit`` of 80 or more is serious.
        """
        return self._table("checks")

    def fits(self) -> pl.DataFrame:
        """Return how the model of each axis was fitted: log-likelihood, iterations, convergence, and warnings."""
        return self._table("fits")

    def curves(self, axis: str | None = None, subset: str = "all") -> pl.DataFrame:
        """Return the score that each rater or group is expected to give at severities from −3 to 3."""
        if axis is not None and axis not in self.axes:
            raise SelectionError(f"there is no axis {axis!r}; the axes are: {', '.join(self.axes)}")
        values = np.array(self.settings["values"])
        slopes = {
            (row.axis, row.group): row.value
            for row in self.rows
            if row.statistic == "grm_a" and row.subset == subset and not np.isnan(row.value)
        }
        frames = [pl.DataFrame(schema=_CURVES)]
        own = self.thresholds().filter(pl.col("subset") == subset)
        for (name, group), part in own.group_by("axis", "group", maintain_order=True):
            key = (str(name), str(group))
            if axis not in (None, name) or key not in slopes:
                continue
            cuts = part["threshold"].to_numpy()[np.newaxis]
            chances = point_probabilities(np.array([slopes[key]]), cuts, CURVE)[:, 0]
            ends = {"axis": [name] * len(CURVE), "group": [group] * len(CURVE)}
            frames.append(pl.DataFrame(ends | {"severity": CURVE, "expected_score": chances @ values}, schema=_CURVES))
        return pl.concat(frames)

    def statements(self) -> list[Statement]:
        """Return how well raters or groups scale together, who stands apart, and what to be careful about."""
        found: list[Statement] = []
        for axis in self.axes:
            rows = [row for row in self.rows if (row.axis, row.subset) == (axis, "all")]
            if axis in self.settings["several"]:
                continue  # groups that share raters scale together for that reason alone
            found += _scale(axis, rows) + _apart(self, axis, rows) + _sharpness(axis, rows, Poles.of(self.settings))
            found += _checked(self, axis)
            if any(row.note == LEFT_OUT for row in rows):
                many = f"above {MANY} raters or groups, or with very many items"
                text = f"Mokken's H_j and the discrimination by {axis} are left out {many}; plurivox scale shows them."
                found.append(Statement(text, 0.0, axis, "mokken_h"))
        where: dict[tuple[str, str], list[str]] = {}  # remarks on the fits themselves
        for axis, subset, note in self.fits().select("axis", "subset", "note").iter_rows():
            if note:
                where.setdefault((axis, note), []).append("all items" if subset == "all" else subset)
        for (axis, note), on in where.items():
            text = f"Graded response model of {axis}{'' if on == ['all items'] else f' on {listed(on)}'}: {note}."
            found.append(Statement(text, 0.0, axis, "grm_a"))
        return [*found, *self.withheld_statement(), Statement(REMINDER, 0.0, statistic="reminder")]

    def _table(self, name: str) -> pl.DataFrame:
        for table in self.tables:
            if table.name == name:
                return table.frame
        raise SelectionError(f"the result has no table {name!r}")


_CURVES = {"axis": pl.String, "group": pl.String, "severity": pl.Float64, "expected_score": pl.Float64}


# Sentences ------------------------------------------------------------------------------------------------------------

SERIOUS = 80
"""The crit at and above which violations of monotonicity are called serious."""
WEAK = STRENGTHS[-1][0]
REMINDER = "A low value is a reason to look at the instructions and the scale, never a reason to drop a group."
NAMED = 3
"""The most groups that a sentence names; others are counted."""


def _scale(axis: str, rows: Sequence[Row]) -> list[Statement]:
    scale = next((row for row in rows if row.kind == "scale"), None)
    own = [row for row in rows if row.statistic == "mokken_h" and row.kind != "scale" and not np.isnan(row.value)]
    if scale is None or np.isnan(scale.value):
        return []
    n_below = sum(row.value < WEAK for row in own)
    strength = next((word for least, word in STRENGTHS if scale.value >= least), "")
    if not strength:
        words = "do not order items alike"
    elif scale.ci_low is None or scale.ci_low < WEAK:
        words = "may order items alike, with too few items to be sure"
    else:
        words = f"order items alike, a {strength} scale by Mokken's measure"
    apart = f"; {n_below} of them with H_j below {WEAK:g}" if n_below and strength else ""
    value = value_text(scale).replace(")", " over items)")  # the interval holds for these raters
    text = f"The {_members(axis, len(own))} {words}: H {value}{apart}."
    return [Statement(text, 1.3, axis, "mokken_h")]


def _apart(result: Psychometrics, axis: str, rows: Sequence[Row]) -> list[Statement]:
    """Return who scales poorly with the others, and whose scores fall where those of others rise."""
    bound = result.settings["lower_bound"]
    scaled = [row for row in rows if row.kind != "scale" and row.statistic == "mokken_h"]
    sharp = [row for row in rows if row.statistic == "grm_a"]
    low = [row for row in scaled if _below(row, bound, len(scaled))]
    falling = [row for row in sharp if _below(row, 0.0, len(sharp))]
    sentences = []
    if low:
        text = (
            f"H_j lies below {bound:g} for {_named(low)}, allowing for the choice of items but not of raters (95 % for "
            "all of them together): a different order of items, or more noise."
        )
        sentences.append(Statement(text, 1.25, axis, "mokken_h"))
    notes = _of(result.fits(), axis, "all")["note"]
    if falling and not any(DOUBTFUL in note for note in notes):
        more = Poles.of(result.settings).more
        text = f"The scores of {_named(falling, 'a')} fall as items get {more}: the scale may be read upside down."
        sentences.append(Statement(text, 1.9, axis, "grm_a"))
    return sentences


def _sharpness(axis: str, rows: Sequence[Row], poles: Poles) -> list[Statement]:
    """Return how sharply scores rise, without naming extremes, which are not tested."""
    own = [row for row in rows if row.statistic == "grm_a" and row.kind == "group" and not np.isnan(row.value)]
    if len(own) < 2 or names_raters(axis):
        return []
    low, high = min(row.value for row in own), max(row.value for row in own)
    text = (
        f"How sharply scores rise as items get {poles.more} (a) ranges from {low:.2f} to {high:.2f} over the "
        f"{len(own)} groups of {axis}; which of them differ is not tested, and larger groups are less noisy."
    )
    return [Statement(text, 1.2, axis, "grm_a")]


def _checked(result: Psychometrics, axis: str) -> list[Statement]:
    own = _of(result.checks(), axis, "all")
    found = []
    serious = own.filter(pl.col("crit").fill_nan(0.0) >= SERIOUS)["group"].to_list()
    if serious:
        who = _members(axis, len(serious)) if names_raters(axis) else listed(serious, NAMED)
        text = f"In places the scores of {who} fall where those of the others rise (crit {SERIOUS} or more)."
        found.append(Statement(text, 1.5, axis, "mokken_h"))
    scales = own.filter(pl.col("note") == "")["scale"].to_list() or own["scale"].to_list()
    outside = scales.count(0)
    if outside < len(scales) and (outside or max(scales) > 1):
        word = "scale" if max(scales) == 1 else "scales"
        inside = f"{len(scales) - outside} of the {_members(axis, len(scales))} into {max(scales)} {word}"
        bound = result.settings["lower_bound"]
        text = f"Mokken's selection puts {inside} with H_j of {bound:g} or more; close to that, chance decides."
        found.append(Statement(text, 1.1, axis, "mokken_h"))
    return found


def _below(row: Row, bound: float, among: int) -> bool:
    """Return whether a value lies below a bound, its interval widened for the number examined (Bonferroni)."""
    from scipy.special import ndtri

    if row.ci_high is None:
        return False
    wider = float(ndtri(1 - 0.025 / among)) / NORMAL_95
    return row.value + wider * (row.ci_high - row.value) < bound


def _named(rows: Sequence[Row], symbol: str = "H_j") -> str:
    """Name groups with their values; raters are only counted."""
    if names_raters(rows[0].axis):
        return _members(rows[0].axis, len(rows))
    names = (
        f"{named(row.axis, row.group)} ({symbol} {row.value:.2f}, {row.ci_low:.2f} to {row.ci_high:.2f} over items)"
        for row in rows
    )
    return listed(names, NAMED)


def _members(axis: str, n: int) -> str:
    return counted(n, "rater") if names_raters(axis) else f"{counted(n, 'group')} of {axis}"


# Tables ---------------------------------------------------------------------------------------------------------------


def tables(found: Psychometrics, top: int = 5) -> list[View]:
    """Return all tables of a result."""
    groups = [
        (_raters if names_raters(axis) else _groups)(found, axis, subset)
        for subset in found.subsets
        for axis in found.axes
    ]
    return [*groups, _fitted(found), *_items(found, top)]


def brief(found: Psychometrics, top: int = 0) -> list[View]:
    """Return groups of all axes in one table, how values spread over raters, and items if requested."""
    alone = list(filter(names_raters, found.axes))
    title = "Do groups order items as others do (H), and how sharply (a)"
    view = compact(found, without=alone, title=title, over="95 % intervals")
    raters = [_raters(found, axis, subset) for subset in found.subsets for axis in alone]
    return [*filled(view), *raters, *(_items(found, top) if top else ())]


def notes(found: Psychometrics) -> list[str]:
    """Return the notes on groups, without what findings say about the fit as a whole."""
    fits = {(axis, subset): note for axis, subset, note in found.fits().select("axis", "subset", "note").iter_rows()}
    rows = []
    for row in found.rows:
        if row.kind == "group" and not names_raters(row.axis):
            whole = fits.get((row.axis, row.subset), "")
            own = [note for note in row.note.split("; ") if note not in whole.split("; ")]
            rows.append(replace(row, note="; ".join(own)))
    return notes_of(rows, LABELS)


def _title(axis: str, subset: str) -> str:
    return axis if subset == "all" else f"On {subset}: {axis}"


def _rows(found: Psychometrics, axis: str, subset: str) -> list[Row]:
    return [row for row in found.rows if (row.axis, row.subset) == (axis, subset) and row.kind != "scale"]


def _groups(found: Psychometrics, axis: str, subset: str) -> View:
    checks = {
        group: (str(scale) if scale else None, crit)
        for group, scale, crit in _of(found.checks(), axis, subset).select("group", "scale", "crit").iter_rows()
    }
    cuts: dict[str, list[str]] = {}
    for group, threshold in _of(found.thresholds(), axis, subset).select("group", "threshold").iter_rows():
        cuts.setdefault(group, []).append(written(round(threshold, 2), ".2f"))
    rows: dict[str, dict[str, Row]] = {}
    for row in _rows(found, axis, subset):
        rows.setdefault(row.group, {})[row.statistic] = row
    lines = []
    for group, own in rows.items():
        h, a = own["mokken_h"], own["grm_a"]
        scale, crit = checks.get(group, (None, None))
        lines.append([group, h.n_raters, h.n_items, h, scale, crit, a, " ".join(cuts.get(group, []))])
    header = ["group", "raters", "items", Column("H_j [95 %]", TESTED_RANGE), "scale", Column("crit", ".0f"),
              Column("a [95 %]", TESTED_RANGE), "thresholds"]  # fmt: skip
    return View(_title(axis, subset), header, lines)


def _raters(found: Psychometrics, axis: str, subset: str) -> View:
    """Return how values spread over raters, who are not named here."""
    values = {
        LABELS[name]: [row.value for row in _rows(found, axis, subset) if row.statistic == name]
        for name in names_of("scaled")
    }
    values["crit of monotonicity"] = _of(found.checks(), axis, subset)["crit"].to_list()
    return spread_view(f"{_title(axis, subset)}, individually (--csv names them)", values)


def _fitted(found: Psychometrics) -> View:
    scales = {(row.axis, row.subset): row for row in found.rows if row.kind == "scale"}
    lines = []
    for fit in found.fits().iter_rows(named=True):
        where = fit["axis"] if fit["subset"] == "all" else f"{fit['axis']} on {fit['subset']}"
        fitted = not math.isnan(fit["log_likelihood"])
        model = [fit[name] if fitted else None for name in ("log_likelihood", "iterations", "converged")]
        pairs = fit["smallest_pair"], fit["n_undefined_pairs"]
        lines.append([where, scales[fit["axis"], fit["subset"]], *pairs, str(fit["n_fitted"]), *model])
    header = ["", Column("H [95 %]", TESTED_RANGE), "fewest common items", "undefined pairs", "in the model",
              Column("log-likelihood", ",.2f"), "iterations", "converged"]  # fmt: skip
    return View("All together", header, lines)


def _items(found: Psychometrics, top: int) -> list[View]:
    """Return the items at both ends of each scale."""
    shown = []
    for axis in found.axes:
        known = _of(found.severity(), axis, "all").filter(pl.col("severity").is_not_nan())
        if known.is_empty() or not top:
            continue
        ordered = known.sort("severity", descending=True, maintain_order=True)
        chosen = ordered if ordered.height <= 2 * top else pl.concat([ordered.head(top), ordered.tail(top)])
        n_top, n_low = (
            int((known["severity"] - end).abs().lt(1e-9).sum())
            for end in (ordered["severity"][0], ordered["severity"][-1])
        )
        poles = Poles.of(found.settings)
        ends = ((n_top, poles.high), (n_low, poles.low))
        tied = ", ".join(f"{n:,} tie at the {end} end" for n, end in ends if n > top)
        title = f"How {poles.how} items are by {axis}: the {poles.high} and the {poles.low} end of {known.height:,}"
        title += f"; {tied}" if tied else ""
        names = {
            "item": "item", "severity": Column("severity", ".2f"), "ci_low": Column("95 % interval", INTERVAL),
            "n_scores": "scores",
        }  # fmt: skip
        shown.append(view_of(title, chosen, names))
    return shown


def _of(frame: pl.DataFrame, axis: str, subset: str) -> pl.DataFrame:
    return frame.filter((pl.col("axis") == axis) & (pl.col("subset") == subset))
