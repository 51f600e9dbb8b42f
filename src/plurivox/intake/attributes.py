"""What is known about raters and items: one row each, and columns that sort them into categories."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.errors import AttributeConflictError, ConfigError, FileError, IdError, InputError, no_column
from plurivox.intake.code import ABSENT, as_numbers, as_text, whole_floats
from plurivox.scale import ALWAYS_MISSING

Locate = Callable[[int], str]


def row_number(first: int) -> Locate:
    """Return a function that names positions as rows, position 0 being row ``first``."""
    return lambda position: f"row {position + first}"


COUNTED_FROM_1 = row_number(1)


def where(source: str, locate: Locate, wrong: Any) -> dict[str, Any]:
    """Return what an error says about its place: the source, and the first of the rows, given as numbers or a mask."""
    rows = np.asarray(wrong)
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    places = [locate(int(row)) for row in rows[: InputError.SHOWN]]
    return {"source": source, "places": places, "n_places": len(rows)}


@dataclass(frozen=True, slots=True)
class AttributeTable:
    """A table with one row per rater (or item), as it came in."""

    frame: pl.DataFrame
    id_column: str
    source: str
    locate: Locate = COUNTED_FROM_1


@dataclass(frozen=True, slots=True)
class Matched:
    """Attributes in the order of the ids they were matched to, and what did not match."""

    frame: pl.DataFrame
    unknown: int
    idle: int


def clean(column: pl.Series) -> pl.Series:
    """Return the column with blank, NA, N/A, NaN and null as missing; other values keep their type."""
    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype != pl.String:
        return column
    missing = column.str.strip_chars().str.to_lowercase().is_in(list(ALWAYS_MISSING))
    return column.set(missing, None) if missing.any() else column


def as_categories(column: pl.Series) -> pl.Series:
    """Return the column as text, by which categories are compared; whole floats lose their ``.0``."""
    return as_text(whole_floats(column) if column.dtype.is_float() else column)


def category_order(column: pl.Series) -> list[str]:
    """Return the categories in the order to show them: as declared, by number where all begin with one, or by text."""
    if isinstance(column.dtype, pl.Enum):
        present = set(column.drop_nulls().cast(pl.String).unique())
        return [category for category in column.dtype.categories if category in present]
    if column.dtype.is_numeric():
        return as_categories(column.drop_nulls().unique().sort()).to_list()
    return in_order(as_categories(column).drop_nulls().unique())


_FIRST_NUMBER = re.compile(r"\s*([<>≤≥]?)\s*([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)")
_BEFORE, _AFTER = ("<", "≤"), (">", "≥")


def in_order(labels: Iterable[str]) -> list[str]:
    """Return labels in the order to show them: by their first number if all begin with one, else by text.

    Examples
    --------
    >>> in_order(["10", "9", "100"]), in_order(["100+", "25-34", "18-24", "<18"])
    (['9', '10', '100'], ['<18', '18-24', '25-34', '100+'])
    >>> in_order(["10 years", "9 years", "unknown"])
    ['10 years', '9 years', 'unknown']
    """
    texts = sorted(labels)
    found = [_FIRST_NUMBER.match(text) for text in texts]
    numbers = [match for match in found if match]
    if len(numbers) < len(texts):
        return texts

    def key(place: int) -> tuple[Decimal, int]:
        sign, number = numbers[place].groups()
        return Decimal(number.replace(",", "")), (sign in _AFTER) - (sign in _BEFORE)

    return [texts[place] for place in sorted(range(len(texts)), key=key)]


def match(table: AttributeTable, ids: pl.Series, what: str, among: str = "ratings") -> Matched:
    """Put the table's rows into the order of ``ids``; ids are compared by their text form."""
    keyed = _one_row_per_id(table, what)
    wanted = pl.DataFrame({"_id": as_text(ids)})
    found = wanted.join(keyed.with_columns(_known=True), on="_id", how="left", maintain_order="left")
    unknown = found["_known"].null_count()
    if not keyed.height and len(ids):
        raise FileError("it has no rows", source=table.source, hint=f"It needs one row per {what}.")
    if unknown == len(ids) and len(ids):
        raise IdError(
            f"none of its {keyed.height:,} ids occurs among the {len(ids):,} {what} ids of the {among} "
            f"(here {_like(keyed['_id'][0], what)}, there {_like(wanted['_id'][0], what)})",
            source=table.source,
            column=table.id_column,
            hint=f"Check that this is the right column and table of {what}s.",
        )
    idle = keyed.join(wanted, on="_id", how="anti").height
    return Matched(found.drop("_id", "_known"), unknown, idle)


def _like(value: str, what: str) -> str:
    """Show what ids look like: an item's as it is, a rater's with every digit as 9 and every letter as a.

    Examples
    --------
    >>> _like("Worker-07", "rater"), _like("q7", "item")
    ("like 'aaaaaa-99'", "'q7'")
    """
    if what != "rater":
        return repr(value)
    return f"like {''.join('9' if c.isdigit() else 'a' if c.isalpha() else c for c in value)!r}"


def _one_row_per_id(table: AttributeTable, what: str) -> pl.DataFrame:
    if table.id_column not in table.frame.columns:
        hint = f"The table of {what}s needs the {what} id under the name it has in the ratings."
        raise no_column(table.id_column, table.frame.columns, table.source, hint)
    values = [clean(column) for column in table.frame.drop(table.id_column)]
    keyed = pl.DataFrame({"_id": id_texts(table.frame[table.id_column])}).with_columns(values)
    blank = keyed["_id"].is_null() | (keyed["_id"] == "")
    if blank.any():
        raise IdError(
            f"the {what} id is missing", column=table.id_column, **where(table.source, table.locate, blank),
            hint="Give it or remove the row.",
        )  # fmt: skip
    distinct = keyed.unique(maintain_order=True)
    repeated = distinct["_id"].is_duplicated()
    if repeated.any():
        culprit = distinct.filter(repeated)["_id"][0]
        rows = keyed["_id"] == culprit
        column = next(c for c in distinct.columns if distinct.filter(pl.col("_id") == culprit)[c].n_unique() > 1)
        problem = f"{'one rater' if what == 'rater' else f'{what} {culprit!r}'} has more than one value"
        n = distinct.filter(repeated)["_id"].n_unique()
        if n > 1:
            problem += f" (as have {n - 1:,} other {what}s)"
        at = where(table.source, table.locate, rows)
        raise AttributeConflictError(problem, column=column, **at, hint="Keep one row for each.")
    return distinct


def id_texts(ids: pl.Series) -> pl.Series:
    """Return ids as text, by which tables are matched; whole floats that a frame holds as the integers they were."""
    return as_categories(ids.fill_nan(None)) if ids.dtype.is_float() else as_text(ids)


def places_of(ids: pl.Series, known: pl.Series) -> NDArray[np.int64]:
    """Return for each id its row among the known ones, -1 if it is not there; 7 and "7" are the same."""
    places = pl.DataFrame({"id": id_texts(known), "place": np.arange(len(known))})
    found = pl.DataFrame({"id": id_texts(ids)}).join(places, on="id", how="left", maintain_order="left")
    return found["place"].fill_null(-1).to_numpy().astype(np.int64)


def per_owner(values: NDArray[Any], owners: NDArray[Any], n_owners: int) -> NDArray[np.int32]:
    """Return each owner's value from a column that repeats it on every row, -1 where no row has one."""
    result = np.full(n_owners, ABSENT, dtype=np.int32)
    known = values != ABSENT
    result[owners[known]] = values[known]
    return result


def bin_numbers(column: pl.Series, edges: Sequence[float], labels: Sequence[str] | None = None) -> pl.Series:
    """Sort numbers into the intervals that start at each edge, the last one open-ended.

    Whole-number edges over whole numbers are named by what they hold: edges 18, 30, 50 give ``18–29``, ``30–49``
    and ``50+``, and ``<18`` if there is anybody. Values that are not numbers become missing.

    Examples
    --------
    >>> bin_numbers(pl.Series("age", ["18", "29", "30", "71", None]), [18, 30, 50]).to_list()
    ['18–29', '18–29', '30–49', '50+', None]
    """
    if len(edges) < 1 or any(b <= a for a, b in itertools.pairwise(edges)):
        raise ConfigError(f"the bins of '{column.name}' need increasing edges, not {list(edges)}")
    numbers = as_numbers(clean(column))
    whole = bool((numbers.drop_nulls() == numbers.drop_nulls().round()).all())
    names = [f"<{edges[0]:g}", *(labels or _bin_names(edges, whole=whole))]
    if len(names) != len(edges) + 1:
        raise ConfigError(f"the bins of '{column.name}' have {len(edges)} edges and {len(names) - 1} labels")
    places = np.searchsorted(np.asarray(edges, dtype=float), numbers.fill_null(math.nan).to_numpy(), side="right")
    binned = pl.Series(column.name, names).gather(places).set(numbers.is_null(), None)
    return binned.cast(pl.Enum(names))


def _bin_names(edges: Sequence[float], *, whole: bool) -> list[str]:
    names = []
    for low, high in itertools.pairwise(edges):
        if whole and high == int(high):
            last = int(high) - 1
            names.append(f"{low:g}–{last}" if last > low else f"{low:g}")
        else:
            names.append(f"{low:g} to <{high:g}")
    return [*names, f"{edges[-1]:g}+"]
