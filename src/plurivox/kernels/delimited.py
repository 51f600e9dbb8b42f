"""Columns of a regular delimited file become dense codes in one pass over its bytes.

The file is cut at line ends into parts, a thread for each, and a part into blocks that stay in the cache. In a block,
first the fields are found, eight bytes at a time: a field ends at the next special byte. Then, column by column, each
field is hashed and looked up in an open-addressing table that compares the bytes, and gets the code of its value in
order of appearance. At the end the values of all parts are sorted and the codes translated to their ranks.
Whatever is not regular (quotes, uneven lines, other line ends) is refused, and left to a careful reader.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import Any

import numpy as np
import polars as pl
from numba import njit  # type: ignore[import-untyped]
from numpy.typing import NDArray

from plurivox.coding import Coded, Codes, _whole_numbers

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Places = NDArray[np.int32]

BLOCK = 1 << 18
MAX_LINE = 1 << 24
MAX_PARTS = 8
_LEAST_PART = 1 << 22
_LEAST_SLOTS = 1 << 10
_MOST_TEXT = 1 << 31  # bytes of distinct values that polars holds in one string
_PAD = 16  # a word that starts in the last line may reach beyond it

_DELIMITER, _QUOTE, _LF, _CR = (np.uint8(ord(special)) for special in ',"\n\r')
_EIGHT, _ONE = np.uint64(8), np.uint64(1)
_EACH = np.uint64(0x0101_0101_0101_0101)  # times a byte: that byte eight times
_TOPS = np.uint64(0x8080_8080_8080_8080)
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)
_HALF, _SEVEN, _FIFTY_SIX = np.uint64(32), np.uint64(7), np.uint64(56)
_LOW_HALF = np.uint64(0xFFFF_FFFF)
# A slot holds the top 24 bits of a hash above the place of a record in the arena, 0 if it is empty.
_PLACE_BITS = np.uint64(40)
_PLACE = np.uint64((1 << 40) - 1)


class _IrregularError(Exception):
    """The file is not one that this reader takes."""


def code_columns(
    path: str,
    delimiter: str,
    n_columns: int,
    wanted: Sequence[int],
    *,
    block: int = BLOCK,
    parts: int | None = None,
) -> list[Coded] | None:
    """Return the codes of some columns of a text file, as ``Coder(text=True)`` gives them; None if it is irregular.

    A regular file is UTF-8 text (a byte-order mark may come first) with a header line, without any double quote; each
    of its lines, the header too, has ``n_columns`` fields, is not blank, is no longer than 16 MiB, and ends with
    ``\\n`` or ``\\r\\n``, which the last one may lack. A file with only a header gives columns without rows.
    Whether text is valid is seen only in the columns that are wanted.

    Parameters
    ----------
    wanted
        Positions of columns, the first is 0.
    block
        Bytes to work on at once; it does not change the result.
    parts
        In how many parts, each with a thread, to cut the file; it does not change the result.
    """
    if sys.byteorder != "little" or len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        return None
    columns = sorted(set(wanted))
    places = np.full(n_columns, -1, dtype=np.int64)
    places[columns] = np.arange(len(columns))
    size = os.path.getsize(path)
    if parts is None:
        parts = min(os.cpu_count() or 1, MAX_PARTS, 1 + size // _LEAST_PART)
    failed = Event()
    try:
        cuts = _cuts(path, size, delimiter, n_columns, parts)
        work = partial(_code_part, path, block, delimiter, places, failed)
        with ThreadPoolExecutor(parts, thread_name_prefix="plurivox-read") as pool:
            tables = list(pool.map(work, cuts[:-1], cuts[1:]))
            coded = [_joined(list(of_parts), pool) for of_parts in zip(*tables, strict=True)]
    except _IrregularError:
        return None
    return [coded[columns.index(column)] for column in wanted]


def _cuts(path: str, size: int, delimiter: str, n_columns: int, parts: int) -> list[int]:
    """Return where the parts of the file begin and end: the first after the header, each at the start of a line."""
    with open(path, "rb") as file:
        header = file.readline(MAX_LINE + 1)
        text = header.removesuffix(b"\n").removesuffix(b"\r")
        if not text or len(header) > MAX_LINE or b'"' in text or b"\r" in text:
            raise _IrregularError
        if text.count(delimiter.encode()) + 1 != n_columns:
            raise _IrregularError
        cuts = [len(header)]
        for part in range(1, parts):
            guess = len(header) + (size - len(header)) * part // parts
            file.seek(guess)
            line = file.readline(MAX_LINE + 1)
            if len(line) > MAX_LINE:
                raise _IrregularError
            cuts.append(guess + len(line))
    return [*cuts, size]


def _code_part(
    path: str, block: int, delimiter: str, places: NDArray[np.int64], failed: Event, start: int, stop: int
) -> list[_Table]:
    """Code the lines between two cuts; a table for each wanted column."""
    tables = [_Table() for place in places if place >= 0]
    delimiters = np.uint64(ord(delimiter)) * _EACH
    try:
        for data, end in _blocks(path, start, stop, block):
            n_most = end // len(places) + 1  # a line has at least as many bytes as fields
            starts, lengths = np.empty((2, len(tables), n_most), dtype=np.int32)
            words = _words(data)
            n_rows = _find_fields(data, words, end, delimiters, places, starts, lengths)
            if n_rows < 0 or failed.is_set():
                raise _IrregularError
            for table, table_starts, table_lengths in zip(tables, starts, lengths, strict=True):
                table.code(words, table_starts[:n_rows], table_lengths[:n_rows])
    except _IrregularError:
        failed.set()
        raise
    return tables


def _blocks(path: str, start: int, stop: int, size: int) -> Iterator[tuple[Bytes, int]]:
    """Yield a buffer and up to where it holds whole lines; the buffer is used again for the next ones."""
    buffer = bytearray(size + _PAD)
    held = 0  # bytes of a line whose end is still to come
    with open(path, "rb", buffering=0) as file:
        file.seek(start)
        while start < stop:
            room = min(size - held, stop - start)
            got = file.readinto(memoryview(buffer)[held : held + room])
            start, filled = start + got, held + got
            if not got or (start == stop and buffer[filled - 1] == _CR):
                raise _IrregularError
            if start == stop and buffer[filled - 1] != _LF:
                buffer[filled] = _LF
                filled += 1
            end = buffer.rfind(b"\n", 0, filled) + 1
            if end:
                yield np.frombuffer(buffer, dtype=np.uint8), end
                buffer[: filled - end] = buffer[end:filled]
            held = filled - end
            if held == size:
                if size >= MAX_LINE:
                    raise _IrregularError
                size = min(2 * size, MAX_LINE)
                buffer = buffer[:held] + bytes(size + _PAD - held)


def _words(data: Bytes) -> Words:
    """Return a view whose element i is the eight bytes from i on, the first one lowest."""
    return np.ndarray(len(data) - 7, dtype=np.uint64, buffer=data, strides=(1,))


class _Table:
    """The distinct values of a column in a part of the file, and the codes of its rows.

    The arena holds a record per value: a word with its length above its code, then its bytes, filled up with at least
    one zero to whole words. The slots, of which half stay empty, lead from a hash to a record.
    """

    def __init__(self) -> None:
        self._slots = np.zeros(_LEAST_SLOTS, dtype=np.uint64)
        self._arena = np.empty(_LEAST_SLOTS, dtype=np.uint64)
        self._used = np.array([0, 1], dtype=np.int64)  # values; words of the arena: place 0 means none
        self.pieces: list[NDArray[np.unsignedinteger[Any]]] = []

    def __len__(self) -> int:
        return int(self._used[0])

    def code(self, words: Words, starts: Places, lengths: Places) -> None:
        """Take the fields of the next rows."""
        codes = np.empty(len(starts), dtype=np.uint32)
        done = 0
        while True:
            done = _look_up(words, starts, lengths, done, self._slots, self._arena, self._used, codes)
            if done == len(codes):
                break
            self._grow()
        self.pieces.append(codes.astype(np.min_scalar_type(len(self)), copy=False))

    def _grow(self) -> None:
        if 2 * len(self) >= len(self._slots):
            self._slots = np.zeros(2 * len(self._slots), dtype=np.uint64)
            _refill(self._slots, self._arena, self._used[1])
        else:
            self._arena = np.concatenate([self._arena, np.empty_like(self._arena)])

    def values(self) -> pl.Series:
        """Return the values in the order of their codes."""
        if not len(self):
            return pl.Series(dtype=pl.String)
        size = _join(self._arena, self._used[1], np.empty(0, dtype=np.uint8))
        if size >= _MOST_TEXT:
            raise _IrregularError
        lines = np.empty(size, dtype=np.uint8)
        _join(self._arena, self._used[1], lines)
        text = pl.Series([lines[:-1].tobytes()]).cast(pl.String, strict=False)
        if text.null_count():
            raise _IrregularError
        return text.str.split("\n").explode()


def _joined(tables: list[_Table], pool: ThreadPoolExecutor) -> Coded:
    """Return the codes of a whole column from those of its parts."""
    values = pl.concat(list(pool.map(_Table.values, tables)))
    numbers = _whole_numbers(values)
    values = values if numbers is None else numbers
    distinct = values.unique().sort()
    dtype = np.min_scalar_type(-len(distinct) - 1)
    ranks = (values.rank("dense").to_numpy() - 1).astype(dtype)
    ends = np.cumsum([0, *(sum(map(len, table.pieces)) for table in tables)])
    codes = np.empty(ends[-1], dtype=dtype)
    bounds = np.cumsum([0, *map(len, tables)])

    def translate(part: int) -> None:
        own = ranks[bounds[part] : bounds[part + 1]]
        _translate(tables[part].pieces, own, codes[ends[part] : ends[part + 1]])

    list(pool.map(translate, range(len(tables))))
    return Coded(distinct, codes)


def _translate(pieces: list[Any], ranks: Codes, codes: Codes) -> None:
    """Write ``ranks[piece]`` of all pieces; the list is emptied on the way."""
    end = len(codes)
    while pieces:
        piece = pieces.pop()
        ranks.take(piece, out=codes[end - len(piece) : end], mode="clip")
        end -= len(piece)


@njit(nogil=True, cache=True)
def _zero_bytes(word):
    """Mark the lowest zero byte in its top bit; bytes above it may be marked too."""
    return (word - _EACH) & ~word & _TOPS


@njit(nogil=True, cache=True)
def _find_fields(data, words, end, delimiters, places, starts, lengths):
    """Write where the wanted fields are; return the number of lines, -1 if one is irregular."""
    quotes, lfs, crs = np.uint64(_QUOTE) * _EACH, np.uint64(_LF) * _EACH, np.uint64(_CR) * _EACH
    last = len(places) - 1
    at = start = row = column = 0
    while at < end:
        word = words[at]
        special = _zero_bytes(word ^ delimiters) | _zero_bytes(word ^ lfs)
        special |= _zero_bytes(word ^ crs) | _zero_bytes(word ^ quotes)
        if special == 0:
            at += 8
            continue
        before = ((special - _ONE) & ~special) >> _SEVEN  # all bits of the bytes before the lowest mark
        at += np.int64(((before & _EACH) * _EACH) >> _FIFTY_SIX)  # one for each of these bytes, added up
        length = at - start
        place = places[column]
        if place >= 0:
            starts[place, row] = start
            lengths[place, row] = length
        if data[at] == _CR and data[at + 1] == _LF:
            at += 1
        if data[at] == _LF:
            if column != last or (last == 0 and length == 0):
                return -1
            column = 0
            row += 1
        else:
            column += 1
            if column > last or data[at] == _QUOTE or data[at] == _CR:
                return -1
        at += 1
        start = at
    return row


@njit(nogil=True, cache=True)
def _tail(word, length):
    """Keep as many bytes of a field's last word as belong to it: fewer than eight, maybe none."""
    return word & ((_ONE << np.uint64(8 * (length & 7))) - _ONE)


@njit(nogil=True, cache=True)
def _hash(words, at, step, length):
    """Hash a field whose words are ``step`` apart: 8 in the text, 1 in the arena."""
    mixed = np.uint64(length)
    for _ in range(length >> 3):
        mixed = (mixed ^ words[at]) * _MIX
        mixed ^= mixed >> _HALF
        at += step
    mixed = (mixed ^ _tail(words[at], length)) * _MIX
    return mixed ^ mixed >> _HALF


@njit(nogil=True, cache=True)
def _same(words, start, length, arena, place):
    """Tell whether a field has the bytes of a record."""
    if arena[place] >> _HALF != np.uint64(length):
        return False
    for _ in range(length >> 3):
        place += 1
        if words[start] != arena[place]:
            return False
        start += 8
    return _tail(words[start], length) == arena[place + 1]


@njit(nogil=True, cache=True)
def _look_up(words, starts, lengths, first, slots, arena, used, codes):
    """Write the codes of fields, from the first on; return which one found no room, or how many there are."""
    last_slot = np.uint64(len(slots) - 1)
    for row in range(first, len(starts)):
        start, length = np.int64(starts[row]), np.int64(lengths[row])
        mixed = _hash(words, start, 8, length)
        slot = mixed & last_slot
        entry = slots[slot]
        while entry != 0:
            place = np.int64(entry & _PLACE)
            if (entry ^ mixed) >> _PLACE_BITS == 0 and _same(words, start, length, arena, place):
                codes[row] = np.uint32(arena[place] & _LOW_HALF)
                break
            slot = (slot + _ONE) & last_slot
            entry = slots[slot]
        if entry == 0:
            place = used[1]
            if 2 * used[0] >= len(slots) or place + (length >> 3) + 2 > len(arena):
                return row
            slots[slot] = mixed & ~_PLACE | np.uint64(place)
            codes[row] = used[0]
            _append(words, start, length, arena, used)
    return len(starts)


@njit(nogil=True, cache=True)
def _append(words, start, length, arena, used):
    """Write the record of a new value."""
    place = used[1]
    arena[place] = np.uint64(length) << _HALF | np.uint64(used[0])
    for _ in range(length >> 3):
        place += 1
        arena[place] = words[start]
        start += 8
    arena[place + 1] = _tail(words[start], length)
    used[0] += 1
    used[1] = place + 2


@njit(nogil=True, cache=True)
def _refill(slots, arena, end):
    """Enter all records in empty slots."""
    last_slot = np.uint64(len(slots) - 1)
    place = 1
    while place < end:
        length = np.int64(arena[place] >> _HALF)
        mixed = _hash(arena, place + 1, 1, length)
        slot = mixed & last_slot
        while slots[slot] != 0:
            slot = (slot + _ONE) & last_slot
        slots[slot] = mixed & ~_PLACE | np.uint64(place)
        place += (length >> 3) + 2


@njit(nogil=True, cache=True)
def _join(arena, end, text):
    """Write all values, a line feed after each, and return how many bytes they take; write as far as there is room."""
    place, at = 1, 0
    while place < end:
        length = np.int64(arena[place] >> _HALF)
        if at + length < len(text):
            for i in range(length):
                shift = np.uint64(8 * (i & 7))
                text[at + i] = np.uint8(arena[place + 1 + (i >> 3)] >> shift & np.uint64(255))
            text[at + length] = _LF
        at += length + 1
        place += (length >> 3) + 2
    return at
