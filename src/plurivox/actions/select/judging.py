"""What each rater of a group is judged by: trained raters, the others of the same group, or another reference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.actions.select.choosing import Judged
from plurivox.actions.select.result import OWN_GROUP, ordering
from plurivox.actions.select.settings import SelectionSettings
from plurivox.base.wording import counted
from plurivox.domain.axis import OUTSIDE, Axis
from plurivox.domain.ratings import Ratings, ratings_of, without_others
from plurivox.engine.pool import Running
from plurivox.infer.exchange import Exchange
from plurivox.infer.grouping import Compared
from plurivox.infer.result import Row
from plurivox.lenses.responsiveness.peers import FAR, LEAST_SLOPES, against_peers, linked, spread
from plurivox.lenses.responsiveness.references import ReferenceLike
from plurivox.lenses.responsiveness.run import responsiveness

LEAST_SPREAD = 4
"""The fewest raters of a block whose spread can be estimated."""


class Group(NamedTuple):
    """A group that may be shown: its axis and name, the names of its raters, and for each rater of the ratings whether
    they are in it, or among the others on its axis."""  # noqa: D205, D209

    axis: str
    name: str
    raters: list[str]
    members: NDArray[np.bool_]
    rest: NDArray[np.bool_]

    @property
    def key(self) -> tuple[str, str]:
        """Its axis and its name."""
        return self.axis, self.name


def groups_of(ratings: Ratings, axes: Sequence[Compared]) -> list[Group]:
    """Return the groups that may be shown with their raters."""
    alone = Axis.of(ratings, "rater")
    names = [alone.groups[code] for code in alone.codes.tolist()]
    return [
        Group(
            axis.name, axis.groups[g], [names[rater] for rater in np.flatnonzero(axis.codes == g).tolist()],
            axis.codes == g, (axis.codes != g) & (axis.codes != OUTSIDE),
        )
        for one in axes
        for axis, places in one.shown
        for g in places
    ]  # fmt: skip


class Judgement(NamedTuple):
    """The raters of each group as judged there, and what is known about the reference."""

    groups: dict[tuple[str, str], list[Judged]]
    reference: dict[str, Any]


def judge(
    ratings: Ratings, reference: ReferenceLike, groups: Sequence[Group], settings: SelectionSettings, how: Running,
    exchange: Exchange,
) -> Judgement:  # fmt: skip
    """Judge every rater: once for all groups, or in each of their groups by its other raters."""
    adjusted = settings.within is not None
    if reference != OWN_GROUP:
        rows, known = _measured(ratings, reference, settings, how)
        judged = _beside_peers(
            ratings, _judged(rows, {**settings.as_dict(), "reference": known}), exchange, adjusted=adjusted
        )
        return Judgement({one.key: [judged[rater] for rater in one.raters] for one in groups}, known)
    found, known = {}, {}
    for one in groups:
        part = only(ratings, one.members)
        rows, described = _measured(part, "crowd", settings, how)
        known = {
            "kind": OWN_GROUP, "name": "the other raters of their own group", "boundaries": described["boundaries"],
        }  # fmt: skip
        within = replace(exchange, strata=None if exchange.strata is None else exchange.strata[one.members])
        judged = _beside_peers(
            part, _judged(rows, {**settings.as_dict(), "reference": known}), within, adjusted=adjusted
        )
        found[one.key] = [judged[rater] for rater in one.raters]
    return Judgement(found, known)


def only(ratings: Ratings, raters: NDArray[np.bool_]) -> Ratings:
    """Return the ratings of the same items by some raters."""
    return without_others(ratings_of(ratings, raters=raters), raters=raters)


def others_per_item(ratings: Ratings, members: NDArray[np.bool_]) -> float:
    """Return how many others of the group rated the items that its raters rated, on average over their ratings."""
    items = ratings.item_codes[members[ratings.codes_of_raters]]
    n = np.bincount(items, minlength=1)[items]
    return float(n.mean() - 1) if len(n) else 0.0


def _measured(
    ratings: Ratings, reference: ReferenceLike, settings: SelectionSettings, how: Running
) -> tuple[Iterable[Row], dict[str, Any]]:
    """Return the responsiveness of every rater, and what is known about the reference."""
    shared = ("threshold", "bootstrap", "seed", "min_group_size")
    found = responsiveness(
        ratings, reference, "rater", permutations=0, threads=how.threads, executor=how.executor, within=None,
        interval="bootstrap" if settings.bootstrap else "none", progress=how.progress,
        **{name: getattr(settings, name) for name in shared},
    )  # fmt: skip
    return found.rows, found.settings["reference"]


def _judged(rows: Iterable[Row], settings: Mapping[str, Any]) -> dict[str, Judged]:
    """Return every rater with what they are ordered by, and why they are not eligible."""
    by_rater: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.kind == "rater":
            by_rater.setdefault(row.group, {})[row.statistic] = row
    found = {}
    for rater, own in by_rater.items():
        row = own[settings["metric"]]
        bound = row.ci_low if settings["order"] == "lower" and row.ci_low is not None else row.value
        values = (row.value, row.ci_low, row.ci_high, *(own[name].value for name in ("mpa", "wra", "hm")))
        reason = ""
        if row.n_ratings < settings["min_ratings"]:
            few = f"{counted(row.n_ratings, 'rating')} {rated_what(settings)}"
            reason = f"{few}, fewer than {settings['min_ratings']:,}"
        elif math.isnan(bound):
            why = row.note if math.isnan(row.value) else "fewer than two bootstrap draws are defined"
            reason = f"{ordering(settings)} is undefined: {why}"
        found[rater] = Judged(rater, (*values, row.n_ratings), row.n_ratings, bound, reason, row.note, bound)
    return found


def rated_what(settings: Mapping[str, Any]) -> str:
    """Say which ratings count."""
    own = settings["reference"]["kind"] == OWN_GROUP
    return "of items that others of the group rated" if own else "of items that have a reference"


def _beside_peers(
    ratings: Ratings, judged: dict[str, Judged], exchange: Exchange, *, adjusted: bool
) -> dict[str, Judged]:
    """Return raters with their standing relative to raters of the same items, so that harder items do no harm.

    In blocks it is the bound minus the block's median, in units of the block's spread, and bounds are compared only
    within the block. Without blocks, bounds are adjusted for the items, unless all are to be compared with all; raters
    not linked by common items also form blocks.
    """
    alone = Axis.of(ratings, "rater")
    place = {alone.groups[code]: rater for rater, code in enumerate(alone.codes.tolist())}
    strata = exchange.strata
    if exchange.kind == "all" and adjusted:
        eased = _eased(ratings, judged, place, exchange)
        bounds = {name: one.bound + float(eased[place[name]]) for name, one in judged.items()}
        judged = {name: one._replace(bound=bounds[name], standing=bounds[name]) for name, one in judged.items()}
        strata = linked(ratings)
    if strata is None or len(np.unique(strata)) == 1:
        return judged
    own: dict[int, list[float]] = {int(number): [] for number in np.unique(strata)}
    for one in judged.values():
        if not one.reason:
            own[int(strata[place[one.rater]])].append(one.bound)
    widths = {number: spread(np.array(bounds)) for number, bounds in own.items() if len(bounds) >= LEAST_SPREAD}
    usual = float(np.median([width for width in widths.values() if width > 0] or [1.0]))
    found = {}
    for name, one in judged.items():
        block = int(strata[place[name]])
        middle = float(np.median(own[block])) if own[block] else 0.0
        found[name] = one._replace(standing=(one.bound - middle) / (widths.get(block) or usual), block=block)
    return found


def _eased(
    ratings: Ratings, judged: dict[str, Judged], place: Mapping[str, int], exchange: Exchange
) -> NDArray[np.float64]:
    """Return how much harder than usual each rater's items are, in units of the value."""
    values = np.full(ratings.n_raters, np.nan)
    for one in judged.values():
        if not one.reason and one.values[0] is not None:
            values[place[one.rater]] = one.values[0]
    known = np.isfinite(values)
    if np.count_nonzero(known) < LEAST_SLOPES:
        return np.zeros(ratings.n_raters)
    expected = against_peers(values, ratings, exchange, leniency=False, numbers=False).expected
    # Regardless of items, everybody is expected to have the mean of the others; outliers are clipped.
    middle, reach = np.median(values[known]), FAR * spread(values[known])
    drawn_in = np.clip(values, middle - reach, middle + reach)
    usual = (np.nansum(drawn_in) - drawn_in) / (np.count_nonzero(known) - 1)
    return np.asarray(np.nan_to_num(usual - expected))
