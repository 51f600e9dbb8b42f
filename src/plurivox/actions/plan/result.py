"""What :func:`plurivox.plan` found, as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.actions.plan import words
from plurivox.base.wording import named
from plurivox.infer.tables import TableResult

YES, PARTLY, NO = "yes", "partly", "no"
LENSES = (
    "cohesion", "responsiveness against the crowd", "responsiveness against trained raters", "psychometrics",
    "soft scores", "alignment", "items",
)  # fmt: skip
SCHEMAS: dict[str, dict[str, Any]] = {
    "lenses": dict.fromkeys(("lens", "applies", "why", "next"), pl.String),
    "groups": {
        "axis": pl.String, "group": pl.String, "n_raters": pl.Int64, "n_ratings": pl.Int64,
        "ratings_per_item": pl.Float64, "n_items_twice": pl.Int64, "n_items_shared": pl.Int64, "cohesion": pl.String,
        "responsiveness": pl.String, "psychometrics": pl.String, "withheld": pl.Int64,
    },
    "power": {
        "axis": pl.String, "group": pl.String, "n_raters": pl.Int64, "n_rest": pl.Int64, "n_items": pl.Int64,
        "power_now": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "raters_needed": pl.Int64,
        "raters_power": pl.Float64, "items_needed": pl.Int64, "items_power": pl.Float64, "all_raters": pl.Int64,
        "all_items": pl.Int64, "all_power": pl.Float64, "why": pl.String,
    },
}  # fmt: skip
"""The tables and their columns."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan(TableResult):
    """What :func:`plurivox.plan` found.

    Attributes
    ----------
    tables
        ``lenses``: which lenses apply, why, and what to do next. ``groups``: for each group its ``n_raters`` and
        ``n_ratings``, the median of its ``ratings_per_item`` over the items it rated, ``n_items_twice`` that it rated
        at least twice (for IRR), ``n_items_shared`` with the rest (for XRR), and whether each lens applies to it;
        withheld groups are counted in one row per axis. ``power``, one row for each group: ``power_now`` with its Monte
        Carlo interval; how many raters of the group are needed in total (``raters_needed``), or how many items
        (``items_needed``), and the power there; if that number is missing, not even ten times as many are enough, and
        the power is that of ten times. ``all_raters`` and ``all_items`` are given if neither is enough: how many raters
        of all groups together, and with how many items. ``why`` says why nothing can be claimed.
    settings
        The settings, including the seed; ``left_out`` are the attributes with too many values for an axis.
    """

    KIND: ClassVar[str] = "plan"

    def __repr__(self) -> str:
        return f"<Plan: {len(self._applying())} of {len(LENSES)} lenses apply>"

    def _said(self) -> list[str]:
        """Return which lenses apply, what is too small for what, and what to collect."""
        power = self.table("power").to_dicts()
        return [*self._lens_findings(), *self._group_findings(), *words.power_findings(power, self.settings)]

    def _applying(self) -> list[str]:
        lenses = self.table("lenses")
        return lenses.filter(pl.col("applies") != NO)["lens"].to_list()

    def _lens_findings(self) -> Iterator[str]:
        applying = self._applying()
        yield f"{len(applying)} of {len(LENSES)} analyses apply: {', '.join(applying) or 'none'}."
        rest = self.table("lenses").filter(pl.col("applies") != YES)
        yield from (f"{row['lens'].capitalize()}: {row['why']}; {row['next']}." for row in rest.iter_rows(named=True))
        for attribute, n_values in self.settings["left_out"].items():
            many = f"{attribute} has {n_values:,} values, too many for an axis"
            yield f"{many}; if they are numbers, group them into bins."

    def _group_findings(self) -> Iterator[str]:
        groups = self.table("groups")
        for lens in ("cohesion", "responsiveness"):
            unfit = groups.filter((pl.col("withheld") == 0) & (pl.col(lens) != YES))
            for row in unfit.iter_rows(named=True):
                yield f"{named(row['axis'], row['group'])}: {lens} is not possible, since {row[lens]}."
        for row in groups.filter(pl.col("withheld") > 0).iter_rows(named=True):
            yield words.withheld(row["axis"], row["withheld"], self.settings["min_group_size"])
