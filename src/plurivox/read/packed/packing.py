"""Packing: any number of files become a folder of coded parts, sorted by item, in bounded memory.

1. The files are read block by block. Each id and score gets a provisional code, which waits on disk.
2. The ids are ranked, as they are when a table is read into memory; so codes and order are the same.
3. Each row, packed into one word, goes into the bucket of its item: a range of items that fits in memory.
4. Bucket by bucket, the words are sorted, repeats are settled, and parts are cut where they would be cut in memory.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.base.arguments import shown
from plurivox.base.errors import FileError, InputError
from plurivox.domain.attributes import AttributeRules, AttributeTable
from plurivox.domain.check import CodedColumns, LongTable, present, repeated_pairs
from plurivox.domain.choices import Duplicates
from plurivox.domain.code import Spill, Temporary, stretches
from plurivox.domain.part import RatingRows, Repeats, Words, packed_words, pair_bits, runs, settled
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import Label, Scale
from plurivox.read.packed.folder import (
    Run,
    is_packed,
    read_manifest,
    sweep,
    write_file,
    write_run,
)
from plurivox.read.packed.manifest import NOTHING, Layer, Manifest, Packing, PartFile
from plurivox.read.packed.stored import PackedParts, PackedRatings

MEMORY = "2GB"
LEAST_MEMORY = 200_000_000
"""What the program itself needs, including blocks of files; ids and tables are extra."""
MOST_BUCKETS = 500
"""Each bucket is an open file, of which systems allow about a thousand."""
_PER_ROW = 56  # bytes that sorting a bucket takes per row
_LEAST_ROWS = 1 << 16
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
Known = Callable[[slice, RatingRows, Duplicates], tuple[RatingRows, int]]


def bytes_of(memory: str | int) -> int:
    """Read an amount of memory.

    Examples
    --------
    >>> bytes_of("2GB"), bytes_of("512 MiB"), bytes_of(300_000_000)
    (2000000000, 536870912, 300000000)
    """
    if isinstance(memory, int):
        amount = memory
    else:
        found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]*)\s*", memory)
        unit = _UNITS.get(found[2].upper()) if found else None
        if found is None or unit is None:
            raise InputError(f"memory is {shown(memory)}", hint="Give it as 2GB, or 512MB.")
        amount = int(float(found[1]) * unit)
    if amount < LEAST_MEMORY:
        raise InputError(
            f"memory is {shown(memory)}, which is too little", hint=f"Give {LEAST_MEMORY // 10**6}MB or more."
        )
    return amount


@contextlib.contextmanager
def writing_folder(path: Path) -> Iterator[Path]:
    """Make the folder of a study, to which only one process writes at a time; it is removed if it stays empty."""
    if path.exists() and not is_packed(path) and (not path.is_dir() or any(path.iterdir())):
        raise FileError("it exists and is not a packed study", source=str(path), hint="Name another folder.")
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise FileError(
            f"it cannot be made ({error.strerror})", source=str(path), hint="Name another folder."
        ) from None
    with _locked(path):
        try:
            yield path
        except BaseException:
            sweep(path, read_manifest(path).files if is_packed(path) else ())
            with contextlib.suppress(OSError):
                path.rmdir()
            raise


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise FileError("another process is packing it", source=str(path), hint="Wait for it to end.") from None
        yield
    finally:
        os.close(descriptor)


class Packer:
    """Turns a table into a layer of parts in a folder."""

    def __init__(self, folder: Path, generation: int, memory: int) -> None:
        self.folder, self.generation, self.memory = folder, generation, memory
        self.rules: Packing | None = None

    def __call__(
        self, table: LongTable, scale: Scale | None, *, missing: Iterable[Label], duplicates: Duplicates,
        raters: AttributeTable | None, items: AttributeTable | None, rules: AttributeRules,
    ) -> Ratings:  # fmt: skip
        """Pack a table; the tables of items and raters and the manifest are not written yet."""
        columns = self.read(table, scale, missing)
        parts, counts, repeats, n_missing = self.layer(columns, duplicates)
        known_items, known_raters = owners = columns.described(items, raters, rules)
        intake = columns.intake(repeats, duplicates, n_missing, owners, rules)
        self.rules = Packing(
            duplicates, rules.conflicts, list(rules.unknown), list(table.rater_attributes), list(table.item_attributes)
        )
        several = {  # the codes of those who have more than one value of an attribute
            role: {name: np.flatnonzero(mask).tolist() for name, mask in known.several.items() if mask.any()}
            for role, known in (("item", known_items), ("rater", known_raters))
        }
        return self.opened(
            columns.scale, intake, known_items.frame, known_raters.frame, counts, (Layer(parts),), several
        )

    def opened(
        self, scale: Scale, intake: Any, items: Any, raters: Any, counts: NDArray[np.uint32],
        layers: tuple[Layer, ...], several: dict[str, dict[str, list[int]]],
    ) -> PackedRatings:  # fmt: skip
        """Return the study made of layers, before its tables and its manifest are written."""
        offsets = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        assert self.rules is not None
        manifest = Manifest(
            self.generation, items.height, raters.height, int(offsets[-1]), scale, intake, NOTHING, NOTHING,
            write_file(self.folder, f"counts-{self.generation:04d}.bin", counts.tobytes()), layers, self.rules, several,
            {name: metadata.version(name) for name in ("plurivox", "numpy", "polars")},
        )  # fmt: skip
        stored = PackedParts(self.folder, manifest, offsets)
        return PackedRatings(stored, scale=scale, intake=intake, items=items, raters=raters, offsets=offsets)

    def read(
        self, table: LongTable, scale: Scale | None, missing: Iterable[Label], beside: Sequence[Label] = ()
    ) -> CodedColumns:
        """Read and code a table; its rows are kept on disk."""
        if "rater" not in table.names:
            raise InputError(
                "it holds counts per scale point, which need no packing", source=table.source,
                hint="Use it as it is; only tables with one row per rating are packed.",
            )  # fmt: skip
        return CodedColumns.of(table, scale, missing, partial(Spill, self.folder), beside)

    # Buckets ----------------------------------------------------------------------------------------------------------

    def layer(
        self, columns: CodedColumns, rule: Duplicates, known: Known | None = None
    ) -> tuple[tuple[PartFile, ...], NDArray[np.uint32], Repeats, int]:
        """Write the parts of a table; return them, the ratings per item, and what was repeated or missing.

        ``known`` drops ratings that earlier layers have from those of some items, and counts what these lose.
        """
        n_raters, n_points = len(columns.coded["rater"].values), len(columns.scale)
        n_items = len(columns.coded["item"].values)
        bits = pair_bits(n_raters, n_points, n_items)
        bounds = self._bounds(columns, n_items)
        buckets, n_missing = self._filled(columns, bounds, bits)
        found = [Repeats(np.empty(0, np.int64), np.empty(0, np.int64))]
        smallest = np.min_scalar_type(max(n_raters - 1, 0))  # with four bytes, it is the engine's
        rater_type = smallest if smallest.itemsize < 4 else np.dtype(np.int32)
        writer = _Parts(self.folder, self.generation, rater_type, columns.scale.dtype)
        counts = np.zeros(n_items, np.uint32)
        for bucket, first, last in zip(buckets, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            kept, repeats = settled(_all_of(bucket), bits, rule)
            found.append(repeats)
            lost: Any = 0
            if known is not None:
                kept, lost = known(slice(first, last), kept, rule)
            own = np.bincount(kept.item - first, minlength=last - first)
            counts[first:last] = own - lost
            writer.add(own, kept)
        together = Repeats(
            np.concatenate([one.item for one in found]), np.concatenate([one.rater for one in found]),
            sum(one.tied for one in found),
        )  # fmt: skip
        if len(together) and rule == "error":
            raise repeated_pairs(columns, together)
        return writer.finish(), counts, together, n_missing

    def _bounds(self, columns: CodedColumns, n_items: int) -> NDArray[np.int64]:
        """Return where buckets of items begin and end; each can be sorted in memory."""
        n_rows, codes = columns.n_rows, columns.coded["item"].codes
        most = max(_LEAST_ROWS, (self.memory - _resident()) // _PER_ROW)
        if n_rows <= most:
            return np.array([0, n_items], np.int64)
        rows = np.zeros(n_items + 1, np.int64)
        for some in stretches(n_rows):
            rows[1:] += np.bincount(codes[some], minlength=n_items)
        found = [0, *(last for _, last in runs(np.cumsum(rows), int(most * 0.9)))]
        if len(found) > MOST_BUCKETS + 1:
            needed = (_resident() + n_rows * _PER_ROW // MOST_BUCKETS * 2) / 1e9
            raise InputError(
                f"{n_rows:,} rows cannot be sorted in this little memory", source=columns.table.source,
                hint=f"Give --memory {needed:.1f}GB.",
            )  # fmt: skip
        return np.array(found, np.int64)

    def _filled(
        self, columns: CodedColumns, bounds: NDArray[np.int64], bits: tuple[int, int]
    ) -> tuple[list[list[Words] | Temporary], int]:
        """Put every row with a rating into the bucket of its item, in the order of rows; several wait on disk."""
        alone = len(bounds) == 2
        buckets: list[list[Words] | Temporary] = [[] if alone else Temporary(self.folder) for _ in bounds[1:]]
        n_missing = 0
        of_item = np.repeat(np.arange(len(buckets), dtype=np.uint16), np.diff(bounds))
        for some in stretches(columns.n_rows):
            rows = present(columns.entries(some))
            words = packed_words(rows.item, rows.rater, rows.score, bits)
            n_missing += some.stop - some.start - len(words)
            if alone:
                buckets[0].append(words)
                continue
            place = of_item[rows.item]
            order = np.argsort(place, kind="stable")
            ends = np.cumsum(np.bincount(place, minlength=len(buckets)))
            for bucket, own in zip(buckets, np.split(words[order], ends[:-1]), strict=True):
                bucket.append(own)
        return buckets, n_missing


def _resident() -> int:
    """Return how many bytes of memory this process uses now, or a guess if the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 500_000_000


def _all_of(bucket: list[Words] | Temporary) -> Words:
    """Return all words of a bucket in the order in which they came, and forget those in memory."""
    if isinstance(bucket, list):
        words = np.concatenate([np.empty(0, np.uint64), *bucket])
        bucket.clear()
        return words
    with bucket.opened as file:
        file.seek(0)
        return np.fromfile(file, np.uint64)


class _Parts:
    """Cuts sorted ratings into parts as they come, where they would be cut in memory, and writes them."""

    def __init__(self, folder: Path, generation: int, raters: np.dtype[Any], scores: Any) -> None:
        self._folder, self._generation, self._type = folder, generation, raters
        self._first = 0
        self._counts = np.empty(0, np.int64)
        self._raters, self._scores = np.empty(0, np.int32), np.empty(0, scores)
        self._files: list[PartFile] = []

    def add(self, counts: NDArray[np.int64], entries: RatingRows) -> None:
        """Add the ratings of the next items."""
        self._counts = np.concatenate([self._counts, counts])
        self._raters = np.concatenate([self._raters, entries.rater])
        self._scores = np.concatenate([self._scores, entries.score.astype(self._scores.dtype, copy=False)])
        self._write(whole=False)

    def finish(self) -> tuple[PartFile, ...]:
        """Write what is left, and return all files."""
        self._write(whole=True)
        return tuple(self._files)

    def _write(self, *, whole: bool) -> None:
        """Write the parts that are complete: all except the last, which may continue."""
        offsets = np.concatenate([[0], np.cumsum(self._counts)])
        found = list(runs(offsets))
        for first, last in found if whole else found[:-1]:
            own = slice(int(offsets[first]), int(offsets[last]))
            run = Run(self._first + first, self._counts[first:last], self._raters[own], self._scores[own])
            name = f"part-{self._generation:04d}-{len(self._files):05d}.bin"
            self._files.append(write_run(self._folder, name, run, self._type))
        first, _ = found[-1]
        rest = int(offsets[first])
        self._first += first
        self._counts = self._counts[first:].copy()
        self._raters, self._scores = self._raters[rest:].copy(), self._scores[rest:].copy()
