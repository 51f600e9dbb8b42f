"""From a file to a raw table: one reader for each kind of file, from any source."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from plurivox.base.errors import ColumnError, FileError, InputError
from plurivox.base.files import note_input
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import RawTable, refuse_cells, refuse_columns
from plurivox.read import parquet as store
from plurivox.read.json_documents import read_json
from plurivox.read.opening import INSIDE, Kind, Opened, open_source, refuse_unpacked, split_name, whole, without_panics
from plurivox.read.packed.folder import is_packed, named
from plurivox.read.packed.manifest import MANIFEST
from plurivox.read.packed.stored import PackedRatings
from plurivox.read.parquet import unpacked_size
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
        from plurivox.read.arrow import read_arrow

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
