"""One call of cohesion: all raters, the groups of every axis, contrasts and pairs."""

from __future__ import annotations

from plurivox.engine.families import corrected
from plurivox.engine.grouping import compared, overlapping_axes, strata_of
from plurivox.engine.running import Running
from plurivox.errors import SelectionError
from plurivox.lenses.cohesion.result import Cohesion
from plurivox.lenses.cohesion.rows import Analysis
from plurivox.lenses.cohesion.settings import CohesionSettings
from plurivox.ratings import Ratings
from plurivox.results.result import Draws, Row
from plurivox.settings import keywords
from plurivox.statistics.checks import level_of
from plurivox.statistics.registry import STATISTICS


@keywords(CohesionSettings)
def cohesion(ratings: Ratings, *, settings: CohesionSettings, how: Running) -> Cohesion:
    """Tell which groups of raters agree among themselves more than with the others.

    Returns
    -------
    Cohesion
        With ``to_frame()``, ``findings()``, ``pairs``, ``to_json()`` and the draws.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=40, n_raters=60, effects=[pv.Effect({"gender": "Man"}, shared_sd=1.5)], seed=4)
    >>> result = pv.cohesion(study.ratings, "gender", permutations=99)
    >>> result.value("gender", "Man", "gai") > 1
    True
    """
    level = level_of(settings.level, len(ratings.scale))
    overlapping = overlapping_axes(settings.by, settings.several, pairs=settings.pairs)
    work = Analysis(ratings, level, strata_of(ratings, settings.within), settings, how)
    contrast = settings.contrast
    rows = work.overall()
    draws: list[Draws] = []
    pair_rows: list[Row] = []
    axes = list(compared(ratings, settings.by, overlapping, settings.min_group_size))
    for one in axes:
        if one.overlapping:
            axis_rows, axis_draws = work.values(one.axis.name, one.each)
        else:
            axis_rows, axis_draws = work.axis(one.axis)
            if contrast is not None and set(contrast) <= set(one.axis.groups):
                axis_rows += work.contrast(one.axis, contrast)
            if settings.pairs:
                pair_rows += work.pairs(one.axis)
        rows += axis_rows
        draws.append(axis_draws)
    if contrast is not None and not any(row.kind == "contrast" for row in rows):
        raise SelectionError(
            f"no axis has both groups {contrast[0]!r} and {contrast[1]!r}",
            hint=f"The groups shown are: {', '.join(g for one in axes for g in one.axis.shown)}.",
        )
    binary = {one.axis.name for one in axes if len(one.axis) == 2 and not one.overlapping}

    def symmetric(row: Row) -> bool:
        """Tell whether both groups of a binary axis say the same."""
        return row.kind == "group" and row.axis in binary and STATISTICS[row.statistic].symmetric

    named_level = settings.level if isinstance(settings.level, str) else "matrix"
    return Cohesion(
        rows=tuple(corrected(rows, settings.correction, symmetric)),
        withheld={one.axis.name: one.n_withheld for one in axes},
        revealing={one.axis.name: one.n_revealing for one in axes},
        outside={one.axis.name: one.axis.n_outside for one in axes},
        draws=tuple(draws),
        settings={**settings.as_dict(), "level": named_level, "several": overlapping, "question": "all"},
        pair_rows=tuple(corrected(pair_rows, settings.correction)),
    )
