"""What a study's own folder says about it, so that the study can be taken in again if the list of studies is lost.

This manifest is written whole whenever the study changes. When it is read, it is data from anywhere: it can name only
files of the study itself, under names that we give, with the sizes and checksums that it states.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plurivox.base.errors import FileError, PlurivoxError, few
from plurivox.report.settings import MOST_LOOKS, ReportSettings
from plurivox.workbench.reading import ReadingSettings
from plurivox.workbench.records import PLACES, STUDIES, StoredFile, StudyRecord, within
from plurivox.workbench.salvaging import ID, SHA256, STORED, is_count, is_number, is_text, may_be

if TYPE_CHECKING:
    from plurivox.workbench.store import StudyStore

MANIFEST = "study.json"
KIND = "plurivox study"
VERSION = 1
LARGEST = 4 << 20
_PIECE = 1 << 20
_LEFT = "It was left as it is."


@dataclass(frozen=True)
class StudyManifest:
    """What is known about a study; ``looks`` are the data whose tests were looked at, and when, if it was watched."""

    name: str
    created: float
    reading: dict[str, Any]
    asked: dict[str, Any]
    files: tuple[StoredFile, ...]
    notes: dict[str, str]
    planned: int | None
    expected: int | None
    looks: dict[str, float]
    revision: int


def text_of(study: StudyRecord, notes: Mapping[str, str], watch: Mapping[str, Any],
            looks: Mapping[str, float]) -> str:  # fmt: skip
    """Return the manifest of a study; a packed study that it uses is not ours, and not in it."""
    told = StudyManifest(
        study.name, study.created, study.reading, study.asked,
        tuple(file for file in study.files.values() if not file.linked), dict(notes),
        watch.get("planned"), watch.get("expected"), dict(looks), study.revision,
    )  # fmt: skip
    return json.dumps({"kind": KIND, "version": VERSION, **asdict(told)}, ensure_ascii=False, indent=1) + "\n"


def read_manifest(folder: Path, study: str) -> StudyManifest:
    """Return what the folder of a study says about it, if it is one that we can have written and its files are there.

    Raises
    ------
    FileError
        If it is not.
    """
    home = folder / "studies" / study
    if not ID.fullmatch(study):
        raise _wrong(home, "its name is not that of a study's folder")
    if not within(folder, home / "inputs" / "file"):
        raise _wrong(home, "it is a link, or has links in it")
    told = _parsed(home / MANIFEST)
    problem = _problem_with(told)
    if problem is not None:
        raise _wrong(home / MANIFEST, problem)
    known = {one.name: told[one.name] for one in fields(StudyManifest)}
    files = tuple(StoredFile(**one) for one in told["files"])
    for file in files:
        _check(home / "inputs" / file.stored, file)
    return StudyManifest(**{**known, "files": files})


def names_file(path: Path, stored: str, revision: int) -> bool:
    """Return whether a manifest, if it is not older than a revision of its study, names a file."""
    try:
        told = _parsed(path)
    except FileError:
        return False
    return _problem_with(told) is None and told["revision"] >= revision and any(
        one["stored"] == stored for one in told["files"]
    )  # fmt: skip


def _wrong(path: Path, problem: str) -> FileError:
    return FileError(problem, source=str(path), hint=_LEFT)


def _parsed(path: Path) -> dict[str, Any]:
    content = b"".join(_pieces(path, LARGEST))
    if len(content) > LARGEST:
        raise _wrong(path, "it is too large")
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        raise _wrong(path, "it is not valid JSON") from None
    if not isinstance(told, dict) or told.get("kind") != KIND or type(told.get("version")) is not int:
        raise _wrong(path, "it does not describe a study of the workbench")
    if told["version"] > VERSION:
        raise _wrong(path, "it was made by a newer version of plurivox")
    return told


def _problem_with(told: Mapping[str, Any]) -> str | None:
    """Return which part of a manifest is not one that we write, None if all are."""
    if not told.keys() >= {one.name for one in fields(StudyManifest)}:
        return "a part of it is missing"
    files, notes, looks = told["files"], told["notes"], told["looks"]
    if not is_count(told["revision"]):
        return "its revision is not valid"
    if not (is_text(told["name"]) and 0 < len(told["name"]) <= 200 and is_number(told["created"])):
        return "its name or date is not valid"
    if not isinstance(files, list) or not all(map(_is_file, files)):
        return "it names files that a study cannot have"
    if any(len({one[name] for one in files}) < len(files) for name in ("role", "stored")):
        return "it names a file twice"
    if not isinstance(notes, dict) or not all(is_text(part) for pair in notes.items() for part in pair):
        return "its notes are not text"
    if not isinstance(looks, dict) or not all(is_text(data) and is_number(at) for data, at in looks.items()):
        return "its looks are not valid"
    planned, expected = told["planned"], told["expected"]
    if planned is not None and not (is_count(planned) and 1 <= planned <= MOST_LOOKS):
        return "its planned looks are not valid"
    if expected is not None and not is_count(expected):
        return "the number of ratings expected is not valid"
    for name, record in (("reading", ReadingSettings), ("asked", ReportSettings)):
        try:
            record.from_dict(told[name])
        except (PlurivoxError, TypeError, ValueError, AttributeError, RecursionError):
            return f"its settings ({name}) are not valid"
    return None


def _is_file(one: Any) -> bool:
    return (
        isinstance(one, dict) and one.keys() == {*StoredFile.__slots__} and one["role"] in PLACES
        and is_text(one["shown"]) and len(one["shown"]) <= 200 and isinstance(one["stored"], str)
        and STORED.fullmatch(one["stored"]) is not None and may_be(one["role"], one["stored"])
        and is_count(one["size"]) and isinstance(one["sha256"], str) and SHA256.fullmatch(one["sha256"]) is not None
    )  # fmt: skip


def _check(path: Path, file: StoredFile) -> None:
    digest, size = hashlib.sha256(), 0
    for piece in _pieces(path, file.size):
        digest.update(piece)
        size += len(piece)
    if (size, digest.hexdigest()) != (file.size, file.sha256):
        raise _wrong(path, f"it is not the file that {MANIFEST} names: its size or checksum differs")


def _pieces(path: Path, most: int) -> Iterator[bytes]:
    """Yield what is in a file, up to the first piece that exceeds a size; a link or a pipe is not opened."""
    try:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _wrong(path, "it is not a file")
            size = 0
            while size <= most and (piece := file.read(_PIECE)):
                size += len(piece)
                yield piece
    except OSError as error:
        text = "it is missing" if isinstance(error, FileNotFoundError) else f"it cannot be read ({error.strerror})"
        raise _wrong(path, text) from None


SHOWN = 10
"""Folders that a sentence names."""


def unlisted(store: StudyStore) -> list[str]:
    """Return the names of folders among the studies that are not in the list of studies."""
    known = {row["id"] for row in store.rows("select id from studies")}
    return sorted(
        entry.name for entry in os.scandir(store.folder / STUDIES) if entry.is_dir() and entry.name not in known
    )


def remarks_on(store: StudyStore, adopted: bool) -> list[str]:
    """Return what to say about folders that are not in the list of studies; ``adopted`` if those that can be, were."""
    names = unlisted(store)
    ours = [name for name in names if os.path.lexists(store.folder / STUDIES / name / MANIFEST)]
    others = [name for name in names if name not in ours]
    told = []
    if ours and not adopted:
        start, them = (f"1 folder in {STUDIES}/ is", "it") if len(ours) == 1 else (_many(ours), "them")
        told.append(f"{start} not in the list of studies: {few(ours, SHOWN)}; plurivox serve --adopt takes {them} in")
    if others:
        if len(others) == 1:
            told.append(f"1 folder in {STUDIES}/ is not a study, and is left alone: {few(others)}")
        else:
            told.append(f"{_many(others)} not studies, and are left alone: {few(others, SHOWN)}")
    return told


def _many(names: Sequence[str]) -> str:
    return f"{len(names):,} folders in {STUDIES}/ are"


def adopt(store: StudyStore) -> list[str]:
    """Take in what the folders of studies say, unless the list of studies is newer; return what to say about it."""
    told, taken, new = [], [], unlisted(store)
    known = {one.id: one for one in store.studies()}
    for study in (*new, *known):
        if not os.path.lexists(store.folder / STUDIES / study / MANIFEST):
            continue
        try:
            found = read_manifest(store.folder, study)
        except FileError as error:
            told += [f"{STUDIES}/{study} was not taken in: {error}"] if study in new else []
            continue
        listed = known.get(study)
        if listed is not None and listed.revision > found.revision:
            continue
        with store.changing() as base:
            _take(base, study, found)
        if listed is None:
            taken.append(found.name)
        elif store.study(study).files != listed.files:
            told.append(f"files of {found.name} were no longer in the list of studies, and were taken in again")
    if taken:
        told.insert(
            0, f"{len(taken):,} {'study was' if len(taken) == 1 else 'studies were'} taken in: {few(taken, SHOWN)}"
        )
    return told


def _take(base: sqlite3.Connection, study: str, found: StudyManifest) -> None:
    """Add what is not there yet; a file that grows is no longer watched, but looks at its tests count."""
    row = (study, found.name, found.created, time.time(), json.dumps(found.reading), json.dumps(found.asked), 0)
    base.execute("insert or ignore into studies values (?, ?, ?, ?, ?, ?, ?)", row)
    base.execute("insert or ignore into ours values (?, '')", (study,))
    for one in found.files:
        line = "insert or replace into files values (?, ?, ?, ?, ?, ?)"
        base.execute(line, (study, one.role, one.shown, one.stored, one.size, one.sha256))
        base.execute("insert or ignore into ours values (?, ?)", (study, one.stored))
    for place, text in found.notes.items():
        base.execute("insert or ignore into notes values (?, ?, ?, ?)", (study, place, text, time.time()))
    if found.planned is not None:
        base.execute("insert or ignore into watches values (?, 0, ?, ?)", (study, found.planned, found.expected))
        for data, at in found.looks.items():
            base.execute("insert or ignore into looks values (?, ?, ?)", (study, data, at))
