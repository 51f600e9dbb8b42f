"""Packed studies that somebody made up: anything in a folder is something else, and every checksum is right."""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import io
import json
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

import plurivox as pv
from fuzz.cases import Case, Draw
from fuzz.damage import HOSTILE, damaged, nested
from plurivox.domain import part as parts
from support import run_cli

Files = dict[str, bytes]
MANIFEST = "manifest.json"
_NUMBERS = [
    0, 1, 2, 3, 7, 8, 63, 64, 127, 255, 256, 32_767, 65_535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, -1, -2,
]  # fmt: skip
_NAMES = [
    "../x", "/etc/hostname", "/../../x.pth", "part-0001-00000.bin", "manifest.json", "", ".", "..", "a\0b", "a" * 300,
    "part-0001-00000.bin/", "items-0001.parquet", "part-\u0660001-00000.bin", "C:\\x", "s3://b/x", "\ud800",
]  # fmt: skip
_TYPES = ["|u1", "<u2", "<u4", "<i4", "<i2", "<u8", "<f8", "|O", "|V9", "<m8", "", ">u2", "|S3", "i4,i4", "(2,3)i4"]
MORE = "item,rater,score,g\ni04,r03,1,x\nj,s,2,y\ni11,r999,,x\n"


@functools.cache
def bases() -> list[Files]:
    """Return the files of small studies: packed in one go or in several parts, appended to, and by an old version."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        here = Path(name)
        rows = [f"i{(5 * at) % 23:02d},r{(7 * at) % 31:02d},{at % 5},{'xy'[(7 * at) % 31 % 2]}" for at in range(230)]
        head = "item,rater,score,g"
        (here / "all.csv").write_text("\n".join([head, *rows]))
        (here / "a.csv").write_text(
            "\n".join(
                [head, *[row for row in rows[:130] if not set(row.split(",")) & {"i00", "i07", "r00", "r09", "0", "4"}]]
            )
        )
        (here / "b.csv").write_text("\n".join([head, *rows[130:]]))
        asked: dict[str, Any] = {"rater_attributes": ["g"], "duplicates": "last"}
        pv.pack(here / "all.csv", here / "one.pvx", **asked)
        patch.setattr(parts.runs, "__defaults__", (50,))
        pv.pack(here / "all.csv", here / "several.pvx", **asked)
        pv.pack(here / "a.csv", here / "appended.pvx", **asked)
        pv.pack(here / "b.csv", here / "appended.pvx", append=True)
        studies = (*sorted(here.glob("*.pvx")), Path(__file__).parent.parent / "packed" / "0.2.0.pvx")
        return [{path.name: path.read_bytes() for path in study.iterdir()} for study in studies]


def mended(files: Files, manifest: Any, *, checksums: bool = True) -> Files:
    """Return files with a manifest that has their sizes and checksums, and its own."""
    manifest = copy.deepcopy(manifest)
    for one in _records(manifest) if checksums else ():
        content = files.get(one["name"]) if isinstance(one["name"], str) else None
        if content is not None:
            sha256 = {"checksum": f"sha256:{hashlib.sha256(content).hexdigest()}"}
            one |= {"size": len(content), **({"crc": zlib.crc32(content)} if "crc" in one else sha256)}
    if isinstance(manifest, dict):
        manifest.pop("crc", None)
        manifest["crc"] = zlib.crc32(json.dumps(manifest, sort_keys=True).encode())
    return {**files, MANIFEST: json.dumps(manifest).encode()}


def _records(known: Any) -> list[dict[str, Any]]:
    if isinstance(known, dict):
        return ([known] if {"name", "size"} <= known.keys() else []) + _records(list(known.values()))
    return [record for one in known for record in _records(one)] if isinstance(known, list) else []


def _anything(draw: Draw, files: Files, manifest: Any) -> None:
    """Put something else anywhere in the manifest, of its kind or of another."""
    for _ in range(draw(st.integers(1, 3))):
        here, key = _place(draw, manifest)
        if here is None:
            return
        how = draw(st.integers(0, 9))
        if how == 0:
            del here[key]
        elif how == 1 and isinstance(here, list):
            here.insert(key, copy.deepcopy(here[key]))
        elif isinstance(here[key], str) and how < 7:
            here[key] = draw(st.sampled_from([*_NAMES, *_TYPES]))
        elif isinstance(here[key], int) and how < 8:
            here[key] = draw(st.sampled_from([*_NUMBERS, here[key] + 1, here[key] - 1]))
        else:
            here[key] = copy.deepcopy(draw(st.sampled_from([*HOSTILE, *_NUMBERS])))


def _place(draw: Draw, manifest: Any) -> tuple[Any, Any]:
    """Draw a place in JSON: where it is, and its key there."""
    here, key, rest = None, None, manifest
    while isinstance(rest, dict | list) and rest and (here is None or draw(st.integers(0, 5))):
        here = rest
        key = draw(st.sampled_from(sorted(rest))) if isinstance(rest, dict) else draw(st.integers(0, len(rest) - 1))
        rest = here[key]
    return here, key


def _arrays(draw: Draw, files: Files, manifest: Any) -> None:
    """Change some numbers of a part, a map or the counts; often such that sums stay."""
    name = draw(st.sampled_from(sorted(one for one in files if one.endswith(".bin"))))
    data = bytearray(files[name])
    record = next((one for one in _records(manifest) if one["name"] == name), {})
    spans = _spans(record) if "types" in record else [(0, len(data), "<i4" if name.startswith("map") else "<u4")]
    start, stop, dtype = draw(st.sampled_from(spans))
    array = np.frombuffer(data, dtype, count=(stop - start) // np.dtype(dtype).itemsize, offset=start).copy()
    for _ in range(draw(st.integers(1, 4)) if len(array) else 0):
        at, other = (draw(st.integers(0, len(array) - 1)) for _ in range(2))
        if draw(st.booleans()):
            array[[at, other]] = array[[other, at]]
        else:
            value = draw(st.sampled_from([*_NUMBERS, int(array[at]) + 1, int(array[at]) - 1]))
            array[at] = np.array(value % 2**64, np.uint64).astype(array.dtype)
    data[start:stop] = array.tobytes()
    files[name] = bytes(data)


def _spans(record: Any) -> list[tuple[int, int, str]]:
    found, at = [], 0
    for dtype, length in zip(record["types"], (record["n_items"], *[record["n_ratings"]] * 2), strict=True):
        size = np.dtype(dtype).itemsize * length
        found.append((at, at + size, dtype))
        at += -(-size // 64) * 64
    return found


def _tables(draw: Draw, files: Files, manifest: Any) -> None:
    """Change the table of items or raters: rows, ids, columns, types."""
    name = draw(st.sampled_from(sorted(one for one in files if one.endswith(".parquet"))))
    frame = pl.read_parquet(files[name])
    first, last = frame.columns[0], frame.columns[-1]
    n = frame.height
    changes: list[Callable[[], pl.DataFrame]] = [
        lambda: frame.head(draw(st.integers(0, n - 1))), lambda: pl.concat([frame, frame.tail(1)]),
        lambda: frame.reverse(), lambda: frame.select(last), lambda: frame.rename({first: "id"}),
        lambda: frame.with_columns(pl.lit(None).alias(first)), lambda: frame.with_columns(pl.lit("same").alias(first)),
        lambda: frame.with_columns(pl.int_range(n).cast(pl.Float64).alias(first)),
        lambda: frame.with_columns(pl.Series(first, [[at] for at in range(n)])),
        lambda: frame.with_columns(pl.Series(last + "2", [[at] for at in range(n)])),
        lambda: frame.with_columns(pl.Series("g", [{"a": at} for at in range(n)])),
        lambda: frame.with_columns(pl.Series("g", [b"\xff"] * n)), lambda: frame.with_columns(g=pl.lit(None)),
        lambda: frame.with_columns(g=pl.lit(float("nan"))), lambda: frame.with_columns(g=pl.int_range(n)),
        lambda: frame.with_columns(g=pl.lit("a").cast(pl.Categorical)), lambda: frame.with_columns(g=pl.lit("\0")),
        lambda: frame.with_columns(pl.lit("x").alias("item"), pl.lit("y").alias("rater")), lambda: pl.DataFrame(),
        lambda: frame.with_columns(pl.lit("x").alias("")), lambda: frame.with_columns(g=pl.lit(True)),
        lambda: frame.with_columns(pl.int_range(n).alias(first)), lambda: frame.with_columns(score=pl.lit("x")),
    ]  # fmt: skip
    buffer = io.BytesIO()
    draw(st.sampled_from(changes))().write_parquet(buffer)
    files[name] = buffer.getvalue()


def _bytes(draw: Draw, files: Files, manifest: Any) -> None:
    """Damage a file, let it vanish, or put another in its place."""
    name, other = (draw(st.sampled_from(sorted(set(files) - {MANIFEST}))) for _ in range(2))
    how = draw(st.integers(0, 5))
    if how == 0:
        del files[name]
    elif how == 1:
        files[name] = files[other]
    else:
        files[name] = damaged(draw, files[name])


_TWICE = (
    TypeError, ValueError, LookupError, OverflowError, AttributeError, pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)  # fmt: skip
"""What happens to this module itself where something that is damaged already is damaged once more."""
_WAYS = (_anything, _anything, _arrays, _arrays, _tables, _bytes)
_DEEP = [
    nested(100_000, "[", "]"), nested(50_000, '{"form":', "}"), "1" * 10_000, "{}", "[]", "", "null", "\x00",
    '{"form": 2}',
]  # fmt: skip


def packed(draw: Draw) -> Case:
    """A study whose folder is made up, through everything that opens one."""
    files = dict(draw(st.sampled_from(bases())))
    manifest = json.loads(files[MANIFEST])
    said = []
    for _ in range(draw(st.integers(1, 3))):
        way = draw(st.sampled_from(_WAYS))
        said.append(way.__name__.strip("_"))
        with contextlib.suppress(*_TWICE):
            way(draw, files, manifest)
        if way is not _anything:
            manifest = json.loads(mended(files, manifest)[MANIFEST])
    files = mended(files, manifest, checksums=draw(st.integers(0, 9)) > 0)
    if draw(st.integers(0, 30)) == 0:
        files[MANIFEST] = draw(st.sampled_from(_DEEP)).encode()
    what = draw(st.sampled_from(sorted(_USES)))
    return Case(f"{what} of a packed study with other {', '.join(said)}", lambda: _USES[what](), {
        **files, "more.csv": MORE.encode(),
    })  # fmt: skip


def _read() -> pv.Ratings:
    found = pv.read_ratings(".")
    ratings = sum(len(one.scores) for one in found.parts())
    assert ratings == len(found), f"{ratings} ratings in parts, not {len(found)}"
    return found


def _appended() -> None:
    pv.pack("more.csv", ".", append=True)
    _read().in_memory()


def _commanded() -> None:
    done = run_cli("describe", ".", "--json")
    assert done.code in (0, 1)
    assert done.code == 0 or done.err.startswith("error: ") or "\nerror: " in done.err


_USES: dict[str, Callable[[], object]] = {
    "description": lambda: pv.describe(_read()),
    "cohesion": lambda: pv.cohesion(_read(), _read().raters.columns[1:2] or "rater", permutations=5, threads=1),
    "variation": lambda: pv.variation(_read(), _read().raters.columns[1:2], permutations=5, threads=1),
    "memory": lambda: _read().in_memory().to_frame(), "labels": lambda: pv.soft_labels(_read()), "appending": _appended,
    "command": _commanded,
}  # fmt: skip
