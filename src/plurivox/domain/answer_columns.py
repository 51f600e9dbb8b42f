"""The columns of a table of answers: points and states, distributions, repetitions, orders of options, and texts."""

from __future__ import annotations

import functools
import json
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import ColumnError, DuplicateError, IdError, InputError, ScaleError, few, no_column
from plurivox.domain.attributes import Locate, id_texts, where
from plurivox.domain.code import as_numbers, as_text
from plurivox.domain.raw import plain_names
from plurivox.domain.reader import STATES, read_answer
from plurivox.domain.scale import Label, Scale, descriptions_in
from plurivox.statistics.checks import SUM_TOLERANCE

NO_POINT = -1
NO_RULE, NOT_ON_SCALE = "no_rule", "not_on_the_scale"
"""Rules for answers that were not read: nothing in the text decides, or what is given as a point is not one."""
READINGS: dict[str, pl.DataType] = {"text": pl.String(), "rule": pl.String(), "read": pl.String()}
"""For each answer: its text, the rule that read it, and the piece of the text in which the rule saw the answer."""
TEXT_NAMES = (
    "response", "completion", "output", "generatedtext", "generation", "answertext", "modelresponse", "modeloutput",
    "modelanswer", "modelcompletion", "rawresponse", "rawoutput", "rawanswer", "responsetext", "outputtext",
    "completiontext", "reply",
)  # fmt: skip
"""Names of columns with what a model wrote, without case, spaces and signs; next to one, ``text`` is the item's."""

Orders = Sequence[tuple[int, ...] | None]


class TextsRead(NamedTuple):
    """How the texts of some rows were read."""

    rows: NDArray[np.int64]
    point: NDArray[np.int16]
    state: NDArray[np.int8]
    rule: list[str]
    read: list[str | None]


def letters_of(scale: Scale, order: tuple[int, ...], prompt: str = "") -> tuple[tuple[str, ...], ...]:
    """Return the points as the options a prompt showed, each with a letter (a number beyond 26) and its texts.

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


def read_texts(
    texts: pl.Series, rows: NDArray[np.int64], scale: Scale, orders: Orders, prompts: pl.Series | None
) -> TextsRead:
    """Read the texts of some rows against the options as they were shown; an order of None is that of the scale."""
    found = TextsRead(rows, np.full(len(rows), NO_POINT, np.int16), np.zeros(len(rows), np.int8), [], [])
    asked = [""] * len(rows) if prompts is None else prompts.gather(rows).to_list()
    usual = tuple(range(len(scale)))
    for at, (row, text) in enumerate(zip(rows.tolist(), texts.gather(rows).to_list(), strict=True)):
        order = orders[row] or usual
        reading = read_answer(text, letters_of(scale, order, asked[at]))
        found.state[at] = STATES.index(reading.state)
        found.point[at] = NO_POINT if reading.point is None else order[reading.point]
        found.rule.append(reading.rule)
        found.read.append(None if reading.span is None else text[slice(*reading.span)])
    return found


def is_text_column(name: str) -> bool:
    """Return whether a column of this name holds only texts, in which a letter stands for an option."""
    return name == "text" or not plain_names([name]).keys().isdisjoint(TEXT_NAMES)


def is_given(column: pl.Series) -> pl.Series:
    """Return where there is a value: not null, not NaN, not a blank text."""
    if column.dtype.is_float():
        return column.is_not_null() & column.is_not_nan().fill_null(False)
    if column.dtype == pl.String:
        return column.is_not_null() & (column.str.strip_chars() != "").fill_null(False)
    return column.is_not_null()


# Answer columns -------------------------------------------------------------------------------------------------------
#
# Check the columns of a table of answers: points and states, distributions, repetitions, and orders of options.


OWN_PROMPTS = 3
"""From this many items on, prompts that differ for every item are item texts, not ways of asking."""
ANSWERED, REFUSED, UNREADABLE, FAILED = range(len(STATES))
_UNKNOWN = -2

Ints = NDArray[np.int64]


class AnswersFound(NamedTuple):
    """The answer of each row.

    Attributes
    ----------
    column
        The column they are in; None if there are only distributions.
    point, state
        The position on the scale, -1 if there is none, and the index in :data:`plurivox.domain.reader.STATES`.
    readings
        The columns of :data:`~plurivox.domain.answer_columns.READINGS`; None if there is no text.
    n_read
        How many texts were read just now.
    """

    column: str | None
    point: NDArray[np.int16]
    state: NDArray[np.int8]
    readings: pl.DataFrame | None = None
    n_read: int = 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


@dataclass(frozen=True, slots=True)
class AnswerColumns:
    """Checks the columns of a table of answers; its errors name the table and the rows."""

    table: pl.DataFrame
    scale: Scale
    source: str
    locate: Locate

    def columns(self, item: str) -> None:
        """Raise an error unless there is a column of items and at least one row."""
        if item not in self.table.columns:
            hint = "Name the columns: --item, --model, --answer (item=, model=, answer=)."
            raise no_column(item, self.table.columns, self.source, hint, role=" with the items", most=20)
        if not self.table.height:
            raise InputError("there are no answers", source=self.source, hint="Give one row per model and item.")

    def ids(self, column: str, role: str) -> pl.Series:
        """Return ids as text, none of them blank."""
        texts = id_texts(self.table[column])
        blank = (texts.is_null() | (texts.str.strip_chars() == "")).to_numpy()
        if blank.any():
            raise IdError(f"the {role} is missing", column=column, **self._where(blank), hint="Give it.")
        return texts

    def prompts(self, column: str, item: str, item_of: NDArray[np.int32]) -> pl.Series | None:
        """Return the name of each row's prompt; None if there are none, or if each item has its own."""
        if column not in self.table.columns or column == item:
            return None
        texts = as_text(self.table[column]).fill_null("")
        pairs = pl.DataFrame({"item": item_of, "prompt": texts}).unique()
        own = pairs.height == pairs["item"].n_unique() == pairs["prompt"].n_unique() >= OWN_PROMPTS
        return None if own else texts

    def answers(self, column: str | None, prompts: pl.Series | None = None, taken: Sequence[str] = ()) -> AnswersFound:
        """Return the point and the state of each row, and how texts were read; ``taken`` columns hold no answers.

        A text is read against the options as they were shown, except where the state is known and is not an answer.
        Points and labels are used as they are, and anything that is not a label is read as text.
        """
        name = self._answer_column(column, taken)
        stated, n = self._states(), self.table.height
        point, elsewhere = np.full(n, NO_POINT, dtype=np.int16), np.zeros(n, dtype=bool)
        beside = column is None and name != "text" and (name == "point" or {"rule", "state"} <= set(self.table.columns))
        beside = beside and "text" in self.table.columns  # next to labels alone, it may be the item's text
        texts = as_text(self.table["text"]) if beside else self._nothing()
        unread = stated < 0
        if name is not None and is_text_column(name):
            texts, unread = as_text(self.table[name]), stated <= ANSWERED
        elif name is not None:
            point, elsewhere = self._points(self.table[name], positions=name == "point")
            texts = pl.select(
                pl.when(pl.Series(elsewhere)).then(as_text(self.table[name])).otherwise(texts)
            ).to_series()
            words = self.table[name].dtype == pl.String and name != "point"
            unread = np.where(elsewhere, words & (stated <= ANSWERED), unread & (point == NO_POINT))
        rows = np.flatnonzero(unread & texts.is_not_null().to_numpy())
        read = read_texts(texts, rows, self.scale, self._orders() if len(rows) else (), prompts)
        state = np.where(stated >= 0, stated, np.where(point != NO_POINT, np.int8(ANSWERED), np.int8(UNREADABLE)))
        point[rows], state[rows] = read.point, read.state
        state[(state == ANSWERED) & (point == NO_POINT)] = UNREADABLE
        point[state != ANSWERED] = NO_POINT
        told = self._told(rows, read.rule, read.read, elsewhere & (state == UNREADABLE))
        readings = None if texts.null_count() == n else pl.DataFrame([texts.alias("text"), *told])
        return AnswersFound(name, point, state, readings, len(rows))

    def _nothing(self) -> pl.Series:
        return pl.Series([None], dtype=pl.String).new_from_index(0, self.table.height)

    def _told(
        self, rows: Ints, rules: list[str], pieces: list[str | None], elsewhere: NDArray[np.bool_]
    ) -> list[pl.Series]:
        """Return the rule and the piece of each text: from this reading, from the table, or that it is not a point."""
        rule, read = (
            (as_text(self.table[name]).replace("", None) if name in self.table.columns else self._nothing())
            .rename(name).scatter(rows, pl.Series(now, dtype=pl.String))
            for name, now in (("rule", rules), ("read", pieces))
        )  # fmt: skip
        lost = pl.Series(elsewhere) & (rule.is_null() | (rule == NO_RULE))
        return [pl.select(pl.when(lost).then(pl.lit(NOT_ON_SCALE)).otherwise(rule).alias("rule")).to_series(), read]

    def _answer_column(self, column: str | None, taken: Sequence[str]) -> str | None:
        """Return the column of answers; None if there are only distributions, an error if there are several."""
        table = self.table
        if column is not None:
            if column not in table.columns:
                hint = "Name the right one with --answer (answer=)."
                raise ColumnError(f"there is no column '{column}'", source=self.source, hint=hint)
            return column
        left = [name for name in table.columns if name not in taken]
        full = [name for name in left if is_given(table[name]).any()]
        texts = [name for name in full if is_text_column(name) and name != "text"]
        labels = plain_names(left).get("answer")
        if "point" in full:
            return "point"
        if labels is not None and (labels in full or not (texts or "text" in full) or "state" in left):
            return labels
        if len(texts) > 1:
            raise ColumnError(
                f"more than one column may hold the answers: {few(texts)}", source=self.source,
                hint=f"Name the right one: --answer {texts[0]} (answer={texts[0]!r}).",
            )  # fmt: skip
        if texts or "text" in full:
            return texts[0] if texts else "text"
        if "distribution" in table.columns or self._point_columns():
            return None
        raise ColumnError(
            f"there is no column of answers; the columns are {few(table.columns, 20)}", source=self.source,
            hint="Name the column with --answer (answer=), or call it answer (labels), point (positions from 0) or "
            "response (text to read).",
        )  # fmt: skip

    def _states(self) -> NDArray[np.int8]:
        """Return the state of each row, -1 where none is given."""
        if "state" not in self.table.columns:
            return np.full(self.table.height, -1, dtype=np.int8)
        texts = as_text(self.table["state"])
        known = {"": -1} | {str(state): at for at, state in enumerate(STATES)}
        given = {text: known.get(text.strip().lower(), _UNKNOWN) for text in texts.unique().drop_nulls().to_list()}
        codes = texts.replace_strict(given, default=-1, return_dtype=pl.Int8).to_numpy()
        wrong = codes == _UNKNOWN
        if wrong.any():
            first = texts[int(np.flatnonzero(wrong)[0])]
            raise InputError(
                f"the state {first!r} is unknown", column="state", **self._where(wrong),
                hint=f"Use one of {', '.join(STATES)}, or leave it blank.",
            )  # fmt: skip
        return codes

    def _points(self, column: pl.Series, *, positions: bool) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
        """Return the position of each answer, -1 if it has none, and which answers are not on the scale."""
        n_points = len(self.scale)
        if positions:
            numbers = as_numbers(column).to_numpy()
            given = is_given(column).to_numpy()
            inside = given & (numbers >= 0) & (numbers < n_points) & (numbers == np.floor(numbers))
            return np.where(inside, numbers, NO_POINT).astype(np.int16), given & ~inside
        texts = id_texts(column) if not column.dtype.is_float() else column.cast(pl.String)
        known = texts.unique().drop_nulls()
        places = {}
        for text in known.to_list():
            try:
                places[text] = max(self.scale.position(text), NO_POINT)
            except ScaleError:
                places[text] = NO_POINT
        point = texts.replace_strict(places, default=NO_POINT, return_dtype=pl.Int16).to_numpy().copy()
        blank = (texts.is_null() | (texts.fill_null("").str.strip_chars() == "")).to_numpy()
        return point, ~blank & (point == NO_POINT)

    def _point_columns(self) -> list[str]:
        """Return the columns named after the points, if there is one for each."""
        labels = [str(label) for label in self.scale.labels]
        return labels if all(label in self.table.columns for label in labels) else []

    def shares(self) -> NDArray[np.float64] | None:
        """Return the probabilities of the points in each row, None if there are none."""
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
                # Values that are not probabilities are reported below; whole numbers may be too large for a float.
                numbers = [float(share) for share in one if _is_number(share) and -9 < share < 9]
                if len(numbers) < n or len(one) != n:
                    wrong = np.arange(len(lists)) == row
                    raise InputError(
                        f"a distribution has {len(numbers)} probabilities, but the scale has {n} points",
                        column="distribution", **self._where(wrong), hint="Give one probability for each point.",
                    )  # fmt: skip
                found[row] = numbers
        else:
            return None
        sums = found.sum(axis=1)
        wrong = ~np.isnan(sums) & (~(np.abs(sums - 1) <= SUM_TOLERANCE) | (found < 0).any(axis=1))
        if wrong.any():
            raise InputError(
                "probabilities are negative or do not sum to 1", **self._where(wrong),
                hint="Divide the probabilities of each answer by their sum.",
            )  # fmt: skip
        return None if np.isnan(sums).all() else np.asarray(found / sums[:, None])

    def samples(self) -> NDArray[np.int32]:
        """Return the number of each repetition, 0 if they are not numbered."""
        if "sample" not in self.table.columns:
            return np.zeros(self.table.height, dtype=np.int32)
        numbers = as_numbers(self.table["sample"])
        wrong = ~(numbers.is_between(0, 2**31 - 1) & (numbers == numbers.floor())).fill_null(False).to_numpy()
        if wrong.any():
            raise InputError(
                "a sample is not a whole number", column="sample", **self._where(wrong), hint="Number samples from 0."
            )
        return numbers.to_numpy().astype(np.int32)

    def once(
        self, item: NDArray[np.int32], voice: NDArray[np.int32], sample: NDArray[np.int32], voices: Sequence[object],
        items: pl.Series,
    ) -> Ints:  # fmt: skip
        """Return the order by item, voice and sample; raise an error if an answer occurs twice."""
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
                hint="Number repetitions in a column 'sample', name prompts in a column 'prompt', or keep one row.",
            )
        return order

    def shown(
        self, point: NDArray[np.int16]
    ) -> tuple[NDArray[np.int16], NDArray[np.int32], tuple[tuple[int, ...], ...]] | None:
        """Return the place at which each answer's option was shown, the number of its order, and the orders."""
        if "order" not in self.table.columns:
            return None
        found = np.full(len(point), NO_POINT, dtype=np.int16)
        number = np.full(len(point), NO_POINT, dtype=np.int32)
        known: dict[tuple[int, ...], int] = {}
        for row, order in enumerate(self._orders()):
            if order is not None and point[row] in order:
                found[row] = order.index(point[row])
                number[row] = known.setdefault(order, len(known))
        return found, number, tuple(known)

    def _orders(self) -> list[tuple[int, ...] | None]:
        """Return the positions of options in the order shown, None where unknown; raise if they are not positions."""
        if "order" not in self.table.columns:
            return [None] * self.table.height
        positions = set(range(len(self.scale)))
        found: list[tuple[int, ...] | None] = []
        for row, one in enumerate(self._lists("order")):
            if one and not (len(one) <= len(positions) and all(map(_is_number, one)) and positions.issuperset(one)):
                raise InputError(
                    "an order of options contains something other than positions on the scale", column="order",
                    **self._where(np.arange(self.table.height) == row),
                    hint=f"Give each option's position, from 0 to {len(self.scale) - 1}, in the order shown.",
                )  # fmt: skip
            found.append(tuple(map(int, one)) if one else None)
        return found

    def _lists(self, column: str) -> list[list[Any] | None]:
        """Return lists of numbers, given as lists or, as in CSV, as text."""
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
        """Return the family of each model, as far as a column gives it."""
        if "family" not in self.table.columns:
            return {}
        pairs = pl.DataFrame({"model": models, "family": as_text(self.table["family"])}).drop_nulls().unique()
        return dict(sorted(pairs.iter_rows()))

    def _where(self, wrong: NDArray[np.bool_]) -> dict[str, Any]:
        return where(self.source, self.locate, wrong)
