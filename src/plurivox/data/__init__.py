"""Public data sets: their sources, fetching them, and reading them into Ratings.

>>> from plurivox import data
>>> data.info("dices-350").scale
'No < Unsure < Yes'

Apart from ``ask``, this is the only part that uses the network; nothing is fetched unless :func:`get` is called.
"""

from __future__ import annotations

from pathlib import Path

from plurivox.base.arguments import FilePath, checked
from plurivox.base.errors import InputError
from plurivox.data import store
from plurivox.data.record import Dataset as Dataset
from plurivox.data.record import Loaded as Loaded
from plurivox.data.sets import catalogue
from plurivox.data.sets import dataset as _dataset
from plurivox.data.store import Check as Check
from plurivox.data.store import check_path

__all__ = ["Check", "Dataset", "Loaded", "check", "get", "info", "load", "names"]


def names() -> list[str]:
    """Return the names of all data sets."""
    return list(catalogue())


@checked
def info(name: str) -> Dataset:
    """Return what is known about a data set: licence, citation, address, files, columns, counts."""
    return _dataset(name)


@checked
def load(name: str, path: FilePath | None = None) -> Loaded:
    """Read a data set: its ratings with scale and attributes, the reference, the licence and the citation.

    Parameters
    ----------
    name
        One of :func:`names`.
    path
        A local file or folder; by default the copy that :func:`get` put into the cache.

    Raises
    ------
    FileError
        If there is no copy; the message says how to get one. If a file is not in the format of the data set.
    """
    return store.load(_dataset(name), None if path is None else Path(path))


@checked
def get(name: str, *, accept_licence: bool = False, source: FilePath | None = None) -> list[Path]:
    """Fetch a data set into the user's cache directory, and return its files.

    Parameters
    ----------
    name
        One of :func:`names`.
    accept_licence
        Say that you have read ``info(name).licence`` and accept it; without that nothing is fetched.
    source
        A local file or folder to use instead of fetching.
    """
    found = _dataset(name)
    if not accept_licence:
        raise InputError(
            f"{found.title}: the licence is: {found.licence}",
            hint="Read it, and pass accept_licence=True if you accept it.",
        )
    return store.get(found, None if source is None else Path(source))


@checked
def check(path: FilePath, name: str | None = None) -> Check:
    """Check whether a local file or folder matches the record of a data set, and what differs."""
    return check_path(Path(path), None if name is None else _dataset(name))
