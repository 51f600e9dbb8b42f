"""ZIP archives and folders of files."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping

from exports.record import Case


def archive(files: Mapping[str, str | bytes]) -> bytes:
    """Return a ZIP with these files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return data.getvalue()


ONE, TWO, TEN = "item,rater,score\na,1,4\n", "score,item,rater\n2,a,2\n1,b,2\n", "item,rater,score\nb,10,3\n"
PARTS: dict[str, str | bytes] = {
    "data/part2.csv": TWO, "data/part10.csv": TEN, "data/part1.csv": ONE, "README.md": "Read me.", "plot.png": b"\x89",
}  # fmt: skip
RATED = (("a", "1", "4"), ("a", "2", "2"), ("b", "10", "3"), ("b", "2", "1"))
STATES = {
    f"u{who}/state.json": json.dumps(
        [{"item": "a", "rater": f"u{who}", "score": who} | ({"late": True} if who else {})]
    )
    for who in range(3)
}
LOCKED = bytearray(archive({"a.csv": ONE}))
LOCKED[6] |= 1  # says that it is encrypted, in both of its heads
LOCKED[LOCKED.find(b"PK\x01\x02") + 8] |= 1
CASES = [
    Case(
        "zip", "plain", "one.zip", archive({"study/ratings.csv": ONE + "b,1,1\n"}),
        ratings=(("a", "1", "4"), ("b", "1", "1")),
    ),
    Case("zip", "plain", "parts.zip", archive(PARTS), ratings=RATED),
    Case("zip", "plain", "folder", PARTS, ratings=RATED),
    Case(
        "zip", "awkward", "states", {**STATES, ".DS_Store": b"\0", "__MACOSX/u1/state.json": b"\0\5"},
        ratings=(("a", "u0", "0"), ("a", "u1", "1"), ("a", "u2", "2")),
    ),
    Case(
        "zip", "awkward", "climbing.zip", archive({"../../a.csv": ONE, "/etc/b.csv": TEN, "__MACOSX/._a.csv": b"\0"}),
        ratings=(("a", "1", "4"), ("b", "10", "3")),
    ),
    Case(
        "zip", "broken", "different.zip", archive({"ratings.csv": ONE, "raters.csv": "rater,age\n1,30\n"}),
        error=("different.zip", "2 tables with different columns", "raters.csv (rater, age)",
               "Name one of them: ", "different.zip::ratings.csv"),
    ),
    Case("zip", "broken", "cut.zip", archive(PARTS)[:-40], error=("cut.zip", "the ZIP is damaged or cut off")),
    Case("zip", "broken", "nested.zip", archive({"inner.zip": archive(PARTS)}), error=("nested.zip", "Unpack it")),
    Case("zip", "broken", "locked.zip", bytes(LOCKED), error=("locked.zip", "it is encrypted")),
    Case(
        "zip", "broken", "bare.zip", archive({"README.md": "x"}),
        error=("bare.zip", "it contains no table (README.md)"),
    ),
    Case(
        "zip", "broken", "row.zip", archive({"a.csv": ONE, "b.csv": ONE.replace("1,4", "2,x y")}),
        given={"scale": "1:5"}, error=("row.zip", "b.csv row 2", "'x y' is not a point"),
    ),
]  # fmt: skip
