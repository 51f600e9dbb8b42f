"""What :func:`plurivox.alignment` found, as tables, sentences and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.answers import Voice
from plurivox.errors import SelectionError
from plurivox.lenses.alignment.matching import ALL
from plurivox.lenses.alignment.words import AlignmentFindings
from plurivox.results.result import Result, Row, Statement, Table, frame_of


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Alignment(Result):
    """Whose view models reflect.

    Attributes
    ----------
    rows
        Every value; :meth:`to_frame` shows them as a table.
    withheld, outside
        For each axis, how many groups were too small to show, and how many raters have no value on it.
    draws
        The permutation draws of the gap between the closest and the second group of each axis.
    settings
        What was asked for, the seed included, and how many items were scored.
    tables
        The finer tables, which the methods return.
    """

    tables: tuple[Table, ...] = ()

    KIND: ClassVar[str] = "alignment"
    PARTS: ClassVar[dict[str, Any]] = {**Result.PARTS, "tables": Table}

    def __repr__(self) -> str:
        return f"<Alignment: {len(self.voices)} voices beside {self.settings['n_items']:,} items>"

    @property
    def voices(self) -> list[Voice]:
        """Each model with each of its prompts."""
        return [Voice(*pair) for pair in self.settings["voices"]]

    def to_frame(self) -> pl.DataFrame:
        """Return one row per model, prompt, axis, group, subset and statistic."""
        frame = frame_of(self.rows)
        own = pl.DataFrame(
            {"model": [row.model for row in self.rows], "prompt": [row.prompt for row in self.rows]},
            schema={"model": pl.String, "prompt": pl.String},
        )
        return pl.concat([own, frame], how="horizontal")

    def row(
        self, model: str, statistic: str = "ada_met", *, prompt: str | None = None, axis: str = ALL, group: str = ALL,
        subset: str = ALL,
    ) -> Row:  # fmt: skip
        """Return one row; the prompt may be left out where the model has one only."""
        found = [
            row
            for row in self.rows
            if (row.model, row.statistic, row.axis, row.group, row.subset) == (model, statistic, axis, group, subset)
            and prompt in (None, row.prompt)
        ]
        if len(found) != 1:
            several = "several prompts have one" if found else "there is none"
            raise SelectionError(
                f"{statistic} of {model!r} for {group!r} on {axis!r}: {several}", hint="to_frame() lists what there is."
            )
        return found[0]

    def value(self, model: str, statistic: str = "ada_met", **key: Any) -> float:
        """Return one value; see :meth:`row`."""
        return self.row(model, statistic, **key).value

    def accounts(self) -> pl.DataFrame:
        """Return for each voice and subset how many rated items it answered, refused and so on, and lacks."""
        return self._table("accounts")

    def closest(self) -> pl.DataFrame:
        """Return the closest group of each voice on each axis: the gap to the second, p, and how often it wins."""
        rows = [row for row in self.rows if row.kind == "closest"]
        keys = ["model", "prompt", "axis", "group"]
        frame = pl.DataFrame(
            [
                (row.model, row.prompt, row.axis, row.group, row.value, row.null_median, row.p_value, row.p_adjusted)
                for row in rows
            ],
            schema={
                **dict.fromkeys(keys, pl.String), "gap": pl.Float64, "null_median": pl.Float64, "p_value": pl.Float64,
                "p_adjusted": pl.Float64,
            },
            orient="row",
        )  # fmt: skip
        return frame.join(self.standings(), on=keys, how="left", maintain_order="left")

    def standings(self) -> pl.DataFrame:
        """Return every group of every axis beside each voice, on items on which all of them voted.

        ``value`` is the mean distance from the group's mode, ``wins`` how often it is the smallest when items are drawn
        anew, ``matched`` the value at equal group sizes.
        """
        return self._table("standings")

    def contrasts(self) -> pl.DataFrame:
        """Return how much farther than the closest group each other one is, also at equal sizes, with intervals."""
        return self._table("contrasts")

    def alphas(self) -> pl.DataFrame:
        """Return Krippendorff's alpha among models, within families, and of models and humans together."""
        return self._table("alphas")

    def stand_ins(self) -> pl.DataFrame:
        """Return for which share of humans (ω) each voice may stand in, and how often it wins against one (ρ)."""
        return self._table("stand ins")

    def prompts(self) -> pl.DataFrame:
        """Return how alike the answers of a model to different prompts are."""
        return self._table("prompts")

    def stability(self) -> pl.DataFrame:
        """Return how alike repeated answers to the same question are."""
        return self._table("stability")

    def positions(self) -> pl.DataFrame:
        """Return how often the option at each place was chosen, where options were shuffled."""
        return self._table("positions")

    def distances(self) -> pl.DataFrame:
        """Return how many answers of each voice are how far from the mode of all votes."""
        return self._table("distances")

    def items(self) -> pl.DataFrame:
        """Return the items, those first that models and humans see most differently."""
        return self._table("items")

    def statements(self) -> list[Statement]:
        """Return whom each model's answers lie closest to, how sure that is, and what was left out."""
        return AlignmentFindings(self).statements()

    def _table(self, name: str) -> pl.DataFrame:
        return next(table.frame for table in self.tables if table.name == name)
