"""Settings for a study as a whole."""

from __future__ import annotations

from dataclasses import dataclass

from plurivox.base.settings import Axes, Frozen, Settings, shared


@dataclass(frozen=True, kw_only=True, slots=True)
class OverviewSettings(Settings):
    """Settings for the overview."""

    by: Axes = shared.by(())
    several: Frozen = shared.several()
    min_group_size: int = shared.min_group_size()


@dataclass(frozen=True, kw_only=True, slots=True)
class DescriptionSettings(Settings):
    """Settings for the description."""

    by: Axes | None = shared.by(
        None,
        accepts="By | Sequence[By] | None",
        doc="The rater attributes and crossings to show; by default every attribute and every crossing of two.",
    )
    several: Frozen = shared.several(
        doc='Attributes of which a rater may have several values, and what separates them: ``{"race": ";"}``. A rater '
        "then belongs to the group of each value, and the attribute is not crossed with others."
    )
    min_group_size: int = shared.min_group_size()
