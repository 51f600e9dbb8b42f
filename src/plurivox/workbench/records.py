"""What is known of studies: their files, what is asked of them, and what was worked out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from plurivox.errors import SelectionError

ROLES = ("ratings", "raters", "items", "population", "reference", "predictions", "answers")
"""What a file of a study can be."""
SEVERAL = ("predictions",)
"""Of what a study can have several files, each of other models."""
MOST = 16
PLACES = tuple(
    place for role in ROLES for place in (role, *(f"{role}-{n}" for n in range(2, MOST + 1) if role in SEVERAL))
)
"""Where a file of a study can stand: its role, and from the second of several on a number with it."""
KINDS = (
    ".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather", ".ipc", ".xlsx", ".xls",
    ".xlsb", ".ods", ".db", ".sqlite", ".sqlite3", ".duckdb", ".zip", ".gz", ".zst", ".csv.gz", ".tsv.gz", ".json.gz",
    ".jsonl.gz", ".csv.zst", ".tsv.zst", ".json.zst", ".jsonl.zst", ".eval", ".toml",
)  # fmt: skip
"""Ends of names that are kept, since readers go by them; others are left out."""
WAITING, RUNNING, DONE, FAILED, CANCELLED, INTERRUPTED = (
    "waiting", "running", "done", "failed", "cancelled", "interrupted",
)  # fmt: skip
One = TypeVar("One")


def role_in(place: str) -> str:
    """Return what a file is by where it stands.

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
    """Return where the next file of a role stands; None where there is no room."""
    known = set(taken)
    return next((place for place in PLACES if role_in(place) == role and place not in known), None)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a study: where it stands, see ``PLACES``, what its owner calls it, what we call it.

    A packed study stays where it lies: then ``stored`` is the path of its folder, and ``sha256`` that of its manifest.
    """

    role: str
    shown: str
    stored: str
    size: int
    sha256: str

    @property
    def linked(self) -> bool:
        """Whether it lies elsewhere and is not ours to delete."""
        return os.path.basename(self.stored) != self.stored


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """A study: how its files are read, what is asked of it, and how often either was changed."""

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
        """The packed study that it is of, None for one of files."""
        found = self.files.get("ratings")
        return found if found is not None and found.linked else None


@dataclass(frozen=True, slots=True)
class Run:
    """Something that was worked out, or is: what, under which key, and how it ended."""

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
    """A study was changed meanwhile, from another tab."""
