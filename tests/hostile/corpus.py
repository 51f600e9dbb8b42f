"""Files that are broken, hostile or merely odd, made anew each time: small, always the same, and what becomes of each.

``pieces`` of the error that ``describe`` prints are given for each, or None where the file is read as it is. Nothing is
stored: what is large when unpacked is packed here, in a fraction of a second.
"""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from plurivox.intake.opening import _zstd

HEAD = "item,rater,score\n"
GOOD = HEAD + "".join(f"{item},{rater},{(item * 7 + len(rater) + ord(rater[0])) % 5}\n" for item in range(8) for rater in "abcdefgh")
LONG_DIGITS = "7" * 5_000
DEEP = 100_000


@dataclass(frozen=True)
class Case:
    """A file: its name, whose ending tells the format, what is in it, options, and a piece of the error, if any."""

    name: str
    make: Callable[[], bytes]
    error: str | None
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


def _text(text: str) -> Callable[[], bytes]:
    return text.encode


def _parquet(**columns: Any) -> Callable[[], bytes]:
    def make() -> bytes:
        out = io.BytesIO()
        pl.DataFrame(columns).write_parquet(out)
        return out.getvalue()

    return make


def _gzip(unit: bytes, times: int, start: bytes = b"") -> Callable[[], bytes]:
    """Return something that packs many copies of a piece without holding them."""

    def make() -> bytes:
        out = io.BytesIO()
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0) as file:
            file.write(start)
            for _ in range(times):
                file.write(unit)
        return out.getvalue()

    return make


def _zst(make: Callable[[], bytes]) -> Callable[[], bytes]:
    return lambda: _zstd().compress(make())


def _json_lines(*rows: Any) -> Callable[[], bytes]:
    return lambda: b"".join(json.dumps(row).encode() + b"\n" for row in rows)


MIB = 1 << 20
ROW = {"item": 1, "rater": "a", "score": 3}
