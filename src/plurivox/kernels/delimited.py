"""Columns of a regular delimited file become dense codes in one pass over its bytes.

The file is cut at line ends into parts, a thread for each, and a part into blocks that stay in the cache. In a block,
first the ends of all fields are found. Then, column by column, the fields are hashed eight bytes at a time and looked
up in an open-addressing table that compares the bytes: all rows guess the record their hash leads to, which lets the
processor wait for many of them at once; the few wrong guesses probe further, and new values are added.
At the end the values of all parts are sorted, and the codes, so far in order of appearance, become their ranks.

Whatever is not regular (quotes, uneven lines, odd line ends) is refused and left to a careful reader.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numba import njit  # type: ignore[import-untyped]
from numpy.typing import NDArray

from plurivox.coding import Coded, Codes, _whole_numbers

BLOCK = 1 << 18
MAX_LINE = 1 << 24
MAX_PARTS = 8
_LEAST_PART = 1 << 22
_LEAST_SLOTS = 1 << 10
_SLOTS_PER_VALUE = 4
_MOST_TEXT = 1 << 31  # bytes of distinct values that go to polars as one string
_PAD = 16  # a line feed may be added to a block, and the words of its last field reach beyond it

_LF, _CR, _QUOTE = np.uint8(10), np.uint8(13), np.uint8(34)
_PLAIN, _END, _ODD = np.uint8(0), np.uint8(1), np.uint8(2)  # kinds of bytes
_ENDS, _ODDS = (kind * np.uint64(0x0101_0101_0101_0101) for kind in (np.uint64(1), np.uint64(2)))
_ONE, _THREE, _SEVEN, _EIGHT = np.uint64(1), np.uint64(3), np.uint64(7), np.uint64(8)
_HALF = np.uint64(32)
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)  # 2⁶⁴ / golden ratio, as in Fibonacci hashing
# A slot holds the upper bits of a hash above the place of a record in the arena; 0 means empty.
_PLACE_BITS = np.uint64(40)
_PLACE = (_ONE << _PLACE_BITS) - _ONE
# A record is a word with the length of the value above its code, then its bytes: length // 8 + 1 words, zero at the end.
_CODE = (_ONE << _HALF) - _ONE

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Places = NDArray[np.int32]
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _IrregularError(Exception):
    """The file is not one for this reader."""


def code_columns(
    path: str,
    delimiter: str,
    n_columns: int,
    wanted: Sequence[int],
    *,
    block: int = BLOCK,
    parts: int | None = None,
) -> list[Coded] | None:
    r"""Return the codes of some columns of a text file, as ``Coder(text=True)`` gives them; None if it is irregular.

    A regular file is UTF-8 text (a byte-order mark may come first) with a header line and without any double quote.
    Each of its lines, the header too, has ``n_columns`` fields, is not blank, not longer than 16 MiB, and ends with
    ``\n`` or ``\r\n``, which the last one may lack. A file with only a header gives columns without rows.
    Whether text is valid is checked only in the columns that are wanted.

    Parameters
    ----------
    wanted
        Positions of columns, the first is 0.
    block
        Bytes to work on at once; it does not change the result.
    parts
        How many parts, each with a thread, the file is cut into; it does not change the result.
    """
    if sys.byteorder != "little" or len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        return None
    columns = sorted(set(wanted))
    size = os.path.getsize(path)
    if parts is None:
        parts = min(os.cpu_count() or 1, MAX_PARTS, 1 + size // _LEAST_PART)
    try:
        cuts = _cuts(path, size, delimiter, n_columns, parts)
        work = partial(_code_part, path, block, delimiter, n_columns, columns, Event())
        with ThreadPoolExecutor(parts, thread_name_prefix="plurivox-read") as pool:
            tables = list(pool.map(work, cuts[:-1], cuts[1:]))
            coded = [_joined(of_parts, pool) for of_parts in zip(*tables, strict=True)]
    except _IrregularError:
        return None
    return [coded[columns.index(column)] for column in wanted]


def _cuts(path: str, size: int, delimiter: str, n_columns: int, parts: int) -> list[int]:
    """Return where parts begin and end: the first after the header, the others at the start of a line near by."""
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
    path: str,
    block: int,
    delimiter: str,
    n_columns: int,
    columns: list[int],
    failed: Event,
    start: int,
    stop: int,
) -> list[_Table]:
    """Code the lines between two cuts; a table for each column."""
    tables = [_Table() for _ in columns]
    try:
        for data, size in _blocks(path, start, stop, block):
            ends = _field_ends(data, size, np.uint8(ord(delimiter)), n_columns)
            if failed.is_set():
                break
            words = _words(data)
            for table, column in zip(tables, columns, strict=True):
                table.code(words, ends[column:-1:n_columns], ends[column + 1 :: n_columns])
    except _IrregularError:
        failed.set()
        raise
    return tables


def _blocks(path: str, start: int, stop: int, size: int) -> Iterator[tuple[Bytes, int]]:
    """Yield a buffer and the size of the whole lines in it; the buffer is used again for the next ones."""
    buffer = bytearray(size + _PAD)
    held = 0  # bytes of a line whose end is still to come
    with open(path, "rb", buffering=0) as file:
        file.seek(start)
        while start < stop:
            got = file.readinto(memoryview(buffer)[held : min(size, held + stop - start)])
            start, filled = start + got, held + got
            if not got or (start == stop and buffer[filled - 1] == _CR):
                raise _IrregularError
            if start == stop and buffer[filled - 1] != _LF:
                buffer[filled] = _LF
                filled += 1
            whole = buffer.rfind(b"\n", 0, filled) + 1
            held = filled - whole
            if whole:
                yield np.frombuffer(buffer, dtype=np.uint8), whole
                buffer[:held] = buffer[whole:filled]
            elif held == size:
                if size >= MAX_LINE:
                    raise _IrregularError
                size = min(2 * size, MAX_LINE)
                buffer = buffer[:held] + bytes(size + _PAD - held)


def _field_ends(data: Bytes, size: int, delimiter: np.uint8, n_columns: int) -> Places:
    """Return where the fields end, after -1 as the end before the first one; carriage returns are taken out."""
    kinds = np.empty(-(-size // 8) * 8, dtype=np.uint8)
    ends = np.empty(size + 2, dtype=np.int32)
    if not _find_kinds(data, size, delimiter, kinds):
        size = _drop_returns(data, size)
        if not size or not _find_kinds(data, size, delimiter, kinds):
            raise _IrregularError
    n_ends = _find_ends(kinds.view(np.uint64)[: -(-size // 8)], ends)
    if not _is_even(data, ends[: n_ends + 1], n_columns):
        raise _IrregularError
    return ends[: n_ends + 1]


def _words(data: Bytes) -> Words:
    """Return a view whose element i is the eight bytes from i on, the first of them lowest."""
    return np.ndarray(len(data) - 7, dtype=np.uint64, buffer=data, strides=(1,))


class _Table:
    """The distinct values of a column in a part of the file, and the codes of its rows.

    The arena holds the records of the values one after the other, from place 1 on; the slots lead to them.
    """

    def __init__(self) -> None:
        self._slots = np.zeros(_LEAST_SLOTS, dtype=np.uint64)
        self._arena = np.zeros(_LEAST_SLOTS, dtype=np.uint64)
        self._used = np.array([0, 1], dtype=np.int64)  # how many values, how many words of the arena
        self.pieces: list[NDArray[np.unsignedinteger[Any]]] = []

    def __len__(self) -> int:
        return int(self._used[0])

    def code(self, words: Words, befores: Places, ends: Places) -> None:
        """Take the next rows, whose fields lie between the end of the field before and their own."""
        hashes = np.empty(len(ends), dtype=np.uint64)
        codes = np.empty(len(ends), dtype=np.uint32)
        _hash_fields(words, befores, ends, hashes)
        done = 0
        while True:
            done = _look_up(words, befores, ends, hashes, done, self._slots, self._arena, self._used, codes)
            if done == len(codes):
                break
            self._grow()
        self.pieces.append(codes.astype(np.min_scalar_type(len(self))))

    def _grow(self) -> None:
        if len(self) * _SLOTS_PER_VALUE >= len(self._slots):
            self._slots = np.zeros(2 * len(self._slots), dtype=np.uint64)
            _refill(self._slots, self._arena, self._used[1])
        else:
            self._arena = np.concatenate([self._arena, np.zeros_like(self._arena)])

    def values(self) -> pl.Series:
        """Return the values in the order of their codes."""
        if not len(self):
            return pl.Series(dtype=pl.String)
        size = int(_joined_size(self._arena, self._used[1]))
        if size > _MOST_TEXT:
            raise _IrregularError
        lines = np.empty(size, dtype=np.uint8)
        _join(self._arena, self._used[1], lines)
        text = pl.Series([lines[:-1].tobytes()]).cast(pl.String, strict=False)
        if text.null_count():  # not UTF-8
            raise _IrregularError
        return text.str.split("\n").explode()


def _joined(tables: Sequence[_Table], pool: ThreadPoolExecutor) -> Coded:
    """Return the codes of a whole column from those of its parts."""
    values = pl.concat(list(pool.map(_Table.values, tables)))
    numbers = _whole_numbers(values)
    values = values if numbers is None else numbers
    ranks = values.rank("dense").to_numpy() - 1
    distinct = values.unique().sort()
    dtype = np.min_scalar_type(-len(distinct) - 1)
    ranks = ranks.astype(dtype)
    rows = np.cumsum([0, *(sum(map(len, table.pieces)) for table in tables)])
    firsts = np.cumsum([0, *map(len, tables)])
    codes = np.empty(rows[-1], dtype=dtype)

    def translate(part: int) -> None:
        own_ranks, own_codes = ranks[firsts[part] : firsts[part + 1]], codes[rows[part] : rows[part + 1]]
        _translate(tables[part].pieces, own_ranks, own_codes)

    list(pool.map(translate, range(len(tables))))
    return Coded(distinct, codes)


def _translate(pieces: list[Any], ranks: Codes, codes: Codes) -> None:
    """Write ``ranks[piece]`` of all pieces; the list is emptied on the way."""
    end = len(codes)
    while pieces:  # from the end, so that each piece is freed once it is copied
        piece = pieces.pop()
        ranks.take(piece, out=codes[end - len(piece) : end], mode="clip")
        end -= len(piece)


def _compiled(function: _Function) -> _Function:
    """Compile a function that works while other threads run, and keep the result on disk."""
    return njit(nogil=True, cache=True)(function)  # type: ignore[no-any-return]


@_compiled
def _find_kinds(data: Bytes, size: int, delimiter: np.uint8, kinds: Bytes) -> bool:
    """Tell the bytes that end a field from others; return whether there is neither quote nor carriage return."""
    for at in range(size):
        byte = data[at]
        odd = _ODD if (byte == _QUOTE) | (byte == _CR) else _PLAIN
        kinds[at] = _END if (byte == delimiter) | (byte == _LF) else odd
    kinds[size:] = _PLAIN
    odds = np.uint64(0)
    for word in kinds.view(np.uint64):
        odds |= word
    return odds & _ODDS == 0


@_compiled
def _drop_returns(data: Bytes, size: int) -> int:
    """Take out each carriage return before a line feed; return the new size, 0 if there is another one."""
    kept = 0
    for at in range(size):
        byte = data[at]
        if byte == _CR and data[at + 1] != _LF:
            return 0
        data[kept] = byte
        kept += byte != _CR
    return kept


@_compiled
def _find_ends(kinds: Words, ends: Places) -> int:
    """Write where fields end, after a -1; return how many there are."""
    ends[0] = -1
    n = _ONE
    for i in range(len(kinds)):
        word = kinds[i]
        if word == 0:
            continue
        for j in range(8):  # without a branch: what is no end will be overwritten
            ends[n] = 8 * i + j
            n += word & _ONE
            word >>= _EIGHT
    return np.int64(n) - 1


@_compiled
def _is_even(data: Bytes, ends: Places, n_columns: int) -> bool:
    """Tell whether each line has so many fields, and is not blank."""
    last = n_columns - 1
    if (len(ends) - 1) % n_columns:
        return False
    for first in range(1, len(ends), n_columns):
        for column in range(n_columns):
            if (data[ends[first + column]] == _LF) != (column == last):
                return False
        if last == 0 and ends[first] - ends[first - 1] == 1:
            return False
    return True


@_compiled
def _tail(word: np.uint64, length: np.uint64) -> np.uint64:
    """Keep as many bytes of a field's last word as belong to it: fewer than eight, maybe none."""
    return word & ((_ONE << ((length & _SEVEN) << _THREE)) - _ONE)


@_compiled
def _hash(words: Words, at: np.uint64, step: np.uint64, length: np.uint64) -> np.uint64:
    """Hash bytes whose words are ``step`` apart: 8 in the text, 1 in the arena."""
    mixed = length
    for _ in range(length >> _THREE):
        mixed = (mixed ^ words[at]) * _MIX
        mixed ^= mixed >> _HALF
        at += step
    mixed = (mixed ^ _tail(words[at], length)) * _MIX
    mixed = (mixed ^ mixed >> _HALF) * _MIX
    return mixed ^ mixed >> _HALF


@_compiled
def _hash_fields(words: Words, befores: Places, ends: Places, hashes: Words) -> None:
    for row in range(len(ends)):
        start = np.uint64(befores[row] + 1)
        hashes[row] = _hash(words, start, _EIGHT, np.uint64(ends[row]) - start)


@_compiled
def _same(words: Words, start: np.uint64, length: np.uint64, arena: Words, place: np.uint64) -> bool:
    """Tell whether a field has the bytes of a record."""
    if arena[place] >> _HALF != length:
        return False
    for _ in range(length >> _THREE):
        place += _ONE
        if words[start] != arena[place]:
            return False
        start += _EIGHT
    return _tail(words[start], length) == arena[place + _ONE]


@_compiled
def _look_up(
    words: Words,
    befores: Places,
    ends: Places,
    hashes: Words,
    first: int,
    slots: Words,
    arena: Words,
    used: NDArray[np.int64],
    codes: NDArray[np.uint32],
) -> int:
    """Write the codes of rows from the first one on; return which row found no room, or how many there are."""
    last_slot = np.uint64(len(slots) - 1)
    guesses = np.empty_like(hashes)
    for row in range(first, len(ends)):
        guesses[row] = slots[hashes[row] & last_slot]
    for row in range(first, len(ends)):
        start = np.uint64(befores[row] + 1)
        length = np.uint64(ends[row]) - start
        hashed, entry = hashes[row], guesses[row]
        slot = hashed & last_slot
        if entry == 0:
            entry = slots[slot]  # a row before this one may have filled it
        while entry != 0:
            if (entry ^ hashed) >> _PLACE_BITS == 0 and _same(words, start, length, arena, entry & _PLACE):
                break
            slot = (slot + _ONE) & last_slot
            entry = slots[slot]
        if entry == 0:
            if used[0] * _SLOTS_PER_VALUE >= len(slots) or used[1] + np.int64(length >> _THREE) + 2 > len(arena):
                return row
            entry = (hashed & ~_PLACE) | np.uint64(used[1])
            slots[slot] = entry
            _add(words, start, length, arena, used)
        codes[row] = np.uint32(arena[entry & _PLACE] & _CODE)
    return len(ends)


@_compiled
def _add(words: Words, start: np.uint64, length: np.uint64, arena: Words, used: NDArray[np.int64]) -> None:
    """Write the record of a new value."""
    place = np.uint64(used[1])
    arena[place] = (length << _HALF) | np.uint64(used[0])
    for _ in range(length >> _THREE):
        place += _ONE
        arena[place] = words[start]
        start += _EIGHT
    arena[place + _ONE] = _tail(words[start], length)
    used[0] += 1
    used[1] = place + _ONE + _ONE


@_compiled
def _refill(slots: Words, arena: Words, end: int) -> None:
    """Enter all records in new slots."""
    last_slot = np.uint64(len(slots) - 1)
    place = _ONE
    while place < end:
        length = arena[place] >> _HALF
        hashed = _hash(arena, place + _ONE, _ONE, length)
        slot = hashed & last_slot
        while slots[slot] != 0:
            slot = (slot + _ONE) & last_slot
        slots[slot] = (hashed & ~_PLACE) | place
        place += (length >> _THREE) + _ONE + _ONE


@_compiled
def _joined_size(arena: Words, end: int) -> int:
    """Return how many bytes the values take, with a line feed after each."""
    size, place = np.uint64(0), _ONE
    while place < end:
        length = arena[place] >> _HALF
        size += length + _ONE
        place += (length >> _THREE) + _ONE + _ONE
    return size


@_compiled
def _join(arena: Words, end: int, lines: Bytes) -> None:
    """Write all values, with a line feed after each."""
    at, place = np.uint64(0), _ONE
    while place < end:
        length = arena[place] >> _HALF
        for i in range(length):
            word = arena[place + _ONE + (i >> _THREE)]
            lines[at + i] = np.uint8((word >> ((i & _SEVEN) << _THREE)) & np.uint64(255))
        lines[at + length] = _LF
        at += length + _ONE
        place += (length >> _THREE) + _ONE + _ONE
