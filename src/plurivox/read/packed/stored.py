"""Ratings packed in a folder: like any others, except that their parts are read when they are needed.

Code that adds up parts does not notice the difference. Code that needs all ratings at once gets an error that says what
that takes.
"""

from __future__ import annotations

import bisect
import contextlib
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NoReturn, overload

import numpy as np
import platformdirs
from numpy.typing import NDArray

from plurivox.base.errors import FileError, NeedsMemoryError
from plurivox.base.files import write_bytes
from plurivox.domain.part import Part, packed_words, pair_bits, runs, unpacked_words
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import Scale
from plurivox.read.packed.folder import (
    Folder,
    as_part,
    damaged,
    named,
    read_counts,
    read_manifest,
    read_map,
    read_run,
    read_table,
)
from plurivox.read.packed.manifest import Layer, Manifest, RemoteFolder

_BYTES = 9  # of a rating in memory: two codes and a score


class Layers:
    """The layers of a study as one: the ratings of any items, in the current codes."""

    def __init__(self, folder: Folder, layers: Sequence[Layer], n_items: int, n_raters: int, scale: Scale) -> None:
        self.folder, self.layers, self._score = folder, tuple(layers), np.dtype(scale.dtype)
        self._n_items, self._n_raters, self._n_points = n_items, n_raters, len(scale)
        self._bits = pair_bits(n_raters, len(scale))

    @classmethod
    def of(cls, folder: Folder, manifest: Manifest) -> Layers:
        """Return the layers of a study as it is."""
        return cls(folder, manifest.layers, manifest.n_items, manifest.n_raters, manifest.scale)

    @cached_property
    def maps(self) -> list[tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]]:
        """For each layer, the current codes of its items and its raters; None if they are unchanged."""
        return [
            (
                None if one.items is None else read_map(self.folder, one.items, self._n_items),
                None if one.raters is None else read_map(self.folder, one.raters, self._n_raters),
            )
            for one in self.layers
        ]

    def words(self, items: slice) -> NDArray[np.uint64]:
        """Return the ratings of some items, packed into words in order; if a pair occurs twice, the later one."""
        found = [np.empty(0, np.uint64)]
        for layer, (item_map, rater_map) in zip(self.layers, self.maps, strict=True):
            bounds = (self._n_raters if rater_map is None else len(rater_map), self._n_points - layer.shift)
            own = items if item_map is None else slice(*np.searchsorted(item_map, (items.start, items.stop)).tolist())
            for file in layer.parts:
                if file.first < own.stop and file.items.stop > own.start:
                    run = read_run(self.folder, file, bounds, own)
                    places = slice(run.first, run.first + len(run.counts))
                    of_item = np.arange(places.start, places.stop) if item_map is None else item_map[places]
                    raters = run.raters if rater_map is None else rater_map[run.raters]
                    scores = run.scores.astype(np.int64) + layer.shift if layer.shift else run.scores
                    found.append(packed_words(np.repeat(of_item, run.counts), raters, scores, self._bits))
        words = np.concatenate(found)
        if len(found) > 2:
            words = words[np.argsort(words >> np.uint64(self._bits[1]), kind="stable")]
        pair = words >> np.uint64(self._bits[1])
        last = np.append(pair[1:] != pair[:-1], True) if len(words) else np.zeros(0, bool)
        return words if last.all() else words[last]

    def part(self, first: int, last: int) -> Part:
        """Return some items in the engine's form."""
        entries = unpacked_words(self.words(slice(first, last)), self._bits)
        offsets = np.searchsorted(entries.item, np.arange(first, last + 1)).astype(np.int64)
        scores = entries.score.astype(self._score, copy=False)
        return Part(first, offsets, entries.rater, scores, np.zeros(0, np.int64))


class PackedParts(Sequence[Part]):
    """The parts of a packed study, each read when it is needed; another process opens them itself."""

    def __init__(self, folder: Folder, manifest: Manifest, offsets: NDArray[np.int64]) -> None:
        self.folder, self.manifest, self._offsets = folder, manifest, offsets
        self._layers = Layers.of(folder, manifest)
        self._files = manifest.layers[0].parts if len(manifest.layers) == 1 else ()
        self._runs = [(one.first, one.items.stop) for one in self._files] or list(runs(offsets))

    @property
    def log(self) -> Path:
        """The folder in which finished work is logged, so that an interrupted analysis can resume."""
        if isinstance(self.folder, RemoteFolder):
            return self.folder.log
        return Path(f"{os.path.abspath(self.folder)}.log")

    @property
    def identity(self) -> tuple[Any, ...]:
        """What distinguishes these parts from those of all other studies, and finished work from planted work."""
        return self.manifest.sha256, secret()

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, at: int) -> Part: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Part]: ...
    def __getitem__(self, at: int | slice) -> Part | Sequence[Part]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        first, last = self._runs[at]
        if self._files:
            bounds = self.manifest.n_raters, len(self.manifest.scale)
            part = as_part(read_run(self.folder, self._files[at], bounds))
        else:
            part = self._layers.part(first, last)
        if not np.array_equal(part.offsets, self._offsets[first : last + 1] - self._offsets[first]):
            raise damaged(self.folder, self.manifest.counts.name, "its counts are not those of the parts")
        return part

    def __iter__(self) -> Iterator[Part]:
        return (self[at] for at in range(len(self)))

    def having(self, first: int, last: int) -> list[Part]:
        """Return the parts that have any of some items."""
        at = bisect.bisect_right(self._runs, first, key=lambda run: run[0]) - 1
        end = max(bisect.bisect_left(self._runs, last, key=lambda run: run[0]), at + 1)
        return [self[one] for one in range(at, end)]

    def __reduce__(self) -> tuple[Any, ...]:
        return opened_parts, (os.fspath(self.folder.absolute()), self.manifest.sha256)


@lru_cache(maxsize=1)
def secret() -> bytes:
    """Return what only this user knows: finished work is named after it, so that nobody else can say what was found."""
    path = platformdirs.user_cache_path("plurivox") / "packed" / "secret"
    with contextlib.suppress(OSError, FileError):
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, secrets.token_bytes(16))
            path.chmod(0o600)
        return path.read_bytes()
    return secrets.token_bytes(16)


@lru_cache(maxsize=4)
def opened_parts(folder: str, sha256: str) -> PackedParts:
    """Open the parts of a study in another process, which must find the same folder."""
    manifest = read_manifest(folder)
    if manifest.sha256 != sha256:
        raise FileError(
            "it is not the same here as where the analysis was started", source=folder,
            hint="Try again once nobody is packing or appending to it.",
        )  # fmt: skip
    path = named(folder).folder
    return PackedParts(path, manifest, offsets_of(path, manifest))


def offsets_of(folder: Folder, manifest: Manifest) -> NDArray[np.int64]:
    """Return where the ratings of each item begin."""
    offsets = np.zeros(manifest.n_items + 1, np.int64)
    np.cumsum(read_counts(folder, manifest), out=offsets[1:])
    return offsets


class PackedRatings(Ratings):
    """Ratings in a folder that :func:`plurivox.pack` made; see :class:`plurivox.Ratings`."""

    __slots__ = ("_stored",)
    _stored: PackedParts

    def __init__(self, stored: PackedParts, **known: Any) -> None:
        values = {"weights": None, "panel": None, **known, "_parts": [], "_found": {}, "_stored": stored}
        for name, value in (values | dict.fromkeys(("multiplicity", "times", "again"))).items():
            object.__setattr__(self, name, value)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> PackedRatings:
        """Open a packed study: its tables are read, its ratings stay where they are."""
        path, name, _ = named(folder)
        manifest = read_manifest(folder)
        offsets = offsets_of(path, manifest)
        items = read_table(path, manifest.items, "item", manifest.n_items)
        raters = read_table(path, manifest.raters, "rater", manifest.n_raters)
        intake = replace(manifest.intake, source=os.fsencode(name).decode(errors="backslashreplace"))
        return cls(
            PackedParts(path, manifest, offsets), scale=manifest.scale, items=items, raters=raters,
            intake=intake, offsets=offsets,
        )  # fmt: skip

    @property
    def folder(self) -> Folder:
        """Where it is."""
        return self._stored.folder

    @property
    def sha256(self) -> str:
        """The SHA-256 of its manifest, which ``study.pvx#sha256=…`` demands."""
        return self.manifest.sha256

    @property
    def manifest(self) -> Manifest:
        """The manifest of the folder."""
        return self._stored.manifest

    def parts(self) -> Sequence[Part]:
        """Return the parts, each of which is read when it is needed."""
        return self._stored

    def _parts_with(self, first: int, last: int) -> list[Part]:
        """Return the parts that contain any of some items, and read no others."""
        return self._stored.having(first, last)

    def _too_many(self) -> NoReturn:
        size = self.n_entries * _BYTES / 1e9
        raise NeedsMemoryError(
            f"this needs the ratings in memory: {self.intake.source} has {self.n_entries:,}, which take about "
            f"{size:.2g} GB and as much again to work with. Use --in-memory, or read_ratings(…).in_memory(); or keep "
            "only some of them with --where, or .where(…)."
        )

    item_codes = rater_codes = scores = property(_too_many, doc="Not available; use :meth:`in_memory`.")

    def with_known(self, **known: Any) -> Ratings:
        """Return the same ratings with another scale of the same length, other attributes or another intake."""
        names = ("scale", "items", "raters", "intake", "offsets", "weights", "panel")
        return PackedRatings(self._stored, **{**{name: getattr(self, name) for name in names}, **known})

    def chosen(self, items: NDArray[np.bool_] | None, raters: NDArray[np.bool_] | None) -> Ratings:
        """Return the ratings of some items by some raters, in memory."""
        item_codes, rater_codes = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        scores: list[Any] = [np.empty(0, self.scale.dtype)]
        for part in self.parts():
            item = part.item_of_each() + part.first
            keep = np.ones(len(item), bool) if items is None else items[item]
            if raters is not None:
                keep &= raters[part.raters]
            item_codes.append(item[keep].astype(np.int32))
            rater_codes.append(part.raters[keep])
            scores.append(part.scores[keep])
        return Ratings(
            self.scale, self.items, self.raters, np.concatenate(item_codes), np.concatenate(rater_codes),
            np.concatenate(scores), None, self.intake, weights=self.weights, panel=self.panel,
        )  # fmt: skip

    def in_memory(self) -> Ratings:
        """Read all ratings into memory."""
        return self.chosen(None, None)
