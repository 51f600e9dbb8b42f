"""What :func:`plurivox.variation` found, as tables, sentences and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.infer.result import GroupResult, Row, Statement, Table, frame_of
from plurivox.lenses.variation.words import statements


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Variation(GroupResult):
    """Who rates higher on the same items, and what scores vary by.

    In addition to what every result has:

    Attributes
    ----------
    pair_rows
        Every pair of groups, if requested.
    held_rows
        Each claim about a group, tested again within each other attribute of the call; ``other`` names it.
    tables
        Components of variance, reliability and the rest, by name.
    """

    pair_rows: tuple[Row, ...] = ()
    held_rows: tuple[Row, ...] = ()
    tables: tuple[Table, ...] = ()

    KIND: ClassVar[str] = "variation"
    ROLES: ClassVar[tuple[str, ...]] = ("higher",)
    PARTS: ClassVar[dict[str, Any]] = {**GroupResult.PARTS, "pair_rows": Row, "held_rows": Row, "tables": Table}

    def __repr__(self) -> str:
        return f"<Variation: {self._on_axes('group')}, {self.n_shuffles:,} permutations>"

    def components(self) -> pl.DataFrame:
        """Return one row per axis and component: its variance, and its share of all with an interval.

        Axis ``all`` has raters without groups: item, rater and rest. A negative variance counts as 0 in shares. The
        interval is that of the share.
        """
        return self._table("components")

    def reliability(self) -> pl.DataFrame:
        """Return one row per group and number of raters ``k``: how reliable the mean of k raters is.

        ``relative`` is for telling which item is higher, ``absolute`` for how high it is. ``ceiling`` is the highest
        correlation that any model can be expected to have with such means. Axis ``all`` has all raters; on every other
        axis, group ``all`` follows from its components, and each group from its own ratings.
        """
        return self._table("reliability")

    def needed(self) -> pl.DataFrame:
        """Return one row per group: how many raters it takes for their mean to reach the reliability ``target``."""
        return self._table("needed")

    def adjusted(self) -> pl.DataFrame:
        """Return one row per attribute and group: its effect on scores of the same items against the reference group.

        ``effect`` accounts for the other attributes, ``unadjusted`` does not; ``deviation`` is the first relative to
        the mean of all raters. Empty unless ``adjust`` was set.
        """
        return self._table("adjusted")

    def repeats(self) -> pl.DataFrame:
        """Return one row per group and statistic: how far raters agree with themselves on items they rated again.

        ``within`` raters and ``between`` raters on the same items: the share of equal pairs (``percent``),
        Krippendorff's ``alpha``, and the mean absolute ``change`` in points. Empty unless repeats were kept.
        """
        return self._table("repeats")

    def pairs(self) -> pl.DataFrame:
        """Return one row per pair of groups and statistic: how much higher ``group`` rates than ``other``."""
        others = pl.Series("other", [row.other for row in self.pair_rows], dtype=pl.String)
        return frame_of(self.pair_rows).insert_column(2, others)

    def _table(self, name: str) -> pl.DataFrame:
        return next(table.frame for table in self.tables if table.name == name)

    def statements(self) -> list[Statement]:
        """Return who rates higher, what scores vary by, what more raters would add, and what was withheld."""
        return statements(self)
