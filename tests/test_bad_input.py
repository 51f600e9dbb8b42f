"""Every kind of bad input ends in one clear error that names file, column, row and what to do."""

from __future__ import annotations

import gzip
import os
import resource
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import (
    AttributeConflictError,
    ColumnError,
    DuplicateError,
    FileError,
    IdError,
    ScaleError,
    ScoreError,
    UnknownIdsWarning,
)
from support import Write

HEAD = "item,rater,score\n"
GOOD = HEAD + "1,a,3\n2,a,1\n"


def message(error: type[Exception], path: Path | str, **options: Any) -> str:
    with pytest.raises(error) as caught:
        pv.read_ratings(path, **options)
    assert type(caught.value) is error
    return str(caught.value).replace(str(Path(path).parent) + os.sep, "")


def test_missing_column(write: Write) -> None:
    path = write("r.csv", "item,who,what,when\n1,a,3,x\n")
    assert message(ColumnError, path) == (
        "r.csv: cannot tell which column holds the rater and the score; the columns are item, who, what, when. "
        "Name them with --rater --score, or use --wide (one column per rater), --totals (one column per point) or "
        "--questions (a row per respondent)."
    )
    assert message(ColumnError, path, rater="annotator").startswith(
        "r.csv: there is no column 'annotator' for the rater; it has item, who, what, when."
    )
    assert "there is no column 'age'" in message(ColumnError, path, rater_attributes=["age"])


def test_score_off_the_scale(write: Write) -> None:
    path = write("r.csv", GOOD + "3,a,7\n\n4,a,9\n5,a,7\n")
    assert message(ScoreError, path, scale="0:4") == (
        "r.csv, column 'score', rows 4, 6, 7: '7', '9' are not points of the scale 0 < 1 < 2 < 3 < 4. "
        "Extend the scale with --scale, or declare what means no answer with --missing."
    )


def test_repeated_pair(write: Write) -> None:
    path = write("r.csv", GOOD + "1,a,3\n")
    assert message(DuplicateError, path).startswith(
        "r.csv, row 2 and row 4 (item 1): 1 (item, rater) pair is rated more than once. "
    )
    assert len(pv.read_ratings(path, duplicates="first")) == 2
    many = message(DuplicateError, write("r.csv", HEAD + "".join(f"{i},a,1\n{i},a,2\n" for i in range(9))))
    assert "; " in many
    assert "and 6 more: 9 (item, rater) pairs are rated" in many
    with pytest.raises(pv.InputError, match="one of error, first, last, mode"):
        pv.read_ratings(path, duplicates="newest")  # type: ignore[arg-type]


def test_raters_that_the_table_lacks(write: Write) -> None:
    raters = write("raters.csv", "rater,age\nb,20\na,30\nc,40\n")
    path = write("r.csv", GOOD + "1,z,2\n")
    with pytest.warns(UnknownIdsWarning, match=r"raters.csv lacks 1 of the 2 raters in .*r.csv; their attributes"):
        ratings = pv.read_ratings(path, raters=raters)
    assert (ratings.intake.unknown_raters, ratings.intake.idle_raters) == (1, 2)


def test_conflicting_attributes(write: Write) -> None:
    raters = write("raters.csv", "rater,age\na,20\na,30\n")
    with pytest.raises(AttributeConflictError, match=r"raters.csv, column 'age', rows 2, 3: one rater has more"):
        pv.read_ratings(write("r.csv", GOOD), raters=raters, conflicts="error")
    inline = write("r.csv", "item,rater,score,age\n1,a,3,20\n2,a,1,30\n")
    assert message(AttributeConflictError, inline, rater_attributes=["age"], conflicts="error").startswith(
        "r.csv, column 'age', rows 2, 3: one rater has more than one value: 20, 30."
    )


def test_attribute_table_without_the_id(write: Write) -> None:
    raters = write("raters.csv", "name,age\na,20\n")
    with pytest.raises(ColumnError, match=r"raters.csv: there is no column 'rater' with the rater ids; it has name"):
        pv.read_ratings(write("r.csv", GOOD), raters=raters)
    with pytest.raises(FileError, match=r"raters.csv: there is only a header"):
        pv.read_ratings(write("r.csv", GOOD), raters=write("raters.csv", "rater,age\n"))


NO_ROWS = "r.csv: there are no ratings, only a header. A table of ratings has one row for each rating below its header."
LINE = '{"item": 1, "rater": "a", "score": 1}\n'
WIDE, TOTALS = {"layout": "wide"}, {"layout": "totals"}
BAD: list[tuple[type[Exception], str, str | bytes, dict[str, Any], str]] = [
    (ColumnError, "r.csv", "item,rater,item\n1,a,3\n", {}, "r.csv: two columns are named 'item'. Rename one of them."),
    (ColumnError, "r.csv", "item,1,2,3\nx,1,0,4\n", {}, "the columns 1, 2, 3 may be raters or points of a scale. Use"),
    (ScoreError, "r.csv", HEAD + "1,a,yes\n", {"scale": "No,Yes"}, "'yes' is not a point of the scale No < Yes. Did"),
    *((ScoreError, "r.csv", f"{GOOD}3,a,{score}\n", {"scale": "0:4"}, "column 'score', row 4: a score is infinite.")
      for score in ("inf", "-inf", "Infinity")),
    (ScaleError, "r.csv", HEAD + "1,a,Yes\n2,a,No\n", {}, "column 'score': the scores are text and text has no order"),
    (ScaleError, "r.csv", HEAD + "1,a,3\n2,a,3\n", {}, "every score is 3, but a scale needs at least two points"),
    (ScaleError, "r.csv", GOOD, {"scale": "3"}, "at least two points, this one has 1"),
    (ScaleError, "r.csv", GOOD, {"scale": "0:40000"}, "40,001 points, but at most 32,767"),
    (ScoreError, "r.csv", HEAD + "".join(f"{i},a,{i / 7}\n" for i in range(100_001)), {}, "too many for a rating"),
    (pv.InputError, "w.csv", "item,a,b\nx,1,2\nx,2,1\n", WIDE, "rows 2, 3: a wide table has one row per item"),
    (DuplicateError, "t.csv", "item,0,1\nx,1,2\nx,2,1\n", TOTALS, "t.csv, rows 2, 3: item 'x' has more than one row"),
    *((ScoreError, "t.csv", f"item,0,1\nx,1,2\ny,{cell},1\n", TOTALS, f"column '0', row 3: '{cell}' is not a count")
      for cell in ("-1", "1.5", "many", "")),
    (ScaleError, "w.csv", "item,text,a,b\nx,hello,1,2\n", WIDE, "text has no order"),
    (ScoreError, "w.csv", "item,text,a,b\nx,hello,1,2\n", {**WIDE, "scale": "1:2"}, "row 2, column 2"),
    *((FileError, f"r.{end}", "", {}, f"r.{end}: the file is empty. It needs a header and at least one row.")
      for end in ("csv", "csv.gz", "parquet", "jsonl")),
    (FileError, "r.csv.gz", gzip.compress(b""), {}, "the file is empty"),
    *((pv.InputError, "r.csv", content, {}, NO_ROWS) for content in (HEAD, HEAD.strip(), HEAD + "\n\n")),
    (FileError, "r.csv", b"PAR1....PAR1", {}, "should be csv, but it starts like a Parquet file"),
    (FileError, "r.parquet", GOOD, {}, "should be parquet, but it starts like plain text"),
    (FileError, "r.csv", gzip.compress(GOOD.encode(), mtime=0), {}, "says a csv, but it starts like a gzip file"),
    (FileError, "r.csv.gz", GOOD, {}, "says a packed csv, but it starts like plain text"),
    (FileError, "r.csv", b"PK\x03\x04 a spreadsheet", {}, "starts like a zip or Excel file"),
    (FileError, "r.jsonl", GOOD, {}, "the line is not JSON"),
    (FileError, "r.jsonl", '[{"item": 1}]', {}, "it is a single JSON array"),
    (FileError, "r.jsonl", LINE * 2 + '{"item": \n', {}, "r.jsonl, row 3: the line is not JSON"),
    (FileError, "r.jsonl", LINE + "[1]\n", {}, "row 2: the line is not an object"),
    (FileError, "r.csv", GOOD + "3,a\n", {}, "r.csv, row 4: the row has 2 fields, but the header has 3"),
    (FileError, "r.csv", GOOD + "3,a,1,extra\n", {}, "r.csv, row 4: the row has 4 fields, but the header has 3"),
    (FileError, "r.csv", GOOD + "3,a\n4,a,1,1\n", {}, "r.csv, row 4: the row has 2 fields, but the header has 3"),
    (FileError, "r.csv", GOOD + "\n3\n", {}, "r.csv, row 5: the row has 1 field, but the header has 3"),
    (FileError, "r.csv", GOOD + '"3",a\n', {}, "r.csv, row 4: the row has 2 fields, but the header has 3"),
    (FileError, "r.csv", GOOD + '3,"a,1\n', {}, "r.csv, row 4: the row is malformed"),
    *((IdError, "r.csv", f"{GOOD}x{odd}y,a,1\n", {},
       f"r.csv, column 'item', row 4: the item id {f'x{odd}y'!r} holds a control character.")
      for odd in ("\x00", "\x07", "\x1b", "\x7f", "\x85")),
    (IdError, "r.csv", GOOD + "3,,1\n", {}, "r.csv, column 'rater', row 4: the rater id is blank. Fill it in or"),
    (FileError, "r.csv", GOOD.encode("utf-16"), {}, "it is UTF-16, not UTF-8. Use --encoding utf-16."),
    (FileError, "r.csv", GOOD.encode() + "3,é,2\n".encode("latin-1"), {},
     "r.csv, row 4: byte 0xe9 is not UTF-8 text. Save the file as UTF-8, or name its encoding, for example --encoding"),
    (FileError, "r.csv", "itém,rater,score\n1,a,2\n".encode("latin-1"), {}, "row 1: byte 0xe9"),
    (FileError, "r.csv", GOOD, {"encoding": "klingon"}, "'klingon' is not a known encoding"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "name", "content", "options", "told"), BAD, ids=range(len(BAD)))
def test_what_is_wrong_with_a_file(
    write: Write, error: type[Exception], name: str, content: str | bytes, options: dict[str, Any], told: str
) -> None:
    assert told in message(error, write(name, content), **options)


@pytest.mark.parametrize(
    ("values", "error", "told"),
    [
        ({"score": [1.0, float("inf")]}, ScoreError, "row 2: a score is infinite"),
        ({"item": [1, None]}, IdError, "column 'item', row 2: the item id is missing"),
    ],
)
def test_what_is_wrong_with_a_frame(values: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        pv.Ratings.from_frame(pl.DataFrame({"item": [1, 2], "rater": [1, 1], "score": [1, 2], **values}))


def test_short_first_row_and_rows_far_down(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "row 2: the row has 2 fields" in message(FileError, write("r.csv", HEAD + "1,a\n2,a,3\n"))
    monkeypatch.setattr("plurivox.read.text.BLOCK", 64)
    body = "".join(f"{i},a,3\n" for i in range(100))
    assert "row 102: the row has 2 fields" in message(FileError, write("r.csv", HEAD + body + "100,a\n" + body))
    off = write("r.csv", HEAD + '1,"a",3\n' + body.replace("50,a,3", "50,b,77"))
    assert "row 53: '77' is not a point" in message(ScoreError, off, scale="0:4", duplicates="first")


def test_blank_lines_count_as_rows_wherever_they_are(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plurivox.read.text.BLOCK", 16)
    path = write("r.csv", HEAD + "\n\n1,a,3\n\n\n\n2,a,3\n3,a,9\n\n")
    assert "row 9: '9' is not a point" in message(ScoreError, path, scale="0:4")


@pytest.mark.parametrize("blank", [",,", '"","",""', ""])
@pytest.mark.parametrize("block", [16, 1 << 22])
def test_rows_of_delimiters_alone_are_blank_lines(
    write: Write, monkeypatch: pytest.MonkeyPatch, blank: str, block: int
) -> None:
    """Spreadsheets write them for rows that were cleared."""
    monkeypatch.setattr("plurivox.read.text.BLOCK", block)
    path = write("r.csv", HEAD + f"{blank}\n1,a,3\n{blank}\n{blank}\n2,a,3\n3,a,9\n{blank}\n{blank}\n")
    assert len(pv.read_ratings(path)) == 3
    assert "row 7: '9' is not a point" in message(ScoreError, path, scale="0:4")
    answers = write("s.csv", f"Q1,Q2,Q3\n1,2,1\n{blank}\n2,1,1\n{blank}\n")
    assert pv.read_ratings(answers).raters["rater"].to_list() == [2, 4]


def test_directory_and_absent_file(tmp_path: Path, write: Write) -> None:
    assert "it contains no table. Names of tables end in .csv" in message(FileError, tmp_path)
    write("ratings.csv", GOOD)
    assert message(FileError, tmp_path / "rating.csv") == "rating.csv: there is no such file. Did you mean ratings.csv?"
    assert "There is no directory" in message(FileError, tmp_path / "nowhere" / "r.csv")


def test_no_permission(write: Write) -> None:
    path = write("r.csv", GOOD)
    path.chmod(0)
    root = os.geteuid() == 0
    if root:  # root may read everything, so be nobody for a moment
        os.seteuid(65534)
    try:
        assert "no permission to read it. Check its owner and mode." in message(FileError, path)
    finally:
        if root:
            os.seteuid(0)


def test_truncated_and_damaged_files(write: Write, tmp_path: Path) -> None:
    frame = pl.DataFrame({"item": range(1000), "rater": 1, "score": [i % 5 for i in range(1000)]})
    frame.write_parquet(tmp_path / "whole.parquet")
    whole, packed = (tmp_path / "whole.parquet").read_bytes(), gzip.compress(frame.write_csv().encode())
    for content in (whole[:-100], whole[:40]):
        assert "the Parquet data is damaged or cut off" in message(FileError, write("r.parquet", content))
    for content in (packed[:-300], packed[:200] + bytes(100) + packed[300:]):
        assert "the compressed data is damaged or cut off" in message(FileError, write("r.csv.gz", content))


def test_one_enormous_line_stays_within_bounded_memory(tmp_path: Path) -> None:
    """A line of a gigabyte, as sparse zeros and as gzip, is refused without being read whole."""
    script = """
        import resource, sys
        import plurivox as pv
        resource.setrlimit(resource.RLIMIT_DATA, (900 << 20, 900 << 20))
        try:
            pv.read_ratings(sys.argv[1])
        except pv.InputError as error:
            print(error)
        """
    sparse = tmp_path / "line.csv"
    with sparse.open("wb") as file:
        file.write(GOOD.encode())
        file.truncate(1 << 30)
    packed = tmp_path / "line.csv.gz"
    with gzip.open(packed, "wb", compresslevel=1) as out:
        out.write(GOOD.encode())
        for _ in range(64):
            out.write(b"x" * (1 << 20))
    for path in (sparse, packed):
        command = [sys.executable, "-c", textwrap.dedent(script), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "row 4: the row is longer than 16 MiB" in done.stdout, done.stderr
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] != 900 << 20


def test_unclosed_quote_over_a_large_file(write: Write) -> None:
    assert "row is longer than 16 MiB" in message(FileError, write("r.csv", HEAD + '0,"a,3\n' + "1,a,3\n" * 3_000_000))


QUESTIONS = ["Q1", "Q2", "Q3"]


def survey(columns: Sequence[str], **cells: Callable[[int], object]) -> str:
    """Return a table with an id in the first column, and scores from 1 to 5 where nothing else is said."""
    others = list(enumerate(columns[1:]))
    rows = [
        [f"R_{row:03}", *(cells[name](row) if name in cells else (row * 7 + at * 3) % 5 + 1 for at, name in others)]
        for row in range(40)
    ]
    return "\n".join(",".join(map(str, line)) for line in [columns, *rows]) + "\n"


def test_respondents_and_questions_are_not_read_as_items_and_raters(write: Write) -> None:
    people: dict[str, Callable[[int], object]] = {
        "age": lambda row: 18 + row, "gender": lambda row: "Woman" if row % 2 else "Man"
    }  # fmt: skip
    path = write("s.csv", survey(["item_id", *QUESTIONS, "age", "gender"], **people))
    assert message(ColumnError, path) == (
        "s.csv: rows seem to be respondents and columns questions: age and gender hold no scores, unlike Q1, Q2 and "
        "Q3. If rows are respondents, use --questions 'Q1,Q2,Q3'; if rows are items and columns raters, use --wide "
        "--item-attributes age,gender."
    )
    unnamed = write("s.csv", survey(["item", *QUESTIONS]))
    assert "Q1, Q2 and Q3 are named like questions" in message(ColumnError, unnamed)


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        (["respondent", "calm", "happy", "age"], {}),  # a name tells of people
        (["id", "calm", "happy", "years"], {}),  # numbers that are no scores
        (["id", "calm", "happy", "years"], {"scale": "1:5"}),
        (["id", "calm", "happy", "Sex"], {}),  # coded by numbers
    ],
)
def test_attributes_among_questions_are_noticed(write: Write, columns: list[str], options: dict[str, Any]) -> None:
    cells: dict[str, Callable[[int], object]] = {
        "age": lambda row: 18 + row, "years": lambda row: 18 + row, "Sex": lambda row: row % 2 + 1
    }  # fmt: skip
    ratings = pv.read_ratings(write("s.csv", survey(columns, **cells)), **options)
    assert (ratings.intake.layout, ratings.items["item"].to_list()) == ("survey", ["calm", "happy"])
    assert ratings.raters.columns == ["rater", columns[-1]]


def test_texts_of_items_in_a_wide_table_are_told_of(write: Write) -> None:
    path = write("w.csv", survey(["item", "text", "r1", "r2"], text=lambda row: f"text {row}"))
    assert message(ColumnError, path).startswith(
        "w.csv: text holds no scores, unlike r1 and r2. If rows are respondents, use --questions 'r1,r2'; if rows are "
        "items and columns raters, use --wide --item-attributes text."
    )
    assert pv.read_ratings(path, item_attributes=["text"]).n_raters == 2
    path = write("w.csv", survey(["item", "r1", "r2", "r3"], r3=lambda _: 9))  # is told by its place
    assert "row 2, column 4" in message(ScoreError, path, scale="1:5")


@pytest.mark.parametrize(
    ("columns", "cells", "options"),
    [
        (["item", "ann1", "ann2", "ann3"], {}, {}),
        (["id", "Alice", "Bob", "Sexton"], {}, {}),
        (["promptid", "r1", "r2"], {"r1": lambda row: row * 5 % 101, "r2": lambda row: row * 7 % 101}, {}),  # sliders
        (["item", "r1", "r2", "r3"], {"r3": lambda _: 9}, {}),  # one who always says 9
        (["item", "r1", "r2", "r3"], {"r3": lambda row: "" if row % 4 else 2}, {}),
        (["item", "r1", "r2", "r3"], {"r3": lambda row: "skip" if row % 4 else 2}, {"missing": ["skip"]}),
        (["id", *QUESTIONS], {}, {"layout": "wide"}),  # who says so is believed
        (["id", "calm", "happy", "age"], {"age": lambda row: 18 + row}, {"layout": "wide"}),
    ],
)
def test_wide_tables_are_still_read(
    write: Write, columns: list[str], cells: dict[str, Callable[[int], object]], options: dict[str, Any]
) -> None:
    ratings = pv.read_ratings(write("w.csv", survey(columns, **cells)), **options)
    assert (ratings.intake.layout, ratings.raters["rater"].to_list()) == ("wide", sorted(columns[1:]))


def test_what_is_wide_does_not_hang_on_the_order_of_a_set(write: Write) -> None:
    """Text among the cells was overlooked where a number came first in a set."""
    path = write("w.csv", "item,r1,r2\nx,1,2\ny,2,odd\n")
    for seed in ("1", "2", "3"):
        script = "import sys, plurivox as pv\ntry: pv.read_ratings(sys.argv[1])\nexcept pv.InputError as e: print(e)"
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", script, path], capture_output=True, text=True, check=True, env=environment
        )
        assert "the scores are text" in done.stdout
