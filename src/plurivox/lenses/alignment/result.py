"""What :func:`plurivox.alignment` found, as tables, sentences and JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, ClassVar

import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.base.wording import counted
from plurivox.infer.result import Row, Statement, frame_of
from plurivox.infer.tables import ModelResult
from plurivox.lenses.alignment.matching import ALL, N_RANDOM
from plurivox.lenses.alignment.sums import REFERENCE
from plurivox.lenses.alignment.words import AlignmentFindings


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Alignment(ModelResult):
    """Whose view models reflect.

    In addition to what every result has:

    Attributes
    ----------
    draws
        The permutation draws of the gap between the closest and the second group of each axis.
    """

    KIND: ClassVar[str] = "alignment"
    ROLES: ClassVar[tuple[str, ...]] = ("distance",)

    def __repr__(self) -> str:
        beside = "and humans on" if self.settings["humans"] else "without humans, on"
        return f"<Alignment: {counted(len(self.voices), 'voice')} {beside} {counted(self.settings['n_items'], 'item')}>"

    def to_frame(self) -> pl.DataFrame:
        """Return one row per model, prompt, axis, group, subset and statistic.

        Answers without judgement, such as a constant, are marked by ``reference``.
        """
        frame = frame_of(self.rows)
        own = pl.DataFrame(
            [(row.model, row.prompt, row.kind == REFERENCE) for row in self.rows],
            schema={"model": pl.String, "prompt": pl.String, "reference": pl.Boolean},
            orient="row",
        )
        return pl.concat([own, frame], how="horizontal")

    def row(
        self, model: str, statistic: str = "ada_met", *, prompt: str | None = None, axis: str = ALL, group: str = ALL,
        subset: str = ALL,
    ) -> Row:  # fmt: skip
        """Return one row; the prompt may be left out if the model has only one."""
        found = [
            row
            for row in self.rows
            if (row.model, row.statistic, row.axis, row.group, row.subset) == (model, statistic, axis, group, subset)
            and prompt in (None, row.prompt)
        ]
        if len(found) != 1:
            several = "several prompts have it" if found else "there is no such value"
            raise SelectionError(
                f"{statistic} of {model!r} for {group!r} on {axis!r}: {several}", hint="to_frame() lists what there is."
            )
        return found[0]

    def references(self, statistic: str = "ada_met") -> list[str]:
        """Return answers without judgement to compare models with: the constant closest to all raters, and random ones.

        Further constants are in ``to_frame()`` and ``stand_ins()``.
        """
        names = list(self.settings["references"])
        whole = {row.model: row.value for row in self.rows
                 if (row.kind, row.axis, row.subset, row.statistic) == (REFERENCE, ALL, ALL, statistic)}  # fmt: skip
        constants = [name for name in names[:-N_RANDOM] if not math.isnan(whole.get(name, math.nan))]
        best = min(constants, key=lambda name: whole[name], default=None)
        return [] if best is None else [best, *names[-N_RANDOM:]]

    def compared_with(self) -> list[str]:
        """Return the answers without judgement that models are compared with."""
        return self.references()

    def value(self, model: str, statistic: str = "ada_met", **key: Any) -> float:
        """Return one value; see :meth:`row`."""
        return self.row(model, statistic, **key).value

    def accounts(self) -> pl.DataFrame:
        """Return for each voice and subset how many rated items it answered, refused, lacks and so on."""
        return self._table("accounts")

    def closest(self) -> pl.DataFrame:
        """Return the closest group of each voice on each axis, and how sure that is.

        ``gap`` is how much farther the ``next`` group is by the distance ``by``; ``beyond_order`` is by how much it is
        at least closer than any other group beyond what the same answers give in random order; ``over_items`` and
        ``follows`` say whether intervals over items exclude 0 for the two. ``claim`` needs both, and a corrected p
        below .05.
        """
        keys = ["model", "prompt", "axis", "group"]
        frame = self.to_frame().filter(statistic="closest_gap").select(
            *keys, "null_median", "p_value", "p_adjusted", "claim", "n_permutations"
        )  # fmt: skip
        found = self._table("closest").join(frame, on=keys, how="left", maintain_order="left")
        return found.join(self.standings().drop("by", "margin", "n_items"), on=keys, how="left", maintain_order="left")

    def standings(self) -> pl.DataFrame:
        """Return every group of every axis for each voice.

        ``value`` is the group's mean distance on all items that it rated; ``margin`` is by how much it is closer than
        every other group, each on the items of both, negative where another is closer; ``wins`` is how often its margin
        is the largest when items are resampled, ``matched`` the margin at equal group sizes, and ``n_items`` the fewest
        items on which it is compared with another group.
        """
        return self._table("standings")

    def contrasts(self) -> pl.DataFrame:
        """Return for each pair of groups, on the items of both, how much farther the second is than the first.

        As it is and beyond random order, with intervals over items; also at equal sizes. The groups are in the order of
        the axis, regardless of the values: no pair is chosen by its size.
        """
        return self._table("contrasts")

    def alphas(self) -> pl.DataFrame:
        """Return Krippendorff's alpha among models, within families, of models and humans together, and of humans."""
        return self._table("alphas")

    def stand_ins(self) -> pl.DataFrame:
        """Return the share of humans that each voice may stand in for (ω), and how often it wins or ties (ρ).

        ``stands_in`` is True where ω is one half or more and ρ is above that of the best constant; ``p_adjusted`` is
        Holm's correction over models; ``why`` says what it depends on. References are also listed, but never stand in.
        """
        return self._table("stand ins")

    def prompts(self) -> pl.DataFrame:
        """Return how alike the answers of a model to different prompts are."""
        return self._table("prompts")

    def stability(self) -> pl.DataFrame:
        """Return how alike repeated answers to the same question are."""
        return self._table("stability")

    def positions(self) -> pl.DataFrame:
        """Return how often the option at each position was chosen, where options were shuffled."""
        return self._table("positions")

    def distances(self) -> pl.DataFrame:
        """Return how many answers of each voice lie at each distance from the mode of all votes."""
        return self._table("distances")

    def items(self) -> pl.DataFrame:
        """Return the items, starting with those that models and humans see most differently.

        Numbers are values of the scale, and labels are its points; tied ones are averaged, or named together.
        """
        return self._table("items")

    def bands(self) -> pl.DataFrame:
        """Return the mean answer of each voice to bands of items, from the lowest mean rating to the highest.

        With few items, each is a band of its own and has its name; otherwise items are combined until the bands are few
        enough to draw. Numbers are values of the scale; ``n_silent`` counts items without a readable answer, including
        refused ones.
        """
        return self._table("bands")

    def statements(self) -> list[Statement]:
        """Return which group each model's answers lie closest to, how sure that is, and what was left out."""
        return AlignmentFindings(self).statements()

    @property
    def in_numbers(self) -> bool:
        """Whether the points of the scale are called by their values."""
        return bool(self.settings["labels"] == [f"{value:g}" for value in self.settings["values"]])

    @property
    def numbered_ends(self) -> str:
        """The two ends of the scale with their numbers."""
        labels = [shorten(label, 40, placeholder=" …") for label in self.settings["labels"]]
        values = self.settings["values"]
        return f"from {labels[0]} = {values[0]:g} to {labels[-1]} = {values[-1]:g}"
