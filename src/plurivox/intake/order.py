"""Ratings in order: sorted by item and rater, with repeats found and settled.

Item, rater and score of a rating are packed into one word of 64 bits, item above rater above score. Sorting the words
sorts the table, and two ratings of one item by one rater become neighbours that differ in the lowest bits alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from plurivox.errors import InputError

Duplicates = Literal["error", "first", "last", "mode"]
Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Entries:
    """One row per rating: codes of item and rater, position of the score.

    Totals have no rater, and a count that tells how many ratings an entry stands for.
    """

    item: NDArray[Any]
    rater: NDArray[Any] | None
    score: NDArray[Any]
    count: NDArray[np.int64] | None = None

    def __getitem__(self, rows: NDArray[Any]) -> Entries:
        """Return some of the rows."""
        return Entries(
            self.item[rows],
            None if self.rater is None else self.rater[rows],
            self.score[rows],
            None if self.count is None else self.count[rows],
        )


@dataclass(frozen=True, slots=True)
class Repeats:
    """Which (item, rater) pairs were rated more than once, and how many had no single most frequent score."""

    item: NDArray[np.int64]
    rater: NDArray[np.int64]
    tied: int = 0

    def __len__(self) -> int:
        return len(self.item)


def sorted_ratings(
    rows: Entries, n_items: int, n_raters: int, n_points: int, rule: Duplicates
) -> tuple[Entries, Repeats]:
    """Order ratings by item and rater; of repeats keep what the rule says, or all of them under ``"error"``."""
    assert rows.rater is not None
    bits = ((n_raters - 1).bit_length(), (n_points - 1).bit_length())
    if (n_items - 1).bit_length() + sum(bits) > 64:
        raise InputError(f"{n_items:,} items × {n_raters:,} raters × {n_points:,} points are too many to index")
    words = _packed(rows.item, rows.rater, rows.score, bits)
    if rule in ("first", "last"):
        words = words[np.argsort(words >> np.uint64(bits[1]), kind="stable")]
    else:
        words.sort()
    again = _same_pair(words, bits[1])
    pairs = np.unique(words[1:][again] >> np.uint64(bits[1]))
    tied = 0
    if len(pairs) and rule != "error":
        words, tied = _without_repeats(words, again, rule, bits[1])
    repeats = Repeats((pairs >> np.uint64(bits[0])).astype(np.int64), (pairs & _mask(bits[0])).astype(np.int64), tied)
    return _unpacked(words, bits), repeats


def sorted_totals(rows: Entries) -> tuple[Entries, int | None]:
    """Order totals by item and point; the second value is an item that has a point twice."""
    order = np.lexsort((rows.score, rows.item))
    rows = rows[order]
    again = (rows.item[1:] == rows.item[:-1]) & (rows.score[1:] == rows.score[:-1])
    return rows, int(rows.item[1:][again][0]) if again.any() else None


def _packed(item: NDArray[Any], rater: NDArray[Any], score: NDArray[Any], bits: tuple[int, int]) -> Words:
    words = np.empty(len(item), dtype=np.uint64)
    for part in _parts(len(words)):
        word = item[part].astype(np.uint64) << np.uint64(bits[0])
        word |= rater[part].astype(np.uint64)
        word <<= np.uint64(bits[1])
        word |= score[part].astype(np.uint64)
        words[part] = word
    return words


def _unpacked(words: Words, bits: tuple[int, int]) -> Entries:
    item, rater = np.empty(len(words), np.int32), np.empty(len(words), np.int32)
    score = np.empty(len(words), np.uint8 if bits[1] <= 8 else np.int16)
    for part in _parts(len(words)):
        pair = words[part] >> np.uint64(bits[1])
        score[part] = words[part] & _mask(bits[1])
        rater[part] = pair & _mask(bits[0])
        item[part] = pair >> np.uint64(bits[0])
    return Entries(item, rater, score)


def _mask(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)


def _same_pair(words: Words, score_bits: int) -> NDArray[np.bool_]:
    """Tell of each word but the first whether it has the item and rater of the word before."""
    same = np.empty(max(len(words) - 1, 0), dtype=bool)
    for part in _parts(len(same)):
        after = slice(part.start + 1, part.stop + 1)
        same[part] = (words[part] ^ words[after]) >> np.uint64(score_bits) == 0
    return same


def _parts(length: int, size: int = 1 << 16) -> Iterator[slice]:
    """Cut a long array into parts that stay in the processor's cache."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def _without_repeats(words: Words, again: NDArray[np.bool_], rule: Duplicates, score_bits: int) -> tuple[Words, int]:
    """Keep the first, last or most frequent word of each pair; a tie for the most frequent drops the pair."""
    starts = np.flatnonzero(np.concatenate(([True], ~again)))
    if rule == "first":
        return words[starts], 0
    if rule == "last":
        return words[np.append(starts[1:], len(words)) - 1], 0
    distinct, times = np.unique(words, return_counts=True)
    pair = distinct >> np.uint64(score_bits)
    first = np.flatnonzero(np.concatenate(([True], pair[1:] != pair[:-1])))
    most = np.maximum.reduceat(times, first)
    owner = np.repeat(np.arange(len(first)), np.diff(first, append=len(distinct)))
    best = times == most[owner]
    single = np.bincount(owner[best], minlength=len(first)) == 1
    return distinct[best & single[owner]], int(np.count_nonzero(~single))
