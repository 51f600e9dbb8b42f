"""Writing files whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from plurivox.errors import FileError

_FORMULA, _NUMBER = r"^[=+\-@\t\r]", r"^[+-]?[0-9]+([.][0-9]+)?$"


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary name beside ``path``; on success it takes the place of ``path``, else it is removed.

    A reader sees the old file or the new one, never half of one, also after Ctrl-C.
    """
    target = Path(path)
    if os.path.isdir(target):
        raise FileError("this is a directory", source=str(target), hint="Name a file to write.")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        yield temporary
        os.replace(temporary, target)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or str(error).split("\n", 1)[0]
        raise FileError(f"it cannot be written ({reason})", source=str(target)) from None
    finally:
        while True:  # polars raises one Ctrl-C twice, and the second must not stop the cleaning up
            try:
                temporary.unlink(missing_ok=True)
                break
            except KeyboardInterrupt:
                continue
            except OSError:
                break


def write_frame(
    path: Path, frame: pl.DataFrame, flat: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame
) -> None:
    """Write a frame as Parquet, JSON lines or CSV, as the name ends; ``flat`` makes of it what CSV can hold."""
    with replacing(path) as temporary:
        if path.suffix.lower() == ".parquet":
            frame.write_parquet(temporary)
        elif path.suffix.lower() == ".jsonl":
            frame.write_ndjson(temporary)
        else:
            guarded(flat(frame)).write_csv(temporary)


def csv_text(frame: pl.DataFrame) -> str:
    """Return a frame as CSV in which no text is taken for a formula by a spreadsheet; a number is none."""
    return guarded(frame).write_csv()


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with an apostrophe before each text that a spreadsheet would take for a formula."""
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    return frame.with_columns(
        pl.when(pl.col(name).str.contains(_FORMULA) & ~pl.col(name).str.contains(_NUMBER))
        .then("'" + pl.col(name))
        .otherwise(pl.col(name))
        .alias(name)
        for name in texts
    )
