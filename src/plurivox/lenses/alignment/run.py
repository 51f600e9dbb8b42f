"""Alignment: whose view a language model reflects, from human ratings and the model's answers.

ADA-Met is that of Galarnyk et al. (2025), How Inclusively do LMs Perceive Social and Moral Norms?; uncertainty, equal
group sizes and the companions that keep the spread of votes are additions.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from plurivox.answers import Answers
from plurivox.axis import MIN_GROUP_SIZE, Axis, By
from plurivox.engine.families import METHODS, corrected
from plurivox.engine.grouping import compared, each_axis, overlapping_axes, raters_who_rated, strata_of, warn_apart
from plurivox.engine.permutation import CONVENTIONS
from plurivox.engine.running import Progress, Running
from plurivox.errors import DifferentItemsWarning, InputError, SelectionError
from plurivox.lenses.alignment import models
from plurivox.lenses.alignment.as_raters import as_raters
from plurivox.lenses.alignment.closest import CONTRASTS, STANDINGS, Closest
from plurivox.lenses.alignment.matching import ALL, as_answers, match
from plurivox.lenses.alignment.result import Alignment
from plurivox.lenses.alignment.rows import Analysis
from plurivox.lenses.alignment.sums import Aligner
from plurivox.lenses.calls import check_choice, check_draws
from plurivox.ratings import Ratings
from plurivox.results.result import Table
from plurivox.scale import Label
from plurivox.statistics.alignment import TOLERANCE, check_tolerance
from plurivox.statistics.checks import level_of, prior_of

UNEVEN = 3.0
"""Raters of one group with so many times the items of another's are warned of."""


def alignment(
    ratings: Ratings,
    answers: Any,
    by: By | Sequence[By] = (),
    *,
    subset: str | None = None,
    several: Mapping[str, str] | None = None,
    level: str | ArrayLike = "ordinal",
    prior: ArrayLike = 1.0,
    families: Mapping[str, Sequence[str]] | None = None,
    trained: Ratings | None = None,
    threshold: Label | None = None,
    as_rater: bool = True,
    tolerance: float = TOLERANCE,
    bootstrap: int = 1000,
    permutations: int = 1000,
    subsamples: int = 200,
    within: str | tuple[str, ...] | None = None,
    seed: int = 0,
    convention: str = "default",
    correction: str = "bh",
    min_group_size: int = MIN_GROUP_SIZE,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Alignment:
    """Tell whose view language models reflect, and how sure that is.

    Distances are in points of the scale; lower is closer. A refused or unreadable answer costs the whole scale in
    ``ada_met`` and ``voter_distance``, and is left out of ``ada_met_answered`` and ``expected_emd``; a failed or
    missing one is never charged. ``accounts()`` counts all of them.

    Parameters
    ----------
    ratings
        Who rated what, or counts per point (then without groups).
    answers
        A frame with ``model``, ``item`` and ``answer`` (or ``point``, ``text`` or a distribution), and ``prompt``,
        ``sample``, ``state``, ``order``, ``family`` if there are any; a store of ``plurivox ask``; or :class:`Answers`.
    by
        Rater attributes and crossings of several, whose groups are compared.
    subset
        An item attribute, by whose values the distances from all raters are also given.
    several
        Attributes of which a rater may have several values, and what separates them: ``{"race": ";"}``. Their groups
        overlap, so that none is called the closest.
    level
        How XRR between a model and a group weighs points: nominal, ordinal, interval, or a matrix of distances.
        On the nominal level, standing in for a rater is about agreement, not distance.
    prior
        The weight of each point before any vote, for the expected earth mover's distance.
    families
        Models by family, for alpha within families; by default as the answers tell, or by the beginning of their names.
    trained, threshold
        Trained raters against whom models are judged as raters (MPA, WRA), and the lowest point that means unsafe;
        without them, all raters and each group take their place.
    as_rater
        Whether to judge models as raters at all.
    tolerance
        How much less often than a human a model may be the closer one and still stand in.
    bootstrap
        How many times items are drawn anew for 95 % intervals.
    permutations
        How many times raters are shuffled between groups, to test which group is closest.
    subsamples
        How many times raters are drawn so that all groups are as large as the smallest.
    within
        Rater attributes within which raters are shuffled, if they saw different items.
    seed
        Same seed, same result, whatever the threads and the order of rows.
    convention
        ``"published"`` counts refusals as categories in alpha.
    correction
        How p-values are corrected over models, prompts and attributes: bh, by, holm, bonferroni or none.
    min_group_size
        Groups with fewer raters are withheld and counted.
    threads, executor
        How many threads to use, all by default; or whose workers.
    progress
        Called with what is being done, how far it is, and how far it goes.

    Returns
    -------
    Alignment
        With ``to_frame()``, ``findings()``, ``accounts()``, ``closest()``, ``standings()``, ``contrasts()``,
        ``alphas()``, ``stand_ins()``, ``prompts()``, ``stability()``, ``positions()``, ``distances()``, ``items()`` and
        ``to_json()``.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=100, n_raters=60, seed=1)
    >>> found = pv.alignment(study.ratings, study.answers, bootstrap=0, permutations=0, subsamples=0)
    >>> round(found.value("model-a"), 2) < round(found.value("model-c"), 2)
    True
    """
    check_draws(permutations, bootstrap, seed)
    check_choice("convention", convention, CONVENTIONS)
    check_choice("correction", correction, tuple(METHODS))
    if subsamples < 0:
        raise InputError(f"subsamples is {subsamples}", hint="Give 0 or more.")
    check_tolerance(tolerance)
    given = as_answers(answers, ratings)
    matched = match(ratings, given, subset)
    chosen = each_axis(by)
    if ALL in chosen:
        raise SelectionError("an attribute is called 'all', which stands for all raters", hint="Rename it.")
    overlapping = overlapping_axes(chosen, several or {}, pairs=False)
    axes = [one.counting(raters_who_rated(ratings)) for one in compared(ratings, chosen, overlapping, min_group_size)]
    prior_weights = prior_of(prior, matched.top + 1)
    aligner = Aligner(matched, prior_weights, seed, Running(threads, executor, progress))
    work = Analysis(aligner, level_of(level, matched.top + 1), bootstrap)
    strata = strata_of(ratings, within)
    rows, closest = work.overall(), []
    for one in axes:
        rows += work.groups(one)
        if len(one.shown) > 1 and not one.overlapping and one.axis.attributes != ("rater",):
            warn_apart(ratings, one.axis)
            warn_uneven(ratings, one.axis)
            draws_by = work.telling(f"{one.axis.name}, closest group")
            closest.append(
                Closest.of(
                    draws_by, one.axis, strata, bootstrap=bootstrap, permutations=permutations, subsamples=subsamples
                )
            )
    if as_rater:
        rows += as_raters(aligner, [one for one in axes if not one.overlapping], trained, threshold)
    rows += corrected([row for one in closest for row in one.rows(matched.voices)], correction)
    tables = _tables(work, given, closest, families, convention, (tolerance, min_group_size))
    settings = {
        "by": [one.axis.name for one in axes], "subset": subset, "level": level if isinstance(level, str) else "matrix",
        "prior": prior_weights.tolist(), "bootstrap": bootstrap, "permutations": permutations,
        "subsamples": subsamples, "seed": seed, "convention": convention, "correction": correction,
        "tolerance": tolerance, "min_group_size": min_group_size, "voices": [list(voice) for voice in matched.voices],
        "labels": [str(label) for label in ratings.scale.labels], "subsets": list(matched.subsets),
        "n_items": int(np.count_nonzero(np.diff(matched.rows))), "n_unrated": matched.n_unrated,
        "n_elsewhere": given.n_elsewhere, "n_unsorted": matched.n_unsorted, "n_raters": ratings.n_raters,
    }  # fmt: skip
    withheld = {one.axis.name: one.n_withheld for one in axes}
    outside = {one.axis.name: one.axis.n_outside for one in axes}
    draws = tuple(one.draws(matched.voices) for one in closest)
    return Alignment(tuple(rows), withheld, outside, draws, settings, tables)


def warn_uneven(ratings: Ratings, axis: Axis) -> None:
    """Warn if raters of one group rated many times as many items as those of another: modes of few votes tie."""
    group = axis.codes[ratings.codes_of_raters]
    votes = np.bincount(group[group >= 0], minlength=len(axis)) / np.maximum(axis.sizes, 1)
    shown = np.flatnonzero(~axis.withheld & (votes > 0))
    if len(shown) and votes[shown].max() > UNEVEN * votes[shown].min():
        many, few = (axis.groups[shown[place]] for place in (votes[shown].argmax(), votes[shown].argmin()))
        warnings.warn(
            f"{axis.name}: raters of {many} rated {votes[shown].max() / votes[shown].min():.0f} times as many items as "
            f"those of {few}; modes of few votes tie more, so the closest group may be one of numbers. Compare by "
            "voter_distance, or shuffle within groups of alike raters (within=)",
            DifferentItemsWarning,
            stacklevel=3,
        )


def _tables(
    work: Analysis, answers: Answers, closest: Sequence[Closest], families: Mapping[str, Sequence[str]] | None,
    convention: str, standing: tuple[float, int],
) -> tuple[Table, ...]:  # fmt: skip
    matched = work.aligner.matched
    voices = matched.voices
    sets = models.guessed_families(answers.models, answers.families) if families is None else families
    frames = {
        "accounts": matched.accounts,
        "standings": pl.DataFrame(
            [row for one in closest for row in one.standings(voices)], schema=STANDINGS, orient="row"
        ),
        "contrasts": pl.DataFrame(
            [row for one in closest for row in one.contrasts(voices)], schema=CONTRASTS, orient="row"
        ),
        "alphas": models.alphas(answers, matched, sets, published=convention == "published"),
        "stand ins": models.stand_ins(
            work.aligner, *standing, nominal=isinstance(work.level, str) and work.level == "nominal"
        ),
        "prompts": models.between_prompts(answers),
        "stability": models.stability(answers),
        "positions": models.positions(matched),
        "distances": models.distances(matched),
        "items": models.item_table(matched),
    }
    return tuple(Table(name, frame) for name, frame in frames.items())
