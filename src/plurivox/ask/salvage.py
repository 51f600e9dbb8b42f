"""Damaged stores: detecting the damage, and reading past it.

A page of the file that cannot be read costs only the answers on it: the others are read one by one, by their numbers,
into a separate store.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from plurivox.ask.database import SCHEMA

_FEW = 200
# A text as long as our times that is not a time. The length is stored apart from the text.
_DATE = "-".join("[0-9]" * n for n in (4, 2, 2))
_UNSOUND = f"length(CAST(asked_at AS BLOB)) = 25 AND NOT asked_at GLOB '{_DATE}*'"
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOTADB})


class Salvaged(NamedTuple):
    """What could be read, as a store that lives as long as its connection, and what could not."""

    connection: sqlite3.Connection
    n_read: int
    n_lost: int
    sure: bool  # whether exactly this many are lost, not at most
    knows_question: bool


def damage_in(connection: sqlite3.Connection) -> str:
    """Return what is wrong with a file, mostly in SQLite's words; empty if nothing.

    SQLite keeps no checksums that would show a changed text. If the last page of a long answer holds something else,
    the time at its end shows it.
    """
    try:
        found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
        if found != ["ok"]:
            return " ".join(found[0].replace("*** in database main ***", "").split())
        ((wrong,),) = connection.execute(f"SELECT count(*) FROM answers WHERE {_UNSOUND}")  # noqa: S608
    except sqlite3.Error as error:
        if not _is_damage(error):
            raise
        return str(error)
    return f"{wrong} answers are not as they were stored" if wrong else ""


def salvage(damaged: sqlite3.Connection) -> Salvaged:
    """Copy all that can be read into a database that is deleted when it is closed."""
    copy = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    copy.executescript(SCHEMA)
    copy.execute("BEGIN")
    knows_question = False
    with _past_damage():
        copy.executemany("INSERT INTO meta VALUES (?, ?)", damaged.execute("SELECT key, value FROM meta").fetchall())
        knows_question = True
    numbers, sure = _numbers(damaged)
    n_lost = 0
    places = ", ".join("?" * len(copy.execute("SELECT * FROM pragma_table_info('answers')").fetchall()))
    for rows, lost in _rows(damaged, numbers):
        copy.executemany(f"INSERT OR IGNORE INTO answers VALUES ({places})", rows)  # noqa: S608
        n_lost += lost
    copy.execute(f"DELETE FROM answers WHERE {_UNSOUND}")  # noqa: S608
    # Future runs need higher numbers than those whose failures are stored, or these would not be asked again.
    copy.execute("INSERT INTO sqlite_sequence SELECT 'runs', max(run) FROM answers")
    copy.execute("COMMIT")
    ((n_read,),) = copy.execute("SELECT count(*) FROM answers")
    return Salvaged(copy, n_read, len(numbers) - n_read if sure else n_lost, sure, knows_question)


def _is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in _DAMAGED or "decode" in str(error)  # the latter is Python's, for bytes that are not text


@contextlib.contextmanager
def _past_damage() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if not _is_damage(error):
            raise


def _numbers(damaged: sqlite3.Connection) -> tuple[Sequence[int], bool]:
    """Return the numbers of all rows, and whether each is known to be one.

    They are in the table and in the index of keys. If both are damaged, there is at most a row for every number up to
    the highest that can be found from either end.
    """
    known: set[int] = set()
    sure = False
    for source in ("FROM answers ORDER BY key", "FROM answers NOT INDEXED ORDER BY rowid"):
        for direction in ("ASC", "DESC"):
            with _past_damage():
                known.update(number for (number,) in damaged.execute(f"SELECT rowid {source} {direction}"))
                sure = True
    return sorted(known) if sure else range(1, max(known, default=0) + 1), sure


def _rows(damaged: sqlite3.Connection, numbers: Sequence[int]) -> Iterator[tuple[list[tuple[object, ...]], int]]:
    """Yield rows, some at a time, and how many of them could not be read."""
    left = iter(numbers)
    while few := list(islice(left, _FEW)):
        with _past_damage():
            between = "SELECT * FROM answers NOT INDEXED WHERE rowid BETWEEN ? AND ?"
            yield damaged.execute(between, (few[0], few[-1])).fetchall(), 0
            continue
        rows, lost = [], 0
        for number in few:
            lost += 1
            with _past_damage():
                rows += damaged.execute("SELECT * FROM answers NOT INDEXED WHERE rowid = ?", (number,)).fetchall()
                lost -= 1
        yield rows, lost
