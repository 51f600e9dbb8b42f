"""How large a Parquet file is when unpacked, according to its footer: polars unpacks it before anything can be checked.

The footer is a record in Thrift's compact protocol. Only its sizes are read, by the field numbers of the format:
``FileMetaData`` has row groups (4), each of which has columns (1), each with metadata (3) and its unpacked size (6).
"""

from __future__ import annotations

import os
from typing import IO, Any

MAGIC = b"PAR1"
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_DEEPEST = 32


def unpacked_size(stream: IO[bytes]) -> int | None:
    """Return how many bytes the columns of a Parquet file take when unpacked, None if its footer is damaged."""
    try:
        end = stream.seek(-8, os.SEEK_END)
        length = int.from_bytes(stream.read(4), "little")
        if stream.read(4) != MAGIC or length > end:
            return None
        stream.seek(end - length)
        groups = _Record(stream.read(length)).struct(0).get(4, [])
        return sum(int(column[3][6]) for group in groups for column in group[1])
    except (OSError, IndexError, KeyError, TypeError, ValueError, AttributeError):
        return None


class _Record:
    """Reads a record from its bytes; damage raises an IndexError or a ValueError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self, depth: int) -> dict[int, Any]:
        """Read the fields of a struct by their numbers."""
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._zigzag()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind < _DOUBLE:  # a byte, or a whole number
            return self._byte() if kind <= _BYTE else self._zigzag()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._list(depth)
        if kind == _MAP:
            raise ValueError("a footer contains no maps")
        length = 8 if kind == _DOUBLE else self._varint()
        self._at += length
        if kind > _STRUCT or self._at > len(self._data):
            raise IndexError("it is cut off")
        return None  # texts are not needed

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        length, kind = head >> 4, head & 15
        length = self._varint() if length == 15 else length
        if length > len(self._data) - self._at:
            raise IndexError("it is cut off")
        return [self._value(kind, depth) for _ in range(length)]

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _varint(self) -> int:
        found = shift = 0
        while shift < 70:
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
            shift += 7
        raise ValueError("a number is too long")

    def _zigzag(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)
