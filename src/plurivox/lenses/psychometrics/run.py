"""Psychometrics: do raters, or groups, measure one and the same severity, and how sharply does each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from plurivox.axis import MIN_GROUP_SIZE, By, memberships
from plurivox.engine.grouping import axes_of, each_axis, named_axes, overlapping_axes, subsets_by
from plurivox.engine.running import Progress
from plurivox.errors import InputError
from plurivox.lenses.calls import check_choice, check_draws
from plurivox.lenses.psychometrics.result import Psychometrics
from plurivox.lenses.psychometrics.scales import LOWER_BOUND, Scaling
from plurivox.lenses.responsiveness.passes import GROUP_SCORES
from plurivox.ratings import Ratings
from plurivox.statistics.ties import TIES


def psychometrics(
    ratings: Ratings,
    by: By | Sequence[By] = "rater",
    *,
    items_by: str | None = None,
    group_score: str = "plurality",
    ties: str = "lowest",
    lower_bound: float = LOWER_BOUND,
    seed: int = 0,
    several: Mapping[str, str] | None = None,
    min_group_size: int = MIN_GROUP_SIZE,
    progress: Progress | None = None,
) -> Psychometrics:
    """Tell whether raters order items alike (Mokken's H), and how sharply each one's scores follow severity (GRM).

    Nobody is held against a reference: what raters have in common is taken for the severity of an item.

    Parameters
    ----------
    ratings
        Who rated what.
    by
        ``"rater"`` for each rater on their own, or rater attributes and crossings of them, whose groups are then the
        raters of the scale.
    items_by
        An item attribute: everything is also computed for the items of each of its values.
    group_score
        What a group's score of an item is: its most frequent point (``"plurality"``), its ``"median"``, or the point
        nearest to its ``"mean"``.
    ties
        Of points that tie the ``"lowest"`` is the group's score, or one at ``"random"`` by seed.
    lower_bound
        The H_j that raters must reach to be put into one scale by Mokken's selection procedure.
    seed
        For ties at random.
    several
        Attributes of which a rater may have several values, and what separates them: ``{"race": ";"}``.
    min_group_size
        Groups with fewer raters are withheld and counted.
    progress
        Called with what is being done, how far it is, and how far it goes.

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
    check_choice("group_score", group_score, GROUP_SCORES)
    check_choice("ties", ties, [one for one in TIES if one != "share"])
    check_draws(0, 0, seed)
    if not 0 <= lower_bound < 1:
        raise InputError(f"lower_bound is {lower_bound!r}", hint="Give a number from 0 to 1, such as 0.3.")
    axes_by = each_axis(by)
    if not axes_by:
        raise InputError("by names no axis", hint="Give 'rater', or attributes of raters.")
    overlapping = overlapping_axes(axes_by, several or {}, pairs=False)
    work = Scaling(ties, group_score, lower_bound, seed, progress)
    axes = axes_of(ratings, axes_by, min_group_size)
    withheld: dict[str, int] = {}
    for subset, part in subsets_by(ratings, items_by).items():
        rated = np.bincount(part.codes_of_raters, minlength=part.n_raters) > 0
        for whole in axes_of(part, axes_by, min_group_size):
            where = whole.name if subset == "all" else f"{whole.name}, {subset}"
            if whole.name in overlapping:
                own = memberships(part, whole.name, overlapping[whole.name], min_group_size=min_group_size)
                own = own if subset == "all" else [one.counting(rated) for one in own]
                withheld[where] = sum(one.n_withheld > 0 for one in own)
                work.add(part, own, subset, overlapping=True)
            else:
                axis = whole if subset == "all" else whole.counting(rated)
                withheld[where] = 0 if axis.attributes == ("rater",) else axis.n_withheld
                work.add(part, [axis], subset)
    settings = {
        "by": named_axes(axes_by), "items_by": items_by,
        "group_score": group_score, "ties": ties, "lower_bound": lower_bound, "seed": seed, "several": overlapping,
        "min_group_size": min_group_size, "points": [str(label) for label in ratings.scale.labels],
        "values": [float(value) for value in ratings.scale.values],
    }  # fmt: skip
    return Psychometrics(
        rows=tuple(work.rows),
        withheld=withheld,
        outside={axis.name: axis.n_outside for axis in axes},
        draws=(),
        settings=settings,
        tables=work.tables(),
    )
