"""The folder of a packed study: files of parts and tables, and the manifest that names them.

A file is written once and never changed. The study consists of what the manifest names; it is written last and replaced
in one step, so that a program that is killed leaves the study as it was. Files that it does not name are removed by the
next program that writes.

What a folder can make a program do is decided here and in ``manifest``: it is read through plain names within the
folder, never through links; a file is held against its size and checksum when it is first opened, and then, once,
everything in it that kernels use as an index. A file that is changed later is checked again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import FileError, InputError
from plurivox.base.files import open_plain, write_bytes
from plurivox.base.wording import short
from plurivox.domain.part import Part
from plurivox.read.packed.manifest import (
    FORM,
    LARGEST_MANIFEST,
    MANIFEST,
    NAME,
    File,
    Manifest,
    OtherFormError,
    PartFile,
    RemoteFolder,
    is_address,
    manifest_of,
    padded,
    text_of,
)
from plurivox.read.parquet import table_from

Folder = Path | RemoteFolder
AGAIN = "Pack the ratings again, or restore the folder from a copy."
_OURS = re.compile(rf"{NAME.pattern}|\.({NAME.pattern}|{re.escape(MANIFEST)})\.[0-9a-f]{{8}}\.part", re.ASCII)
_DEMAND = "#sha256="
_verified: set[tuple[Any, ...]] = set()  # what this process has checked: files as they were then, and against what


class Named(NamedTuple):
    """A folder, its name, and the SHA-256 that its manifest must have, if that is demanded: ``study.pvx#sha256=…``."""

    folder: Folder
    name: str
    sha256: str = ""


def named(name: str | os.PathLike[str]) -> Named:
    """Return what a name means: a path or an address in an object store, and a demand."""
    text = os.fsdecode(name)
    start, sign, digits = text.rpartition(_DEMAND)
    # even if a folder has the whole name, which may be planted
    demands = re.fullmatch("[0-9a-fA-F]{64}", digits) is not None
    if sign and not demands and not os.path.lexists(text):
        hint = "Copy the whole line that plurivox pack printed."
        raise FileError("what it demands is not a SHA-256, which has 64 digits from 0 to f", source=text, hint=hint)
    plain, sha256 = (start, digits.lower()) if sign and demands else (text, "")
    return Named(RemoteFolder(plain) if is_address(plain) else Path(plain), plain, sha256)


# Reading -------------------------------------------------------------------------------------------------------------


def is_packed(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder is a packed study; for an address, only its name is checked."""
    found = named(folder).folder
    return isinstance(found, RemoteFolder) or os.path.isfile(found / MANIFEST)


def read_manifest(name: str | os.PathLike[str]) -> Manifest:
    """Read the manifest of a packed study.

    Raises
    ------
    FileError
        If it is not a packed study, has another form, is damaged, or is not the one that the name demands.
    """
    folder, source, wanted = named(name)
    try:
        text = folder.read(MANIFEST, LARGEST_MANIFEST) if isinstance(folder, RemoteFolder) else manifest_in(folder)
    except OSError as error:
        why = "a link instead of its manifest" if error.errno == errno.ELOOP else error.strerror
        hint = "Make one with plurivox pack."
        raise FileError(f"it is not a packed study ({why})", source=source, hint=hint) from None
    digest = hashlib.sha256(text).hexdigest()
    if wanted not in ("", digest):
        hint = "It was packed again or appended to, or somebody else changed it."
        raise FileError(f"its SHA-256 is {digest}, but {wanted} is demanded", source=source, hint=hint)
    try:
        found = manifest_of(text)
    except OtherFormError as error:
        raise FileError(
            f"it is packed in form {error}, but this version reads forms up to {FORM}", source=source,
            hint="Pack it again.",
        ) from None  # fmt: skip
    except ValueError as error:
        raise damaged(folder, MANIFEST, short(str(error))) from None
    # a CRC-32 does not decide the content of a file
    if wanted and any(one.checksum.startswith("crc32") for one in found.all_files):
        raise FileError(
            "it was packed by plurivox 0.2.0, so that a SHA-256 does not decide what is in its parts", source=source,
            hint="Pack it again, or leave out the demand.",
        )  # fmt: skip
    return found


def manifest_in(folder: Path) -> bytes:
    """Return the manifest of a folder as it is, or raise an OSError if there is none."""
    with open_plain(folder / MANIFEST) as file:
        text = file.read(LARGEST_MANIFEST + 1)
    if len(text) > LARGEST_MANIFEST:
        raise damaged(folder, MANIFEST, f"it has more than {LARGEST_MANIFEST:,} bytes")
    return text


def damaged(folder: Folder, name: str, why: str) -> FileError:
    """Return the error for a file that is not what was written."""
    return FileError(f"its file {name} is damaged ({why})", source=str(folder), hint=AGAIN)


def mapped(
    folder: Folder, file: File, check: Callable[[NDArray[np.uint8]], object], *against: Any
) -> NDArray[np.uint8]:
    """Map a file into memory; the first time, hold it against its checksum and let a function check its content.

    What it is checked ``against`` belongs to what is remembered of a check.
    """
    path = folder.place(file) if isinstance(folder, RemoteFolder) else folder / file.name
    try:
        with open_plain(path) as stream:
            now = os.fstat(stream.fileno())
            if now.st_size != file.size:
                raise damaged(folder, file.name, f"it has {now.st_size:,} bytes, not {file.size:,}")
            data = np.memmap(stream, np.uint8, "r") if file.size else np.zeros(0, np.uint8)
    except FileNotFoundError:
        raise damaged(folder, file.name, "it is missing, or the study was packed again meanwhile") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        why = "it is a link" if getattr(error, "errno", None) == errno.ELOOP else short(str(error))
        raise damaged(folder, file.name, why) from None
    key = (str(path), now.st_ino, now.st_mtime_ns, file, *against)
    if key not in _verified:
        if not file.matches(data.data):
            if isinstance(folder, RemoteFolder):
                path.unlink(missing_ok=True)  # from the cache, so that it is fetched again
            raise damaged(folder, file.name, "its checksum differs")
        try:
            check(data)
        except ValueError as error:
            raise damaged(folder, file.name, str(error)) from None
        _verified.add(key)
    return np.asarray(data)


def read_counts(folder: Folder, manifest: Manifest) -> NDArray[np.uint32]:
    """Return how many ratings each item has."""

    def check(data: NDArray[np.uint8]) -> None:
        total = int(data.view("<u4").sum(dtype=np.int64))
        if total != manifest.n_ratings:
            raise ValueError(f"it counts {total:,} ratings, not {manifest.n_ratings:,}")

    return mapped(folder, manifest.counts, check, manifest.n_ratings).view("<u4")


def read_map(folder: Folder, file: File, n_now: int) -> NDArray[np.int32]:
    """Return the current code of each item or rater of a layer; there are ``n_now`` of them now."""

    def check(data: NDArray[np.uint8]) -> None:
        codes = data.view("<i4")
        if len(codes) and (codes[0] < 0 or codes[-1] >= n_now or not (codes[1:] > codes[:-1]).all()):
            raise ValueError("its codes do not rise, or are out of range")

    return mapped(folder, file, check, n_now).view("<i4")


def read_table(folder: Folder, file: File, role: str, n_rows: int) -> pl.DataFrame:
    """Return the table of items or raters, in the order of their ids."""
    content = mapped(folder, file, lambda data: None).tobytes()
    try:
        frame = table_from(content, role)
        if frame.height != n_rows:
            raise ValueError(f"it has {frame.height:,} rows for {n_rows:,} {role}s")
        if not frame[role].is_sorted():
            raise ValueError("its ids are not in order")
    except ValueError as error:
        raise damaged(folder, file.name, short(str(error))) from None
    return frame


class Run(NamedTuple):
    """Some items of a layer, from item ``first`` there: how many ratings each has, and the ratings."""

    first: int
    counts: NDArray[Any]
    raters: NDArray[Any]
    scores: NDArray[Any]


def read_run(folder: Folder, file: PartFile, bounds: tuple[int, int], items: slice | None = None) -> Run:
    """Return the items of a part file, or some of them by their codes in the layer; nothing is copied.

    ``bounds`` are above the codes of raters and the positions on the scale.
    """
    data = mapped(folder, file, lambda data: _check_run(_arrays(data, file), file.n_ratings, bounds), bounds)
    counts, raters, scores = _arrays(data, file)
    if items is None or (items.start <= file.first and items.stop >= file.items.stop):
        return Run(file.first, counts, raters, scores)
    start, stop = max(items.start, file.first) - file.first, min(items.stop, file.items.stop) - file.first
    before, own = int(counts[:start].sum(dtype=np.int64)), int(counts[start:stop].sum(dtype=np.int64))
    ratings = slice(before, before + own)
    return Run(file.first + start, counts[start:stop], raters[ratings], scores[ratings])


def _arrays(data: NDArray[np.uint8], file: PartFile) -> list[NDArray[Any]]:
    return [data[start:stop].view(dtype) for dtype, (start, stop) in zip(file.types, file.places, strict=True)]


def _check_run(arrays: list[NDArray[Any]], n_ratings: int, bounds: tuple[int, int]) -> None:
    """Raise a ValueError unless kernels can index by a part: counts add up, codes are in range, raters rise."""
    counts, *codes = arrays
    ends = np.cumsum(counts, dtype=np.int64)
    if (int(ends[-1]) if len(ends) else 0) != n_ratings:
        raise ValueError("its counts do not add up to its ratings")
    for what, array, bound in zip(("rater", "score"), codes, bounds, strict=True):
        if n_ratings and not 0 <= int(array.min()) <= int(array.max()) < bound:
            raise ValueError(f"it has a {what} out of range")
    rising = np.empty(n_ratings + 1, bool)  # whether a rater's code is above the one before it
    rising[1:-1] = codes[0][1:] > codes[0][:-1]
    rising[ends] = rising[0] = True  # also the first of each item
    if not rising.all():
        raise ValueError("it has a rater twice, or raters out of order, in an item")


def as_part(run: Run) -> Part:
    """Return a run of items in the engine's form; only what is stored in a smaller type is copied."""
    offsets = np.zeros(len(run.counts) + 1, np.int64)
    np.cumsum(run.counts, out=offsets[1:])
    raters = run.raters if run.raters.dtype == np.int32 else run.raters.astype(np.int32)
    return Part(run.first, offsets, raters, run.scores, np.zeros(0, np.int64))


# Writing -------------------------------------------------------------------------------------------------------------


def write_run(folder: Path, name: str, run: Run, rater_type: np.dtype[Any]) -> PartFile:
    """Write the ratings of some items."""
    arrays = (
        run.counts.astype(np.min_scalar_type(int(run.counts.max(initial=0)))), run.raters.astype(rater_type), run.scores
    )  # fmt: skip
    content = b"".join(one.tobytes() + b"\0" * (padded(one.nbytes) - one.nbytes) for one in arrays)
    file = write_file(folder, name, content)
    types = tuple(one.dtype.str for one in arrays)
    return PartFile(file.name, file.size, file.checksum, run.first, len(run.counts), len(run.scores), types)  # type: ignore[arg-type]


def write_file(folder: Path, name: str, content: bytes) -> File:
    """Write a file of the study; it is on disk when this returns."""
    if (folder / name).is_symlink():  # names are new: somebody else put it there, and it would be followed
        raise FileError("it is a link, which may lead anywhere", source=str(folder / name), hint="Use another folder.")
    write_bytes(folder / name, content)
    return File(name, len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Switch the study to a manifest in one step; then remove what no longer belongs to it."""
    text = text_of(manifest)
    if len(text) > LARGEST_MANIFEST:
        raise FileError(
            f"its manifest would have {len(text):,} bytes, which is too much to read again", source=str(folder),
            hint="Leave out attributes that contradict themselves, or pack into several folders.",
        )  # fmt: skip
    _sync(folder)  # the names of the files, before the manifest mentions them
    write_bytes(folder / MANIFEST, text)
    _sync(folder)
    sweep(folder, manifest.files)


def sweep(folder: Path, keep: Iterable[str]) -> None:
    """Remove files that an interrupted call left, or that a later one replaced."""
    named = set(keep)
    for path in folder.iterdir():
        if path.name not in named and _OURS.fullmatch(path.name):  # nobody else writes here now
            with contextlib.suppress(OSError):
                path.unlink()


def _sync(folder: Path) -> None:
    """Wait until the names in a folder are on disk, if the system supports that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
