"""One call of responsiveness: on every set of items all raters, the groups of every axis, contrasts and families."""

from __future__ import annotations

from typing import Any

from plurivox.axis import Axis
from plurivox.engine.families import corrected
from plurivox.engine.grouping import Compared, compared, overlapping_axes, raters_who_rated, strata_of, subsets_by
from plurivox.engine.running import Running
from plurivox.errors import SelectionError
from plurivox.lenses.inference import Inference
from plurivox.lenses.psychometrics.scales import MANY, Scale, Scaling, fitted
from plurivox.lenses.psychometrics.settings import LOWER_BOUND
from plurivox.lenses.responsiveness.references import Reference, ReferenceLike, resolve
from plurivox.lenses.responsiveness.result import Responsiveness, Scored
from plurivox.lenses.responsiveness.rows import Analysis, Found
from plurivox.lenses.responsiveness.settings import ALWAYS, ResponsivenessSettings
from plurivox.ratings import Ratings
from plurivox.results.poles import poles_in
from plurivox.results.result import Draws, Row
from plurivox.settings import keywords


@keywords(ResponsivenessSettings)
def responsiveness(
    ratings: Ratings, reference: ReferenceLike = "crowd", *, settings: ResponsivenessSettings, how: Running
) -> Responsiveness:
    """Tell whose higher scores mean more severe, and who tells unsafe from safe.

    Parameters
    ----------
    ratings
        Who rated what. Higher points mean more severe.
    reference
        What the scores are held against: ``"crowd"``, all raters outside the judged group; other Ratings of the same
        items, such as those of trained raters on safe < unsafe, or a language model's; or a group of the same raters,
        ``{"gender": "Woman"}``, with ``{"rater": "gpt-4o"}`` for one of them. Nobody is ever held against themselves.

    Returns
    -------
    Responsiveness
        With ``to_frame()``, ``findings()``, ``scores()``, ``boundaries()``, ``correlations()``, ``to_json()`` and the
        draws.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=200, n_raters=40, seed=1)
    >>> result = pv.responsiveness(study.ratings, study.trained, by="gender", permutations=99, bootstrap=0)
    >>> round(result.value("all", "all", "wra"), 2)
    0.89
    """
    overlapping = overlapping_axes(settings.by, settings.several, pairs=settings.pairs)
    size = settings.min_group_size
    against = resolve(ratings, reference, threshold=settings.threshold, min_group_size=size)
    limit = None if settings.psychometrics == ALWAYS else MANY
    scaling = Scaling(settings.ties, settings.group_score, LOWER_BOUND, settings.seed, limit)
    rows: list[Row] = []
    pair_rows: list[Row] = []
    draws: list[Draws] = []
    scored: list[Scored] = []
    scales: list[Scale] = []
    withheld: dict[str, int] = {}
    axes = list(compared(ratings, settings.by, overlapping, size))
    for subset, part in subsets_by(ratings, settings.items_by).items():
        whole = part is ratings
        own = against if whole else against.within(ratings, part)
        work = Analysis(part, own, settings, strata_of(part, settings.within), Inference(settings, how, subset=subset))
        overall = work.overall()
        rows += overall.rows
        scored.append(overall.scored)
        for one in axes if whole else compared(part, settings.by, overlapping, size, raters_who_rated(part)):
            withheld[one.axis.name if whole else f"{one.axis.name}, {subset}"] = one.n_withheld
            found = work.values(one.axis.name, one.each) if one.overlapping else work.axis(one.axis)
            if settings.psychometrics:
                scales += scaling.scale(part, one, subset)
            if not one.overlapping and one.axis.attributes != ("rater",):  # nobody is shuffled there
                rows += _more(work, one.axis, found)
                pair_rows += work.pairs(one.axis, found) if settings.pairs else []
            rows += found.rows
            draws.append(found.draws)
            scored.append(found.scored)
    _check(settings, axes, rows)
    scaled = fitted(scales, how)
    return Responsiveness(
        rows=(*corrected(rows, settings.correction), *scaled.rows),
        withheld=withheld,
        revealing={one.axis.name: one.n_revealing for one in axes},
        outside={one.axis.name: one.axis.n_outside for one in axes},
        draws=tuple(draws),
        settings=_remembered(settings, ratings, against, overlapping),
        pair_rows=tuple(corrected(pair_rows, settings.correction)),
        scored=tuple(scored),
        tables=scaled.tables() if settings.psychometrics else (),
    )


def _more(work: Analysis, axis: Axis, found: Found) -> list[Row]:
    """Return contrasts and families of an axis, as far as they were asked for and concern it."""
    rows: list[Row] = []
    contrast, family = work.settings.contrast, dict(work.settings.family)
    groups = axis.groups if work.subset == "all" else axis.shown  # too small in a part of the items is no error
    if contrast is not None and set(contrast) <= set(groups):
        rows += work.contrast(axis, contrast, found)
    if family and set(family) <= set(axis.attributes):
        rows += work.family(axis, family, found)
    return rows


def _check(settings: ResponsivenessSettings, axes: list[Compared], rows: list[Row]) -> None:
    """Raise if a contrast or family that was asked for concerns no axis."""
    shown = ", ".join(group for one in axes for group in one.axis.shown[:20]) or "none"
    if settings.contrast is not None and not any(row.kind == "contrast" for row in rows):
        a, b = settings.contrast
        raise SelectionError(f"no axis has both groups {a!r} and {b!r}", hint=f"The groups shown are: {shown}.")
    if settings.family and not any(row.kind == "family" for row in rows):
        raise SelectionError(
            f"no axis has groups with {settings.family} beside groups without", hint=f"The groups shown are: {shown}."
        )


def _remembered(
    settings: ResponsivenessSettings, ratings: Ratings, reference: Reference, overlapping: dict[str, str]
) -> dict[str, Any]:
    """Return what was asked for, and what is known of scale and reference."""
    return {
        **settings.as_dict(), "several": overlapping, "contrast": list(settings.contrast or ()),
        "points": [str(label) for label in ratings.scale.labels],
        "poles": poles_in(ratings.scale),
        "values": [float(value) for value in ratings.scale.values], "lower_bound": LOWER_BOUND,
        "n_items_in_no_subset": 0 if settings.items_by is None else ratings.items[settings.items_by].null_count(),
        "reference": _described(reference, ratings),
    }  # fmt: skip


def _described(reference: Reference, ratings: Ratings) -> dict[str, Any]:
    return {
        "kind": reference.kind, "name": reference.name, "boundaries": list(reference.boundaries),
        "n_raters": reference.n_raters, "n_shared_raters": reference.n_shared, "n_items": reference.n_items,
        "n_items_without": ratings.n_items - reference.n_items, "n_items_unused": reference.n_unused,
        "n_ratings": len(reference.scores),
    }  # fmt: skip
