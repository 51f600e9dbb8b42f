"""Tables of items and raters inside what plurivox stores: Parquet, with the ids in the first column.

Such a table comes from outside like any other. What it says about its size is looked at before it is unpacked.
"""

from __future__ import annotations

import io

import polars as pl

from plurivox.read.footer import unpacked_size
from plurivox.read.panics import without_panics

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
