"""Workbooks, databases, Arrow files, folders and archives, against what was written into them by hand."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plurivox as pv
from exports import archives, arrow, databases, excel
from exports.archives import ONE, archive
from exports.excel import HEADER, Error, sheet, workbook
from plurivox.base.errors import ColumnError, FileError, MissingExtraError, PlurivoxError
from plurivox.base.files import one_call, will_write
from plurivox.config import find_config
from plurivox.domain.raw import MEMBER
from plurivox.read.members import Archive
from plurivox.read.opening import split_name
from plurivox.read.tables import open_table, sizes
from support import Write, run_cli

duckdb: Any = pytest.importorskip("duckdb", reason="needs pip install 'plurivox[duckdb]'")

STUDY = workbook({
    "Ratings": sheet([HEADER, *([f"q{i}", r, (i + r) % 4] for i in range(6) for r in range(5))]),
    "Raters": sheet([["rater", "group"], *([r, "ab"[r % 2]] for r in range(5))]),
    "Items": sheet([["item", "topic"], *([f"q{i}", "xy"[i % 2]] for i in range(6))]),
    "GPT 4": sheet([["item", 0, 1, 2, 3], *([f"q{i}", 0.25, 0.25, 0.25, 0.25] for i in range(6))]),
    "Answers": sheet([["item", "model", "answer"], *([f"q{i}", "m", i % 4] for i in range(6))]),
})  # fmt: skip
MEMORY = 1 << 20  # KiB


@pytest.fixture
def study(write: Write) -> Path:
    return write("study.xlsx", STUDY)


def message(source: Any, **given: Any) -> str:
    with pytest.raises(pv.InputError) as raised:
        pv.read_ratings(source, **given)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def frame_in(source: Any) -> pl.DataFrame:
    with open_table(source) as table:
        assert not isinstance(table, pv.Ratings)
        return table.frame()


# FILE::NAME -----------------------------------------------------------------------------------------------------------
def test_a_name_is_split_where_a_file_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert split_name("a.xlsx::B") == ("a.xlsx", "B")
    assert split_name("a.zip::b.xlsx::C") == ("a.zip", "b.xlsx::C")
    assert split_name("::B") == ("::B", None)
    assert split_name("a.xlsx::") == ("a.xlsx::", None)
    Path("x::y").write_text("")
    assert split_name("x::y") == ("x::y", None)
    assert split_name("x::y::z") == ("x::y", "z")


def test_every_table_of_a_study_may_be_a_sheet_of_one_workbook(study: Path) -> None:
    ratings = pv.read_ratings(f"{study}::Ratings", raters=f"{study}::Raters", items=f"{study}::Items")
    assert (len(ratings), ratings.n_items, ratings.n_raters) == (30, 6, 5)
    assert ratings.raters["group"].to_list() == ["a", "b", "a", "b", "a"]
    assert ratings.items["topic"].to_list() == ["x", "y"] * 3
    predictions = pv.read_predictions(f"{study}::GPT 4", "0:3", like=ratings)
    assert list(predictions.models) == ["GPT 4"]
    assert len(pv.read_answers(f"{study}::Answers", "0:3").point) == 6
    given = ("--raters", f"{study}::Raters", "--by", "group", "--reference", f"{study}::Ratings")
    reference = run_cli("responsiveness", f"{study}::Ratings", *given, "--min-group-size", 1, "--permutations", 99)
    assert f"{study}::Ratings: reference" in reference.words
    first = pv.read_ratings(study)  # the first sheet is read, and that is said
    (remark,) = first.intake.remarks
    assert "of the sheets Ratings, Raters, Items, GPT 4, Answers, only 'Ratings' is read" in remark
    assert "::Raters reads another" in run_cli("describe", study).words
    assert (len(first), pv.read_ratings(f"{study}::ratings").intake.remarks) == (30, [])
    packed = study.with_name("p.zip")
    packed.write_bytes(archive({"study.xlsx": STUDY}))  # of a workbook in an archive, too
    assert len(pv.read_ratings(f"{packed}::study.xlsx::Ratings")) == len(pv.read_ratings(packed)) == 30


MANY = {f"{at}.csv": "" for at in range(10_001)}


def claiming_gigabytes() -> bytes:
    data = bytearray(archive({"a.csv": ONE}))
    end = data.rfind(b"PK\x05\x06")
    data[end + 12 : end + 16] = (1 << 31).to_bytes(4, "little")
    return bytes(data)


@pytest.mark.parametrize(
    ("name", "content", "part", "told"),
    [
        ("study.xlsx", lambda: STUDY, "::Rater", "there is no sheet 'Rater'; it has Ratings, Raters, Items"),
        ("study.xls", lambda: None, "::Ratings", "study.xls: there is no such file. Did you mean study.xlsx?"),
        ("a.csv", lambda: ONE.encode(), "::x", "it is a single table and contains no 'x'"),
        ("many.zip", lambda: archive(MANY), "", "it contains 10,001 files, but at most 10,000 can be read"),
        ("a.zip", claiming_gigabytes, "", "the ZIP is damaged or cut off"),
        ("p.zip", lambda: archive(archives.PARTS), "::part3", "it contains no file 'part3'"),
        ("o.zip", lambda: archive({"ratings.json": '[{"item": 1, "rater": 2, "score": 3}]',
                                   "raters.json": '[{"rater": 2, "age": 3, "job": "x", "town": "y", "group": "z"}]'}),
         "", "2 tables with different columns"),
    ],
)  # fmt: skip
def test_what_is_not_there_or_cannot_be_read(study: Path, name: str, content: Any, part: str, told: str) -> None:
    path = study.with_name(name)
    if content() is not None:
        path.write_bytes(content())
    assert told in message(f"{path}{part}")


def test_settings_beside_the_workbook_are_found(study: Path) -> None:
    assert find_config(f"{study}::Ratings") is None
    config = study.with_name("plurivox.toml")
    config.write_text('[raters]\nfile = "study.xlsx::Raters"\n')
    assert find_config(f"{study}::Ratings") == find_config(study.parent) == config
    assert "group" in run_cli("describe", f"{study}::Ratings").words


def test_a_workbook_that_is_read_is_not_written_over(study: Path) -> None:
    with one_call():
        pv.read_ratings(f"{study}::Ratings")
        with pytest.raises(FileError, match="this file is an input and would be overwritten"):
            will_write(study)
    folder = study.parent / "folder"
    folder.mkdir()
    (folder / "a.csv").write_text(ONE + "b,1,2\n")
    with one_call():
        pv.read_ratings(folder)
        with pytest.raises(FileError, match="would be overwritten"):
            will_write(folder / "a.csv")


# Excel ----------------------------------------------------------------------------------------------------------------
def test_cells_are_what_the_spreadsheet_shows(write: Write) -> None:
    rows: list[list[Any]] = [["a", "b", "c", 2019], ["007", 7.0, 0.5, True], [" x ", 1e15, -3, Error("#N/A")],
            [Error("#REF!"), None, "", "=1+1"]]  # fmt: skip
    found = frame_in(write("s.xlsx", workbook({"S": sheet(rows)})))
    assert found.columns == ["a", "b", "c", "2019"]
    assert found.rows() == [
        ("007", "7", "0.5", "True"), (" x ", "1000000000000000", "-3", None), ("#REF!", None, None, "=1+1"),
    ]  # fmt: skip


def test_rows_have_the_numbers_of_the_spreadsheet(write: Write) -> None:
    rows = [[], ["Title"], [], HEADER, ["a", 1, 1], [], [], ["b", 1, 2], ["c", "", 2]]
    assert ", row 9: the rater id is missing" in message(write("s.xlsx", workbook({"S": sheet(rows)})))


def test_titles_and_columns_without_a_name_are_told_of(write: Write) -> None:
    rows = [["Title"], ["Subtitle"], ["", *HEADER, ""], [0, "a", 1, 1, ""], [1, "b", 1, 2, ""]]
    path = write("s.xlsx", workbook({"S": sheet(rows)}))
    ratings = pv.read_ratings(path)
    assert len(ratings) == 2
    assert [remark.split(": ", 1)[1] for remark in ratings.intake.remarks] == [
        "rows 1 to 2 are skipped, as a title above the header in row 3.",
        "columns without a name are named by their letters: column A.",
    ]
    assert frame_in(path).columns == ["column A", *HEADER]


def test_texts_that_cells_share_and_cells_without_a_place(write: Write) -> None:
    """As other programs write them: with prefixes, without references, and texts of several runs."""
    shared = "<sst><si><t>item</t></si><si><r><t>ra</t></r><r><t>ter</t></r></si><si><t>score</t></si><si/></sst>"
    content = (
        "<sheetData><row>" + "".join(f'<c t="s"><v>{at}</v></c>' for at in range(3)) + "</row>"
        "<row><c><v>1</v></c><c><v>2</v></c><c><v>3</v></c></row><row><c><v>2</v></c><c><v>2</v></c><c><v>4</v></c></row>"
        "</sheetData>"
    )
    related = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    rels = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{related}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="rId2" Type="{related}/sharedStrings" Target="sharedStrings.xml"/></Relationships>'
    )
    more = {"xl/sharedStrings.xml": shared, "xl/_rels/workbook.xml.rels": rels}
    assert frame_in(write("s.xlsx", workbook({"S": content}, more))).to_dict(as_series=False) == {
        "item": ["1", "2"], "rater": ["2", "2"], "score": ["3", "4"],
    }  # fmt: skip


def test_an_empty_sheet_and_a_packed_workbook(write: Write) -> None:
    path = write("s.xlsx", workbook({"Empty": sheet([]), "Full": sheet(excel.PLAIN)}))
    assert "s.xlsx::Empty: the sheet is empty. It needs a header and rows. The sheets are Empty, Full." in message(path)
    first = sheet([["Made by", "lab"], ["On", "Monday"]])
    asked = message(write("s.xlsx", workbook({"Info": first, "Ratings": sheet(excel.PLAIN)})))
    assert "cannot tell which column" in asked
    assert asked.endswith("s.xlsx::Ratings reads another.")
    assert len(pv.read_ratings(write("s.xlsx.gz", gzip.compress(workbook({"S": sheet(excel.PLAIN)}))))) == 3


FAR = [
    '<c r="XFD1048576"><v>1</v></c>', "<x:c r='XFD1048576'><x:v>1</x:v></x:c>",
    '<c s=">" r = "XFD1048576" ><v>1</v></c>',
    '<foo r="A1"/><c><v>1</v></c>' * 30_000,
]  # fmt: skip


@pytest.mark.parametrize("cell", FAR, ids=["plain", "prefix", "sign", "no place"])
def test_cells_far_away_are_refused(cell: str, write: Write) -> None:
    """One cell at the last place of a sheet would be 17 billion in a block; those that are only styled do not count."""
    content = f'<sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576">{cell}</row></sheetData>'
    told = message(write("s.xlsx", workbook({"S": content})))
    assert "cells up to its last row and column, more than 20,000,000" in told
    content = sheet(excel.PLAIN)[:-12] + '<row r="1048576" ht="15.0"><c r="XFD1048576" s="1"/></row></sheetData>'
    assert len(pv.read_ratings(write("s.xlsx", workbook({"S": content})))) == 3


def test_a_long_text_that_many_cells_share_is_refused(write: Write) -> None:
    """A text of 1 MB in 2,000 cells would be 2 GB; beside it scores that are called like its number are not."""
    shared = {"xl/sharedStrings.xml": f"<sst><si><t>{'x' * (1 << 20)}</t></si></sst>"}
    cells = "".join(f'<row r="{y}"><c r="A{y}" t="s"><v>0</v></c></row>' for y in range(1, 2001))
    assert "MiB of text in its cells" in message(
        write("s.xlsx", workbook({"S": f"<sheetData>{cells}</sheetData>"}, shared))
    )
    rows = [HEADER, *([f"q{at}", 1, at % 2] for at in range(3000))]
    assert len(pv.read_ratings(write("t.xlsx", workbook({"S": sheet(rows)}, shared)))) == 3000


# Databases ------------------------------------------------------------------------------------------------------------
def test_a_database_is_left_as_it_was(tmp_path: Path, write: Write) -> None:
    path = write(
        "study.db", databases.made(sqlite3.connect, databases.TABLE, databases.ROWS, "PRAGMA journal_mode = WAL")
    )
    before = path.read_bytes()
    assert (len(pv.read_ratings(path)), os.listdir(tmp_path), path.read_bytes()) == (2, ["study.db"], before)


def test_tables_and_views_by_name(write: Write) -> None:
    for kind, connect in (("sqlite", sqlite3.connect), ("duckdb", duckdb.connect)):
        begin = ("BEGIN TRANSACTION",) if kind == "duckdb" else ()
        statements = (databases.TABLE, databases.ROWS, databases.OTHER, "INSERT INTO raters VALUES (1, 30), (2, 40)")
        path = write(f"study.{kind}", databases.made(connect, *begin, *statements, databases.VIEW))
        ratings = pv.read_ratings(f"{path}::rated", raters=f"{path}::RATERS")
        assert (len(ratings), ratings.raters["age"].to_list()) == (2, ["30", "40"])
        assert "it has no table 'x'; it contains 3 tables" in message(f"{path}::x")
        assert message(path).endswith("study.KIND::ratings.".replace("KIND", kind))  # not the first, which is raters


def test_values_become_text(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    statements = ("CREATE TABLE t (a, b, c)", "INSERT INTO t VALUES (x'01ff', 2.0, '007'), (NULL, 2.5, 7)")
    assert frame_in(write("t.db", databases.made(sqlite3.connect, *statements))).rows() == [
        ("01ff", "2", "007"), (None, "2.5", "7"),
    ]  # fmt: skip
    query = (
        "CREATE TABLE t AS SELECT DATE '2026-01-31' a, 2.50::DECIMAL(9, 2) b, [1, 2] c, {'k': 'é'} d, true e, "
        "170141183460469231731687303715884105727 f, 'NaN'::DOUBLE g"
    )
    path = write("t.duckdb", databases.made(duckdb.connect, "BEGIN TRANSACTION", query))
    assert frame_in(path).rows() == [
        ("2026-01-31", "2.50", "[1, 2]", '{"k": "é"}', "True", "170141183460469231731687303715884105727", None)
    ]
    answers = ("CREATE TABLE a (item, model, answer)", "INSERT INTO a VALUES ('x', 'm', 1), ('y', 'm', 2)")
    assert len(pv.read_answers(write("a.db", databases.made(sqlite3.connect, *answers)), "0:3").point) == 2
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'plurivox\[duckdb\]'"):
        pv.read_ratings(path)


ENDLESS = (
    "CREATE VIEW endless AS WITH RECURSIVE t(item, rater, score) AS "
    "(SELECT 1, 1, 1 UNION ALL SELECT item + 1, 1, 1 FROM t) SELECT * FROM t WHERE item < 0"
)


@pytest.mark.parametrize(("kind", "connect"), [("sqlite", sqlite3.connect), ("duckdb", duckdb.connect)])
def test_a_view_without_an_end_is_stopped(
    kind: str, connect: Any, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plurivox.read.databases.MAX_SECONDS", 0.3)
    begin = ("BEGIN TRANSACTION",) if kind == "duckdb" else ()
    path = write(f"s.{kind}", databases.made(connect, *begin, databases.TABLE, ENDLESS))
    assert "no further rows came within 0.3 seconds. If it is a view that never ends" in message(f"{path}::endless")


def test_views_reach_nothing_outside(write: Write, tmp_path: Path) -> None:
    secret = write("secret.csv", ONE)
    view = f"CREATE VIEW v AS SELECT * FROM read_csv('{secret}')"
    path = write("s.duckdb", databases.made(duckdb.connect, "BEGIN TRANSACTION", databases.TABLE, view))
    said = message(f"{path}::v")  # DuckDB 1.1 says through
    assert "disabled by configuration" in said or "disabled through configuration" in said


def test_what_is_not_a_database_of_ratings(write: Write) -> None:
    one = databases.made(sqlite3.connect, databases.TABLE, databases.ROWS)
    assert "a database can only be read from a file of its own" in message(write("s.sqlite.gz", gzip.compress(one)))
    assert "It may be damaged or encrypted" in message(write("e.sqlite", bytes(range(7, 256)) * 40))
    store = databases.made(sqlite3.connect, databases.TABLE, "PRAGMA application_id = 1349285464")
    assert "a store of answers that plurivox ask wrote" in message(write("a.db", store))
    large = databases.made(sqlite3.connect, "CREATE VIEW v AS SELECT zeroblob(900000000) a, 1 b")
    assert "string or blob too big" in message(f"{write('b.db', large)}::v")


# Arrow ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_sizes_of_messages_against_pyarrow(compression: str | None) -> None:
    table = pa.table({"item": ["é" * 100] * 5, "score": list(range(5)), "list": [[1, 2], None, [], [3], [4]]})
    found = sizes(arrow.by_pyarrow(table, compression))
    assert (found.n_columns, found.n_rows) == (3, 5)
    assert found.n_cells == 15 + 4  # the four entries of lists, too
    plain = sizes(arrow.by_pyarrow(table)).n_bytes
    assert found.n_bytes == pytest.approx(plain, abs=8 * 30)  # some writers pad the buffers of a batch to 8 bytes
    assert found.n_bytes >= 5 * 200 + 5 * 8 + 5 * 8


def test_arrow_that_unpacks_to_very_much_is_refused(write: Write) -> None:
    table = pa.table({"item": pa.array(["x" * 1000] * 300_000), "score": pa.array([1] * 300_000)})
    packed = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=9))
    with pa.ipc.new_file(packed, table.schema, options=options) as file:
        file.write_table(table)
    assert len(packed.getvalue()) < 1 << 20
    assert "MiB or more, too much to be a table" in message(write("a.arrow", packed.getvalue()))
    nothing = pa.table({"item": pa.nulls(2)})
    assert "cells, too many for a file" in message(write("n.arrow", arrow.by_pyarrow(nothing).replace(
        (2).to_bytes(8, "little"), (1 << 40).to_bytes(8, "little")
    )))  # fmt: skip


# Folders and archives -------------------------------------------------------------------------------------------------
def test_files_in_their_natural_order_with_their_names(write: Write) -> None:
    found = frame_in(write("p.zip", archive(archives.PARTS)))
    assert found.rows() == [
        ("a", "1", "4", "part1"), ("a", "2", "2", "part2"), ("b", "2", "1", "part2"), ("b", "10", "3", "part10"),
    ]  # fmt: skip
    assert found.columns == [*HEADER, MEMBER]
    ratings = pv.read_ratings(write("p.zip", archive(archives.PARTS)))
    assert [remark.split(": ", 1)[1] for remark in ratings.intake.remarks] == [
        "3 files are read as one table; --rater _file makes each file a rater.",
        "2 files that are not tables, skipped: README.md, plot.png.",
    ]  # fmt: skip


def test_one_file_is_named_by_path_name_or_stem(write: Write) -> None:
    path = write("p.zip", archive({**archives.PARTS, "more/raters.csv": "rater,age\n2,30\n"}))
    for name in ("data/part2.csv", "part2.csv", "part2"):
        ratings = pv.read_ratings(f"{path}::{name}", raters=f"{path}::raters")
        assert ratings.raters["age"].to_list() == ["30"]


def test_parquet_in_parts_and_stored_ratings(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        pl.DataFrame({"item": [1, 2], "rater": [part] * 2, "score": [part, 2]}).write_parquet(
            folder / f"p{part}.parquet"
        )
    ratings = pv.read_ratings(folder)
    assert len(ratings) == 6
    assert ratings.items["item"].dtype == pl.Int64
    pv.write_ratings(ratings, folder / "stored.parquet")
    assert "'stored.parquet' in it holds ratings that plurivox stored" in message(folder)
    assert len(pv.read_ratings(f"{folder}::stored")) == 6


def test_what_is_unpacked_is_counted_over_all_files() -> None:
    data = archive({"a.csv": "x" * 600, "b.csv": "y" * 600})
    found = Archive(io.BytesIO(data), "a.zip", 10, most=1000, per_byte=1)
    one, other = found.members()
    assert found.open(one).read() == b"x" * 600
    with pytest.raises(FileError, match="its 10 bytes unpack to more than 0 MiB"):
        found.open(other).read()


# Damage and bombs -----------------------------------------------------------------------------------------------------

GOOD = [case for of in (excel, databases, arrow, archives) for case in of.CASES if case.kind != "broken"]


@settings(max_examples=200)
@given(st.sampled_from(GOOD), st.integers(0, 2**32 - 1))
def test_changed_bytes_give_ratings_or_one_clear_line(case: Any, seed: int) -> None:
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = case.write(Path(folder))
        file = path if path.is_file() else draw.choice(sorted(one for one in path.rglob("*") if one.is_file()))
        data = bytearray(file.read_bytes())
        for _ in range(draw.randint(1, 6)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        file.write_bytes(data[: draw.randrange(len(data))] if draw.random() < 0.2 else data)
        with contextlib.suppress(PlurivoxError):
            pv.read_ratings(path, **case.given)


_BOMBS = """
    import re, resource, sys, zipfile
    from pathlib import Path
    from exports.excel import workbook
    from support import run_cli

    def most():
        return int(re.search("VmHWM:\\\\s+(\\\\d+)", Path("/proc/self/status").read_text())[1])

    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
    far = '<sheetData><row r="1"><c r="A1"><v>1</v></c><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    Path("far.xlsx").write_bytes(workbook({"S": far}))
    if sys.argv[1] == "texts":
        Path("texts.xlsx").write_bytes(workbook({"S": ""}, {"xl/sharedStrings.xml": "<si><t>x</t></si>" * (16 << 20)}))
    with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as file:
        with file.open("a.csv", "w") as into:
            into.write(b"item,rater,score\\n")
            for _ in range(64):
                into.write(b"1" * (1 << 20))
    for name, problem in (
        ("far.xlsx", "cells up to its last row"), ("texts.xlsx", "unpack to more than 256 MiB"),
        ("bomb.zip", "longer than 16 MiB"),
    ):
        if not Path(name).exists():
            continue
        done = run_cli("describe", name)
        assert done.code == 1 and problem in done.words, done
    print(most())
    """


@pytest.mark.parametrize("which", ["quick", pytest.param("texts", marks=pytest.mark.slow)])
def test_bombs_are_refused_within_a_gigabyte(which: str, tmp_path: Path) -> None:
    paths = os.pathsep.join(
        [str(Path(pv.__file__).parents[1]), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    )
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_BOMBS), which], cwd=tmp_path,
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < MEMORY


@pytest.mark.slow
def test_a_sheet_of_a_million_rows(write: Write) -> None:
    def rows() -> str:
        head = "".join(
            f'<c r="{one}1" t="inlineStr"><is><t>{name}</t></is></c>' for one, name in zip("ABC", HEADER, strict=True)
        )
        body = (
            f'<row r="{y}"><c r="A{y}"><v>{y // 20}</v></c><c r="B{y}"><v>{y % 20}</v></c>'
            f'<c r="C{y}"><v>{y % 5}</v></c></row>'
            for y in range(2, 1_000_002)
        )
        return f'<sheetData><row r="1">{head}</row>{"".join(body)}</sheetData>'

    ratings = pv.read_ratings(write("big.xlsx", workbook({"S": rows()})))
    assert (len(ratings), ratings.n_raters) == (1_000_000, 20)


def test_remarks_name_files_as_they_are_written(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        "people.xlsx", workbook({"who": sheet([["rater", "age"], *([at, 30] for at in range(1, 9))]), "b": sheet([])})
    )
    write("study.xlsx", workbook({"one": sheet(excel.PLAIN), "two": sheet([])}))
    monkeypatch.chdir(tmp_path)
    notes = pv.describe(pv.read_ratings("study.xlsx", raters="people.xlsx")).notes
    assert [note.partition(":")[0] for note in notes if "of the sheets" in note] == ["study.xlsx", "people.xlsx"]


def test_each_file_of_a_folder_may_be_a_rater(tmp_path: Path) -> None:
    for name, scores in {"ann": "x,1\ny,2\n", "bob": "x,3\ny,1\n"}.items():
        (tmp_path / f"{name}.csv").write_text("item,score\n" + scores)
    with pytest.raises(ColumnError, match="--rater _file makes each file a rater"):
        pv.read_ratings(tmp_path)
    ratings = pv.read_ratings(tmp_path, rater="_file")
    assert ratings.to_frame().rows() == [("x", "ann", 1), ("x", "bob", 3), ("y", "ann", 2), ("y", "bob", 1)]
