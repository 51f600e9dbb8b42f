"""Estimate: what people think of all items, from the few they rated and the many that models answered.

Prediction-powered inference follows Angelopoulos, Duchi and Zrnic (2023), PPI++; intervals over raters as well as
items, and the worth of several judges with related errors, are additions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.base.settings import Axes, OfGroups, setting, shared
from plurivox.base.settings.record import names, read_names
from plurivox.infer.lens import ITEM_ANSWERS, Lens

MEAN, SHARES, AT_LEAST = "mean", "shares", "at_least"
WHAT = (MEAN, SHARES, AT_LEAST)
KEPT, OUT = UNANSWERED = ("kept", "out")


def _what(given: Any) -> tuple[str, ...]:
    """Return what to estimate, each once; ``at-least`` and ``at_least`` are the same."""
    found = tuple(dict.fromkeys(one.replace("-", "_") for one in names(given)))
    if not set(found) <= set(WHAT):
        raise ValueError("unknown")
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class EstimateSettings(OfGroups):
    """Settings for an estimate."""

    by: Axes = shared.by(
        (), doc="Rater attributes and crossings of several; each of their groups has an estimate of its own."
    )
    subset: str | None = setting(
        None, "Also estimate for each value of this item attribute.", metavar="COLUMN",
        doc="An item attribute; each of its values has an estimate of its own, from all raters.",
    )  # fmt: skip
    what: tuple[str, ...] = setting(
        (), "What to estimate: mean, shares, at-least. By default the mean, and the share at or above --threshold.",
        metavar="WHAT", parse=read_names, canonical=_what, accepts="str | Sequence[str]",
        hint="Choose from mean, shares and at_least.",
        doc='What to estimate: the ``"mean"`` score, the ``"shares"`` of all points, the share of ratings '
        '``"at_least"`` at the threshold, or without one at each point in turn. By default the mean, and the share '
        "at or above the threshold if there is one; with two points, the share of the higher.",
    )  # fmt: skip
    threshold: Any = shared.threshold(
        help="Lowest point that means unsafe: the share of ratings at or above it is estimated.",
        doc="The lowest point that means unsafe; the share of ratings at or above it is estimated.",
    )
    width: float | None = setting(
        None, "Also report how many human ratings an interval of this width needs.", metavar="W",
        doc="The width that an interval should have, in points of the scale (shares: 0.1 is ten percentage points); "
        "the result says how many human ratings it needs, with and without the model.",
    )  # fmt: skip
    resample: str = shared.resample(
        help="What 95 % intervals generalise over: items or both (items and raters).", choices=("items", "both"),
        doc='What 95 % intervals generalise over: other ``"items"``, or other items and raters (``"both"``).',
    )  # fmt: skip
    unanswered: str = setting(
        KEPT, "Items that a model refused or answered unreadably: kept (with its mean answer) or out.", metavar="RULE",
        choices=UNANSWERED,
        doc='What happens to items that a model refused or answered unreadably. ``"kept"``: they count with its mean '
        "answer, which says nothing about them, so the estimate covers all items that it was asked about, and no human "
        'rating is lost. ``"out"``: they are left out on both sides, so the estimate covers the items that it answers.',
    )  # fmt: skip
    ids: bool = shared.ids()


LENS = Lens(
    name="estimate",
    command="estimate",
    order=54,
    question="Estimate what people think of all items, from few human ratings and many model answers.",
    about="The mean score, or shares of points, over all items that a model answered: the mean of the items that "
    "people rated,\ncorrected by how far the model's answers to the other items differ from its answers to these "
    "(prediction-powered inference).\nIt is shown with humans alone, the model alone, and what the model is worth in "
    "further human ratings. It assumes that\nthe rated items are a random part of all items.",
    settings=EstimateSettings,
    inputs=(ITEM_ANSWERS,),
    threads=False,
    csv_tables=("values", "accounts", "judges", "errors", "population"),
    result="plurivox.lenses.estimate.result:Estimate",
    brief="plurivox.lenses.estimate.tables:brief",
    notes="plurivox.lenses.estimate.tables:notes",
    legend="λ is how much a model's answers count: 0 not at all, 1 in full. Worth: how many further human ratings "
    "would\nnarrow the interval of humans alone as much as the model does.",
)
