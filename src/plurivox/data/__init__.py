"""Public data sets: their sources, fetching them, and reading them into Ratings.

>>> from plurivox import data
>>> data.info("dices-350").scale
'No < Unsure < Yes'

Apart from ``ask``, this is the only part that uses the network; nothing is fetched unless :func:`get` is called.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import platformdirs

from plurivox.base.arguments import FilePath, checked
from plurivox.base.errors import FileError, InputError, few
from plurivox.base.files import note_input, writing
from plurivox.data.download import Progress, fetch, sha256_of
from plurivox.data.record import (
    Content,
    Dataset,
    Download,
    Loaded,
    SourceTable,
    columns_of,
    content,
    lacking,
    load_from,
    loader_of,
    places,
)
from plurivox.data.sets import catalogue
from plurivox.data.sets import dataset as _dataset

__all__ = ["Check", "Dataset", "Loaded", "check", "get", "info", "load", "names"]


def names() -> list[str]:
    """Return the names of all data sets."""
    return list(catalogue())


@checked
def info(name: str) -> Dataset:
    """Return what is known about a data set: licence, citation, address, files, columns, counts."""
    return _dataset(name)


@checked
def load(name: str, path: FilePath | None = None) -> Loaded:
    """Read a data set: its ratings with scale and attributes, the reference, the licence and the citation.

    Parameters
    ----------
    name
        One of :func:`names`.
    path
        A local file or folder; by default the copy that :func:`get` put into the cache.

    Raises
    ------
    FileError
        If there is no copy; the message says how to get one. If a file is not in the format of the data set.
    """
    dataset = _dataset(name)
    if path is None and not is_held(dataset):
        raise FileError(
            f"there is no copy of {dataset.name} in {folder_of(dataset)}",
            hint=f"Get one with: plurivox data get {dataset.name}; or give the path of a copy.",
        )
    ratings, reference = load_from(dataset, folder_of(dataset) if path is None else Path(path))
    return Loaded(dataset.name, dataset.title, ratings, reference, dataset.licence, dataset.citation)


@checked
def get(name: str, *, accept_licence: bool = False, source: FilePath | None = None) -> list[Path]:
    """Fetch a data set into the user's cache directory, and return its files.

    Parameters
    ----------
    name
        One of :func:`names`.
    accept_licence
        Say that you have read ``info(name).licence`` and accept it; without that nothing is fetched.
    source
        A local file or folder to use instead of fetching.
    """
    found = _dataset(name)
    if not accept_licence:
        raise InputError(
            f"{found.title}: the licence is: {found.licence}",
            hint="Read it, and pass accept_licence=True if you accept it.",
        )
    return put_into_cache(found, None if source is None else Path(source))


@checked
def check(path: FilePath, name: str | None = None) -> Check:
    """Check whether a local file or folder matches the record of a data set, and what differs."""
    return check_path(Path(path), None if name is None else _dataset(name))


# The cache ------------------------------------------------------------------------------------------------------------
#
# Where data sets are in the user's cache, and how they get there.


def folder_of(dataset: Dataset) -> Path:
    """Return the folder of a data set in the user's cache directory; it need not exist."""
    return platformdirs.user_cache_path("plurivox") / "data" / dataset.name


def held(dataset: Dataset) -> list[Path]:
    """Return the files of a data set that are in the cache."""
    folder = folder_of(dataset)
    return [folder / name for name in names_of(dataset) if (folder / name).is_file()]


def names_of(dataset: Dataset) -> list[str]:
    """Return the possible names of a data set's files: those to fetch, and its tables."""
    return list(dict.fromkeys([*(one.name for one in dataset.downloads), *(one.name for one in dataset.tables)]))


def is_held(dataset: Dataset) -> bool:
    """Return whether all files of a data set, or all of its tables, are in the cache."""
    there = {path.name for path in held(dataset)}
    fetched = {one.name for one in dataset.downloads if not one.optional}
    tables = {one.name for one in dataset.tables}
    return bool(there) and ((bool(fetched) and fetched <= there) or tables <= there)


def put_into_cache(dataset: Dataset, source: Path | None = None, progress: Progress | None = None) -> list[Path]:
    """Put the files of a data set into the cache, from its address or from a local copy; return where they are."""
    if dataset.load is None:
        raise FileError(
            f"{dataset.name} can be neither fetched nor loaded: {dataset.seen}", source=dataset.home,
            hint="Get it there.",
        )  # fmt: skip
    if source is not None:
        return _take(dataset, source)
    if not dataset.downloads:
        raise FileError(
            f"{dataset.name} cannot be fetched automatically", source=dataset.home,
            hint=f"Get it there, then give it: plurivox data get {dataset.name} --from FILE.",
        )  # fmt: skip
    folder = _made(folder_of(dataset))
    return [path for one in dataset.downloads if (path := _fetched(one, folder, progress)) is not None]


def _fetched(one: Download, folder: Path, progress: Progress | None) -> Path | None:
    path = folder / one.name
    if path.is_file() and (one.sha256 is None or sha256_of(path) == one.sha256):
        return path
    try:
        return fetch(one.address, path, sha256=one.sha256, progress=progress)
    except FileError as error:
        if one.optional and "the server answered 404" in error.problem:
            return None
        raise


def _take(dataset: Dataset, source: Path) -> list[Path]:
    """Copy local files into the cache, after checking that they are those of the data set."""
    if not source.exists():
        raise FileError("there is no such file or folder", source=str(source), hint="Check the name.")
    names = names_of(dataset)
    files = [source / name for name in names if (source / name).is_file()] if source.is_dir() else [source]
    if not files:
        raise FileError(f"this folder has none of {few(names)}", source=str(source), hint="Name the file.")
    found = check_dataset(dataset, source)
    if not found.fits:
        raise FileError(
            f"it is not {dataset.name}: {'; '.join(found.wrong)}", source=str(source),
            hint="plurivox data check shows more.",
        )  # fmt: skip
    sums = {one.name: one.sha256 for one in dataset.downloads if one.sha256}
    folder = _made(folder_of(dataset))
    taken = []
    for file in files:
        alike = [name for name in names if file.suffixes[-1:] == Path(name).suffixes[-1:]]
        if file.name not in names and len(alike) != 1:
            raise FileError(
                f"its name differs from those of the files of {dataset.name}: {few(names)}", source=str(file),
                hint="Rename it, or read it where it is: pv.data.load(name, path).",
            )  # fmt: skip
        name = file.name if file.name in names else alike[0]  # the only one of the same kind
        if name in sums and sha256_of(file) != sums[name]:
            raise FileError(
                f"its SHA-256 is not that of {name} as published", source=str(file),
                hint="It can be read where it is: pv.data.load(name, path).",
            )  # fmt: skip
        if not (folder / name).is_file() or not file.samefile(folder / name):
            note_input(file)
            with file.open("rb") as old, writing(folder / name) as new:
                shutil.copyfileobj(old, new)
        taken.append(folder / name)
    return taken


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"this folder cannot be made ({error.strerror})", source=str(folder)) from None
    return folder


# Checking -------------------------------------------------------------------------------------------------------------
#
# Whether a local file matches a data set's record, and what differs.


@dataclass(frozen=True, slots=True)
class Check:
    """What was found about a file or folder.

    Attributes
    ----------
    name
        The data set that it was compared with.
    fits
        Whether it can be loaded as that.
    same
        Whether nothing differs from what is known about the original.
    agrees, differs, wrong
        What agrees, what differs without harm, and what keeps it from being loaded.
    """

    path: str
    name: str
    fits: bool
    same: bool
    agrees: tuple[str, ...]
    differs: tuple[str, ...]
    wrong: tuple[str, ...]

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


def check_path(path: Path, dataset: Dataset | None = None) -> Check:
    """Compare a file or folder with the named data set, or with the one its name, columns or checksum suggest."""
    if not path.exists():
        raise FileError("there is no such file or folder", source=str(path), hint="Check the name.")
    return check_dataset(dataset or _recognised(path), path)


def _recognised(path: Path) -> Dataset:
    """Return the data set to which a file belongs."""
    known = [one for one in catalogue().values() if one.load is not None]
    names = {entry.name for entry in path.iterdir()} if path.is_dir() else {path.name}
    for one in known:
        needed = {table.name for table in one.tables if not table.optional}
        if names & {*needed, *(file.name for file in one.downloads)}:
            return one
    read: dict[str, Content] = {}  # a table of text is the same, whichever data set it is compared with
    alike: dict[str, int] = {}  # how many columns of the original a table has, minus those that it lacks
    for one in known if path.is_file() else ():
        try:
            for name, place in places(one, path).items():
                table = next(table for table in one.tables if table.name == name)
                if table.form not in read or table.form == "jsonl" or place[1] is not None:
                    read[table.form] = content(table, place)
                if not lacking(table, read[table.form]):
                    there, original = set(columns_of(read[table.form])), {*table.columns, *table.more}
                    alike[one.name] = len(there & original) - len(original - there)
        except InputError:
            continue
    if alike:
        return catalogue()[max(alike, key=lambda name: alike[name])]
    raise FileError(
        "its name and columns do not match any data set that plurivox knows", source=str(path),
        hint="plurivox data list shows them; --as NAME compares it with one.",
    )  # fmt: skip


def check_dataset(dataset: Dataset, path: Path) -> Check:
    """Compare a file or folder with one data set: names, columns, counts and checksums."""
    loader_of(dataset, path)  # or an error: there is nothing to compare it with
    said: list[tuple[bool, str]] = []  # whether something agrees, and what is said about it
    wrong: list[str] = []
    try:
        where = places(dataset, path)
    except InputError as error:
        return Check(str(path), dataset.name, False, False, (), (), (error.problem,))
    for table in dataset.tables:
        if table.name not in where:
            said.append((False, f"{table.name} is missing; the data set loads without it"))
            continue
        file, member = where[table.name]
        if member is None:
            same = file.name == table.name
            said.append((same, f"it is called {file.name}{'' if same else f', not {table.name}'}"))
        try:
            found = content(table, (file, member))
        except InputError as error:
            wrong.append(str(error))
            continue
        if absent := lacking(table, found):
            wrong.append(f"{table.name}: there is no column {few(absent)}")
        said += [*_columns(table, columns_of(found)), *_number(table.name, "rows", len(found), table.rows)]
        if member is None and table.sha256 is not None:
            said.append(_sum(table.name, file, table.sha256))
    for one in dataset.downloads:
        for file in (path / one.name, path):
            if one.sha256 and file.is_file() and file.name == one.name and one.name not in where:
                said.append(_sum(one.name, file, one.sha256))
    if not wrong:
        said += _counts(dataset, path, wrong)
    agrees, differs = (tuple(text for same, text in said if same is wanted) for wanted in (True, False))
    return Check(str(path), dataset.name, not wrong, not wrong and not differs, agrees, differs, tuple(wrong))


def _columns(table: SourceTable, there: Sequence[str]) -> Iterator[tuple[bool, str]]:
    known = {*table.columns, *table.more}
    absent = [one for one in table.more if one not in there]
    if absent:
        yield False, f"{table.name}: columns of the original are missing: {few(absent)}"
    if table.more and (beyond := [one for one in there if one not in known]):
        yield False, f"{table.name}: columns that the original lacks: {few(beyond)}"
    if known and not absent and known <= set(there):
        yield True, f"{table.name}: {len(known)} columns as described"


def _sum(name: str, file: Path, known: str) -> tuple[bool, str]:
    found = sha256_of(file)
    return found == known, f"{name}: the SHA-256 is {'as known' if found == known else f'{found}, not {known}'}"


def _number(name: str, what: str, found: int, known: int | None) -> Iterator[tuple[bool, str]]:
    if known is not None:
        yield found == known, f"{name}: {found:,} {what}" + ("" if found == known else f", not {known:,}")


def _counts(dataset: Dataset, path: Path, wrong: list[str]) -> Iterator[tuple[bool, str]]:
    try:
        ratings, _ = load_from(dataset, path)
    except InputError as error:
        wrong.append(error.problem)
        return
    for what, n in (("items", ratings.n_items), ("raters", ratings.n_raters), ("ratings", len(ratings))):
        yield from _number(dataset.name, what, n, getattr(dataset.counts, what))
