"""Text tables in bounded memory: blocks of whole records, parsed by polars, every value kept as text.

Polars parses fast but is silent about short rows and does not tell where an error is. So each block is checked for
its number of fields by counting delimiters, and a block that fails is read again, slowly, to name the row.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Callable, Iterator
from typing import IO

import polars as pl

from plurivox.errors import ColumnError, FileError
from plurivox.intake.opening import Opened
from plurivox.intake.raw import RawTable
from plurivox.results.files import GUARD, unguarded, unguarded_name

BLOCK = 1 << 22
MAX_RECORD = 1 << 24
UTF8 = "utf-8"
_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DELIMITERS = (",", ";", "\t", "|")


def read_delimited(opened: Opened, *, delimiter: str | None, encoding: str) -> RawTable:
    """Read CSV or TSV; without a delimiter, the first of comma, semicolon, tab and bar that the header has."""
    name = opened.name
    blocks = _blocks(_as_utf8(opened.stream, name, encoding), name)
    header, first = _split_header(next(blocks, b""), name)
    delimiter = delimiter or next((d for d in _DELIMITERS if d in header), ",")
    columns = [unguarded_name(name) for name in next(csv.reader([header], delimiter=delimiter))]
    _check_header(columns, name)
    reader = _Delimited(name, columns, delimiter)
    return RawTable(name, columns, reader.pieces(first, blocks), text=True, locate=reader.locate)


class _Delimited:
    """Parses the blocks of one file and remembers where its blank lines were."""

    def __init__(self, name: str, columns: list[str], delimiter: str) -> None:
        self._name = name
        self._columns = columns
        self._delimiter = delimiter
        self._rows = 0
        self._blank: list[int] = []

    def locate(self, position: int) -> str:
        """Name a row as a spreadsheet does: the header is row 1, blank lines count."""
        row = position
        for blank in self._blank:
            if blank <= row:
                row += 1
        return f"row {row + 2}"

    def pieces(self, first: bytes, blocks: Iterator[bytes]) -> Iterator[pl.DataFrame]:
        if first:
            yield self._parse(first)
        for block in blocks:
            yield self._parse(block)

    def _parse(self, block: bytes) -> pl.DataFrame:
        frame = self._parse_fast(block)
        blank: list[int] = []
        if frame is None:
            blank, records = self._scan(block)
            frame = pl.DataFrame(records, schema=dict.fromkeys(self._columns, pl.String), orient="row")
        elif self._uneven(block, frame):
            blank, _ = self._scan(block)
            frame = frame.with_row_index("_row").filter(~pl.col("_row").is_in(blank)).drop("_row")
        self._blank += [self._rows + row for row in blank]
        self._rows += frame.height + len(blank)
        if b"'" in block and GUARD.search(block):
            frame = unguarded(frame)
        return frame.rename(dict(zip(frame.columns, self._columns, strict=True)))

    def _parse_fast(self, block: bytes) -> pl.DataFrame | None:
        """Return the block as polars reads it, None if it fails or takes a blank or short first line for a table."""
        try:
            frame = pl.read_csv(
                block, has_header=False, separator=self._delimiter, infer_schema=False, empty_string_is_null=False
            )
        except pl.exceptions.PolarsError:
            return None
        return frame if frame.width == len(self._columns) else None

    def _uneven(self, block: bytes, frame: pl.DataFrame) -> bool:
        """Tell whether some row may have fewer fields than the header; polars refuses rows with more."""
        if b'"' in block:  # delimiters may be quoted: a short row ends in empty fields
            return bool((frame[:, -1] == "").any())
        return block.count(self._delimiter.encode()) != frame.height * (len(self._columns) - 1)

    def _scan(self, block: bytes) -> tuple[list[int], list[list[str]]]:
        """Return the numbers of the blank lines and the other records, or raise an error that names a malformed row."""
        try:
            text = block.decode()
        except UnicodeDecodeError as error:
            row = self._rows + 2 + block.count(b"\n", 0, error.start)
            raise not_utf8(self._name, row, block[error.start]) from None
        csv.field_size_limit(MAX_RECORD)
        expected = len(self._columns)
        blank: list[int] = []
        records: list[list[str]] = []
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter, strict=True)
        try:
            for record in reader:
                if not record:
                    blank.append(len(blank) + len(records))
                elif len(record) == expected:
                    records.append(record)
                else:
                    fields = f"{len(record)} {'field' if len(record) == 1 else 'fields'}"
                    raise FileError(
                        f"the row has {fields}, the header has {expected}",
                        source=self._name,
                        places=[f"row {self._rows + len(blank) + len(records) + 2}"],
                        hint=f"Look for a missing or unquoted {self._delimiter!r}.",
                    )
        except csv.Error as error:
            raise FileError(
                f"the row is malformed ({error})",
                source=self._name,
                places=[f"row {self._rows + len(blank) + len(records) + 2}"],
                hint="Look for a quotation mark that is not closed.",
            ) from None
        return blank, records


def read_json_lines(opened: Opened, *, encoding: str) -> RawTable:
    """Read one JSON object per line; every value becomes text, nested ones as JSON."""
    name = opened.name
    blocks = _blocks(_as_utf8(opened.stream, name, encoding), name, quotes=False)
    first = _without_blank_lines(next(blocks, b""))
    if first.lstrip().startswith(b"["):
        raise FileError("it holds one JSON array", source=name, hint="Write one JSON object per line.")
    rows = 0

    def parse(block: bytes, schema: dict[str, type[pl.String]] | None) -> pl.DataFrame:
        nonlocal rows
        try:
            frame = pl.read_ndjson(block, schema=schema, infer_schema_length=None)
        except pl.exceptions.PolarsError as error:
            _find_bad_json(block, name, rows)
            raise FileError(f"it cannot be read as JSON lines ({_first_line(error)})", source=name) from None
        rows += frame.height if schema else 0
        return frame

    columns = parse(first, None).columns
    schema = dict.fromkeys(columns, pl.String)

    def pieces() -> Iterator[pl.DataFrame]:
        yield parse(first, schema)
        for block in blocks:
            yield parse(_without_blank_lines(block), schema)

    return RawTable(name, columns, pieces(), text=True, locate=lambda position: f"row {position + 1}")


def _find_bad_json(block: bytes, name: str, rows: int) -> None:
    for number, line in enumerate(block.splitlines(), start=rows + 1):
        try:
            value = json.loads(line)
        except UnicodeDecodeError as error:
            raise not_utf8(name, number, line[error.start]) from None
        except ValueError as error:
            problem = f"the line is not JSON ({error})"
        else:
            if isinstance(value, dict):
                continue
            problem = f"the line holds a JSON {type(value).__name__}, not an object"
        raise FileError(problem, source=name, places=[f"row {number}"], hint="Write one JSON object per line.")


def _without_blank_lines(block: bytes) -> bytes:
    return b"\n".join(line for line in block.splitlines() if line.strip()) + b"\n" if b"\n\n" in block else block


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
                f"the row is longer than {MAX_RECORD >> 20} MiB",
                source=name,
                places=[f"row {rows}"],
                hint="Look for a quotation mark that is not closed, or a file without line ends.",
            )
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


def _as_utf8(stream: IO[bytes], name: str, encoding: str) -> Callable[[int], bytes]:
    """Return a function that reads the stream as UTF-8 without a byte-order mark."""
    start = stream.peek(4) if hasattr(stream, "peek") else b""
    if encoding == UTF8:
        if start.startswith(_WIDE_BOMS):
            raise FileError("it is UTF-16, not UTF-8", source=name, hint="Pass --encoding utf-16.")
        if start.startswith(_BOM):
            stream.read(len(_BOM))
        return stream.read
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise FileError(f"{encoding!r} is not a known encoding", source=name, hint="Try latin-1 or utf-16.") from None

    def read(size: int) -> bytes:
        # A chunk that ends inside a character may decode to nothing, which would look like the end.
        while chunk := stream.read(size):
            try:
                if decoded := decoder.decode(chunk):
                    return decoded.encode()
            except UnicodeError as error:
                raise FileError(f"it is not {encoding} ({error})", source=name) from None
        return b""

    return read


def not_utf8(name: str, row: int, byte: int) -> FileError:
    """Return the error for text in another encoding."""
    return FileError(
        f"byte 0x{byte:02x} is not UTF-8 text",
        source=name,
        places=[f"row {row}"],
        hint="Save the file as UTF-8, or name its encoding, for example --encoding latin-1.",
    )


def _split_header(block: bytes, name: str) -> tuple[str, bytes]:
    cut = block.find(b"\n") + 1 or len(block)
    while block.count(b'"', 0, cut) % 2 and cut < len(block):
        cut = block.find(b"\n", cut) + 1 or len(block)
    try:
        return block[:cut].decode().rstrip("\r\n"), block[cut:]
    except UnicodeDecodeError as error:
        raise not_utf8(name, 1, block[error.start]) from None


def _check_header(columns: list[str], name: str) -> None:
    if not columns:
        raise FileError("the first line is blank", source=name, hint="It has to hold the column names.")
    for column in columns:
        if columns.count(column) > 1:
            raise ColumnError(f"two columns are named '{column}'", source=name, hint="Rename one of them.")


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]
