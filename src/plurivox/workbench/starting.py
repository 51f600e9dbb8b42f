"""A study begun from files that lie on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from plurivox.errors import FileError, InputError
from plurivox.files import note_input
from plurivox.packed.folder import is_packed
from plurivox.workbench.store import Store
from plurivox.workbench.uploads import role_of
from plurivox.workbench.watcher import mark_of
from plurivox.workbench.watches import Watches

_PIECE = 1 << 20


def begin(store: Store, files: Sequence[str]) -> str:
    """Add a study of some files, and return the address of its page; of files that are watched, of that study."""
    roles: dict[str, Path] = {}
    for name in files:
        role = "ratings" if len(files) == 1 else role_of(name)
        if role in roles:
            hint = "Give one of them; add the other on the page of the study."
            raise InputError(f"{roles[role].name} and {Path(name).name} both look like {role}", hint=hint)
        if Path(name).is_dir():
            what = "a packed study" if is_packed(name) else "a folder"
            hint = "Give the files that it was made of, or ask it with commands: plurivox cohesion FOLDER."
            raise FileError(f"it is {what}, and the workbench takes files", source=name, hint=hint)
        if not Path(name).is_file():
            raise FileError("there is no such file", source=name, hint="Check the name.")
        roles[role] = Path(os.path.abspath(name))
    if "ratings" not in roles:
        raise InputError("none of the files looks like ratings", hint="Give the file of ratings, too.")
    watches = Watches(store)
    watched = watches.same_sources(map(str, roles.values()))
    if watched is not None:  # looks are counted there; a study of its own would begin to count anew
        return f"/studies/{watched}/watch"
    study = store.add_study(roles["ratings"].stem[:200] or "A study")
    sources: dict[str, tuple[str, str]] = {}
    try:
        for role, path in roles.items():
            note_input(path)
            sources[role] = (str(path), mark_of(str(path)))  # before it is read: what changes meanwhile is read anew
            with path.open("rb") as file, store.adding(study, role, path.name) as upload:
                while piece := file.read(_PIECE):
                    upload.write(piece)
        watches.add_sources(study, sources)
    except BaseException:
        store.delete_study(study)
        raise
    return f"/studies/{study}"
