"""The columns of a table of answers, checked: points and states, distributions, repetitions, and orders of options."""

from __future__ import annotations

import functools
import json
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.errors import ColumnError, DuplicateError, IdError, InputError, ScaleError, few, no_column
from plurivox.intake.attributes import Locate, id_texts, places_of, where
from plurivox.intake.code import as_numbers, as_text
from plurivox.reader import STATES, read_answer
from plurivox.scale import Label, Scale, descriptions_in
from plurivox.statistics.checks import SUM_TOLERANCE

ANSWERED, REFUSED, UNREADABLE, FAILED = range(len(STATES))
NO_POINT = -1
_UNKNOWN = -2

Ints = NDArray[np.int64]


def letters_of(scale: Scale, order: tuple[int, ...], prompt: str = "") -> tuple[tuple[str, ...], ...]:
    """Return the points as options as a prompt showed them, each with a letter, or a number beyond 26, and its texts.

    Examples
    --------
    >>> letters_of(Scale(["never", "often"]), (1, 0))
    (('A', 'often'), ('B', 'never'))
    """
    return _letters(scale.labels, descriptions_in(scale.descriptions, prompt), order)


@functools.lru_cache(maxsize=512)
def _letters(
    labels: tuple[Label, ...], descriptions: tuple[str, ...], order: tuple[int, ...]
) -> tuple[tuple[str, ...], ...]:
    texts = [
        (str(labels[place]), *(one for one in descriptions[place : place + 1] if one.strip())) for place in order
    ]  # fmt: skip
    if len(texts) <= len(string.ascii_uppercase):
        return tuple((letter, *own) for letter, own in zip(string.ascii_uppercase, texts, strict=False))
    whole = all(own[0].removeprefix("-").isdecimal() for own in texts)
    return tuple((own[0] if whole else str(at), *own) for at, own in enumerate(texts, 1))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _state_of(text: str) -> int:
    """Return the place of a state, -1 if it is blank, -2 if unknown."""
    name = text.strip().lower()
    return STATES.index(name) if name in STATES else -1 if not name else _UNKNOWN


@dataclass(frozen=True, slots=True)
class AnswerColumns:
    """Looks at the columns of a table of answers, and raises with its name and rows."""

    table: pl.DataFrame
    scale: Scale
    source: str
    locate: Locate

    def columns(self, item: str) -> None:
        """Raise unless there are items, and rows."""
        if item not in self.table.columns:
            hint = "Name the columns: --item, --model, --answer (item=, model=, answer=)."
            raise no_column(item, self.table.columns, self.source, hint, role=" with the items", most=20)
        if not self.table.height:
            raise InputError("there is no answer", source=self.source, hint="Give one row per model and item.")

    def items(self, column: str) -> tuple[pl.Series, NDArray[np.int32]]:
        """Return the items as text, sorted, and that of each row."""
        ids = self.ids(column, "item")
        items = ids.unique().sort()
        return items, places_of(ids, items).astype(np.int32)

    def ids(self, column: str, role: str) -> pl.Series:
        """Return ids as text, none of them blank."""
        texts = id_texts(self.table[column])
        blank = (texts.is_null() | (texts.str.strip_chars() == "")).to_numpy()
        if blank.any():
            raise IdError(f"the {role} is missing", column=column, **self._where(blank), hint="Give it.")
        return texts

    def texts(self, column: str) -> pl.Series:
        """Return a column as text, empty where there is none."""
        return as_text(self.table[column]).fill_null("")

    def answers(
        self, column: str | None, prompts: pl.Series | None = None
    ) -> tuple[NDArray[np.int16], NDArray[np.int8], int]:
        """Return the point and the state of each row, and how many points are not on the scale."""
        name = self._answer_column(column)
        stated = self._states()
        n = self.table.height
        if name is None:
            unread = np.where(stated > ANSWERED, stated, np.int8(UNREADABLE))  # until its distribution is known
            return np.full(n, NO_POINT, dtype=np.int16), unread, 0
        if name in ("text", "response"):
            return self._read(self.table[name], stated, prompts)
        point, elsewhere = self._points(self.table[name], positions=name == "point")
        if column is None and "text" in self.table.columns:  # what has neither point nor state may be text to read
            unread = (point == NO_POINT) & ~elsewhere & (stated < 0)
            texts, states, _ = self._read(self.table["text"], np.where(unread, stated, np.int8(FAILED)), prompts)
            point, stated = np.where(unread, texts, point), np.where(unread, states, stated)
        answered = point != NO_POINT
        state = np.where(stated >= 0, stated, np.where(answered, np.int8(ANSWERED), np.int8(UNREADABLE)))
        state[(state == ANSWERED) & ~answered] = UNREADABLE
        point[state != ANSWERED] = NO_POINT
        return point, state, int(np.count_nonzero(elsewhere & (stated != FAILED) & (stated != REFUSED)))

    def _answer_column(self, column: str | None) -> str | None:
        if column is not None:
            if column not in self.table.columns:
                raise ColumnError(f"there is no column '{column}'", source=self.source, hint="Name it with answer=.")
            return column
        for name in ("point", "answer", "text", "response"):
            if name in self.table.columns and (self.table[name].null_count() < self.table.height or name == "answer"):
                return name
        if "distribution" in self.table.columns or self._point_columns():
            return None
        raise ColumnError(
            f"there is no column of answers; it has {few(self.table.columns, 20)}",
            source=self.source,
            hint="Name it with answer=, or call it answer (labels), point (positions from 0) or text (to be read).",
        )

    def _states(self) -> NDArray[np.int8]:
        """Return the state of each row, -1 where none is given."""
        if "state" not in self.table.columns:
            return np.full(self.table.height, -1, dtype=np.int8)
        texts = as_text(self.table["state"])
        known = {text: _state_of(text) for text in texts.unique().drop_nulls().to_list()}
        codes = texts.replace_strict(known, default=-1, return_dtype=pl.Int8).to_numpy()
        wrong = codes == _UNKNOWN
        if wrong.any():
            first = texts[int(np.flatnonzero(wrong)[0])]
            raise InputError(
                f"the state {first!r} is unknown", column="state", **self._where(wrong),
                hint=f"Use one of {', '.join(STATES)}, or leave it blank.",
            )  # fmt: skip
        return codes

    def _points(self, column: pl.Series, *, positions: bool) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
        """Return the position of each answer, -1 without one, and where an answer is not on the scale."""
        n_points = len(self.scale)
        if positions:
            numbers = as_numbers(column).to_numpy()
            given = column.is_not_null().to_numpy() & ~(np.isnan(numbers) if column.dtype.is_float() else False)
            inside = given & (numbers >= 0) & (numbers < n_points) & (numbers == np.floor(numbers))
            return np.where(inside, numbers, NO_POINT).astype(np.int16), given & ~inside
        texts = id_texts(column) if not column.dtype.is_float() else column.cast(pl.String)
        known = texts.unique().drop_nulls()
        places = {text: self._position(text) for text in known.to_list()}
        point = texts.replace_strict(places, default=NO_POINT, return_dtype=pl.Int16).to_numpy().copy()
        blank = (texts.is_null() | (texts.fill_null("").str.strip_chars() == "")).to_numpy()
        return point, ~blank & (point == NO_POINT)

    def _position(self, text: str) -> int:
        try:
            return max(self.scale.position(text), NO_POINT)
        except ScaleError:
            return NO_POINT

    def _read(
        self, column: pl.Series, stated: NDArray[np.int8], prompts: pl.Series | None
    ) -> tuple[NDArray[np.int16], NDArray[np.int8], int]:
        """Read free text by the options as they were shown, except where the state is known and is no answer."""
        orders = self._orders() if "order" in self.table.columns else [None] * len(column)
        point = np.full(len(column), NO_POINT, dtype=np.int16)
        state = np.where(stated >= 0, stated, np.int8(UNREADABLE))
        wanted = np.flatnonzero(stated <= ANSWERED)
        asked = [""] * len(column) if prompts is None else prompts.to_list()
        for row, text in zip(wanted.tolist(), as_text(column).gather(wanted).to_list(), strict=True):
            if text is not None:
                order = orders[row] or tuple(range(len(self.scale)))
                found = read_answer(text, letters_of(self.scale, order, asked[row]))
                state[row] = STATES.index(found.state)
                point[row] = NO_POINT if found.point is None else order[found.point]
            elif stated[row] == ANSWERED:
                state[row] = UNREADABLE
        return point, state, 0

    def _point_columns(self) -> list[str]:
        """Return the columns that are called like the points, if there is one for each."""
        labels = [str(label) for label in self.scale.labels]
        return labels if all(label in self.table.columns for label in labels) else []

    def shares(self) -> NDArray[np.float64] | None:
        """Return the probabilities of each row's points, None if there are none."""
        columns, n = self._point_columns(), len(self.scale)
        if columns:
            table = self.table.select(as_numbers(self.table[name]) for name in columns).to_numpy()
            found = np.where(np.isnan(table).any(axis=1, keepdims=True), np.nan, table)
        elif "distribution" in self.table.columns:
            lists = self._lists("distribution")
            found = np.full((len(lists), n), np.nan)
            for row, one in enumerate(lists):
                if one is None:
                    continue
                # What is no probability at all is told of below; whole numbers may be too large for a float.
                numbers = [float(share) for share in one if _is_number(share) and -9 < share < 9]
                if len(numbers) < n or len(one) != n:
                    wrong = np.arange(len(lists)) == row
                    raise InputError(
                        f"a distribution has {len(numbers)} probabilities and the scale {n} points",
                        column="distribution", **self._where(wrong), hint="Give one for each point.",
                    )  # fmt: skip
                found[row] = numbers
        else:
            return None
        sums = found.sum(axis=1)
        wrong = ~np.isnan(sums) & (~(np.abs(sums - 1) <= SUM_TOLERANCE) | (found < 0).any(axis=1))
        if wrong.any():
            raise InputError(
                "probabilities are negative or do not sum to 1", **self._where(wrong),
                hint="Divide those of each answer by their sum.",
            )  # fmt: skip
        return None if np.isnan(sums).all() else np.asarray(found / sums[:, None])

    def samples(self) -> NDArray[np.int32]:
        """Return the number of each repetition, 0 where none are numbered."""
        if "sample" not in self.table.columns:
            return np.zeros(self.table.height, dtype=np.int32)
        numbers = as_numbers(self.table["sample"])
        wrong = ~(numbers.is_between(0, 2**31 - 1) & (numbers == numbers.floor())).fill_null(False).to_numpy()
        if wrong.any():
            raise InputError(
                "a sample is no whole number", column="sample", **self._where(wrong), hint="Number repetitions from 0."
            )
        return numbers.to_numpy().astype(np.int32)

    def once(
        self, item: NDArray[np.int32], voice: NDArray[np.int32], sample: NDArray[np.int32], voices: Sequence[object],
        items: pl.Series,
    ) -> Ints:  # fmt: skip
        """Return the order by item, voice and sample; raise if an answer is there twice."""
        numbers, place = np.unique(sample, return_inverse=True) if sample.any() else (np.zeros(1), 0)
        key = (item.astype(np.int64) * len(voices) + voice) * len(numbers) + place
        order = np.argsort(key, kind="stable")
        repeated = np.zeros(len(order), dtype=bool)
        repeated[1:] = np.diff(key[order]) == 0
        if repeated.any():
            rows = np.zeros(len(order), dtype=bool)
            rows[order[repeated]] = True
            first = int(np.flatnonzero(rows)[0])
            raise DuplicateError(
                f"{voices[voice[first]]} answers item {items[int(item[first])]} more than once",
                **self._where(rows),
                hint="Number repetitions in a column sample, name prompts in a column prompt, or keep one row.",
            )
        return order

    def shown(self, point: NDArray[np.int16]) -> tuple[NDArray[np.int16], NDArray[np.int32]] | None:
        """Return at which place each answer's option was shown, and the number of its order."""
        if "order" not in self.table.columns:
            return None
        found = np.full(len(point), NO_POINT, dtype=np.int16)
        number = np.full(len(point), NO_POINT, dtype=np.int32)
        known: dict[tuple[int, ...], int] = {}
        for row, order in enumerate(self._orders()):
            if order is not None and point[row] in order:
                found[row] = order.index(point[row])
                number[row] = known.setdefault(order, len(known))
        return found, number

    def _orders(self) -> list[tuple[int, ...] | None]:
        """Return the positions of options in the order shown; raise where they are none."""
        positions = set(range(len(self.scale)))
        found: list[tuple[int, ...] | None] = []
        for row, one in enumerate(self._lists("order")):
            if one and not (len(one) <= len(positions) and all(map(_is_number, one)) and positions.issuperset(one)):
                raise InputError(
                    "an order of options does not hold positions on the scale", column="order",
                    **self._where(np.arange(self.table.height) == row),
                    hint=f"Give each option's position, from 0 to {len(self.scale) - 1}, in the order shown.",
                )  # fmt: skip
            found.append(tuple(map(int, one)) if one else None)
        return found

    def _lists(self, column: str) -> list[list[Any] | None]:
        """Return lists of numbers, from lists or from their text, as in CSV."""
        values = self.table[column]
        if isinstance(values.dtype, pl.List | pl.Array):
            return values.to_list()
        if values.dtype == pl.Null:
            return [None] * len(values)
        try:
            if values.dtype == pl.String:
                return [None if not text else list(json.loads(text)) for text in values.to_list()]
        except (ValueError, TypeError, RecursionError):
            pass
        raise ColumnError(
            f"it holds {values.dtype}, not lists of numbers", source=self.source, column=column,
            hint="Give lists, or texts such as [0.2, 0.8].",
        )  # fmt: skip

    def families(self, models: pl.Series) -> dict[str, str]:
        """Return the family of each model, as far as a column tells."""
        if "family" not in self.table.columns:
            return {}
        pairs = pl.DataFrame({"model": models, "family": as_text(self.table["family"])}).drop_nulls().unique()
        return dict(sorted(pairs.iter_rows()))

    def _where(self, wrong: NDArray[np.bool_]) -> dict[str, Any]:
        return where(self.source, self.locate, wrong)
