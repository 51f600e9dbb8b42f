"""What a workbook would take in memory, found before anything reads it: its range of cells, and texts they share."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import FileError
from plurivox.read.zipped import Archive

MAX_CELLS = 20_000_000
"""The most cells of a sheet, from the first to the last row and column: each takes 32 bytes, filled or not."""
MAX_MERGED = 100_000
_MAX_TEXT = 1 << 30
"""The most bytes of text in the cells of a sheet."""
_CHUNK, _ZIP64 = 1 << 22, 1 << 31
_MAX_TAG = 1 << 24
_EMPTY = re.compile(rb'<(?:c|row)(?: [\w:]+="[\w.:]*")*/>')
_NAMED = re.compile(rb'<c r="[A-Z]+\d+"')
_CELL = re.compile(rb"<(?:[^\s<>/!?:]+:)?c[\s/>]")
_ROW_OR_CELL = re.compile(rb"<(?:[^\s<>/!?:]+:)?(row|c)[\s/>]")
_COLUMN = re.compile(rb"\sr\s*=\s*[\"']([A-Za-z]{1,20})")
_ROW = re.compile(rb"\sr\s*=\s*[\"'][A-Za-z]*(\d{1,30})")
_SHARED = re.compile(rb"\st\s*=\s*[\"']s[\"']")
_PLAIN_SHARED = re.compile(rb" t=\"s\"[^<>]*><v>(\d{1,9})</v>")
_ERROR = re.compile(rb"(<c [^<>]*)t=\"e\"")
_END_OF_TEXT = re.compile(rb"</(?:[^\s<>/!?:]+:)?si\s*>|<(?:[^\s<>/!?:]+:)?si\s*/>")


def repacked(data: bytes, name: str, most: int) -> bytes:
    """Return a workbook with the same XML, all of it unpacked and scanned, or raise an error if it is too large.

    Cells with an error become text: calamine would silently leave them out.
    """
    archive = Archive(io.BytesIO(data), name, len(data), most=most, per_byte=0)
    packed = io.BytesIO()
    texts = _Texts()
    parts: list[_Part] = []
    with archive.readable(), zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy:
        for member in archive.members():
            if not member.filename.lower().endswith((".xml", ".rels")):
                continue  # pictures, macros
            part = _Part()
            parts.append(part)
            shared = member.filename.lower().endswith("sharedstrings.xml")
            with archive.open(member) as stream, copy.open(member.filename, "w", force_zip64=most > _ZIP64) as into:
                for piece in _to_tags(stream, name):
                    into.write(part.scan(piece))
                    if shared:
                        texts.scan(piece)
    for part in parts:
        part.refuse(texts.lengths(), name)
    return packed.getvalue()


def _to_tags(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield pieces of a file that each end before a tag."""
    rest = b""
    while chunk := stream.read(_CHUNK):
        chunk = rest + chunk
        cut = max(chunk.rfind(b"<"), 0)
        chunk, rest = chunk[:cut], chunk[cut:]
        if len(rest) > _MAX_TAG:
            raise _too_much(name, f"a text of more than {_MAX_TAG >> 20} MiB")
        yield chunk
    yield rest


def _too_much(name: str, what: str) -> FileError:
    return FileError(
        f"a sheet has {what}, too much to be a table of ratings", source=name,
        hint="Delete what is far from the table (Ctrl+End goes there), or save the sheet as CSV.",
    )  # fmt: skip


@dataclass(slots=True)
class _Part:
    """What was seen in a file of a workbook."""

    column: int = 0
    row: int = 0
    n_cells: int = 0
    n_rows: int = 0
    in_row: int = 0
    longest_row: int = 0
    n_merged: int = 0
    n_shared: int = 0
    shared: list[NDArray[np.int64]] = field(default_factory=list)

    def scan(self, chunk: bytes) -> bytes:
        """Scan the next piece, which ends before a tag; return it with errors turned into text."""
        cells = _EMPTY.sub(b"", chunk) if b"/>" in chunk else chunk
        for letters in set(_COLUMN.findall(cells)):
            self.column = max(self.column, _number(letters))
        rows = _ROW.findall(cells)
        if rows:
            self.row = max(self.row, max(map(int, set(rows))))
        n_cells = len(_CELL.findall(cells))
        self.n_cells += n_cells
        if n_cells != len(_NAMED.findall(cells)):  # cells without an address follow the one before
            self._walk(cells)
        self.n_merged += chunk.count(b"mergeCell ")
        if n_cells:
            self.n_shared += len(_SHARED.findall(cells))
            self.shared.append(np.array(_PLAIN_SHARED.findall(cells), dtype="S9").astype(np.int64))
        return _ERROR.sub(rb'\1t="str"', chunk) if b't="e"' in chunk else chunk

    def _walk(self, cells: bytes) -> None:
        for found in _ROW_OR_CELL.finditer(cells):
            if found[1] == b"row":
                self.in_row = 0
                self.n_rows += 1
            else:
                self.in_row += 1
                self.longest_row = max(self.longest_row, self.in_row)

    def refuse(self, lengths: NDArray[np.int64], name: str) -> None:
        """Raise an error if its cells reach too far or share too much text."""
        reach = (self.column + self.longest_row) * (self.row + self.n_rows)
        if max(reach, self.n_cells) > MAX_CELLS:
            n_cells = max(reach, self.n_cells)
            raise _too_much(name, f"{n_cells:,} cells up to its last row and column, more than {MAX_CELLS:,}")
        if self.n_merged > MAX_MERGED:
            raise _too_much(name, f"{self.n_merged:,} merged cells")
        longest = int(lengths.max(initial=0))
        if self.n_shared * longest <= _MAX_TEXT:
            return
        plain = np.concatenate(self.shared)
        known = plain[plain < len(lengths)]
        text = int(lengths[known].sum()) + (self.n_shared - len(plain)) * longest
        if text > _MAX_TEXT:
            raise _too_much(name, f"{text >> 20:,} MiB of text in its cells")


class _Texts:
    """The length of each text that cells share."""

    def __init__(self) -> None:
        self._ends: list[NDArray[np.int64]] = []
        self._at = 0
        self._odd = False

    def scan(self, chunk: bytes) -> None:
        """Scan the next piece."""
        self._odd = self._odd or b"<!" in chunk  # a comment may contain what looks like an end
        ends = [found.end() for found in _END_OF_TEXT.finditer(chunk)]
        self._ends.append(np.array(ends, dtype=np.int64) + self._at)
        self._at += len(chunk)

    def lengths(self) -> NDArray[np.int64]:
        """Return an upper bound on the length of each text in bytes."""
        ends = np.concatenate([np.zeros(1, np.int64), *self._ends, np.array([self._at], np.int64)])
        found = np.diff(ends)
        return np.full_like(found, found.max()) if self._odd else found


def _number(letters: bytes) -> int:
    """Return the number of a column, counted from 1."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - ord("A") + 1
    return number
