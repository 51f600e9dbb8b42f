"""Predicted distributions: what is read, and which bad input ends in which error."""

from __future__ import annotations

import gzip
import os
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
from plurivox.base.errors import ColumnError, DuplicateError, FileError, IdError, InputError
from support import Write

SCALE = pv.Scale.range(1, 3)
HEAD = "model,item,1,2,3\n"
GOOD = HEAD + "bert,x,0.5,0.25,0.25\nllm,x,0,0,1\nbert,y,0.125,0.125,0.75\n"
SHARES = [[[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]], [[0, 0, 1], [np.nan] * 3]]
ROWS = {
    "model": ["bert", "llm", "bert"], "item": ["x", "x", "y"], "1": [0.5, 0.0, 0.125], "2": [0.25, 0.0, 0.125],
    "3": [0.25, 1.0, 0.75],
}  # fmt: skip
ONE_TO_FIX = "Give a number from 0 to 1 for every point, or leave the whole row out."


def is_the_example(found: pv.Predictions) -> bool:
    np.testing.assert_array_equal(found.shares, SHARES)
    return (found.models, found.items.to_list(), found.scale) == (("bert", "llm"), ["x", "y"], SCALE)


def message(error: type[Exception], path: Path | str, scale: Any = "1:3", **options: Any) -> str:
    with pytest.raises(error) as caught:
        pv.read_predictions(path, scale, **options)
    assert type(caught.value) is error
    return str(caught.value).replace(str(Path(path).parent) + os.sep, "")


def of_frame(frame: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        pv.Predictions.from_frame(frame, SCALE, **options)
    return str(caught.value)


# What is read --------------------------------------------------------------------------------------------------------
DELIMITED = ["p.csv", "p.tsv", "p.csv.gz", "p.tsv.gz"]


@pytest.mark.parametrize("name", [*DELIMITED, "p.jsonl", "p.jsonl.gz"])
def test_text(write: Write, name: str) -> None:
    text = GOOD.replace(",", "\t") if ".tsv" in name else GOOD if ".csv" in name else pl.DataFrame(ROWS).write_ndjson()
    path = write(name, gzip.compress(text.encode()) if name.endswith("gz") else text)
    found = pv.read_predictions(path, "1:3")
    assert is_the_example(found)
    assert found.source == str(path)
    tabs = write("p.txt", GOOD.replace(",", "\t"))  # a format that the name does not tell
    assert is_the_example(pv.read_predictions(tabs, "1:3", format="tsv"))


def test_parquet_of_either_precision(tmp_path: Path) -> None:
    for dtype in (pl.Float64, pl.Float32):
        pl.DataFrame(ROWS).cast({"1": dtype, "2": dtype, "3": dtype}).write_parquet(tmp_path / "p.parquet")
        assert is_the_example(pv.read_predictions(tmp_path / "p.parquet", [1, 2, 3]))
    thirds = pl.Series([1 / 3], dtype=pl.Float32)
    pl.DataFrame({"item": ["x"], "1": thirds, "2": thirds, "3": thirds}).write_parquet(tmp_path / "p.parquet")
    shares = pv.read_predictions(tmp_path / "p.parquet", "1:3").shares
    np.testing.assert_allclose(shares, 1 / 3, rtol=1e-15)  # sum to 1 again


@pytest.mark.parametrize("frame_of", [
    pl.DataFrame, pd.DataFrame, pa.table, pl.LazyFrame,
    lambda rows: pd.DataFrame(rows).rename(columns={"1": 1, "2": 2, "3": 3}),
    lambda rows: pl.DataFrame(rows).with_columns(
        pl.col("model", "item").cast(pl.Categorical), pl.col("1", "2", "3").cast(pl.Decimal(10, 4))
    ),
])  # fmt: skip
def test_frames_of_any_kind(frame_of: Any) -> None:
    assert is_the_example(pv.Predictions.from_frame(frame_of(ROWS), SCALE))


def test_ids_that_are_numbers_are_text() -> None:
    shares = {"1": [1, 0], "2": [0, 1], "3": [0, 0]}
    whole = pv.Predictions.from_frame(pl.DataFrame({"item": [10, 9], "model": [2, 2], **shares}), SCALE)
    floats = pv.Predictions.from_frame(pl.DataFrame({"item": [10.0, 9.0], "model": [2, 2], **shares}), SCALE)
    assert whole.models == ("2",)
    assert whole.items.to_list() == floats.items.to_list() == ["10", "9"]
    np.testing.assert_array_equal(whole.shares, floats.shares)


def test_without_a_model_the_file_is_the_model(write: Write) -> None:
    text = "item,1,2,3\nx,0.5,0.25,0.25\n"
    assert pv.read_predictions(write("bert.csv", text), "1:3").models == ("bert",)
    assert pv.read_predictions(write("bert.csv.gz", gzip.compress(text.encode())), "1:3").models == ("bert",)
    assert pv.Predictions.from_frame(pl.DataFrame(ROWS).filter(model="bert").drop("model"), SCALE).models == ("model",)


def test_several_files_against_one(tmp_path: Path, write: Write) -> None:
    two, far = "near,b,0.2,0.3,0.5\nmid,d,0.5,0.5,0\nnear,a,1,0,0\n", "b,0,0,1\nc,0,1,0\n"
    whole = write("all.csv", HEAD + two + far.replace("b,", "far,b,").replace("c,", "far,c,"))
    named = write("two.csv", HEAD + two)
    pl.read_csv(write("x.csv", f"item,1,2,3\n{far}")).write_parquet(tmp_path / "far.parquet")
    files = [named, tmp_path / "far.parquet"]
    one, several = pv.read_predictions(whole, "1:3"), pv.read_predictions(files, "1:3")
    assert (several.models, several.items.to_list()) == (one.models, one.items.to_list())
    np.testing.assert_array_equal(several.shares, one.shares)
    assert pv.read_predictions([named], "1:3").models == ("mid", "near")
    with pytest.raises(DuplicateError, match=r"the model 'mid' is in .*all\.csv and in .*two\.csv\. Give each"):
        pv.read_predictions([whole, named], "1:3")
    with pytest.raises(InputError, match=r"source is .*the path of a file, or a list of paths"):
        pv.read_predictions([], "1:3")


def test_the_model_column_under_other_names(write: Write) -> None:
    assert pv.read_predictions(write("p.csv", GOOD.replace("model", "Model")), "1:3").models == ("bert", "llm")
    named = pv.read_predictions(write("p.csv", GOOD.replace("model", "run")), "1:3", model="run")
    assert named.models == ("bert", "llm")
    frame = pl.DataFrame(ROWS).rename({"model": "run", "item": "what"})
    assert is_the_example(pv.Predictions.from_frame(frame, SCALE, model="run", item="what"))


@pytest.mark.parametrize("name", ["Item ID", "comment_id", "id", "itemno"])
def test_the_item_column_under_other_names(write: Write, name: str) -> None:
    assert is_the_example(pv.read_predictions(write("p.csv", GOOD.replace("item", name)), "1:3"))
    assert is_the_example(pv.read_predictions(write("p.csv", GOOD.replace("item", "conv")), "1:3", item="conv"))


@pytest.mark.parametrize("names", [("1", "2", "3"), ("1.0", "2.0", "3.0"), (" 1", "2 ", "+3")])
def test_points_are_named_in_many_ways(write: Write, names: tuple[str, ...]) -> None:
    assert is_the_example(pv.read_predictions(write("p.csv", GOOD.replace("1,2,3", ",".join(names))), "1:3"))
    scale = pv.Scale(["No", "Not sure", "Yes"])
    found = pv.read_predictions(write("p.csv", GOOD.replace("1,2,3", "No,Not sure,Yes")), scale)
    np.testing.assert_array_equal(found.shares, SHARES)
    assert found.scale is scale


def test_columns_in_another_order_and_others_are_no_matter(write: Write) -> None:
    others = {"note": "=evil()", "4": 7, "NA": None, "1.5": -3.0}
    frame = pl.DataFrame(ROWS).select("3", "item", "1", "model", "2")
    frame = frame.with_columns(pl.lit(value).alias(name) for name, value in others.items())
    assert is_the_example(pv.Predictions.from_frame(frame, SCALE))
    assert is_the_example(pv.read_predictions(write("p.csv", frame.write_csv()), "1:3"))


@given(st.permutations(range(3)))
def test_the_order_of_rows_is_no_matter(order: list[int]) -> None:
    assert is_the_example(pv.Predictions.from_frame(pl.DataFrame(ROWS)[order], SCALE))


def test_a_model_may_lack_items() -> None:
    found = pv.Predictions.from_frame(pl.DataFrame(ROWS), SCALE)
    assert np.isnan(found.shares[1, 1]).all()
    assert repr(found) == "<Predictions: 2 models, 2 items, on 1 < 2 < 3>"
    assert not found.shares.flags.writeable


def test_two_points_and_101() -> None:
    for n in (2, 101):
        frame = pl.DataFrame({"item": ["x"], **{str(point): [1 / n] for point in range(n)}})
        found = pv.Predictions.from_frame(frame, pv.Scale.range(0, n - 1))
        np.testing.assert_allclose(found.shares, 1 / n)


@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=3).filter(any), st.floats(-9e-7, 9e-7))
def test_a_sum_that_is_almost_1_becomes_1(weights: list[int], off: float) -> None:
    q = np.array(weights) / sum(weights)
    frame = pl.DataFrame({"item": ["x"], **{str(point): [value * (1 + off)] for point, value in enumerate(q, start=1)}})
    shares = pv.Predictions.from_frame(frame, SCALE).shares
    assert shares.sum() == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(shares[0, 0], q, rtol=1e-14)


def test_minus_zero_is_zero_and_numbers_may_have_blanks_around_them(write: Write) -> None:
    path = write("p.csv", HEAD + "a,x,-0.0,1,0\na,y, 0.5, 0.25 ,0.25 \n")
    assert pv.read_predictions(path, "1:3").shares[0].tolist() == [[0, 1, 0], [0.5, 0.25, 0.25]]


def test_names_are_only_names(write: Write) -> None:
    """Formulas, markup and odd letters in ids are kept as they are."""
    names = ["=HYPERLINK(1)", "[red]x[/]", "<script>", "名前", "a'b", "NA", "nan", "x" * 500]
    rows = pl.DataFrame({"model": names, "item": names, "1": 1.0, "2": 0.0, "3": 0.0})
    path = write("p.csv", rows.write_csv())
    for found in (pv.Predictions.from_frame(rows, SCALE), pv.read_predictions(path, SCALE)):
        assert set(found.models) == set(found.items) == set(names)


# Bad input -----------------------------------------------------------------------------------------------------------
MISSING = f"a probability is missing. {ONE_TO_FIX}"
SUMS = "Give probabilities with enough digits, or divide those of each item by their sum."


def many(row: str, n: int) -> str:
    return HEAD + "".join(row.format(i=i, odd="x" if i % 2 else 0) + "\n" for i in range(n))


@pytest.mark.parametrize(("content", "error", "said"), [
    ("model,item,1,2\na,x,0.5,0.5\n", ColumnError,
     "there is no column for the point 3; it has model, item, 1, 2. Give one column of probabilities for each point of "
     "1 < 2 < 3, named like the point."),
    ("model,item,1,1.0,2,3\na,x,1,1,0,0\n", ColumnError, "the columns 1 and 1.0 name the same point. "),
    ("model,item,1,1,2,3\na,x,1,1,0,0\n", ColumnError, "two columns are named '1'. Rename one of them."),
    ("model,what,1,2,3\na,x,1,0,0\n", ColumnError, "there is no column 'item' with the item ids; it has "),
    *((GOOD + f"llm,y,0.5,{no},0.5\n", InputError, f"column '2', row 5: {MISSING}") for no in ("", " ", "NaN", "nan")),
    *((GOOD + f"llm,y,{cell},0.5,0.5\n", InputError, f"column '1', row 5: the probability {cell} is {no}. {ONE_TO_FIX}")
      for cell, no in (
          ("half", "not a number"), ("50%", "not a number"), ("-0.5", "negative"), ("inf", "not a finite number"),
          ("-inf", "not a finite number"), ("1e400", "not a finite number"))),
    ("model;item;1;2;3\na;x;0,5;0,25;0,25\n", InputError, "column '1', row 2: the probability 0,5 is not a number"),
    *((GOOD + f"llm,y,0.25,0.25,{off}\n", InputError, f"row 5: the probabilities sum to {shown}, not to 1. {SUMS}")
      for off, shown in (("0.50001", "1.00001"), ("0.49999", "0.99999"), ("0.500002", "1.000002"))),
    *((f"{HEAD}a,x,{row}\n", InputError, "row 2: the probabilities sum to ")
      for row in ("0,0,0", "1,1,1", "50,25,25", "1e300,1,1", "1e308,1e308,0")),
    (GOOD + "\nbert,y,1,0,0\n", DuplicateError,
     "rows 4, 6: bert predicts item y more than once. Keep one row per model and item."),
    *((GOOD + f"{gap},z,1,0,0\n", IdError, "column 'model', row 5: the model is missing. ") for gap in ("", "   ")),
    *((GOOD + f"bert,{gap},1,0,0\n", IdError, "column 'item', row 5: the item is missing. ") for gap in ("", "   ")),
    *((text, InputError, "there are no predictions. Give one row per model and item.")
      for text in (HEAD, HEAD.strip(), HEAD + "\n\n")),
    (GOOD + "a,x,1\n", FileError, "row 5: the row has 3 fields, but the header has 5"),
    (many("a,{i},0.5,0.5,0.5", 1200), InputError,
     "rows 2, 3, 4, 5, 6 and 1,195 more: the probabilities sum to 1.5, not to 1. "),
    (many("a,{i},0.5,0.5,{odd}", 14), InputError,
     "column '3', rows 3, 5, 7, 9, 11 and 2 more: the probability x is not a number. "),
    (many("a,{i},1,0,0", 4) + many("a,{i},1,0,0", 4).removeprefix(HEAD), DuplicateError,
     "rows 2, 3, 4, 5, 6 and 3 more: a predicts item 0 more than once. "),
    (HEAD + "a,,1,0,0\n" * 6, IdError, "column 'item', rows 2, 3, 4, 5, 6 and 1 more: "),
    (HEAD + "\n\na,x,1,0,0\n\na,y,1,1,0\n", InputError, "row 6: the probabilities sum to 2"),  # blank lines count
])  # fmt: skip
def test_what_cannot_be_read_is_said_with_its_place(write: Write, content: str, error: Any, said: str) -> None:
    told = message(error, write("p.csv", content)).removeprefix("p.csv").lstrip(":, ")
    assert told == said if said.endswith(".") else told.startswith(said) and len(told) > len(said)


def test_points_and_columns_that_are_not_there(write: Write) -> None:
    lacking = message(ColumnError, write("p.csv", "model,item,1\na,x,1\n"), "0:100")
    assert "for the point 0, 2, 3, 4, 5, 6, 7, 8 …; it has model, item, 1." in lacking
    text = message(ColumnError, write("p.csv", "model,item,no,yes\na,x,0.5,0.5\n"), "No,Yes")
    assert "there is no column for the point No, Yes; it has model, item, no, yes" in text
    assert "there is no column 'item'" in of_frame(pl.DataFrame(ROWS).drop("item"))
    assert "p.csv: there is no column 'run'; it has model" in message(ColumnError, write("p.csv", GOOD), model="run")


@pytest.mark.parametrize("value", [None, float("nan")])
@pytest.mark.parametrize("frame_of", [pl.DataFrame, pd.DataFrame])
def test_a_gap_in_a_frame(frame_of: Any, value: float | None) -> None:
    frame = frame_of({**ROWS, "2": [0.25, value, 0.125]})
    assert of_frame(frame) == f"predictions, column '2', row 2: a probability is missing. {ONE_TO_FIX}"


def test_other_cells_of_frames_and_files(write: Write, tmp_path: Path) -> None:
    text = of_frame(pl.DataFrame({**ROWS, "2": [0.25, float("inf"), 0.125]}), source="table of mine")
    assert text.startswith("table of mine, column '2', row 2: the probability inf is not a finite number.")
    assert "column '2'" in of_frame(pl.DataFrame({**ROWS, "2": [[0.25], [0.0], [0.125]]}))
    lines = '{"model": "a", "item": 1, "1": 1, "2": 0, "3": 0}\n{"model": "a", "item": 2, "1": 1, "2": null}\n'
    assert message(InputError, write("p.jsonl", lines)) == f"p.jsonl, column '2', row 2: {MISSING}"
    pl.DataFrame({**ROWS, "3": [0.25, 1.0, None]}).write_parquet(tmp_path / "p.parquet")
    assert "p.parquet, column '3', row 3: a probability is missing" in message(InputError, tmp_path / "p.parquet")
    twice = pl.DataFrame(ROWS).drop("model")
    assert of_frame(twice).startswith("predictions, rows 1, 2: model predicts item x more than once.")
    none = "predictions: there are no predictions. Give one row per model and item."
    assert of_frame(pl.DataFrame(ROWS).clear()) == none


def test_a_sum_within_the_tolerance(write: Write) -> None:
    found = pv.read_predictions(write("p.csv", HEAD + "a,x,0.5,0.25,0.2500001\na,y,0.5,0.25,0.2499999\n"), "1:3")
    assert found.shares.sum(axis=2) == pytest.approx(np.ones((1, 2)), abs=1e-15)


@pytest.mark.parametrize("ids", [[None, "x", "y"], [None, 1, 2], [None, 1.0, 2.0], [float("nan"), 1.0, 2.0]])
@pytest.mark.parametrize("frame_of", [pl.DataFrame, pd.DataFrame])
def test_an_id_left_out_of_a_frame(frame_of: Any, ids: list[Any]) -> None:
    assert "column 'item', row 1: the item is missing" in of_frame(frame_of({**ROWS, "item": ids}))


@pytest.mark.parametrize("odd", ["\x1b[31m", "\x07", "\n", "\x7f", "\x85"])
@pytest.mark.parametrize("role", ["model", "item"])
def test_control_characters_in_names(write: Write, role: str, odd: str) -> None:
    """They would reach the terminal, and break an error into lines; ratings refuse them as well."""
    row = f'"a{odd}b",x,1,0,0\n' if role == "model" else f'bert,"a{odd}b",1,0,0\n'
    assert "holds a control character" in message(IdError, write("p.csv", HEAD + row))


def test_an_empty_file(write: Write) -> None:
    for name in ("p.csv", "p.jsonl", "p.parquet"):
        assert message(FileError, write(name, "")).startswith(f"{name}: the file is empty.")


def test_no_frame_and_no_file(tmp_path: Path, write: Write) -> None:
    assert "frame is a dict. Give a frame" in of_frame(ROWS)
    write("predictions.csv", GOOD)
    said = "prediction.csv: there is no such file. Did you mean predictions.csv?"
    assert message(FileError, tmp_path / "prediction.csv") == said


def test_other_encodings(write: Write) -> None:
    latin = write("p.csv", (GOOD + "bért,x,1,0,0\n").encode("latin-1"))
    assert "p.csv, row 5: byte 0xe9 is not UTF-8 text" in message(FileError, latin)
    assert "bért" in pv.read_predictions(latin, "1:3", encoding="latin-1").models


def test_ratings_for_predictions(write: Write, tmp_path: Path, small: pl.DataFrame) -> None:
    text = message(ColumnError, write("p.csv", small.write_csv()))
    assert "there is no column for the point 1, 2, 3; it has item, rater, score" in text
    pv.write_ratings(pv.Ratings.from_frame(small), tmp_path / "r.parquet")
    assert "it holds ratings" in message(FileError, tmp_path / "r.parquet")


def test_hostile_names_in_messages_stay_on_one_line(write: Write) -> None:
    name = "x" * 10_000
    text = message(DuplicateError, write("p.csv", HEAD + f"{name},=1+1,1,0,0\n" * 2))
    assert "\n" not in text
    assert "predicts item =1+1 more than once" in text


def test_the_scale_has_to_be_one(write: Write) -> None:
    with pytest.raises(pv.errors.ScaleError, match="at least two points"):
        pv.read_predictions(write("p.csv", GOOD), "1")
