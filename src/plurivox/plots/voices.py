"""Models as rows of a chart: their names, their order, and what is known about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from plurivox.base.wording import withheld_words
from plurivox.domain.answers import Voice
from plurivox.lenses.alignment.matching import ALL
from plurivox.lenses.alignment.result import Alignment
from plurivox.plots import groups as g
from plurivox.plots.layout import ALL_RATERS, LABEL, model_labels, unique_labels
from plurivox.plots.theme import narrow

CLOSER = ("xrr", "mpa", "wra")
"""Statistics that are higher where a model is closer; the others are distances."""
_UNITS = {"ada_met": ", points", "ada_met_answered": ", points", "voter_distance": ", points"}
_VALUES = ("model", "prompt", "axis", "group", "value", "ci low", "ci high", "raters", "items", "note")


def with_unit(statistic: str) -> str:
    """Return the axis title of a statistic."""
    return g.name_of(statistic) + _UNITS.get(statistic, "")


def axes_of(found: Alignment, axis: str | None) -> list[str]:
    """Return the axes to show: the requested one, or all; never raters."""
    g.known("axis", axis, (None, *found.axes))
    return [name for name in found.axes if axis in (None, name) and not g.names_raters(name)]


def values_of(found: Alignment, statistic: str, axis: str | None = None) -> pl.DataFrame:
    """Return the values of each voice for all raters, and for the groups of the axes to show, on all items."""
    g.known("statistic", statistic, dict.fromkeys(row.statistic for row in found.rows if row.kind != "closest"))
    axes = (ALL, *axes_of(found, axis))
    rows = [row for row in found.rows if (row.statistic, row.subset) == (statistic, ALL) and row.axis in axes]
    frame = g.row_frame((row for row in rows if row.kind != "closest"), *_VALUES)
    return frame.with_columns(
        group=pl.when(axis=ALL).then(pl.lit(ALL_RATERS)).otherwise("group"),
        reference=pl.col("model").is_in(found.settings["references"]),
    )


class Voices(NamedTuple):
    """The models of a chart in order, each with each of its prompts: who they are, and their labels.

    They may be followed by some for comparison, ``beside``: answers without judgement.
    """

    keys: list[Voice]
    labels: list[str]
    total: int
    beside: int = 0

    @classmethod
    def of(cls, found: Alignment, at_most: int | None, statistic: str = "ada_met", *, length: int = LABEL) -> Voices:
        """Return the voices that are closest to all raters, the closest first."""
        sign = -1.0 if statistic in CLOSER else 1.0
        whole = {
            Voice(row.model, row.prompt): sign * row.value
            for row in found.rows
            if (row.kind, row.axis, row.subset, row.statistic) == ("voice", ALL, ALL, statistic)
        }

        def place(voice: Voice) -> tuple[float, Voice]:
            value = whole.get(voice, math.nan)
            return (math.inf if math.isnan(value) else value), voice

        return cls.listed(sorted(found.voices, key=place), at_most, length)

    def with_references(self, found: Alignment, statistic: str) -> Voices:
        """Return them followed by the closest constant and random answers, if those have the statistic."""
        names = found.references(statistic)
        mark = "ref." if narrow() else "reference"
        labels = unique_labels([*self.labels, *(f"{name} ({mark})" for name in names)], LABEL)
        return Voices([*self.keys, *(Voice(name, "") for name in names)], labels, self.total, len(names))

    @classmethod
    def listed(cls, voices: Sequence[Voice], at_most: int | None, length: int = LABEL) -> Voices:
        """Return the first voices, named with their prompt if there are several."""
        shown = list(voices)[:at_most]
        several = len({voice.prompt for voice in voices}) > 1
        names = [f"{one.model} ({one.prompt})" if several and one.prompt else one.model for one in shown]
        return cls(shown, model_labels(names, length), len(voices))

    def place(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of these voices, in their order, each with the number of its ``voice`` and its name."""
        own = pl.DataFrame(
            [(*voice, at, label) for at, (voice, label) in enumerate(zip(self.keys, self.labels, strict=True))],
            schema={"model": pl.String, "prompt": pl.String, "voice": pl.Int64, "who": pl.String},
            orient="row",
        )
        return own.join(frame, on=["model", "prompt"], how="inner", maintain_order="left_right")

    def words(self, which: str = "those closest to all raters") -> str:
        """Say how many are shown, if not all, and what they are compared with."""
        shown = len(self.keys) - self.beside
        text = "" if shown >= self.total else f"{shown:,} of {self.total:,} models shown, {which}. "
        return text + ("Reference: answers without judgement; of constants, the closest to all raters. "
                       if self.beside else "")  # fmt: skip


def tidy(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table for readers: without the positions of a chart, and without prompts if none has a name."""
    frame = frame.drop("voice", "who", strict=False)
    return frame if (frame["prompt"] != "").any() else frame.drop("prompt")


def withheld_on(found: Alignment, axes: Sequence[str]) -> str:
    """Say how many groups of some axes are withheld, and why."""
    n, revealing = (sum(counts.get(axis, 0) for axis in axes) for counts in (found.withheld, found.revealing))
    return withheld_words(n, revealing, found.settings["min_group_size"])
