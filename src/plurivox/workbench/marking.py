"""Which folder is a workbench: one that carries its marker, one with the SQLite file of version 0.2, or an empty one.

Everything else belongs to somebody, and nothing is written there.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from plurivox.base.errors import FileError
from plurivox.base.files import write_text

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
