"""What a person found in a sample of answers: how often they were read correctly, with intervals."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from plurivox.ask.auditing import CHECKED_STATES, ID_LENGTH
from plurivox.ask.question import Question
from plurivox.ask.store import Store
from plurivox.ask.stored import label_of
from plurivox.base.cards import card, plain_grid
from plurivox.base.errors import ColumnError, DuplicateError, IdError, InputError, no_column
from plurivox.domain.attributes import COUNTED_FROM_1, Locate, where
from plurivox.domain.frames import to_polars
from plurivox.domain.scale import text_of
from plurivox.infer.intervals import wilson
from plurivox.infer.view import SIZES, Value, written
from plurivox.read.beside import read_table

NEEDED = ("id", "state", "answer", "rule", "weight", "correct")
"""The columns of a checked table that are used."""
_YES, _NO = ("yes", "y", "true"), ("no", "n", "false")
_AS_DRAWN = "Leave the columns other than correct and should_be as they were drawn."


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some answers were read correctly.

    Attributes
    ----------
    of, name
        What is counted: ``"all"``, a ``"state"`` or a ``"rule"``, and which.
    n, correct
        How many were checked, and how many of them are correct.
    accuracy
        The share of correct ones: Σwc/Σw with the weights of the sample; for a rule, c/n without them.
    ci_low, ci_high
        Wilson's 95 % interval at ``n_effective``; None for a rule.
    n_effective
        How many equally weighted answers would give the same precision: (Σw)²/Σw².
    """

    of: str
    name: str
    n: int
    correct: int
    accuracy: float
    ci_low: float | None = None
    ci_high: float | None = None
    n_effective: float | None = None


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How often answers were read correctly, as far as a person has checked them.

    Attributes
    ----------
    rows
        All answers, then each state, then each rule.
    n_unchecked
        How many rows of the table say neither yes nor no.
    n_changed
        How many are read differently by now; they are judged as in the table.
    """

    rows: tuple[Share, ...]
    n_unchecked: int
    n_changed: int = 0

    @property
    def overall(self) -> Share:
        """All answers together."""
        return self.rows[0]

    def to_frame(self) -> pl.DataFrame:
        """Return all of it, one row per state and rule."""
        schema = {
            "of": pl.String, "name": pl.String, "n": pl.Int64, "correct": pl.Int64, "accuracy": pl.Float64,
            "ci_low": pl.Float64, "ci_high": pl.Float64, "n_effective": pl.Float64,
        }  # fmt: skip
        return pl.DataFrame([astuple(row) for row in self.rows], schema=schema, orient="row")

    def _repr_html_(self) -> str:
        """Show the shares in a notebook."""
        rows = [
            [row.of, row.name, row.n, row.correct, written(Value(row.accuracy, row.ci_low, row.ci_high), SIZES[0])]
            for row in self.rows
        ]
        grid = plain_grid(["of", "name", "answers", "correct", "share"], rows)
        return card("Accuracy", f"{self.n_unchecked:,} rows say neither yes nor no", grids=[grid], more="to_frame()")


def accuracy(checked: Any) -> Accuracy:
    """Return how often answers were read correctly, from a checked table.

    Parameters
    ----------
    checked
        What :func:`~plurivox.ask.draw_audit` gave, with yes or no in the column ``correct``.

    Raises
    ------
    InputError
        If a column is missing, a word is neither yes nor no, or a weight is not a positive number.
    """
    return _accuracy(_cleaned(_Table(to_polars(checked), "table", COUNTED_FROM_1)))


def audited(store: str | os.PathLike[str], file: str | os.PathLike[str]) -> Accuracy:
    """Read a checked table from a file, as a spreadsheet may have saved it, and compare it with its store."""
    raw = read_table(file, encoding=_encoding(file))
    table = _cleaned(_Table(raw.frame(), raw.name, raw.locate))
    return replace(_accuracy(table), n_changed=_changed(table, store))


class _Table(NamedTuple):
    """A table, and how to name it and its rows in messages; ``_row`` holds their numbers once it is cleaned."""

    frame: pl.DataFrame
    source: str
    locate: Locate

    def refuse(self, wrong: pl.Expr, column: str, problem: str, error: type[InputError], hint: str = _AS_DRAWN) -> None:
        """Raise if a row is wrong; ``{}`` in the problem is its first value."""
        found = self.frame.filter(wrong)
        if found.height:
            told = problem.replace("{}", repr(found[column][0]), 1)
            raise error(told, column=column, **where(self.source, self.locate, found["_row"]), hint=hint)


def _cleaned(table: _Table) -> _Table:
    """Return the needed columns with checked rows; blank rows from a spreadsheet are ignored."""
    names: dict[str, str] = {}
    for column in table.frame.columns:
        if names.setdefault(name := column.strip().casefold(), column) != column and name in NEEDED:
            raise ColumnError(f"two columns are named '{name}'", source=table.source, hint="Rename one of them.")
    for name in NEEDED:
        if name not in names:
            hint = "Give the table that --audit wrote."
            raise no_column(name, table.frame.columns, table.source, hint, most=20)
    texts = [
        pl.col(names[name]).cast(pl.String).str.strip_chars().str.replace(r"^'([0-9a-f]{16})$", "$1")
        .fill_null("").alias(name)
        for name in NEEDED
    ]  # fmt: skip
    frame = table.frame.select(texts).with_row_index("_row")
    frame = frame.filter(pl.any_horizontal(pl.col(name) != "" for name in NEEDED))
    words = pl.col("correct").str.to_lowercase()
    cleaned = frame.with_columns(
        pl.col("id").str.to_lowercase(),
        pl.col("state").str.to_lowercase(),
        verdict=pl.when(words.is_in(_YES)).then(True).when(words.is_in(_NO)).then(False),
        size=pl.col("weight").str.replace(",", ".", literal=True).cast(pl.Float64, strict=False),
    )
    return _valid(table._replace(frame=cleaned))


def _valid(table: _Table) -> _Table:
    if not table.frame.height:
        raise InputError("there are no rows", source=table.source, hint="Give the table that --audit wrote.")
    unknown = pl.col("verdict").is_null() & (pl.col("correct") != "")
    table.refuse(unknown, "correct", "{} is neither yes nor no", InputError, "Write yes or no, or leave it blank.")
    table.refuse(pl.col("id") == "", "id", "the id is missing", IdError)
    table.refuse(pl.col("id").is_duplicated(), "id", "{} has more than one row", DuplicateError)
    states = ", ".join(CHECKED_STATES)
    table.refuse(~pl.col("state").is_in(CHECKED_STATES), "state", f"{{}} is not one of {states}", InputError)
    positive = (pl.col("size") > 0) & pl.col("size").is_finite()
    table.refuse(~positive.fill_null(False), "weight", "{} is not a positive number", InputError)
    if table.frame["verdict"].is_null().all():
        raise InputError(
            "no row is checked yet", source=table.source, column="correct", hint="Enter yes or no in some rows."
        )
    return table


def _accuracy(table: _Table) -> Accuracy:
    checked = table.frame.filter(pl.col("verdict").is_not_null())
    return Accuracy(tuple(_shares(checked)), table.frame.height - checked.height)


def _shares(checked: pl.DataFrame) -> Iterator[Share]:
    yield _share("all", "all", checked)
    for state in CHECKED_STATES:
        if (part := checked.filter(pl.col("state") == state)).height:
            yield _share("state", state, part)
    for (rule,), part in sorted(checked.group_by("rule"), key=lambda one: (-one[1].height, str(one[0]))):
        correct = int(part["verdict"].sum())
        yield Share("rule", str(rule), part.height, correct, correct / part.height)


def _share(of: str, name: str, part: pl.DataFrame) -> Share:
    weights, verdicts = part["size"], part["verdict"]
    total = float(weights.sum())
    share = float(weights.filter(verdicts).sum()) / total
    effective = total**2 / float((weights**2).sum())
    low, high = wilson(share, effective)
    bounds = min(low, share), max(high, share)  # except for rounding
    return Share(of, name, part.height, int(verdicts.sum()), share, *bounds, effective)


def _changed(table: _Table, store: str | os.PathLike[str]) -> int:
    """Return how many answers are read differently by now; raise if one is not in the store."""
    held = {row["id"]: row for row in table.frame.iter_rows(named=True)}
    known: set[str] = set()
    changed = 0
    with Store.read(store) as opened:
        labels = Question.from_about(opened.about, opened.path).scale.labels
        for one in opened.each():
            if (row := held.get(one.key[:ID_LENGTH])) is not None:
                known.add(row["id"])
                now = (one.reading.state, label_of(one.reading.point, labels) or "", one.reading.rule or "")
                changed += any(_text(a) != _text(row[name]) for a, name in zip(now, NEEDED[1:4], strict=True))
        problem = f"{{}} is not an answer in {opened.path}"
    table.refuse(~pl.col("id").is_in(sorted(known)), "id", problem, IdError, "Give the store it was drawn from.")
    return changed


def _text(cell: str) -> str:
    """Return a text for comparing cells, regardless of what a spreadsheet did to blanks and numbers."""
    return text_of(" ".join(cell.split()))


def _encoding(file: str | os.PathLike[str]) -> str:
    """Return how a text file is encoded: spreadsheets on Windows use three ways."""
    path = Path(file)
    if path.suffix.lower() not in (".csv", ".tsv", ".txt") or not path.is_file():
        return "utf-8"
    content = path.read_bytes()
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        content.decode()
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"
