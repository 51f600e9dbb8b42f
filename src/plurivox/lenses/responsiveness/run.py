"""One call of responsiveness: for every set of items, all raters, the groups of every axis, contrasts and families."""

from __future__ import annotations

from typing import Any

from plurivox.base.errors import SelectionError
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.domain.scale_names import poles_in
from plurivox.engine.pool import Running
from plurivox.infer.call import AxisMeasured, Call
from plurivox.infer.families import corrected
from plurivox.infer.intervals import with_interval
from plurivox.infer.keywords import keywords
from plurivox.infer.result import Row
from plurivox.lenses.psychometrics.scales import MANY, RaterScale, Scaling, fitted
from plurivox.lenses.psychometrics.settings import LOWER_BOUND
from plurivox.lenses.responsiveness.references import Reference, ReferenceLike, resolve
from plurivox.lenses.responsiveness.result import Responsiveness, ScoreTables
from plurivox.lenses.responsiveness.rows import Responding, ScoredAxis, family_name
from plurivox.lenses.responsiveness.settings import ALWAYS, ResponsivenessSettings


@keywords(ResponsivenessSettings, weights=True)
def responsiveness(
    ratings: Ratings, reference: ReferenceLike = "crowd", *, settings: ResponsivenessSettings, how: Running
) -> Responsiveness:
    """Find out whose higher scores mean more severe, and who tells unsafe from safe.

    Parameters
    ----------
    ratings
        Who rated what. Higher points mean more severe.
    reference
        What the scores are compared with: ``"crowd"``, all raters outside the judged group; other Ratings of the same
        items, such as those of trained raters on safe < unsafe, or a language model's; or a group of the same raters,
        ``{"gender": "Woman"}``, with ``{"rater": "gpt-4o"}`` for one of them. Nobody is ever compared with themselves.

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
    few_points(ratings.scale, "responsiveness")
    settings = with_interval(settings)
    call = Call.of(ratings, settings, how)
    against = resolve(ratings, reference, threshold=settings.threshold, min_group_size=settings.min_group_size)
    limit = None if settings.psychometrics == ALWAYS else MANY
    scaling = Scaling(settings.ties, settings.group_score, LOWER_BOUND, settings.seed, limit)
    rows: list[Row] = []
    scored: list[ScoreTables] = []
    scales: list[RaterScale] = []
    each: list[AxisMeasured] = []
    for part in call.parts:
        every = part.ratings is ratings
        near = against if every else against.within(ratings, part.ratings)
        work = Responding(part.ratings, settings, part.inference, near)
        overall = work.overall()
        rows += overall.rows
        scored.append(overall.scored)
        each += [work.everything(one, check=every) for one in part.axes]
        if settings.psychometrics:
            scales += [row for one in part.axes for row in scaling.scale(part.ratings.unweighted(), one, work.subset)]
    call.decide(each)
    found = [_found(axis) for axis in each]
    for axis, own in zip(each, found, strict=True):
        rows += [row for two in axis.contrasts for row in axis.work.compared(two, own, "contrast")] + own.rows
    families = [
        row for axis, own in zip(each, found, strict=True) for one in settings.family
        if not axis.one.overlapping and axis.prepared and set(one) <= set(axis.one.axis.attributes)
        for row in axis.work.family(axis.one.axis, one, own)
    ]  # fmt: skip
    simple = "holm" if settings.correction == "maxt" else settings.correction
    rows += [row.with_claim(call.inference.claims(row)) for row in corrected(families, simple)]
    corrected([row for row in rows if row.kind == "rater"], simple)
    _check(call, rows)
    scaled = fitted(scales, how)
    pairs = [row for axis, own in zip(each, found, strict=True)
             for two in axis.pairs for row in axis.work.compared(two, own, "pair")]  # fmt: skip
    known = {axis.one.axis.name: axis.prepared for axis in each if axis.work.subset == "all"}
    return Responsiveness(
        rows=(*rows, *scaled.rows),
        draws=tuple(own.draws for own in found),
        pair_rows=tuple(pairs),
        held_rows=tuple(Responding(ratings, settings, call.inference, against).held(known, rows)),
        scored=(*scored, *(own.scored for own in found)),
        tables=scaled.tables() if settings.psychometrics else (),
        **call.kept(**_remembered(settings, ratings, against), design=call.inference.remembered()),
    )


def _found(measured: AxisMeasured) -> ScoredAxis:
    """Return the rows of the groups of an axis, or of individual raters."""
    axis, work = measured.one.axis, measured.work
    found: ScoredAxis = work.raters(axis) if axis.attributes == ("rater",) else work.found(axis.name, measured.prepared)
    return found


def _check(call: Call, rows: list[Row]) -> None:
    """Raise if no axis has a requested contrast or family."""
    shown = call.refuse_missing(rows)
    for one in call.settings.family:
        if not any(row.kind == "family" and row.group.startswith(f"{family_name(one)} (") for row in rows):
            raise SelectionError(f"no axis has both groups with {one} and groups without", hint=shown)


def _remembered(settings: ResponsivenessSettings, ratings: Ratings, reference: Reference) -> dict[str, Any]:
    """Return what was requested, and what is known about scale and reference."""
    return {
        "contrast": list(settings.contrast or ()),
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
