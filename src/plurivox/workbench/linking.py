"""Packed studies: opened in place, never copied, changed or deleted."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from plurivox.base.errors import FileError
from plurivox.read.packed.folder import is_packed, manifest_in, named, read_manifest
from plurivox.read.packed.remote import is_address
from plurivox.workbench.records import StoredFile
from plurivox.workbench.store import StudyStore

WHOLE = 20_000_000
"""The largest number of ratings of a packed study that is read whole by default: about 0.4 GB."""
MOST_OFFERED = 50


def open_packed(store: StudyStore, name: str) -> str:
    """Add a study for a packed one, and return its id.

    Raises
    ------
    FileError
        If there is no packed study with this name on this machine, or it is damaged.
    """
    file = link_of(name)
    with store.beginning(name_of(file.shown), reading_of(file)) as found:
        found.files.append(file)
    return found.id


def reading_of(file: StoredFile) -> dict[str, Any]:
    """Return how a packed study is read at first: whole, unless it has very many ratings."""
    return {"in_memory": True} if read_manifest(file.stored).n_ratings <= WHOLE else {}


def name_of(file: str) -> str:
    """Return a study's first name: that of its file or folder."""
    return Path(file).stem[:200] or "A study"


def link_of(name: str) -> StoredFile:
    """Return what is kept of a packed study, as it is now."""
    if is_address(name):
        hint = "Copy the folder to this machine, or analyse it with commands: plurivox cohesion ADDRESS."
        raise FileError("the workbench only opens packed studies on this machine", source=name, hint=hint)
    given = named(os.path.expanduser(name))
    path = Path(os.path.abspath(given.folder))
    if not is_packed(path):
        what = "it is not a packed study" if path.exists() else "there is no such folder"
        raise FileError(what, source=str(path), hint="Name a folder made by plurivox pack, such as study.pvx.")
    manifest = read_manifest(os.path.expanduser(name))
    size = sum(one.size for one in manifest.all_files)
    return StoredFile("ratings", path.name, str(path), size, manifest.sha256)


def digest_of_packed(path: str | os.PathLike[str]) -> str:
    """Return the fingerprint of a packed study: its manifest has the checksums of all its files."""
    try:
        return hashlib.sha256(manifest_in(Path(path))).hexdigest()
    except OSError as error:
        hint = "Put the folder back and try again. Earlier results can still be viewed."
        raise FileError(
            f"the packed study is no longer there ({error.strerror})", source=os.fspath(path), hint=hint
        ) from None


def check_link(path: str | os.PathLike[str], digest: str) -> None:
    """Raise unless a packed study exists and is the same as when it was opened."""
    if digest_of_packed(path) != digest:
        hint = "Go to Data and choose “Use it as it is now”."
        raise FileError("the packed study has changed since it was opened here", source=os.fspath(path), hint=hint)


def state_of(file: StoredFile | None) -> dict[str, Any] | None:
    """Return what a page says about a packed study: where it is, and what is wrong with it, if anything."""
    if file is None:
        return None
    found: dict[str, Any] = {"path": file.stored, "changed": False, "gone": False}
    try:
        found["changed"] = digest_of_packed(file.stored) != file.sha256
    except FileError:
        found["gone"] = True
    return found


def packed_nearby(folder: str | os.PathLike[str] = ".") -> list[str]:
    """Return the packed studies in a folder, to choose from."""
    try:
        names = sorted(entry.path for entry in os.scandir(folder) if entry.is_dir() and is_packed(entry.path))
    except OSError:
        return []
    return [os.path.abspath(name) for name in names[:MOST_OFFERED]]
