"""A sample of answers for a person to check, and what that person found: how often they were read correctly."""

from __future__ import annotations

import codecs
import hashlib
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.ask.database import Stored, label_of
from plurivox.ask.question import Question, as_shown
from plurivox.ask.store import Store
from plurivox.base.cards import card, plain_grid
from plurivox.base.errors import ColumnError, DuplicateError, IdError, InputError, no_column
from plurivox.domain.attributes import COUNTED_FROM_1, Locate, where
from plurivox.domain.raw import to_polars
from plurivox.domain.reader import STATES
from plurivox.domain.scale import text_of
from plurivox.infer.intervals import wilson
from plurivox.infer.view import SIZES, Value, written
from plurivox.read.tables import read_table

ID_LENGTH = 16
"""How many characters of an answer's key its id has."""
CHECKED_STATES = tuple(state for state in STATES if state != "failed")
COLUMNS = {
    "id": pl.String, "model": pl.String, "prompt": pl.String, "item": pl.String, "options": pl.String,
    "text": pl.String, "state": pl.String, "answer": pl.String, "rule": pl.String, "seen": pl.String,
    "weight": pl.Float64, "correct": pl.String, "should_be": pl.String,
}  # fmt: skip
"""The table to check; the last two columns are for the person who does."""
_CERTAIN = 1 - 1e-12  # a chance of 1, except for rounding

Stratum = tuple[str, str]
"""A rule and a model."""


def draw_audit(store: str | os.PathLike[str], n: int, seed: int = 0) -> pl.DataFrame:
    """Draw a sample of answers into a table for a person to check.

    The states share the sample equally, as far as they have answers. Within a state it is systematic, along the answers
    sorted by rule and model, with chances π ∝ 1/√N where N is how many answers the rule read of the model: the share of
    a rule and model grows with √N, so that rare ones are also seen. ``weight`` is 1/π, with which
    :func:`~plurivox.ask.accuracy` undoes this. The same seed draws the same sample.

    Parameters
    ----------
    store
        The file of answers.
    n
        How many answers to draw; all if there are no more.
    seed
        The seed of the sample.

    Returns
    -------
    polars.DataFrame
        One row per answer, in a random order, with two empty columns: ``correct``, for yes or no, and
        ``should_be``.
    """
    if n < 1:
        raise InputError(f"the size of the sample is {n}", hint="Draw at least one answer.")
    with Store.read(store) as opened:
        question = Question.from_about(opened.about, opened.path)
        weights = _drawn(opened, n, seed)
        if not weights:
            raise InputError("there are no answers to check", source=opened.path, hint="Ask some models first.")
        rows = {one.key: _row(one, question, weights[one.key]) for one in opened.each() if one.key in weights}
    return pl.DataFrame(
        [rows[key] for key in sorted(rows, key=lambda key: _number(seed, key))], schema=COLUMNS, orient="row"
    )


def _drawn(opened: Store, n: int, seed: int) -> dict[str, float]:
    """Return the weight of each answer that is drawn, by its key."""
    # The place of an answer in its state is by rule, model, and a number derived from seed and key.
    places: dict[str, list[tuple[str, str, bytes, str]]] = {}
    for one in opened.each():
        if one.reading.state in CHECKED_STATES:
            place = (one.reading.rule or "", one.model, _number(seed, one.key), one.key)
            places.setdefault(one.reading.state, []).append(place)
    weights: dict[str, float] = {}
    for state, share in shares({state: len(found) for state, found in places.items()}, n).items():
        found = sorted(places[state])
        chance = chances(Counter((rule, model) for rule, model, *_ in found), share)
        each = np.array([chance[rule, model] for rule, model, *_ in found])
        for at in _systematic(each, int.from_bytes(_number(seed, state)[:4]) / 2**32):
            weights[found[at][-1]] = 1 / float(each[at])
    return weights


def _number(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{text}".encode()).digest()


def shares(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """Split a sample equally over parts as far as they go; what cannot be split goes to the largest.

    Examples
    --------
    >>> shares({"answered": 900, "refused": 4, "unreadable": 80}, 51)
    {'refused': 4, 'unreadable': 23, 'answered': 24}
    """
    found: dict[str, int] = {}
    for at, part in enumerate(sorted(sizes, key=lambda part: (sizes[part], part))):
        found[part] = min(sizes[part], (n - sum(found.values())) // (len(sizes) - at))
    return found


def chances(sizes: Mapping[Stratum, int], n: int) -> dict[Stratum, float]:
    """Return each answer's chance of being drawn, by its stratum: n/(√N Σ√N), at most 1.

    Examples
    --------
    >>> chances({("letter", "m"): 100, ("text", "m"): 25, ("rare", "m"): 1}, 16)
    {('rare', 'm'): 1.0, ('letter', 'm'): 0.1, ('text', 'm'): 0.2}
    """
    found: dict[Stratum, float] = {}
    left = dict(sorted(sizes.items()))
    while left:
        total = sum(map(math.sqrt, left.values()))
        now = {stratum: n / (math.sqrt(size) * total) for stratum, size in left.items()}
        certain = [stratum for stratum, chance in now.items() if chance >= _CERTAIN]
        if not certain:
            return found | now
        for stratum in certain:
            found[stratum] = 1.0
            n -= left.pop(stratum)
    return found


def _systematic(chance: NDArray[np.float64], start: float) -> list[int]:
    """Return the places where the chances, added up, pass start, start + 1, …; and all whose chance is 1."""
    certain, rest = np.flatnonzero(chance >= 1), np.flatnonzero(chance < 1)
    n = round(float(chance[rest].sum()))
    passed = np.minimum(np.cumsum(chance[rest]), n)
    passed[-1:] = n  # but for rounding
    return [*certain.tolist(), *rest[np.searchsorted(passed, start + np.arange(n), side="right")].tolist()]


def _row(one: Stored, question: Question, weight: float) -> Sequence[object]:
    reading, options = one.reading, as_shown(question, one.order, one.prompt)
    return (
        one.key[:ID_LENGTH], one.model, one.prompt, one.item,
        " | ".join(f"{letter}) {label}" for letter, label, *_ in options), one.text or one.refusal, reading.state,
        label_of(reading.point, question.scale.labels), reading.rule or None,
        one.text[slice(*reading.span)] if reading.span else None, weight, None, None,
    )  # fmt: skip


# Checked --------------------------------------------------------------------------------------------------------------
#
# What a person found in a sample of answers: how often they were read correctly, with intervals.


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
    return _accuracy(_cleaned(_CheckedTable(to_polars(checked), "table", COUNTED_FROM_1)))


def audited(store: str | os.PathLike[str], file: str | os.PathLike[str]) -> Accuracy:
    """Read a checked table from a file, as a spreadsheet may have saved it, and compare it with its store."""
    raw = read_table(file, encoding=_encoding(file))
    table = _cleaned(_CheckedTable(raw.frame(), raw.name, raw.locate))
    return replace(_accuracy(table), n_changed=_changed(table, store))


class _CheckedTable(NamedTuple):
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


def _cleaned(table: _CheckedTable) -> _CheckedTable:
    """Return the needed columns with checked rows, all valid; blank rows from a spreadsheet are ignored."""
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
        pl.col("id").str.to_lowercase(), pl.col("state").str.to_lowercase(),
        verdict=pl.when(words.is_in(_YES)).then(True).when(words.is_in(_NO)).then(False),
        size=pl.col("weight").str.replace(",", ".", literal=True).cast(pl.Float64, strict=False),
    )  # fmt: skip
    table = table._replace(frame=cleaned)
    if not cleaned.height:
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


def _accuracy(table: _CheckedTable) -> Accuracy:
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


def _changed(table: _CheckedTable, store: str | os.PathLike[str]) -> int:
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
