"""One call of responsiveness: for every set of items, all raters, the groups of every axis, contrasts and families."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from plurivox.base.errors import SelectionError
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.domain.scale_names import poles_in
from plurivox.engine.pool import Running
from plurivox.infer.call import keywords
from plurivox.infer.exchange import Exchange
from plurivox.infer.families import corrected
from plurivox.infer.grouping import Compared, compared, compared_in_parts, overlapping_axes, subsets_by
from plurivox.infer.inference import Inference
from plurivox.infer.result import Row
from plurivox.infer.spread import with_interval
from plurivox.infer.weighting import weights_in
from plurivox.lenses.psychometrics.scales import MANY, Scale, Scaling, fitted
from plurivox.lenses.psychometrics.settings import LOWER_BOUND
from plurivox.lenses.responsiveness.references import Reference, ReferenceLike, resolve
from plurivox.lenses.responsiveness.result import Responsiveness, Scored
from plurivox.lenses.responsiveness.rows import Analysis, Contrast, Found, Prepared, family_name
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
    overlapping = overlapping_axes(settings.by, settings.several, pairs=settings.pairs)
    size = settings.min_group_size
    against = resolve(ratings, reference, threshold=settings.threshold, min_group_size=size)
    limit = None if settings.psychometrics == ALWAYS else MANY
    scaling = Scaling(settings.ties, settings.group_score, LOWER_BOUND, settings.seed, limit)
    exchange = Exchange.of(ratings, settings.within)
    # Families are tested with the shuffles of their groups, whose own tests may be clear much earlier.
    asked = replace(settings, stop_early=settings.stop_early and not settings.family)
    whole = Inference(asked, how, exchange)
    rows: list[Row] = []
    scored: list[Scored] = []
    scales: list[Scale] = []
    withheld: dict[str, int] = {}
    each: list[_Part] = []
    axes = compared(ratings, settings.by, overlapping, size)
    subsets = subsets_by(ratings, settings.items_by)
    for (subset, part), shown in zip(subsets.items(), compared_in_parts(axes, subsets), strict=True):
        all_items = part is ratings
        compared_with = against if all_items else against.within(ratings, part)
        work = Analysis(part, compared_with, settings, replace(whole, subset=subset))
        overall = work.overall()
        rows += overall.rows
        scored.append(overall.scored)
        for one in shown:
            withheld[one.axis.name if all_items else f"{one.axis.name}, {subset}"] = one.n_withheld
            each.append(_Part.of(work, one))
            if settings.psychometrics:
                scales += scaling.scale(part.unweighted(), one, subset)
    whole.decide([one.tested for part in each for one in part.prepared])
    whole.decide([contrast.tested for part in each for contrast in part.contrasts])
    whole.decide([contrast.tested for part in each for contrast in part.pairs], further=False)
    found = [(own, own.found()) for own in each]
    for own, axis in found:
        rows += own.compared(own.contrasts, axis, "contrast")
        rows += axis.rows
    families = [row for own, axis in found for one in settings.family for row in own.family(one, axis)]
    simple = "holm" if settings.correction == "maxt" else settings.correction
    rows += [row.with_claim(whole.claims(row)) for row in corrected(families, simple)]
    corrected([row for row in rows if row.kind == "rater"], simple)
    _check(settings, axes, rows)
    scaled = fitted(scales, how)
    known = {
        (part.one.axis.name, group): one for part in each if part.work.subset == "all" for one in part.prepared
        for group in one.groups
    }  # fmt: skip
    return Responsiveness(
        rows=(*rows, *scaled.rows),
        withheld=withheld,
        revealing={one.axis.name: one.n_revealing for one in axes},
        outside={one.axis.name: one.axis.n_outside for one in axes},
        draws=tuple(axis.draws for _, axis in found),
        settings={
            **_remembered(settings, ratings, against, overlapping),
            "design": whole.remembered(),
            **weights_in(ratings, size),
        },
        pair_rows=tuple(row for own, axis in found for row in own.compared(own.pairs, axis, "pair")),
        held_rows=tuple(Analysis(ratings, against, settings, whole).held(known, rows)),
        scored=(*scored, *(axis.scored for _, axis in found)),
        tables=scaled.tables() if settings.psychometrics else (),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The groups of one axis on one set of items, ready to be tested, and what else was requested."""

    work: Analysis
    one: Compared
    prepared: list[Prepared]
    contrasts: list[Contrast]
    pairs: list[Contrast]

    @classmethod
    def of(cls, work: Analysis, one: Compared) -> _Part:
        """Measure the groups; individual raters are not shuffled."""
        axis, asked = one.axis, work.settings
        if axis.attributes == ("rater",):
            return cls(work, one, [], [], [])
        contrasts, pairs = [], []
        if not one.overlapping:
            groups = (
                axis.groups if work.subset == "all" else axis.shown
            )  # too small in a part of the items is not an error
            if asked.contrast is not None and set(asked.contrast) <= set(groups):
                contrasts.append(work.contrast(axis, asked.contrast))
            if asked.pairs:
                pairs = [work.contrast(axis, two) for two in combinations(axis.shown, 2)]
        return cls(work, one, work.prepare(one), contrasts, pairs)

    def found(self) -> Found:
        """Return the rows of the groups, or raters."""
        if self.one.axis.attributes == ("rater",):
            return self.work.raters(self.one.axis)
        return self.work.found(self.one.axis.name, self.prepared)

    def compared(self, contrasts: list[Contrast], found: Found, kind: str) -> list[Row]:
        """Return the rows of contrasts or pairs."""
        return [row for contrast in contrasts for row in self.work.compared(contrast, found, kind)]

    def family(self, condition: Mapping[str, Any], found: Found) -> list[Row]:
        """Return how the groups that share a value compare with all others, if they are groups of this axis."""
        axis = self.one.axis
        if self.one.overlapping or not self.prepared or not set(condition) <= set(axis.attributes):
            return []
        return self.work.family(axis, condition, found)


def _check(settings: ResponsivenessSettings, axes: list[Compared], rows: list[Row]) -> None:
    """Raise if no axis has a requested contrast or family."""
    shown = ", ".join(group for one in axes for group in one.axis.shown[:20]) or "none"
    if settings.contrast is not None and not any(row.kind == "contrast" for row in rows):
        a, b = settings.contrast
        raise SelectionError(f"no axis has both groups {a!r} and {b!r}", hint=f"The groups shown are: {shown}.")
    for one in settings.family:
        if not any(row.kind == "family" and row.group.startswith(f"{family_name(one)} (") for row in rows):
            raise SelectionError(
                f"no axis has both groups with {one} and groups without", hint=f"The groups shown are: {shown}."
            )


def _remembered(
    settings: ResponsivenessSettings, ratings: Ratings, reference: Reference, overlapping: dict[str, str]
) -> dict[str, Any]:
    """Return what was requested, and what is known about scale and reference."""
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
