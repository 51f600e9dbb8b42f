"""``pack``: files become a packed study, or are added to one.

Appending: more ratings become a new layer of a packed study; layers are merged by item when they are read.

Existing files are not written again. New ids may sort between known ones, so that codes change: for every layer, a map
gives the current code of each of its items and raters. Ids keep their order, so a map is always increasing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import FilePath, FilePaths, check_given, checked, kinds_of
from plurivox.base.errors import AttributeConflictError, DuplicateError, FileError, InputError, few
from plurivox.domain.attributes import AttributeRules, AttributeTable, Matched, as_categories, places_of
from plurivox.domain.check import CodedColumns, LongTable, repeated_pairs
from plurivox.domain.choices import Conflicts, Duplicates
from plurivox.domain.code import ABSENT, Coded, Translated, as_text
from plurivox.domain.part import RatingRows, Repeats, packed_words, pair_bits
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import Label, Scale
from plurivox.read.packed.folder import is_packed, named, read_manifest, write_file, write_manifest
from plurivox.read.packed.manifest import File, Layer
from plurivox.read.packed.packing import MEMORY, Packer, bytes_of, writing_folder
from plurivox.read.packed.stored import Layers, PackedRatings
from plurivox.read.parquet import table_to
from plurivox.read.read import read_ratings, read_table_of_ratings
from plurivox.read.settings import LATER, UNPACKED, ReadSettings

_ROLES: tuple[Literal["item", "rater"], ...] = ("item", "rater")
_KEPT = ("duplicates", "conflicts", "unknown", "rater_attributes", "item_attributes")
_ANEW = "Pack all files again into another folder."
_OR_ANEW = "or pack all files again into another folder."


class Appender(Packer):
    """Adds a table to a packed study as a layer of its own."""

    def __init__(self, folder: Path, memory: int) -> None:
        self.old = PackedRatings.open(folder)
        super().__init__(folder, self.old.manifest.generation + 1, memory)

    def settled(self, given: ReadSettings, said: Collection[str]) -> ReadSettings:
        """Return how new files are read: as the study was, unless it is said; raise an error if that is impossible."""
        manifest, intake, source = self.old.manifest, self.old.intake, str(self.folder)
        changes: dict[str, Any] = {"poles": given.poles or self.old.scale.poles}
        for name in _KEPT:
            rule = getattr(manifest.rules, name)
            if name in said and _listed(getattr(given, name)) != _listed(rule):
                raise InputError(
                    f"{name} was {_shown(rule)} when it was packed, but is {_shown(getattr(given, name))} now",
                    source=source, hint=f"Leave out {name}, {_OR_ANEW}",
                )  # fmt: skip
            changes[name] = rule
        if intake.layout == "long" and not intake.platform:
            changes |= {role: getattr(given, role) or column for role, column in intake.columns.items()}
        return replace(given, **changes)

    def __call__(
        self, table: LongTable, scale: Scale | None, *, missing: Iterable[Label], duplicates: Duplicates,
        raters: AttributeTable | None, items: AttributeTable | None, rules: AttributeRules,
    ) -> Ratings:  # fmt: skip
        """Pack a table next to the existing layers; the tables and the manifest are not written yet."""
        old, manifest = self.old, self.old.manifest
        if scale is not None and scale.labels != old.scale.labels:
            hint = f"Leave out the scale, {_OR_ANEW}"
            raise InputError(f"the study has the scale {old.scale}, not {scale}", source=table.source, hint=hint)
        if old.intake.scale_inferred:
            own = self.read(table, None, missing, old.scale.labels)
        else:
            own = self.read(table, old.scale, missing)
        known, shift = self._scale(own)
        common: dict[str, Coded] = {role: self._ids(role, own.coded[role], table.source) for role in _ROLES}
        columns = replace(own, coded={**own.coded, **common}, scale=known)
        maps = {role: places_of(getattr(old, f"{role}s")[role], columns.coded[role].values) for role in _ROLES}
        layers = self._moved(maps["item"], maps["rater"], shift)
        n_items, n_raters = (len(columns.coded[role].values) for role in _ROLES)
        earlier, again = Layers(self.folder, layers, n_items, n_raters, known), list[int]()
        drop = _already_known(str(self.folder), columns, earlier, again)
        parts, added, repeats, n_missing = self.layer(columns, duplicates, drop)
        counts = np.zeros(len(added), np.uint32)
        counts[maps["item"]] = np.diff(old.offsets)
        owners = own.described(items, raters, rules)
        found = dict(zip(_ROLES, owners, strict=True))
        frames: dict[str, pl.DataFrame] = {}
        several: dict[str, dict[str, list[int]]] = {}
        for role in _ROLES:
            frames[role], several[role] = _together(
                role, old, maps[role], columns.coded[role].values, own.coded[role], table.source, found[role],
                manifest.several.get(role, {}), rules.conflicts,
            )  # fmt: skip
        told = own.intake(repeats, duplicates, n_missing, owners, rules)
        intake = replace(
            old.intake, rows=old.intake.rows + told.rows,
            missing_scores=old.intake.missing_scores + told.missing_scores,
            repeated_pairs=old.intake.repeated_pairs + told.repeated_pairs + sum(again),
            tied_repeats=old.intake.tied_repeats + told.tied_repeats,
            rater_conflicts={name: len(whose) for name, whose in several["rater"].items()},
            item_conflicts={name: len(whose) for name, whose in several["item"].items()},
            conflicts=told.conflicts or old.intake.conflicts,
            unknown_raters=old.intake.unknown_raters + told.unknown_raters,
            unknown_items=old.intake.unknown_items + told.unknown_items,
        )  # fmt: skip
        self.rules = manifest.rules
        return self.opened(
            known, intake, frames["item"], frames["rater"], counts + added, (*layers, Layer(parts)), several
        )

    def _scale(self, own: CodedColumns) -> tuple[Scale, int]:
        """Return the common scale, which contains the old one, and by how much old positions move."""
        old, new = self.old.scale, own.scale
        if new.labels == old.labels:
            return old, 0
        shift = new.labels.index(old.labels[0]) if old.labels[0] in new.labels else 0
        if new.labels[shift : shift + len(old)] != old.labels:
            raise InputError(
                f"with its scores, the scale is {new}, but that of the study is {old}", source=own.table.source,
                hint=_ANEW,
            )  # fmt: skip
        both = new.with_missing(list(dict.fromkeys([*old.missing, *new.missing])))
        return both if old.poles is None else both.with_poles(old.poles), shift

    def _ids(self, role: str, own: Coded, source: str) -> Coded:
        """Return new ids in the common codes of old and new ids."""
        known: pl.Series = getattr(self.old, f"{role}s")[role]
        new = own.values
        if known.dtype != new.dtype:
            if known.dtype != pl.String:
                raise InputError(
                    f"the {role} ids of the study are numbers, but the added ones are not", source=source,
                    hint=_ANEW,
                )  # fmt: skip
            new = as_text(new)
        values = pl.concat([known.alias(role), new.alias(role)]).unique().sort()
        assert isinstance(own.codes, Translated)
        place = np.append(places_of(new, values), ABSENT).astype(np.int32)
        return Coded(values, replace(own.codes, rank=place[own.codes.rank]))

    def _moved(self, items: NDArray[np.int64], raters: NDArray[np.int64], shift: int) -> tuple[Layer, ...]:
        """Return the existing layers, with maps to the current codes."""
        layers = []
        known = Layers.of(self.folder, self.old.manifest).maps
        for at, (layer, (of_items, of_raters)) in enumerate(zip(self.old.manifest.layers, known, strict=True)):
            item_map = self._map(f"{at:04d}-items", items, of_items, layer.items)
            rater_map = self._map(f"{at:04d}-raters", raters, of_raters, layer.raters)
            layers.append(Layer(layer.parts, item_map, rater_map, layer.shift + shift))
        return tuple(layers)

    def _map(self, name: str, now: NDArray[np.int64], before: NDArray[Any] | None, file: File | None) -> File | None:
        """Write the current code of each id of a layer; nothing if that did not change."""
        if np.array_equal(now, np.arange(len(now))):
            return file
        own = now if before is None else now[before]
        return write_file(self.folder, f"map-{self.generation:04d}-{name}.bin", own.astype("<i4").tobytes())


def _listed(rule: Any) -> Any:
    return list(rule) if isinstance(rule, Sequence) and not isinstance(rule, str) else rule


def _shown(rule: Any) -> str:
    return repr(rule) if isinstance(rule, str) else few(list(rule)) or "none"


def _already_known(
    source: str, columns: CodedColumns, layers: Layers, again: list[int]
) -> Callable[[slice, RatingRows, Duplicates], tuple[RatingRows, Any]]:
    """Return a function that drops new ratings of pairs that earlier layers have; ``again`` gets how many these are.

    If the last one counts, it keeps them and returns what each item loses.
    """
    rater_bits, score_bits = pair_bits(len(columns.coded["rater"].values), len(columns.scale))

    def known(items: slice, new: RatingRows, rule: Duplicates) -> tuple[RatingRows, Any]:
        pairs = packed_words(new.item, new.rater, np.zeros(len(new.item), np.uint8), (rater_bits, 0))
        twice = np.isin(pairs, layers.words(items) >> np.uint64(score_bits), assume_unique=True)
        if not twice.any():
            return new, 0
        if rule in ("error", "mode"):
            found = repeated_pairs(
                columns, Repeats(new.item[twice].astype(np.int64), new.rater[twice].astype(np.int64))
            )
            n = found.n_places
            pairs_are = "1 (item, rater) pair is" if n == 1 else f"at least {n:,} (item, rater) pairs are"
            hint = "Remove them, or pack all files again with --duplicates first or last."
            if rule == "mode":
                hint = f"The most frequent score cannot be found in a packed study. {_ANEW}"
            raise DuplicateError(
                f"{pairs_are} already rated in {source}",
                source=found.source,
                places=found.places,
                n_places=n,
                hint=hint,
            )
        again.append(int(np.count_nonzero(twice)))
        if rule == "first":
            return new[~twice], 0
        return new, np.bincount(new.item[twice] - items.start, minlength=items.stop - items.start)

    return known


def _together(
    role: str, old: PackedRatings, place: NDArray[np.int64], values: pl.Series, own: Coded, source: str, found: Matched,
    several: dict[str, list[int]], rule: Conflicts,
) -> tuple[pl.DataFrame, dict[str, list[int]]]:  # fmt: skip
    """Return what was known about raters or items with what is now and, for each attribute, who has several values."""
    frame: pl.DataFrame = getattr(old, f"{role}s")
    new_place = places_of(own.values, values)
    more = [name for name in found.frame.columns[1:] if name not in frame.columns]
    if more:
        raise InputError(
            f"the {role}s of {old.intake.source} have no attribute '{more[0]}'", source=source,
            hint=f"Leave out this attribute, {_OR_ANEW}",
        )  # fmt: skip
    columns, whose = [values.alias(role)], {}
    for before in frame.get_columns()[1:]:
        name = before.name
        nothing = pl.Series(name, [None] * len(own.values), dtype=before.dtype)
        after = found.frame[name] if name in found.frame.columns else nothing
        clash = np.zeros(len(values), bool)
        clash[place[several.get(name, [])]] = True
        if name in found.several:
            clash[new_place[found.several[name]]] = True
        if before.dtype != after.dtype:
            before, after = as_categories(before), as_categories(after)
        before, after = _spread(before, place, len(values)), _spread(after, new_place, len(values))
        differ = (before.is_not_null() & after.is_not_null() & (before != after).fill_null(False)).to_numpy()
        if differ.any() and rule == "error":
            at = int(np.flatnonzero(differ)[0])
            which = "one rater" if role == "rater" else f"item {values[at]!r}"
            raise AttributeConflictError(
                f"{which} has more than one value: {before[at]}, {after[at]}", source=source, column=name,
                hint="Correct it, or pack all files again and choose with --conflicts which value counts.",
            )  # fmt: skip
        clash |= differ
        both = before.zip_with(before.is_not_null(), after)
        columns.append(both.set(pl.Series(clash), None) if rule == "missing" and clash.any() else both)
        if clash.any():
            whose[name] = np.flatnonzero(clash).tolist()
    return pl.DataFrame(columns), whose


def _spread(column: pl.Series, places: NDArray[np.int64], n: int) -> pl.Series:
    """Return a column with its values at other places, and null between them."""
    where = np.full(n, -1, np.int64)
    where[places] = np.arange(len(column))
    rows = pl.Series(where).set(pl.Series(where < 0), None)
    return column.gather(rows)


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
            packer = Packer(folder, read_manifest(folder).generation + 1 if is_packed(folder) else 1, room)
        ratings = read_table_of_ratings(files, given, code=packer)
        if not isinstance(ratings, PackedRatings) or not packer.rules:
            raise InputError(
                "these ratings were already packed or stored by plurivox, or some of them are left out",
                source=ratings.intake.source, hint="Pack the table they were made from.",
            )  # fmt: skip
        items, raters = (
            write_file(folder, f"{whose}-{packer.generation:04d}.parquet", table_to(getattr(ratings, whose)))
            for whose in ("items", "raters")
        )
        told = replace(ratings.manifest, scale=ratings.scale, intake=ratings.intake, items=items, raters=raters)
        write_manifest(folder, told)
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
