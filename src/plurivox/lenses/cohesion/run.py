"""Cohesion: which groups see things alike, and is it more than chance.

The six statistics, GAI and DSI are those of Prabhakaran et al., *GRASP: A Disagreement Analysis Framework to Assess
Group Associations in Perspectives* (NAACL 2024); percent agreement and Gwet's AC1 and AC2 stand beside alpha.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor

from numpy.typing import ArrayLike

from plurivox.axis import MIN_GROUP_SIZE, By
from plurivox.engine.draws import RESAMPLE
from plurivox.engine.families import METHODS, corrected
from plurivox.engine.grouping import compared, each_axis, named_axes, overlapping_axes, strata_of
from plurivox.engine.permutation import CONVENTIONS
from plurivox.engine.running import Progress, Running
from plurivox.errors import SelectionError
from plurivox.lenses.calls import check_choice, check_draws
from plurivox.lenses.cohesion.result import Cohesion
from plurivox.lenses.cohesion.rows import Analysis
from plurivox.lenses.cohesion.settings import CohesionSettings
from plurivox.ratings import Ratings
from plurivox.results.result import Draws, Row
from plurivox.statistics.checks import level_of
from plurivox.statistics.registry import STATISTICS
from plurivox.statistics.ties import TIES


def cohesion(
    ratings: Ratings,
    by: By | Sequence[By],
    *,
    level: str | ArrayLike = "nominal",
    permutations: int = 1000,
    bootstrap: int = 0,
    resample: str = "items",
    seed: int = 0,
    convention: str = "default",
    within: str | tuple[str, ...] | None = None,
    correction: str = "bh",
    ties: str = "share",
    several: Mapping[str, str] | None = None,
    pairs: bool = False,
    contrast: tuple[str, str] | None = None,
    min_group_size: int = MIN_GROUP_SIZE,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Cohesion:
    """Tell which groups of raters agree among themselves more than with the others.

    Parameters
    ----------
    ratings
        Who rated what.
    by
        Rater attributes, and crossings of several: ``["age", ("race", "gender")]``.
    level
        How far apart two points are: ``"nominal"``, ``"ordinal"``, ``"interval"``, or a matrix of distances.
    permutations
        How often rater profiles are shuffled to see what chance does; 0 for values without p.
    bootstrap, resample
        How many bootstrap draws for 95 % intervals, of ``"items"``, ``"raters"`` (within their groups) or ``"both"``.
    seed
        Same seed, same result, whatever the threads and the order of rows.
    convention
        ``"default"``, or ``"published"`` for the p-values and the cross-negentropy of the GRASP paper.
    within
        A rater attribute (or several) whose values raters are only shuffled within, such as recruitment batch.
    correction
        How p-values of one statistic over all groups are corrected: bh, by, holm, bonferroni or none.
    ties
        Who gets an item's vote when points tie: they ``"share"`` it, the ``"lowest"``, or one at ``"random"`` by seed.
    several
        Attributes of which a rater may have several values, and what separates them: ``{"race": ";"}``. Each value
        makes a group, whose rest are those without it. Such groups overlap, so they are neither crossed nor paired.
    pairs
        Whether to compare every pair of groups of an axis, too.
    contrast
        Two groups of one axis whose difference to report.
    min_group_size
        Groups with fewer raters are withheld and counted.
    threads, executor
        How many threads to use, all by default; or whose threads.
    progress
        Called with what is being done, how far it is, and how far it goes.

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
    check_choice("resample", resample, RESAMPLE)
    check_choice("convention", convention, CONVENTIONS)
    check_choice("correction", correction, tuple(METHODS))
    check_choice("ties", ties, TIES)
    check_draws(permutations, bootstrap, seed)
    known_level = level_of(level, len(ratings.scale))
    overlapping = overlapping_axes(each_axis(by), several or {}, pairs=pairs)
    wanted = CohesionSettings(permutations, bootstrap, resample, seed, convention, ties)
    work = Analysis(ratings, known_level, strata_of(ratings, within), wanted, Running(threads, executor, progress))
    rows = work.overall()
    draws: list[Draws] = []
    pair_rows: list[Row] = []
    axes = list(compared(ratings, each_axis(by), overlapping, min_group_size))
    for one in axes:
        if one.overlapping:
            axis_rows, axis_draws = work.values(one.axis.name, one.each)
        else:
            axis_rows, axis_draws = work.axis(one.axis)
            if contrast is not None and set(contrast) <= set(one.axis.groups):
                axis_rows += work.contrast(one.axis, contrast)
            if pairs:
                pair_rows += work.pairs(one.axis)
        rows += axis_rows
        draws.append(axis_draws)
    if contrast is not None and not any(row.kind == "contrast" for row in rows):
        raise SelectionError(
            f"no axis has both groups {contrast[0]!r} and {contrast[1]!r}",
            hint=f"The groups shown are: {', '.join(g for one in axes for g in one.axis.shown)}.",
        )
    settings = {
        "by": named_axes(each_axis(by)), "level": level if isinstance(level, str) else "matrix",
        "permutations": permutations, "bootstrap": bootstrap, "resample": resample, "seed": seed,
        "convention": convention, "within": within, "correction": correction, "ties": ties,
        "min_group_size": min_group_size, "several": overlapping, "question": "all",
    }  # fmt: skip
    binary = {one.axis.name for one in axes if len(one.axis) == 2 and not one.overlapping}

    def symmetric(row: Row) -> bool:
        """Tell whether both groups of a binary axis say the same."""
        return row.kind == "group" and row.axis in binary and STATISTICS[row.statistic].symmetric

    return Cohesion(
        rows=tuple(corrected(rows, correction, symmetric)),
        withheld={one.axis.name: one.n_withheld for one in axes},
        outside={one.axis.name: one.axis.n_outside for one in axes},
        draws=tuple(draws),
        settings=settings,
        pair_rows=tuple(corrected(pair_rows, correction)),
    )
