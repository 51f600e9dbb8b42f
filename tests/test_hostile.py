"""Bad files end in one line, whatever the command: no traceback, nothing left behind, within bounds."""

from __future__ import annotations

import gzip
import io
import os
import random
import shutil
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from hostile.calls import GIVEN, Call, calls
from hostile.corpus import ROWS, TABLE, Case, cases, parquet
from plurivox.read.json_documents import loaded
from plurivox.read.parquet import unpacked_size
from support import Done, Write, ran, refused, run_cli

CASES = cases()
CALLS = list(calls())
ANYWHERE = [case for case in CASES if case.anywhere]
QUICK = [case for case in ANYWHERE if len(case.data()) < 100_000]
DESCRIBE = Call("describe", "file")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    for name, content in GIVEN.items():
        (folder / name).write_text(content)
    return folder


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, where commands write what they are not told to write elsewhere."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(call: Call, case: Case, good: Path, empty: Path) -> Done:
    """Give a command a bad file, and see that it ends well, with the input as it was and nothing beside it."""
    folder = empty.parent / "bad"
    folder.mkdir(exist_ok=True)
    path = folder / case.name
    path.write_bytes(case.data())
    done = run_cli(*call.arguments(good, path, case.options))
    where = f"{call} {case.name} {case.options}: {done.err}"
    errors = [line for line in done.err.splitlines() if line.lower().startswith("error: ")]
    assert "Traceback" not in done.err, where
    assert (done.code in (1, 2) and len(errors) == 1) or (done.code == 0 and not errors), where
    if done.code:
        assert list(empty.iterdir()) == [], where
    assert os.listdir(folder) == [case.name], where
    assert path.read_bytes() == case.data(), where
    path.unlink()
    for left in empty.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    return done


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join((case.name, *case.options))[:60])
def test_describe_says_what_is_wrong(case: Case, good: Path, empty: Path) -> None:
    done = run(DESCRIBE, case, good, empty)
    if case.error is None:
        assert done.code == 0, done.err
    else:
        assert done.code == 1
        assert case.error in done.err


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(CALLS)), ids=lambda place: str(CALLS[place]))
def test_every_command_refuses_a_bad_file_wherever_it_takes_one(place: int, good: Path, empty: Path) -> None:
    call, case = CALLS[place], QUICK[place % len(QUICK)]
    nothing = call.slot == "config" and case.name in ("blank.csv", "blank.jsonl")  # is an empty TOML file, and valid
    assert run(call, case, good, empty).code in (1, 2) or nothing


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(CALLS)), ids=lambda place: str(CALLS[place]))
def test_every_command_with_every_bad_file(place: int, good: Path, empty: Path) -> None:
    """A third of what is bad anywhere in each place that takes a file, and a fifth of bad ratings; others in each.

    A blank file is a config that says nothing.
    """
    call = CALLS[place]
    of_ratings = [case for case in CASES[place % 5 :: 5] if case.error is not None and not case.anywhere]
    for case in [*QUICK[place % 3 :: 3], *(of_ratings if call.slot == "file" else ())]:
        done = run(call, case, good, empty)
        assert done.code in (1, 2) or not case.anywhere or call.slot == "config", (str(call), case.name)


def test_the_calls_cover_the_program() -> None:
    """Commands and slots are found from the program; these are some that must be among them."""
    found = {(call.command, call.slot) for call in CALLS}
    assert {("describe", "file"), ("report", "answers"), ("score", "predictions"), ("fit", "texts")} <= found
    assert {("cohesion", "raters"), ("responsiveness", "reference"), ("ask", "file"), ("answers", "store")} <= found
    assert len(found) == len(CALLS) > 50


MOST_MEMORY = 1 << 30
_BATCH = """
    import re, resource, sys
    from pathlib import Path
    from hostile.corpus import bombs, packed
    from support import run_cli

    def most():  # of this program; ru_maxrss knows that of who started it, too
        return int(re.search("VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
    made = [(case, case.data()) for case in (bombs() if sys.argv[2] == "bombs" else packed())]
    print(most())
    for case, data in made:
        path = Path(sys.argv[1], case.name)
        path.write_bytes(data)
        done = run_cli("describe", path, *case.options)
        assert done.code == 1 and case.error in done.err, (case.name, done)
    print(most())
    """


@pytest.mark.parametrize("which", ["packed", pytest.param("bombs", marks=pytest.mark.slow)])
def test_what_unpacks_to_gigabytes_is_refused_within_a_gigabyte(which: str, tmp_path: Path) -> None:
    paths = os.pathsep.join([str(Path(pv.__file__).parents[1]), str(Path(__file__).parent)])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_BATCH), str(tmp_path), which],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    before, after = map(int, done.stdout.split())
    assert before < after + 1 < MOST_MEMORY / 1024


def test_the_footer_tells_the_size_against_pyarrow() -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    frame = pl.DataFrame({"item": [f"item {i}" for i in range(5_000)], "score": [i % 5 for i in range(5_000)]})
    frame = frame.with_columns(nested=pl.concat_list("score", "score"), same=pl.lit("text" * 50))
    for compression in ("zstd", "uncompressed", "snappy"):
        out = io.BytesIO()
        frame.write_parquet(out, compression=compression, row_group_size=700)
        known = pq.ParquetFile(out).metadata
        columns = [known.row_group(row).column(column) for row in range(8) for column in range(known.num_columns)]
        assert unpacked_size(out) == sum(column.total_uncompressed_size for column in columns)


def test_a_damaged_footer_has_no_size() -> None:
    whole = parquet(**TABLE)
    assert unpacked_size(io.BytesIO(whole))
    rng = random.Random(1)
    for _ in range(500):  # any outcome but an exception, or a hang
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            damaged[rng.randrange(len(whole) // 2, len(whole) - 8)] = rng.randrange(256)
        size = unpacked_size(io.BytesIO(damaged))
        assert size is None or isinstance(size, int)
    assert unpacked_size(io.BytesIO(whole[:-20])) is None
    assert unpacked_size(io.BytesIO(b"PAR1")) is None


def models(write: Write) -> None:
    frame = pl.DataFrame({"model": [f"m{i}" for i in range(90)], "item": range(90), "0": 0.5, "1": 0.5})
    pv.Predictions.from_frame(frame, "0:1")


def points(write: Write) -> None:
    frame = pl.DataFrame(ROWS, schema=["item", "rater", "score"], orient="row")
    pv.responsiveness(pv.Ratings.from_frame(frame, scale="0:10"), permutations=9, bootstrap=0)


def log(write: Write) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", b" " * (2 << 20))
    pv.read_answers(write("bomb.eval", file.getvalue()), "0:1")


def text(write: Write) -> None:
    """A string of 3 MB in a Parquet file of a few hundred bytes."""
    pv.read_ratings(write("r.parquet", parquet(item=["x" * 3_000_000, "y"], rater=["a", "a"], score=[1, 2])))


@pytest.mark.parametrize(
    ("call", "limit", "most", "told"),
    [
        (models, "domain.predictions.MAX_CELLS", 1_000, "90 models × 90 items are far more than the 90 predictions"),
        (points, "lenses.responsiveness.sums.MAX_CELLS", 100, "1 table of 11 points × 11 of the reference would fill"),
        (log, "ask.logs.MAX_ENTRY", 1 << 20, r"header.json: its 2,\d+ bytes unpack to 2 MiB"),
        (text, "read.opening.MAX_WHOLE", 1 << 20, "bytes unpack to 2 MiB or more, too much to be a table of ratings"),
        (lambda _: pv.read_ratings("/dev/zero", format="csv"), "", 0, "longer than 16 MiB"),  # zeros without an end
    ],
    ids=["models", "points", "log", "text", "pipe"],
)
def test_what_would_fill_the_memory_is_refused(
    call: Any, limit: str, most: int, told: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With lower limits than there are; without them the same is done, or would take long."""
    if call is text:
        call(write)
    if limit:
        monkeypatch.setattr(f"plurivox.{limit}", most)
    with pytest.raises(pv.InputError, match=told):
        call(write)


def test_what_is_packed_well_is_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crossed study with a long text on each row unpacks to a hundred times its size, and is no bomb."""
    monkeypatch.setattr("plurivox.read.opening.MAX_UNPACKED", 1 << 20)
    monkeypatch.setattr("plurivox.domain.raw.MAX_CELLS", 1 << 10)
    rng = random.Random(2)
    rows = "".join(f"{i},{r},{rng.randrange(5)},{'some text ' * 20}{i}\n" for i in range(200) for r in range(50))
    data = ("item,rater,score,text\n" + rows).encode()
    packed = gzip.compress(data)
    assert len(data) > 50 * len(packed)
    assert len(pv.read_ratings(write("r.csv.gz", packed))) == 10_000


def test_names_of_files_that_are_not_text_or_look_like_patterns(tmp_path: Path) -> None:
    name = os.fsdecode(b"r\xff")
    table = {"item": [1, 2], "rater": ["a", "a"], "score": [1, 2]}
    for ending, data in {".csv": pl.DataFrame(table).write_csv().encode(), ".parquet": parquet(**table)}.items():
        path = tmp_path / f"{name}{ending}"
        path.write_bytes(data)
        assert f"r\\xff{ending}: long table" in ran("describe", path).err
    assert "r\\xff.tsv: there is no such file" in refused("describe", tmp_path / f"{name}.tsv")
    for stem, score in (("r1", 1), ("r3", 3), ("r[13]", 4)):
        (tmp_path / f"{stem}.parquet").write_bytes(parquet(**{**table, "score": [score, 2]}))
    assert pv.read_ratings(tmp_path / "r[13].parquet").to_frame()["score"].to_list() == [4, 2]
    found = loaded(b'{"text": ["\\ud83d x"], "\\ud83d\\ude00": 1}', "log")  # half a character is shown by a sign
    assert found == {"text": ["\ufffd x"], "\U0001f600": 1}


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (
            {"order": [[0, 7], [1, 0]]},
            "column 'order', row 1: an order of options contains something other than positions",
        ),
        ({"order": ["[0.5, 1]", "[1, 0]"]}, "column 'order', row 1: an order of options"),
        ({"order": ['[{"a": 1}]', None]}, "column 'order', row 1: an order of options"),
        ({"order": ["[" * 100_000, None]}, "it holds String, not lists of numbers"),
        ({"distribution": ['["a", "b"]', None]}, "column 'distribution', row 1: a distribution has 0 probabilities"),
        ({"distribution": [f"[{10**400}, 0]", None]}, "column 'distribution', row 1: a distribution has 1"),
        ({"sample": [0, 2**40]}, "column 'sample', row 2: a sample is not a whole number"),
        ({"sample": [0.5, 1]}, "column 'sample', row 1: a sample is not a whole number"),
    ],
)
def test_lists_of_answers_are_checked(column: dict[str, list[Any]], problem: str) -> None:
    frame = pl.DataFrame({"model": ["m", "m"], "item": [1, 2], "text": ["A", "B"], **column}, strict=False)
    with pytest.raises(pv.InputError) as caught:
        pv.Answers.from_frame(frame, ["no", "yes"])
    assert problem in str(caught.value)
