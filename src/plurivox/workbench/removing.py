"""What the workbench deletes: only what it made under names that it knows, and nothing behind a link."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

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
