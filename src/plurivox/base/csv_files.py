"""Tables as files, and CSV in which a spreadsheet sees only text and plurivox the original.

Text that a spreadsheet would take for a formula gets a leading apostrophe in CSV, so that nobody's text becomes a
command on the machine of whoever opens it. Reading delimited text removes the apostrophe again. To keep the two exact
inverses, text that already has apostrophes before such a sign gets one more: ``=x`` is written ``'=x``, and ``'=x`` is
written ``''=x``. All other text, including ``'tis`` and ``-3``, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl

from plurivox.base.files import Name, writing
from plurivox.base.files import replacing as replacing

_SIGNS = "=+-@\t\r\n＝＋－＠"  # spreadsheets treat full-width signs like the plain ones
_FORMULA, _NUMBER = rf"^'*[{re.escape(_SIGNS)}]", r"^'*[+-]?[0-9]+([.][0-9]+)?$"
GUARD = re.compile("|".join(f"'{re.escape(sign)}" for sign in _SIGNS).encode())
"""Found in any bytes of text in which something is guarded."""


def write_frame(
    path: Path, frame: pl.DataFrame, flat: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame,
    inputs: Iterable[Name] = (),
) -> None:  # fmt: skip
    """Write a frame as Parquet, JSON Lines or CSV, by file extension; ``flat`` turns it into what CSV can hold.

    It never overwrites one of the ``inputs``.
    """
    kind = path.suffix.lower()
    shown = frame if kind in (".parquet", ".jsonl") else guarded(flat(frame))
    with writing(path, inputs) as file:
        if kind == ".parquet":
            shown.write_parquet(file)
        elif kind == ".jsonl":
            shown.write_ndjson(file)
        else:
            shown.write_csv(file)


def csv_text(frame: pl.DataFrame) -> str:
    """Return a frame as CSV in which a spreadsheet takes no text for a formula; numbers are left alone.

    Examples
    --------
    >>> csv_text(pl.DataFrame({"item": ["=1+1", "'=1+1", "-3", "'tis"]})).split()
    ['item', "'=1+1", "''=1+1", '-3', "'tis"]
    """
    return guarded(frame).write_csv()


def flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose lists are JSON text, since CSV has no lists."""
    lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    return frame.with_columns(
        pl.when(pl.col(name).is_not_null())
        .then("[" + pl.col(name).cast(pl.List(pl.String)).list.join(", ") + "]")
        .alias(name)
        for name in lists
    )


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with an apostrophe before each text and column name that looks like a formula."""
    frame = frame.with_columns(
        pl.when(_like_a_formula(name)).then("'" + pl.col(name)).otherwise(pl.col(name)).alias(name)
        for name, kind in frame.schema.items()
        if kind == pl.String
    )
    return frame.rename({name: f"'{name}" for name in frame.columns if _is_like_a_formula(name)})


def unguarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame of text without the apostrophes that :func:`guarded` put before its values."""
    return frame.with_columns(
        pl.when(pl.col(name).str.starts_with("'") & _like_a_formula(name))
        .then(pl.col(name).str.slice(1))
        .otherwise(pl.col(name))
        .alias(name)
        for name, kind in frame.schema.items()
        if kind == pl.String
    )


def unguarded_name(name: str) -> str:
    """Return the name of a column without the apostrophe that :func:`guarded` put before it.

    Examples
    --------
    >>> unguarded_name("'=x"), unguarded_name("'x"), unguarded_name("=x")
    ('=x', "'x", '=x')
    """
    return name[1:] if name.startswith("'") and _is_like_a_formula(name) else name


def _like_a_formula(name: str) -> pl.Expr:
    """Return which texts, apart from leading apostrophes, would be formulas."""
    return pl.col(name).str.contains(_FORMULA) & ~pl.col(name).str.contains(_NUMBER)


def _is_like_a_formula(text: str) -> bool:
    return re.search(_FORMULA, text) is not None and re.search(_NUMBER, text) is None
