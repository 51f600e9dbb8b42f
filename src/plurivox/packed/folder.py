"""The folder of a packed study: files of parts and tables, and the manifest that names them.

A file is written once and never changed. The study consists of what the manifest names; it is written last and replaced
in one step, so that a program that is killed leaves the study as it was. Files that it does not name are removed by the
next program that writes.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.engine.part import Part
from plurivox.errors import FileError
from plurivox.files import write_bytes
from plurivox.packed.remote import RemoteFolder, is_address
from plurivox.quoting import short

Folder = Path | RemoteFolder
MANIFEST = "manifest.json"
FORM = 1
"""The form that this version writes; it reads no other."""
AGAIN = "Pack the ratings again, or restore the folder from a copy."
_ALIGNED = 64
_OURS = ("part-", "items-", "raters-", "counts-", "map-")
_verified: set[tuple[str, int, int]] = set()  # files whose checksum this process has verified


@dataclass(frozen=True, slots=True)
class File:
    """A file in the folder: its name, size and checksum (CRC-32)."""

    name: str
    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class PartFile(File):
    """A run of whole items: how many ratings each has, then the rater and the score of each rating.

    ``first`` is the code of the first item within its layer; ``types`` are those of the three arrays.
    """

    first: int
    n_items: int
    n_ratings: int
    types: tuple[str, str, str]

    @property
    def items(self) -> slice:
        """Its items within the layer."""
        return slice(self.first, self.first + self.n_items)


@dataclass(frozen=True, slots=True)
class Layer:
    """What one call of pack wrote: parts that cover all items at that time, in the codes of that time.

    If later calls brought new ids, maps give the current code of each item and rater; both are in the same order.
    ``shift`` is added to scores if the scale has grown at its lower end.
    """

    parts: tuple[PartFile, ...]
    items: File | None = None
    raters: File | None = None
    shift: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that is known about a packed study, and the files that hold the rest."""

    generation: int
    n_items: int
    n_raters: int
    n_ratings: int
    scale: dict[str, Any]
    intake: dict[str, Any]
    items: File
    raters: File
    counts: File
    layers: tuple[Layer, ...]
    rules: dict[str, Any]
    several: dict[str, dict[str, list[int]]]
    versions: dict[str, str]

    @property
    def files(self) -> set[str]:
        """The names of all files that belong to the study."""
        maps = [one for layer in self.layers for one in (layer.items, layer.raters) if one is not None]
        parts = [one for layer in self.layers for one in layer.parts]
        return {MANIFEST, *(one.name for one in (self.items, self.raters, self.counts, *maps, *parts))}


def folder_of(name: str | os.PathLike[str]) -> Folder:
    """Return the folder of a name: a path, or an address in an object store."""
    return RemoteFolder(os.fsdecode(name)) if is_address(name) else Path(name)


# Reading -------------------------------------------------------------------------------------------------------------


def is_packed(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder is a packed study; for an address, only its name is checked."""
    return is_address(folder) or os.path.isfile(os.path.join(folder, MANIFEST))


def read_manifest(folder: Folder) -> Manifest:
    """Read the manifest of a packed study.

    Raises
    ------
    FileError
        If it is not a packed study, has another form, or its manifest is damaged.
    """
    name = str(folder)
    try:
        text = folder.read(MANIFEST) if isinstance(folder, RemoteFolder) else (folder / MANIFEST).read_bytes()
    except OSError as error:
        raise FileError(
            f"it is not a packed study ({error.strerror})", source=name, hint="Make one with plurivox pack."
        ) from None
    try:
        known = json.loads(text)
        form, crc = known["form"], known.pop("crc")
        if crc != zlib.crc32(_plain(known)):
            raise ValueError("its checksum differs")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise damaged(folder, MANIFEST, short(str(error))) from None
    if form != FORM:
        raise FileError(
            f"it is packed in form {form}, but this version reads form {FORM}", source=name, hint="Pack it again."
        )
    return _manifest({key: value for key, value in known.items() if key != "form"})


def _manifest(known: Mapping[str, Any]) -> Manifest:
    layers = []
    for layer in known["layers"]:
        parts = tuple(PartFile(**{**one, "types": tuple(one["types"])}) for one in layer["parts"])
        items, raters = (None if layer[role] is None else File(**layer[role]) for role in ("items", "raters"))
        layers.append(Layer(parts, items, raters, layer["shift"]))
    files = {name: File(**known[name]) for name in ("items", "raters", "counts")}
    return Manifest(**{**known, **files, "layers": tuple(layers)})


def damaged(folder: Folder, name: str, why: str) -> FileError:
    """Return the error for a file that is not what was written."""
    return FileError(f"its file {name} is damaged ({why})", source=str(folder), hint=AGAIN)


def mapped(folder: Folder, file: File) -> NDArray[np.uint8]:
    """Map a file into memory; the first time, check its size and checksum."""
    path = folder.place(file.name, file.size, file.crc) if isinstance(folder, RemoteFolder) else folder / file.name
    try:
        data = np.memmap(path, np.uint8, "r") if file.size else np.zeros(0, np.uint8)
    except FileNotFoundError:
        raise damaged(folder, file.name, "it is missing, or the study was packed again meanwhile") from None
    except (OSError, ValueError) as error:
        raise damaged(folder, file.name, short(str(error))) from None
    if len(data) != file.size:
        raise damaged(folder, file.name, f"it has {len(data):,} bytes, not {file.size:,}")
    key = (str(path), file.size, file.crc)
    if key not in _verified:
        if zlib.crc32(data.data) != file.crc:
            if isinstance(folder, RemoteFolder):
                path.unlink(missing_ok=True)  # from the cache, so that it is fetched again
            raise damaged(folder, file.name, "its checksum differs")
        _verified.add(key)
    return np.asarray(data)


def read_array(folder: Folder, file: File, dtype: str) -> NDArray[Any]:
    """Return an array from a file of its own."""
    return mapped(folder, file).view(dtype)


def read_table(folder: Folder, file: File) -> pl.DataFrame:
    """Return a table of items or raters."""
    content = mapped(folder, file)
    try:
        return pl.read_parquet(io.BytesIO(content.tobytes()))  # polars accepts only names in UTF-8
    except (pl.exceptions.PolarsError, OSError) as error:
        raise damaged(folder, file.name, short(str(error))) from None


class Run(NamedTuple):
    """Some items of a layer, from item ``first`` there: how many ratings each has, and the ratings."""

    first: int
    counts: NDArray[Any]
    raters: NDArray[Any]
    scores: NDArray[Any]


def read_run(folder: Folder, file: PartFile, items: slice | None = None) -> Run:
    """Return the items of a part file, or some of them by their codes in the layer; nothing is copied."""
    data = mapped(folder, file)
    arrays, at = [], 0
    for dtype, length in zip(file.types, (file.n_items, file.n_ratings, file.n_ratings), strict=True):
        size = np.dtype(dtype).itemsize * length
        arrays.append(data[at : at + size].view(dtype))
        at += _padded(size)
    counts, raters, scores = arrays
    if items is None or (items.start <= file.first and items.stop >= file.items.stop):
        return Run(file.first, counts, raters, scores)
    start, stop = max(items.start, file.first) - file.first, min(items.stop, file.items.stop) - file.first
    before, own = int(counts[:start].sum(dtype=np.int64)), int(counts[start:stop].sum(dtype=np.int64))
    ratings = slice(before, before + own)
    return Run(file.first + start, counts[start:stop], raters[ratings], scores[ratings])


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
    content = b"".join(one.tobytes() + b"\0" * (_padded(one.nbytes) - one.nbytes) for one in arrays)
    file = write_file(folder, name, content)
    types = tuple(one.dtype.str for one in arrays)
    return PartFile(file.name, file.size, file.crc, run.first, len(run.counts), len(run.scores), types)  # type: ignore[arg-type]


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def write_file(folder: Path, name: str, content: bytes) -> File:
    """Write a file of the study; it is on disk when this returns."""
    write_bytes(folder / name, content)
    return File(name, len(content), zlib.crc32(content))


def write_table(folder: Path, name: str, frame: pl.DataFrame) -> File:
    """Write a table of items or raters."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return write_file(folder, name, buffer.getvalue())


def write_array(folder: Path, name: str, array: NDArray[Any]) -> File:
    """Write an array in a file of its own."""
    return write_file(folder, name, array.tobytes())


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Switch the study to a manifest in one step; then remove what no longer belongs to it."""
    known: dict[str, Any] = {"form": FORM, **{one.name: getattr(manifest, one.name) for one in fields(manifest)}}
    known |= {name: asdict(known[name]) for name in ("items", "raters", "counts")}
    known["layers"] = [asdict(layer) for layer in manifest.layers]
    known = json.loads(_plain(known))
    _sync(folder)  # the names of the files, before the manifest mentions them
    write_bytes(folder / MANIFEST, json.dumps({**known, "crc": zlib.crc32(_plain(known))}, indent=1).encode())
    _sync(folder)
    sweep(folder, manifest.files)


def _plain(known: Mapping[str, Any]) -> bytes:
    return json.dumps(known, sort_keys=True).encode()


def sweep(folder: Path, keep: Iterable[str]) -> None:
    """Remove files that an interrupted call left, or that a later one replaced."""
    named = set(keep)
    for path in folder.iterdir():
        half = path.name.startswith(".") and path.name.endswith(".part")  # nobody else writes here now
        if half or (path.name not in named and path.name.startswith(_OURS)):
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


def versions() -> dict[str, str]:
    """Return the versions of what wrote a study."""
    return {name: metadata.version(name) for name in ("plurivox", "numpy", "polars")}


def rater_type(n_raters: int) -> np.dtype[Any]:
    """Return the smallest type that holds the codes of this many raters; with four bytes, it is the engine's."""
    smallest = np.min_scalar_type(max(n_raters - 1, 0))
    return smallest if smallest.itemsize < 4 else np.dtype(np.int32)
