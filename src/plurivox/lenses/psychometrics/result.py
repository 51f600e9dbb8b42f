"""What :func:`plurivox.psychometrics` found, as tables, sentences and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from plurivox.axis import names_raters
from plurivox.errors import SelectionError
from plurivox.lenses.psychometrics.scales import LEFT_OUT, MANY
from plurivox.results.result import GroupResult, Row, Statement, Table
from plurivox.results.wording import counted, listed
from plurivox.statistics.graded import DOUBTFUL, point_probabilities
from plurivox.statistics.mokken import STRENGTHS

CURVE = tuple(np.linspace(-3, 3, 61).tolist())
"""The severities at which curves are given."""
LARGER = 1.5
"""A group with so many times the raters of another is said to be less noisy."""
SERIOUS = 80
"""The crit from which on violations of monotonicity are called serious."""
WEAK = STRENGTHS[-1][0]
REMINDER = "A low value is a reason to look, at instructions and scale, never one to drop a group."
NAMED = 3
"""Groups that a sentence names; others are counted."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Psychometrics(GroupResult):
    """Whether raters measure one severity, and how sharply each of them does.

    Attributes
    ----------
    rows
        H_j (``mokken_h``) and discrimination (``grm_a``) of every rater or group; H of a whole axis is that of the
        group "all together".
    withheld, outside
        For each axis, how many groups were too small to show, and how many raters have no value on it.
    draws
        None: intervals are the delta method's and those of the observed information.
    settings
        What was asked for.
    tables
        The finer tables, which the methods return.
    """

    tables: tuple[Table, ...] = ()

    KIND: ClassVar[str] = "psychometrics"
    PARTS: ClassVar[dict[str, Any]] = {**GroupResult.PARTS, "tables": Table}

    def __repr__(self) -> str:
        groups = len({(row.axis, row.group) for row in self.rows if row.kind != "scale"})
        return f"<Psychometrics: {groups} raters or groups on {len(self.axes)} axes>"

    @property
    def subsets(self) -> list[str]:
        """The sets of items, ``"all"`` first."""
        return list(dict.fromkeys(row.subset for row in self.rows))

    def severity(self) -> pl.DataFrame:
        """Return the severity that the model gives each item, in standard deviations from the mean, with its error.

        An item that no fitted rater scored has NaN. Severities of items of different ``part``, which no raters link,
        cannot be compared.
        """
        return self._table("severity")

    def thresholds(self) -> pl.DataFrame:
        """Return from which severity on each rater or group more likely than not gives a point or a higher one.

        Where the discrimination is negative it is up to which severity.
        """
        return self._table("thresholds")

    def pairs(self) -> pl.DataFrame:
        """Return H_ij of every two raters or groups, and over how many items; empty above 200 of them."""
        return self._table("pairs")

    def checks(self) -> pl.DataFrame:
        """Return Mokken's checks: which scale each rater or group is put into, and where its scores fall.

        ``scale`` is 1 for the first scale, 0 for none. ``n_violations`` counts pairs of rest-score groups
        of which the lower reaches a point more often; ``crit`` of 80 and more is serious.
        """
        return self._table("checks")

    def fits(self) -> pl.DataFrame:
        """Return how the model of each axis was fitted: log-likelihood, iterations, convergence, and what to beware."""
        return self._table("fits")

    def curves(self, axis: str | None = None, subset: str = "all") -> pl.DataFrame:
        """Return the score that each rater or group is expected to give at severities from −3 to 3."""
        if axis is not None and axis not in self.axes:
            raise SelectionError(f"there is no axis {axis!r}; there are: {', '.join(self.axes)}")
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
        """Return how well raters or groups go together, who stands apart, and what to beware of."""
        found: list[Statement] = []
        for axis in self.axes:
            rows = [row for row in self.rows if (row.axis, row.subset) == (axis, "all")]
            if axis in self.settings["several"]:
                continue  # groups that share raters go together for that alone
            found += self._scale(axis, rows) + self._apart(axis, rows) + self._sharpest(axis, rows)
            found += self._checked(axis) + self._left_out(axis, rows)
        found += self._flagged() + self.withheld_statement()
        return [*found, Statement(REMINDER, 0.0, statistic="reminder")]

    def _table(self, name: str) -> pl.DataFrame:
        for table in self.tables:
            if table.name == name:
                return table.frame
        raise SelectionError(f"the result has no table {name!r}")

    def _scale(self, axis: str, rows: Sequence[Row]) -> list[Statement]:
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
        text = f"The {_members(axis, len(own))} {words}: H {_with_interval(scale)}{apart}."
        return [Statement(text, 1.3, axis, "mokken_h")]

    def _apart(self, axis: str, rows: Sequence[Row]) -> list[Statement]:
        """Return who goes little with the others, and whose scores fall with severity."""
        bound = self.settings["lower_bound"]
        low = [row for row in rows if row.kind != "scale" and row.statistic == "mokken_h" and _below(row, bound)]
        falling = [row for row in rows if row.statistic == "grm_a" and _below(row, 0.0)]
        sentences = []
        if low:
            stay = "stays" if len(low) == 1 else "stay"
            text = f"{_named(low)} surely {stay} below an H_j of {bound:g}: another order of items, or more noise."
            sentences.append(Statement(text, 1.25, axis, "mokken_h"))
        if falling and not self._doubtful(axis):
            text = f"The scores of {_named(falling, 'a')} fall as severity rises: the scale may be read upside down."
            sentences.append(Statement(text, 1.9, axis, "grm_a"))
        return sentences

    def _doubtful(self, axis: str) -> bool:
        notes = self.fits().filter((pl.col("axis") == axis) & (pl.col("subset") == "all"))["note"]
        return any(DOUBTFUL in note for note in notes)

    def _sharpest(self, axis: str, rows: Sequence[Row]) -> list[Statement]:
        """Return whose scores rise most and least sharply, if all have an interval and these two do not overlap."""
        own = [row for row in rows if row.statistic == "grm_a" and row.kind == "group" and not np.isnan(row.value)]
        if len(own) < 2 or names_raters(axis) or any(row.ci_low is None or row.value <= 0 for row in own):
            return []
        high, low = max(own, key=lambda row: row.value), min(own, key=lambda row: row.value)
        if (high.ci_low or 0.0) <= (low.ci_high or 0.0):
            return []
        noise = "; larger groups are less noisy" if high.n_raters > LARGER * low.n_raters else ""
        text = (
            f"Of {axis}, the scores of {high.group} follow severity most sharply, a {_with_interval(high)}, those of "
            f"{low.group} least, {_with_interval(low)}{noise}."
        )
        return [Statement(text, 1.2, axis, "grm_a")]

    def _checked(self, axis: str) -> list[Statement]:
        own = self.checks().filter((pl.col("axis") == axis) & (pl.col("subset") == "all"))
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
            inside = f"{len(scales) - outside} of the {_members(axis, len(scales))} go into {max(scales)} {word}"
            bound = self.settings["lower_bound"]
            text = f"By Mokken's selection, {inside} with H_j of {bound:g} or more; close to that, chance decides."
            found.append(Statement(text, 1.1, axis, "mokken_h"))
        return found

    def _left_out(self, axis: str, rows: Sequence[Row]) -> list[Statement]:
        if not any(row.note == LEFT_OUT for row in rows):
            return []
        many = f"above {MANY} of them, or with very many items"
        text = f"Mokken's H_j and the discrimination of {axis} are left out {many}; plurivox scale has them."
        return [Statement(text, 0.0, axis, "mokken_h")]

    def _flagged(self) -> list[Statement]:
        """Return what is to be said of the fits themselves."""
        found = []
        for axis, subset, note in self.fits().select("axis", "subset", "note").iter_rows():
            if note:
                where = axis if subset == "all" else f"{axis} on {subset}"
                found.append(Statement(f"Graded response model of {where}: {note}.", 0.0, axis, "grm_a"))
        return found


_CURVES = {"axis": pl.String, "group": pl.String, "severity": pl.Float64, "expected_score": pl.Float64}


def _below(row: Row, bound: float) -> bool:
    return row.ci_high is not None and row.ci_high < bound


def _with_interval(row: Row) -> str:
    interval = "" if row.ci_low is None or row.ci_high is None else f" ({row.ci_low:.2f} to {row.ci_high:.2f})"
    return f"{row.value:.2f}{interval}"


def _named(rows: Sequence[Row], symbol: str = "H_j") -> str:
    """Name groups with their values; raters are counted only."""
    if names_raters(rows[0].axis):
        return _members(rows[0].axis, len(rows))
    names = (f"{row.group} ({symbol} {row.value:.2f}, {row.ci_low:.2f} to {row.ci_high:.2f})" for row in rows)
    return listed(names, NAMED)


def _members(axis: str, n: int) -> str:
    return counted(n, "rater") if names_raters(axis) else f"{counted(n, 'group')} of {axis}"
