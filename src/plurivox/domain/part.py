"""Ratings as plain arrays: cut into parts, put in order, and what was rated again.

Parts are runs of whole items, the unit in which ratings are stored, shipped and added up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import InputError
from plurivox.domain.choices import Duplicates

SIZE = 1 << 20
"""How many ratings a part has: it ends with the first item past every multiple of this."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Part:
    """The ratings of some items, one after the other.

    Attributes
    ----------
    first
        The code of its first item among all items.
    offsets
        The ratings of its item ``i`` are entries ``offsets[i]`` to ``offsets[i + 1]``.
    raters, scores
        For each rating, the code of its rater and the position on the scale; no raters in a table of totals.
    multiplicity
        How many ratings an entry stands for, in a table of totals; otherwise empty, which means 1.
    """

    first: int
    offsets: NDArray[np.int64]
    raters: NDArray[np.int32]
    scores: NDArray[Any]
    multiplicity: NDArray[np.int64]

    def __post_init__(self) -> None:
        # Kernels are compiled for read-only arrays, wherever these come from.
        for array in (self.offsets, self.raters, self.scores, self.multiplicity):
            array.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        return Part, (self.first, self.offsets, self.raters, self.scores, self.multiplicity)

    @property
    def n_items(self) -> int:
        """How many items it has."""
        return len(self.offsets) - 1

    @property
    def items(self) -> slice:
        """Where its items are among all items."""
        return slice(self.first, self.first + self.n_items)

    def some(self, items: slice) -> Part:
        """Return some of its items, counted from its first, as a part."""
        if items == slice(0, self.n_items):
            return self
        start, stop = int(self.offsets[items.start]), int(self.offsets[items.stop])
        given: list[Any] = [array[start:stop] for array in (self.raters, self.scores, self.multiplicity)]
        return Part(self.first + items.start, self.offsets[items.start : items.stop + 1] - start, *given)

    def item_of_each(self) -> NDArray[np.int64]:
        """Return for each rating the number of its item within the part."""
        return np.repeat(np.arange(self.n_items), np.diff(self.offsets))


def cut(
    offsets: NDArray[np.int64],
    raters: NDArray[np.int32] | None,
    scores: NDArray[Any],
    multiplicity: NDArray[np.int64] | None,
    size: int = SIZE,
) -> tuple[Part, ...]:
    """Cut ratings that are sorted by item into parts; the cuts depend on the data alone.

    Examples
    --------
    >>> parts = cut(np.array([0, 2, 4, 5]), np.zeros(5, np.int32), np.zeros(5, np.uint8), None, size=3)
    >>> [(part.first, part.n_items) for part in parts]
    [(0, 2), (2, 1)]
    """
    found = []
    for first, last in runs(offsets, size):
        start, stop = int(offsets[first]), int(offsets[last])
        found.append(Part(
            first, offsets if last - first == len(offsets) - 1 else offsets[first : last + 1] - start,
            np.zeros(0, np.int32) if raters is None else raters[start:stop], scores[start:stop],
            np.zeros(0, np.int64) if multiplicity is None else multiplicity[start:stop],
        ))  # fmt: skip
    return tuple(found)


def runs(offsets: NDArray[np.int64], size: int = SIZE) -> Iterator[tuple[int, int]]:
    """Yield the first item of each part and the one after its last; one empty part if there are no items."""
    n_items, first = len(offsets) - 1, 0
    if n_items == 0:
        yield 0, 0
    while first < n_items:
        last = min(int(np.searchsorted(offsets, offsets[first] + size, side="left")), n_items)
        last = max(last, first + 1)
        if last < n_items and offsets[last] == offsets[n_items]:
            last = n_items  # items without ratings make no part of their own
        yield first, last
        first = last


# Order ----------------------------------------------------------------------------------------------------------------
#
# Ratings in order: sorted by item and rater, with repeats found and settled.
#
# Item, rater and score of a rating are packed into one 64-bit word, item above rater above score. Sorting the words
# sorts the table, and two ratings of one item by one rater become neighbours that differ only in the lowest bits.


Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class RatingRows:
    """One row per rating: codes of item and rater, position of the score.

    Totals have no rater; their count says how many ratings an entry stands for. Times are NaN where unknown.
    """

    item: NDArray[Any]
    rater: Any
    score: NDArray[Any]
    count: NDArray[np.int64] | None = None
    time: NDArray[np.float64] | None = None

    def __getitem__(self, rows: NDArray[Any]) -> RatingRows:
        """Return some of the rows."""
        columns = (self.item, self.rater, self.score, self.count, self.time)
        return RatingRows(*(None if one is None else one[rows] for one in columns))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Which (item, rater) pairs were rated more than once.

    ``tied`` is how many had no single most frequent score; ``later`` holds all ratings except the first of each pair,
    if they are kept.
    """

    item: NDArray[np.int64]
    rater: NDArray[np.int64]
    tied: int = 0
    later: RatingRows | None = None

    def __len__(self) -> int:
        return len(self.item)


def pair_bits(n_raters: int, n_points: int, n_items: int = 1) -> tuple[int, int]:
    """Return how many bits of a word rater and score take; raise an error if too few are left for the items."""
    bits = ((n_raters - 1).bit_length(), (n_points - 1).bit_length())
    if (n_items - 1).bit_length() + sum(bits) > 64:
        raise InputError(f"{n_items:,} items × {n_raters:,} raters × {n_points:,} points are too many to index")
    return bits


def settled(
    words: Words, bits: tuple[int, int], rule: Duplicates, times: NDArray[np.float64] | None = None
) -> tuple[RatingRows, Repeats]:
    """Order ratings that are packed into words, in place if the rule allows, by item and rater; deal with repeats.

    It keeps the repeats that the rule names, or all of them under ``"error"``. First and last go by time, then by the
    order of rows; ratings without a time come after those with one.
    """
    if rule in ("first", "last", "keep") or times is not None:
        order = np.argsort(words >> np.uint64(bits[1]), kind="stable")
        words = words[order]
        times = None if times is None else _by_time(words, times[order], bits[1])
    else:
        words.sort()
    again = _same_pair(words, bits[1])
    pairs = np.unique(words[1:][again] >> np.uint64(bits[1]))
    tied, later = 0, None
    if len(pairs) and rule != "error":
        kept, tied = _one_of_each(words, again, rule, bits[1])
        if rule == "keep":
            rest = np.flatnonzero(again) + 1
            later = unpacked_words(words[rest], bits, None if times is None else times[rest])
        words, times = words[kept], None if times is None else times[kept]
    repeats = Repeats(
        (pairs >> np.uint64(bits[0])).astype(np.int64), (pairs & _mask(bits[0])).astype(np.int64), tied, later
    )
    return unpacked_words(words, bits, times), repeats


def _by_time(words: Words, times: NDArray[np.float64], score_bits: int) -> NDArray[np.float64]:
    """Sort the words of each pair, and their times, by time, in place; return the times."""
    again = _same_pair(words, score_bits)
    repeated = np.zeros(len(words), dtype=bool)
    repeated[1:] |= again
    repeated[:-1] |= again
    places = np.flatnonzero(repeated)
    turn = places[np.lexsort((times[places], words[places] >> np.uint64(score_bits)))]  # stable, NaN last
    words[places], times[places] = words[turn], times[turn]
    return times


def sorted_totals(rows: RatingRows) -> tuple[RatingRows, int | None]:
    """Order totals by item and point; the second value is an item that has a point twice, if any."""
    rows = rows[np.lexsort((rows.score, rows.item))]
    again = (rows.item[1:] == rows.item[:-1]) & (rows.score[1:] == rows.score[:-1])
    return rows, int(rows.item[1:][again][0]) if again.any() else None


def packed_words(item: NDArray[Any], rater: NDArray[Any], score: NDArray[Any], bits: tuple[int, int]) -> Words:
    """Pack item, rater and score of each rating into a word."""
    words = np.empty(len(item), dtype=np.uint64)
    for part in _parts(len(words)):
        word = item[part].astype(np.uint64) << np.uint64(bits[0])
        word |= rater[part].astype(np.uint64)
        word <<= np.uint64(bits[1])
        word |= score[part].astype(np.uint64)
        words[part] = word
    return words


def unpacked_words(words: Words, bits: tuple[int, int], times: NDArray[np.float64] | None = None) -> RatingRows:
    """Return the ratings that words hold."""
    item, rater = np.empty(len(words), np.int32), np.empty(len(words), np.int32)
    score = np.empty(len(words), np.uint8 if bits[1] <= 8 else np.int16)
    for part in _parts(len(words)):
        pair = words[part] >> np.uint64(bits[1])
        score[part] = words[part] & _mask(bits[1])
        rater[part] = pair & _mask(bits[0])
        item[part] = pair >> np.uint64(bits[0])
    return RatingRows(item, rater, score, time=times)


def _mask(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)


def _same_pair(words: Words, score_bits: int) -> NDArray[np.bool_]:
    """Return for each word except the first whether it has the item and rater of the word before."""
    same = np.empty(max(len(words) - 1, 0), dtype=bool)
    for part in _parts(len(same)):
        after = slice(part.start + 1, part.stop + 1)
        same[part] = (words[part] ^ words[after]) >> np.uint64(score_bits) == 0
    return same


def _parts(length: int, size: int = 1 << 16) -> Iterator[slice]:
    """Cut a long array into parts that stay in the processor's cache."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def _one_of_each(
    words: Words, again: NDArray[np.bool_], rule: Duplicates, score_bits: int
) -> tuple[NDArray[np.intp], int]:
    """Return where the first, last or most frequent word of each pair is; a tie for most frequent drops the pair."""
    starts = np.flatnonzero(np.concatenate(([True], ~again)))
    if rule in ("first", "keep"):
        return starts, 0
    if rule == "last":
        return np.append(starts[1:], len(words)) - 1, 0
    distinct, place, times = np.unique(words, return_index=True, return_counts=True)
    pair = distinct >> np.uint64(score_bits)
    first = np.flatnonzero(np.concatenate(([True], pair[1:] != pair[:-1])))
    most = np.maximum.reduceat(times, first)
    owner = np.repeat(np.arange(len(first)), np.diff(first, append=len(distinct)))
    best = times == most[owner]
    single = np.bincount(owner[best], minlength=len(first)) == 1
    return place[best & single[owner]], int(np.count_nonzero(~single))


# Again ----------------------------------------------------------------------------------------------------------------
#
# Ratings given again: what a rater said about an item on occasions after the first.


@dataclass(frozen=True, slots=True, eq=False)
class Again:
    """Later ratings of (item, rater) pairs whose first rating is among the ratings themselves.

    Attributes
    ----------
    item_codes, rater_codes, scores
        One entry for each, as in :class:`plurivox.Ratings`, sorted by item, rater and occasion.
    times
        When each was given, NaN where unknown; None if no times were read.
    """

    item_codes: NDArray[np.int32]
    rater_codes: NDArray[np.int32]
    scores: NDArray[Any]
    times: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        for array in (self.item_codes, self.rater_codes, self.scores, self.times):
            if array is not None:
                array.flags.writeable = False

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.scores)

    def __eq__(self, other: object) -> bool:
        """Compare all fields."""
        if not isinstance(other, Again):
            return NotImplemented
        names = ("item_codes", "rater_codes", "scores")
        alike = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)
        return alike and same_times(self.times, other.times)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def some(self, keep: NDArray[np.bool_]) -> Again | None:
        """Return those that ``keep`` marks, or None if none are left."""
        if not keep.any():
            return None
        times = None if self.times is None else self.times[keep]
        return Again(self.item_codes[keep], self.rater_codes[keep], self.scores[keep], times)


@dataclass(frozen=True, slots=True, eq=False)
class EveryRating:
    """All ratings, first ones and later ones, sorted by item, rater and occasion.

    Attributes
    ----------
    item_codes, rater_codes, scores, times
        One entry per rating, as in :class:`Again`.
    occasions
        1 for the first rating of an (item, rater) pair, 2 for the second, and so on.
    repeated
        Whether the pair was rated more than once.
    """

    item_codes: NDArray[np.int32]
    rater_codes: NDArray[np.int32]
    scores: NDArray[Any]
    times: NDArray[np.float64] | None
    occasions: NDArray[np.int64]
    repeated: NDArray[np.bool_]

    @classmethod
    def of(cls, first: Again, again: Again | None) -> EveryRating:
        """Merge first ratings, which are sorted by item and rater, with later ones."""
        n = len(first)
        if again is None:
            known = (first.item_codes, first.rater_codes, first.scores, first.times)
            return cls(*known, np.ones(n, np.int64), np.zeros(n, bool))
        items = np.concatenate([first.item_codes, again.item_codes])
        raters = np.concatenate([first.rater_codes, again.rater_codes])
        order = np.lexsort((raters, items))  # stable, and both parts are in order of occasion
        items, raters = items[order], raters[order]
        starts = np.flatnonzero(_begins(items, raters))
        sizes = np.diff(starts, append=len(order))
        timed = first.times is not None and again.times is not None
        times = np.concatenate([first.times, again.times])[order] if timed else None
        occasions = np.arange(len(order)) - np.repeat(starts, sizes) + 1
        scores = np.concatenate([first.scores, again.scores])[order]
        return cls(items, raters, scores, times, occasions, np.repeat(sizes > 1, sizes))


def _begins(items: NDArray[Any], raters: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where another pair of item and rater begins."""
    new = np.ones(len(items), dtype=bool)
    new[1:] = (np.diff(items) != 0) | (np.diff(raters) != 0)
    return new


def first_and_again(every: Again) -> dict[str, Any]:
    """Split ratings sorted by item, rater and occasion into the first ones and the later ones."""
    first = _begins(every.item_codes, every.rater_codes)
    return {
        "item_codes": every.item_codes[first], "rater_codes": every.rater_codes[first], "scores": every.scores[first],
        "times": None if every.times is None else every.times[first], "again": every.some(~first),
    }  # fmt: skip


def same_times(a: NDArray[np.float64] | None, b: NDArray[np.float64] | None) -> bool:
    """Return whether two columns of times are equal; unknown times count as equal."""
    return a is b if a is None or b is None else bool(np.array_equal(a, b, equal_nan=True))
