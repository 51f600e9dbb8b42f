"""Ratings packed in a folder: like any others, except that their parts are read when they are needed.

Code that adds up parts does not notice the difference. Code that needs all ratings at once gets an error that says what
that takes.
"""

from __future__ import annotations

import bisect
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NoReturn, overload

import numpy as np
from numpy.typing import NDArray

from plurivox.engine.part import Part, runs
from plurivox.errors import FileError, NeedsMemoryError
from plurivox.intake.check import Intake
from plurivox.intake.order import packed_words, pair_bits, unpacked_words
from plurivox.packed.folder import (
    File,
    Folder,
    Layer,
    Manifest,
    Run,
    as_part,
    damaged,
    folder_of,
    read_array,
    read_manifest,
    read_run,
    read_table,
)
from plurivox.packed.remote import RemoteFolder
from plurivox.ratings import Ratings
from plurivox.scale import Scale

_BYTES = 9  # of a rating in memory: two codes and a score


class Layers:
    """The layers of a study as one: the ratings of any items, in the current codes."""

    def __init__(self, folder: Folder, layers: Sequence[Layer], n_raters: int, n_points: int, score: Any) -> None:
        self.folder, self.layers = folder, tuple(layers)
        self._bits, self._score = pair_bits(n_raters, n_points), np.dtype(score)

    @cached_property
    def maps(self) -> list[tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]]:
        """For each layer, the current codes of its items and its raters; None if they are unchanged."""
        return [(self._map(one.items), self._map(one.raters)) for one in self.layers]

    def _map(self, file: File | None) -> NDArray[np.int32] | None:
        return None if file is None else read_array(self.folder, file, "<i4")

    def words(self, items: slice) -> NDArray[np.uint64]:
        """Return the ratings of some items, packed into words in order; if a pair occurs twice, the later one."""
        found = [np.empty(0, np.uint64)]
        for layer, (item_map, rater_map) in zip(self.layers, self.maps, strict=True):
            own = items if item_map is None else slice(*np.searchsorted(item_map, (items.start, items.stop)).tolist())
            files = [one for one in layer.parts if one.first < own.stop and one.items.stop > own.start]
            found += [self._packed(read_run(self.folder, one, own), item_map, rater_map, layer.shift) for one in files]
        words = np.concatenate(found)
        if len(found) > 2:
            words = words[np.argsort(words >> np.uint64(self._bits[1]), kind="stable")]
        pair = words >> np.uint64(self._bits[1])
        last = np.append(pair[1:] != pair[:-1], True) if len(words) else np.zeros(0, bool)
        return words if last.all() else words[last]

    def _packed(
        self, run: Run, item_map: NDArray[np.int32] | None, rater_map: NDArray[np.int32] | None, shift: int
    ) -> NDArray[np.uint64]:
        places = np.arange(run.first, run.first + len(run.counts)) if item_map is None else item_map[
            run.first : run.first + len(run.counts)
        ]  # fmt: skip
        raters = run.raters if rater_map is None else rater_map[run.raters]
        scores = run.scores.astype(np.int64) + shift if shift else run.scores
        return packed_words(np.repeat(places, run.counts), raters, scores, self._bits)

    def part(self, first: int, last: int) -> Part:
        """Return some items in the engine's form."""
        entries = unpacked_words(self.words(slice(first, last)), self._bits)
        offsets = np.searchsorted(entries.item, np.arange(first, last + 1)).astype(np.int64)
        assert entries.rater is not None
        scores = entries.score.astype(self._score, copy=False)
        return Part(first, offsets, entries.rater, scores, np.zeros(0, np.int64))


class PackedParts(Sequence[Part]):
    """The parts of a packed study, each read when it is needed; another process opens them itself."""

    def __init__(self, folder: Folder, manifest: Manifest, offsets: NDArray[np.int64]) -> None:
        self.folder, self.manifest = folder, manifest
        self._runs = list(runs(offsets))
        scale = Scale.from_dict(manifest.scale)
        self._layers = Layers(folder, manifest.layers, manifest.n_raters, len(scale), scale.dtype)
        self._plain = len(manifest.layers) == 1

    @property
    def log(self) -> Path:
        """The folder in which finished work is logged, so that an interrupted analysis can resume."""
        if isinstance(self.folder, RemoteFolder):
            return self.folder.log
        return self.folder.with_name(f"{self.folder.name}.log")

    @property
    def identity(self) -> tuple[Any, ...]:
        """What distinguishes these parts from those of all other studies."""
        files = [(one.name, one.crc) for layer in self.manifest.layers for one in layer.parts]
        maps = [(layer.items, layer.raters, layer.shift) for layer in self.manifest.layers]
        return self.manifest.generation, self.manifest.counts, files, maps

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, at: int) -> Part: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Part]: ...
    def __getitem__(self, at: int | slice) -> Part | Sequence[Part]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        if self._plain:
            return as_part(read_run(self.folder, self.manifest.layers[0].parts[at]))
        return self._layers.part(*self._runs[at])

    def __iter__(self) -> Iterator[Part]:
        return (self[at] for at in range(len(self)))

    def having(self, first: int, last: int) -> list[Part]:
        """Return the parts that have any of some items."""
        at = bisect.bisect_right(self._runs, first, key=lambda run: run[0]) - 1
        end = max(bisect.bisect_left(self._runs, last, key=lambda run: run[0]), at + 1)
        return [self[one] for one in range(at, end)]

    def __reduce__(self) -> tuple[Any, ...]:
        return opened_parts, (os.fspath(self.folder.absolute()), self.manifest.generation)


@lru_cache(maxsize=4)
def opened_parts(folder: str, generation: int) -> PackedParts:
    """Open the parts of a study in another process, which must find the same folder."""
    path = folder_of(folder)
    manifest = read_manifest(path)
    if manifest.generation != generation:
        raise FileError(
            "it is not the same here as where the analysis was started", source=folder,
            hint="Try again once nobody is packing or appending to it.",
        )  # fmt: skip
    return PackedParts(path, manifest, offsets_of(path, manifest))


def offsets_of(folder: Folder, manifest: Manifest) -> NDArray[np.int64]:
    """Return where the ratings of each item begin."""
    counts = read_array(folder, manifest.counts, "<u4")
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    if len(counts) != manifest.n_items or offsets[-1] != manifest.n_ratings:
        raise damaged(folder, manifest.counts.name, "it does not say how many ratings each item has")
    return offsets


class PackedRatings(Ratings):
    """Ratings in a folder that :func:`plurivox.pack` made; see :class:`plurivox.Ratings`."""

    __slots__ = ("_stored",)
    _stored: PackedParts

    def __init__(self, stored: PackedParts, **known: Any) -> None:
        values = {
            "weights": None,
            "panel": None,
            **known,
            "multiplicity": None,
            "times": None,
            "again": None,
            "_parts": [],
            "_found": {},
            "_stored": stored,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> PackedRatings:
        """Open a packed study: its tables are read, its ratings stay where they are."""
        path = folder_of(folder)
        manifest = read_manifest(path)
        offsets = offsets_of(path, manifest)
        items, raters = read_table(path, manifest.items), read_table(path, manifest.raters)
        if (items.height, raters.height) != (manifest.n_items, manifest.n_raters):
            raise damaged(path, manifest.items.name, "its number of rows is not the number of items")
        intake = replace(Intake(**manifest.intake), source=os.fsencode(folder).decode(errors="backslashreplace"))
        return cls(
            PackedParts(path, manifest, offsets), scale=Scale.from_dict(manifest.scale), items=items, raters=raters,
            intake=intake, offsets=offsets,
        )  # fmt: skip

    @property
    def folder(self) -> Folder:
        """Where it is."""
        return self._stored.folder

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

    @property
    def item_codes(self) -> NDArray[np.int32]:
        """Not available; use :meth:`in_memory`."""
        self._too_many()

    @property
    def rater_codes(self) -> NDArray[np.int32]:
        """Not available; use :meth:`in_memory`."""
        self._too_many()

    @property
    def scores(self) -> Any:
        """Not available; use :meth:`in_memory`."""
        self._too_many()

    def with_known(self, **known: Any) -> Ratings:
        """Return the same ratings with another scale of the same length, other attributes or another intake."""
        same = {
            name: getattr(self, name) for name in ("scale", "items", "raters", "intake", "offsets", "weights", "panel")
        }
        return PackedRatings(self._stored, **{**same, **known})

    def chosen(self, items: NDArray[np.bool_] | None, raters: NDArray[np.bool_] | None) -> Ratings:
        """Return the ratings of some items by some raters, in memory."""
        item_codes, rater_codes, scores = [np.empty(0, np.int32)], [np.empty(0, np.int32)], [self._no_scores()]
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

    def _no_scores(self) -> Any:
        return np.empty(0, self.scale.dtype)

    def in_memory(self) -> Ratings:
        """Read all ratings into memory."""
        return self.chosen(None, None)
