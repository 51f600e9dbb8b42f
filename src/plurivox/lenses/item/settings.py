"""Settings for one item."""

from __future__ import annotations

from dataclasses import dataclass

from plurivox.base.settings import Axes, Frozen, Settings, setting, shared


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemViewSettings(Settings):
    """Settings for one item."""

    by: Axes = shared.by(())
    several: Frozen = shared.several()
    permutations: int = shared.permutations(1000)
    seed: int = shared.seed()
    within: tuple[str, ...] | None = shared.within()
    fixed: bool = setting(
        False, "The item was chosen before anybody saw its ratings: do not correct over all items.",
        doc="Whether the item was chosen before anybody saw its ratings. Otherwise it may have been chosen for its "
        "differences, and p is also corrected over all items.",
    )  # fmt: skip
    min_group_size: int = shared.min_group_size(
        doc="Groups with fewer ratings of this item are withheld and counted, and so are groups that would give them "
        "away."
    )
