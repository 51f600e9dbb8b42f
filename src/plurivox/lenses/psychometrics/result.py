"""What :func:`plurivox.psychometrics` found, as tables, sentences and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.infer.result import GroupResult, Statement, Table
from plurivox.lenses.psychometrics.words import statements
from plurivox.statistics.graded import point_probabilities

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
        return statements(self)

    def _table(self, name: str) -> pl.DataFrame:
        for table in self.tables:
            if table.name == name:
                return table.frame
        raise SelectionError(f"the result has no table {name!r}")


_CURVES = {"axis": pl.String, "group": pl.String, "severity": pl.Float64, "expected_score": pl.Float64}
