"""One call of cohesion: all raters, the groups of every axis, contrasts and pairs."""

from __future__ import annotations

from dataclasses import replace

from plurivox.base.errors import SelectionError
from plurivox.base.settings.shared import AUTO
from plurivox.base.wording import NO_GROUPS
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.engine.pool import Running
from plurivox.infer.call import Call
from plurivox.infer.grouping import Compared
from plurivox.infer.intervals import with_interval
from plurivox.infer.keywords import keywords
from plurivox.infer.result import Row
from plurivox.lenses.cohesion.result import Cohesion
from plurivox.lenses.cohesion.rows import Agreeing
from plurivox.lenses.cohesion.settings import CohesionSettings
from plurivox.statistics.checks import level_of, usual_level

LEVEL_NOTE = "The scale has {:,} points, too many for the ordinal level: alpha, XRR and GAI use the interval level."


@keywords(CohesionSettings, weights=True)
def cohesion(ratings: Ratings, *, settings: CohesionSettings, how: Running) -> Cohesion:
    """Find the groups of raters who agree among themselves more than with the others.

    Returns
    -------
    Cohesion
        With ``to_frame()``, ``findings()``, ``pairs``, ``to_json()`` and the draws.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=40, n_raters=60, effects=[pv.Effect({"age": "18-29"}, shared_sd=1.5)], seed=4)
    >>> result = pv.cohesion(study.ratings, "age", permutations=99)
    >>> result.value("age", "18-29", "gai") > 1
    True
    """
    n_points, auto = len(ratings.scale), settings.level == AUTO
    settings = with_interval(_settled(settings, n_points))
    note = LEVEL_NOTE.format(n_points) if auto and settings.level == "interval" else ""
    few_points(ratings.scale, "cohesion")
    call = Call.of(ratings, settings, how, convention=settings.convention)
    work = Agreeing(ratings, settings, call.inference, level_of(settings.level, n_points))
    rows = work.overall()
    prepared = {one.axis.name: work.prepare(one) for one in call.axes}
    tested = [one.tested for each in prepared.values() for one in each]
    divides = call.inference.decide(tested, lambda: work.dsi_adjusted(prepared))
    draws = []
    for one in call.axes:
        axis_rows, axis_draws = work.found(one.axis.name, prepared[one.axis.name])
        rows += axis_rows
        draws.append(axis_draws)
        rows += [row for contrast in work.asked(one)[0] for row in work.contrast(one.axis, contrast)]
    _check(settings.contrast, call.axes, rows)
    rows += work.dsi(prepared, rows, divides)
    named_level = settings.level if isinstance(settings.level, str) else "matrix"
    return Cohesion(
        rows=tuple(rows),
        draws=tuple(draws),
        pair_rows=tuple(work.pairs([one.axis for one in call.axes]) if settings.pairs else ()),
        held_rows=tuple(work.held(prepared, rows)),
        **call.kept(level=named_level, question="all", design=call.inference.remembered(), level_note=note),
    )


def _settled(settings: CohesionSettings, n_points: int) -> CohesionSettings:
    """Return the settings completed by what follows from the convention and the scale."""
    published = settings.convention == "published"
    level, correction = usual_level(settings.level, n_points, published=published), settings.correction
    return replace(settings, level=level, correction="bh" if published and correction == "maxt" else correction)


def _check(contrast: tuple[str, str] | None, axes: list[Compared], rows: list[Row]) -> None:
    """Raise if no axis has both groups of a requested contrast."""
    if contrast is not None and not any(row.kind == "contrast" for row in rows):
        shown = ", ".join(group for one in axes for group in one.axis.shown)
        raise SelectionError(
            f"no axis has both groups {contrast[0]!r} and {contrast[1]!r}",
            hint=f"The groups shown are: {shown}." if axes else NO_GROUPS,
        )
