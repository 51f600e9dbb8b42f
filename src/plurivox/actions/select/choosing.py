"""Who is chosen from a group: in the order of their standing, from each block of raters in proportion to its size."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from plurivox.base.wording import counted

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
    with_left, with_taken = (f"tied with {counted(len(part), 'other')}" for part in (left, taken))
    notes = {}
    for one in taken:
        notes[one.rater] = f"{with_left}, not chosen; {_decided(clearly=one.n_ratings > most)}"
    for one in left:
        notes[one.rater] = f"{with_taken}, chosen; {_decided(clearly=one.n_ratings < fewest)}"
    return notes


def _decided(*, clearly: bool) -> str:
    return "the number of ratings decided" if clearly else "the seed decided"


def places(
    groups: Mapping[tuple[str, str], Sequence[JudgedRater]], per_group: int, keep: int | None
) -> dict[tuple[str, str], int]:
    """Return how many to choose from each group: the same number, or ``keep`` in proportion to the groups' raters."""
    if keep is None:
        return dict.fromkeys(groups, per_group)
    sizes = [len(own) for own in groups.values()]
    eligible = [sum(not one.reason for one in own) for own in groups.values()]
    return dict(zip(groups, shared_out(keep, sizes, eligible, least=1), strict=True))
