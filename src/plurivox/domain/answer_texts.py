"""Texts that models answered with: which column holds them, and how they are read as points of a scale."""

from __future__ import annotations

import functools
import string
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import ColumnError, few
from plurivox.domain.reader import STATES, read_answer
from plurivox.domain.roles import plain_names
from plurivox.domain.scale import Label, Scale, descriptions_in

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


def answer_column(table: pl.DataFrame, taken: Sequence[str], source: str) -> str | None:
    """Find the column of answers by its name; None if there is none, an error if there are several candidates."""
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
            f"more than one column may hold the answers: {few(texts)}", source=source,
            hint=f"Name the right one: --answer {texts[0]} (answer={texts[0]!r}).",
        )  # fmt: skip
    return texts[0] if texts else "text" if "text" in full else None
