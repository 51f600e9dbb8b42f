"""What is known about studies: their files, their settings, and what was computed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from plurivox.base.errors import SelectionError

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
