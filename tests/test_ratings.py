from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plurivox as pv
from plurivox.base.errors import (
    AttributeConflictError,
    ColumnError,
    DuplicateError,
    FileError,
    IdError,
    SelectionError,
    UnknownIdsWarning,
)
from support import run_cli

NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=15)


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    """Draw a long frame without repeats, ids of one type per column."""
    items = draw(st.lists(st.integers(-99, 99), min_size=1, max_size=8, unique=True))
    raters = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    pairs = [(item, rater) for item in items for rater in raters]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))
    scores = draw(st.lists(st.integers(0, 4) | st.none(), min_size=len(chosen), max_size=len(chosen)))
    rows = [(item, rater, score) for (item, rater), score in zip(chosen, scores, strict=True)]
    return pl.DataFrame(rows, schema={"item": pl.Int64, "rater": pl.String, "score": pl.Int64}, orient="row")


SCALE = pv.Scale.range(0, 4)


@given(frames(), st.randoms())
def test_frame_to_ratings_to_frame(frame: pl.DataFrame, random: Any) -> None:
    ratings = pv.Ratings.from_frame(frame, scale=SCALE)
    order = list(range(frame.height))
    random.shuffle(order)
    assert pv.Ratings.from_frame(frame[order], scale=SCALE) == ratings
    assert ratings.to_frame().equals(frame.drop_nulls("score").sort("item", "rater"))
    assert ratings.n_items == frame["item"].n_unique()
    assert ratings.n_raters == frame["rater"].n_unique()
    assert ratings.intake.missing_scores == frame["score"].null_count()
    assert ratings.item_codes.dtype == np.int32
    assert ratings.scores.dtype == np.uint8
    for code in range(ratings.n_items):
        own = slice(ratings.offsets[code], ratings.offsets[code + 1])
        assert (ratings.item_codes[own] == code).all()
    for code, item in enumerate(ratings.items["item"]):
        given_scores = frame.filter(pl.col("item") == item)["score"].to_list()
        assert ratings.counts()[code].tolist() == [given_scores.count(point) for point in range(5)]


@given(frames())
def test_renamed_ids_give_the_same_codes(frame: pl.DataFrame) -> None:
    """Names that keep the order keep the codes; names that reverse it reverse them."""
    ratings = pv.Ratings.from_frame(frame, scale=SCALE)
    up = pv.Ratings.from_frame(frame.with_columns(pl.col("item") * 10 + 1000), scale=SCALE)
    down = pv.Ratings.from_frame(frame.with_columns(-pl.col("item")), scale=SCALE)
    assert np.array_equal(up.item_codes, ratings.item_codes)
    assert np.array_equal(up.rater_codes, ratings.rater_codes)  # type: ignore[arg-type]
    assert np.array_equal(np.sort(ratings.n_items - 1 - down.item_codes), ratings.item_codes)
    assert np.array_equal(down.counts()[::-1], ratings.counts())


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table, pl.DataFrame, lambda d: pl.DataFrame(d).lazy()])
def test_frames_of_all_kinds(make: Any, small: pl.DataFrame) -> None:
    assert pv.Ratings.from_frame(make(small.to_dict(as_series=False))) == pv.Ratings.from_frame(small)
    with pytest.raises(ColumnError, match=r"frame is \[1, 2\]\. Give a frame"):
        pv.Ratings.from_frame([1, 2])


def test_pandas_with_gaps() -> None:
    frame = pd.DataFrame({"item": [1, 1, 2], "rater": pd.Categorical(["b", "a", "a"]), "score": [1.0, None, 3.0]})
    raters = pd.DataFrame({"rater": ["a", "b"], "age": [30.0, None]})
    ratings = pv.Ratings.from_frame(frame, raters=raters)
    assert ratings.to_frame().rows() == [(1, "b", 1), (2, "a", 3)]
    assert ratings.intake.missing_scores == 1
    assert ratings.raters["age"].to_list() == [30.0, None]


def test_attributes_from_columns_and_tables(small: pl.DataFrame) -> None:
    frame = small.with_columns(gender=pl.col("rater").replace({"a": "Woman", "b": "NA"}), topic=pl.lit("x"))
    raters = pl.DataFrame({"rater": ["b", "a", "z"], "age": [40, 20, 99]})
    ratings = pv.Ratings.from_frame(frame, rater_attributes=["gender"], item_attributes=["topic"], raters=raters)
    assert ratings.raters.rows() == [("a", "Woman", 20), ("b", None, 40)]
    assert ratings.items.columns == ["item", "topic"]
    assert ratings.intake.idle_raters == 1
    items = pl.DataFrame({"item": ["3", "1", "2"], "text": ["c", "a", "b"]})  # ids match by their text
    assert pv.Ratings.from_frame(small, items=items).items["text"].to_list() == ["a", "b", "c"]
    assert pv.Ratings.from_frame(small.with_columns(g=None), rater_attributes=["g"]).raters["g"].to_list() == [None] * 2


def test_unknown_raters_are_a_warning_with_a_count(small: pl.DataFrame) -> None:
    with pytest.warns(UnknownIdsWarning, match="raters frame lacks 1 of the 2 raters in frame"):
        ratings = pv.Ratings.from_frame(small, raters=pl.DataFrame({"rater": ["a"], "age": [3]}))
    assert ratings.raters["age"].to_list() == [3, None]
    assert ratings.intake.unknown_raters == 1


@pytest.mark.parametrize(("error", "match", "raters", "options"), [
    (AttributeConflictError, "raters frame, column 'age', rows 1, 3: one rater has more",
     {"rater": ["a", "b", "a"], "age": [1, 2, 3]}, {"conflicts": "error"}),
    (IdError, r"none of its ids \(1, like 'a'\) is among the rater ids .*\(2, like 'a'\)",
     {"rater": ["x"], "age": [3]}, {}),
    (pv.InputError, r"raters frame: it has no rows\. It needs one row per rater", {"rater": [], "age": []}, {}),
    (IdError, "row 2: the rater id is missing", {"rater": ["a", None], "age": [3, 4]}, {}),
    (AttributeConflictError, r"column 'mood', rows 1, 3, 5: one rater has more .* up, down", None,
     {"rater_attributes": ["mood"], "conflicts": "error"}),
    (ColumnError, "column 'age': it is in both the ratings and the table of raters",
     {"rater": ["a", "b"], "age": [1, 1]}, {"rater_attributes": ["age"]}),
    (ColumnError, "there is no column 'moods'; it has item, rater, score", None, {"rater_attributes": ["moods"]}),
])  # fmt: skip
def test_attribute_errors(
    small: pl.DataFrame, error: type[pv.InputError], match: str, raters: Any, options: dict[str, Any]
) -> None:
    frame = small.with_columns(mood=pl.Series(["up", "up", "down", "up", "up"]), age=1)
    with pytest.raises(error, match=match):
        pv.Ratings.from_frame(frame, raters=None if raters is None else pl.DataFrame(raters), **options)


def test_rows_of_a_table_may_repeat(small: pl.DataFrame) -> None:
    same = pl.DataFrame({"rater": ["a", "b", "a"], "age": [1, 2, 1]})
    assert pv.Ratings.from_frame(small, raters=same).raters["age"].to_list() == [1, 2]


def test_where() -> None:
    study = pv.simulate(n_items=30, n_raters=40, missing=0.5, seed=2)
    ratings = study.ratings
    women = ratings.where(raters={"gender": "Woman"}, items={"violation": ["bias", "privacy"]})
    expected = (
        ratings.to_frame()
        .join(ratings.raters.filter(pl.col("gender") == "Woman"), on="rater")
        .join(ratings.items.filter(pl.col("violation").is_in(["bias", "privacy"])), on="item")
    )
    assert women.to_frame().equals(expected.select("item", "rater", "score").sort("item", "rater"))
    assert women.n_raters == expected["rater"].n_unique()
    assert women.n_items == expected["item"].n_unique()
    assert ratings.where() is ratings
    assert ratings.where(raters={"rater": ratings.raters["rater"][3]}).n_raters == 1
    with pytest.raises(SelectionError, match="no rater has gender = 'Women'; the values are: Man"):
        ratings.where(raters={"gender": "Women"})
    with pytest.raises(SelectionError, match="items have no attribute 'topic'; they have: text, violation"):
        ratings.where(items={"topic": "bias"})


def test_where_compares_text_forms(small: pl.DataFrame) -> None:
    raters = pl.DataFrame({"rater": ["a", "b"], "removed": [True, False], "wave": [1.0, 2.0]})
    ratings = pv.Ratings.from_frame(small, raters=raters)
    for wanted in ({"removed": "False"}, {"removed": False}, {"wave": 2}, {"wave": "2"}):
        assert ratings.where(raters=wanted).raters["rater"].to_list() == ["b"]


@pytest.mark.parametrize(("rule", "scores"), [("first", [0, 4, 1]), ("last", [1, 4, 2]), ("mode", [0, 4])])
def test_repeats_by_rule(rule: Any, scores: list[int]) -> None:
    """Item 1 got 0, 0, 1 from rater a; item 2 got 4 once; item 3 got 1 and 2, a tie."""
    frame = pl.DataFrame({"item": [1, 1, 1, 2, 3, 3], "rater": ["a"] * 6, "score": [0, 0, 1, 4, 1, 2]})
    ratings = pv.Ratings.from_frame(frame, scale=SCALE, duplicates=rule)
    assert ratings.to_frame()["score"].to_list() == scores
    assert ratings.intake.repeated_pairs == 2
    assert ratings.intake.tied_repeats == (1 if rule == "mode" else 0)
    assert ratings.n_items == 3


def test_repeats_are_an_error_that_names_them_and_a_missing_score_is_none() -> None:
    frame = pl.DataFrame({"item": [1, 1], "rater": ["a", "a"], "score": [None, 3]})
    assert pv.Ratings.from_frame(frame, scale=SCALE).to_frame()["score"].to_list() == [3]
    frame = pl.DataFrame({"item": [1, 2, 1], "rater": ["a", "a", "a"], "score": [0, 1, 1]})
    with pytest.raises(DuplicateError, match=r"row 1 and row 3 \(item 1\): 1 \(item, rater\) pair is"):
        pv.Ratings.from_frame(frame, scale=SCALE)


def test_immutable(small: pl.DataFrame) -> None:
    ratings = pv.Ratings.from_frame(small)
    with pytest.raises(ValueError, match="read-only"):
        ratings.scores[0] = 1
    with pytest.raises(AttributeError):
        ratings.scale = SCALE  # type: ignore[misc]


@given(frames())
def test_own_parquet_form_loses_nothing(tmp_path_factory: pytest.TempPathFactory, frame: pl.DataFrame) -> None:
    path = tmp_path_factory.mktemp("own") / "ratings.parquet"
    ages = pl.DataFrame({"rater": frame["rater"].unique()}).with_columns(age=pl.lit(30, pl.Int8))
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 4, missing=["?"]), raters=ages)
    pv.write_ratings(ratings, path)
    back = pv.read_ratings(path)
    assert back == ratings
    assert back.intake == ratings.intake
    assert back.raters.schema == ratings.raters.schema


@pytest.mark.parametrize("name", ["r.parquet", "r.PQ", Path("r.pq")])
def test_own_parquet_form_under_its_names(name: str | Path, tmp_path: Path, small: pl.DataFrame) -> None:
    ratings = pv.Ratings.from_frame(small, raters=pl.DataFrame({"rater": ["a", "b"], "age": [20, 60]}))
    pv.write_ratings(ratings, tmp_path / name)
    assert pv.read_ratings(tmp_path / name) == ratings
    (tmp_path / "raters.csv").write_text("rater,age\na,20\n")
    (tmp_path / "plurivox.toml").write_text('[raters]\nfile = "raters.csv"\n')
    done = run_cli("describe", tmp_path / name, "--json")
    assert "already contains the attributes" in done.err
    assert done.json()["n_raters"] == ratings.n_raters


@pytest.mark.parametrize("name", ["x.csv", "x.parquet.gz", "x.xlsx", "x"])
def test_ratings_are_not_written_under_names_of_other_tables(name: str, tmp_path: Path, small: pl.DataFrame) -> None:
    with pytest.raises(FileError) as error:
        pv.write_ratings(pv.Ratings.from_frame(small), tmp_path / name)
    told = "ratings are stored as Parquet, so the name of the file must end in .parquet or .pq."
    other = "For the scores alone, as CSV, use ratings.to_frame().write_csv(...)."
    assert str(error.value) == f"{tmp_path / name}: {told} {other}"
    assert not list(tmp_path.iterdir())


def test_own_parquet_form_of_bins_and_totals(tmp_path: Path, small: pl.DataFrame) -> None:
    raters = pl.DataFrame({"rater": ["a", "b"], "age": [20, 60]})
    binned = pv.Ratings.from_frame(small, raters=raters).with_bins("age", [18, 30])
    pv.write_ratings(binned, tmp_path / "b.parquet")
    assert pv.read_ratings(tmp_path / "b.parquet") == binned
    (tmp_path / "t.csv").write_text("item,0,1\nx,2,3\ny,0,5\n")
    totals = pv.read_ratings(tmp_path / "t.csv", layout="totals")
    pv.write_ratings(totals, tmp_path / "t.parquet")
    assert pv.read_ratings(tmp_path / "t.parquet") == totals
    assert pl.read_parquet(tmp_path / "t.parquet").columns[:3] == ["item", "score", "count"]
    with pytest.raises(pv.InputError, match="already contain their attributes"):
        pv.read_ratings(tmp_path / "b.parquet", raters=raters)


def test_bins() -> None:
    ratings = pv.Ratings.from_frame(
        pl.DataFrame({"item": 1, "rater": range(6), "score": [0, 1, 2, 3, 4, 0]}),
        raters=pl.DataFrame({"rater": range(6), "age": ["17", "18", "29", "30", "50", "prefer not to say"]}),
    )
    assert ratings.with_bins("age", [18, 30, 50]).raters["age"].to_list() == [
        "<18", "18–29", "18–29", "30–49", "50+", None,
    ]  # fmt: skip
    with pytest.raises(pv.InputError, match="increasing edges"):
        ratings.with_bins("age", [30, 18])
    with pytest.raises(pv.InputError, match="2 edges and 1 labels"):
        ratings.with_bins("age", [18, 30], ["young"])


def test_large_scales_use_two_bytes() -> None:
    frame = pl.DataFrame({"item": [1, 2], "rater": [1, 1], "score": [0, 32_766]})
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale(range(32_767)))
    assert ratings.scores.dtype == np.int16
    assert ratings.scores.tolist() == [0, 32_766]
