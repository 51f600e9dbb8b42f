"""Arrow files and streams, as polars, pandas (Feather) and pyarrow write them."""

from __future__ import annotations

import polars as pl

from plurivox.base.errors import FileError, InputError
from plurivox.domain.raw import RawTable, refuse_cells, refuse_columns
from plurivox.read.messages import MAGIC, sizes
from plurivox.read.opening import Opened, refuse_unpacked, whole
from plurivox.read.panics import without_panics


def read_arrow(opened: Opened) -> RawTable:
    """Read a file or a stream, once its messages show that it is not too large."""
    data, name = whole(opened), opened.name
    try:
        found = sizes(data)
        refuse_columns(found.n_columns, name)
        refuse_cells(max(found.n_cells, found.n_rows * max(1, found.n_columns)), len(data), name)
        refuse_unpacked(found.n_bytes, opened)
        with without_panics():
            read = pl.read_ipc if data.startswith(MAGIC) else pl.read_ipc_stream
            frame = read(data)
    except (ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise FileError(
            f"the Arrow data is damaged or cut off ({str(error).splitlines()[0] if str(error) else 'no reason'})",
            source=name, hint="Download or write the file again, or write it as Parquet.",
        ) from None  # fmt: skip
    if not frame.width:
        raise FileError("it has no columns", source=name, hint="It needs columns of items, raters and scores.")
    return RawTable.from_frame(frame, name)
