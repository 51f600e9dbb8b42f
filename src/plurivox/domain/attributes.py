"""What is known about raters and items: one row for each, and columns that sort them into categories."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import AttributeConflictError, ConfigError, FileError, IdError, InputError, no_column
from plurivox.domain.choices import Conflicts
from plurivox.domain.code import ABSENT, as_numbers, as_text, whole_floats
from plurivox.domain.scale import ALWAYS_MISSING
from plurivox.domain.spill import Codes, Rows, stretches

Locate = Callable[[int], str]


def row_number(first: int) -> Locate:
    """Return a function that names positions as rows; position 0 is row ``first``."""
    return lambda position: f"row {position + first}"


COUNTED_FROM_1 = row_number(1)


def where(source: str, locate: Locate, wrong: Any) -> dict[str, Any]:
    """Return what an error says about where it is: the source, and the first of the rows (row numbers or a mask)."""
    rows, n = wrong if isinstance(wrong, Rows) else (np.asarray(wrong), None)
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    places = [locate(int(row)) for row in rows[: InputError.SHOWN]]
    return {"source": source, "places": places, "n_places": len(rows) if n is None else n}


@dataclass(frozen=True, slots=True)
class AttributeTable:
    """A table with one row per rater (or item), as it came in."""

    frame: pl.DataFrame
    id_column: str
    source: str
    locate: Locate = COUNTED_FROM_1
    remarks: Sequence[str] = ()


_SPEAKER = re.compile(r"^(i|i'd|i’d|i would)\s+")


@dataclass(frozen=True, slots=True)
class Matched:
    """Attributes in the order of the ids they were matched to, what did not match, and how many values are unknown.

    ``conflicts`` counts for each attribute the owners with more than one value, ``words`` those for whom only a word
    such as "Prefer not to say" is known; ``several`` marks who has more than one value.
    """

    frame: pl.DataFrame
    unknown: int = 0
    idle: int = 0
    conflicts: dict[str, int] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)
    several: dict[str, NDArray[np.bool_]] = field(default_factory=dict)


def clean(column: pl.Series, words: Sequence[str] = ()) -> pl.Series:
    """Return the column with blank, NA, N/A, NaN, null and the given words as missing; other values keep their type."""
    if column.dtype.is_float():
        return column.fill_nan(None)
    if words:
        said = is_said(column, words)
        column = column.set(said, None) if said.any() else column
    if column.dtype != pl.String:
        return column
    missing = column.str.strip_chars().str.to_lowercase().is_in(list(ALWAYS_MISSING))
    return column.set(missing, None) if missing.any() else column


def is_said(column: pl.Series, words: Sequence[str]) -> pl.Series:
    """Return where a column of text holds one of the words, ignoring case, underscores and a final full stop.

    Examples
    --------
    >>> from plurivox.domain.choices import UNKNOWN
    >>> is_said(pl.Series(["I'd rather not say.", "prefer_not_to_say", "Woman", None]), UNKNOWN).to_list()
    [True, True, False, False]
    """
    if not words or column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return pl.repeat(False, len(column), eager=True)
    known = {_folded(word) for word in words}
    values = column.cast(pl.String)
    found = [text for text in values.unique().drop_nulls() if _folded(text) in known]
    return values.is_in(found).fill_null(False)


def _folded(text: str) -> str:
    """Return a text in the form in which words for the unknown are compared."""
    plain = " ".join(text.casefold().replace("_", " ").removesuffix(".").split()) or text.strip()
    return _SPEAKER.sub("", plain)


def columns_of_raters(
    by: Iterable[str], columns: Sequence[str], raters: Sequence[str], taken: Iterable[str | None]
) -> tuple[str, ...]:
    """Return the attributes that are columns of the ratings: not in the table of raters, and without another role."""
    others = {*raters, *taken, "item", "rater", "score", "count"}
    return tuple(name for name in dict.fromkeys(by) if name in columns and name not in others)


class Settled(NamedTuple):
    """The code of each owner's value, -1 where there is none, and who has more than one."""

    own: NDArray[np.int32]
    several: NDArray[np.bool_]


def settle(values: Codes, owners: Codes, n_owners: int, rule: Conflicts) -> Settled:
    """Return each owner's value from a column that repeats it on every row; of several, none or the first counts."""
    own, several = np.full(n_owners, ABSENT, dtype=np.int32), np.zeros(n_owners, dtype=bool)
    for rows in stretches(len(owners)):
        given, whose = values[rows], owners[rows]
        known = given != ABSENT
        given, whose = given[known], whose[known]
        new = own[whose] == ABSENT
        own[whose[new][::-1]] = given[new][::-1]  # if an owner has several, the first is written last
        several[whose[given != own[whose]]] = True
    if rule == "missing":
        own[several] = ABSENT
    return Settled(own, several)


def as_categories(column: pl.Series) -> pl.Series:
    """Return the column as text, as categories are compared; whole floats lose their ``.0``."""
    return as_text(whole_floats(column) if column.dtype.is_float() else column)


def category_order(column: pl.Series) -> list[str]:
    """Return the categories in the order to show them: as declared, by number where all begin with one, or by text."""
    if isinstance(column.dtype, pl.Enum):
        present = set(column.drop_nulls().cast(pl.String).unique())
        return [category for category in column.dtype.categories if category in present]
    if column.dtype.is_numeric():
        return as_categories(column.drop_nulls().unique().sort()).to_list()
    return in_order(as_categories(column).drop_nulls().unique())


_SAID = "\0said "  # no column has such a name
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


def match(
    table: AttributeTable,
    ids: pl.Series,
    what: str,
    among: str = "ratings",
    *,
    conflicts: Conflicts = "error",
    words: Sequence[str] = (),
) -> Matched:
    """Put the table's rows into the order of ``ids``; ids are compared by their text form."""
    keyed, several = _one_row_per_id(table, what, conflicts, words)
    wanted = pl.DataFrame({"_id": as_text(ids)})
    found = wanted.join(keyed.with_columns(_known=True), on="_id", how="left", maintain_order="left")
    unknown = found["_known"].null_count()
    if not keyed.height and len(ids):
        raise FileError("it has no rows", source=table.source, hint=f"It needs one row per {what}.")
    if unknown == len(ids) and len(ids):
        raise IdError(
            f"none of its ids ({keyed.height:,}, {_like(keyed['_id'][0], what)}) is among the {what} ids of the "
            f"{among} ({len(ids):,}, {_like(wanted['_id'][0], what)})",
            source=table.source,
            column=table.id_column,
            hint=f"Check that this is the right column and table of {what}s.",
        )
    idle = keyed.join(wanted, on="_id", how="anti").height
    said = {name[len(_SAID) :]: found[name] for name in found.columns if name.startswith(_SAID)}
    masks = {name: wanted["_id"].is_in(whose.to_list()).to_numpy() for name, whose in several.items()}
    return Matched(
        found.drop("_id", "_known", *(_SAID + name for name in said)), unknown, idle,
        {name: n for name, mask in masks.items() if (n := int(mask.sum()))},
        {name: n for name, where_said in said.items() if (n := int((where_said & found[name].is_null()).sum()))},
        masks,
    )  # fmt: skip


def _like(value: str, what: str) -> str:
    """Show what ids look like: an item's as it is; a rater's with every digit as 9 and every letter as a.

    Examples
    --------
    >>> _like("Worker-07", "rater"), _like("q7", "item")
    ("like 'aaaaaa-99'", "such as 'q7'")
    """
    if what != "rater":
        return f"such as {value!r}"
    return f"like {''.join('9' if c.isdigit() else 'a' if c.isalpha() else c for c in value)!r}"


def _one_row_per_id(
    table: AttributeTable, what: str, conflicts: Conflicts, words: Sequence[str]
) -> tuple[pl.DataFrame, dict[str, pl.Series]]:
    """Return the table with one row per id, and for each attribute the ids with more than one value.

    For each attribute that holds such words, a further column marks the ids they are given for.
    """
    if table.id_column not in table.frame.columns:
        hint = f"The table of {what}s needs a column of {what} ids with the same name as in the ratings."
        raise no_column(table.id_column, table.frame.columns, table.source, hint)
    given = list(table.frame.drop(table.id_column))
    said = [is_said(column, words).alias(_SAID + column.name) for column in given]
    values = [clean(column, words) for column in given]
    keyed = pl.DataFrame({"_id": id_texts(table.frame[table.id_column])}).with_columns(values)
    blank = keyed["_id"].is_null() | (keyed["_id"] == "")
    if blank.any():
        raise IdError(
            f"the {what} id is missing", column=table.id_column, **where(table.source, table.locate, blank),
            hint="Fill it in or remove the row.",
        )  # fmt: skip
    if conflicts == "error":
        _refuse_several(table, keyed, what)
    keyed = keyed.with_columns(column for column in said if column.any())
    if not keyed["_id"].is_duplicated().any():
        return keyed, {}
    return _settled(keyed, conflicts)


def _settled(keyed: pl.DataFrame, rule: Conflicts) -> tuple[pl.DataFrame, dict[str, pl.Series]]:
    """Return one row per id, in order of appearance, and for each attribute who has more than one value."""
    ids = keyed["_id"].unique(maintain_order=True)
    owners = places_of(keyed["_id"], ids)
    columns, several = [ids], {}
    for column in keyed.drop("_id"):
        if column.name.startswith(_SAID):
            said = np.bincount(owners, weights=column.to_numpy(), minlength=len(ids)) > 0
            columns.append(pl.Series(column.name, said))
            continue
        texts = as_text(column)
        codes = texts.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
        own, clash = settle(codes, owners, len(ids), rule)
        known = np.flatnonzero(codes >= 0)[::-1]
        rows = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.uint32)
        rows[codes[known]] = known
        places = pl.Series(rows[np.where(own == ABSENT, 0, own)]).set(pl.Series(own == ABSENT), None)
        columns.append(column.gather(places))
        if clash.any():
            several[column.name] = ids.filter(pl.Series(clash))
    return pl.DataFrame(columns), several


def _refuse_several(table: AttributeTable, keyed: pl.DataFrame, what: str) -> None:
    """Raise an error if the rows of an id differ."""
    distinct = keyed.unique(maintain_order=True)
    repeated = distinct["_id"].is_duplicated()
    if not repeated.any():
        return
    culprit = distinct.filter(repeated)["_id"][0]
    rows = keyed["_id"] == culprit
    column = next(c for c in distinct.columns if distinct.filter(pl.col("_id") == culprit)[c].n_unique() > 1)
    problem = f"{'one rater' if what == 'rater' else f'{what} {culprit!r}'} has more than one value"
    n = distinct.filter(repeated)["_id"].n_unique()
    if n > 1:
        problem += f" (and so {'has' if n == 2 else 'have'} {n - 1:,} other {what}{'' if n == 2 else 's'})"
    at = where(table.source, table.locate, rows)
    raise AttributeConflictError(
        problem, column=column, **at, hint="Keep one row for each, or choose with --conflicts which value counts."
    )


def id_texts(ids: pl.Series) -> pl.Series:
    """Return ids as text, as tables are matched; whole floats in a frame become the integers they were."""
    return as_categories(ids.fill_nan(None)) if ids.dtype.is_float() else as_text(ids)


def places_of(ids: pl.Series, known: pl.Series) -> NDArray[np.int64]:
    """Return for each id its row among the known ones, -1 if it is not among them; 7 and "7" are the same."""
    places = pl.DataFrame({"id": id_texts(known), "place": np.arange(len(known))})
    found = pl.DataFrame({"id": id_texts(ids)}).join(places, on="id", how="left", maintain_order="left")
    return found["place"].fill_null(-1).to_numpy().astype(np.int64)


def bin_numbers(column: pl.Series, edges: Sequence[float], labels: Sequence[str] | None = None) -> pl.Series:
    """Sort numbers into intervals that start at the edges; the last one is open-ended.

    If edges and numbers are whole, intervals are named by what they hold: edges 18, 30, 50 give ``18–29``, ``30–49``
    and ``50+``, and ``<18`` if anyone is in it. ``65+`` and ``<16`` are sorted, too, if everything they may mean is in
    one interval. Values that are not numbers become missing.

    Examples
    --------
    >>> bin_numbers(pl.Series("age", ["18", "29,5", "30", "65+", "18+", None]), [18, 30, 50]).to_list()
    ['18 to <30', '18 to <30', '30 to <50', '50+', None, None]
    """
    if len(edges) < 1 or any(b <= a for a, b in itertools.pairwise(edges)):
        raise ConfigError(f"the bins of '{column.name}' need increasing edges, not {list(edges)}")
    numbers = _numbers(column, edges)
    whole = bool((numbers.drop_nulls() == numbers.drop_nulls().round()).all())
    names = [f"<{edges[0]:g}", *(labels or _bin_names(edges, whole=whole))]
    if len(names) != len(edges) + 1:
        raise ConfigError(f"the bins of '{column.name}' have {len(edges)} edges and {len(names) - 1} labels")
    places = np.searchsorted(np.asarray(edges, dtype=float), numbers.fill_null(math.nan).to_numpy(), side="right")
    binned = pl.Series(column.name, names).gather(places).set(numbers.is_null(), None)
    return binned.cast(pl.Enum(names))


_OPEN = re.compile(r"(?P<below>[<≤])?\s*(?P<number>\d{1,9}([.,]\d{1,9})?)\s*(?P<above>\+)?")


def _numbers(column: pl.Series, edges: Sequence[float]) -> pl.Series:
    """Return numbers, also those with decimal commas, ``65+`` from the last edge on, and ``<16`` up to the first."""
    column = clean(column)
    if column.dtype.is_numeric():
        return as_numbers(column)
    texts = as_text(column).str.strip_chars()
    found: dict[str, float] = {}
    for text in texts.unique().drop_nulls():
        if not (match := _OPEN.fullmatch(text)):
            continue
        number = float(match["number"].replace(",", "."))
        if match["above"] and (match["below"] or number < edges[-1]):
            continue
        if match["below"] and number > edges[0]:
            continue
        found[text] = math.nextafter(edges[0], -math.inf) if match["below"] else number
    written = texts.replace_strict(list(found), list(found.values()), default=None, return_dtype=pl.Float64)
    return as_numbers(column).fill_null(written) if found else as_numbers(column)


def _bin_names(edges: Sequence[float], *, whole: bool) -> list[str]:
    names = []
    for low, high in itertools.pairwise(edges):
        if whole and high == int(high):
            last = int(high) - 1
            names.append(f"{low:g}–{last}" if last > low else f"{low:g}")
        else:
            names.append(f"{low:g} to <{high:g}")
    return [*names, f"{edges[-1]:g}+"]
