"""The byte-level reader against the coder that takes text column by column."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_series_equal

from plurivox.intake.code import Coded, Coder
from plurivox.kernels import delimited
from plurivox.kernels.delimited import MAX_LINE, code_columns

Rows = list[list[str]]

DELIMITERS = ",;\t|"
TEXT = st.text(st.characters(codec="utf-8", exclude_characters=DELIMITERS + '"\r\n'), max_size=20)
WHOLE = st.integers(-12, 12) | st.integers(-(2**63), 2**63 - 1)
ODD_NUMBERS = st.sampled_from(["007", "-0", "+5", " 5", "1e3", "2.0", str(2**63), str(-(2**63) - 1)])
# Values that agree in their first words, or differ only in zeros at the end.
ALIKE = st.tuples(st.integers(0, 17), st.sampled_from(["", "a", "b", "\0"])).map(lambda p: "x" * p[0] + p[1])
COLUMN = st.sampled_from([WHOLE.map(str), WHOLE.map(str) | ODD_NUMBERS, TEXT, TEXT | st.just(""), ALIKE])


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    """Draw rows of 1 to 5 columns, each column of its own kind; a line is never blank."""
    columns = draw(st.lists(COLUMN, min_size=1, max_size=5))
    n_rows = draw(st.integers(0, 30))
    drawn = [draw(st.lists(values, min_size=n_rows, max_size=n_rows)) for values in columns]
    return [list(row) for row in zip(*drawn, strict=True) if len(row) > 1 or row != ("",)]


def written(rows: Rows, delimiter: str, ends: Sequence[str], *, last_end: bool, bom: bool = False) -> bytes:
    """Return the bytes of a file; line ends are taken in turn."""
    lines = [delimiter.join(row) for row in rows]
    text = "".join(line + ends[i % len(ends)] for i, line in enumerate(lines))
    text = text if last_end else text.removesuffix("\n").removesuffix("\r")
    return (b"\xef\xbb\xbf" if bom else b"") + text.encode()


def code(content: bytes, delimiter: str, n_columns: int, wanted: Sequence[int], **options: Any) -> list[Coded] | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(content)
        return code_columns(str(path), delimiter, n_columns, wanted, **options)


def by_coder(column: Sequence[str]) -> Coded:
    coder = Coder(text=True)
    coder.add(pl.Series(column, dtype=pl.String))
    return coder.finish()


def assert_same(found: list[Coded] | None, expected: list[Coded]) -> None:
    assert found is not None
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert_series_equal(one.values, other.values)
        np.testing.assert_array_equal(one.codes, other.codes)
        assert one.codes.dtype == np.min_scalar_type(-len(one.values) - 1)


@given(tables(), st.data())
def test_against_coder(rows: Rows, data: st.DataObject) -> None:
    n_columns = len(rows[0]) if rows else 2
    header = [f"c{i}" for i in range(n_columns)]
    delimiter = data.draw(st.sampled_from(DELIMITERS))
    ends = data.draw(st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"]]))
    last_end, bom = data.draw(st.booleans()), data.draw(st.booleans())
    content = written([header, *rows], delimiter, ends, last_end=last_end, bom=bom)
    wanted = data.draw(st.lists(st.integers(0, n_columns - 1), max_size=n_columns))
    block, parts = data.draw(st.integers(1, 300)), data.draw(st.integers(1, 4))
    found = code(content, delimiter, n_columns, wanted, block=block, parts=parts)
    assert_same(found, [by_coder([row[column] for row in rows]) for column in wanted])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_cut_at_every_place(end: str) -> None:
    rows = [["item_1", "é", "-3"], ["", "annotator-00000017", "12"], ["item_1", "𝄞𝄞", "12"], ["i", "", ""]] * 3
    content = written([["a", "b", "c"], *rows], ",", [end], last_end=False)
    expected = [by_coder([row[column] for row in rows]) for column in range(3)]
    for block in range(1, len(content) + 2):
        for parts in (1, 2, 3):
            assert_same(code(content, ",", 3, [0, 1, 2], block=block, parts=parts), expected)


def test_tables_grow() -> None:
    rng = np.random.default_rng(5)
    names = [f"{'y' * (i % 40)}{i}" for i in range(9_000)]
    rows = [[names[i], str(i * 10_007), str(i % 3)] for i in rng.integers(0, len(names), 30_000)]
    rows.insert(20_000, ["z" * 200_000, "-1", "0"])  # longer than a block, and than the table so far
    content = written([["a", "b", "c"], *rows], ",", ["\n"], last_end=True)
    expected = [by_coder([row[column] for row in rows]) for column in range(3)]
    for parts in (1, 2, 5):
        assert_same(code(content, ",", 3, [0, 1, 2], parts=parts, block=1 << 14), expected)


def test_file_is_cut_into_parts_by_itself(tmp_path: Path) -> None:
    rows = [[f"item-{i % 1000:04}", str(i % 77)] for i in range(500_000)]
    path = tmp_path / "large.csv"
    path.write_bytes(written([["item", "rater"], *rows], ",", ["\n"], last_end=True))
    assert path.stat().st_size > delimited._LEAST_PART
    assert_same(code_columns(str(path), ",", 2, [1, 0]), [by_coder([row[i] for row in rows]) for i in (1, 0)])


def test_values_that_collide_are_told_apart() -> None:
    # All differ in one byte only, at each place in turn: a weak hash would put them into few slots.
    base = "annotator-00000000-of-many"
    values = [base[:i] + chr(c) + base[i + 1 :] for i in range(len(base)) for c in range(0x30, 0x7B)]
    content = written([["a"], *([value] for value in values)], ",", ["\n"], last_end=True)
    assert_same(code(content, ",", 1, [0]), [by_coder(values)])


@pytest.mark.parametrize("content", [b"a,b", b"a,b\n", b"\xef\xbb\xbfa,b\r\n"])
def test_header_alone_gives_no_rows(content: bytes) -> None:
    found = code(content, ",", 2, [0, 1])
    assert found is not None
    assert [(len(values), codes.tolist()) for values, codes in found] == [(0, []), (0, [])]


def test_nothing_wanted_is_still_checked() -> None:
    assert code(b"a,b\n1,2\n", ",", 2, []) == []
    assert code(b"a,b\n1\n", ",", 2, []) is None


IRREGULAR = {
    "empty file": b"",
    "blank header": b"\n1,2\n",
    "blank header with mark": b"\xef\xbb\xbf\n1,2\n",
    "header too short": b"a\n1,2\n",
    "header too long": b"a,b,c\n1,2\n",
    "quote in header": b'"a",b\n1,2\n',
    "quoted field": b'a,b\n1,2\n"3",4\n',
    "quote within": b'a,b\n1,2\n3,4"5\n',
    "quote in carriage-return file": b'a,b\r\n1,2\r\n3,"4"\r\n',
    "line too short": b"a,b\n1,2\n3\n4,5\n",
    "line too long": b"a,b\n1,2\n3,4,5\n6,7\n",
    "short and long make up": b"a,b\n1,2\n3\n4,5,6\n",
    "last line too short": b"a,b\n1,2\n3",
    "last line too long": b"a,b\n1,2\n3,4,5",
    "blank line": b"a,b\n1,2\n\n3,4\n",
    "blank line at the end": b"a,b\n1,2\n\n",
    "blank line at the end, with return": b"a,b\r\n1,2\r\n\r\n",
    "blank first line": b"a,b\n\n1,2\n",
    "old Mac": b"a,b\r1,2\r3,4\r",
    "old Mac after the header": b"a,b\n1,2\r3,4\r",
    "bare return within": b"a,b\n1,2\r3\n4,5\n",
    "bare return before a delimiter": b"a,b\n1\r,2\n4,5\n",
    "two returns": b"a,b\r\n1,2\r\r\n",
    "return at the very end": b"a,b\n1,2\r",
    "not UTF-8": b"a,b\n1,2\n\xe9t\xe9,4\n",
    "cut UTF-8": b"a,b\n1,2\n\xc3,4\n",
    "encoded surrogate": b"a,b\n1,2\n\xed\xa0\x80,4\n",
}


@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("content", IRREGULAR.values(), ids=IRREGULAR.keys())
def test_irregular_is_refused(content: bytes, parts: int) -> None:
    for block in (1, 5, 1 << 18):
        assert code(content, ",", 2, [0, 1], block=block, parts=parts) is None


@pytest.mark.parametrize("content", [b"a\n1\n\n2\n", b"a\n1\n\n", b"a\n\n", b"a\r\n1\r\n\r\n", b"\n1\n"])
def test_blank_line_of_one_column_is_refused(content: bytes) -> None:
    for block in (1, 1 << 18):
        assert code(content, ",", 1, [0], block=block) is None


def test_text_of_unwanted_columns_is_not_checked() -> None:
    assert_same(code(b"a,b\n1,\xff\n2,\xfe\n", ",", 2, [0]), [by_coder(["1", "2"])])


@pytest.mark.parametrize("delimiter", ["", '"', "\n", "\r", "§", ",,"])
def test_delimiter_that_is_not_one_plain_byte_is_refused(delimiter: str) -> None:
    assert code(b"a,b\n1,2\n", delimiter, 2, [0]) is None


@pytest.mark.parametrize("parts", [1, 2])
def test_overlong_line_is_refused(parts: int) -> None:
    fits = b"x" * (MAX_LINE - len(b",2\n"))
    assert_same(code(b"a,b\n" + fits + b",2\n", ",", 2, [1], parts=parts), [by_coder(["2"])])
    assert code(b"a,b\n" + fits + b"x,2\n", ",", 2, [1], parts=parts) is None
    assert code(b"a" + fits + b",b\n1,2\n", ",", 2, [1], parts=parts) is None


def test_more_text_than_fits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"a,b\n" + b"".join(b"%d,%d\n" % (i, i) for i in range(2000))
    monkeypatch.setattr(delimited, "_MOST_TEXT", 1000)
    assert code(content, ",", 2, [0]) is None
    monkeypatch.undo()
    monkeypatch.setattr(delimited, "_MOST_WORDS", 1000)
    assert code(content, ",", 2, [0]) is None
