"""Databases of SQLite and DuckDB, written by the programs themselves."""

from __future__ import annotations

import importlib.util
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exports.record import Case

TABLE = "CREATE TABLE ratings (item VARCHAR, rater INTEGER, score DOUBLE)"
ROWS = "INSERT INTO ratings VALUES ('007', 1, 4.0), ('007', 2, 2.0), ('8', 1, NULL)"
OTHER = "CREATE TABLE raters (rater INTEGER, age INTEGER)"
VIEW = "CREATE VIEW rated AS SELECT * FROM ratings WHERE score IS NOT NULL"
RATINGS = (("007", "1", "4"), ("007", "2", "2"))


def made(connect: Callable[[str], Any], *statements: str) -> bytes:
    """Return the bytes of a database after some statements."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made")
        connection = connect(str(path))
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()
        return path.read_bytes()


def cases_of(kind: str, connect: Callable[[str], Any], ending: str) -> list[Case]:
    """Return the same cases of either kind."""
    begin = ("BEGIN TRANSACTION",) if kind == "duckdb" else ()
    one = made(connect, *begin, TABLE, ROWS)
    several = made(connect, *begin, TABLE, ROWS, OTHER, VIEW)
    none = made(
        connect, *begin, TABLE, "DROP TABLE ratings", VIEW.replace("ratings WHERE score IS NOT NULL", "(SELECT 1)")
    )
    return [
        Case(kind, "plain", f"study.{ending}", one, ratings=RATINGS),
        Case(kind, "awkward", f"view.{ending}", made(connect, *begin, TABLE, ROWS, VIEW), ratings=RATINGS),
        Case(
            kind, "broken", f"several.{ending}", several,
            error=(f"several.{ending}", "it contains 2 tables: ", "raters", "Name one of ", f"several.{ending}::ra"),
        ),
        Case(kind, "broken", f"none.{ending}", none, error=(f"none.{ending}", "rated")),
        Case(
            kind, "broken", f"cut.{ending}", one[: len(one) // 2 + 100],
            error=(f"cut.{ending}", "the database is damaged"),
        ),
    ]  # fmt: skip


CASES = cases_of("sqlite", sqlite3.connect, "db")
if importlib.util.find_spec("duckdb"):  # an extra
    CASES += cases_of("duckdb", importlib.import_module("duckdb").connect, "duckdb")
