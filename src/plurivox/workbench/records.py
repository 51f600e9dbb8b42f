"""What a workbench keeps: records of studies, files and runs; which folder is one; and what is removed from it.

A workbench carries its marker, has the SQLite file of version 0.2, or is empty. Everything else belongs to somebody,
and nothing is written there.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from plurivox.base.errors import FileError, SelectionError
from plurivox.base.files import write_text

if TYPE_CHECKING:
    from plurivox.workbench.store import StudyStore


ROLES = ("ratings", "raters", "items", "population", "reference", "predictions", "answers")
"""What a file of a study can be."""
SEVERAL = ("predictions",)
"""The roles that can have several files, each for different models."""
MOST = 16
PLACES = tuple(
    place for role in ROLES for place in (role, *(f"{role}-{n}" for n in range(2, MOST + 1) if role in SEVERAL))
)
"""The places of a study's files: the role, with a number from the second of several upwards."""
KINDS = (
    ".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather", ".ipc", ".xlsx", ".xls",
    ".xlsb", ".ods", ".db", ".sqlite", ".sqlite3", ".duckdb", ".zip", ".gz", ".zst", ".csv.gz", ".tsv.gz", ".json.gz",
    ".jsonl.gz", ".csv.zst", ".tsv.zst", ".json.zst", ".jsonl.zst", ".eval", ".toml",
)  # fmt: skip
"""File extensions that are kept, since readers depend on them; others are left out."""
WAITING, RUNNING, DONE, FAILED, CANCELLED, INTERRUPTED = (
    "waiting", "running", "done", "failed", "cancelled", "interrupted",
)  # fmt: skip
One = TypeVar("One")


def role_in(place: str) -> str:
    """Return the role of a file from its place.

    Examples
    --------
    >>> role_in("predictions-2")
    'predictions'
    """
    return place.partition("-")[0]


def of_role(role: str, files: Mapping[str, One]) -> list[One]:
    """Return the files of a role, in order."""
    return [files[place] for place in PLACES if place in files and role_in(place) == role]


def free_place(role: str, taken: Iterable[str]) -> str | None:
    """Return the place of the next file of a role; None if there is no room."""
    known = set(taken)
    return next((place for place in PLACES if role_in(place) == role and place not in known), None)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a study: its place, see ``PLACES``, its owner's name for it, and ours.

    A packed study stays in place: then ``stored`` is the path of its folder, and ``sha256`` that of its manifest.
    """

    role: str
    shown: str
    stored: str
    size: int
    sha256: str

    @property
    def linked(self) -> bool:
        """Whether it is kept elsewhere and is not ours to delete."""
        return os.path.basename(self.stored) != self.stored


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """A study: how its files are read, its settings, and how often either was changed."""

    id: str
    name: str
    created: float
    changed: float
    reading: dict[str, Any]
    asked: dict[str, Any]
    revision: int
    files: dict[str, StoredFile]

    @property
    def packed(self) -> StoredFile | None:
        """The packed study that it uses, None for one made of files."""
        found = self.files.get("ratings")
        return found if found is not None and found.linked else None


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Something that was or is being computed: what, under which key, and how it ended."""

    id: str
    study: str
    kind: str
    key: str
    asked: dict[str, Any]
    state: str
    created: float
    ended: float | None
    problem: dict[str, Any] | None

    @property
    def going(self) -> bool:
        """Whether it has not ended."""
        return self.state in (WAITING, RUNNING)


class ChangedError(SelectionError):
    """A study was changed from another tab in the meantime."""


# Marking --------------------------------------------------------------------------------------------------------------
#
# Which folder is a workbench, what is removed from it, and how much computed output is kept.
#
# A workbench carries its marker, has the SQLite file of version 0.2, or is empty. Everything else belongs to
# somebody, and nothing is written there.


MARKER, DATABASE, LOCK = "plurivox-workbench.json", "workbench.sqlite3", "lock"
STUDIES, INCOMING = "studies", "incoming"
SIDES = ("", "-wal", "-shm", "-journal")
"""What SQLite appends to the name of its file, for the files beside it."""
KIND = "plurivox workbench"
VERSION = 1
MARKED, NEW, UNMARKED = "marked", "new", "unmarked"
ANOTHER = "Name a new or empty folder with --folder. Nothing was changed."
_PART = re.compile(re.escape(f".{MARKER}.") + r"[0-9a-f]{8}\.part")
_HEADER = b"SQLite format 3\0"


def kind_of(folder: Path) -> str:
    """Return whether a folder is marked, new, or unmarked but with a SQLite file that may be ours; touch nothing.

    Raises
    ------
    FileError
        If it holds something else, was made by a newer version, or one of our names in it is a link.
    """
    try:
        entries = {entry.name: entry for entry in os.scandir(folder)}
    except FileNotFoundError:
        return NEW
    except OSError as error:
        hint = "Name another with --folder."
        raise FileError(f"it cannot be used ({error.strerror})", source=str(folder), hint=hint) from None
    for name in (MARKER, LOCK, STUDIES, INCOMING, *(DATABASE + side for side in SIDES)):
        if name in entries and entries[name].is_symlink():
            hint = "Put what it leads to in its place, or name another folder with --folder. Nothing was changed."
            raise FileError("it is a link, which the workbench does not follow", source=str(folder / name), hint=hint)
    if MARKER in entries and entries[MARKER].is_file() and _is_marker(folder / MARKER):
        kind = MARKED
    elif all(map(_is_nothing, entries.values())):
        return NEW
    elif DATABASE in entries and entries[DATABASE].is_file() and _is_sqlite(folder / DATABASE):
        kind = UNMARKED
    else:
        raise FileError("it is not empty, and not a folder of the workbench", source=str(folder), hint=ANOTHER)
    for name in entries.keys() & {LOCK, STUDIES, INCOMING, *(DATABASE + side for side in SIDES)}:
        if entries[name].is_dir() != (name in (STUDIES, INCOMING)):
            problem = "it is not a folder" if name in (STUDIES, INCOMING) else "it is a folder, not a file"
            hint = "Move it away, or name another folder with --folder. Nothing was changed."
            raise FileError(problem, source=str(folder / name), hint=hint)
    return kind


def mark(folder: Path) -> None:
    """Mark a folder as a workbench."""
    write_text(folder / MARKER, json.dumps({"kind": KIND, "version": VERSION}) + "\n")


def newer(path: Path) -> FileError:
    """Return what is wrong with a file of a newer version."""
    hint = "Use that version, or name another folder with --folder. Nothing was changed."
    return FileError("it was made by a newer version of plurivox", source=str(path), hint=hint)


def _is_marker(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            told: Any = json.loads(file.read(4096))
    except (OSError, ValueError, RecursionError):
        return False
    if not isinstance(told, dict) or told.get("kind") != KIND or type(told.get("version")) is not int:
        return False
    if told["version"] > VERSION:
        raise newer(path)
    return True


def _is_nothing(entry: os.DirEntry[str]) -> bool:
    """Return whether nobody would miss it: it is ours by name, and empty, left by a start that was interrupted."""
    if entry.name in (STUDIES, INCOMING):
        return entry.is_dir() and not os.listdir(entry.path)
    if not entry.is_file():
        return False
    return _PART.fullmatch(entry.name) is not None or (entry.name in (LOCK, DATABASE) and not entry.stat().st_size)


def _is_sqlite(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_HEADER)) == _HEADER
    except OSError:
        return False


# Removing -------------------------------------------------------------------------------------------------------------
#
# What the workbench deletes: only what it made under names that it knows, and nothing behind a link.


KEY = re.compile(r"[0-9a-f]{24}")
"""Names of what was computed."""
RESULTS = "results"
RESULT = re.compile(r"\.?[0-9a-f]{24}\.json(\.[0-9a-f]{8}\.part)?")
"""Names of results of lenses, and of what an interrupted attempt to write one left behind."""


def within(folder: Path, path: Path) -> bool:
    """Return whether the way from a folder of ours to a path in it leads through no link."""
    between = path.relative_to(folder).parents
    return not any((folder / one).is_symlink() for one in list(between)[:-1])


def remove_file(folder: Path, path: Path) -> None:
    """Remove a file in a folder of ours, if it is there."""
    if within(folder, path):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def remove_folder(folder: Path, path: Path) -> None:
    """Remove a folder in a folder of ours, with all that is in it."""
    if within(folder, path):
        shutil.rmtree(path, ignore_errors=True)  # which follows no link either


def remove_written(folder: Path, path: Path) -> None:
    """Remove a file in a folder of ours, and what an interrupted attempt to write it left behind."""
    part = re.compile(re.escape(f".{path.name}.") + r"[0-9a-f]{8}\.part")
    for name in names_in(path.parent):
        if part.fullmatch(name):
            remove_file(folder, path.with_name(name))
    remove_file(folder, path)


def remove_made(folder: Path, made: Path) -> None:
    """Remove all that was computed for a study."""
    for name in names_in(made):
        if KEY.fullmatch(name):
            remove_folder(folder, made / name)
    for name in names_in(made / RESULTS):
        if RESULT.fullmatch(name):
            remove_file(folder, made / RESULTS / name)
    remove_empty(folder, (made / RESULTS, made))


def remove_empty(folder: Path, paths: Iterable[Path]) -> None:
    """Remove folders in a folder of ours in which nothing is left."""
    for path in paths:
        if within(folder, path):
            with contextlib.suppress(OSError):
                path.rmdir()  # fails for a link, and if anything is in it


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder, none if it cannot be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


# Keeping --------------------------------------------------------------------------------------------------------------
#
# How much computed output is kept: what has not been looked at for longest goes first, and can be made again.


MOST_BYTES = 1 << 30
MOST_ENTRIES = 2000
"""The most that is kept of one study."""
DONE_FILE = "done.json"


def touch(path: Path) -> None:
    """Note that something was looked at."""
    with contextlib.suppress(OSError):
        os.utime(path)


def prune(store: StudyStore, study: str, needed: Collection[str]) -> None:
    """Remove a study's output that has not been looked at for longest, until the rest is small enough.

    ``needed`` are keys that stay: what is being made, and what pages start with. Runs without results are forgotten.
    """
    made = store.made(study)
    every: list[tuple[float, int, Path]] = []  # when each was last looked at, and its size; without what is unfinished
    for path in (folder / name for folder in (made, made / RESULTS) for name in names_in(folder)):
        with contextlib.suppress(OSError):
            if KEY.fullmatch(path.name) and path.parent == made:
                used = (path / DONE_FILE).stat().st_mtime
                every.append((used, sum(one.stat().st_size for one in path.iterdir()), path))
            elif RESULT.fullmatch(path.name) and path.parent != made:
                known = path.stat()
                every.append((known.st_mtime, known.st_size, path))
    total, n = sum(size for _, size, _ in every), len(every)
    for _, size, path in sorted(every):
        if total <= MOST_BYTES and n <= MOST_ENTRIES:
            return
        if path.name in needed:
            continue
        total, n = total - size, n - 1
        if KEY.fullmatch(path.name):
            store.drop_runs(study, path.name)
            remove_folder(store.folder, path)
        else:
            remove_file(store.folder, path)
