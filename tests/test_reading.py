from __future__ import annotations

import gzip
import io
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plurivox as pv
from plurivox.base.errors import InputError
from plurivox.read import text
from support import Write

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CSV = "item_id,rater_id,rating\n10,a,3\n9,a,1\n9,b,5\n"


def as_parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


CONTENTS: dict[str, Callable[[pl.DataFrame], bytes]] = {
    "ratings.csv": lambda frame: frame.write_csv().encode(),
    "ratings.tsv": lambda frame: frame.write_csv(separator="\t").encode(),
    "ratings.jsonl": lambda frame: frame.write_ndjson().encode(),
    "ratings.parquet": as_parquet,
}
PACKERS: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zstd.compress}


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("name", CONTENTS)
def test_every_format_gives_the_same_ratings(write: Write, name: str, packing: str) -> None:
    frame = pl.read_csv(CSV.encode())
    path = write(name + packing, PACKERS[packing](CONTENTS[name](frame)))
    ratings = pv.read_ratings(path)
    assert ratings.to_frame().rows() == [(9, "a", 1), (9, "b", 5), (10, "a", 3)]
    assert ratings.intake.columns == {"item": "item_id", "rater": "rater_id", "score": "rating"}
    assert ratings.intake.scale_inferred


@pytest.mark.parametrize("content", [
    CSV.encode(), CSV.replace(",", "\t").encode(), gzip.compress(CSV.encode(), mtime=0),
    as_parquet(pl.read_csv(CSV.encode())), pl.read_csv(CSV.encode()).write_ndjson().encode(),
])  # fmt: skip
def test_standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
    assert len(pv.read_ratings("-")) == 3


@pytest.mark.parametrize("content", [
    "\ufeff" + CSV, CSV.replace("\n", "\r\n"), CSV.replace("\n", "\r"), CSV.rstrip("\n"), CSV + "\n\n",
    CSV.replace("9,a", "\n9,a"), CSV.replace(",", ";"), CSV.replace(",", "|"),
    CSV.replace("rating", '"rating"').replace("10,a", '"10","a"'), CSV.replace("3", " 3").replace("5", "5.0"),
])  # fmt: skip
def test_small_irregularities_are_accepted(write: Write, content: str) -> None:
    assert pv.read_ratings(write("ratings.csv", content)) == pv.read_ratings(write("plain.csv", CSV))


def test_ids_keep_their_identity(write: Write) -> None:
    ratings = pv.read_ratings(write("r.csv", "item,rater,score\n007,1,1\n7,1,2\n7.0,1,3\n"))
    assert ratings.items["item"].to_list() == ["007", "7", "7.0"]
    assert ratings.raters["rater"].to_list() == [1]


CELL = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12).filter(
    lambda cell: cell.strip() == cell
)


@given(st.lists(st.tuples(CELL, CELL, st.integers(0, 9)), min_size=1, max_size=30, unique_by=lambda row: row[:2]),
       st.sampled_from([7, 16, 1000]))  # fmt: skip
def test_any_text_survives_any_block_size(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int]], block: int
) -> None:
    """Quoted, with line ends inside, cut anywhere: the ids come back as they were."""
    rows = [(item + '\n,"' if i % 3 == 0 else item, rater, score) for i, (item, rater, score) in enumerate(rows)]
    frame = pl.DataFrame(rows, schema=["note", "rater", "score"], orient="row").with_row_index("item")
    path = tmp_path_factory.mktemp("text") / "r.csv"
    frame.write_csv(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK", block)
        read = pv.read_ratings(path, scale="0:9", item_attributes=["note"], duplicates="first")
    assert read.items["note"].to_list() == [clean(note) for note in frame["note"]]
    by_item = dict(zip(frame["item"], frame["rater"], strict=True))
    assert all(by_item[item] == str(rater) for item, rater, _ in read.to_frame().iter_rows())


def clean(note: str) -> str | None:
    return None if note.strip().lower() in ("na", "n/a", "nan", "null") else note


def test_wide(write: Write) -> None:
    content = "item,ann1,ann2,ann3\nx,0,1,\ny,2,NA,2\n"
    for layout in (None, "wide"):
        ratings = pv.read_ratings(write("w.csv", content), layout=layout)
        assert ratings.to_frame().rows() == [("x", "ann1", 0), ("x", "ann2", 1), ("y", "ann1", 2), ("y", "ann3", 2)]
        assert ratings.intake.missing_scores == 2
        assert ratings.intake.layout == "wide"
    raters = pl.DataFrame({"rater": ["ann3", "ann1", "ann2"], "age": [3, 1, 2]})
    assert pv.read_ratings(write("w.csv", content), raters=raters).raters["age"].to_list() == [1, 2, 3]
    assert len(pv.read_ratings(write("w.csv", "item,a,b\nx,No,Yes\n"), scale="No,Yes")) == 2
    with_text = pv.read_ratings(write("w.csv", "item,text,a,b\nx,hello,1,2\n"), item_attributes=["text"])
    assert with_text.items["text"].to_list() == ["hello"]


def test_totals_stay_counts(write: Write) -> None:
    content = "item,topic,No,Unsure,Yes\nx,t,3,0,1000000000\ny,u,0,0,0\n"
    ratings = pv.read_ratings(write("t.csv", content), scale="No,Unsure,Yes", item_attributes=["topic"])
    assert not ratings.has_raters
    assert ratings.n_raters == 0
    assert len(ratings) == 1_000_000_003
    assert ratings.counts().tolist() == [[3, 0, 1_000_000_000], [0, 0, 0]]
    assert len(ratings.scores) == 2  # entries, not invented raters
    assert not ratings.crossed
    assert ratings.where(items={"topic": "t"}).n_items == 1
    with pytest.raises(pv.PlurivoxError, match="needs to know who rated"):
        _ = ratings.codes_of_raters
    as_numbers = pv.read_ratings(write("n.csv", "item,1,2,3\nx,3,0,9\n"), layout="totals")
    assert as_numbers.scale == pv.Scale.range(1, 3)


def test_sqlite_and_duckdb() -> None:
    duckdb: Any = pytest.importorskip("duckdb", reason="needs pip install 'plurivox[duckdb]'")
    rows = [("007", "a", 3), ("7", "a", 1), ("7", "b", None)]
    lite = sqlite3.connect(":memory:")
    lite.execute("create table r (item text, rater text, score integer)")
    lite.executemany("insert into r values (?, ?, ?)", rows)
    duck = duckdb.connect()
    duck.execute("create table r (item text, rater text, score integer)")
    duck.executemany("insert into r values (?, ?, ?)", rows)
    for connection in (lite, duck):
        ratings = pv.read_ratings("select * from r order by random()", connection=connection, scale="0:4")
        assert ratings.to_frame().rows() == [("007", "a", 3), ("7", "a", 1)]
        assert ratings.intake.missing_scores == 1
        with pytest.raises(pv.InputError, match="the query failed"):
            pv.read_ratings("select * from nowhere", connection=connection)
    lite.close()
    duck.close()


def test_attribute_files(write: Write) -> None:
    raters = write("raters.jsonl", '{"rater_id": "b", "age": 30}\n{"rater_id": "a", "age": null}\n')
    items = write("items.csv", "id,topic\n9,x\n10,y\n11,z\n")
    ratings = pv.read_ratings(write("r.csv", CSV), raters=raters, items=items)
    assert ratings.raters.rows() == [("a", None), ("b", "30")]
    assert ratings.items.rows() == [(9, "x"), (10, "y")]
    assert ratings.intake.idle_items == 1


def test_scales_in_all_forms(write: Write) -> None:
    path = write("r.csv", CSV)
    for scale in ("1:5", "1,2,3,4,5", [1, 2, 3, 4, 5], pv.Scale.range(1, 5)):
        ratings = pv.read_ratings(path, scale=scale)
        assert ratings.scale == pv.Scale.range(1, 5)
        assert not ratings.intake.scale_inferred


def test_missing_answers_can_be_declared(write: Write) -> None:
    path = write("r.csv", "item,rater,score\n1,a,3\n1,b,skip\n1,c,0\n")
    ratings = pv.read_ratings(path, missing=["skip"])
    assert ratings.intake.missing_scores == 1
    assert ratings.scale.labels == (0, 1, 2, 3)
    assert ratings.n_raters == 3


def test_encodings(write: Write) -> None:
    content = "item,rater,score\ncafé,a,1\nnaïve,a,2\n"
    for encoding in ("latin-1", "utf-16"):
        ratings = pv.read_ratings(write("r.csv", content.encode(encoding)), encoding=encoding)
        assert ratings.items["item"].to_list() == ["café", "naïve"]


@pytest.mark.parametrize("irregular", ["", "\n\n", '"7","r0001",3,0,""\n'])
def test_many_blocks_against_the_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, irregular: str) -> None:
    rng = np.random.default_rng(0)
    cells = rng.permutation(200 * 300)[:20_000]
    cells = cells[cells != 7 * 300 + 1]
    frame = pl.DataFrame({"item": cells // 300, "rater": [f"r{c % 300:04d}" for c in cells], "score": cells % 5})
    frame = frame.with_columns(topic=pl.col("item") % 7, note=pl.lit("an unused column"))
    path = tmp_path / "r.csv"
    path.write_text(frame.write_csv() + irregular)
    monkeypatch.setattr(text, "BLOCK", 1 << 14)
    ratings = pv.read_ratings(path, item_attributes=["topic"])
    if '"' in irregular:
        row = pl.DataFrame({"item": 7, "rater": "r0001", "score": 3, "topic": 0, "note": ""})
        frame = pl.concat([frame, row.cast(frame.schema)])
    assert ratings == pv.Ratings.from_frame(frame, item_attributes=["topic"])
    assert ratings.items["topic"].to_list() == [item % 7 for item in ratings.items["item"]]


@pytest.mark.parametrize(("header", "roles"), [
    ("item,rater,score", ("item", "rater", "score")), ("Score,Item ID,Annotator", ("Item ID", "Annotator", "Score")),
    ("worker_id,conv_id,Q_overall", ("conv_id", "worker_id", "Q_overall")),
    ("user_id,id,label,rater_id", ("id", "rater_id", "label")),
])  # fmt: skip
def test_recognised_columns(write: Write, header: str, roles: tuple[str, str, str]) -> None:
    names = header.split(",")
    cells: dict[str, Any] = dict.fromkeys(names, "1") | {roles[0]: "i", roles[1]: "j", roles[2]: "2"}
    row = ",".join(cells[name] for name in names)
    ratings = pv.read_ratings(write("r.csv", f"{header}\n{row}\n"), scale="1:5")
    assert tuple(ratings.intake.columns.values()) == roles


def test_the_line_by_which_excel_knows_the_delimiter(write: Write) -> None:
    path = write("excel.csv", "sep=;\nitem;rater;score\nx;a;1\nx;b;2\ny;a;3\n")
    assert pv.read_ratings(path).to_frame().rows() == [("x", "a", 1), ("x", "b", 2), ("y", "a", 3)]
    path = write("broken.csv", "SEP=;\nitem;rater;score\nx;a;1\nx;b\n")
    with pytest.raises(InputError, match="row 4: the row has 2 fields, but the header has 3"):
        pv.read_ratings(path)
