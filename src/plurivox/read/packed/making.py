"""``pack``: files become a packed study, or are added to one."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from plurivox.base.arguments import FilePath, FilePaths, check_given, checked, kinds_of
from plurivox.base.errors import FileError, InputError
from plurivox.read.packed.appending import Appender
from plurivox.read.packed.folder import named, read_manifest, write_manifest, write_table
from plurivox.read.packed.manifest import Manifest
from plurivox.read.packed.packing import MEMORY, Packer, bytes_of, writing_folder
from plurivox.read.packed.stored import PackedRatings
from plurivox.read.read import read_ratings, read_table_of_ratings
from plurivox.read.settings import LATER, UNPACKED, ReadSettings


@checked
def pack(
    source: FilePaths, path: FilePath, *, memory: str | int = MEMORY, append: bool = False, **reading: Any
) -> PackedRatings:
    r"""Pack any number of ratings into a folder, from which lenses read them part by part.

    The folder can be used wherever ratings can: ``read_ratings("study.pvx")`` opens it, and results have the same bits
    as those of ratings in memory. Analyses that are not sums over items say that they need the ratings in memory.

    Parameters
    ----------
    source
        A file or a folder as for :func:`read_ratings`, or a list of files with the same columns. They may be larger
        than memory: CSV, JSON lines and Parquet are read in blocks.
    path
        The folder, usually with the ending ``.pvx``. An existing packed study is replaced once the new one is complete.
        Whoever reads the study can demand that it is exactly this one: ``study.pvx#sha256=…``, with the ``sha256`` of
        what is returned.
    memory
        How much memory may be used, such as ``"2GB"``. The distinct ids and the attributes of items and raters must
        fit.
    append
        Add the ratings to the packed study at ``path``, as if all had been packed together. They are read as the others
        were, so options need not be repeated, except for a table of new raters or items. This changes the ``sha256``.
    reading
        The options of :func:`read_ratings`: ``item=``, ``scale=``, ``raters=``, ``duplicates=`` and the others. Times
        and kept repeats are not packed, and a scale is recoded when the study is read.

    Returns
    -------
    Ratings
        The packed study, opened.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = Path(folder, "a.csv").write_text("item,rater,score\n1,x,0\n2,x,3\n1,y,2\n")
    >>> pack(f"{folder}/a.csv", f"{folder}/study.pvx", scale="0:4")
    <Ratings: 3 ratings of 2 items by 2 raters on 0 < 1 < 2 < 3 < 4>
    """
    given, room = asked_for(reading), bytes_of(memory)
    several = not isinstance(source, str | os.PathLike) and len(source) == 1
    files: Any = source[0] if several else source  # type: ignore[index]
    folder, name, sha256 = named(path)
    if not isinstance(folder, Path):
        raise FileError(
            "it is in an object store, where a study can only be read", source=name,
            hint="Pack into a folder on this machine, then copy it there.",
        )  # fmt: skip
    if append:
        read_manifest(path)  # raises an error if there is nothing to add to, or another study is demanded
    elif sha256:
        raise FileError("a SHA-256 is demanded of what is yet to be made", source=name, hint="Leave it out.")
    with writing_folder(folder):
        packer: Packer
        if append:
            packer = Appender(folder, room)
            given = packer.settled(given, reading)
        else:
            packer = Packer.of(folder, room)
        ratings = read_table_of_ratings(files, given, code=packer)
        if not isinstance(ratings, PackedRatings) or not packer.rules:
            raise InputError(
                "these ratings were already packed or stored by plurivox, or some of them are left out",
                source=ratings.intake.source, hint="Pack the table they were made from.",
            )  # fmt: skip
        write_manifest(folder, _told(packer, ratings))
        return PackedRatings.open(name)


def asked_for(reading: dict[str, Any]) -> ReadSettings:
    """Return how the files are read; raise an error if a keyword is unknown or cannot be packed."""
    known = {name: spec for name, spec in ReadSettings.specs().items() if spec.stage != LATER}
    for name, value in reading.items():
        if name not in known and name != "connection":
            raise TypeError(f"pack() got an unexpected keyword argument '{name}'")
        if (name == "connection" or known[name].stage == UNPACKED) and value is not None:
            what = "recode when you read the packed study" if name in ("recode", "unsafe_from") else "leave it out"
            raise InputError(f"{name} is not packed", hint=f"Pack without it: {what}.")
    check_given(reading, kinds_of(read_ratings))
    if reading.get("duplicates") == "keep":
        raise InputError("duplicates is 'keep', but repeats are not packed", hint="Use error, first, last or mode.")
    return ReadSettings(**{name: value for name, value in reading.items() if name in known})


def _told(packer: Packer, ratings: PackedRatings) -> Manifest:
    """Write the tables of items and raters, and return the manifest that names all files."""
    folder, number = packer.folder, packer.generation
    return replace(
        ratings.manifest,
        scale=ratings.scale,
        intake=ratings.intake,
        items=write_table(folder, f"items-{number:04d}.parquet", ratings.items),
        raters=write_table(folder, f"raters-{number:04d}.parquet", ratings.raters),
    )
