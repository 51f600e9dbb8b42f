"""What is known about raters and items: from columns of the ratings, and from tables of their own."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import (
    AttributeConflictError,
    AttributeConflictWarning,
    ColumnError,
    InputError,
    UnknownIdsWarning,
    few,
)
from plurivox.domain.attributes import AttributeTable, Locate, Matched, clean, is_said, match, settle, where
from plurivox.domain.choices import CONFLICTS, UNKNOWN, Conflicts
from plurivox.domain.code import ABSENT, Coded
from plurivox.domain.spill import Codes, rows_where, stretches

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclass(frozen=True, slots=True)
class Rules:
    """Which value counts if there are several, and which words say nothing about a rater."""

    conflicts: Conflicts = "missing"
    unknown: tuple[str, ...] = UNKNOWN

    def __post_init__(self) -> None:
        if self.conflicts not in CONFLICTS:
            raise InputError(f"conflicts is {self.conflicts!r}", hint=f"Give one of {', '.join(CONFLICTS)}.")


@dataclass(frozen=True, slots=True)
class Described:
    """The ratings from which attributes are read: the coded columns, and where they come from.

    Attributes that are only ``offered``, because nobody named them, are dropped if an item or a rater has two values.
    """

    source: str
    locate: Locate
    coded: Mapping[str, Coded]
    rules: Rules
    offered: frozenset[str] = frozenset()

    def of(self, role: Literal["item", "rater"], names: Sequence[str], given: AttributeTable | None) -> Matched:
        """Return the attributes of raters or items, by code, from columns of the ratings and from a table."""
        if role not in self.coded:
            if given is not None:
                raise InputError("totals have no raters", source=given.source, hint="Leave out the table of raters.")
            return Matched(pl.DataFrame({role: []}, schema={role: pl.String}))
        ids = self.coded[role].values.alias(role)
        words = self.rules.unknown if role == "rater" else ()
        found = [one for name in names if (one := self._column(role, name, words)) is not None]
        frame = pl.DataFrame([ids, *(column for one in found for column in one.frame)])
        conflicts = {name: n for one in found for name, n in one.conflicts.items()}
        said = {name: n for one in found for name, n in one.words.items()}
        several = {name: mask for one in found for name, mask in one.several.items()}
        if given is None:
            self._warn(role, conflicts)
            return Matched(frame, 0, 0, conflicts, said, several)
        beside = match(given, ids, role, conflicts=self.rules.conflicts, words=words)
        self._refuse_twice(role, frame, beside, given)
        if beside.unknown:
            warnings.warn(
                f"{given.source} lacks {beside.unknown:,} of the {len(ids):,} {role}s in {self.source}; "
                "their attributes are unknown",
                UnknownIdsWarning,
                stacklevel=_caller(),
            )
        self._warn(role, conflicts | beside.conflicts)
        return Matched(
            frame.hstack(beside.frame), beside.unknown, beside.idle, conflicts | beside.conflicts, said | beside.words,
            several | beside.several,
        )  # fmt: skip

    def _column(self, role: str, name: str, words: Sequence[str]) -> Matched | None:
        """Return an attribute from the ratings, None if it was only offered and differs within one rater or item."""
        if name not in self.offered:
            return self._from_rows(role, name, words)
        try:
            found = self._from_rows(role, name, words)
        except AttributeConflictError:
            return None
        return None if found.conflicts else found

    def _refuse_twice(self, role: str, frame: pl.DataFrame, beside: Matched, given: AttributeTable) -> None:
        twice = sorted(set(beside.frame.columns) & set(frame.columns))
        if twice:
            raise ColumnError(
                f"it is in both the ratings and the table of {role}s",
                source=given.source,
                column=twice[0],
                hint="Remove or rename it in one of the two.",
            )

    def _warn(self, role: str, conflicts: Mapping[str, int]) -> None:
        if self.rules.conflicts == "missing":
            for name, n in conflicts.items():
                text = f"{self.source}: {several_values(n, role, name, 'missing')}"
                warnings.warn(text, AttributeConflictWarning, stacklevel=_caller())

    def _from_rows(self, role: str, name: str, words: Sequence[str]) -> Matched:
        """Return an attribute that the ratings repeat on every row, one value per owner."""
        owners, column = self.coded[role], self.coded[name]
        values = clean(column.values, words)
        said = is_said(column.values, words).to_numpy()
        codes: Codes = column.codes
        if values.null_count():  # a value such as NA means missing
            codes = _Known(column.codes, values.is_null().to_numpy())
        own, several = settle(codes, owners.codes, len(owners.values), self.rules.conflicts)
        if several.any():
            self._judge(role, name, values, codes, several)
        n_said = int(np.count_nonzero((own == ABSENT) & self._worded(owners, column, said))) if said.any() else 0
        absent = pl.Series(own == ABSENT)
        if values.is_empty():
            found = pl.Series(name, [None] * len(own), dtype=values.dtype)
        else:
            found = values.gather(np.where(own == ABSENT, 0, own)).set(absent, None).alias(name)
        n_several = int(np.count_nonzero(several))
        return Matched(
            pl.DataFrame([found]), conflicts={name: n_several} if n_several else {},
            words={name: n_said} if n_said else {}, several={name: several} if n_several else {},
        )  # fmt: skip

    def _worded(self, owners: Coded, column: Coded, said: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the owners for whom one of the words was given."""
        found, of_code = np.zeros(len(owners.values), dtype=bool), np.append(said, False)
        for rows in stretches(len(owners.codes)):
            found[owners.codes[rows][of_code[column.codes[rows]]]] = True
        return found

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


@dataclass(frozen=True, slots=True)
class _Known:
    """The codes of a column, some of which mean unknown."""

    codes: Codes
    unknown: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        own = self.codes[rows]
        return np.where(np.append(self.unknown, False)[own], ABSENT, own).astype(np.int32)


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
