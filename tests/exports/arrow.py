"""Arrow files and streams, written by pyarrow and polars."""

from __future__ import annotations

import io

import polars as pl
import pyarrow as pa

from exports.record import Case

FRAME = pl.DataFrame(
    {"item": ["007", "007", "8"], "rater": [1, 2, 1], "score": [4, 2, None], "notes": [["a"], [], None]}
)
RATINGS = (("007", "1", "4"), ("007", "2", "2"))


def by_polars(frame: pl.DataFrame, *, stream: bool = False) -> bytes:
    """Return a frame as polars writes it."""
    data = io.BytesIO()
    if stream:
        frame.write_ipc_stream(data, compression="lz4")
    else:
        frame.write_ipc(data, compression="zstd")
    return data.getvalue()


def by_pyarrow(table: pa.Table, compression: str | None = None) -> bytes:
    """Return a table as pyarrow writes it, in batches of two rows."""
    data = io.BytesIO()
    with pa.ipc.new_file(data, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as file:
        file.write_table(table, max_chunksize=2)
    return data.getvalue()


WORDS = pa.table({
    "item": pa.array(["007", "007", "8"]).dictionary_encode(), "rater": [1, 2, 1],
    "score": pa.array(["Yes", "No", None]).dictionary_encode(),
})  # fmt: skip
CASES = [
    Case("arrow", "plain", "study.arrow", by_polars(FRAME), ratings=RATINGS),
    Case("arrow", "awkward", "stream.arrow", by_polars(FRAME, stream=True), ratings=RATINGS),
    Case(
        "arrow", "awkward", "words.feather", by_pyarrow(WORDS, "lz4"), given={"scale": "No,Yes"},
        ratings=(("007", "1", "Yes"), ("007", "2", "No")),
    ),
    Case("arrow", "broken", "cut.arrow", by_polars(FRAME)[:-50], error=("cut.arrow", "damaged or cut off")),
    Case("arrow", "broken", "old.feather", b"FEA1" + bytes(200), error=("old.feather", "newer version")),
    Case("arrow", "broken", "text.arrow", "item,rater\n1,2\n", error=("text.arrow", "starts like plain text")),
]  # fmt: skip
