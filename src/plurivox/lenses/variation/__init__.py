"""Variation: who rates higher on the same items, and how much variation lies in items, raters and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.base.settings import Axes, Frozen, OfGroups, setting, shared
from plurivox.base.settings.record import ordered_mapping, read_values
from plurivox.infer.lens import Lens


@dataclass(frozen=True, kw_only=True, slots=True)
class VariationSettings(OfGroups):
    """Settings for variation."""

    by: Axes = shared.by(
        (),
        doc='Rater attributes, and crossings of several: ``["age", ("race", "gender")]``; ``"rater"`` for each rater '
        "individually.",
    )
    items_by: str | None = shared.items_by()
    adjust: bool = setting(
        False, "Also fit all attributes at once: what each group adds after accounting for the other attributes.",
        doc="Whether to fit all attributes of ``by`` at once: what each group adds to the scores of the same items, "
        "before and after accounting for the other attributes.",
    )  # fmt: skip
    reference: Frozen = setting(
        Frozen(), "Adjust with this reference group: gender=Woman (default: the largest). Repeatable.",
        metavar="ATTRIBUTE=GROUP", repeated=True, parse=read_values,
        canonical=lambda given: ordered_mapping(given or {}), accepts="Mapping[str, str] | None",
        hint="Give a group for each attribute: {'gender': 'Woman'}.",
        doc='The group of an attribute that ``adjust`` compares the others with: ``{"gender": "Woman"}``; the largest '
        "by default. Giving one turns on ``adjust``.",
    )  # fmt: skip
    target: float = setting(
        0.8, "Give the number of raters that reaches this reliability (default .8).", metavar="R", least=0.01,
        most=0.99,
        doc="The reliability for which the number of raters is given.",
    )  # fmt: skip
    level: Any = shared.level(
        doc='How far apart two points are for the alpha of repeated ratings; ``"ordinal"`` by default.'
    )
    permutations: int = shared.permutations(1000)
    max_permutations: int | None = shared.max_permutations()
    n_lenses: int = shared.n_lenses()
    interval: str | None = shared.interval()
    bootstrap: int = shared.bootstrap(
        0, help="Draws for bootstrap intervals.",
        doc="The number of draws for bootstrap intervals. Variance components and reliability use the jackknife, since "
        "copies of a rater would agree with themselves.",
    )  # fmt: skip
    resample: str = shared.resample()
    within: tuple[str, ...] | None = shared.within()
    correction: str = shared.correction()
    pairs: bool = shared.pairs()
    contrast: tuple[str, str] | None = shared.contrast()
    ids: bool = shared.ids()
    seed: int = shared.seed()


LENS = Lens(
    name="variation",
    command="variation",
    order=5,
    question="Find out who rates higher on the same items, and what scores vary by.",
    about="Each group is compared with the others on the items that both rated: by how many points it scores higher, "
    "and how often.\nRaters are shuffled between groups to see what chance gives: * is p < .05, ** p < .05 after "
    "correction. Variance\ncomponents show how much lies between items, raters and groups, and what more raters would "
    "buy.",
    settings=VariationSettings,
    headlines=True,
    every_attribute=True,
    attributes_needed=False,
    csv_tables=("values", "components", "reliability", "needed", "adjusted", "pairs", "repeats"),
    result="plurivox.lenses.variation.result:Variation",
    brief="plurivox.lenses.variation.tables:brief",
    notes="plurivox.lenses.variation.tables:notes",
    kernel="plurivox.kernels.variation:add_items",
)
