"""What is known about raters and items: one row for each, from columns of the ratings and tables of their own."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import (
    AttributeConflictError,
    AttributeConflictWarning,
    ColumnError,
    FileError,
    IdError,
    InputError,
    UnknownIdsWarning,
    few,
    no_column,
)
from plurivox.domain.choices import CONFLICTS, UNKNOWN, Conflicts
from plurivox.domain.code import (
    ABSENT,
    Coded,
    Codes,
    FirstRows,
    Translated,
    as_text,
    rows_where,
    stretches,
    whole_floats,
)
from plurivox.domain.scale import ALWAYS_MISSING

Locate = Callable[[int], str]


def _row(position: int) -> str:
    return f"row {position + 1}"


COUNTED_FROM_1: Locate = _row


def where(source: str, locate: Locate, wrong: Any) -> dict[str, Any]:
    """Return what an error says about where it is: the source, and the first of the rows (row numbers or a mask)."""
    rows, n = wrong if isinstance(wrong, FirstRows) else (np.asarray(wrong), None)
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


def settle(values: Codes, owners: Codes, n_owners: int, rule: Conflicts) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the code of each owner's value, -1 where there is none, and who has more than one.

    The column repeats it on every row; of several, none or the first counts.
    """
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
    return own, several


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


# Describing -----------------------------------------------------------------------------------------------------------
#
# What is known about raters and items: from columns of the ratings, and from tables of their own.


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclass(frozen=True, slots=True)
class AttributeRules:
    """Which value counts if there are several, and which words say nothing about a rater."""

    conflicts: Conflicts = "missing"
    unknown: tuple[str, ...] = UNKNOWN

    def __post_init__(self) -> None:
        if self.conflicts not in CONFLICTS:
            raise InputError(f"conflicts is {self.conflicts!r}", hint=f"Give one of {', '.join(CONFLICTS)}.")


@dataclass(frozen=True, slots=True)
class AttributeReader:
    """The ratings from which attributes are read: the coded columns, and where they come from.

    Attributes that are only ``offered``, because nobody named them, are dropped if an item or a rater has two values.
    """

    source: str
    locate: Locate
    coded: Mapping[str, Coded]
    rules: AttributeRules
    offered: frozenset[str] = frozenset()

    def of(self, role: Literal["item", "rater"], names: Sequence[str], given: AttributeTable | None) -> Matched:
        """Return the attributes of raters or items, by code, from columns of the ratings and from a table."""
        if role not in self.coded:
            if given is not None:
                raise InputError("totals have no raters", source=given.source, hint="Leave out the table of raters.")
            return Matched(pl.DataFrame({role: []}, schema={role: pl.String}))
        ids = self.coded[role].values.alias(role)
        words = self.rules.unknown if role == "rater" else ()
        found = []
        for name in names:  # what was only offered is dropped if it differs within one rater or item
            try:
                one = self._from_rows(role, name, words)
            except AttributeConflictError:
                if name not in self.offered:
                    raise
            else:
                found += [] if name in self.offered and one.conflicts else [one]
        frame = pl.DataFrame([ids, *(column for one in found for column in one.frame)])
        conflicts = {name: n for one in found for name, n in one.conflicts.items()}
        said = {name: n for one in found for name, n in one.words.items()}
        several = {name: mask for one in found for name, mask in one.several.items()}
        beside = Matched(pl.DataFrame())
        if given is not None:
            beside = match(given, ids, role, conflicts=self.rules.conflicts, words=words)
            for name in sorted(set(beside.frame.columns) & set(frame.columns)):
                problem = f"it is in both the ratings and the table of {role}s"
                hint = "Remove or rename it in one of the two."
                raise ColumnError(problem, source=given.source, column=name, hint=hint)
            if beside.unknown:
                lacking = f"{given.source} lacks {beside.unknown:,} of the {len(ids):,} {role}s in {self.source}"
                warnings.warn(f"{lacking}; their attributes are unknown", UnknownIdsWarning, stacklevel=_caller())
        conflicts |= beside.conflicts
        for name, n in conflicts.items() if self.rules.conflicts == "missing" else ():
            text = f"{self.source}: {several_values(n, role, name, 'missing')}"
            warnings.warn(text, AttributeConflictWarning, stacklevel=_caller())
        return Matched(
            frame.hstack(beside.frame.get_columns()), beside.unknown, beside.idle, conflicts, said | beside.words,
            several | beside.several,
        )  # fmt: skip

    def _from_rows(self, role: str, name: str, words: Sequence[str]) -> Matched:
        """Return an attribute that the ratings repeat on every row, one value per owner."""
        owners, column = self.coded[role], self.coded[name]
        values = clean(column.values, words)
        said = is_said(column.values, words).to_numpy()
        codes: Codes = column.codes
        if values.null_count():  # a value such as NA means missing
            known = np.where(values.is_null().to_numpy(), ABSENT, np.arange(len(values)))
            codes = Translated(column.codes, np.append(known, ABSENT).astype(np.int32))
        own, several = settle(codes, owners.codes, len(owners.values), self.rules.conflicts)
        if several.any():
            self._judge(role, name, values, codes, several)
        n_said, absent = 0, pl.Series(own == ABSENT)
        if said.any():  # of how many owners nothing but such a word is known
            worded, of_code = np.zeros(len(owners.values), dtype=bool), np.append(said, False)
            for rows in stretches(len(owners.codes)):
                worded[owners.codes[rows][of_code[column.codes[rows]]]] = True
            n_said = int(np.count_nonzero((own == ABSENT) & worded))
        if values.is_empty():
            found = pl.Series(name, [None] * len(own), dtype=values.dtype)
        else:
            found = values.gather(np.where(own == ABSENT, 0, own)).set(absent, None).alias(name)
        n_several = int(np.count_nonzero(several))
        return Matched(
            pl.DataFrame([found]), conflicts={name: n_several} if n_several else {},
            words={name: n_said} if n_said else {}, several={name: several} if n_several else {},
        )  # fmt: skip

    def _judge(self, role: str, name: str, values: pl.Series, codes: Codes, several: NDArray[np.bool_]) -> None:
        """Raise an error if several values are one, or are so common that the column does not describe the role."""
        owners, n_rows = self.coded[role], len(codes)
        if self.rules.conflicts == "error":
            first = rows_where(lambda rows: several[owners.codes[rows]], n_rows, 1).first[0]
            owner = int(owners.codes[slice(first, first + 1)][0])
            rows = rows_where(lambda rows: owners.codes[rows] == owner, n_rows)
            given = [codes[part][owners.codes[part] == owner] for part in stretches(n_rows)]
            found = [str(values[int(code)]) for code in dict.fromkeys(np.concatenate(given).tolist()) if code != ABSENT]
            which = "one rater" if role == "rater" else f"{role} {owners.values[owner]!r}"
            raise AttributeConflictError(
                f"{which} has more than one value: {few(found, 4)}",
                column=name,
                **where(self.source, self.locate, rows),
                hint=f"All rows of {'a rater' if role == 'rater' else 'an item'} must have the same value; correct it, "
                "leave out the column, or choose with --conflicts which value counts.",
            )
        told = np.zeros(len(owners.values), np.int64)
        for part in stretches(n_rows):
            told += np.bincount(owners.codes[part][codes[part] != ABSENT], minlength=len(told))
        n_several, n_told = int(several.sum()), int(np.count_nonzero(told > 1))
        if self.rules.conflicts == "missing" and 2 * n_several > n_told:
            other = "item" if role == "rater" else "rater"
            raise AttributeConflictError(
                f"it does not describe {role}s: {n_several:,} of the {n_told:,} {role}s with more than one rating have "
                "several values of it",
                source=self.source,
                column=name,
                hint=f"Leave it out; if it describes {other}s, name it with --{other}-attributes; if the first value "
                f"of each {role} counts, use --conflicts first.",
            )


def _caller() -> int:
    """Return how many frames above the warning the code that called plurivox is."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level


def several_values(n: int, role: str, name: str, rule: str) -> str:
    """Say how many raters or items have more than one value of an attribute, and what counts."""
    whose = f"that {role}" if n == 1 else "them"
    counts = "the first one counts" if rule == "first" else f"it counts as unknown for {whose}"
    return f"{n:,} {role}{' has' if n == 1 else 's have'} more than one value of '{name}'; {counts}"
