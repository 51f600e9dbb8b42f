"""Who is chosen from a group: in the order of their standing, from each block of raters in proportion to its size."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.actions.select.result import OWN_GROUP, ordering
from plurivox.actions.select.settings import SelectionSettings
from plurivox.base.wording import counted
from plurivox.domain.axis import OUTSIDE, Axis
from plurivox.domain.ratings import Ratings, ratings_of, without_others
from plurivox.engine.pool import Running
from plurivox.infer.exchange import Exchange
from plurivox.infer.grouping import Compared
from plurivox.infer.result import Row
from plurivox.lenses.responsiveness.raters import FAR, LEAST_SLOPES, against_peers, linked, spread
from plurivox.lenses.responsiveness.references import ReferenceLike
from plurivox.lenses.responsiveness.run import responsiveness

SAME = 1e-12
"""Bounds no further apart than this are tied."""


class JudgedRater(NamedTuple):
    """A rater with their values, and why they are not eligible, if so.

    ``bound`` is what raters are ordered by; ``standing`` is the same relative to raters of the same items, used to
    order raters of different items; ``block`` is the raters who saw the same items.
    """

    rater: str
    values: tuple[float | None, ...]
    n_ratings: int
    bound: float
    reason: str
    note: str
    standing: float = math.nan
    block: int = 0


class Ranked(NamedTuple):
    """The eligible raters of a group in the order of choice, those tied for the last place, and why."""

    chosen: list[JudgedRater]
    others: list[JudgedRater]
    tied: frozenset[str]
    notes: dict[str, str]


def shared_out(n: int, sizes: Sequence[float], most: Sequence[int], least: int = 0) -> list[int]:
    """Divide n places in proportion to sizes, by largest remainders: at least ``least`` each, and at most as given.

    If n is too small for that, the largest come first.

    Examples
    --------
    >>> shared_out(5, [60, 30, 10], [9, 9, 9]), shared_out(5, [90, 9, 1], [9, 9, 9], least=1)
    ([3, 2, 0], [3, 1, 1])
    """
    places = [0] * len(sizes)
    for at in sorted(range(len(sizes)), key=lambda one: -sizes[one]):
        if most[at] and sizes[at] and sum(places) + least <= n:
            places[at] = min(least, most[at])
    while sum(places) < n:
        open_ones = [at for at in range(len(sizes)) if places[at] < most[at] and sizes[at] > 0]
        if not open_ones:
            break
        total = sum(sizes)
        # Next is whoever is furthest below their exact share; ties go to the first.
        places[max(open_ones, key=lambda at: (round(n * sizes[at] / total - places[at], 9), -at))] += 1
    return places


def chosen_of(eligible: Iterable[JudgedRater], n: int, seed: int) -> Ranked:
    """Choose n raters: from each block in proportion to its eligible raters, and there by their bounds."""
    blocks: dict[int, list[JudgedRater]] = {}
    for one in eligible:
        blocks.setdefault(one.block, []).append(one)
    parts = [_ordered(own, seed) for own in blocks.values()]
    # The seed decides between blocks with the same remainder: comparing their best would favour skewed blocks.
    parts.sort(key=lambda own: _drawn(seed, own[0].rater))
    sizes = [len(own) for own in parts]
    found = [_ranked(own, places, seed) for own, places in zip(parts, shared_out(n, sizes, sizes), strict=True)]
    if len(found) == 1:
        return found[0]
    chosen = [one for part in found for one in part.chosen]
    others = [one for part in found for one in part.others]
    notes = {rater: note for part in found for rater, note in part.notes.items()}
    tied = frozenset(rater for part in found for rater in part.tied)
    return Ranked(sorted(chosen, key=_standing), sorted(others, key=_standing), tied, notes)


def _standing(one: JudgedRater) -> tuple[float, int, str]:
    return -round(one.standing, 12), -one.n_ratings, one.rater


def _levels(falling: Sequence[JudgedRater]) -> dict[str, int]:
    bounds = np.array([one.bound for one in falling])
    levels = np.append(0, np.cumsum(bounds[:-1] - bounds[1:] > SAME)).tolist()
    return {one.rater: at for one, at in zip(falling, levels, strict=False)}


def _ordered(own: Iterable[JudgedRater], seed: int) -> list[JudgedRater]:
    """Put raters in order: by bound; if bounds are equal, more ratings first, then by seed and name."""
    falling = sorted(own, key=lambda one: -one.bound)
    level = _levels(falling)
    return sorted(falling, key=lambda one: (level[one.rater], -one.n_ratings, _drawn(seed, one.rater)))


def _ranked(own: Iterable[JudgedRater], n: int, seed: int) -> Ranked:
    """Choose the first n, and say who is tied for the last place."""
    ordered = _ordered(own, seed)
    chosen, others = ordered[:n], ordered[n:]
    if not chosen:
        return Ranked(chosen, others, frozenset(), {})
    level = _levels(ordered)
    same = [one.rater for one in ordered if level[one.rater] == level[chosen[-1].rater]]
    tied = frozenset(same if len(same) > 1 else ())
    return Ranked(chosen, others, tied, _tie_notes(chosen, others, tied))


def _drawn(seed: int, rater: str) -> bytes:
    """Return a key that puts raters into a random-looking order that depends only on the seed and their names."""
    return hashlib.blake2b(f"{seed}:{rater}".encode(), digest_size=8).digest() + rater.encode()


def _tie_notes(chosen: list[JudgedRater], others: list[JudgedRater], tied: frozenset[str]) -> dict[str, str]:
    """Say for each rater tied for the last place how many others are tied, and what decided."""
    taken = [one for one in chosen if one.rater in tied]
    left = [one for one in others if one.rater in tied]
    if not left:
        return {one.rater: f"tied with {counted(len(taken) - 1, 'other')}, also chosen" for one in taken}
    most, fewest = left[0].n_ratings, taken[-1].n_ratings
    notes = {}
    for one in (*taken, *left):
        others, end = (left, "not chosen") if one in taken else (taken, "chosen")
        clearly = one.n_ratings > most if one in taken else one.n_ratings < fewest
        decided = "the number of ratings decided" if clearly else "the seed decided"
        notes[one.rater] = f"tied with {counted(len(others), 'other')}, {end}; {decided}"
    return notes


def places(
    groups: Mapping[tuple[str, str], Sequence[JudgedRater]], per_group: int, keep: int | None
) -> dict[tuple[str, str], int]:
    """Return how many to choose from each group: the same number, or ``keep`` in proportion to the groups' raters."""
    if keep is None:
        return dict.fromkeys(groups, per_group)
    sizes = [len(own) for own in groups.values()]
    eligible = [sum(not one.reason for one in own) for own in groups.values()]
    return dict(zip(groups, shared_out(keep, sizes, eligible, least=1), strict=True))


# What each rater of a group is judged by -----------------------------------------------------------------------------
# What each rater of a group is judged by: trained raters, the others of the same group, or another reference.

LEAST_SPREAD = 4
"""The fewest raters of a block whose spread can be estimated."""


class CandidateGroup(NamedTuple):
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


def names_of(ratings: Ratings) -> list[str]:
    """Return the name of each rater."""
    alone = Axis.of(ratings, "rater")
    return [alone.groups[code] for code in alone.codes.tolist()]


def groups_of(ratings: Ratings, axes: Sequence[Compared]) -> list[CandidateGroup]:
    """Return the groups that may be shown with their raters."""
    names = names_of(ratings)
    return [
        CandidateGroup(
            axis.name, axis.groups[g], [names[rater] for rater in np.flatnonzero(axis.codes == g).tolist()],
            axis.codes == g, (axis.codes != g) & (axis.codes != OUTSIDE),
        )
        for one in axes
        for axis, places in one.shown
        for g in places
    ]  # fmt: skip


def judge(
    ratings: Ratings, reference: ReferenceLike, groups: Sequence[CandidateGroup], settings: SelectionSettings,
    how: Running, exchange: Exchange,
) -> tuple[dict[tuple[str, str], list[JudgedRater]], dict[str, Any]]:  # fmt: skip
    """Judge every rater, once or in each of their groups by its other raters; also say what the reference is."""
    shared = ("threshold", "bootstrap", "seed", "min_group_size")

    def judged(
        part: Ratings, against: ReferenceLike, exchange: Exchange
    ) -> tuple[dict[str, JudgedRater], dict[str, Any]]:
        """Return every rater of some ratings as judged there, and what is known about the reference."""
        found = responsiveness(
            part, against, "rater", permutations=0, threads=how.threads, executor=how.executor, within=None,
            interval="bootstrap" if settings.bootstrap else "none", progress=how.progress,
            **{name: getattr(settings, name) for name in shared},
        )  # fmt: skip
        known = found.settings["reference"]
        if reference == OWN_GROUP:
            name = "the other raters of their own group"
            known = {"kind": OWN_GROUP, "name": name, "boundaries": known["boundaries"]}
        raters = _judged(found.rows, {**settings.as_dict(), "reference": known})
        return _beside_peers(part, raters, exchange, adjusted=settings.within is not None), known

    if reference != OWN_GROUP:
        every, known = judged(ratings, reference, exchange)
        return {one.key: [every[rater] for rater in one.raters] for one in groups}, known
    found, known = {}, {}
    for one in groups:
        part = without_others(ratings_of(ratings, raters=one.members), raters=one.members)
        within = replace(exchange, strata=None if exchange.strata is None else exchange.strata[one.members])
        own, known = judged(part, "crowd", within)
        found[one.key] = [own[rater] for rater in one.raters]
    return found, known


def others_per_item(ratings: Ratings, members: NDArray[np.bool_]) -> float:
    """Return how many others of the group rated the items that its raters rated, on average over their ratings."""
    items = ratings.item_codes[members[ratings.codes_of_raters]]
    n = np.bincount(items, minlength=1)[items]
    return float(n.mean() - 1) if len(n) else 0.0


def _judged(rows: Iterable[Row], settings: Mapping[str, Any]) -> dict[str, JudgedRater]:
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
        found[rater] = JudgedRater(rater, (*values, row.n_ratings), row.n_ratings, bound, reason, row.note, bound)
    return found


def rated_what(settings: Mapping[str, Any]) -> str:
    """Say which ratings count."""
    own = settings["reference"]["kind"] == OWN_GROUP
    return "of items that others of the group rated" if own else "of items that have a reference"


def _beside_peers(
    ratings: Ratings, judged: dict[str, JudgedRater], exchange: Exchange, *, adjusted: bool
) -> dict[str, JudgedRater]:
    """Return raters with their standing relative to raters of the same items, so that harder items do no harm.

    In blocks it is the bound minus the block's median, in units of the block's spread, and bounds are compared only
    within the block. Without blocks, bounds are adjusted for the items, unless all are to be compared with all; raters
    not linked by common items also form blocks.
    """
    place = {name: rater for rater, name in enumerate(names_of(ratings))}
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
    ratings: Ratings, judged: dict[str, JudgedRater], place: Mapping[str, int], exchange: Exchange
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
