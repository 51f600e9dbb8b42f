"""What a statistic's record holds: what it is in words, how it is computed, and where it is shown.

A statistic of counts is a sum over items, then a finish. Most statistics of cohesion share one compiled pass, whose
sums they use by name (:data:`SLOTS`); any other has a ``contribution`` of its own, a function of counts alone, or uses
the moments of scores that a second pass adds up (:data:`MOMENTS`). Frames, columns, tables, the glossary and the docs
follow from the record, so a new statistic is one file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from plurivox.statistics.checks import Floats, Level

SLOTS = {
    "scalars": (
        "pairable", "coincident", "self_pairs", "rated", "plurality", "entropy", "shared", "crossed", "cross_entropy",
        "same_vote",
    ),
    "vectors": ("marginals", "own", "rest", "own_votes", "rest_votes"),
    "matrices": ("coincidences", "crossings"),
}  # fmt: skip
"""The sums of the compiled pass, in order: numbers, vectors over the points, and matrices of points × points."""
MOMENTS = ("items", "own", "rest", "product", "own_square", "rest_square", "own_error", "rest_error")
"""The sums of the pass over numeric scores, in order: the last dimension of the sums named ``"moments"``."""

Slots = Mapping[str, NDArray[Any]]
"""Sums by name, with leading dimensions that pass through: of the compiled pass, and of each contribution."""
Known = Mapping[str, Floats]
"""The values of the statistics that precede this one in the order of the records."""


@dataclass(frozen=True, slots=True, eq=False)
class About:
    """What a finish may know in addition to sums: the scale, and how far apart its points are."""

    n_points: int
    values: Floats
    level: Level = "nominal"

    @property
    def nominal(self) -> bool:
        """Whether points are only the same or different, so that no matrix is needed."""
        return isinstance(self.level, str) and self.level == "nominal"


Why = Callable[[Slots, About, Known, int | None], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """What a statistic is, in words and in properties that hold for all data.

    Attributes
    ----------
    name, label, column
        Its name in frames and JSON, in tables and sentences, and as the heading of a narrow column.
    function
        Maps what it needs to one float; None for statistics made of others, or of all raters at once.
    needs
        What it is a property of: a ``"group"`` (one array of counts, items × points), a ``"pair"`` of sides (two such
        arrays), an ``"axis"``, a rater or group and a ``"reference"`` (two vectors, ``ones`` and ``zeros``: the weight
        of samples with each score that the reference calls unsafe and safe), ratings and a ``"prediction"`` (counts and
        predicted probabilities, for which the function gives a value for each item) or ``"answers"`` (counts, and one
        position per item or None), several raters (``"scores"``, items × raters) or those of two ``"sides"`` (two such
        tables), ratings and their ``"times"``, or ratings and the ``"labels"`` of items.
    symmetric
        Whether exchanging the two sides of a pair changes nothing.
    range
        The lowest and the highest value for any data; infinite if there is no general bound.
    equation, meaning, higher_means, reference
        For the reader.
    role
        In cohesion: ``"tested"`` with raters shuffled and resampled, or only if ``"asked"`` for; ``"beside"`` alpha,
        only resampled; or of the ``"whole"`` scores of a group's raters, which is not a sum over items and has no
        draws. In responsiveness: ``"main"`` or ``"traditional"``; in psychometrics ``"scaled"``, in variation
        ``"higher"``, in soft scores ``"scored"``, in alignment a ``"distance"``, in estimates ``"estimated"``, on a
        judge card ``"judged"``, in aggregation ``"hidden"``.
    order
        Its place among the others; ties are ordered by name.
    contribution
        Unless it uses sums of the compiled pass: maps the counts of some items (items, groups, points) to the parts of
        each (items, groups, parts). For a group, it also takes ``self_pairs``, Σw² of each item's ratings (its number
        of ratings unless raters are weighted); for a pair, the counts of the rest instead.
    slot
        Where the compiled metrics of responsiveness (``kernels/metrics``) put it; -1 if they do not have it.
    traits
        What else a lens needs to know: ``"stated"`` if sentences report it, ``"claims"`` if a difference may be
        claimed, so that it belongs to the family corrected together, ``"scores alike"`` if every score has the same
        weight, so that rarely used ones matter, ``"two scores"`` if one score leaves it undefined, ``"one class"`` if
        it is defined even if everything is safe or everything unsafe, ``"of means"`` if it is a function of means over
        boundaries and so has no value at each, ``"of parts"`` if it is made of other statistics.
    of_moments
        Whether it uses the sums of ``kernels/moments`` instead, as ``"moments"``.
    sums_of
        The statistic whose contribution it finishes, if not its own.
    finish
        Maps sums to values; see :data:`Slots`, :class:`About` and :data:`Known`.
    whole
        Maps scores, items × raters with NaN where there is none, to the value and the reason if it is undefined.
    interval_scale
        The scale on which its jackknife interval is symmetric: that of its ``"plain"`` values or another of
        :data:`plurivox.infer.jackknife.SCALES`.
    interval_shown
        Whether a terminal also shows its interval; frames always have it. Short views show no other statistics.
    why
        Says why the value of one group is undefined, or what to beware of; it also receives the number of raters.
    """

    name: str
    label: str
    needs: Literal["group", "pair", "axis", "reference", "prediction", "answers", "scores", "sides", "times", "labels"]
    range: tuple[float, float]
    equation: str
    meaning: str
    higher_means: str
    reference: str
    function: Callable[..., float] | None = None
    symmetric: bool = False
    column: str = ""
    role: Literal[
        "tested", "asked", "beside", "whole", "main", "traditional", "scaled", "higher", "drift", "scored", "distance",
        "estimated", "judged", "hidden", "",
    ] = ""  # fmt: skip
    order: int = 1000
    contribution: Callable[..., NDArray[Any]] | None = None
    slot: int = -1
    traits: tuple[str, ...] = ()
    of_moments: bool = False
    sums_of: str = ""
    finish: Callable[[Slots, About, Known], Floats] | None = None
    why: Why | None = None
    whole: Callable[[Floats], tuple[float, str]] | None = None
    interval_scale: Literal["plain", "fisher", "inverse", "complement"] = "plain"
    interval_shown: bool = True

    @property
    def heading(self) -> str:
        """The heading of a narrow column."""
        return self.column or self.label

    @property
    def source(self) -> str:
        """The statistic whose contribution it finishes."""
        return self.sums_of or self.name


def finished(records: tuple[Statistic, ...], sums: Slots, about: About) -> Floats:
    """Return the values of several statistics along a new last dimension."""
    known: dict[str, Floats] = {}
    for record in records:
        assert record.finish is not None
        known[record.name] = record.finish(sums, about, known)
    return np.stack([known[record.name] for record in records], axis=-1)


def scales_of(records: Sequence[Statistic]) -> tuple[tuple[str, ...], Floats]:
    """Return the scales of the intervals of several statistics, and the ranges within which the intervals stay."""
    return tuple(record.interval_scale for record in records), np.array([record.range for record in records])
