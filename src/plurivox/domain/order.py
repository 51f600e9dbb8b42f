"""Ratings in order: sorted by item and rater, with repeats found and settled.

Item, rater and score of a rating are packed into one 64-bit word, item above rater above score. Sorting the words
sorts the table, and two ratings of one item by one rater become neighbours that differ only in the lowest bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import InputError
from plurivox.domain.choices import Duplicates

Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Entries:
    """One row per rating: codes of item and rater, position of the score.

    Totals have no rater; their count says how many ratings an entry stands for. Times are NaN where unknown.
    """

    item: NDArray[Any]
    rater: NDArray[Any] | None
    score: NDArray[Any]
    count: NDArray[np.int64] | None = None
    time: NDArray[np.float64] | None = None

    def __getitem__(self, rows: NDArray[Any]) -> Entries:
        """Return some of the rows."""
        return Entries(
            self.item[rows],
            None if self.rater is None else self.rater[rows],
            self.score[rows],
            None if self.count is None else self.count[rows],
            None if self.time is None else self.time[rows],
        )


@dataclass(frozen=True, slots=True)
class Repeats:
    """Which (item, rater) pairs were rated more than once.

    ``tied`` is how many had no single most frequent score; ``later`` holds all ratings except the first of each pair,
    if they are kept.
    """

    item: NDArray[np.int64]
    rater: NDArray[np.int64]
    tied: int = 0
    later: Entries | None = None

    def __len__(self) -> int:
        return len(self.item)


def sorted_ratings(
    rows: Entries, n_items: int, n_raters: int, n_points: int, rule: Duplicates
) -> tuple[Entries, Repeats]:
    """Order ratings by item and rater; keep the repeats that the rule names, or all of them under ``"error"``.

    First and last go by time, then by the order of rows; ratings without a time come after those with one.
    """
    assert rows.rater is not None
    bits = pair_bits(n_raters, n_points, n_items)
    return settled(packed_words(rows.item, rows.rater, rows.score, bits), bits, rule, rows.time)


def pair_bits(n_raters: int, n_points: int, n_items: int = 1) -> tuple[int, int]:
    """Return how many bits of a word rater and score take; raise an error if too few are left for the items."""
    bits = ((n_raters - 1).bit_length(), (n_points - 1).bit_length())
    if (n_items - 1).bit_length() + sum(bits) > 64:
        raise InputError(f"{n_items:,} items × {n_raters:,} raters × {n_points:,} points are too many to index")
    return bits


def settled(
    words: Words, bits: tuple[int, int], rule: Duplicates, times: NDArray[np.float64] | None = None
) -> tuple[Entries, Repeats]:
    """Order ratings that are packed into words, in place if the rule allows, and deal with repeats."""
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


def sorted_totals(rows: Entries) -> tuple[Entries, int | None]:
    """Order totals by item and point; the second value is an item that has a point twice, if any."""
    order = np.lexsort((rows.score, rows.item))
    rows = rows[order]
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


def unpacked_words(words: Words, bits: tuple[int, int], times: NDArray[np.float64] | None = None) -> Entries:
    """Return the ratings that words hold."""
    item, rater = np.empty(len(words), np.int32), np.empty(len(words), np.int32)
    score = np.empty(len(words), np.uint8 if bits[1] <= 8 else np.int16)
    for part in _parts(len(words)):
        pair = words[part] >> np.uint64(bits[1])
        score[part] = words[part] & _mask(bits[1])
        rater[part] = pair & _mask(bits[0])
        item[part] = pair >> np.uint64(bits[0])
    return Entries(item, rater, score, time=times)


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
