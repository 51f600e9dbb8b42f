"""Settings for variation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.settings import Axes, Frozen, Settings, setting, shared
from plurivox.settings.values import ordered_mapping, read_values


@dataclass(frozen=True, kw_only=True, slots=True)
class VariationSettings(Settings):
    """Settings for variation."""

    by: Axes = shared.by(
        (),
        doc='Rater attributes, and crossings of several: ``["age", ("race", "gender")]``; ``"rater"`` for each rater '
        "on their own.",
    )
    items_by: str | None = shared.items_by()
    adjust: bool = setting(
        False, "Also all attributes at once: what each group adds, the other attributes accounted for.",
        doc="Whether to fit all attributes of ``by`` at once: what each group adds to the scores of the same items, "
        "before and after the other attributes are accounted for.",
    )  # fmt: skip
    reference: Frozen = setting(
        Frozen(), "Adjust, and hold others beside this group: gender=Woman. The largest unless said. Repeatable.",
        metavar="ATTRIBUTE=GROUP", repeated=True, parse=read_values,
        canonical=lambda given: ordered_mapping(given or {}), accepts="Mapping[str, str] | None",
        hint="Give a group for each attribute: {'gender': 'Woman'}.",
        doc='The group of an attribute that the others are held beside by ``adjust``: ``{"gender": "Woman"}``; the '
        "largest by default. Giving one asks for ``adjust``.",
    )  # fmt: skip
    target: float = setting(
        0.8, "Reliability to reach: how many raters it takes (default .8).", metavar="R", least=0.01, most=0.99,
        doc="The reliability for which the number of raters is told.",
    )  # fmt: skip
    level: Any = shared.level(
        doc='How far apart two points are for the alpha of repeated ratings: ``"ordinal"`` unless said otherwise.'
    )
    permutations: int = shared.permutations(1000)
    max_permutations: int | None = shared.max_permutations()
    stop_early: bool = shared.stop_early()
    n_lenses: int = shared.n_lenses()
    interval: str | None = shared.interval()
    bootstrap: int = shared.bootstrap(
        0, help="Draws for intervals by the bootstrap.",
        doc="How many draws for intervals by the bootstrap. Variance components and reliability have the jackknife's, "
        "since copies of a rater would agree with themselves.",
    )  # fmt: skip
    resample: str = shared.resample()
    within: tuple[str, ...] | None = shared.within()
    correction: str = shared.correction()
    several: Frozen = shared.several()
    pairs: bool = shared.pairs()
    contrast: tuple[str, str] | None = shared.contrast()
    min_group_size: int = shared.min_group_size()
    ids: bool = shared.ids()
    seed: int = shared.seed()
