"""What :func:`plurivox.soft_scores` found, as tables, sentences and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.base.wording import counted
from plurivox.infer.result import Result, Row, Statement, Table, frame_of
from plurivox.lenses.soft.comparisons import leading, ranked, shortened
from plurivox.lenses.soft.sums import ALL
from plurivox.lenses.soft.words import SoftFindings
from plurivox.statistics.soft_blocks import EMPIRICAL


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SoftScores(Result):
    """How good predicted rating distributions are.

    In addition to what every result has:

    Attributes
    ----------
    draws
        The bootstrap draws of each bin: ``groups`` are the predictions, ``resampled`` the metrics.
    tables
        The finer tables, which the methods return.
    """

    tables: tuple[Table, ...] = ()

    KIND: ClassVar[str] = "soft scores"
    ROLES: ClassVar[tuple[str, ...]] = ("scored",)
    PARTS: ClassVar[dict[str, Any]] = {**Result.PARTS, "tables": Table}

    def __repr__(self) -> str:
        return f"<SoftScores: {counted(len(self.models), 'model')} on {counted(self.settings['n_items'], 'item')}>"

    @property
    def models(self) -> list[str]:
        """The models, without what they are compared with."""
        return list(self.settings["models"])

    @property
    def bins(self) -> list[str]:
        """The bins of rating counts, from few to many."""
        return list(self.settings["bins"])

    @property
    def metrics(self) -> list[str]:
        """The metrics that were computed."""
        return list(self.settings["metrics"])

    @property
    def main(self) -> str:
        """The metric that sentences are about and tables and charts sort by: RPS, or the next best one requested."""
        return leading(self.metrics)

    def to_frame(self) -> pl.DataFrame:
        """Return one row per model, bin and statistic, for each group and each part of the items requested.

        ``subset`` is the part of the items, ``all`` for all of them.
        Models have a ``rank``, 1 for the best; ``reference`` marks predictions for comparison. Expected
        scores have the prior's share of the weight, the mean over items of α₀/(α₀ + n).
        """
        frame = frame_of(self.rows).rename({"subset": "bin"})
        own = pl.DataFrame(
            {"model": [row.model for row in self.rows], "reference": [row.kind == "reference" for row in self.rows]},
            schema={"model": pl.String, "reference": pl.Boolean},
        )
        weight = self._table("prior weight").select("axis", "group", "bin", "prior_share")
        whole = own.hstack(frame).join(weight, on=["axis", "group", "bin"], how="left", maintain_order="left")
        parts = self._table("parts").with_columns(bin=pl.lit(ALL))
        whole = pl.concat([whole.with_columns(subset=pl.lit(ALL)), parts], how="diagonal").drop("null_median")
        rounded = pl.Series("rounded", [shortened(value) for value in whole["value"]], dtype=pl.Float64)
        place = pl.when(~pl.col("reference") & pl.col("rounded").is_not_nan()).then("rounded").rank("min")
        keys = ["axis", "group", "subset", "bin", "statistic"]
        whole = whole.with_columns(rounded)
        whole = whole.with_columns(rank=place.over(keys).cast(pl.Int64)).drop("rounded")
        expected = ~pl.col("statistic").is_in(EMPIRICAL)
        whole = whole.with_columns(pl.when(expected).then("prior_share").alias("prior_share"))
        first, last = ["model", "bin", "subset", "axis", "group", "statistic"], ["rank", "prior_share"]
        return whole.select(*first, pl.exclude(*first, *last), *last)

    def parts(self) -> pl.DataFrame:
        """Return the rows of :meth:`to_frame` about a part of the items (``items_by``)."""
        return self.to_frame().filter(pl.col("subset") != ALL)

    def row(self, model: str, statistic: str, bin: str = ALL, axis: str = ALL, group: str = ALL) -> Row:  # noqa: A002
        """Return one row."""
        for row in self.rows:
            if (row.model, row.statistic, row.subset, row.axis, row.group) == (model, statistic, bin, axis, group):
                return row
        raise SelectionError(f"there is no {statistic} of {model!r} in bin {bin!r}", hint="to_frame() lists all.")

    def value(self, model: str, statistic: str, bin: str = ALL) -> float:  # noqa: A002
        """Return one value."""
        return self.row(model, statistic, bin).value

    def ranking(
        self, statistic: str | None = None, bin: str = ALL, axis: str = ALL, group: str = ALL  # noqa: A002
    ) -> list[str]:  # fmt: skip
        """Return the models from the lowest score to the highest by one metric, the leading one unless named."""
        return ranked(self.values(statistic or self.main, bin, axis, group))

    def comparisons(self) -> pl.DataFrame:
        """Return the difference of every two models, and of each with uniform and marginal, per bin and metric.

        Negative: the first is better. ``ci_low``, ``ci_high`` and ``p_better``, how often the first is better, come
        from resampled items. ``p_value`` comes from sign-flips of the items' differences; ``p_adjusted`` is corrected
        over all pairs (in bins: all pairs and bins), for the leading metric also over :meth:`interactions`. ``note``
        says why a pair is not tested.
        """
        return self._table("comparisons")

    def interactions(self) -> pl.DataFrame:
        """Return whether the comparison of two models by the leading metric depends on bins of ratings or on groups.

        ``difference`` is that of the two in the bin or group, ``elsewhere`` in all other bins, or by the other raters
        of the axis on the same items.
        """
        return self._table("interactions")

    def prior_weight(self) -> pl.DataFrame:
        """Return the prior's share of the weight in each bin."""
        whole = self._table("prior weight").filter(pl.col("axis") == ALL)
        return whole.drop("axis", "group")

    def sensitivity(self) -> pl.DataFrame:
        """Return expected scores and ranks for priors of other strengths, the mean weight of a point."""
        return self._table("sensitivity")

    def calibration(self) -> pl.DataFrame:
        """Return for each model the mean and variance of PITs, the calibration error and slope, and a test of PITs.

        PITs should have mean ½ and variance 1/12. The error is how far observed shares are from predicted ones on
        average; the slope is how they rise with them, ideally 1. The Kolmogorov–Smirnov test uses one randomised PIT
        per item.
        """
        return self._table("calibration")

    def pit(self) -> pl.DataFrame:
        """Return how the PITs of all ratings spread over ten bars, with 95 % intervals over items."""
        return self._table("pit")

    def reliability(self) -> pl.DataFrame:
        """Return how often ratings reach each point, by the predicted probability of that."""
        return self._table("reliability")

    def missing(self) -> pl.DataFrame:
        """Return which rated items a model lacks, and which of its items have no ratings."""
        return self._table("missing")

    def statements(self) -> list[Statement]:
        """Return which model is best, how sure that is, what it depends on, and what was left out."""
        return SoftFindings(self).statements()

    def values(self, statistic: str, bin: str = ALL, axis: str = ALL, group: str = ALL) -> dict[str, float]:  # noqa: A002
        """Return the value of each model by one metric."""
        key = (statistic, bin, axis, group)
        return {
            row.model: row.value
            for row in self.rows
            if row.kind == "model" and (row.statistic, row.subset, row.axis, row.group) == key
        }

    def _table(self, name: str) -> pl.DataFrame:
        return next(table.frame for table in self.tables if table.name == name)
