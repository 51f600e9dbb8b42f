"""A study started from files on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plurivox.base.errors import FileError, InputError
from plurivox.base.files import note_input
from plurivox.read.packed.folder import is_packed
from plurivox.workbench.linking import link_of, name_of, reading_of
from plurivox.workbench.reading import POPULATION, ReadingSettings
from plurivox.workbench.records import free_place
from plurivox.workbench.store import Beginning, StudyStore
from plurivox.workbench.uploads import role_of
from plurivox.workbench.watcher import mark_of
from plurivox.workbench.watches import Watches

_PIECE = 1 << 20


def begin(store: StudyStore, files: Sequence[str], weights: str | None = None, trim: float | None = None) -> str:
    """Add a study of some files, and return the address of its page; for watched files, that of their study.

    ``weights`` is the file of the population, ``trim`` the largest weight.
    """
    packed = [name for name in files if is_packed(name)]
    roles = _places(files, packed, weights)
    reading = {} if trim is None else {"trim": trim}
    ReadingSettings.from_dict(reading)  # fail now rather than on every page
    watches = Watches(store)
    if packed:
        return _with_packed(store, packed[0], roles, reading)
    watched = watches.same_sources(map(str, roles.values()))
    if watched is not None:  # looks are counted there; a new study would start counting again
        return f"/studies/{watched}/watch"
    with store.beginning(name_of(roles["ratings"].name), reading) as found:
        sources = _fill(found, roles)
    watches.add_sources(found.id, sources)
    return f"/studies/{found.id}"


def _places(files: Sequence[str], packed: Sequence[str], weights: str | None) -> dict[str, Path]:
    """Return the places of files in a study, from their names; the population was named explicitly."""
    roles: dict[str, Path] = {}
    said = [(name, "ratings" if len(files) == 1 or name in packed else role_of(name)) for name in files]
    for name, role in (*said, *([] if weights is None else [(weights, POPULATION)])):
        place = free_place(role, roles)
        if place is None:
            hint = "Give one of them; add the other on the page of the study."
            raise InputError(f"{roles[role].name} and {Path(name).name} both look like {role}", hint=hint)
        if Path(name).is_dir() and name not in packed:
            hint = "Give files, or a folder made by plurivox pack."
            raise FileError("it is a folder, but the workbench expects files", source=name, hint=hint)
        if not Path(name).is_file() and name not in packed:
            raise FileError("there is no such file", source=name, hint="Check the name.")
        roles[place] = Path(os.path.abspath(name))
    if "ratings" not in roles:
        raise InputError("none of the files looks like ratings", hint="Also give the file with the ratings.")
    return roles


def _with_packed(store: StudyStore, folder: str, roles: Mapping[str, Path], reading: Mapping[str, Any]) -> str:
    """Start a study from a packed one, or go to the one already started with it, if nothing else is given."""
    file = link_of(folder)
    same = [one for one in store.studies() if one.packed and one.packed.stored == file.stored]
    if same and len(roles) == 1:
        return f"/studies/{same[0].id}"
    with store.beginning(name_of(file.shown), {**reading_of(file), **reading}) as found:
        found.files.append(file)
        _fill(found, {place: path for place, path in roles.items() if place != "ratings"})
    return f"/studies/{found.id}"


def _fill(study: Beginning, roles: Mapping[str, Path]) -> dict[str, tuple[str, str]]:
    """Put files into a study that is being made; return where they are, and the marks of their versions."""
    sources: dict[str, tuple[str, str]] = {}
    for role, path in roles.items():
        note_input(path)
        sources[role] = (str(path), mark_of(str(path)))  # before it is read: what changes in the meantime is read again
        with path.open("rb") as file, study.adding(role, path.name) as upload:
            while piece := file.read(_PIECE):
                upload.write(piece)
    return sources
