"""How much computed output is kept: what has not been looked at for longest goes first, and can be made again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from plurivox.workbench.removing import KEY, RESULT, RESULTS, names_in, remove_file, remove_folder
from plurivox.workbench.store import StudyStore

MOST_BYTES = 1 << 30
MOST_ENTRIES = 2000
"""The most that is kept of one study."""
DONE_FILE = "done.json"


class _Kept(NamedTuple):
    used: float
    size: int
    path: Path


def touch(path: Path) -> None:
    """Note that something was looked at."""
    with contextlib.suppress(OSError):
        os.utime(path)


def prune(store: StudyStore, study: str, needed: Collection[str]) -> None:
    """Remove a study's output that has not been looked at for longest, until the rest is small enough.

    ``needed`` are keys that stay: what is being made, and what pages start with. Runs without results are forgotten.
    """
    every = sorted(_kept(store.made(study)))
    size, n = sum(one.size for one in every), len(every)
    for one in every:
        if size <= MOST_BYTES and n <= MOST_ENTRIES:
            return
        if one.path.name in needed:
            continue
        size, n = size - one.size, n - 1
        if KEY.fullmatch(one.path.name):
            store.drop_runs(study, one.path.name)
            remove_folder(store.folder, one.path)
        else:
            remove_file(store.folder, one.path)


def _kept(made: Path) -> list[_Kept]:
    """Return what was made, each with when it was last looked at; unfinished output is left out."""
    found = []
    every = [folder / name for folder in (made, made / RESULTS) for name in names_in(folder)]
    for path in every:
        with contextlib.suppress(OSError):
            if KEY.fullmatch(path.name) and path.parent == made:
                used = (path / DONE_FILE).stat().st_mtime
                found.append(_Kept(used, sum(one.stat().st_size for one in path.iterdir()), path))
            elif RESULT.fullmatch(path.name) and path.parent != made:
                known = path.stat()
                found.append(_Kept(known.st_mtime, known.st_size, path))
    return found
