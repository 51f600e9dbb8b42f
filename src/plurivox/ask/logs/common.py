"""What logs have in common: files in folders, a table of answers, and choices that are points of a scale."""

from __future__ import annotations

import os
import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from plurivox.base.errors import DuplicateError, FileError, ScaleError
from plurivox.domain.scale import Label, Scale

Source = str | os.PathLike[str]
ScaleLike = Scale | str | Sequence[Label]
Row = dict[str, Any]

COLUMNS: dict[str, Any] = {
    "model": pl.String, "prompt": pl.String, "item": pl.String, "sample": pl.Int64, "text": pl.String,
    "state": pl.String, "point": pl.Int64, "distribution": pl.List(pl.Float64), "order": pl.List(pl.Int64),
}  # fmt: skip
"""The columns of the tables. The prompt is the task; the state is null while the text is still to be read."""


def files_of(path: Source, name: re.Pattern[str], what: str) -> list[Path]:
    """Return the file, or the files in a folder that match the name."""
    given = Path(path)
    if not given.is_dir():
        return [given]
    found = sorted(file for file in given.rglob("*") if name.fullmatch(file.name) and file.is_file())
    if not found:
        raise FileError(f"there is no {what} in this folder", source=str(path), hint="Name another folder, or a file.")
    return found


def table_of(files: Sequence[Path], rows_of: Callable[[Path], Iterator[Row]]) -> pl.DataFrame:
    """Return the rows of all files; raise an error if an answer occurs twice."""
    rows: list[Row] = []
    held: dict[tuple[Any, ...], Path] = {}
    for file in files:
        for row in rows_of(file):
            model, prompt, item, sample = key = (row["model"], row["prompt"], row["item"], row["sample"])
            if key in held:
                there = "it" if held[key] == file else str(held[key])
                raise DuplicateError(
                    f"{there} already has {model}'s answer to item {item!r} of {prompt!r}, repetition {sample + 1}",
                    source=str(file), hint="Keep one of the two, or read the logs one by one and rename the prompts.",
                )  # fmt: skip
            held[key] = file
            rows.append(row)
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


@dataclass(slots=True)
class ScaleChoices:
    """Positions of choices on the scale; without a scale, all choices must be the same as the first."""

    scale: Scale | None
    source: str
    first: list[str] | None = None

    def order(self, choices: list[str], place: str) -> list[int]:
        """Return the position of each choice on the scale.

        Examples
        --------
        >>> ScaleChoices(Scale(["no", "unsure", "yes"]), "log").order(["yes", "no", "unsure"], "sample 1")
        [2, 0, 1]
        """
        as_listed = list(range(len(choices)))
        if self.scale is None:
            self.first = self.first or choices
            if choices != self.first:
                raise self._other(choices, place, f"but were {quoted(self.first)} before; comparing them takes a scale")
            return as_listed
        if choices == list(string.ascii_uppercase[: len(self.scale)]):
            return as_listed
        try:
            found = [self.scale.position(choice) for choice in choices]
        except ScaleError:
            found = []
        if sorted(found) != list(range(len(self.scale))):
            raise self._other(choices, place, f"which are not the points of the scale {self.scale}")
        return found

    def _other(self, choices: list[str], place: str, why: str) -> ScaleError:
        return ScaleError(
            f"the choices are {quoted(choices)}, {why}", source=self.source, places=[place],
            hint="Give a scale (scale=) whose points are the choices.",
        )  # fmt: skip


def in_order(shares: Sequence[float], order: Sequence[int]) -> list[float]:
    """Return the shares of choices in the order of the scale.

    Examples
    --------
    >>> in_order([0.7, 0.1, 0.2], [2, 0, 1])
    [0.1, 0.2, 0.7]
    """
    return [share for _, share in sorted(zip(order, shares, strict=True))]


def quoted(texts: Sequence[str]) -> str:
    """Return texts as a quoted list for messages."""
    return ", ".join(map(repr, texts))
