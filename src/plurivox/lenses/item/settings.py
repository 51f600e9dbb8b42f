"""What can be asked of one item."""

from __future__ import annotations

from dataclasses import dataclass

from plurivox.settings import Axes, Frozen, Settings, shared


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemViewSettings(Settings):
    """What was asked of one item."""

    by: Axes = shared.by(())
    several: Frozen = shared.several()
    permutations: int = shared.permutations(1000)
    seed: int = shared.seed()
    min_group_size: int = shared.min_group_size(
        doc="Groups with fewer ratings of this item are withheld and counted, and so are groups that would give them "
        "away."
    )
