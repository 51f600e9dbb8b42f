"""A question is a settings record: one declaration gives keywords, options, TOML keys and a cache key.

::

    @dataclass(frozen=True, kw_only=True, slots=True)
    class CohesionSettings(Settings):
        by: Axes = shared.by()
        permutations: int = shared.permutations(1000)
        smoothing: float = setting(0.5, "Added to every count.", least=0)

    @keywords(CohesionSettings)
    def cohesion(ratings: Ratings, *, settings: CohesionSettings, how: Running) -> Cohesion: ...

It uses the standard library, :mod:`plurivox.errors` and, when a function is called, :mod:`plurivox.engine.running`.
"""

from plurivox.settings import shared
from plurivox.settings.record import Settings, Spec, setting
from plurivox.settings.signature import Asked, counting_alike, keywords
from plurivox.settings.values import Axes, Frozen

__all__ = ["Asked", "Axes", "Frozen", "Settings", "Spec", "counting_alike", "keywords", "setting", "shared"]
