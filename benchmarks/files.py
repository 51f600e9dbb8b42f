"""How long plurivox takes to read the same ratings from each kind of file, and how much memory, compared with CSV.

``python -m benchmarks.files [ROWS]``. Every file is read in a process of its own. "over" is the peak memory beyond that
of a process that only imports plurivox.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import polars as pl

PER_ITEM, N_RATERS = 10, 500
_READ = """
import json, re, sys, time
from plurivox.read.read import read_ratings
from plurivox.read import excel, databases, members
def most():  # of this program; ru_maxrss knows that of who started it, too
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
before = most()
start = time.perf_counter()
n = len(read_ratings(sys.argv[1], scale="0:4"))
print(json.dumps({"seconds": time.perf_counter() - start, "over": (most() - before) / 1024, "n": n}))
"""


def make(n_rows: int) -> pl.DataFrame:
    """Return ratings with ids, a score, a time and a text."""
    rng = np.random.default_rng(0)
    item = np.repeat(np.arange(-(-n_rows // PER_ITEM)), PER_ITEM)[:n_rows]
    rater = (np.arange(n_rows) + item) % N_RATERS
    return pl.DataFrame({
        "item": item, "rater": rater, "score": rng.integers(0, 5, n_rows), "seconds": rng.integers(1, 90, n_rows),
        "batch": item % 7, "text": [f"text of item {one}" for one in item.tolist()],
    })  # fmt: skip


def write_workbook(frame: pl.DataFrame, path: Path) -> None:
    """Write a workbook with one sheet, as little of it as the format asks for."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType='
        '"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" Type='
        f'"{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="Ratings" sheetId="1" '
        'r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" Type='
        f'"{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    }  # fmt: skip
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name, text)
        with file.open("xl/worksheets/sheet1.xml", "w") as sheet:
            sheet.write(f'<worksheet xmlns="{main}"><sheetData>'.encode())
            for at, row in enumerate([tuple(frame.columns), *frame.iter_rows()], 1):
                cells = "".join(_cell(f"{chr(65 + column)}{at}", value) for column, value in enumerate(row))
                sheet.write(f'<row r="{at}">{cells}</row>'.encode())
            sheet.write(b"</sheetData></worksheet>")


def _cell(place: str, value: object) -> str:
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def write_sqlite(frame: pl.DataFrame, path: Path) -> None:
    """Write a database with one table."""
    import sqlite3

    with sqlite3.connect(path) as connection:
        connection.execute(f"create table ratings ({', '.join(frame.columns)})")
        holes = ", ".join("?" * frame.width)
        connection.executemany(f"insert into ratings values ({holes})", frame.iter_rows())
    connection.close()


def write_duckdb(frame: pl.DataFrame, path: Path) -> None:
    """Write a database with one table."""
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.register("given", frame.to_arrow())
        connection.execute("create table ratings as select * from given")


def write_zip(frame: pl.DataFrame, path: Path) -> None:
    """Write an archive with one CSV file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("ratings.csv", frame.write_csv())


def write_tasks(frame: pl.DataFrame, path: Path) -> None:
    """Write what Label Studio exports: a task for each item, with its annotations."""
    tasks = []
    for (item,), rows in frame.group_by("item", maintain_order=True):
        annotations = [
            {"id": at, "completed_by": rater, "was_cancelled": False,
             "result": [{"from_name": "severity", "type": "rating", "value": {"rating": score}}]}
            for at, (rater, score) in enumerate(rows.select("rater", "score").iter_rows())
        ]  # fmt: skip
        data = {"item": item, "text": rows["text"][0]}
        tasks.append({"id": item, "data": data, "annotations": annotations, "drafts": [], "predictions": []})
    path.write_text(json.dumps(tasks))


KINDS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "ratings.csv": lambda frame, path: frame.write_csv(path),
    "ratings.jsonl": lambda frame, path: frame.write_ndjson(path),
    "ratings.json": lambda frame, path: frame.write_json(path),
    "ratings.parquet": lambda frame, path: frame.write_parquet(path),
    "ratings.arrow": lambda frame, path: frame.write_ipc(path),
    "ratings.zip": write_zip,
    "ratings.xlsx": write_workbook,
    "ratings.sqlite": write_sqlite,
    "ratings.duckdb": write_duckdb,
    "tasks.json": write_tasks,
}


def main() -> None:
    """Write each kind of file, read it, and print how long that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=1_000_000)
    frame = make(parser.parse_args().rows)
    print(f"{frame.height:,} ratings, {frame.width} columns\n")
    print(f"{'file':<18}{'MiB':>8}{'seconds':>10}{'× CSV':>8}{'MiB over':>10}")
    first = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, write in KINDS.items():
            path = Path(folder) / name
            write(frame, path)
            done = subprocess.run([sys.executable, "-c", _READ, str(path)], capture_output=True, text=True, check=True)
            found = json.loads(done.stdout)
            assert found["n"] == frame.height, (name, found)
            first = first or found["seconds"]
            print(
                f"{name:<18}{path.stat().st_size / 2**20:>8.1f}{found['seconds']:>10.2f}"
                f"{found['seconds'] / first:>8.1f}{found['over']:>10.0f}"
            )
            path.unlink()


if __name__ == "__main__":
    main()
