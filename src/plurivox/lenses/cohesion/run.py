"""One call of cohesion: all raters, the groups of every axis, contrasts and pairs."""

from __future__ import annotations

from dataclasses import replace

from plurivox.base.errors import SelectionError
from plurivox.base.settings.shared import AUTO
from plurivox.base.wording import NO_GROUPS
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.engine.pool import Running
from plurivox.infer.call import keywords
from plurivox.infer.exchange import Exchange
from plurivox.infer.grouping import Compared, compared, overlapping_axes
from plurivox.infer.inference import Inference
from plurivox.infer.result import Row
from plurivox.infer.spread import with_interval
from plurivox.infer.weighting import weights_in
from plurivox.lenses.cohesion.result import Cohesion
from plurivox.lenses.cohesion.rows import Analysis
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
    overlapping = overlapping_axes(settings.by, settings.several, pairs=settings.pairs)
    few_points(ratings.scale, "cohesion")
    exchange = Exchange.of(ratings, settings.within)
    inference = Inference(settings, how, exchange, settings.convention)
    work = Analysis(ratings, level_of(settings.level, n_points), settings, inference)
    axes = compared(ratings, settings.by, overlapping, settings.min_group_size)
    rows = work.overall()
    prepared = {one.axis.name: work.prepare(one) for one in axes}
    tested = [one.tested for each in prepared.values() for one in each]
    divides = inference.decide(tested, lambda: work.dsi_adjusted(prepared))
    draws = []
    for one in axes:
        axis_rows, axis_draws = work.found(one.axis.name, prepared[one.axis.name])
        rows += axis_rows
        draws.append(axis_draws)
        contrast = settings.contrast
        if contrast is not None and not one.overlapping and set(contrast) <= set(one.axis.groups):
            rows += work.contrast(one.axis, contrast)
    _check(settings.contrast, axes, rows)
    rows += work.dsi(prepared, rows, divides)
    named_level = settings.level if isinstance(settings.level, str) else "matrix"
    return Cohesion(
        rows=tuple(rows),
        withheld={one.axis.name: one.n_withheld for one in axes},
        revealing={one.axis.name: one.n_revealing for one in axes},
        outside={one.axis.name: one.axis.n_outside for one in axes},
        draws=tuple(draws),
        settings={
            **settings.as_dict(), "level": named_level, "several": overlapping, "question": "all",
            "design": inference.remembered(), "level_note": note, **weights_in(ratings, settings.min_group_size),
        },
        pair_rows=tuple(work.pairs([one.axis for one in axes]) if settings.pairs else ()),
        held_rows=tuple(work.held(prepared, rows)),
    )  # fmt: skip


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
