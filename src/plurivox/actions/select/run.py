"""Selection: the most responsive raters of every group, for tasks in which every group should have a voice."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.actions.select.choosing import (
    CandidateGroup,
    JudgedRater,
    Ranked,
    chosen_of,
    groups_of,
    judge,
    names_of,
    others_per_item,
    places,
    rated_what,
)
from plurivox.actions.select.look import alarm_rows, listed_rows, not_looked_for, read_log, signs_of
from plurivox.actions.select.result import NOISE, OWN_GROUP, SCHEMAS, VALUES, Selection, ordering
from plurivox.actions.select.settings import SelectionSettings
from plurivox.base.arguments import Frame
from plurivox.base.errors import InputError, SelectionError, SharedRatersWarning
from plurivox.base.wording import counted, why_withheld
from plurivox.domain.axis import rater_name
from plurivox.domain.ratings import Ratings
from plurivox.engine.pool import Running
from plurivox.infer.call import Call
from plurivox.infer.lens import keywords
from plurivox.infer.result import Table
from plurivox.lenses.responsiveness.raters import Floats, leniencies
from plurivox.lenses.responsiveness.references import Reference, ReferenceLike, resolve


@keywords(SelectionSettings)
def select_raters(
    ratings: Ratings,
    reference: ReferenceLike = OWN_GROUP,
    *,
    log: Frame | None = None,
    settings: SelectionSettings,
    how: Running,
) -> Selection:
    """Choose the most responsive raters of every group.

    Every rater is compared with the reference individually, as :func:`plurivox.responsiveness` does with
    ``by="rater"``; then the first few of each group are chosen, in proportion from each block of raters who saw the
    same items. Every group large enough to show appears in the result, even if nobody in it is eligible. The chosen
    raters are named, since that is the purpose.

    Without trained raters, a rater is compared with the other raters of the same group. Compared with the crowd, the
    members of a minority who least share its view would come first; ``table("fairness")`` shows how much of its view a
    group keeps.

    Ordered by the lower end of their 95 % intervals, raters with few ratings come later, so that luck does not win.
    That pays if groups are large and raters similar. If raters differ widely, or groups are small, it can miss good
    raters with few ratings, and ``order="value"`` finds as many of the best or more.

    Parameters
    ----------
    ratings
        Who rated what. Higher points mean more severe.
    reference
        What the scores are compared with: ``"own group"``, or as in :func:`plurivox.responsiveness` other Ratings, such
        as those of trained raters, ``"crowd"``, or a group. Nobody is ever compared with themselves.
    log
        What is known about single ratings, to look for straight lines and haste: a frame with ``item``, ``rater``, and
        ``time`` (when a rating was given), ``seconds`` (how long it took), or both. Without ``time``, its rows are
        assumed to be in the order of answering.

    Returns
    -------
    Selection
        With ``to_frame()``, ``table("groups")``, ``table("candidates")``, ``table("fairness")``, ``table("look_at")``,
        ``table("alarms")``, ``findings()`` and ``to_json()``.

    Raises
    ------
    SelectionError
        If no group has an eligible rater.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=100, n_raters=30, seed=1)
    >>> found = pv.select_raters(study.ratings, study.trained, by="age", per_group=2, bootstrap=99)
    >>> found
    <Selection: 4 raters of 2 groups by HM>
    >>> found.to_frame()["rater"].to_list()[:2]
    ['rater-016', 'rater-013']
    """
    call = Call.of(ratings, settings, how)
    groups = groups_of(ratings, call.axes)
    kept = call.kept()
    asked = {**kept.pop("settings"), **kept}
    if not groups:
        raise _nobody_shown(asked)
    if settings.keep is not None and call.overlapping:
        raise InputError(
            "keep makes one panel, in which raters of several groups would count twice",
            hint="Give per_group, or an attribute of which each rater has one value.",
        )
    known_log = read_log(ratings, log)
    exchange = call.inference.exchange
    asked["compared"] = exchange.as_dict()
    judged, asked["reference"] = judge(ratings, reference, groups, settings, how, exchange)
    wanted = places(judged, settings.per_group, settings.keep)
    ranked = {
        key: chosen_of([one for one in own if not one.reason], wanted[key], settings.seed)
        for key, own in judged.items()
    }  # fmt: skip
    others = {one.key: others_per_item(ratings, one.members) for one in groups}
    rows = _rows(judged, ranked, wanted, others, asked)
    if not any(found.chosen for found in ranked.values()):
        raise _nobody_eligible(pl.DataFrame(rows["candidates"], SCHEMAS["candidates"], orient="row"), asked)
    signs = signs_of(ratings, exchange, _trained(ratings, reference, settings), known_log, settings.seed)
    given = {
        "order": known_log.order is not None, "seconds": known_log.seconds is not None,
        "gold": asked["reference"]["kind"] == "ratings" and len(asked["reference"]["boundaries"]) == 1,
    }  # fmt: skip
    asked["looked_for"] = [one.kind for one in signs]
    asked["not_looked_for"] = not_looked_for(signs, given)
    may = np.logical_or.reduce([one.members for one in groups])
    names, chosen = names_of(ratings), {one.rater for found in ranked.values() for one in found.chosen}
    rows |= {
        "fairness": fairness_rows(ratings, groups, judged, ranked, settings.min_group_size),
        "look_at": listed_rows(signs, names, may), "alarms": alarm_rows(signs, groups),
        "raters": [(name, rater_name(code)) for code, name in enumerate(names) if name in chosen],
    }  # fmt: skip
    frames = {name: pl.DataFrame(own, SCHEMAS[name], orient="row") for name, own in rows.items()}
    return Selection(tuple(Table(name, frame) for name, frame in frames.items()), asked)


def _trained(ratings: Ratings, reference: ReferenceLike, settings: SelectionSettings) -> Reference | None:
    """Return the ratings of trained raters, if there are any."""
    if not isinstance(reference, Ratings):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SharedRatersWarning)  # was reported already
        return resolve(ratings, reference, threshold=settings.threshold)


def _rows(
    judged: Mapping[tuple[str, str], Sequence[JudgedRater]], ranked: Mapping[tuple[str, str], Ranked],
    wanted: Mapping[tuple[str, str], int], others: Mapping[tuple[str, str], float], settings: Mapping[str, Any],
) -> dict[str, list[tuple[Any, ...]]]:  # fmt: skip
    """Return the rows of the three tables of the selection itself."""
    chosen: list[tuple[Any, ...]] = []
    counts: list[tuple[Any, ...]] = []
    candidates: list[tuple[Any, ...]] = []
    for (axis, name), own in judged.items():
        found = ranked[axis, name]
        excluded = sorted((one for one in own if one.reason), key=lambda one: one.rater)
        n_few = sum(one.n_ratings < settings["min_ratings"] for one in excluded)
        n_chosen, n_eligible = len(found.chosen), len(own) - len(excluded)
        why = _why_short(n_eligible, n_few, len(excluded) - n_few, wanted[axis, name], settings)
        counts.append((
            axis, name, len(own), n_eligible, n_few, len(excluded) - n_few, wanted[axis, name], n_chosen,
            others[axis, name], why,
        ))  # fmt: skip
        for rank, one in enumerate([*found.chosen, *found.others], start=1):
            cells = (axis, name, rank, one.rater, *one.values)
            tied, note = one.rater in found.tied, "; ".join(filter(None, (found.notes.get(one.rater), one.note)))
            candidates.append((*cells, True, rank <= n_chosen, tied, note))
            if rank <= n_chosen:
                chosen.append((*cells, tied, note))
        if not n_chosen:
            chosen.append((axis, name, *[None] * (2 + len(VALUES)), False, why))
        candidates += [(axis, name, None, one.rater, *one.values, False, False, False, one.reason) for one in excluded]
    return {"chosen": chosen, "groups": counts, "candidates": candidates}


def _why_short(n_eligible: int, n_few: int, n_undefined: int, wanted: int, settings: Mapping[str, Any]) -> str:
    """Say why a group has fewer eligible raters than requested; empty if it has enough."""
    if n_eligible >= max(wanted, 1):
        return "" if wanted else f"{n_eligible:,} eligible, but none of the {settings['keep']:,} places is left for it"
    reasons = []
    if n_few:
        have = "has" if n_few == 1 else "have"
        reasons.append(
            f"{counted(n_few, 'rater')} {have} fewer than {settings['min_ratings']:,} ratings {rated_what(settings)}"
        )
    if n_undefined:
        what = ordering(settings)
        reasons.append(f"{counted(n_undefined, 'rater')} {'has' if n_undefined == 1 else 'have'} no defined {what}")
    because = " and ".join(reasons) or "it has no more raters"
    return f"{n_eligible:,} eligible, {because}" if n_eligible else because


def _nobody_shown(settings: Mapping[str, Any]) -> SelectionError:
    n_withheld = sum(settings["withheld"].values())
    if not n_withheld:
        return SelectionError("no rater has a value on any axis of by", hint="Give the table of raters.")
    groups = "the only group is" if n_withheld == 1 else f"all {n_withheld:,} groups are"
    why = why_withheld(n_withheld, sum(settings["revealing"].values()), settings["min_group_size"])
    return SelectionError(
        f"there is nobody to choose from, since {groups} withheld{why}",
        hint="Cross fewer attributes, or lower min_group_size if these raters may be identified.",
    )


def _nobody_eligible(candidates: pl.DataFrame, settings: Mapping[str, Any]) -> SelectionError:
    own = candidates.unique("rater")
    n_few = own.filter(pl.col("n_ratings") < settings["min_ratings"]).height
    why = _why_short(0, n_few, own.height - n_few, 1, settings)
    hint = f"Lower min_ratings, or collect more ratings {rated_what(settings)}."
    if n_few < own.height:
        hint = "See pv.responsiveness(…, by='rater') for the values of raters and why they are undefined."
    return SelectionError(f"no group has an eligible rater: {why}", hint=hint)


# What a group's view loses --------------------------------------------------------------------------------------------
# How much of a group's own view its chosen raters keep. The deviation of a group is how far its mean score of an item
# is from what the other raters' mean predicts. A rater's leniency is removed, and so is a wider or narrower use of the
# scale, since neither is a view of single items: a group with some members who always give the same score would
# otherwise seem to deviate on every item. The share kept is the slope of the chosen raters' deviation on that of the
# rest of their group. With S the chosen, U the group without them, R the others, x̄ means of an item, and covariances
# over items::
#
#     d_U = x̄_U − b_U x̄_R,  b_U = Cov(x̄_U, x̄_R) / Var(x̄_R),  d_S alike;  kept = Cov(d_S, d_U) / Var(d_U)
#
# The variances of x̄_U and x̄_R are reduced by the mean of s²/n, the sampling error of their means, so that noise counts
# neither as deviation nor, through R, as something that both share. A random choice gives 1 on average.

LEAST_ITEMS = 10
"""Items that chosen, group and others must share."""
PARTS = 20
"""Parts of the items that are left out in turn."""
SURE = 3.0
"""A deviation is distinguished from none if its variance is this many standard errors above 0."""


class ShareKept(NamedTuple):
    """The share kept with its 95 % interval over items; NaN with the reason if it cannot be measured."""

    share: float
    low: float
    high: float
    n_items: int
    note: str


def centred(ratings: Ratings) -> Floats:
    """Return the scores as values of the scale, without each rater's leniency."""
    values = np.asarray(ratings.scale.values, float)[ratings.scores]
    return np.asarray(values - np.nan_to_num(leniencies(ratings, values))[ratings.codes_of_raters], np.float64)


def kept(
    ratings: Ratings, scores: Floats, members: NDArray[np.bool_], rest: NDArray[np.bool_], chosen: NDArray[np.bool_]
) -> ShareKept:
    """Return the share of its deviation that a group keeps in its chosen raters.

    Parameters
    ----------
    scores
        Of each rating, from :func:`centred`.
    members, rest, chosen
        For each rater, whether they are in the group, among the others on the axis, and chosen.
    """
    nothing = ShareKept(math.nan, math.nan, math.nan, 0, "")
    if not chosen.any():
        return nothing
    if not (members & ~chosen).any():
        return nothing._replace(note="all its raters are chosen")
    s, u, r = (_means(ratings, scores, who) for who in (chosen, members & ~chosen, rest))
    shared = (s[0] >= 1) & (u[0] >= 2) & (r[0] >= 2)
    n_items = int(np.count_nonzero(shared))
    if n_items < LEAST_ITEMS:
        return nothing._replace(n_items=n_items, note="chosen, group and others share too few items")
    s, u, r = (one[:, shared] for one in (s, u, r))
    whole = _parts(s, u, r, np.ones(n_items, bool))
    of = np.arange(n_items) % PARTS
    without = np.array([_parts(s, u, r, of != part) for part in range(min(PARTS, n_items))])
    error = _jackknife_error(without[:, 1])
    if not whole[1] > SURE * error:
        return nothing._replace(n_items=n_items, note=NOISE)
    share = whole[0] / whole[1]
    reach = 2.09 * _jackknife_error(without[:, 0] / without[:, 1])  # t, 19 degrees of freedom
    return ShareKept(share, share - reach, share + reach, n_items, "")


def _means(ratings: Ratings, scores: Floats, who: NDArray[np.bool_]) -> Floats:
    """Return for each item how many scores some raters gave, their mean, and its squared error (0 if unknown)."""
    own = who[ratings.codes_of_raters]
    items, x = ratings.item_codes[own], scores[own]
    n, total, squares = (
        np.bincount(items, weights, minlength=ratings.n_items).astype(np.float64)
        for weights in (np.ones(len(x)), x, x**2)
    )
    mean = total / np.maximum(n, 1)
    variance = (squares - n * mean**2) / np.maximum(n - 1, 1)
    return np.stack([n, mean, np.where(n > 1, np.maximum(variance, 0.0) / np.maximum(n, 1), 0.0)])


def _parts(s: Floats, u: Floats, r: Floats, use: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the covariance of the chosen's deviation with the group's, and the variance of the group's."""
    x, y, z = (mean[use] - mean[use].mean() for _, mean, _ in (s, u, r))
    n = len(x) - 1
    others = float(z @ z / n - r[2, use].mean())
    if others <= 0:
        return math.nan, math.nan
    like_others = float(y @ z) / n / others
    covariance = float(x @ y - like_others * (x @ z)) / n
    variance = float(y @ y - like_others * (y @ z)) / n - float(u[2, use].mean())
    return covariance, variance


def _jackknife_error(without: Floats) -> float:
    n = len(without)
    return float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))


# Who is chosen, group by group ---------------------------------------------------------------------------------------
# Shares, rates, how much of their group's view the chosen keep, and harder batches.


def fairness_rows(
    ratings: Ratings, groups: Sequence[CandidateGroup], judged: Mapping[tuple[str, str], Sequence[JudgedRater]],
    ranked: Mapping[tuple[str, str], Ranked], least: int,
) -> list[tuple[Any, ...]]:  # fmt: skip
    """Return a row for each group; shares are of all raters in groups of the axis that are shown.

    The mean score of the chosen is told only if they, and those of the group who are not, are none or ``least``.
    """
    scores = centred(ratings)
    numbers = np.asarray(ratings.scale.values, float)[ratings.scores]
    rows = []
    for one in groups:
        beside = [other for other in groups if other.axis == one.axis]
        counts = np.array([  # raters of a group, eligible ones, and chosen ones
            (len(raters := judged[other.key]), sum(not each.reason for each in raters), len(ranked[other.key].chosen))
            for other in beside
        ], float)  # fmt: skip
        own = counts[beside.index(one)]
        totals = counts.sum(axis=0)
        shares = [_ratio(own[at], totals[at]) for at in range(3)]
        low, high = _share_interval(int(own[1]), int(own[0]))
        usual = _ratio(totals[1], totals[0])
        chosen, wanted = np.zeros(len(one.members), bool), {each.rater for each in ranked[one.key].chosen}
        places = np.flatnonzero(one.members).tolist()
        chosen[[at for at, name in zip(places, one.raters, strict=True) if name in wanted]] = True
        keeps = kept(ratings, scores, one.members, one.rest, chosen)
        few = any(0 < np.count_nonzero(who) < least for who in (chosen, one.members & ~chosen))
        means = [_mean(ratings, numbers, one.members), None if few else _mean(ratings, numbers, chosen)]
        hard = _hard(judged[one.key], ranked[one.key].chosen)
        rows.append((
            one.axis, one.name, *(int(n) for n in own), *shares, _ratio(own[2], own[0]),
            _ratio(_ratio(own[2], own[0]), _ratio(totals[2], totals[0])), _ratio(_ratio(own[1], own[0]), usual),
            _ratio(low, usual), _ratio(high, usual), keeps.share, keeps.low, keeps.high, keeps.n_items, *means, *hard,
            keeps.note,
        ))  # fmt: skip
    return rows


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _share_interval(k: int, n: int) -> tuple[float, float]:
    """Return Clopper and Pearson's 95 % interval for a share."""
    from scipy.stats import beta

    low = float(beta.ppf(0.025, k, n - k + 1)) if k else 0.0
    return low, float(beta.ppf(0.975, k + 1, n - k)) if k < n else 1.0


def _mean(ratings: Ratings, numbers: Any, who: Any) -> float:
    """Return the mean over raters of their own mean score."""
    raters = ratings.codes_of_raters
    n = np.bincount(raters, minlength=ratings.n_raters)
    means = np.bincount(raters, numbers, minlength=ratings.n_raters)[who & (n > 0)] / n[who & (n > 0)]
    return float(means.mean()) if len(means) else math.nan


def _hard(own: Sequence[JudgedRater], chosen: Sequence[JudgedRater]) -> tuple[float | None, float | None]:
    """Return the share of eligible raters, and of the chosen, whose batch is a harder one.

    A batch is harder if its median value is below the median of the group's eligible raters.
    """
    values: dict[int, list[float]] = {}
    for one in own:
        if not one.reason and one.values[0] is not None:
            values.setdefault(one.block, []).append(one.values[0])
    if len(values) < 2 or not chosen:
        return None, None
    middle = float(np.median([value for block in values.values() for value in block]))
    hard = {block for block, own_values in values.items() if float(np.median(own_values)) < middle}
    eligible = [one.block in hard for one in own if not one.reason]
    return float(np.mean(eligible)), float(np.mean([one.block in hard for one in chosen]))
