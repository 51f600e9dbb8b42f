"""Published tables next to the same numbers computed here, and where paper and mathematics part.

Here stand what a paper is, how its cells are compared, and the result, also as tables of text; ``printed`` holds the
papers. The package may use lenses, studies and models.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from plurivox.base.arguments import FilePath, checked
from plurivox.base.errors import FileError, InputError, SelectionError
from plurivox.data import folder_of, is_held, names_of
from plurivox.data.sets import dataset
from plurivox.infer.result import Table
from plurivox.infer.tables import TableResult
from plurivox.infer.view import View
from plurivox.statistics.registry import LABELS

__all__ = ["Paper", "Reproduction", "papers", "run"]

HALF_A_UNIT = 0.5 + 1e-6
"""How far our number may be from the printed one, in units of its last decimal, and still count as the same."""
SCHEMA = {
    "table": pl.String, "row": pl.String, "column": pl.String, "published": pl.String, "ours": pl.Float64,
    "difference": pl.Float64, "decimals": pl.Int64, "agrees": pl.Boolean,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """One cell of a published table.

    Attributes
    ----------
    table, row, column
        Where it is.
    published
        The printed value, exactly as printed; empty if the paper has no such number.
    ours
        The same, computed here; NaN if it cannot be computed.
    agrees
        If words are printed instead of a number: whether ours agrees with them.
    """

    table: str
    row: str
    column: str
    published: str
    ours: float
    agrees: bool | None = None

    def as_row(self) -> tuple[Any, ...]:
        """Return the row of :data:`SCHEMA`."""
        try:
            printed = float(self.published)
        except ValueError:
            return (self.table, self.row, self.column, self.published, self.ours, None, None, self.agrees)
        decimals = len(self.published.partition(".")[2])
        if math.isnan(self.ours):
            return (self.table, self.row, self.column, self.published, self.ours, None, decimals, None)
        difference = self.ours - printed
        same = abs(difference) <= HALF_A_UNIT * 10.0**-decimals
        return (self.table, self.row, self.column, self.published, self.ours, difference, decimals, same)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper whose tables can be reproduced.

    Attributes
    ----------
    name
        Its name on the command line.
    citation
        The authors, title and venue.
    cells
        Maps the folder with its files, None if there is none, to the cells of its tables.
    files, origin
        The files it needs, and where they come from; empty if it needs none.
    dataset
        The data set of the catalogue whose files also work; it is used if no folder is named.
    without
        What is missing without files, for a paper that can be partly reproduced without them.
    parts
        Where paper and mathematics part, one sentence each.
    """

    name: str
    citation: str
    cells: Callable[[Path | None], Iterable[PublishedCell]]
    files: tuple[str, ...] = ()
    origin: str = ""
    dataset: str = ""
    without: str = ""
    parts: tuple[str, ...] = ()

    def reproduce(self, data: str | os.PathLike[str] | None = None) -> Reproduction:
        """Reproduce its tables."""
        folder = self._folder(data)
        frame = pl.DataFrame([cell.as_row() for cell in self.cells(folder)], schema=SCHEMA, orient="row")
        missing = [f"{self.without} It needs {self._needed()}."] if folder is None and self.without else []
        settings = {
            "paper": self.name, "citation": self.citation, "parts": [*self.parts], "missing": missing,
            "origin": self.origin,
        }  # fmt: skip
        return Reproduction((Table("cells", frame),), settings)

    def _folder(self, data: str | os.PathLike[str] | None) -> Path | None:
        """Return the folder with the files; raise an error if it lacks one."""
        if data is not None and not self.files:
            raise InputError(f"{self.name} needs no data: it simulates them", hint="Leave out --data (data=).")
        folder = None if data is None else Path(os.fspath(data))
        if data is None and self.dataset and is_held(dataset(self.dataset)):  # the catalogue has them on this machine
            folder = folder_of(dataset(self.dataset))
        if folder is None:
            if self.files and not self.without:
                raise InputError(f"{self.name} needs {self._needed()}", hint=self._hint())
            return None
        if folder.is_file():
            folder = folder.parent
        lacking = [name for name in self.files if not (folder / name).is_file()]
        known = names_of(dataset(self.dataset)) if self.dataset else []
        if lacking and not any((folder / name).is_file() for name in known):
            raise FileError(
                f"there is no file {lacking[0]}; {self.name} needs {self._needed()}", source=os.fspath(folder),
                hint=self._hint(),
            )  # fmt: skip
        return folder

    def _hint(self) -> str:
        fetched = f", or download them with plurivox data get {self.dataset}" if self.dataset else ""
        return f"Name the folder that holds them with --data (data=){fetched}."

    def _needed(self) -> str:
        return f"{' and '.join(self.files)} of {self.origin}"


def published(name: str) -> pl.DataFrame:
    """Return a printed table, with every number as printed."""
    return pl.read_csv(shipped(f"{name}.csv"), infer_schema=False)


def shipped(name: str) -> bytes:
    """Return a file with facts about papers."""
    return resources.files("plurivox.reproduce").joinpath("published", name).read_bytes()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reproduction(TableResult):
    """The tables of a paper compared with ours: one row per cell in ``to_frame()``."""

    KIND: ClassVar[str] = "reproduction"

    def __repr__(self) -> str:
        agreeing = int(self.to_frame()["agrees"].sum())
        return f"<Reproduction of {self.settings['paper']}: {agreeing} of {self.n_compared} cells agree>"

    @property
    def n_compared(self) -> int:
        """How many cells have both a published value and ours."""
        return int(self.to_frame()["agrees"].is_not_null().sum())

    def _said(self) -> list[str]:
        said = []
        for (table,), part in self.to_frame().group_by("table", maintain_order=True):
            known = part.filter(pl.col("agrees").is_not_null())
            if not known.height:
                said.append(f"{table}: no number is both published and computed here.")
                continue
            n, printed = int(known["agrees"].sum()), known["decimals"].drop_nulls().unique().to_list()
            how = (
                "" if not printed else " exactly" if printed == [0] else f" to {_listed(printed)} decimals, as printed"
            )
            text = f"{table}: {n} of {known.height} cells agree{how}"
            off = known.filter(~pl.col("agrees") & pl.col("difference").is_not_null())
            if off.height:
                worst = off.sort(pl.col("difference").abs(), descending=True).row(0, named=True)
                where = f"{LABELS.get(worst['column'], worst['column'])} of {worst['row']}"
                text += f"; the largest difference is {worst['difference']:+.3f}, {where}"
            said.append(f"{text}.")
        return [*said, *self.settings["parts"], *self.settings["missing"]]


def _listed(numbers: list[int]) -> str:
    return " or ".join(str(number) for number in sorted(numbers))


# Running --------------------------------------------------------------------------------------------------------------


def papers() -> dict[str, Paper]:
    """Return every paper that can be reproduced, by its name."""
    from plurivox.reproduce import printed

    return printed.papers()


@checked
def run(name: str, data: FilePath | None = None) -> Reproduction:
    """Reproduce the tables of a paper and compare them with what it printed.

    Parameters
    ----------
    name
        ``"grasp"``, ``"responsiveness"``, ``"norms"``, ``"soft"``, ``"alt-test"`` or ``"lewidi"``.
    data
        The folder that holds the files it needs, or one of them; ``docs/reproduce.md`` lists them.

    Returns
    -------
    Reproduction
        It has ``to_frame()``, with one row per published cell, ``findings()`` and ``to_json()``;
        :func:`plurivox.plots.reproduction` draws it.

    Examples
    --------
    >>> found = run("soft")
    >>> found.to_frame().filter(column="scenario B", row="EMD").select("published", "agrees").row(0)
    ('0.45', True)
    """
    known = papers()
    if name not in known:
        raise SelectionError(f"there is no paper {name!r}", hint=f"Choose one of {', '.join(known)}.")
    return known[name].reproduce(data)


# Tables ---------------------------------------------------------------------------------------------------------------


LEGEND = (
    "=: ours equals the printed number to all of its decimals; otherwise printed, ours and the difference. In "
    "brackets: ours alone."
)


def tables(found: Reproduction) -> list[View]:
    """Return one table for each of the paper's, with what agrees in its last line."""
    return [_table(str(name), part) for (name,), part in found.to_frame().group_by("table", maintain_order=True)]


def _table(name: str, part: pl.DataFrame) -> View:
    columns = part["column"].unique(maintain_order=True).to_list()
    cells = {(row["row"], row["column"]): _cell(row) for row in part.iter_rows(named=True)}
    lines = [[row, *(cells.get((row, one), "") for one in columns)] for row in part["row"].unique(maintain_order=True)]
    known = part.filter(pl.col("agrees").is_not_null())
    if known.height:
        decimals = max(known["decimals"].drop_nulls().to_list(), default=None)
        label = "agrees" if decimals is None else f"agrees to {decimals} decimals" if decimals else "agrees exactly"
        counts = [known.filter(column=one)["agrees"] for one in columns]
        lines.append([label, *(f"{int(one.sum())} of {len(one)}" if len(one) else "" for one in counts)])
    return View(name, ["", *(LABELS.get(one, one) for one in columns)], lines)


def _cell(row: dict[str, Any]) -> str:
    printed, ours = row["published"], row["ours"]
    if not printed:
        return f"[{ours:.3f}]"
    if math.isnan(ours):
        return f"{printed} –"
    if row["difference"] is None:
        return f"{printed} {'=' if row['agrees'] else '≠'} {ours:+.3f}"
    digits = max(3, row["decimals"]) if row["decimals"] else 0
    return f"{printed} =" if row["agrees"] else f"{printed} ≠ {ours:.{digits}f} ({row['difference']:+.{digits}f})"
