"""The files: each is made anew, is small, always the same, and says what becomes of it."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from plurivox.read.opening import _zstd

MIB = 1 << 20
HEAD = "item,rater,score\n"
ROWS = [(f"i{item}", f"r{rater}", (item * 7 + rater * 3) % 5) for item in range(8) for rater in range(8)]
GOOD = HEAD + "".join(f"{item},{rater},{score}\n" for item, rater, score in ROWS)
LINE = json.dumps({"item": 1, "rater": "a", "score": 3}) + "\n"
DIGITS = "7" * 5_000
DEEP = 100_000
TABLE: dict[str, Any] = {"item": [1, 2, 3, 4], "rater": ["a", "b", "c", "d"], "score": [0, 1, 2, 3]}


@dataclass(frozen=True)
class Case:
    """A file: its name, whose ending tells the format, its content, a piece of the error of ``describe``, options.

    Without an error the file is read as it is. What cannot be read as any table is bad ``anywhere`` a table is taken.
    """

    name: str
    content: str | bytes | Callable[[], bytes]
    error: str | None
    options: tuple[str, ...] = ()
    anywhere: bool = False

    def data(self) -> bytes:
        """Return the bytes."""
        content = self.content
        return content.encode() if isinstance(content, str) else content if isinstance(content, bytes) else content()


def texts() -> Iterator[Case]:
    """Yield damaged CSV, TSV and JSON lines."""

    def bad(name: str, content: str | bytes, error: str) -> Case:
        return Case(name, content, error, anywhere=True)

    yield bad("return-in-header.csv", "item,ra\rter,score\n1,a,2\n", "row 1: the header contains a carriage return")
    yield bad("mixed-line-ends.csv", "item,rater,score\r1,a,2\r\n2,a,3\n", "the header contains a carriage return")
    yield bad("quote-in-header.csv", 'item,"rater,score\n' + GOOD, "a quotation mark in the header is not closed")
    yield bad("one-quote.csv", '"', "a quotation mark in the header is not closed")
    yield bad("blank.csv", "\n", "")
    yield bad("mark-only.csv", b"\xef\xbb\xbf", "")
    yield bad("many-columns.csv", ",".join(f"c{i}" for i in range(50_000)) + "\n" + "1," * 50_000, "50,000 columns")
    yield bad("same-columns.csv", ",".join(["c"] * 9_000) + "\n", "two columns are named 'c'")
    yield bad("not-text.csv", random.Random(1).randbytes(5_000), "")
    yield bad("zeros.csv", bytes(17 * MIB), "")
    yield bad("deep-list.jsonl", '{"item":' + "[" * DEEP + "]" * DEEP + "}\n", "row 1: its lists or objects are nested")
    yield bad("deep-object.jsonl", '{"item":' * DEEP, "row 1: its lists or objects are nested too deeply")
    yield bad("no-keys.jsonl", "{}\n{}\n", "its lines have no keys")
    yield bad("blank.jsonl", "\n \n", "")
    yield bad("null.jsonl", "null\n", "row 1: the line is not an object")
    yield bad("cut-off.jsonl", LINE + '{"item": 1, "ra', "row 2: the line is not JSON")
    yield bad("many-digits-cut-off.jsonl", f'{{"item": {DIGITS}}}\n{{"item": \n', "row 2: the line is not JSON")
    keys = "".join(f'{{"item": {i}, "rater": "a", "score": 1, "k{i}": 1}}\n' for i in range(20_000))
    yield bad("new-keys.jsonl", keys, "at least 10,001 columns, but at most 10,000 can be read")
    sparse = json.dumps({f"k{i}": 1 for i in range(2_000)}) + "\n" + LINE * 20_000
    yield bad("sparse-keys.jsonl", sparse, "make an almost empty table")
    yield Case("long-name.csv", HEAD.strip() + f",{'x' * 200_000}\n1,a,1,x\n2,a,2,y\n", None)
    yield Case("line-end-in-name.csv", 'item,"ra\nter",score\n1,a,2\n2,a,3\n', None)
    yield Case("old-mac.csv", GOOD.replace("\n", "\r"), None)
    yield Case("some-empty.jsonl", LINE + "{}\n", "the item id is missing")
    yield Case(
        "many-digits.jsonl", LINE + f'{{"item": {DIGITS}, "rater": "a", "score": 1}}\n', "row 2: the line cannot be"
    )
    yield Case("lone-surrogate.jsonl", LINE + '{"item": "\\ud800", "rater": "a", "score": 1}\n', "")
    yield Case("nested-ids.jsonl", '{"item": [1], "rater": {"a": 1}, "score": 1}\n' + LINE, None)


def scores() -> Iterator[Case]:
    """Yield scores and scales that are not what they seem."""
    yield Case("huge-score.csv", GOOD + "x,a,1e400000000\n", "row 66: a score is infinite")
    yield Case("huger-score.csv", GOOD + "x,a,1e999999999999999999999\n", "")
    yield Case("tiny-score.csv", GOOD + "x,a,1e-400000000\n", "")
    yield Case("far-apart.csv", HEAD + "1,a,0.5\n2,a,1e300000\n", "")
    yield Case("many-digits-score.csv", GOOD + f"x,a,{DIGITS}\n", "")
    yield Case("many-digits-id.csv", GOOD + f"{DIGITS},a,1\n", None)
    yield Case("huge-score.jsonl", LINE + '{"item": 2, "rater": "a", "score": 1e400000000}\n', "")
    for text, problem in {
        "0:1e999999": "too many points", "0:1e999999:1e-999999": "too many points", "0:1:1e-999999": "too many points",
        "-1e999999:1e999999": "too many points", "0:1000000": "1,000,001 points, but at most 32,767",
        f"0:{DIGITS}": "too many points", "0,1e999999": "inf", ":": "is not a range", "²:4": "is not a range",
        ",".join(map(str, range(40_000))): "40,000 points, but at most 32,767",
    }.items():  # fmt: skip
        yield Case("scale.csv", GOOD, problem, ("--scale", text))
    yield Case("signs.csv", "item,a,b\nx,--5,2\ny,1,2\n", "", ("--wide",))
    yield Case("superscript.csv", "item,a,b\nx,²,2\ny,1,2\n", "", ("--wide",))
    yield Case("odd-names.csv", "item,--5,²\nx,1,2\ny,1,2\n", None)
    yield Case("huge-cell.csv", "item,a,b\nx,1e400000000,2\ny,1,2\n", "infinite", ("--wide",))
    yield Case("wide-score.csv", "item,score,b\nx,1,2\ny,1,2\n", None, ("--wide",))
    yield Case("wide-rater.csv", "rater,a,score\nx,1,2\ny,1,2\n", None, ("--wide", "--item", "rater"))
    yield Case("called-count.csv", "item,count,b\nx,1,2\ny,1,2\n", None)
    yield Case("totals-count.csv", "item,count,score\nx,1,2\ny,1,2\n", None, ("--totals",))
    yield Case("totals-large.csv", "item,1,2\n" + "".join(f"{i},{2**53},{2**53}\n" for i in range(1_100)),
               "the counts add up to", ("--totals",))  # fmt: skip
    yield Case("totals-infinite.csv", "item,1,2\nx,inf,2\n", "'inf' is not a count", ("--totals",))
    attribute = "item,a,b,score\nx,1,2,3\ny,1,2,3\n"
    called = "an attribute is called 'score'"
    yield Case("attribute.csv", attribute, called, ("--wide", "--item-attributes", "score"))
    yield Case("twice.csv", "item,rater,score,g\n1,a,1,x\n2,a,2,x\n", "the attribute 'g' is named twice",
               ("--rater-attributes", "g,g"))  # fmt: skip
    yield Case("count.csv", "item,rater,score,count\n1,a,1,x\n2,a,2,x\n", "an attribute is called 'count'",
               ("--rater-attributes", "count"))  # fmt: skip


def encodings() -> Iterator[Case]:
    """Yield names of encodings that are none, and text that is in another."""
    for name in ("rot13", "base64", "hex", "bz2", "uu", "quopri", "idna", "punycode", "undefined", "é", "../x"):
        yield Case(f"{name.strip('./')}.csv", GOOD, "is not a known encoding", ("--encoding", name))
    yield Case("half.csv", GOOD.encode("utf-16-le") + b"x", "it is not utf-16-le", ("--encoding", "utf-16-le"))
    yield Case("half-pair.csv", GOOD.encode("utf-16-le") + b"\x00\xd8,\x00", "", ("--encoding", "utf-16-le"))
    yield Case("latin.csv", (GOOD + "é,a,1\n").encode("latin-1"), "byte 0xe9 is not UTF-8")


def parquet(**columns: Any) -> bytes:
    """Return a Parquet file with these columns."""
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out)
    return out.getvalue()


def parquets() -> Iterator[Case]:
    """Yield Parquet files: damaged ones, and columns of every type in every role."""
    whole = parquet(**TABLE)
    yield Case("no-columns.parquet", parquet(), "it has no columns", anywhere=True)
    yield Case("cut-off.parquet", whole[:-10], "damaged or cut off", anywhere=True)
    yield Case("only-magic.parquet", b"PAR1PAR1", "damaged or cut off", anywhere=True)
    yield Case("footer-length.parquet", whole[:-8] + b"\xff\xff\xff\x7fPAR1", "damaged or cut off", anywhere=True)
    kinds: dict[str, Any] = {
        "binary": [b"\xff\x00", b"1", b"2", b"3"], "duration": [dt.timedelta(day) for day in range(4)],
        "date": [dt.date(2000, 1, day) for day in range(1, 5)], "list": [[1], [2], [], [3]],
        "struct": [{"a": at} for at in range(4)], "infinite": [math.inf, 1.0, 2.0, -math.inf],
        "huge": [1e300, 1.0, 2.0, 3.0], "categorical": pl.Series(["a", "b", "c", "d"], dtype=pl.Categorical),
        "array": pl.Series([[at, at] for at in range(4)], dtype=pl.Array(pl.Int64, 2)),
    }  # fmt: skip
    for kind, values in kinds.items():
        for role in ("item", "rater"):
            yield Case(f"{kind}-{role}.parquet", parquet(**{**TABLE, role: values}), None)
        yield Case(f"{kind}-score.parquet", parquet(**{**TABLE, "score": values}), "")
        yield Case(f"{kind}-attribute.parquet", parquet(**TABLE, g=values), None, ("--rater-attributes", "g"))
        wide = {"item": [1, 2, 3, 4], "1": values, "2": [1, 2, 3, 4]}
        yield Case(f"{kind}-wide.parquet", parquet(**wide), "", ("--wide",))
        yield Case(f"{kind}-totals.parquet", parquet(**wide), "is not a count", ("--totals",))


def packed() -> Iterator[Case]:
    """Yield compressed files that are damaged, packed twice, or of which far more comes out than went in."""

    def gz(unit: bytes, times: int, start: str = "") -> Callable[[], bytes]:
        """Pack a unit once, since packed files may be joined."""
        return lambda: gzip.compress(start.encode(), mtime=0) + gzip.compress(unit, mtime=0) * times

    two = HEAD + "1,a,3\n2,a,1\n"
    yield Case("newlines.csv.gz", gz(b"\n" * MIB, 2_000, two), "more than 1,048,576 blank lines", anywhere=True)
    yield Case("newlines.jsonl.gz", gz(b"\n" * MIB, 2_000, LINE), "more than 1,048,576 blank lines", anywhere=True)
    yield Case("returns.csv.gz", gz(b"\r" * MIB, 1_000, two), "more than 1,048,576 blank lines", anywhere=True)
    yield Case("spaces.csv.gz", gz(b" " * MIB, 1_000, two), "longer than 16 MiB", anywhere=True)
    yield Case("twice.csv.gz.gz", gzip.compress(gzip.compress(GOOD.encode())), "starts like a gzip file", anywhere=True)
    yield Case("twice.csv.zst", _zstd().compress(gzip.compress(GOOD.encode())), "like a gzip file", anywhere=True)
    yield Case("cut-off.csv.zst", lambda: _zstd().compress(GOOD.encode())[:-9], "damaged or cut off", anywhere=True)
    yield Case("not-gzip.csv.gz", b"\x1f\x8b" + bytes(100), "damaged or cut off", anywhere=True)


def bombs() -> Iterator[Case]:
    """Yield files of which far more comes out than went in, and which take a second or more to refuse."""
    same = gzip.compress(b"1,a,3\n" * (MIB // 6), mtime=0) * 400
    yield Case("rows.csv.gz", gzip.compress(HEAD.encode()) + same, "cells, too many for a file of")
    empty = gzip.compress(b",,\n" * (MIB // 3)) * 1_000
    yield Case("commas.csv.gz", gzip.compress(HEAD.encode()) + empty, "it has more than 1,048,576 blank lines")
    rows = (b"1,a," + b"x" * 9_000 + b"\n") * 460
    long = _zstd().compress(HEAD.encode()) + _zstd().compress(rows) * 400
    yield Case("long-rows.csv.zst", long, "it unpacks to more than 1,024 MiB, at least 200 times its size")
    n = 20_000_000
    column = pl.repeat(1, n, dtype=pl.Int8, eager=True)
    yield Case(
        "rows.parquet.zst", _zstd().compress(parquet(item=column, rater=column, score=column)), "60,000,000 cells"
    )


def cases() -> list[Case]:
    """Return all files but those that take long."""
    return [*texts(), *scores(), *encodings(), *parquets(), *packed()]
