"""What can be asked of cohesion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.settings import Axes, Frozen, Settings, shared


@dataclass(frozen=True, kw_only=True, slots=True)
class CohesionSettings(Settings):
    """What was asked of cohesion."""

    by: Axes = shared.by()
    level: Any = shared.level("nominal")
    permutations: int = shared.permutations(1000)
    bootstrap: int = shared.bootstrap(0)
    resample: str = shared.resample()
    within: tuple[str, ...] | None = shared.within()
    correction: str = shared.correction()
    convention: str = shared.convention(
        "default, or published: as in the GRASP paper.",
        '``"default"``, or ``"published"`` for the p-values and the cross-negentropy of the GRASP paper.',
    )
    ties: str = shared.ties()
    several: Frozen = shared.several()
    pairs: bool = shared.pairs()
    contrast: tuple[str, str] | None = shared.contrast()
    min_group_size: int = shared.min_group_size()
    seed: int = shared.seed()
