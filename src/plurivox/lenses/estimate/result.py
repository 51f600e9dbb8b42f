"""What :func:`plurivox.estimate` found, as tables, sentences and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.base.wording import counted
from plurivox.infer.result import Row, Statement, frame_of
from plurivox.infer.tables import ModelResult
from plurivox.lenses.alignment.matching import ALL
from plurivox.lenses.estimate.words import EstimateFindings


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate(ModelResult):
    """What people think of all items, from few human ratings and many model answers."""

    KIND: ClassVar[str] = "estimate"
    ROLES: ClassVar[tuple[str, ...]] = ("estimated",)

    def __repr__(self) -> str:
        judges = counted(len(self.voices), "judge")
        return f"<Estimate: {judges} with humans, over {counted(self.settings['n_items'], 'item')}>"

    @property
    def of(self) -> list[str]:
        """What was estimated: the mean, or shares of points."""
        return list(self.settings["of"])

    def to_frame(self) -> pl.DataFrame:
        """Return one row per model, prompt, axis, group, subset, ``of`` and statistic.

        ``of`` is what was estimated: the mean, or a share. ``n_items`` of an estimate counts all items that it rests
        on; for humans alone, those that they rated.
        """
        own = pl.DataFrame(
            [(row.model, row.prompt, row.other) for row in self.rows],
            schema={"model": pl.String, "prompt": pl.String, "of": pl.String},
            orient="row",
        )
        return pl.concat([own, frame_of(self.rows)], how="horizontal")

    def row(
        self, model: str, statistic: str = "estimate", *, of: str | None = None, prompt: str | None = None,
        axis: str = ALL, group: str = ALL, subset: str = ALL,
    ) -> Row:  # fmt: skip
        """Return one row; ``of`` defaults to what was estimated first, and a prompt is needed if there are several."""
        wanted = (model, statistic, self.of[0] if of is None else of, axis, group, subset)
        found = [
            row for row in self.rows
            if (row.model, row.statistic, row.other, row.axis, row.group, row.subset) == wanted
            and prompt in (None, row.prompt)
        ]  # fmt: skip
        if len(found) != 1:
            several = "several prompts have it" if found else "there is no such value"
            raise SelectionError(
                f"{statistic} of {model!r} for {group!r} on {axis!r}: {several}", hint="to_frame() lists what there is."
            )
        return found[0]

    def value(self, model: str, statistic: str = "estimate", **key: Any) -> float:
        """Return one value; see :meth:`row`."""
        return self.row(model, statistic, **key).value

    def accounts(self) -> pl.DataFrame:
        """Return for each voice and subset how many rated and further items it answered, and why not the others."""
        return self._table("accounts")

    def judges(self) -> pl.DataFrame:
        """Return each judge's λ among all (``weight``) and ``alone``, on the items that all answered.

        ``correlation`` is with the humans' item means, ``bias`` is how much higher the judge scores, and ``selected``
        marks the judge whose estimate varies least. Empty for a single judge.
        """
        return self._table("judges")

    def errors(self) -> pl.DataFrame:
        """Return the correlation of the errors of each two judges over items, without and with chance in ratings."""
        return self._table("errors")

    def population(self) -> pl.DataFrame:
        """Return how rated items differ from others: in attributes of items, and in what models answer.

        ``rated`` and ``others`` are the shares of the ``value`` that differs most, or means; ``p_adjusted`` is Holm's
        correction over all rows. Rows ``without an answer`` compare the ratings of items that a model answered with
        those of items that it did not.
        """
        return self._table("population")

    def statements(self) -> list[Statement]:
        """Return what may be wrong, the estimates, what models are worth, and how far their errors are shared."""
        return EstimateFindings(self).statements()
