"""From a file to a raw table: one reader for each kind of file, from any source; and tables beside ratings."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl

from plurivox.base.arguments import FilePath
from plurivox.base.errors import ColumnError, FileError, InputError
from plurivox.base.files import note_input
from plurivox.domain.attributes import AttributeTable
from plurivox.domain.points import with_joined
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import RawTable, id_column, refuse_cells, refuse_columns, to_polars
from plurivox.read import parquet as store
from plurivox.read.formats import export_of, kind_of, ratings_of
from plurivox.read.json_documents import read_json
from plurivox.read.opening import INSIDE, Kind, Opened, open_source, refuse_unpacked, split_name, whole, without_panics
from plurivox.read.packed.folder import is_packed, named
from plurivox.read.packed.manifest import MANIFEST
from plurivox.read.packed.stored import PackedRatings
from plurivox.read.parquet import unpacked_size
from plurivox.read.settings import Format, ReadSettings
from plurivox.read.text import as_utf8, json_lines, read_delimited

_ROWS = 1 << 20
"""How many rows of a Parquet file are read at once."""


@contextmanager
def open_table(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    kind: Kind | None = None,
    encoding: str = "utf-8",
    connection: Any = None,
) -> Iterator[RawTable | Ratings]:
    """Open a file, a folder, standard input or a query as a raw table, or as ratings that plurivox stored.

    A workbook, a database, an archive or a folder may hold several tables; ``study.xlsx::Raters`` names one. Several
    files with the same columns are one table.
    """
    with ExitStack() as stack:
        yield _opened(source, kind, encoding, connection, stack)


def _opened(source: Any, kind: Kind | None, encoding: str, connection: Any, stack: ExitStack) -> RawTable | Ratings:
    if not isinstance(source, str | os.PathLike):
        from plurivox.read.members import read_files

        return read_files([os.fspath(one) for one in source], kind, encoding, stack, table_in)
    if connection is not None:
        try:
            frame = pl.read_database(os.fspath(source), connection, infer_schema_length=None)
        except Exception as error:  # each database has exceptions of its own
            raise InputError(f"the query failed ({error})", source="query", hint="Check it in the database.") from error
        return RawTable.from_frame(frame, "query")
    file, inside = split_name(source)
    if is_packed(file):
        if isinstance(folder := named(file).folder, Path):
            note_input(folder / MANIFEST)
        return PackedRatings.open(file)
    if os.path.isdir(file):
        from plurivox.read.members import read_folder

        return read_folder(file, inside, kind, encoding, stack, table_in)
    return table_in(stack.enter_context(open_source(file, kind)), inside, encoding, stack)


def is_stored(source: str | os.PathLike[str]) -> bool:
    """Return whether plurivox wrote this itself, as a packed study or a file; it then holds its attributes."""
    file, inside = split_name(source)
    if is_packed(file):
        return True
    if inside is not None or not os.path.isfile(file) or Path(file).suffix.lower() not in store.ENDINGS:
        return False
    try:
        with without_panics():
            return store.description(os.fspath(file)) is not None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):  # reported when it is read
        return False


def table_in(opened: Opened, inside: str | None, encoding: str, stack: ExitStack) -> RawTable | Ratings:
    """Return the table in an open file; anything that must stay open while it is read is closed with the stack."""
    if opened.kind == "excel":
        from plurivox.read.excel import read_excel

        return read_excel(opened, inside)
    if opened.kind in ("sqlite", "duckdb"):
        from plurivox.read.databases import read_database

        return read_database(opened, inside, stack)
    if opened.kind == "zip":
        from plurivox.read.members import read_archive

        return read_archive(opened, inside, encoding, stack, table_in)
    if inside is not None:
        raise FileError(
            f"it is a single table and contains no '{inside}'", source=opened.name,
            hint=f"Leave out {INSIDE}{inside}; it names a sheet, a table of a database, or a file in an archive.",
        )  # fmt: skip
    if opened.kind == "parquet":
        return _parquet(opened)
    if opened.kind == "arrow":
        return read_arrow(opened)
    if opened.kind == "json":
        return read_json(opened, encoding=encoding)
    if opened.kind == "jsonl":
        return json_lines(as_utf8(opened.stream, opened.name, encoding), opened.name, opened.size)
    return read_delimited(opened, delimiter="\t" if opened.kind == "tsv" else None, encoding=encoding)


def _parquet(opened: Opened) -> RawTable | Ratings:
    # Polars maps a plain file into memory; packed or piped data are read whole.
    data: Any = opened.path or whole(opened)
    try:
        with without_panics():
            _refuse_large(data, opened)
            if (described := store.description(data)) is not None:
                return store.restore(data, described, opened.name)
            if isinstance(data, bytes):
                return RawTable.from_frame(pl.read_parquet(data, glob=False), opened.name)
        return RawTable(opened.name, list(pl.read_parquet_schema(data)), _in_pieces(data, opened.name))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _damaged(error, opened.name) from None


def _damaged(error: BaseException, name: str) -> FileError:
    first = str(error).split("\n", 1)[0]
    return FileError(
        f"the Parquet data is damaged or cut off ({first})", source=name, hint="Download or write it again."
    )


def _in_pieces(path: str, name: str) -> Iterator[pl.DataFrame]:
    """Yield the rows of a Parquet file in pieces, so that it need not fit into memory."""
    table = pl.scan_parquet(path, glob=False)
    pieces = iter(table.collect_batches(chunk_size=_ROWS, maintain_order=True))
    yield table.head(0).collect()
    while True:
        try:
            with without_panics():
                piece = next(pieces, None)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise _damaged(error, name) from None
        if piece is None:
            return
        yield piece


def _refuse_large(data: Any, opened: Opened) -> None:
    """Raise an error if a Parquet file has too many columns, or far more cells than its size can hold."""
    source = io.BytesIO(data) if isinstance(data, bytes) else data
    table = pl.scan_parquet(source, glob=False)
    columns = table.collect_schema()
    if not columns:
        raise FileError("it has no columns", source=opened.name, hint="It needs columns of items, raters and scores.")
    refuse_columns(len(columns), opened.name)
    rows = table.select(pl.len()).collect().item()
    refuse_cells(rows * len(columns), opened.size(), opened.name)
    with io.BytesIO(data) if isinstance(data, bytes) else open(data, "rb") as stream:
        refuse_unpacked(unpacked_size(stream) or 0, opened)


@contextmanager
def telling(remarks: Sequence[str]) -> Iterator[None]:
    """Add to an error about columns what was read as the table, such as one of several sheets."""
    try:
        yield
    except ColumnError as error:
        hint = " ".join([*([error.hint] if error.hint else []), *remarks])
        raise ColumnError(
            error.problem, source=error.source, column=error.column, places=error.places, n_places=error.n_places,
            hint=hint or None,
        ) from None  # fmt: skip


# Arrow ----------------------------------------------------------------------------------------------------------------
#
# Arrow files and streams, as polars, pandas (Feather) and pyarrow write them.
#
# How large a file is unpacked is read from its messages, because polars makes room for it before anything is checked.
#
# A stream is a sequence of messages; a file has a footer with their offsets. The head of a message is a flatbuffer,
# from which only sizes are read, by field number: ``Footer`` has the schema (1), blocks of dictionaries (2) and blocks
# of rows (3), each with an offset and two lengths; ``Message`` has the type of its header (1), the header (2) and the
# length of its body (3); ``Schema`` has its fields (1); ``DictionaryBatch`` has a batch (1); ``RecordBatch`` has its
# number of rows (0), nodes (1), buffers (2) and their compression (3). A compressed buffer begins with its unpacked
# length.


MAGIC, _END = b"ARROW1\0\0", b"ARROW1"
_GOES_ON = 0xFFFFFFFF
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3
_PLAIN = -1


class Sizes(NamedTuple):
    """What a stream of messages holds: columns, rows, cells of all columns and their parts, and unpacked bytes."""

    n_columns: int
    n_rows: int
    n_cells: int
    n_bytes: int


def sizes(data: bytes) -> Sizes:
    """Add up what the messages say; raise a ValueError if they are damaged or cut off."""
    try:
        if data.startswith(MAGIC):
            return _of_file(data)
        at: int | None = 0
        found = Sizes(0, 0, 0, 0)
        while at is not None and at + 8 <= len(data):
            found, at = _message(data, at, found)
        return found
    except (struct.error, IndexError, OverflowError) as error:
        raise ValueError("a message is cut off") from error


def _of_file(data: bytes) -> Sizes:
    """Add up the messages that a footer lists, as often as it lists them."""
    end = len(data) - len(_END)
    if data[end:] != _END:
        raise ValueError("the end is missing")
    (length,) = struct.unpack_from("<i", data, end - 4)
    if not 0 < length <= end - 4:
        raise ValueError("the footer is cut off")
    footer = _FlatTable.root(data, end - 4 - length, end - 4)
    found = Sizes(footer.table(1).vector(1)[1], 0, 0, 0)
    for field in (2, 3):
        blocks, n_blocks = footer.vector(field)
        for place in range(n_blocks):
            (offset,) = struct.unpack_from("<q", data, blocks + 24 * place)
            if not 0 <= offset < end:
                raise ValueError("the footer points outside the file")
            found, _ = _message(data, offset, found)
    return found


def _message(data: bytes, at: int, found: Sizes) -> tuple[Sizes, int | None]:
    """Add what a message says, and return where the next one is, None at the end."""
    mark, length = struct.unpack_from("<II", data, at)
    if mark != _GOES_ON:
        raise ValueError("a message does not begin as it should")
    at += 8
    if length == 0:
        return found, None
    message = _FlatTable.root(data, at, at + length)
    header, kind, body = message.table(2), message.number(1, "<B"), message.number(3, "<q")
    at += length
    if not 0 <= body <= len(data) - at:
        raise ValueError("a message is cut off")
    if kind == _SCHEMA:
        found = found._replace(n_columns=header.vector(1)[1])
    elif kind in (_DICTIONARY, _BATCH):
        batch = header.table(1) if kind == _DICTIONARY else header
        n_rows = batch.number(0, "<q") if kind == _BATCH else 0
        n_cells, n_bytes = _batch(batch, data, at, body)
        found = Sizes(found.n_columns, found.n_rows + n_rows, found.n_cells + n_cells, found.n_bytes + n_bytes)
    return found, at + body


def _batch(batch: _FlatTable, data: bytes, start: int, body: int) -> tuple[int, int]:
    """Return how many cells a batch has, including those of lists, and how many unpacked bytes."""
    n_cells = n_bytes = 0
    nodes, n_nodes = batch.vector(1)
    for place in range(n_nodes):
        (length,) = struct.unpack_from("<q", data, nodes + 16 * place)
        if length < 0:
            raise ValueError("a column has a negative number of rows")
        n_cells += length
    packed = batch.place(3) is not None
    buffers, n_buffers = batch.vector(2)
    for place in range(n_buffers):
        offset, length = struct.unpack_from("<qq", data, buffers + 16 * place)
        if offset < 0 or length < 0 or offset + length > body:
            raise ValueError("a buffer reaches beyond its message")
        unpacked = length
        if packed and length:
            (unpacked,) = struct.unpack_from("<q", data, start + offset)
            unpacked = length if unpacked == _PLAIN else unpacked
        if unpacked < 0:
            raise ValueError("a buffer has a wrong length")
        n_bytes += unpacked
    return n_cells, n_bytes


class _FlatTable(NamedTuple):
    """A table in a flatbuffer: where it is, and where its head ends."""

    data: bytes
    at: int
    end: int

    @classmethod
    def root(cls, data: bytes, start: int, end: int) -> _FlatTable:
        """Return the table to which an offset leads, or raise a ValueError if that is outside."""
        at = start + int(struct.unpack_from("<I", data, start)[0])
        if not 0 <= at <= end - 4 or end > len(data):
            raise ValueError("a message is cut off")
        return cls(data, at, end)

    def place(self, field: int) -> int | None:
        """Return where a field is, None if it has its default."""
        (back,) = struct.unpack_from("<i", self.data, self.at)
        known = self.at - back
        if not 0 <= known <= self.end - 4:
            raise ValueError("a message is damaged")
        (size,) = struct.unpack_from("<H", self.data, known)
        if 4 + 2 * field + 2 > size:
            return None
        (offset,) = struct.unpack_from("<H", self.data, known + 4 + 2 * field)
        return self.at + offset if offset else None

    def number(self, field: int, form: str) -> int:
        """Return a number, 0 if it is absent."""
        place = self.place(field)
        return 0 if place is None else int(struct.unpack_from(form, self.data, place)[0])

    def table(self, field: int) -> _FlatTable:
        """Return a table inside this one."""
        place = self.place(field)
        if place is None:
            raise ValueError("a message lacks a part")
        return _FlatTable.root(self.data, place, self.end)

    def vector(self, field: int) -> tuple[int, int]:
        """Return where the first element of a vector is, and how many there are."""
        place = self.place(field)
        if place is None:
            return 0, 0
        (offset,) = struct.unpack_from("<I", self.data, place)
        start = place + offset
        (length,) = struct.unpack_from("<I", self.data, start)
        if start + 4 + length > self.end:
            raise ValueError("a message is cut off")
        return start + 4, length


def read_arrow(opened: Opened) -> RawTable:
    """Read a file or a stream, once its messages show that it is not too large."""
    data, name = whole(opened), opened.name
    try:
        found = sizes(data)
        refuse_columns(found.n_columns, name)
        refuse_cells(max(found.n_cells, found.n_rows * max(1, found.n_columns)), len(data), name)
        refuse_unpacked(found.n_bytes, opened)
        with without_panics():
            read = pl.read_ipc if data.startswith(MAGIC) else pl.read_ipc_stream
            frame = read(data)
    except (ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise FileError(
            f"the Arrow data is damaged or cut off ({str(error).splitlines()[0] if str(error) else 'no reason'})",
            source=name, hint="Download or write the file again, or write it as Parquet.",
        ) from None  # fmt: skip
    if not frame.width:
        raise FileError("it has no columns", source=name, hint="It needs columns of items, raters and scores.")
    return RawTable.from_frame(frame, name)


# Tables beside ratings ------------------------------------------------------------------------------------------------
#
# Files, frames or exports of platforms that accompany ratings and describe raters or items.


def read_table(source: FilePath, *, format: Format | None = None, encoding: str = "utf-8") -> RawTable:  # noqa: A002
    """Read a whole file of attributes as a frame."""
    return read_again(source, None, format=format, encoding=encoding).plain()


def read_again(
    source: FilePath, asked: ReadSettings | None, *, format: Format | None, encoding: str  # noqa: A002
) -> RawTable:  # fmt: skip
    """Read the whole table that ratings came from once more; for an export, if ``asked`` is given, its answers."""
    with open_table(source, kind_of(format), encoding) as table:
        taken = None if asked is None or isinstance(table, Ratings) else ratings_of(table, format, asked)
        return _whole(table if taken is None else taken.export.table, source)


def _whole(table: RawTable | Ratings, source: FilePath) -> RawTable:
    if isinstance(table, Ratings):
        raise FileError("it holds ratings that plurivox stored, not a table", source=os.fspath(source))
    return replace(table, pieces=iter([table.frame()]))


def if_file(given: Any, role: Literal["item", "rater"], encoding: str, platform: str | None = None) -> Any:
    """Read a table that is a file, so that its columns can be looked at first."""
    return attributes_in(given, role, encoding, platform) if isinstance(given, str | os.PathLike) else given


def names_in(table: Any) -> Sequence[str]:
    """Return the column names of an opened table or a frame, none for None."""
    if table is None:
        return ()
    return table.columns if isinstance(table, RawTable) else to_polars(table).columns


def attribute_table(
    given: Any, role: Literal["item", "rater"], wanted: str, encoding: str, platform: str | None = None
) -> AttributeTable | None:
    """Return a table of items or raters from a file or a frame, None if there is none.

    ``platform`` is the platform that the ratings come from.
    """
    if given is None:
        return None
    if isinstance(given := if_file(given, role, encoding, platform), RawTable):
        table = with_joined(given, wanted)
        frame, name, locate = table.frame(), table.name, table.locate
        if not frame.height:
            raise FileError("there is only a header", source=name, hint=f"It needs one row per {role}.")
        ids = table.ids or id_column(frame.columns, role, wanted, name)
        return AttributeTable(frame, ids, name, locate, table.remarks)
    frame = to_polars(given)
    name = f"{role}s frame"
    return AttributeTable(frame, id_column(frame.columns, role, wanted, name), name)


def attributes_in(
    source: FilePath, role: Literal["item", "rater"], encoding: str = "utf-8", platform: str | None = None
) -> RawTable:
    """Read a table of items or raters, plain or as a platform exports it; the platform knows the column of ids."""
    table = read_again(source, None, format=None, encoding=encoding)
    named: Any = platform
    export = export_of(table, None, ReadSettings(format=named), "raters" if role == "rater" else "items")
    if export is None:
        return table.plain()
    return replace(_whole(export.table, source).plain(), ids=getattr(export, role))
