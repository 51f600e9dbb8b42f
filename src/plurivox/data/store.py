"""Data sets in the user's cache: where they are, and how they get there."""

from __future__ import annotations

import shutil
from pathlib import Path

import platformdirs

from plurivox.base.errors import FileError, few
from plurivox.base.files import note_input, writing
from plurivox.data.checking import check_dataset
from plurivox.data.download import Progress, fetch, sha256_of
from plurivox.data.record import Dataset, Download, Loaded, load_from


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


def get(dataset: Dataset, source: Path | None = None, progress: Progress | None = None) -> list[Path]:
    """Put the files of a data set into the cache, from its address or from a local copy; return where they are."""
    if dataset.load is None:
        raise FileError(
            f"{dataset.name} can be neither fetched nor loaded: {dataset.seen}",
            source=dataset.home,
            hint="Get it there.",
        )
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
        name = _called(dataset, file)
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


def _called(dataset: Dataset, file: Path) -> str:
    """Return a copy's name in the cache: its own, or that of the only file if it is of the same kind."""
    names = names_of(dataset)
    alike = [name for name in names if file.suffixes[-1:] == Path(name).suffixes[-1:]]
    if file.name in names:
        return file.name
    if len(alike) != 1:
        raise FileError(
            f"its name differs from those of the files of {dataset.name}: {few(names)}", source=str(file),
            hint="Rename it, or read it where it is: pv.data.load(name, path).",
        )  # fmt: skip
    return alike[0]


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"this folder cannot be made ({error.strerror})", source=str(folder)) from None
    return folder


def load(dataset: Dataset, path: Path | None) -> Loaded:
    """Read a data set from a local file or folder, or from the cache."""
    if path is None and not is_held(dataset):
        raise FileError(
            f"there is no copy of {dataset.name} in {folder_of(dataset)}",
            hint=f"Get one with: plurivox data get {dataset.name}; or give the path of a copy.",
        )
    ratings, reference = load_from(dataset, folder_of(dataset) if path is None else path)
    return Loaded(dataset.name, dataset.title, ratings, reference, dataset.licence, dataset.citation)
