"""Ids and texts that readers of CSV are known to change, and whether a table of them is safe to open."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from hypothesis import strategies as st

from plurivox.read.tables import read_table
from support import Done

STARTS = ["", *"=+-@'\"＝－ ,;0", "''", "'=", "''@", "-1", "'+2", "' ="]
_IDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from("=+-@'\",;| 01a.é\u2028")
)
IDS = st.builds("".join, st.tuples(st.sampled_from(STARTS), _IDS)).filter(lambda text: bool(text.strip()))
"""Ids as the intake allows them."""
_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0") | st.sampled_from("=+-@'\",;|\t\r\n"))
TEXTS = st.builds("".join, st.tuples(st.sampled_from([*STARTS, "\t", "\r", "\n", "'\t"]), _TEXTS))
ODD = [
    "=1+1", "-x", "@a", "+b", "'=1+1", "''=1+1", "'tis", '"q"', "a,b", "007", "7", "-5", "+5", " lead", "trail ", "ünï",
    "＝x", "a;=b", "NA", "null", "1e5", "'", "'-5", "'-5x", "名前", "-", "=", "x\u2028y", "--5", "='a'!A1", "'+", "@",
]  # fmt: skip
"""Ids that begin like formulas, apostrophes among them, or that readers of CSV are known to change."""


def cells(text: str) -> Iterator[str]:
    """All cells of a CSV, read by Python's own reader."""
    return itertools.chain.from_iterable(csv.reader(io.StringIO(text, newline="")))


def is_harmless(text: str) -> bool:
    """Tell whether a spreadsheet, which sees cells as Python's reader does, takes none for a formula.

    That a number may have a sign is no danger.
    """
    return not any(cell[:1] in set("=+-@\t\r\n＝＋－＠") - {""} and not _number(cell) for cell in cells(text))


def _number(cell: str) -> bool:
    return re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?|inf)", cell) is not None


def back(done: Done, folder: Path, name: str = "printed.csv") -> pl.DataFrame:
    """Read what a command printed as any other command would."""
    assert done.code == 0, done.err
    assert is_harmless(done.out)
    (folder / name).write_text(done.out, encoding="utf-8", newline="")
    return read_table(folder / name).frame()
