"""How much computed output is kept: what has not been looked at for longest goes first, and can be made again."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from plurivox.workbench.store import Store

MOST_BYTES = 1 << 30
MOST_ENTRIES = 2000
"""The most that is kept of one study."""
DONE_FILE = "done.json"
RESULTS = "results"


class _Kept(NamedTuple):
    used: float
    size: int
    path: Path


def touch(path: Path) -> None:
    """Note that something was looked at."""
    with contextlib.suppress(OSError):
        os.utime(path)


def prune(store: Store, study: str, needed: Collection[str]) -> None:
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
        if one.path.is_dir():
            store.drop_runs(study, one.path.name)
            shutil.rmtree(one.path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                one.path.unlink()


def _kept(made: Path) -> list[_Kept]:
    """Return what was made, each with when it was last looked at; unfinished output is left out."""
    found = []
    for path in (*_entries(made), *_entries(made / RESULTS)):
        with contextlib.suppress(OSError):
            if path.is_dir() and path.name != RESULTS:
                used = (path / DONE_FILE).stat().st_mtime
                found.append(_Kept(used, sum(one.stat().st_size for one in path.iterdir()), path))
            elif path.parent.name == RESULTS:
                known = path.stat()
                found.append(_Kept(known.st_mtime, known.st_size, path))
    return found


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
