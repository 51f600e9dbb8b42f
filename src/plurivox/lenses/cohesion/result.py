"""What :func:`plurivox.cohesion` found, as tables, sentences and JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import polars as pl

from plurivox.infer.result import GroupResult, Row, Statement, frame_of
from plurivox.lenses.cohesion.words import statements


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cohesion(GroupResult):
    """Which groups agree among themselves more than with others.

    In addition to what every result has:

    Attributes
    ----------
    pair_rows
        Every pair of groups, if requested.
    held_rows
        Each claim about a group, tested again within each other attribute of the call; ``other`` names it.
    """

    pair_rows: tuple[Row, ...] = ()
    held_rows: tuple[Row, ...] = ()

    KIND: ClassVar[str] = "cohesion"
    ROLES: ClassVar[tuple[str, ...]] = ("tested", "asked")
    PARTS: ClassVar[dict[str, Any]] = {**GroupResult.PARTS, "pair_rows": Row, "held_rows": Row}

    def __repr__(self) -> str:
        return f"<Cohesion: {self._on_axes('group')}, {self.n_shuffles:,} permutations>"

    def of_question(self, question: str) -> Cohesion:
        """Return the result with the name of the question it is about, which becomes the ``subset`` of its frames."""
        return replace(
            self,
            rows=tuple(replace(row, subset=question) for row in self.rows),
            pair_rows=tuple(replace(row, subset=question) for row in self.pair_rows),
            held_rows=tuple(replace(row, subset=question) for row in self.held_rows),
            draws=tuple(replace(draws, subset=question) for draws in self.draws),
            settings={**self.settings, "question": question},
        )

    def pairs(self) -> pl.DataFrame:
        """Return one row per pair of groups: XRR, and on the diagonal each group's IRR."""
        others = pl.Series("other", [row.other for row in self.pair_rows], dtype=pl.String)
        return frame_of(self.pair_rows).insert_column(2, others)

    def ranked_axes(self) -> list[Row]:
        """Return the DSI rows, the most dividing axis first: by corrected p-value, then by size."""
        rows = [row for row in self.rows if row.statistic == "dsi" and not math.isnan(row.value)]
        return sorted(rows, key=lambda row: (1.0 if row.p_adjusted is None else row.p_adjusted, -row.value))

    def statements(self) -> list[Statement]:
        """Return which groups stand out, which axis divides raters most, and what was withheld."""
        return statements(self)
