"""A question is a settings record: one declaration gives keywords, options, TOML keys and a cache key.

::

    @dataclass(frozen=True, kw_only=True, slots=True)
    class CohesionSettings(Settings):
        by: Axes = shared.by()
        permutations: int = shared.permutations(1000)
        smoothing: float = setting(0.5, "Added to every count.", least=0)

This package uses the standard library and
:mod:`plurivox.base.errors`.
"""

from __future__ import annotations

from dataclasses import dataclass

from plurivox.base.settings import shared
from plurivox.base.settings.record import Axes, Frozen, Settings, Spec, Toml, setting

__all__ = ["Axes", "Frozen", "OfGroups", "Settings", "Spec", "Toml", "setting", "shared"]


@dataclass(frozen=True, kw_only=True, slots=True)
class OfGroups(Settings):
    """What every lens asks that sorts raters into groups; whatever is added here, all of them have."""

    by: Axes = shared.by(())
    several: Frozen = shared.several()
    min_group_size: int = shared.min_group_size()
