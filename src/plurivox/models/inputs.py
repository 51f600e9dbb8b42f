"""Texts, what came before them, and their ratings, from the caller's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import ColumnError, DuplicateError, IdError, InputError, no_column
from plurivox.domain.attributes import COUNTED_FROM_1, Locate, id_texts, places_of, where
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import to_polars
from plurivox.models.texts import Turns
from plurivox.models.training import TrainingSettings

_MANY = 10**9  # the most ratings of one item from which NumPy can draw without replacement


@dataclass(frozen=True, slots=True, eq=False)
class ItemTable:
    """One row per item, in the order given."""

    ids: pl.Series  # as they were given
    keys: pl.Series  # the same as text
    texts: list[str | None]  # None where there is none
    contexts: list[Turns]  # what came before each, oldest first, without blanks
    column: str  # the name of the column of texts
    source: str  # how to name the table and its rows in messages
    locate: Locate

    @classmethod
    def read(
        cls, frame: Any, *, text: str, context: Sequence[str], item: str, source: str, locate: Locate | None = None
    ) -> ItemTable:
        """Read the columns from any frame, and check that each item occurs once."""
        table = to_polars(frame)
        wanted = [(item, "the ids", "item"), (text, "the texts", "text")]
        wanted += [(name, "context", "context") for name in context]
        for name, role, argument in wanted:
            if name not in table.columns:
                hint = f"Name it with {argument}= or --{argument}."
                raise no_column(name, table.columns, source, hint, role=f" with {role}", most=20)
        if not table.height:
            raise InputError("there are no items", source=source, hint="Give one row per item.")
        own, *turns = (_texts(table[name], source) for name in (text, *context))
        before: list[Turns] = [tuple(turn for turn in row if turn is not None) for row in zip(*turns, strict=True)]
        found = cls(
            table[item], id_texts(table[item]), own, before or [()] * table.height, text, source,
            locate or COUNTED_FROM_1,
        )  # fmt: skip
        found._check_ids()
        return found

    def _check_ids(self) -> None:
        blank = (self.keys.is_null() | (self.keys.str.strip_chars() == "")).to_numpy()
        if blank.any():
            raise IdError("the item is missing", column=self.ids.name, **self._where(blank), hint="Fill it in.")
        repeated = self.keys.is_duplicated().to_numpy()
        if repeated.any():
            first = self.keys[int(repeated.argmax())]
            rows = repeated & (self.keys == first).to_numpy()
            others = self.keys.filter(pl.Series(repeated)).n_unique() - 1
            also = f", as {'is' if others == 1 else 'are'} {others:,} other{'s' * (others > 1)}" if others else ""
            problem, place = f"item {first!r} occurs more than once{also}", self._where(rows)
            raise DuplicateError(problem, column=self.ids.name, **place, hint="Keep one row per item.")

    def complete(self) -> list[str]:
        """Return the texts, or raise if one is missing."""
        blank = np.array([text is None for text in self.texts])
        if blank.any():
            hint = "Fill it in, or leave out the row."
            raise InputError("the text is missing", column=self.column, **self._where(blank), hint=hint)
        return [text for text in self.texts if text is not None]

    def _where(self, wrong: NDArray[np.bool_]) -> dict[str, Any]:
        return where(self.source, self.locate, wrong)


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Items with text and ratings, sorted by id, so that the order of rows does not matter."""

    texts: list[str]
    contexts: list[Turns]
    counts: NDArray[np.int64]  # ratings, items × points
    notes: tuple[str, ...] = ()  # what was left out

    @classmethod
    def join(cls, ratings: Ratings, table: ItemTable) -> Examples:
        """Match ratings with texts."""
        place = places_of(table.keys, ratings.items["item"])
        every = ratings.counts()
        rated = every.sum(axis=1) > 0
        row_rated = (place >= 0) & rated[place] if len(rated) else np.zeros(len(place), dtype=bool)
        has_text = np.array([text is not None for text in table.texts])
        _refuse_too_few(ratings, table, has_text, row_rated)
        n_rated, n_rows = int(rated.sum()), len(place)
        absent, have = n_rated - int(row_rated.sum()), ("has", "have")
        notes = (
            _left_out(absent, n_rated, "rated item", ("is", "are"), "not in the table of items"),
            _left_out(int((row_rated & ~has_text).sum()), n_rated, "rated item", have, "no text"),
            _left_out(int((~row_rated).sum()), n_rows, "item of the table", have, "no rating"),
        )
        used = table.keys.to_frame("key").with_row_index("row").filter(pl.Series(row_rated & has_text))
        rows = used.sort("key")["row"].to_list()
        texts, contexts = [table.texts[row] or "" for row in rows], [table.contexts[row] for row in rows]
        return cls(texts, contexts, every[place[rows]], tuple(note for note in notes if note))

    def drawn(self, asked: TrainingSettings) -> Examples:
        """Return the items with enough ratings, sampling items and ratings if requested."""
        n = self.counts.sum(axis=1)
        enough = np.flatnonzero(n >= asked.min_ratings)
        if len(enough) < 2:
            raise InputError(
                f"{len(enough)} of {len(n):,} items with a text {'has' if len(enough) == 1 else 'have'} "
                f"{asked.min_ratings:,} ratings or more, but training needs at least two",
                hint="Lower min_ratings (--min-ratings).",
            )
        left = len(n) - len(enough)
        few = f"fewer than {asked.min_ratings:,} ratings"
        notes = [*self.notes, _left_out(left, len(n), "rated item", ("has", "have"), few)]
        random = np.random.default_rng([asked.seed, 2])
        if asked.sample_items is not None and asked.sample_items < len(enough):
            notes.append(f"{asked.sample_items:,} of {len(enough):,} items were drawn at random")
            enough = np.sort(random.choice(enough, asked.sample_items, replace=False))
        found = self.take(enough)
        most, total = asked.sample_ratings, int(found.counts.sum())
        if most is not None:
            found = replace(found, counts=np.array([_some(row, most, random) for row in found.counts]))
            notes.append(f"{int(found.counts.sum()):,} of {total:,} ratings were drawn, at most {most:,} per item")
        return replace(found, notes=tuple(note for note in notes if note))

    def take(self, rows: NDArray[np.int64]) -> Examples:
        """Return some of them."""
        return Examples(
            [self.texts[row] for row in rows], [self.contexts[row] for row in rows], self.counts[rows], self.notes
        )


def _some(counts: NDArray[np.int64], most: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Draw this many of an item's ratings without replacement; with a billion it makes no difference."""
    total = int(counts.sum())
    if total <= most:
        return counts
    if total < _MANY:
        return random.multivariate_hypergeometric(counts, most)
    return random.multinomial(most, counts / total)


def turns_of(given: Any) -> Turns:
    """Return what came before a text, given as one text or several, without blank ones."""
    several = [given] if given is None or isinstance(given, str) else list(given)
    return tuple(str(turn) for turn in several if turn is not None and str(turn).strip())


def _texts(column: pl.Series, source: str) -> list[str | None]:
    """Return a column as text; blank is None."""
    if column.dtype == pl.Object or column.dtype == pl.Binary or column.dtype.is_nested():
        problem = f"it holds {column.dtype} instead of text"
        raise ColumnError(problem, source=source, column=column.name, hint="Give one text per row.")
    return [text if text is not None and text.strip() else None for text in id_texts(column)]


def _left_out(n: int, total: int, what: str, verbs: tuple[str, str], why: str) -> str:
    """Return ``3 of 200 rated items have no text and are left out``, nothing if n is 0."""
    if not n:
        return ""
    several = what.replace("item", "items", 1) if total != 1 else what
    return f"{n:,} of {total:,} {several} {verbs[n > 1]} {why} and {('is', 'are')[n > 1]} left out"


def _refuse_too_few(ratings: Ratings, table: ItemTable, has_text: NDArray[np.bool_], rated: NDArray[np.bool_]) -> None:
    """Raise unless two items have both text and ratings."""
    if not has_text.any():
        hint = "Name the column of texts with text= or --text."
        raise InputError("no item has a text", source=table.source, column=table.column, hint=hint)
    if not len(ratings):
        raise InputError("there are no ratings", source=ratings.intake.source, hint="Give ratings of the items.")
    n = int((has_text & rated).sum())
    if n == 0:
        here, there = table.keys[0], id_texts(ratings.items["item"]).head(1).to_list()
        raise InputError(
            f"none of the {int(has_text.sum()):,} items with a text has a rating (the first item here is {here!r}, in "
            f"the ratings {there[0] if there else None!r})",
            source=table.source,
            column=table.ids.name,
            hint="Name the column that has the ids of the ratings with item= or --item.",
        )
    if n == 1:
        raise InputError(
            "only one item has both a text and a rating, but training needs at least two: one to learn from and one "
            "to decide when to stop",
            source=table.source,
            hint="Give more items.",
        )
