"""Columns of a regular delimited file become dense codes in one pass over its bytes.

The file is cut at line ends into parts, a thread for each, and a part into blocks that stay in the cache. In a block,
first the starts of all fields are found. Then, column by column, each field is hashed, eight bytes at a time, and
looked up in an open-addressing table that compares the bytes and gives codes in order of appearance. Rows are looked
up in batches, whose slots and records are fetched before any is compared: the processor waits for many at once.
At the end the tables of the parts become one, its values are sorted, and the codes become ranks.

Whatever is not regular (quotes, uneven lines, odd line ends) is refused and left to a careful reader.
First comes what reads and merges, then the compiled loops in the order in which a block meets them: one design, and
so one file, though a long one.
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
from numpy.typing import NDArray

from plurivox.intake.code import Coded, Codes, whole_numbers
from plurivox.kernels import compiled

BLOCK = 1 << 19
MAX_LINE = 1 << 24
MAX_PARTS = 8
_LEAST_PART = 1 << 22
_LEAST_SLOTS = 1 << 10
_SLOTS_PER_VALUE = 4
_BATCH = 1024
_MOST_WORDS = 1 << 32  # of an arena, so that a slot takes four bytes
_MOST_TEXT = 1 << 31  # bytes of distinct values that are joined to one text
_PAD = 16  # a line feed may be added to a block, and the last word of a field reaches beyond it

_BOM = b"\xef\xbb\xbf"
_LF, _CR, _QUOTE = np.uint8(10), np.uint8(13), np.uint8(34)
_PLAIN, _END, _ODD = np.uint8(0), np.uint8(1), np.uint8(2)  # kinds of bytes
_ALL_ODD = np.uint64(0x0202_0202_0202_0202)
_ONE, _TWO, _THREE, _SEVEN, _EIGHT, _HALF = (np.uint64(number) for number in (1, 2, 3, 7, 8, 32))
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)  # 2⁶⁴ / golden ratio, as in Fibonacci hashing

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Places = NDArray[np.uint32]


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
        Positions of columns; the first is 0.
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
            coded = _joined(list(zip(*tables, strict=True)), pool)
    except _IrregularError:
        return None
    return [coded[columns.index(column)] for column in wanted]


def _cuts(path: str, size: int, delimiter: str, n_columns: int, parts: int) -> list[int]:
    """Return where parts begin and end: the first after the header, the others at the start of a line near by."""
    with open(path, "rb") as file:
        header = file.readline(MAX_LINE + 1)
        names = header.removeprefix(_BOM).removesuffix(b"\n").removesuffix(b"\r")
        if not names or len(header) > MAX_LINE or b'"' in names or b"\r" in names:
            raise _IrregularError
        if names.count(delimiter.encode()) + 1 != n_columns:
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
    kinds, starts = np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.uint32)
    try:
        for data, size in _blocks(path, start, stop, block):
            if len(starts) <= len(data):
                kinds = np.empty(len(data) // 8 * 8 + 8, dtype=np.uint8)
                starts = np.empty(len(data) + 1, dtype=np.uint32)
            n_fields = _find_fields(data, size, np.uint8(ord(delimiter)), n_columns, kinds, starts)
            if failed.is_set():
                break
            words = _words(data)
            for table, column in zip(tables, columns, strict=True):
                table.code(words, starts[column : n_fields + 1], n_columns)
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


def _find_fields(data: Bytes, size: int, delimiter: np.uint8, n_columns: int, kinds: Bytes, starts: Places) -> int:
    """Write where fields start, and where the one after the last would; carriage returns are taken out."""
    if not _find_kinds(data, size, delimiter, kinds):
        size = _drop_returns(data, size)
        if not size or not _find_kinds(data, size, delimiter, kinds):
            raise _IrregularError
    n_fields = int(_find_starts(kinds.view(np.uint64)[: (size + 7) // 8], starts))
    if not _is_even(data, starts, n_fields, n_columns):
        raise _IrregularError
    return n_fields


def _words(data: Bytes) -> Words:
    """Return a view whose element i is the eight bytes from i on, the first of them lowest."""
    return np.ndarray(len(data) - 7, dtype=np.uint64, buffer=data, strides=(1,))


class _Table:
    """The distinct values of a column in a part of the file, and the codes of its rows.

    The arena holds a record for each value, from place 1 on: a word with the value's length above its code, and its
    bytes, filled up with zeros to ``length // 8 + 1`` words. A slot holds the place of a record, 0 if it is empty.
    """

    def __init__(self) -> None:
        self._slots = np.zeros(_LEAST_SLOTS, dtype=np.uint32)
        self._arena = np.zeros(_LEAST_SLOTS, dtype=np.uint64)
        self._used = np.array([0, 1], dtype=np.int64)  # how many values, how many words of the arena
        self.pieces: list[NDArray[np.unsignedinteger[Any]]] = []

    def __len__(self) -> int:
        return int(self._used[0])

    def code(self, words: Words, starts: Places, step: int) -> None:
        """Take the next rows, whose fields are the first of ``starts`` and each ``step`` further."""
        self.pieces.append(self._look_up(words, starts, step).astype(np.min_scalar_type(len(self))))

    def absorb(self, other: _Table) -> Places:
        """Take the values of another table; return their codes in this one."""
        lines, starts = other._lines()
        return self._look_up(_words(lines), starts, 1)

    def values(self) -> pl.Series:
        """Return the values in the order of their codes."""
        if not len(self):
            return pl.Series(dtype=pl.String)
        lines, starts = self._lines()
        try:
            text = lines[: starts[-1] - 1].tobytes().decode()
        except UnicodeDecodeError:
            raise _IrregularError from None
        return pl.Series([text]).str.split("\n").explode()

    def _look_up(self, words: Words, starts: Places, step: int) -> Places:
        codes = np.empty((len(starts) + step - 2) // step, dtype=np.uint32)
        done = 0
        while True:
            done = _look_up(words, starts, step, done, self._slots, self._arena, self._used, codes)
            if done == len(codes):
                return codes
            self._grow()

    def _grow(self) -> None:
        if len(self) * _SLOTS_PER_VALUE >= len(self._slots):
            self._slots = np.zeros(2 * len(self._slots), dtype=np.uint32)
            _refill(self._slots, self._arena, self._used[1])
        elif len(self._arena) >= _MOST_WORDS:
            raise _IrregularError
        else:
            self._arena = np.concatenate([self._arena, np.zeros_like(self._arena)])

    def _lines(self) -> tuple[Bytes, Places]:
        """Return the values with a line feed after each, and where they start."""
        starts = np.empty(len(self) + 1, dtype=np.uint32)
        if _line_starts(self._arena, starts) > _MOST_TEXT:
            raise _IrregularError
        lines = np.empty(starts[-1] + _PAD, dtype=np.uint8)
        _write_lines(self._arena, starts, lines)
        return lines, starts


def _joined(columns: list[tuple[_Table, ...]], pool: ThreadPoolExecutor) -> list[Coded]:
    """Return the codes of whole columns from the tables of their parts."""

    def translate(codes: Codes, table: _Table, ranks: Codes) -> None:
        end = len(codes)
        while table.pieces:  # from the end, so that each piece is freed once it is copied
            piece = table.pieces.pop()
            ranks.take(piece, out=codes[end - len(piece) : end], mode="clip")
            end -= len(piece)

    coded = []
    for tables, (values, ranks) in zip(columns, pool.map(_ranked, columns), strict=True):
        ends = np.cumsum([sum(map(len, table.pieces)) for table in tables])
        codes = np.empty(ends[-1], dtype=ranks[0].dtype)
        list(pool.map(translate, np.split(codes, ends[:-1]), tables, ranks))
        coded.append(Coded(values, codes))
    return coded


def _ranked(tables: tuple[_Table, ...]) -> tuple[pl.Series, list[Codes]]:
    """Return the sorted values of a column, and for each of its parts the rank of each code."""
    first, *others = tables
    in_first = [first.absorb(other) for other in others]
    values = first.values()
    numbers = whole_numbers(values)
    values = values if numbers is None else numbers
    order = values.arg_sort().to_numpy()
    ranks = np.empty(len(values), dtype=np.min_scalar_type(-len(values) - 1))
    ranks[order] = np.arange(len(values))
    return values.gather(order), [ranks, *(ranks[codes] for codes in in_first)]


# In the loops, indices are unsigned: a signed one costs a look at its sign.


@compiled
def _find_kinds(data: Bytes, size: int, delimiter: np.uint8, kinds: Bytes) -> bool:
    """Tell the bytes that end a field from others; return whether there is neither quote nor carriage return."""
    for at in range(size):
        byte = data[at]
        other = _ODD if (byte == _QUOTE) | (byte == _CR) else _PLAIN
        kinds[at] = _END if (byte == delimiter) | (byte == _LF) else other
    kinds[size : size + 8] = _PLAIN
    met = np.uint64(0)
    for word in kinds.view(np.uint64)[: (size + 7) // 8]:
        met |= word
    return bool(met & _ALL_ODD == 0)


@compiled
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


@compiled
def _find_starts(kinds: Words, starts: Places) -> np.int64:
    """Write where fields start, and where the one after the last would; return how many there are."""
    starts[0] = 0
    n = _ONE
    for i in range(len(kinds)):
        word = kinds[i]
        if word == 0:
            continue
        for j in range(1, 9):  # without a branch: what is no start will be overwritten
            starts[n] = 8 * i + j
            n += word & _ONE
            word >>= _EIGHT
    return np.int64(n) - 1


@compiled
def _is_even(data: Bytes, starts: Places, n_fields: int, n_columns: int) -> bool:
    """Tell whether each line has so many fields, and is not blank."""
    if n_fields % n_columns:
        return False
    for line in range(0, n_fields, n_columns):
        for column in range(1, n_columns):
            if data[starts[line + column] - _ONE] == _LF:
                return False
        if data[starts[line + n_columns] - _ONE] != _LF:
            return False
        if n_columns == 1 and starts[line + 1] - starts[line] == 1:
            return False
    return True


@compiled
def _look_up(
    words: Words,
    starts: Places,
    step: int,
    first: int,
    slots: Places,
    arena: Words,
    used: NDArray[np.int64],
    codes: Places,
) -> int:
    """Write the codes of rows from the first one on; return which row found no room, or how many there are."""
    fields = np.empty((5, _BATCH), dtype=np.uint64)
    for batch in range(first, len(codes), _BATCH):
        stop = min(batch + _BATCH, len(codes))
        _fetch(words, starts[batch * step :], np.uint64(step), slots, arena, fields[:, : stop - batch])
        done = batch + _settle(words, fields, slots, arena, used, codes[batch:stop])
        if done < stop:
            return done  # type: ignore[no-any-return]
    return len(codes)


@compiled
def _fetch(words: Words, starts: Places, step: np.uint64, slots: Places, arena: Words, fields: Words) -> None:
    """Write where fields are and which slots they want, and bring the slots and their records into the cache."""
    places, lengths, tails, homes, heads = fields
    last_slot = np.uint64(len(slots) - 1)
    at = np.uint64(0)
    for row in range(len(homes)):
        start = np.uint64(starts[at])
        length = np.uint64(starts[at + _ONE]) - start - _ONE
        tail = _tail(words[start + (length & ~_SEVEN)], length)
        places[row], lengths[row], tails[row] = start, length, tail
        homes[row] = _hash(words, start, _EIGHT, length, tail) & last_slot
        at += step
    # What these two loops write is not used: it is reading without waiting that matters.
    for row in range(len(homes)):
        heads[row] = slots[homes[row]]
    for row in range(len(homes)):
        heads[row] = arena[heads[row]]


@compiled
def _settle(words: Words, fields: Words, slots: Places, arena: Words, used: NDArray[np.int64], codes: Places) -> int:
    """Find or add each field; return which one found no room, or how many there are."""
    places, lengths, tails, homes, _ = fields
    last_slot = np.uint64(len(slots) - 1)
    for row in range(len(codes)):
        start, length, tail, slot = places[row], lengths[row], tails[row], homes[row]
        place = np.uint64(slots[slot])
        while place != 0 and not _same(words, start, length, tail, arena, place):
            slot = (slot + _ONE) & last_slot
            place = np.uint64(slots[slot])
        if place == 0:
            place = np.uint64(used[1])
            end = place + _record_size(length)
            if used[0] * _SLOTS_PER_VALUE >= len(slots) or end > np.uint64(len(arena)):
                return row
            _write_record(words, start, length, tail, arena, place, np.uint64(used[0]))
            slots[slot] = place
            used[0] += 1
            used[1] = end
        codes[row] = np.uint32(arena[place])
    return len(codes)


@compiled
def _tail(word: np.uint64, length: np.uint64) -> np.uint64:
    """Keep as many bytes of a field's last word as belong to it: fewer than eight, maybe none."""
    return word & ((_ONE << ((length & _SEVEN) << _THREE)) - _ONE)


@compiled
def _hash(words: Words, at: np.uint64, step: np.uint64, length: np.uint64, tail: np.uint64) -> np.uint64:
    """Hash bytes whose words are ``step`` apart: 8 in the text, 1 in the arena."""
    mixed = length
    for _ in range(length >> _THREE):
        mixed = (mixed ^ words[at]) * _MIX
        mixed ^= mixed >> _HALF
        at += step
    mixed = (mixed ^ tail) * _MIX
    mixed = (mixed ^ (mixed >> _HALF)) * _MIX
    return mixed ^ (mixed >> _HALF)


@compiled
def _same(words: Words, start: np.uint64, length: np.uint64, tail: np.uint64, arena: Words, place: np.uint64) -> bool:
    """Tell whether a field has the bytes of a record."""
    n_whole = length >> _THREE
    if arena[place] >> _HALF != length or arena[place + _ONE + n_whole] != tail:
        return False
    for _ in range(n_whole):
        place += _ONE
        if words[start] != arena[place]:
            return False
        start += _EIGHT
    return True


@compiled
def _record_size(length: np.uint64) -> np.uint64:
    return (length >> _THREE) + _TWO


@compiled
def _write_record(
    words: Words,
    start: np.uint64,
    length: np.uint64,
    tail: np.uint64,
    arena: Words,
    place: np.uint64,
    code: np.uint64,
) -> None:
    arena[place] = (length << _HALF) | code
    for _ in range(length >> _THREE):
        place += _ONE
        arena[place] = words[start]
        start += _EIGHT
    arena[place + _ONE] = tail


@compiled
def _refill(slots: Places, arena: Words, end: int) -> None:
    """Enter all records in new slots."""
    last_slot = np.uint64(len(slots) - 1)
    place = _ONE
    while place < end:
        length = arena[place] >> _HALF
        next_place = place + _record_size(length)
        slot = _hash(arena, place + _ONE, _ONE, length, arena[next_place - _ONE]) & last_slot
        while slots[slot] != 0:
            slot = (slot + _ONE) & last_slot
        slots[slot] = place
        place = next_place


@compiled
def _line_starts(arena: Words, starts: Places) -> np.int64:
    """Write where each value starts if a line feed follows each of them; return their size in all."""
    place, at = _ONE, np.uint64(0)
    for i in range(len(starts) - 1):
        starts[i] = at
        length = arena[place] >> _HALF
        at += length + _ONE
        place += _record_size(length)
    starts[-1] = at
    return np.int64(at)


@compiled
def _write_lines(arena: Words, starts: Places, lines: Bytes) -> None:
    """Write all values, with a line feed after each."""
    place = _ONE
    for i in range(len(starts) - 1):
        length = arena[place] >> _HALF
        at = np.uint64(starts[i])
        for j in range(length):
            word = arena[place + _ONE + (j >> _THREE)]
            lines[at + j] = (word >> ((j & _SEVEN) << _THREE)) & np.uint64(255)
        lines[at + length] = _LF
        place += _record_size(length)
