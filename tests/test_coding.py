from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plurivox.domain.code import Coder


def coded(pieces: Sequence[pl.Series], *, text: bool) -> tuple[list[Any], list[int]]:
    coder = Coder(text=text)
    for piece in pieces:
        coder.add(piece)
    values, codes = coder.finish()
    return values.to_list(), codes.tolist()


def literal(column: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Sort the distinct values and look each row up: what the coder does, written plainly."""
    values = sorted({value for value in column if value is not None})
    return values, [-1 if value is None else values.index(value) for value in column]


def cut(column: Sequence[Any], places: Sequence[int], dtype: Any) -> list[pl.Series]:
    bounds = [0, *sorted(place % (len(column) + 1) for place in places), len(column)]
    return [pl.Series("x", column[a:b], dtype=dtype) for a, b in itertools.pairwise(bounds)]


# Text whose order by bytes and by code point agree, as they do in UTF-8.
TEXT = st.text(st.characters(codec="utf-8"), max_size=14)
PLACES = st.lists(st.integers(0, 50), max_size=4)


@given(st.lists(TEXT.map(lambda s: "x" + s), min_size=1, max_size=60), PLACES)
def test_text_against_literal(column: list[str], places: list[int]) -> None:
    assert coded(cut(column, places, pl.String), text=True) == literal(column)


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-20, 20), min_size=1, max_size=60), PLACES)
def test_whole_numbers_in_text_are_numbers(column: list[int], places: list[int]) -> None:
    pieces = cut([str(number) for number in column], places, pl.String)
    assert coded(pieces, text=True) == literal(column)


@given(st.lists(st.integers(-1000, 1000) | st.none(), min_size=1, max_size=60), PLACES)
def test_typed_integers_against_literal(column: list[int | None], places: list[int]) -> None:
    assert coded(cut(column, places, pl.Int16), text=False) == literal(column)


@given(st.lists(TEXT | st.none(), min_size=1, max_size=60), PLACES)
def test_typed_text_stays_text(column: list[str | None], places: list[int]) -> None:
    assert coded(cut(column, places, pl.String), text=False) == literal(column)


@pytest.mark.parametrize("odd", ["007", "+7", " 7", "7.0", "1e3", "-0", "", "99999999999999999999"])
def test_one_odd_value_leaves_all_as_text(odd: str) -> None:
    values, _ = coded([pl.Series(["7", "12"]), pl.Series([odd, "12"])], text=True)
    assert values == sorted({"7", "12", odd})


@pytest.mark.parametrize(
    ("column", "text", "values", "codes"),
    [
        (pl.Series(["007", "7", "07"]), True, ["007", "07", "7"], [0, 2, 1]),
        (pl.Series([2.0, None, 1.0]), False, [1, 2], [1, -1, 0]),
        (pl.Series([2.5, float("nan"), 1.0]), False, [1.0, 2.5], [1, -1, 0]),
        (pl.Series([True, None, False]), False, ["False", "True"], [1, -1, 0]),
        (pl.Series(["b", "a"], dtype=pl.Categorical), False, ["a", "b"], [1, 0]),
        (pl.Series([2**64 - 1, 5], dtype=pl.UInt64), False, None, [0, 1]),
        (pl.Series(["-2000000000", "2000000000"]), True, None, [0, 1]),
        (pl.Series([None, None], dtype=pl.String), False, [], [-1, -1]),
    ],
)
def test_other_types(column: pl.Series, text: bool, values: list[Any] | None, codes: list[int]) -> None:
    found = coded([column], text=text)
    assert (values is None or found[0] == values, found[1]) == (True, codes)
    assert coded([], text=text) == ([], [])


def test_many_values() -> None:
    many = np.random.default_rng(0).permutation(50_000)
    pieces = [pl.Series([f"id{number:05d}" for number in part]) for part in np.array_split(many, 7)]
    values, codes = coded(pieces, text=True)
    assert (codes, len(values)) == (many.tolist(), 50_000)
