"""What is read back: results from JSON, stored studies and TOML, damaged or made up, give one error of ours."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from fuzz.damage import HOSTILE, nested
from fuzz.values import study
from plurivox.base.errors import ConfigError, FileError, InputError
from plurivox.config import load_config
from plurivox.domain.scale_files import load_scale
from plurivox.read.parquet import table_to

RESULTS: dict[str, Callable[[], Any]] = {
    "cohesion": lambda: pv.cohesion(study().ratings, "gender", permutations=0),
    "responsiveness": lambda: pv.responsiveness(study().ratings, "crowd", "gender", permutations=9),
    "advice": lambda: pv.advise(study().ratings, "crowd", "gender", permutations=9),
    "item": lambda: pv.item_view(study().ratings, "item-001", "gender", permutations=9),
}


def places(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where something stands, of each list the first only."""
    if at:
        yield at
    if isinstance(data, dict):
        for key, value in data.items():
            yield from places(value, (*at, key))
    elif isinstance(data, list) and data:
        yield from places(data[0], (*at, 0))


@pytest.mark.parametrize("kind", list(RESULTS))
def test_damaged_json_is_refused_or_works(kind: str) -> None:
    result = RESULTS[kind]()
    text = result.to_json()
    assert type(result).from_json(text).to_json() == text
    refused = worked = number = 0
    for number, at in enumerate(places(json.loads(text))):
        data = json.loads(text)
        within = data
        for key in at[:-1]:
            within = within[key]
        if number % 4 == 0:
            del within[at[-1]]
        else:
            within[at[-1]] = HOSTILE[number % len(HOSTILE)]
        try:
            again = type(result).from_json(json.dumps(data))
        except InputError as error:
            refused += len(str(error)) < 400
        else:
            again.to_json()
            worked += 1
    assert refused > 20
    assert refused + worked == number + 1


@pytest.mark.parametrize(("text", "said"), [
    ("", "this is not JSON"), ("{", "this is not JSON"), (nested(10**5, "[", "]"), "this is not JSON"),
    ('{"kind": "cohesion"}', "the JSON of this cohesion result is damaged ('rows' is missing)"),
    ("[]", "this is the JSON of a None result, not of a 'cohesion' result"), ("1" * 5000, "this is not JSON"),
    ('{"kind": "advice"}', "this is the JSON of a 'advice' result, not of a 'cohesion' result"),
    (3, "text is 3. Give a text."), (None, "text is None. Give a text."),
])  # fmt: skip
def test_what_is_no_json_of_a_result(text: Any, said: str) -> None:
    with pytest.raises(InputError) as raised:
        pv.Cohesion.from_json(text)
    assert said in str(raised.value)


def test_tables_of_another_size_never_reach_compiled_code() -> None:
    data = json.loads(RESULTS["responsiveness"]().to_json())
    data["settings"]["reference"]["boundaries"] *= 1000
    with pytest.raises(InputError, match=r"damaged \(the scores on all have the wrong shape"):
        pv.Responsiveness.from_json(json.dumps(data))


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a stored study."""
    path = tmp_path_factory.mktemp("stored") / "study.parquet"
    pv.write_ratings(study().ratings, path)
    assert pv.read_ratings(path) == study().ratings
    return path.read_bytes()


def changed(stored: bytes, path: Path, frame: Any = None, *, digest: bool = False, **described: Any) -> Path:
    """Write the stored study with another table, or another description."""
    about = json.loads(pl.read_parquet_metadata(io.BytesIO(stored))["plurivox"])
    known = {name: value for name, value in about.items() if digest or name != "digest"}
    table = pl.read_parquet(stored)
    table = table if frame is None else frame(table)
    table.write_parquet(path, metadata={"plurivox": json.dumps({**known, **described})})
    return path


def packed(frame: pl.DataFrame) -> str:
    return base64.b64encode(table_to(frame)).decode()


@pytest.mark.parametrize(("change", "said"), [
    (lambda t: t.with_columns(item_code=pl.col("item_code") + 1), "item_code holds numbers that are out of range"),
    (lambda t: t.with_columns(rater_code=pl.col("rater_code") - 1), "rater_code holds numbers that are out of"),
    (lambda t: t.with_columns(score_code=pl.lit(5, pl.UInt8)), "score_code holds numbers that are out of range"),
    (lambda t: t.with_columns(item_code=pl.col("item_code").cast(pl.Float64)), "item_code holds something other"),
    (lambda t: t.with_columns(score_code=pl.lit(None, pl.UInt8)), "score_code holds something other than whole"),
    (lambda t: t.with_columns(rater_code=pl.lit(0, pl.Int32)), "its rows are not in order, or some occur"),
    (lambda t: t.reverse(), "its rows are not in order"), (lambda t: t.drop("item_code"), "damaged ("),
    (lambda t: t.drop("rater_code"), "damaged ("),
    (lambda t: t.with_columns(score=pl.lit(0)), "its ids and its codes do not match"),
])  # fmt: skip
def test_a_stored_study_with_wrong_codes(stored: bytes, tmp_path: Path, change: Any, said: str) -> None:
    path = changed(stored, tmp_path / "a.parquet", change)
    with pytest.raises(FileError) as raised:
        pv.read_ratings(path)
    assert said in str(raised.value)
    assert str(path) in str(raised.value)
    assert "Write it again with write_ratings" in str(raised.value)


IDS = pl.DataFrame({"item": ["a"] * 12})


@pytest.mark.parametrize(("described", "said"), [
    ({"version": 3}, "it was written in form 3, but this version of plurivox reads form 2. Update plurivox."),
    ({"version": None}, "it does not state its form"), ({"scale": {}}, "a scale has labels"),
    ({"scale": {"labels": [[1], 2]}}, "labels is [[1], 2]"), ({"intake": {"rows": "many"}}, "rows is 'many'"),
    ({"intake": {"x": 1}}, "unexpected keyword"), ({"items": "x"}, "damaged ("), ({"raters": None}, "damaged ("),
    ({"items": packed(IDS)}, "its table of items has ids that are missing, occur twice"),
    ({"items": packed(pl.DataFrame({"x": [1]}))}, "its table of items has no ids"),
    ({"items": packed(pl.DataFrame({"item": pl.repeat("a", 10**7, eager=True)}))}, "its table of items has 10,000"),
])  # fmt: skip
def test_a_stored_study_with_a_wrong_description(
    stored: bytes, tmp_path: Path, described: dict[str, Any], said: str
) -> None:
    with pytest.raises(FileError) as raised:
        pv.read_ratings(changed(stored, tmp_path / "a.parquet", **described))
    assert said in str(raised.value)


def test_a_stored_study_is_what_was_written(stored: bytes, tmp_path: Path) -> None:
    assert pv.read_ratings(changed(stored, tmp_path / "old.parquet")) == study().ratings  # of an earlier version
    swapped = {"raters": packed(study().raters.with_columns(gender=pl.lit("Man")))}
    with pytest.raises(FileError, match="its content is not what was written"):
        pv.read_ratings(changed(stored, tmp_path / "a.parquet", digest=True, **swapped))


def test_a_stored_study_that_is_cut_off_or_flipped(
    stored: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.parquet"
    for at in range(0, len(stored), len(stored) // 60):
        for content in (stored[:at], stored[:at] + bytes([stored[at] ^ 0x55]) + stored[at + 1 :]):
            path.write_bytes(content)
            with contextlib.suppress(InputError):
                assert pv.read_ratings(path) == study().ratings
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize(("text", "said"), [
    ("a = " + nested(10**4, "[", "]"), "nested too deeply"), ("a = " + "1" * 5000, "it is not valid TOML"),
    (b"a = '\xff'", "it is not valid TOML"), ("scale = 3", "'scale' is 3. Write it as"),
    ("[scale]\nlabels = [[1], 2]", "'[scale] labels'"),
    ("[scale]\nlabels = [1, 2]\nvalues = ['a', 'b']", "'[scale] values' is ['a', 'b']. Give a list of numbers."),
    ("[scale]\nlabels = [1, 2]\nmissing = [{}]", "'[scale] missing'"), ("[scale]\nlabels = true", "[scale] labels"),
    ("[raters]\nby = [3]", "'[raters] by' is [3]"), ("[raters]\nby = [['a', 1]]", "'[raters] by' is [['a', 1]]"),
    ("[raters]\ncolumns = [1]", "'[raters] columns' is [1]. Give a list of texts."),
    ("[raters.bins]\nage = [true]", "the bins of 'age' are [True]"),
    ("[raters.bins]\nage = { edges = [1], labels = [1] }", "the bins of 'age'"),
    ("[raters.several]\nrace = 3", "what separates the values of 'race' is 3"),
    ("[cohesion]\nseed = 1.5", "seed is 1.5"), ("[cohesion]\nlevel = [[nan]]\nseed = -1", "seed is -1"),
    ("x = 1" + "#" * 2**20, "it is larger than 1,048,576 bytes"),
    ("cohesion = 3", "'cohesion' is 3. Write it as a table"),
])  # fmt: skip
def test_toml_that_cannot_be_used(text: str | bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "plurivox.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as raised:
        load_config(path)
    assert said in str(raised.value)
    assert str(raised.value).startswith(str(path))
    assert len(str(raised.value)) < 500


def test_toml_that_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path, tmp_path / "pipe.toml", Path("/dev/zero")):
        with pytest.raises(ConfigError, match="this is not an ordinary file"):
            load_scale(path)
    with pytest.raises(ConfigError, match="it cannot be read"):
        load_scale(tmp_path / "no.toml")


@pytest.mark.parametrize("edges", [[float("nan")], [float("inf")], [1, float("inf")], ["a"], "18", 18])
def test_bins_have_finite_edges(edges: Any) -> None:
    with pytest.raises(InputError, match=r"edges is .*\. Give a list of numbers"):
        study().ratings.with_bins("age", edges)
