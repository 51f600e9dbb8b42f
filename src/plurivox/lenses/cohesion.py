"""Cohesion: which groups see things alike, and is it more than chance.

The six statistics, GAI and DSI are those of Prabhakaran et al., *GRASP: A Disagreement Analysis Framework to Assess
Group Associations in Perspectives* (NAACL 2024); percent agreement and Gwet's AC1 and AC2 stand beside alpha.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plurivox.axis import MIN_GROUP_SIZE, Axis, By, memberships
from plurivox.errors import InputError, SelectionError
from plurivox.inference.multiplicity import METHODS, adjust
from plurivox.inference.permutation import CONVENTIONS
from plurivox.lenses.cohesion_result import Cohesion, Row
from plurivox.lenses.cohesion_rows import Analysis, Report
from plurivox.lenses.passes import Running, strata_of
from plurivox.ratings import Ratings
from plurivox.statistics.checks import level_of
from plurivox.statistics.ties import TIES

RESAMPLE = ("items", "raters", "both")


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
    progress: Report | None = None,
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
    axes_by: list[By] = [by] if isinstance(by, str) or _is_crossing(by) else list(by)  # type: ignore[list-item]
    _check_choice("resample", resample, RESAMPLE)
    _check_choice("convention", convention, CONVENTIONS)
    _check_choice("correction", correction, tuple(METHODS))
    _check_choice("ties", ties, TIES)
    known_level = level_of(level, len(ratings.scale))
    overlapping = _overlapping(axes_by, several or {}, pairs=pairs)
    axes = [Axis.of(ratings, one, min_group_size=min_group_size) for one in axes_by]
    if len({axis.name for axis in axes}) < len(axes):
        raise SelectionError("an axis is listed twice", hint="List each attribute or crossing once.")
    if permutations < 0 or bootstrap < 0:
        raise InputError("permutations and bootstrap count draws", hint="Give 0 or more.")
    if not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed}", hint="Give a whole number of at least 0.")
    work = Analysis(
        ratings, known_level, permutations, bootstrap, resample, seed, convention, strata_of(ratings, within), ties,
        Running(threads, executor), progress,
    )  # fmt: skip
    rows = work.overall()
    draws: dict[str, dict[str, Any]] = {}
    pair_rows: list[Row] = []
    withheld, outside = {}, {}
    for axis in axes:
        outside[axis.name] = axis.n_outside
        if axis.name in overlapping:
            parts = memberships(ratings, axis.name, overlapping[axis.name], min_group_size=min_group_size)
            axis_rows, draws[axis.name] = work.values(axis.name, parts)
            withheld[axis.name] = sum(part.n_withheld > 0 for part in parts)
        else:
            axis_rows, draws[axis.name] = work.axis(axis)
            withheld[axis.name] = axis.n_withheld
            if contrast is not None and set(contrast) <= set(axis.groups):
                axis_rows += work.contrast(axis, contrast)
            if pairs:
                pair_rows += work.pairs(axis)
        rows += axis_rows
    if contrast is not None and not any(row.kind == "contrast" for row in rows):
        raise SelectionError(
            f"no axis has both groups {contrast[0]!r} and {contrast[1]!r}",
            hint=f"The groups shown are: {', '.join(g for axis in axes for g in axis.shown)}.",
        )
    settings = {
        "by": [list(axis.attributes) for axis in axes], "level": level if isinstance(level, str) else "matrix",
        "permutations": permutations, "bootstrap": bootstrap, "resample": resample, "seed": seed,
        "convention": convention, "within": within, "correction": correction, "ties": ties,
        "min_group_size": min_group_size, "several": overlapping, "question": "all",
    }  # fmt: skip
    binary = {axis.name for axis in axes if len(axis) == 2 and axis.name not in overlapping}
    return Cohesion(
        rows=tuple(_corrected(rows, binary, correction)),
        pair_rows=tuple(_corrected(pair_rows, binary, correction)),
        withheld=withheld,
        outside=outside,
        draws=draws,
        settings=settings,
    )


def _overlapping(by: Sequence[By], several: Mapping[str, str], *, pairs: bool) -> dict[str, str]:
    """Return the attributes of ``by`` with several values per rater; refuse what their groups cannot give."""
    found = {}
    for one in by:
        attributes = (one,) if isinstance(one, str) else tuple(one)
        overlap = [attribute for attribute in attributes if attribute in several]
        if overlap and (len(attributes) > 1 or pairs):
            what = "crossed with others" if len(attributes) > 1 else "compared in pairs"
            raise InputError(
                f"a rater may have several values of '{overlap[0]}', so its groups overlap and cannot be {what}",
                hint="Analyse it on its own, without pairs.",
            )
        found.update({attribute: several[attribute] for attribute in overlap})
    return found


def _is_crossing(by: object) -> bool:
    """Tell ``("race", "gender")``, one crossing, from ``["race", "gender"]``, two axes."""
    return isinstance(by, tuple) and all(isinstance(part, str) for part in by)


def _check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InputError(f"{name} is {value!r}", hint=f"Choose one of {', '.join(allowed)}.")


def _corrected(rows: Sequence[Row], binary: Container[str], correction: str) -> list[Row]:
    """Correct p-values over each family: one statistic, one kind of hypothesis, all axes of the call."""
    families: dict[tuple[str, str], dict[tuple[str, ...], list[int]]] = {}
    for number, row in enumerate(rows):
        if row.p_value is None:
            continue
        # What the first group of two says of the second, the second says of the first: one hypothesis.
        same = row.kind == "group" and row.axis in binary and row.statistic in ("xrr", "voting_agreement")
        hypothesis = (row.axis,) if same else (row.axis, row.group, row.other)
        families.setdefault((row.kind, row.statistic), {}).setdefault(hypothesis, []).append(number)
    result = list(rows)
    for family in families.values():
        p = np.array([rows[numbers[0]].p_value for numbers in family.values()], dtype=float)
        for numbers, adjusted in zip(family.values(), adjust(p, correction), strict=True):
            for number in numbers:
                result[number] = result[number].with_adjusted(float(adjusted))
    return result
