"""One call of psychometrics: the scale that raters, or groups, form on every axis and set of items."""

from __future__ import annotations

from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.domain.scale_names import poles_in
from plurivox.engine.pool import Running
from plurivox.infer.call import keywords
from plurivox.infer.grouping import compared, compared_in_parts, overlapping_axes, subsets_by
from plurivox.lenses.psychometrics.result import Psychometrics
from plurivox.lenses.psychometrics.scales import Scale, Scaling, fitted
from plurivox.lenses.psychometrics.settings import PsychometricsSettings


@keywords(PsychometricsSettings)
def psychometrics(ratings: Ratings, *, settings: PsychometricsSettings, how: Running) -> Psychometrics:
    """Check whether raters order items alike (Mokken's H), and how sharply each one's scores follow severity (GRM).

    No reference is used: what raters have in common is taken as the severity of an item.

    Returns
    -------
    Psychometrics
        With ``to_frame()``, ``findings()``, ``severity()``, ``thresholds()``, ``curves()``, ``pairs()``, ``checks()``,
        ``fits()`` and ``to_json()``.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=200, n_raters=12, seed=1)
    >>> result = pv.psychometrics(study.ratings)
    >>> round(result.value("rater", "all together", "mokken_h"), 2)
    0.8
    """
    few_points(ratings.scale, "psychometrics")
    overlapping = overlapping_axes(settings.by, settings.several, pairs=False)
    scaling = Scaling(settings.ties, settings.group_score, settings.lower_bound, settings.seed)
    axes = compared(ratings, settings.by, overlapping, settings.min_group_size)
    subsets = subsets_by(ratings, settings.items_by)
    scales: list[Scale] = []
    withheld: dict[str, int] = {}
    for (subset, part), own in zip(subsets.items(), compared_in_parts(axes, subsets), strict=True):
        for one in own:
            withheld[one.axis.name if part is ratings else f"{one.axis.name}, {subset}"] = one.n_withheld
            scales += scaling.scale(part, one, subset)
    found = fitted(scales, how)
    return Psychometrics(
        rows=tuple(found.rows),
        withheld=withheld,
        revealing={one.axis.name: one.n_revealing for one in axes},
        outside={one.axis.name: one.axis.n_outside for one in axes},
        draws=(),
        settings={
            **settings.as_dict(), "several": overlapping,
            "points": [str(label) for label in ratings.scale.labels],
            "poles": poles_in(ratings.scale),
            "values": [float(value) for value in ratings.scale.values],
        },
        tables=found.tables(),
    )  # fmt: skip
