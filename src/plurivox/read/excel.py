"""Workbooks: what they take in memory, found before anything reads them, and a sheet as a table of text.

A workbook is a ZIP of XML, which calamine turns into a dense block of cells: a single cell at XFD1048576 would make 17
billion of them, and a long text shared by a million cells would become a million texts. So each file in the ZIP is
unpacked here piece by piece, counted, and scanned for how far its cells reach and what they share. What passes is
packed again, and calamine sees only that, so that no other reading of the same bytes can hold more.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import ColumnError, FileError, few
from plurivox.domain.raw import ROWS, RawTable, Runs, cell_text, frame_of_cells, refuse_columns
from plurivox.read.members import Archive
from plurivox.read.opening import INSIDE, MAX_WHOLE, WHOLE_PER_BYTE, Opened, whole, without_panics
from plurivox.read.text import refuse_blank

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
    parts: list[_Part] = []
    # where each text that cells share ends; a comment may contain what looks like an end
    ends, at, odd = [np.zeros(1, np.int64)], 0, False
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
                        odd = odd or b"<!" in piece
                        found = [found.end() for found in _END_OF_TEXT.finditer(piece)]
                        ends.append(np.array(found, dtype=np.int64) + at)
                        at += len(piece)
    lengths = np.diff(np.concatenate([*ends, np.array([at], np.int64)]))  # at most, in bytes
    for part in parts:
        part.refuse(np.full_like(lengths, lengths.max()) if odd else lengths, name)
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
            number = functools.reduce(lambda known, one: known * 26 + one - ord("A") + 1, letters.upper(), 0)
            self.column = max(self.column, number)
        self.row = max([self.row, *map(int, set(_ROW.findall(cells)))])
        n_cells = len(_CELL.findall(cells))
        self.n_cells += n_cells
        if n_cells != len(_NAMED.findall(cells)):  # cells without an address follow the one before
            for found in _ROW_OR_CELL.finditer(cells):
                is_row = found[1] == b"row"
                self.n_rows, self.in_row = self.n_rows + is_row, 0 if is_row else self.in_row + 1
                self.longest_row = max(self.longest_row, self.in_row)
        self.n_merged += chunk.count(b"mergeCell ")
        if n_cells:
            self.n_shared += len(_SHARED.findall(cells))
            self.shared.append(np.array(_PLAIN_SHARED.findall(cells), dtype="S9").astype(np.int64))
        return _ERROR.sub(rb'\1t="str"', chunk) if b't="e"' in chunk else chunk

    def refuse(self, lengths: NDArray[np.int64], name: str) -> None:
        """Raise an error if its cells reach too far or share too much text."""
        n_cells = max((self.column + self.longest_row) * (self.row + self.n_rows), self.n_cells)
        if n_cells > MAX_CELLS:
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


_NOT_AVAILABLE = "#N/A"
_TITLES = 20
"""Up to this many rows above the header may hold a single cell."""
Row = list[Any]


def read_excel(opened: Opened, inside: str | None) -> RawTable:
    """Read the first sheet or the named one; its first row with several cells is the header."""
    data = whole(opened)
    name = opened.name
    checked = repacked(data, name, max(MAX_WHOLE, WHOLE_PER_BYTE * opened.size()))
    with _readable(name):
        from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

        book = CalamineWorkbook.from_filelike(io.BytesIO(checked))
        known = [one for one in book.sheets_metadata if one.typ == SheetTypeEnum.WorkSheet]
        sheets = [one.name for one in known]
        shown = [one.name for one in known if one.visible == SheetVisibleEnum.Visible]
    chosen = _chosen(shown or sheets, sheets, inside, name)
    remarks = []
    if inside is None and len(sheets) > 1:
        other = next(one for one in sheets if one != chosen)
        remarks.append(
            f"{name}: of the sheets {few(sheets)}, only '{chosen}' is read; {name}{INSIDE}{other} reads another."
        )
    called = name if len(sheets) == 1 else f"{name}{INSIDE}{chosen}"
    with _readable(name):
        sheet = book.get_sheet_by_name(chosen)
        table = _Sheet(sheet, called, sheets)
    refuse_columns(sheet.width, called)
    columns = table.columns()
    remarks += table.remarks
    return RawTable(
        called, columns, table.pieces(columns), text=True, locate=table.runs.locate, size=opened.size, remarks=remarks
    )


def _chosen(shown: Sequence[str], sheets: Sequence[str], inside: str | None, name: str) -> str:
    if not sheets:
        raise FileError("none of its sheets has cells", source=name, hint="Put the table on a sheet, with a header.")
    if inside is None:
        return shown[0]
    if inside in sheets:
        return inside
    found = [one for one in sheets if one.casefold() == inside.casefold()]
    if len(found) == 1:
        return found[0]
    raise FileError(
        f"there is no sheet '{inside}'; it has {few(sheets)}", source=name,
        hint=f"Name one of them: {name}{INSIDE}{sheets[0]}.",
    )  # fmt: skip


class _Sheet:
    """The cells of a sheet: where its header is, and the rows below."""

    def __init__(self, sheet: Any, name: str, sheets: Sequence[str]) -> None:
        self._sheet, self._name = sheet, name
        self.runs = Runs()
        self.remarks: list[str] = []
        if sheet.start is None:
            others = f" The sheets are {few(sheets)}." if len(sheets) > 1 else ""
            raise FileError("the sheet is empty", source=name, hint=f"It needs a header and rows.{others}")
        self._top = self._find_header()
        self._kept: list[int] = []

    def _find_header(self) -> int:
        """Return the row of the header, counted from 0: the rows above it are titles of one cell each."""
        titles: list[int] = []
        for at, row in enumerate(self._sheet.iter_rows()):
            n_filled = sum(cell != "" for cell in row)
            if n_filled > 1:
                if titles:
                    several = f"rows {titles[0] + 1} to {titles[-1] + 1} are"
                    skipped = f"row {titles[0] + 1} is" if len(titles) == 1 else several
                    self.remarks.append(
                        f"{self._name}: {skipped} skipped, as a title above the header in row {at + 1}."
                    )
                return at
            if n_filled:
                titles.append(at)
            if len(titles) > _TITLES:
                break
        return titles[0]

    def columns(self) -> list[str]:
        """Return the names of the columns that hold anything."""
        header = next(itertools.islice(self._sheet.iter_rows(), self._top, None))
        for (top, left), (bottom, right) in self._sheet.merged_cell_ranges or ():
            if bottom >= self._top and (top, left) != (bottom, right):
                cells = f"{_letters(left)}{top + 1}:{_letters(right)}{bottom + 1}"
                raise FileError(
                    f"the cells {cells} are merged, so that only the first of them holds a value",
                    source=self._name, hint="Unmerge them and fill in each cell.",
                )  # fmt: skip
        names = [cell_text(cell) or "" for cell in header]
        unnamed = {place for place, one in enumerate(names) if not one.strip()}
        used: set[int] = set()
        for row in itertools.islice(self._sheet.iter_rows(), self._top + 1, None):
            if used == unnamed:
                break
            used |= {place for place in unnamed - used if row[place] != ""}
        for place in used:
            names[place] = f"column {_letters(self._sheet.start[1] + place)}"
        self._kept = [place for place in range(len(names)) if place not in unnamed or place in used]
        if used:
            lettered = few([names[place] for place in sorted(used)])
            self.remarks.append(f"{self._name}: columns without a name are named by their letters: {lettered}.")
        kept = [names[place] for place in self._kept]
        if len(set(kept)) < len(kept):
            twice = next(one for place, one in enumerate(kept) if one in kept[:place])
            raise ColumnError(
                f"two columns are named '{twice}'", source=self._name, places=[f"row {self._top + 1}"],
                hint="Rename one of them.",
            )  # fmt: skip
        return kept

    def pieces(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield blocks of rows without blank ones."""
        block: list[Row] = []
        n_blank = 0
        for at, row in enumerate(itertools.islice(self._sheet.iter_rows(), self._top + 1, None), self._top + 2):
            cells = [None if row[place] in ("", _NOT_AVAILABLE) else row[place] for place in self._kept]
            if all(cell is None for cell in cells):
                n_blank += 1
                refuse_blank(n_blank, self._name)
                continue
            self.runs.add(at)
            block.append(cells)
            if len(block) == ROWS:
                yield frame_of_cells(columns, block)
                block = []
        if block:
            yield frame_of_cells(columns, block)


def _letters(column: int) -> str:
    """Return the letters of a column, counted from 0.

    Examples
    --------
    >>> _letters(0), _letters(25), _letters(26), _letters(16383)
    ('A', 'Z', 'AA', 'XFD')
    """
    text = ""
    while column >= 0:
        text = chr(ord("A") + column % 26) + text
        column = column // 26 - 1
    return text


@contextlib.contextmanager
def _readable(name: str) -> Iterator[None]:
    """Turn what calamine raises, or panics with, into one clear error."""
    from python_calamine import CalamineError

    try:
        with without_panics():
            yield
    except FileError:
        raise
    except CalamineError as error:
        raise _damaged(name, str(error)) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise _damaged(name, "calamine panicked") from None


def _damaged(name: str, why: str) -> FileError:
    first = " ".join(why.split())
    return FileError(
        f"the workbook is damaged or is not an Excel file ({first})", source=name,
        hint="Open it in a spreadsheet and save it again as .xlsx, or as CSV.",
    )  # fmt: skip
