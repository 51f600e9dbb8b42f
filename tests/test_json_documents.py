"""JSON in every orientation, against the rows that were written; what is broken is one line."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import plurivox as pv
from plurivox.base.errors import InputError
from plurivox.read import json_documents, text
from plurivox.read.tables import read_table

ROWS: list[dict[str, Any]] = [
    {"item": "1", "rater": "ann", "score": 0}, {"item": "1", "rater": "bö", "score": 2},
    {"item": "2", "rater": "ann", "score": 1},
]  # fmt: skip
TOLD = {(1, "ann", 0), (1, "bö", 2), (2, "ann", 1)}
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
SERVER = {
    "features": [{"feature_idx": 0, "name": "item"}], "num_rows_total": 3,
    "rows": [{"row_idx": at, "row": row, "truncated_cells": []} for at, row in enumerate(ROWS)],
}  # fmt: skip
DOCUMENTS = {
    "array": json.dumps(ROWS), "an array on many lines": json.dumps(ROWS, indent=4),
    "an array with a line for each entry": "[\n" + ",\n".join(map(json.dumps, ROWS)) + "\n]\n",
    "lines": "\n".join(map(json.dumps, ROWS)),
    "objects on many lines": "\n".join(json.dumps(row, indent=2) for row in ROWS),
    "pandas, columns": json.dumps({name: dict(enumerate(column)) for name, column in COLUMNS.items()}),
    "pandas, list": json.dumps(COLUMNS), "pandas, index": json.dumps(dict(enumerate(ROWS))),
    "pandas, split": json.dumps({
        "columns": list(COLUMNS), "index": [0, 1, 2], "data": [list(row.values()) for row in ROWS],
    }),
    "pandas, table": json.dumps({"schema": {"fields": [{"name": "item", "type": "string"}]}, "data": ROWS}),
    "rows under a name": json.dumps({"version": 2, "records": ROWS}),
    "rows under a name alone": json.dumps({"data": ROWS}), "rows of the Hugging Face server": json.dumps(SERVER),
    "commas before brackets": json.dumps(ROWS).replace("}", ",}").replace("]", ",]"),
    "commas in an object of objects": json.dumps(dict(enumerate(ROWS))).replace("}", ",}"),
    "spaces everywhere": f"  \n\t{json.dumps(ROWS, separators=(' , ', ' : '))} \r\n \n",
}  # fmt: skip


def told(path: Path, **given: Any) -> set[tuple[Any, ...]]:
    ratings = pv.read_ratings(path, **given)
    return set(ratings.to_frame().select("item", "rater", "score").iter_rows())


@pytest.mark.parametrize("how", DOCUMENTS)
def test_every_orientation_has_the_rows_that_were_written(tmp_path: Path, how: str) -> None:
    path = tmp_path / "ratings.json"
    path.write_text(DOCUMENTS[how], encoding="utf-8")
    assert told(path) == TOLD
    path.write_bytes(b"\xef\xbb\xbf" + DOCUMENTS[how].encode())
    assert told(path) == TOLD
    path.write_bytes(DOCUMENTS[how].encode("utf-16"))
    assert told(path, encoding="utf-16") == TOLD


def test_json_without_an_ending_is_told_by_its_start(tmp_path: Path) -> None:
    for how in ("array", "pandas, list", "pandas, index"):
        (tmp_path / "ratings").write_text(DOCUMENTS[how], encoding="utf-8")
        assert told(tmp_path / "ratings") == TOLD


def test_nested_values_are_json_and_null_is_missing(tmp_path: Path) -> None:
    rows = [{"id": 1, "deep": {"a": [1, {"b": None}]}, "yes": True}, {"id": 2, "more": "x", "deep": None}]
    expected = {
        "id": ["1", "2"], "deep": [{"a": [1, {"b": None}]}, None], "yes": ["true", None], "more": [None, "x"],
    }  # fmt: skip
    for content in (rows, {"data": rows}, dict(enumerate(rows))):
        (tmp_path / "x.json").write_text(json.dumps(content))
        frame = read_table(tmp_path / "x.json").frame()
        found = {name: frame[name].to_list() for name in expected}
        found["deep"] = [one if one is None else json.loads(one) for one in found["deep"]]
        assert found == expected


@pytest.mark.parametrize("pattern", ["[{0}]", '{{"data": [{0}]}}', "{0}"])
def test_what_python_writes_for_no_number_is_missing(tmp_path: Path, pattern: str) -> None:
    lines = ['{"item": "NaN", "rater": "a", "score": NaN}', '{"item": "NaN", "rater": "b", "score": 1}']
    (tmp_path / "x.json").write_text(pattern.format(("\n" if pattern == "{0}" else ",").join(lines)))
    found = pv.read_ratings(tmp_path / "x.json", scale="0:1", items=pl.DataFrame({"item": ["NaN"], "t": ["x"]}))
    assert found.intake.missing_scores == 1


BROKEN: dict[str, tuple[str | bytes, tuple[str, ...]]] = {
    "cut off": ('[{"item": 1, "rater": "a", "score": 0},\n {"item": 1, "ra', ("entry 2 (line 2)", "cut off")),
    "cut off between entries": ('[{"item": 1}, ', ("entry 2 (line 1)", "cut off or not JSON")),
    "no closing bracket": ('[{"item": 1}', ("entry 1 (line 1)", "the closing bracket is missing")),
    "no comma": ('[{"item": 1}\n {"item": 2}]', ("entry 1 (line 2)", "a comma or the closing bracket is missing")),
    "junk after the end": ('[{"item": 1}]\n\n[{"item": 2}]', ("entry 1 (line 3)", "more after the closing bracket")),
    "entries that are lists": ("[[1, 2], [3, 4]]", ("entry 1 (line 1)", "the entry is not an object")),
    "entries that are not objects": ('[{"item": 1},\n\n17]', ("entry 2 (line 3)", "not an object")),
    "an empty array": (" [ ]", ("the array is empty",)),
    "an empty object": ("{}", ("it contains nothing",)),
    "an object that is cut off": ('{"a": {"item": 1},\n"b": {"it', ("line 2", "it is not JSON (Unterminated string")),
    "junk after an object": ('{"a":\n {"item": 1}}\n!', ("line 3", "it is not JSON")),
    "text": ('"ratings"', ("it is a single JSON value, not a table",)),
    "a deep array": ('[{"item": ' + "[" * 100_000, ("entry 1 (line 1)", "nested too deeply")),
    "a deep object": ('{"item": ' + "[" * 100_000, ("nested too deeply",)),
    "a number of many digits": (f'[{{"item": 1}}, {{"item": {"9" * 5000}}}]', ("row 2", "number with too many digits")),
    "an object with such a number": (f'{{"item": {"9" * 5000}, "a": "b"}}', ("a number has too many digits",)),
    "half a character in a key": ('[{"item": 1}, {"\\ud800": 1}]', ("row 2", "half a character")),
    "half a character in an object": ('{"a": {"item": "\\ud800"}}', ("half a character",)),
    "another encoding": (b'[{"item": 1},\n {"item": "\xe9"}]', ("row 2", "0xe9 is not UTF-8", "--encoding")),
    "another encoding of an object": (b'{"a":\n "\xe9"}', ("row 2", "0xe9 is not UTF-8", "--encoding")),
    "UTF-16": (json.dumps(ROWS).encode("utf-16"), ("it is UTF-16", "--encoding utf-16")),
    "too many keys": (json.dumps([dict.fromkeys(map(str, range(10_001)), 1)]), ("at most 10,000 can be read",)),
}  # fmt: skip


@pytest.mark.parametrize("how", BROKEN)
def test_broken_json_is_one_line_with_its_place(tmp_path: Path, how: str) -> None:
    content, pieces = BROKEN[how]
    path = tmp_path / "ratings.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError) as raised:
        pv.read_ratings(path)
    message = str(raised.value)
    assert "ratings.json" in message
    assert "\n" not in message
    assert raised.value.hint, message
    for piece in pieces:
        assert piece in message


def test_an_entry_that_is_longer_than_a_row_may_be(tmp_path: Path) -> None:
    path = tmp_path / "ratings.json"
    path.write_text(f'[{{"item": 1}}, {{"item": "{"x" * (text.MAX_RECORD + (1 << 23))}"}}]')
    with pytest.raises(InputError, match=r"entry 2 \(line 1\): the entry is longer than 16 MiB, or not JSON"):
        pv.read_ratings(path)


def test_an_object_that_would_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_documents, "MAX_OBJECT", 1 << 20)
    path = tmp_path / "ratings.json"
    path.write_text(json.dumps({"a": {"item": "x" * (1 << 20)}}))
    with pytest.raises(InputError, match="it is a single JSON object of more than 1 MiB"):
        pv.read_ratings(path)


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8) | st.sampled_from(['"', "\\", "},{", "[,]"])
CELLS = WORDS | st.integers(-(10**6), 10**6) | st.booleans() | st.none() | st.lists(st.integers(0, 9), max_size=3)
RECORDS = st.lists(st.fixed_dictionaries({"a": WORDS, "b": CELLS, "c d": CELLS}), min_size=2, max_size=12)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=RECORDS, block=st.integers(1, 40), seed=st.integers(0, 99))
def test_blocks_of_any_size_read_the_same_rows(
    records: list[dict[str, Any]], block: int, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries that begin in one block and end in another are read as if there were no blocks."""
    draw = random.Random(seed)
    plain = draw.random() < 0.5
    documents = {
        "array": json.dumps(records, ensure_ascii=plain),
        "pretty": json.dumps(records, ensure_ascii=plain, indent=draw.choice((0, 1, "\t"))),
        "lines": "\n".join(json.dumps(one, ensure_ascii=plain) for one in records),
        "object": json.dumps({"rows": records}, ensure_ascii=plain),
        "keyed": json.dumps({f"k{at}": one for at, one in enumerate(records)}, ensure_ascii=plain),
    }
    expected = [[_told(one[name]) for name in ("a", "b", "c d")] for one in records]
    monkeypatch.setattr(json_documents, "BLOCK", block)
    for how, content in documents.items():
        (tmp_path / f"{how}.json").write_text(content, encoding="utf-8")
        frame = read_table(tmp_path / f"{how}.json").frame()
        found = [[_loaded(cell) for cell in row] for row in frame.select("a", "b", "c d").iter_rows()]
        assert found == expected, how


def _told(value: Any) -> Any:
    """Return what a cell is expected to say: text, or a list."""
    return value if value is None or isinstance(value, str | list) else json.dumps(value)


def _loaded(cell: str | None) -> Any:
    return json.loads(cell) if cell is not None and cell.startswith("[") and cell != "[,]" else cell


@pytest.mark.slow
def test_a_long_array_stays_within_memory(tmp_path: Path) -> None:
    """An array of 300 MB is read in less than 1 GiB, in a process of its own."""
    path = tmp_path / "long.json"
    with path.open("w") as file:
        file.write("[")
        for at in range(3_000_000):
            file.write(f'{"," if at else ""}\n{{"item": {at // 30}, "rater": "r{at % 30}", "score": {at % 5}, '
                       f'"text": "{"x" * 40}"}}')  # fmt: skip
        file.write("]")
    assert path.stat().st_size > 280e6
    code = (  # ru_maxrss would know the peak of who started it, too
        "import re, sys, plurivox as pv; found = pv.read_ratings(sys.argv[1]); "
        "print(len(found), re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    n_ratings, peak = map(int, done.stdout.split())
    assert n_ratings == 3_000_000
    assert peak < 1 << 20, "in KiB"
