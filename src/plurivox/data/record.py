"""Public data sets: what is known about each, and how its files are found and read."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal

import polars as pl

from plurivox.base.errors import ColumnError, FileError, InputError, few
from plurivox.base.files import note_input
from plurivox.domain.ratings import Ratings
from plurivox.read.json_documents import loaded, without_commas
from plurivox.read.members import DAMAGED
from plurivox.read.opening import MAX_WHOLE, WHOLE_PER_BYTE, open_source, readable, without_panics
from plurivox.read.tables import read_table

Form = Literal["csv", "tsv", "jsonl", "json"]
"""How a table is written: ``jsonl`` has one object per line, ``json`` is one list, or one object, of objects."""
Tables = Mapping[str, pl.DataFrame | list[dict[str, Any]]]
"""What the tables of a data set hold, by the name of the table: frames of text, or objects."""
Both = tuple[Ratings, Ratings | None]
"""The ratings, and those of experts, if the data set has some."""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """One table that a loader reads: a file, or a file in an archive."""

    name: str
    form: Form
    columns: tuple[str, ...] = ()
    """Columns, or keys of each object, that the loader needs."""
    more: tuple[str, ...] = ()
    """Further columns of the original; it also loads without them."""
    rows: int | None = None
    """How many rows or objects there are, if published or counted."""
    sha256: str | None = None
    """The SHA-256 of a copy that was seen."""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Download:
    """A file to fetch. Its address is where the authors put it."""

    name: str
    address: str
    sha256: str | None = None
    """The SHA-256 of the file at the address, if known; a file with another one is refused."""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """How large a data set is; None if unknown."""

    items: int | None = None
    raters: int | None = None
    ratings: int | None = None
    said_by: str = ""
    """Who says so."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A public data set.

    Attributes
    ----------
    seen
        Which original file the loader has read, or that it has read none and follows the published description.
    load
        From tables to ratings and the reference; None if the format is unknown.
    """

    name: str
    title: str
    question: str
    citation: str
    licence: str
    home: str
    scale: str
    tables: tuple[SourceTable, ...]
    downloads: tuple[Download, ...]
    counts: Counts
    seen: str
    load: Callable[[Tables], Both] | None
    rater_attributes: tuple[str, ...] = ()
    item_attributes: tuple[str, ...] = ()
    reference: str = ""
    """What the reference is."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A data set that was read: ratings, the reference, and what must be stated when it is used.

    Attributes
    ----------
    name, title
        What it is called.
    ratings
        Who rated what, with the scale in its right order and the attributes of raters and items.
    reference
        Ratings of experts, or None.
    licence, citation
        The terms on which it may be used, and whom to cite.
    """

    name: str
    title: str
    ratings: Ratings
    reference: Ratings | None
    licence: str
    citation: str


# Reading --------------------------------------------------------------------------------------------------------------
#
# From the files of a data set to its tables, and to ratings; archives are read as they are, never unpacked.


LONGEST = 1 << 24
"""The most bytes a line of JSON Lines may have."""
Place = tuple[Path, str | None]
"""A file, and the member that holds the table if it is an archive."""
Content = pl.DataFrame | list[dict[str, Any]]


def places(dataset: Dataset, path: Path) -> dict[str, Place]:
    """Return where the tables of a data set are: in a folder, an archive, or a file that is the only one needed."""
    if not path.exists():
        raise FileError("there is no such file or folder", source=str(path), hint="Check the name.")
    archives = [one for one in (sorted(path.iterdir()) if path.is_dir() else [path]) if _is_archive(one)]
    found: dict[str, Place] = {}
    for table in dataset.tables:
        if path.is_dir() and (path / table.name).is_file():
            found[table.name] = (path / table.name, None)
        for archive in archives if table.name not in found else ():
            members = [one for one in _members(archive) if one.rpartition("/")[2] == table.name]
            if members:
                found[table.name] = (archive, min(members, key=lambda name: (name.count("/"), name)))
    if not path.is_dir() and not archives:
        needed = [table for table in dataset.tables if not table.optional]
        named = [table for table in dataset.tables if path.name == table.name]
        if named and all(table.optional for table in dataset.tables if table not in named):
            found[path.name] = (path, None)
        elif len(needed) == 1:
            found[needed[0].name] = (path, None)
        elif named:
            return places(dataset, path.parent)
    missing = [table.name for table in dataset.tables if not table.optional and table.name not in found]
    if missing or not found:
        wanted = missing or [table.name for table in dataset.tables]
        raise FileError(
            f"{dataset.name} consists of {few(wanted)}, which is missing", source=str(path),
            hint="Give a folder that contains it, or the archive.",
        )  # fmt: skip
    return found


def _is_archive(path: Path) -> bool:
    with readable(str(path)):
        return path.is_file() and zipfile.is_zipfile(path)


def _members(archive: Path) -> list[str]:
    with _opened(archive) as file:
        return [one.filename for one in file.infolist() if not one.is_dir() and "__MACOSX" not in one.filename]


def _opened(archive: Path) -> zipfile.ZipFile:
    note_input(archive)
    try:
        return zipfile.ZipFile(archive)
    except DAMAGED as error:
        raise _damaged(archive, error) from None


def _damaged(archive: Path, error: Exception) -> FileError:
    return FileError(f"the archive is damaged ({error})", source=str(archive), hint="Download it again.")


def content(table: SourceTable, place: Place) -> Content:
    """Return what a table holds: a frame of text, or a list of objects."""
    path, member = place
    if member is None and table.form in ("csv", "tsv"):
        return read_table(path, format=None if path.suffix in (".parquet", ".gz", ".zst") else table.form).frame()
    name = str(path) if member is None else f"{path}/{member}"
    if member is None and table.form == "jsonl":
        with open_source(path, "jsonl") as opened:
            return list(_objects(_lines(opened.stream, name), table, name))
    data = _bytes(path, member)
    if table.form in ("csv", "tsv"):
        return _delimited(data, "\t" if table.form == "tsv" else ",", name)
    return list(_objects(data.splitlines() if table.form == "jsonl" else data, table, name))


def _lines(stream: IO[bytes], name: str) -> Iterator[bytes]:
    while line := stream.readline(LONGEST + 1):
        if len(line) > LONGEST:
            raise FileError(f"a line has more than {LONGEST >> 20} MiB", source=name, hint="Is it JSON Lines?")
        yield line


def _bytes(path: Path, member: str | None) -> bytes:
    """Return a whole file, unpacked, or a member of an archive; raise if that is too much for its size."""
    most = max(MAX_WHOLE, WHOLE_PER_BYTE * path.stat().st_size)
    if member is None:
        with open_source(path, "jsonl") as opened:
            data = opened.stream.read(most + 1)
    else:
        try:
            with _opened(path) as archive, archive.open(member) as file:
                data = file.read(most + 1)
        except DAMAGED as error:
            raise _damaged(path, error) from None
    if len(data) > most:
        raise FileError(f"it unpacks to more than {most >> 20:,} MiB", source=str(path), hint="Check its content.")
    return data


def _delimited(data: bytes, separator: str, name: str) -> pl.DataFrame:
    try:
        with without_panics():
            return pl.read_csv(io.BytesIO(data), separator=separator, infer_schema=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first = str(error).split("\n", 1)[0]
        raise FileError(f"it cannot be read as a table ({first})", source=name, hint="Download it again.") from None


def _objects(data: bytes | Iterable[bytes], table: SourceTable, name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON, with their key, or the number of their line, as :data:`KEY`."""
    found: Any
    if not isinstance(data, bytes):
        wanted = {*table.columns, *table.more}  # the rest may be long, and would fill the memory
        rows = ((number, loaded(line, name, f"row {number}")) for number, line in enumerate(data, 1) if line.strip())
        found = (
            {key: value for key, value in row.items() if key in wanted} | {KEY: str(number)}
            if isinstance(row, dict)
            else row
            for number, row in rows
        )
    else:
        found = _json(data, name)
        if isinstance(found, dict):
            found = [{**one, KEY: key} if isinstance(one, dict) else one for key, one in found.items()]
        if not isinstance(found, list):
            raise FileError("it is not a list of objects", source=name, hint="Download it again.")
    for number, one in enumerate(found, 1):
        if not isinstance(one, dict):
            raise FileError(
                "this is not an object", source=name, places=[f"object {number:,}"], hint="Download it again."
            )
        yield one


KEY = "\0key"
"""The name for the key of an object in an object of objects, or for the number of its line."""


def _json(data: bytes, name: str) -> Any:
    """Read JSON; commas before a closing bracket, which two files of LeWiDi 2025 have, are ignored."""
    try:
        return loaded(data, name)
    except FileError:
        text = data.decode(errors="surrogateescape")
        if (mended := without_commas(text)) == text:
            raise
        return loaded(mended.encode(errors="surrogateescape"), name)


def columns_of(found: Content) -> list[str]:
    """Return the columns of a table, or the keys of its objects."""
    if isinstance(found, pl.DataFrame):
        return found.columns
    keys: dict[str, None] = {}
    for one in found:
        keys.update(dict.fromkeys(one))
    return [key for key in keys if key != KEY]


def lacking(table: SourceTable, found: Content) -> list[str]:
    """Return the columns that a loader needs and a table lacks; for objects, what any of them lacks."""
    if isinstance(found, pl.DataFrame):
        return [one for one in table.columns if one not in found.columns]
    return [one for one in table.columns if not found or any(one not in row for row in found)]


def loader_of(dataset: Dataset, path: Path) -> Callable[[Tables], Both]:
    """Return what loads a data set, or raise if nothing is known of its files."""
    if dataset.load is None:
        raise FileError(
            f"{dataset.name} has no loader: {dataset.seen}", source=str(path),
            hint="Read it with read_ratings, naming its columns.",
        )  # fmt: skip
    return dataset.load


def load_from(dataset: Dataset, path: Path) -> Both:
    """Return the ratings and the reference of a data set from local files."""
    load = loader_of(dataset, path)
    where = places(dataset, path)
    tables: dict[str, Content] = {}
    for table in dataset.tables:
        if table.name in where:
            found = tables[table.name] = content(table, where[table.name])
            if absent := lacking(table, found):
                raise ColumnError(
                    f"{dataset.name} needs {few(absent)}, which is missing; it has {few(columns_of(found))}",
                    source=str(where[table.name][0]), hint=f"plurivox data check shows what differs from {table.name}.",
                )  # fmt: skip
    source = os.fspath(path)
    try:
        ratings, reference = load(tables)
    except InputError as error:
        if error.source not in (None, "frame", "raters frame", "items frame"):
            raise
        raise type(error)(
            error.problem, source=source, column=error.column, places=_rows(error, dataset), n_places=error.n_places,
            hint=error.hint,
        ) from None  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
        raise FileError(
            f"it is not in the format of {dataset.name} ({type(error).__name__}: {error})", source=source,
            hint="plurivox data check shows what differs.",
        ) from None  # fmt: skip
    return _named(ratings, source), None if reference is None else _named(reference, source)


def _rows(error: InputError, dataset: Dataset) -> Sequence[str]:
    """Return the rows of a frame as rows of its file, whose header is the first; in JSON they differ."""
    if error.source is None:
        return error.places
    if dataset.tables[0].form not in ("csv", "tsv"):
        return ()
    return [re.sub(r"\d+", lambda found: str(int(found[0]) + 1), place, count=1) for place in error.places]


def _named(ratings: Ratings, source: str) -> Ratings:
    return replace(ratings, intake=replace(ratings.intake, source=source))
