"""Responsiveness: do higher scores mean more severe (MPA), and are unsafe and safe told apart (WRA).

Both measures are those of Mishra et al., *Decoding Safety Feedback from Diverse Raters: A Data-driven Lens on
Responsiveness to Severity* (arXiv 2503.05609); rank correlations, AUROC and average precision stand beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from plurivox.axis import MIN_GROUP_SIZE, Axis, By, memberships
from plurivox.engine.draws import RESAMPLE
from plurivox.engine.families import METHODS, corrected
from plurivox.engine.grouping import axes_of, each_axis, named_axes, overlapping_axes, strata_of, subsets_by
from plurivox.engine.permutation import CONVENTIONS
from plurivox.engine.running import Progress, Running
from plurivox.errors import InputError, SelectionError
from plurivox.lenses.calls import check_choice, check_draws
from plurivox.lenses.psychometrics.scales import ALWAYS, LOWER_BOUND, MANY, Scaling
from plurivox.lenses.responsiveness.passes import GROUP_SCORES
from plurivox.lenses.responsiveness.references import Reference, ReferenceLike, resolve
from plurivox.lenses.responsiveness.result import Responsiveness, Scored
from plurivox.lenses.responsiveness.rows import Analysis, Found
from plurivox.ratings import Ratings
from plurivox.results.result import Draws, Row
from plurivox.scale import Label
from plurivox.statistics.ties import TIES


def responsiveness(
    ratings: Ratings,
    reference: ReferenceLike = "crowd",
    by: By | Sequence[By] = (),
    *,
    threshold: Label | None = None,
    items_by: str | None = None,
    group_score: str = "plurality",
    ties: str = "share",
    permutations: int = 1000,
    bootstrap: int = 1000,
    resample: str = "items",
    seed: int = 0,
    convention: str = "default",
    within: str | tuple[str, ...] | None = None,
    correction: str = "bh",
    several: Mapping[str, str] | None = None,
    pairs: bool = False,
    contrast: tuple[str, str] | None = None,
    family: Mapping[str, Any] | None = None,
    psychometrics: bool | str = False,
    min_support: float = 5,
    min_group_size: int = MIN_GROUP_SIZE,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
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
    by
        Rater attributes, and crossings of several: ``["age", ("race", "gender")]``; ``"rater"`` for each rater on their
        own.
    threshold
        The lowest point of the reference that means unsafe. Without it the crowd and groups are split at every point
        in turn and values averaged; ``"each"`` does so with other Ratings of more than two points.
    items_by
        An item attribute: everything is also computed for the items of each of its values.
    group_score
        What a group's score of an item is: its most frequent point (``"plurality"``), its ``"median"``, or the point
        nearest to its ``"mean"``.
    ties
        Points that tie ``"share"`` the item, the ``"lowest"`` gets it, or one at ``"random"`` by seed.
    permutations
        How often rater profiles are shuffled to see what chance does; 0 for values without p. Raters on their own are
        compared with each other, which needs no draws.
    bootstrap, resample
        How many bootstrap draws for 95 % intervals, of ``"items"``, ``"raters"`` (within their groups) or ``"both"``;
        raters on their own allow items only.
    seed
        Same seed, same result, whatever the threads and the order of rows.
    convention
        ``"default"``, or ``"published"``: MPA is not capped at 0, as in the paper's listing, so that HM can exceed 1.
    within
        A rater attribute (or several) whose values raters are only shuffled within, such as recruitment batch.
    correction
        How p-values of one statistic over all groups are corrected: bh, by, holm, bonferroni or none.
    several
        Attributes of which a rater may have several values, and what separates them: ``{"race": ";"}``.
    pairs
        Whether to compare every pair of groups of an axis, too.
    contrast
        Two groups of one axis whose difference to report.
    family
        A value that several groups share, as ``{"ethnicity": "Latinx"}``: do all of them lie below, or above, all
        others?
    psychometrics
        Whether to add Mokken's H_j and the discrimination of a graded response model, which compare raters or groups
        with each other and not with the reference. True leaves axes of more than 200 out, ``"always"`` none.
    min_support
        Scores given to fewer items are named in a note, since MPA weighs every score alike.
    min_group_size
        Groups with fewer raters are withheld and counted.
    threads, executor
        How many threads to use, all by default; or whose threads.
    progress
        Called with what is being done, how far it is, and how far it goes.

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
    check_choice("group_score", group_score, GROUP_SCORES)
    check_choice("ties", ties, TIES)
    check_choice("resample", resample, RESAMPLE)
    check_choice("convention", convention, CONVENTIONS)
    check_choice("correction", correction, tuple(METHODS))
    check_draws(permutations, bootstrap, seed)
    if psychometrics not in (False, True, ALWAYS):
        raise InputError(f"psychometrics is {psychometrics!r}", hint=f"Give True, False or {ALWAYS!r}.")
    axes_by = each_axis(by)
    if resample != "items" and bootstrap and any(one == "rater" or tuple(one) == ("rater",) for one in axes_by):
        raise InputError(
            f"resample is {resample!r}, and a rater on their own can only be resampled over items",
            hint="Set resample='items', or leave 'rater' out of by.",
        )
    overlapping = overlapping_axes(axes_by, several or {}, pairs=pairs)
    resolved = resolve(ratings, reference, threshold=threshold, min_group_size=min_group_size)
    scaling = Scaling(ties, group_score, LOWER_BOUND, seed, progress, None if psychometrics == ALWAYS else MANY)
    found = _Gathered(
        contrast, dict(family or {}), pairs, overlapping, min_group_size, scaling if psychometrics else None
    )
    for subset, part in subsets_by(ratings, items_by).items():
        against = resolved if part is ratings else resolved.within(ratings, part)
        work = Analysis(
            part, against, permutations, bootstrap, resample, seed, convention, strata_of(part, within), group_score,
            ties, min_support, subset, Running(threads, executor, progress),
        )  # fmt: skip
        found.add(work, axes_of(part, axes_by, min_group_size))
    found.check(axes_of(ratings, axes_by, min_group_size))
    settings = {
        "by": named_axes(axes_by), "items_by": items_by,
        "group_score": group_score, "ties": ties, "permutations": permutations, "bootstrap": bootstrap,
        "resample": resample, "seed": seed, "convention": convention, "within": within, "correction": correction,
        "several": overlapping, "family": dict(family or {}), "pairs": pairs, "contrast": list(contrast or ()),
        "threshold": threshold, "min_support": min_support,
        "min_group_size": min_group_size, "points": [str(label) for label in ratings.scale.labels],
        "values": [float(value) for value in ratings.scale.values], "psychometrics": psychometrics,
        "lower_bound": LOWER_BOUND,
        "n_items_in_no_subset": 0 if items_by is None else ratings.items[items_by].null_count(),
        "reference": _described(resolved, ratings),
    }  # fmt: skip
    return Responsiveness(
        rows=(*corrected(found.rows, correction), *scaling.rows),
        withheld=found.withheld,
        outside=found.outside,
        draws=tuple(found.draws),
        settings=settings,
        pair_rows=tuple(corrected(found.pair_rows, correction)),
        scored=tuple(found.scored),
        tables=scaling.tables() if psychometrics else (),
    )


class _Gathered:
    """What all sets of items and axes gave."""

    def __init__(
        self,
        contrast: tuple[str, str] | None,
        family: dict[str, Any],
        pairs: bool,
        overlapping: Mapping[str, str],
        min_group_size: int,
        scaling: Scaling | None,
    ) -> None:
        self.contrast, self.family, self.pairs = contrast, family, pairs
        self.overlapping, self.min_group_size, self.scaling = overlapping, min_group_size, scaling
        self.rows: list[Row] = []
        self.pair_rows: list[Row] = []
        self.draws: list[Draws] = []
        self.scored: list[Scored] = []
        self.withheld: dict[str, int] = {}
        self.outside: dict[str, int] = {}

    def add(self, work: Analysis, axes: Sequence[Axis]) -> None:
        """Analyse one set of items; groups too few of whose raters rated any of them are withheld."""
        rated = np.bincount(work.ratings.codes_of_raters, minlength=work.ratings.n_raters) > 0
        overall = work.overall()
        self.rows += overall.rows
        self.scored.append(overall.scored)
        for whole in axes:
            axis = whole if work.subset == "all" else whole.counting(rated)
            if work.subset == "all":
                self.outside[axis.name] = axis.n_outside
            where = axis.name if work.subset == "all" else f"{axis.name}, {work.subset}"
            if axis.name in self.overlapping:
                separator = self.overlapping[axis.name]
                parts = memberships(work.ratings, axis.name, separator, min_group_size=self.min_group_size)
                parts = parts if work.subset == "all" else [part.counting(rated) for part in parts]
                found = work.values(axis.name, parts)
                self._scale(work, parts, overlapping=True)
                self.withheld[where] = sum(part.n_withheld > 0 for part in parts)
            else:
                found = work.axis(axis)
                self._scale(work, [axis], overlapping=False)
                self.withheld[where] = 0 if axis.attributes == ("rater",) else axis.n_withheld
                self._more(work, axis, found)
            self.rows += found.rows
            self.draws.append(found.draws)
            self.scored.append(found.scored)

    def _scale(self, work: Analysis, axes: Sequence[Axis], *, overlapping: bool) -> None:
        """Add how raters or groups go together, if asked for."""
        if self.scaling is not None:
            self.scaling.add(work.ratings, axes, work.subset, overlapping=overlapping)

    def _more(self, work: Analysis, axis: Axis, found: Found) -> None:
        """Add contrasts, families and pairs."""
        if axis.attributes == ("rater",):
            return  # nobody is shuffled there
        groups = axis.groups if work.subset == "all" else axis.shown  # too small in a part of the items is no error
        if self.contrast is not None and set(self.contrast) <= set(groups):
            self.rows += work.contrast(axis, self.contrast, found)
        if self.family and set(self.family) <= set(axis.attributes):
            self.rows += work.family(axis, self.family, found)
        if self.pairs:
            self.pair_rows += work.pairs(axis, found)

    def check(self, axes: Sequence[Axis]) -> None:
        """Raise if a contrast or family that was asked for concerns no axis."""
        shown = ", ".join(group for axis in axes for group in axis.shown[:20]) or "none"
        if self.contrast is not None and not any(row.kind == "contrast" for row in self.rows):
            a, b = self.contrast
            raise SelectionError(f"no axis has both groups {a!r} and {b!r}", hint=f"The groups shown are: {shown}.")
        if self.family and not any(row.kind == "family" for row in self.rows):
            raise SelectionError(
                f"no axis has groups with {self.family} beside groups without", hint=f"The groups shown are: {shown}."
            )


def _described(reference: Reference, ratings: Ratings) -> dict[str, Any]:
    return {
        "kind": reference.kind, "name": reference.name, "boundaries": list(reference.boundaries),
        "n_raters": reference.n_raters, "n_shared_raters": reference.n_shared, "n_items": reference.n_items,
        "n_items_without": ratings.n_items - reference.n_items, "n_items_unused": reference.n_unused,
        "n_ratings": len(reference.scores),
    }  # fmt: skip
