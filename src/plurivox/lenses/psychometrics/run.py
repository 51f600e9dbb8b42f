"""One call of psychometrics: the scale that raters, or groups, form on every axis and set of items."""

from __future__ import annotations

from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.domain.scale_names import poles_in
from plurivox.engine.pool import Running
from plurivox.infer.call import Call
from plurivox.infer.keywords import keywords
from plurivox.lenses.psychometrics.result import Psychometrics
from plurivox.lenses.psychometrics.scales import Scaling, fitted
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
    call = Call.of(ratings, settings, how)
    scaling = Scaling(settings.ties, settings.group_score, settings.lower_bound, settings.seed)
    scales = [
        scale for part in call.parts for one in part.axes
        for scale in scaling.scale(part.ratings, one, part.inference.subset)
    ]  # fmt: skip
    found = fitted(scales, how)
    return Psychometrics(
        rows=tuple(found.rows),
        draws=(),
        tables=found.tables(),
        **call.kept(
            points=[str(label) for label in ratings.scale.labels],
            poles=poles_in(ratings.scale),
            values=[float(value) for value in ratings.scale.values],
        ),
    )
