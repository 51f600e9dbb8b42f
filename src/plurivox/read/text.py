"""Text tables in bounded memory: blocks of whole records, parsed by polars, every value kept as text.

Polars parses fast, but is silent about short rows and does not say where an error is. So the number of fields in each
block is checked by counting delimiters, and a block that fails is read again, slowly, to name the row.
"""

from __future__ import annotations

import bisect
import codecs
import csv
import io
import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import IO

import polars as pl

from plurivox.base.csv_files import GUARD, unguarded, unguarded_name
from plurivox.base.errors import ColumnError, FileError
from plurivox.domain.raw import RawTable, refuse_columns
from plurivox.read.opening import Opened, is_whole

BLOCK = 1 << 22
MAX_RECORD = 1 << 24
MAX_BLANK = 1 << 20  # blank lines, as many as a spreadsheet has rows
MAX_SPARSE = 1 << 24  # rows × keys of a block of JSON lines, most of them empty
UTF8 = "utf-8"
_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DELIMITERS = (",", ";", "\t", "|")
_JSON = json.JSONDecoder(parse_int=str)  # Python refuses to make numbers of too many digits
_SEPARATED = re.compile(r"sep=(.)", re.IGNORECASE)
"""The line above the header that tells Excel the delimiter."""
_NO_FILES = ("idna", "punycode", "undefined")  # not encodings of files


def read_delimited(opened: Opened, *, delimiter: str | None, encoding: str) -> RawTable:
    """Read CSV or TSV; the default delimiter is the first of comma, semicolon, tab and bar that the header has."""
    name = opened.name
    blocks = _blocks(as_utf8(opened.stream, name, encoding), name)
    header, first = _split_header(next(blocks, b""), name)
    above = 0
    if said := _SEPARATED.fullmatch(header):
        delimiter, above = said[1], 1
        header, first = _split_header(first, name)
    delimiter = delimiter or next((d for d in _DELIMITERS if d in header), ",")
    columns = [unguarded_name(one) for one in _columns(header, delimiter, name)]
    reader = _Delimited(name, columns, delimiter, above)
    pieces = (reader.parse(block) for block in itertools.chain([first] if first else [], blocks))
    return RawTable(name, columns, pieces, text=True, locate=reader.locate, size=opened.size)


class _Delimited:
    """Parses the blocks of one file, whose header has ``above`` lines above it, and remembers its blank lines."""

    def __init__(self, name: str, columns: list[str], delimiter: str, above: int) -> None:
        self._name = name
        self._columns = columns
        self._delimiter = delimiter
        self._rows = 0
        self._start = 2 + above
        self._blank: list[int] = []

    def locate(self, position: int) -> str:
        """Name a row as a spreadsheet does: the header is row 1; blank lines count, even those with only delimiters."""
        row = position
        for blank in self._blank:
            if blank > row:
                break
            row += 1
        return f"row {row + self._start}"

    def parse(self, block: bytes) -> pl.DataFrame:
        """Return the rows of the next block."""
        if block.count(b"\n") > MAX_BLANK:  # before a list is made of them
            refuse_blank(block.count(b"\n\n") + block.count(b"\r\n\r\n"), self._name)
        try:  # a blank or short first line is read as another table
            frame = pl.read_csv(
                block, has_header=False, separator=self._delimiter, infer_schema=False, empty_string_is_null=False
            )
        except pl.exceptions.PolarsError:
            frame = pl.DataFrame()
        if frame.width != len(self._columns):
            blank, records = self._scan(block)
            frame = pl.DataFrame(records, schema=dict.fromkeys(self._columns, pl.String), orient="row")
        else:
            blank = self._scan(block)[0] if self._uneven(block, frame) else _without_text(frame)
            if blank:
                frame = frame.with_row_index("_row").filter(~pl.col("_row").is_in(blank)).drop("_row")
        self._blank += [self._rows + row for row in blank]
        refuse_blank(len(self._blank), self._name)
        self._rows += frame.height + len(blank)
        if b"'" in block and GUARD.search(block):
            frame = unguarded(frame)
        return frame.rename(dict(zip(frame.columns, self._columns, strict=True)))

    def _uneven(self, block: bytes, frame: pl.DataFrame) -> bool:
        """Return whether some row may have fewer fields than the header; polars rejects rows with more."""
        if b'"' in block:  # delimiters may be quoted: a short row ends in empty fields
            return bool((frame[:, -1] == "").any())
        return block.count(self._delimiter.encode()) != frame.height * (len(self._columns) - 1)

    def _scan(self, block: bytes) -> tuple[list[int], list[list[str]]]:
        """Return the numbers of the blank lines and the other records, or raise an error that names a malformed row."""
        try:
            text = block.decode()
        except UnicodeDecodeError as error:
            row = self._rows + self._start + block.count(b"\n", 0, error.start)
            raise not_utf8(self._name, row, block[error.start]) from None
        csv.field_size_limit(MAX_RECORD)
        expected = len(self._columns)
        blank: list[int] = []
        records: list[list[str]] = []
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter, strict=True)
        try:
            for record in reader:
                if not record or (len(record) == expected > 1 and not any(record)):
                    blank.append(len(blank) + len(records))
                elif len(record) == expected:
                    records.append(record)
                else:
                    fields = f"{len(record)} field{'' if len(record) == 1 else 's'}"
                    problem = f"the row has {fields}, but the header has {expected}"
                    hint = f"Look for a missing or unquoted {self._delimiter!r}."
                    break
            else:
                return blank, records
        except csv.Error as error:
            problem, hint = f"the row is malformed ({error})", "Look for an unclosed quotation mark."
        place = f"row {self._rows + len(blank) + len(records) + self._start}"
        raise FileError(problem, source=self._name, places=[place], hint=hint)


def _without_text(frame: pl.DataFrame) -> list[int]:
    """Return the rows whose fields are all empty, as spreadsheets write rows that were cleared."""
    if frame.width == 1 or not (frame[:, 0] == "").any():
        return []
    return frame.select(pl.all_horizontal(pl.all() == "").arg_true()).to_series().to_list()


def json_lines(read: Callable[[int], bytes], name: str, size: Callable[[], int]) -> RawTable:
    """Read one JSON object per line from a function that returns the next bytes."""
    blocks = _blocks(read, name, quotes=False)
    first = _without_blank_lines(next(blocks, b""))
    if first.lstrip().startswith(b"["):
        raise FileError("it is a single JSON array", source=name, hint="End its name with .json, or use --format json.")
    rows = 0
    columns = _keys(first, name, rows)
    if not columns:
        raise FileError("its lines have no keys", source=name, hint="Write one JSON object per line.")
    schema = dict.fromkeys(columns, pl.String)

    def parse(block: bytes) -> pl.DataFrame:
        nonlocal rows
        lines = block.count(b"\n") + 1
        if lines * len(columns) > MAX_SPARSE and lines * len(columns) > len(block):
            problem = f"{len(columns):,} different keys in {lines:,} lines make an almost empty table"
            raise FileError(problem, source=name, hint="Give each line the same few keys.")
        try:
            try:
                frame = pl.read_ndjson(block, schema=schema)
            except pl.exceptions.PolarsError:
                # Python writes NaN and infinities, although they are not JSON; they become text.
                block = _CONSTANT.sub(lambda found: found[1] or b'"' + found[2] + b'"', block)
                frame = pl.read_ndjson(block, schema=schema)
        except pl.exceptions.PolarsError as error:
            _keys(block, name, rows)
            places, first = [f"row {rows + 1 + _unreadable(block, schema)}"], str(error).split("\n", 1)[0]
            raise FileError(
                f"the line cannot be read ({first})", source=name, places=places,
                hint="Look for a number with too many digits, or half a character.",
            ) from None  # fmt: skip
        rows += frame.height
        return frame

    def pieces() -> Iterator[pl.DataFrame]:
        yield parse(first)
        n_blank = 0
        for block in blocks:
            lines = _without_blank_lines(block)
            n_blank += block.count(b"\n") - lines.count(b"\n")
            refuse_blank(n_blank, name)
            if lines.strip():
                yield parse(lines)

    return RawTable(name, columns, pieces(), text=True, size=size)


_CONSTANT = re.compile(rb'("(?:[^"\\]|\\.)*")|(NaN|-?Infinity)')


def _keys(block: bytes, name: str, rows: int) -> list[str]:
    """Return the keys of JSON lines in order, or raise an error that names the first line that is not an object."""
    keys: dict[str, None] = {}
    for number, line in enumerate(block.splitlines(), start=rows + 1):
        try:
            value = _JSON.decode(line.decode())
        except UnicodeDecodeError as error:
            raise not_utf8(name, number, line[error.start]) from None
        except ValueError as error:
            problem = f"the line is not JSON ({error})"
        except RecursionError:
            problem = "its lists or objects are nested too deeply"
        else:
            if isinstance(value, dict) and is_whole("".join(value)):
                keys.update(dict.fromkeys(value))
                refuse_columns(len(keys), name)
                continue
            problem = "a key contains half a character" if isinstance(value, dict) else "the line is not an object"
        raise FileError(problem, source=name, places=[f"row {number}"], hint="Write one JSON object per line.")
    return list(keys)


def _unreadable(block: bytes, schema: dict[str, type[pl.String]]) -> int:
    """Return the index of the first line that polars cannot read although it is JSON."""
    lines = block.splitlines(keepends=True)

    def fails(n_lines: int) -> bool:
        try:
            pl.read_ndjson(b"".join(lines[:n_lines]), schema=schema)
        except pl.exceptions.PolarsError:
            return True
        return False

    return bisect.bisect_left(range(1, len(lines)), True, key=fails)


def _without_blank_lines(block: bytes) -> bytes:
    """Return the lines that are not blank; nothing is copied if none is blank."""
    if b"\n\n" not in block and not block.isspace():
        return block
    return b"".join(line + b"\n" for line in block.splitlines() if line.strip())


def refuse_blank(n_lines: int, name: str) -> None:
    """Raise an error if there are too many blank lines."""
    if n_lines > MAX_BLANK:
        raise FileError(f"it has more than {MAX_BLANK:,} blank lines", source=name, hint="Remove them.")


def _blocks(read: Callable[[int], bytes], name: str, *, quotes: bool = True) -> Iterator[bytes]:
    """Yield blocks of bytes that end where a record ends."""
    rest = b""
    rows = 1
    while chunk := read(BLOCK):
        if b"\n" not in chunk and b"\r" in chunk:  # line ends of old Macs
            chunk = chunk.replace(b"\r", b"\n")
        if quotes and (b'"' in rest or b'"' in chunk):
            rest, chunk = b"", rest + chunk
            cut = _record_end(chunk)
        else:
            cut = chunk.rfind(b"\n") + 1
        if cut:
            block = b"".join((rest, memoryview(chunk)[:cut]))
            yield block
            rows += block.count(b"\n")
            rest = chunk[cut:]
        else:
            rest += chunk
        if len(rest) > MAX_RECORD:
            raise FileError(
                f"the row is longer than {MAX_RECORD >> 20} MiB", source=name, places=[f"row {rows}"],
                hint="Look for an unclosed quotation mark, or a file without line ends.",
            )  # fmt: skip
    if rest.strip(b" \r\n"):  # a tab alone may be a row
        yield rest


def _record_end(data: bytes) -> int:
    """Return where the last whole record ends: after a line end with an even number of quotes before it."""
    cut = data.rfind(b"\n") + 1
    quotes = data.count(b'"', 0, cut)
    while cut and quotes % 2:
        earlier = data.rfind(b"\n", 0, cut - 1) + 1
        quotes -= data.count(b'"', earlier, cut)
        cut = earlier
    return cut


def as_utf8(stream: IO[bytes], name: str, encoding: str) -> Callable[[int], bytes]:
    """Return a function that reads the stream as UTF-8 without a byte-order mark."""
    start = stream.peek(4) if hasattr(stream, "peek") else b""
    if encoding == UTF8:
        if start.startswith(_WIDE_BOMS):
            raise FileError("it is UTF-16, not UTF-8", source=name, hint="Use --encoding utf-16.")
        if start.startswith(_BOM):
            stream.read(len(_BOM))
        return stream.read
    decoder = _decoder(encoding, name)
    ended = False

    def read(size: int) -> bytes:
        nonlocal ended
        # A chunk that ends inside a character may decode to nothing, which would look like the end.
        while not ended:
            chunk = stream.read(size)
            ended = not chunk
            try:
                if decoded := decoder.decode(chunk, ended):
                    return decoded.encode()
            except UnicodeError as error:
                raise FileError(f"it is not {encoding} ({error})", source=name) from None
        return b""

    return read


def _decoder(encoding: str, name: str) -> codecs.IncrementalDecoder:
    """Return a decoder for an encoding, or raise an error: some of Python's codecs are not text encodings."""
    try:
        found = codecs.lookup(encoding)
        if found.name not in _NO_FILES and found._is_text_encoding and found.incrementaldecoder:
            return found.incrementaldecoder()
    except (LookupError, ValueError):
        pass
    raise FileError(f"{encoding!r} is not a known encoding", source=name, hint="Try latin-1 or utf-16.")


def not_utf8(name: str, row: int, byte: int) -> FileError:
    """Return the error for text in another encoding."""
    return FileError(
        f"byte 0x{byte:02x} is not UTF-8 text", source=name, places=[f"row {row}"],
        hint="Save the file as UTF-8, or name its encoding, for example --encoding latin-1.",
    )  # fmt: skip


def _split_header(block: bytes, name: str) -> tuple[str, bytes]:
    cut = block.find(b"\n") + 1 or len(block)
    while block.count(b'"', 0, cut) % 2:
        if cut == len(block):
            raise FileError(
                "a quotation mark in the header is not closed", source=name, places=["row 1"],
                hint="Close it, or double it if it is part of a name.",
            )  # fmt: skip
        cut = block.find(b"\n", cut) + 1 or len(block)
    try:
        return block[:cut].decode().rstrip("\r\n"), block[cut:]
    except UnicodeDecodeError as error:
        raise not_utf8(name, 1, block[error.start]) from None


def _columns(header: str, delimiter: str, name: str) -> list[str]:
    """Return the names in a header, all of them different."""
    refuse_columns(header.count(delimiter) + 1, name)
    csv.field_size_limit(MAX_RECORD)
    try:
        columns = next(csv.reader([header], delimiter=delimiter))
    except csv.Error as error:
        carriage = "\r" in header
        raise FileError(
            "the header contains a carriage return" if carriage else f"the header is malformed ({error})",
            source=name, places=["row 1"],
            hint="Save the file with one kind of line end." if carriage else "It must hold the column names.",
        ) from None  # fmt: skip
    if not columns:
        raise FileError("the first line is blank", source=name, hint="It must hold the column names.")
    if len(set(columns)) < len(columns):
        twice = next(column for place, column in enumerate(columns) if column in columns[:place])
        raise ColumnError(f"two columns are named '{twice}'", source=name, hint="Rename one of them.")
    return columns
