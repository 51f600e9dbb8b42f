"""Parquet: the size of what a file unpacks to, and ratings, items and raters stored in files of their own.

How large a file is when unpacked is read from its footer, because polars unpacks it before anything can be checked. The
footer is a record in Thrift's compact protocol. Only its sizes are read, by the field numbers of the format:
``FileMetaData`` has row groups (4), each of which has columns (1), each with metadata (3) and its unpacked size (6).

Tables of items and raters have the ids in the first column. They come from outside like any other, so what they say
about their size is looked at before they are unpacked.

Ratings are an ordinary table of item, rater and score (or count) that any tool can read; ratings given again are rows
with a later ``occasion``. Its metadata hold the scale, the intake and the attribute tables, so that reading it back
gives an equal object.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import FilePath, check_fields, checked, shown
from plurivox.base.errors import FileError, UnweightedWarning
from plurivox.base.files import writing
from plurivox.domain.check import Intake
from plurivox.domain.numbers import UNITS
from plurivox.domain.part import Again, first_and_again
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import Scale
from plurivox.read.opening import without_panics

MAGIC = b"PAR1"
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_DEEPEST = 32


def unpacked_size(stream: IO[bytes]) -> int | None:
    """Return how many bytes the columns of a Parquet file take when unpacked, None if its footer is damaged."""
    try:
        end = stream.seek(-8, os.SEEK_END)
        length = int.from_bytes(stream.read(4), "little")
        if stream.read(4) != MAGIC or length > end:
            return None
        stream.seek(end - length)
        groups = _Record(stream.read(length)).struct(0).get(4, [])
        return sum(int(column[3][6]) for group in groups for column in group[1])
    except (OSError, IndexError, KeyError, TypeError, ValueError, AttributeError):
        return None


class _Record:
    """Reads a record from its bytes; damage raises an IndexError or a ValueError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self, depth: int) -> dict[int, Any]:
        """Read the fields of a struct by their numbers."""
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._zigzag()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind < _DOUBLE:  # a byte, or a whole number
            return self._byte() if kind <= _BYTE else self._zigzag()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._list(depth)
        if kind == _MAP:
            raise ValueError("a footer contains no maps")
        length = 8 if kind == _DOUBLE else self._varint()
        self._at += length
        if kind > _STRUCT or self._at > len(self._data):
            raise IndexError("it is cut off")
        return None  # texts are not needed

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        length, kind = head >> 4, head & 15
        length = self._varint() if length == 15 else length
        if length > len(self._data) - self._at:
            raise IndexError("it is cut off")
        return [self._value(kind, depth) for _ in range(length)]

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _varint(self) -> int:
        found = shift = 0
        while shift < 70:
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
            shift += 7
        raise ValueError("a number is too long")

    def _zigzag(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)


_ROWS_PER_BYTE = 100
_LARGEST, _PER_BYTE = 1 << 28, 100
"""A table may unpack to this many bytes, or to so many for each byte of it if that is more."""


def table_to(frame: pl.DataFrame) -> bytes:
    """Return a table as bytes."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def table_from(data: bytes, role: str) -> pl.DataFrame:
    """Return a table of items or raters, whose first column holds ids that differ, or raise a ValueError."""
    try:
        with without_panics():
            n_rows = pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item()
            if n_rows > _ROWS_PER_BYTE * len(data):  # distinct ids take more room
                raise ValueError(f"its table of {role}s has {n_rows:,} rows in {len(data):,} bytes")
            size = unpacked_size(io.BytesIO(data))
            if size is None or size > max(_LARGEST, _PER_BYTE * len(data)):
                raise ValueError(f"its table of {role}s unpacks to far more than its {len(data):,} bytes")
            frame = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError) as error:
        raise ValueError(str(error).split("\n", 1)[0] or type(error).__name__) from None
    if not frame.width or frame.columns[0] != role:
        raise ValueError(f"its table of {role}s has no ids")
    ids = frame[role]
    if ids.dtype not in (pl.String, pl.Int64) or ids.null_count() or ids.n_unique() < len(ids):
        raise ValueError(f"its table of {role}s has ids that are missing, occur twice, or have another type")
    return frame


KEY = "plurivox"
ENDINGS = (".parquet", ".pq")
VERSION = 2
"""The form with times, occasions or a recoding; other ratings are written in form 1, which earlier versions read."""
AGAIN = "Write it again with write_ratings, from the table it was made from."
_MOST_COUNT = 2**62
_LATER = (
    "kept_repeats", "time_unit", "missing_times", "point_columns", "recoded", "recoded_missing", "numbers", "conflicts",
    "rater_conflicts", "item_conflicts", "unknown_words", "unknown_said", "unbinned", "platform", "left_out", "remarks",
    "said",
)  # fmt: skip


@checked
def write_ratings(ratings: Ratings, path: FilePath) -> None:
    """Write ratings to a Parquet file that :func:`read_ratings` turns back into an equal object.

    Parameters
    ----------
    ratings
        The ratings to write.
    path
        The file, whose name ends in ``.parquet`` or ``.pq``; it is replaced only once the new one is complete. The file
        that the ratings were read from is rejected. Weights are not written: weight the ratings again after reading
        them.

    Raises
    ------
    FileError
        If the name has another ending: no other file could hold all of it.
    """
    if Path(path).suffix.lower() not in ENDINGS:
        raise FileError(
            "ratings are stored as Parquet, so the name of the file must end in .parquet or .pq", source=str(path),
            hint="For the scores alone, as CSV, use ratings.to_frame().write_csv(...).",
        )  # fmt: skip
    if ratings.weights is not None:
        warnings.warn(UnweightedWarning("weights are not written; weight again after reading"), stacklevel=3)
    intake = ratings.intake
    described = {
        "version": VERSION if intake.time_unit or intake.recoded or ratings.again is not None else 1,
        "scale": ratings.scale.to_dict(),
        # fields unknown to earlier versions only if they are set, so that those can read it
        "intake": {name: part for name, part in asdict(intake).items() if part or name not in _LATER},
        "items": base64.b64encode(table_to(ratings.items)).decode(),
        "raters": base64.b64encode(table_to(ratings.raters)).decode(),
    }
    described["digest"] = _digest(described, ratings)
    frame = _with_codes(ratings)
    if ratings.again is not None:
        every = ratings.every_rating()
        whole = replace(
            ratings, item_codes=every.item_codes, rater_codes=every.rater_codes, scores=every.scores, times=every.times,
            again=None,
        )  # fmt: skip
        frame = _with_codes(whole).with_columns(pl.Series("occasion", every.occasions))
    with writing(path, [intake.source]) as file:
        frame.write_parquet(file, metadata={KEY: json.dumps(described)})


def _with_codes(ratings: Ratings) -> pl.DataFrame:
    """Return the ratings with codes and ids: codes are read back, ids are for everyone else."""
    frame = ratings.to_frame()
    for role, codes in {"item": ratings.item_codes, "rater": ratings.rater_codes}.items():
        if codes is not None:
            frame = frame.with_columns(pl.Series(f"{role}_code", codes))
    frame = frame.with_columns(pl.Series("score_code", ratings.scores))
    return frame if ratings.times is None else frame.with_columns(pl.Series("time_value", ratings.times))


def description(data: str | bytes) -> dict[str, Any] | None:
    """Return what a Parquet file says about the ratings in it, None if plurivox did not write it."""
    source = io.BytesIO(data) if isinstance(data, bytes) else data
    text = pl.read_parquet_metadata(source).get(KEY)
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def restore(data: str | bytes, described: dict[str, Any], name: str) -> Ratings:
    """Rebuild the ratings.

    Raises
    ------
    FileError
        If the file has another form, or is damaged: codes without ids, ids that occur twice, ratings whose ids and
        codes do not match.
    """
    version = described.get("version")
    if isinstance(version, int) and version > VERSION:
        raise FileError(
            f"it was written in form {shown(version)}, but this version of plurivox reads form {VERSION}",
            source=name, hint="Update plurivox.",
        )  # fmt: skip
    try:
        with without_panics():
            frame = pl.read_parquet(data)
        return _restored(frame, described)
    except (Exception, pl.exceptions.PanicException) as error:  # whatever Python, numpy or polars raises
        reason = " ".join(str(error).split())[:120]
        reason = f"{reason} is missing" if isinstance(error, KeyError) else reason.rstrip(".")
        raise FileError(f"these ratings, stored by plurivox, are damaged ({reason})", source=name, hint=AGAIN) from None


def _restored(frame: pl.DataFrame, described: dict[str, Any]) -> Ratings:
    """Rebuild the ratings, or raise a ValueError or whatever else damaged data cause."""
    if described["version"] not in (1, VERSION):
        raise ValueError("it does not state its form")
    scale = Scale.from_dict(described["scale"])
    intake = Intake(**described["intake"])
    check_fields(intake)
    if intake.time_unit not in ("", *UNITS):
        raise ValueError("it does not state the unit of times")
    items, raters = (
        table_from(base64.b64decode(described[f"{role}s"], validate=True), role) for role in ("item", "rater")
    )
    with_raters = "rater_code" in frame.columns
    item = _codes(frame["item_code"], items.height)
    score = _codes(frame["score_code"], len(scale))
    second = _codes(frame["rater_code"], raters.height) if with_raters else score
    occasion = _codes(frame["occasion"], _MOST_COUNT) if "occasion" in frame.columns else np.ones(len(item), np.int64)
    if not _sorted(item, second, occasion):
        raise ValueError("its rows are not in order, or some occur twice")
    counts = None if with_raters else _codes(frame["count"], _MOST_COUNT)
    if counts is not None and (counts < 1).any():
        raise ValueError("a count is below 1")
    times = None
    if intake.time_unit:
        column = frame["time_value"]
        if column.dtype != pl.Float64 or column.null_count() or column.is_infinite().any():
            raise ValueError(f"{column.name} holds something other than times")
        times = column.to_numpy()
    rater = second.astype(np.int32) if with_raters else None
    scores: Any = score.astype(scale.dtype)
    found = Ratings(scale, items, raters, item.astype(np.int32), rater, scores, counts, intake, times=times)
    if (occasion > 1).any():
        every = Again(found.item_codes, found.codes_of_raters, found.scores, found.times)
        found = replace(found, **first_and_again(every))
    if "digest" in described:
        if described["digest"] != _digest(described, found):
            raise ValueError("its content is not what was written")
    elif not found.to_frame().equals(frame.drop("item_code", "rater_code", "score_code", strict=False)):
        raise ValueError("its ids and its codes do not match")
    return found


def _digest(described: dict[str, Any], ratings: Ratings) -> str:
    """Return a checksum of everything that is read back."""
    known = {name: part for name, part in described.items() if name != "digest"}
    whole = hashlib.sha256(json.dumps(known, sort_keys=True).encode())
    again = ratings.again
    arrays = [ratings.item_codes, ratings.rater_codes, ratings.scores, ratings.multiplicity, ratings.times]
    arrays += [] if again is None else [again.item_codes, again.rater_codes, again.scores, again.times]
    for array in arrays:
        if array is not None:
            whole.update(np.ascontiguousarray(array).data)
    return whole.hexdigest()


def _codes(column: pl.Series, n: int) -> NDArray[np.int64]:
    """Return whole numbers from 0 to below n."""
    if not column.dtype.is_integer() or column.null_count():
        raise ValueError(f"{column.name} holds something other than whole numbers")
    if len(column) and not 0 <= int(column.min()) <= int(column.max()) < n:  # type: ignore[arg-type]
        raise ValueError(f"{column.name} holds numbers that are out of range")
    return column.to_numpy().astype(np.int64)


def _sorted(item: NDArray[np.int64], second: NDArray[np.int64], occasion: NDArray[np.int64]) -> bool:
    """Return whether rows are sorted by item, then by rater or score, with occasions of a pair numbered from 1."""
    step, inner = np.diff(item), np.diff(second)
    new = (step > 0) | ((step == 0) & (inner > 0))
    same = (step == 0) & (inner == 0) & (np.diff(occasion) == 1)
    return bool((new | same).all() and (occasion[:1] == 1).all() and (occasion[1:][new] == 1).all())
