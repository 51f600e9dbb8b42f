"""A folder of files that one command makes: it can be made again at any time, but never overwrites other files.

A hidden list in the folder records which files plurivox wrote, by their SHA-256. A file that is not on it, or was
changed since, is somebody's work and is overwritten only by force.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from plurivox.base.errors import FileError
from plurivox.base.files import replacing, write_text

LIST = ".plurivox.json"
Digests = dict[str, list[str]]
Name = str | os.PathLike[str]
FORCE = "Name another folder, or overwrite with --force (force=True)."


def check_folder(folder: Name, names: Iterable[str]) -> None:
    """Raise if writing files of these names would touch anything in the folder that plurivox did not write."""
    home = Path(folder)
    if not os.path.lexists(home):
        return
    if not home.is_dir():
        raise FileError("this is a file, not a folder", source=str(home), hint="Name another folder.")
    others = sorted(name for name in os.listdir(home) if not name.startswith("."))
    known = _listed(home)
    if others and not known:
        shown = ", ".join(others[:3]) + (f" and {len(others) - 3:,} more" if len(others) > 3 else "")
        raise FileError(f"the folder holds other files ({shown})", source=str(home), hint=FORCE)
    for name in names:
        if os.path.lexists(home / name) and _digest(home / name) not in known.get(name, ()):
            raise FileError(
                "plurivox did not write this file, or it was changed since", source=str(home / name), hint=FORCE
            )


def write_folder(
    folder: Name, writers: Mapping[str, Callable[[Path], object]], *, gone: Iterable[str] = (), force: bool = False
) -> list[Path]:
    """Write files into a folder and return them; all are complete before the first takes its place.

    Parameters
    ----------
    folder
        Where they go; it is created if it does not exist.
    writers
        A function for each file that writes it under a temporary name.
    gone
        Names of files that an earlier call may have left there and this one does not write; they are removed.
    force
        Whether to overwrite files that plurivox did not write, or that were changed since.

    Raises
    ------
    FileError
        If the folder holds other files, or cannot be written to.
    """
    home, gone = Path(folder), tuple(gone)
    if not force:
        check_folder(home, (*writers, *gone))
    with made(home), contextlib.ExitStack() as files:
        known, own = _listed(home), {}
        for name, writer in writers.items():
            temporary = files.enter_context(replacing(home / name))
            writer(temporary)
            own[name] = [_digest(temporary)]
        # If it is interrupted, both the old and the new files are known as plurivox's own.
        _list(home, {name: [*known.get(name, ()), *own.get(name, ())] for name in {**known, **own}})
    for name in gone:
        with contextlib.suppress(OSError):
            os.unlink(home / name)
    _list(home, {name: digests for name, digests in {**known, **own}.items() if name not in gone})
    return [home / name for name in writers]


def remember(path: Path) -> None:
    """Add a file that plurivox has just written into one of its folders to the list there."""
    _list(path.parent, {**_listed(path.parent), path.name: [_digest(path)]})


@contextlib.contextmanager
def made(home: Path) -> Iterator[list[Path]]:
    """Create a folder and its parents, and yield the new ones; if what follows fails, remove them again."""
    new = [folder for folder in (home, *home.parents) if not folder.exists()]
    try:
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            hint = "Name another folder."
            raise FileError(f"the folder cannot be created ({error.strerror})", source=str(home), hint=hint) from None
        yield new
    except BaseException:
        remove_empty(new)
        raise


def remove_empty(folders: Sequence[Path]) -> None:
    """Remove the folders that are empty, innermost first."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _listed(home: Path) -> Digests:
    """Return the SHA-256 of files as plurivox wrote them; more than one while they are being replaced."""
    try:
        known = json.loads((home / LIST).read_bytes())["files"]
        return {str(name): [str(one) for one in digests] for name, digests in known.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _list(home: Path, known: Digests) -> None:
    write_text(home / LIST, json.dumps({"made by": "plurivox", "files": known}, indent=1, sort_keys=True) + "\n")


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file, empty if it is not a file or cannot be read."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
