"""Cohesion: which groups see things alike, and whether that is more than chance.

The six statistics, GAI and DSI are those of Prabhakaran et al., *GRASP: A Disagreement Analysis Framework to Assess
Group Associations in Perspectives* (NAACL 2024); other measures are shown alongside alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.base.settings import OfGroups, Settings, setting, shared
from plurivox.infer.lens import Lens


@dataclass(frozen=True, kw_only=True, slots=True)
class CohesionSettings(OfGroups):
    """Settings for cohesion."""

    level: Any = shared.level()
    permutations: int = shared.permutations(1000)
    max_permutations: int | None = shared.max_permutations()
    n_lenses: int = shared.n_lenses()
    interval: str | None = shared.interval()
    bootstrap: int = shared.bootstrap(
        0, help="Draws for bootstrap intervals.", doc="The number of draws for bootstrap intervals."
    )
    resample: str = shared.resample()
    within: tuple[str, ...] | None = shared.within()
    correction: str = shared.correction()
    convention: str = shared.convention(
        "default, or published: as in the GRASP paper.",
        '``"default"``, or ``"published"`` for the p-values and the cross-negentropy of the GRASP paper, in which DSI '
        "has the p-value of the group with the largest GAI.",
    )
    ties: str = shared.ties()
    gai: tuple[str, ...] = shared.gai()
    pairs: bool = shared.pairs()
    contrast: tuple[str, str] | None = shared.contrast()
    same_view: float = setting(
        0.9, "A group has a view of its own if the interval of its view correlation is below this.", metavar="R",
        least=-1, most=1,
        doc="A group is said to have a view of its own only where the interval of its view correlation lies below "
        "this: on a bounded scale, leniency and spread alone bring it a little below 1.",
    )  # fmt: skip
    ids: bool = shared.ids()
    seed: int = shared.seed()


@dataclass(frozen=True, kw_only=True, slots=True)
class CohesionShown(Settings):
    """What the terminal shows of a result."""

    arrows: bool = setting(False, "Mark every tested value, not only those with p < .05, as above or below chance.")


LENS = Lens(
    name="cohesion",
    command="cohesion",
    order=10,
    question="Find the groups that agree among themselves.",
    about="IRR is agreement within a group, XRR agreement with the rest, GAI their ratio; an axis's DSI is its largest "
    "GAI.\nRaters are shuffled between groups to see what chance gives: * is p < .05, ** p < .05 after correction.",
    settings=CohesionSettings,
    headlines=True,
    showing=CohesionShown,
    every_attribute=True,
    attributes_needed=False,
    questions=True,
    result="plurivox.lenses.cohesion.result:Cohesion",
    tables="plurivox.lenses.cohesion.result:tables",
    brief="plurivox.lenses.cohesion.result:brief",
    notes="plurivox.lenses.cohesion.result:notes",
    kernel="plurivox.kernels.cohesion:permuted_passes",
)
