"""Tables of SQLite and DuckDB: a database is opened read-only and becomes a table of text, in blocks of rows."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from plurivox.base.errors import FileError, MissingExtraError, few
from plurivox.base.wording import counted
from plurivox.domain.raw import ROWS, RawTable, frame_of_cells, refuse_columns
from plurivox.read.opening import ANSWERS, INSIDE, Opened, likely

MAX_SECONDS = 60.0
"""How long a table may take to return its next rows; only a view, which computes them, can take long."""
_STEPS = 100_000  # of SQLite's machine, between two looks at the clock
_WAIT = 5.0
_HEAD, _CHECKED = 100, 1 << 28  # bytes of the head; databases up to this size are checked page by page
_MEMORY = "1GiB"
_MAX_VALUE = 1 << 24
Fetch = Callable[[int], list[Sequence[Any]]]


def read_database(opened: Opened, inside: str | None, stack: contextlib.ExitStack) -> RawTable:
    """Read the only table of a database, or the named table or view."""
    if opened.path is None:
        raise FileError(
            "a database can only be read from a file of its own", source=opened.name,
            hint="Unpack or save it, then give that file.",
        )  # fmt: skip
    return (_sqlite if opened.kind == "sqlite" else _duckdb)(opened, opened.path, inside, stack)


def _chosen(tables: Sequence[str], views: Sequence[str], inside: str | None, name: str) -> tuple[str, str]:
    """Return the table to read, and what it is called in messages."""
    if inside is None and len(tables) == 1:
        return tables[0], name
    if inside is not None:
        same = [one for one in (*tables, *views) if one == inside]
        same = same or [one for one in (*tables, *views) if one.casefold() == inside.casefold()]
        if same:
            return same[0], f"{name}{INSIDE}{same[0]}"
    there = [*tables, *views] if inside is not None or not tables else list(tables)
    if not there:
        raise FileError("it contains no table", source=name, hint="Check that it is the right file.")
    held = f"{counted(len(there), 'table')}: {few(there)}"
    problem = f"it contains {held}" if inside is None else f"it has no table '{inside}'; it contains {held}"
    raise FileError(problem, source=name, hint=f"Name one of them: {name}{INSIDE}{likely(there)}.")


def _table(opened: Opened, called: str, columns: Sequence[str], fetch: Fetch, readable: Any) -> RawTable:
    """Return a table whose rows are fetched block by block."""
    columns = list(columns)
    refuse_columns(len(columns), called)
    twice = next((one for place, one in enumerate(columns) if one in columns[:place]), None)
    if twice is not None:
        raise FileError(f"two columns are named '{twice}'", source=called, hint="Rename one of them in the view.")

    def pieces() -> Iterator[pl.DataFrame]:
        n_rows = max(1, min(ROWS, (1 << 20) // len(columns)))
        while True:
            with readable(called):
                rows = fetch(n_rows)
            if not rows:
                return
            yield frame_of_cells(columns, rows)

    return RawTable(called, columns, pieces(), text=True, size=opened.size)


# SQLite --------------------------------------------------------------------------------------------------------------


def _sqlite(opened: Opened, path: str, inside: str | None, stack: contextlib.ExitStack) -> RawTable:
    name = opened.name
    end = time.monotonic() + MAX_SECONDS  # stops a computation that does not end
    with _sqlite_readable(name):
        # Unless a log of changes lies next to the file, no other file is touched or made.
        target = Path(os.path.realpath(path))
        changing = any(os.path.exists(f"{target}{end_of_log}") for end_of_log in ("-wal", "-journal"))
        uri = f"{target.as_uri()}?mode=ro{'' if changing else '&immutable=1'}"
        # Blocks are fetched in a thread that works ahead, one at a time.
        connected = sqlite3.connect(uri, timeout=_WAIT, isolation_level=None, check_same_thread=False, uri=True)
        connection = stack.enter_context(contextlib.closing(connected))
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
        for setting in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}")
        if connection.execute("PRAGMA application_id").fetchone()[0] == ANSWERS:
            raise FileError(
                "it is a store of answers that plurivox ask wrote, not ratings", source=name,
                hint="Give it to plurivox align with --answers, or look at it with plurivox answers.",
            )  # fmt: skip
        _refuse_damage(connection, opened)
        known = connection.execute(
            "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY rowid"
        )
        there = [(kind, str(one)) for kind, one in known.fetchall() if not str(one).startswith("sqlite_")]
    tables, views = ([one for kind, one in there if kind == wanted] for wanted in ("table", "view"))
    chosen, called = _chosen(tables, views, inside, name)
    with _sqlite_readable(called):
        cursor = connection.execute(f"SELECT * FROM {_quoted(chosen)}")  # noqa: S608 - a name from the schema, quoted

    def fetch(n_rows: int) -> list[Sequence[Any]]:
        nonlocal end
        end = time.monotonic() + MAX_SECONDS
        return cursor.fetchmany(n_rows)

    return _table(opened, called, [one[0] for one in cursor.description], fetch, _sqlite_readable)


def _refuse_damage(connection: sqlite3.Connection, opened: Opened) -> None:
    """Raise an error if pages are missing or damaged: SQLite silently reads missing ones as zeros."""
    head = opened.stream.peek(_HEAD)[:_HEAD]  # type: ignore[attr-defined]
    page, n_pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
    is_told = head[24:28] == head[92:96]  # the number of pages is that of the last change
    whole = not is_told or n_pages * (65536 if page == 1 else page) <= opened.size()
    if whole and opened.size() <= _CHECKED:
        whole = connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
    if not whole:
        raise FileError(
            "the database is damaged or cut off", source=opened.name, hint="Download it again, or save what 'sqlite3 "
            "FILE .recover' finds.",
        )  # fmt: skip


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextlib.contextmanager
def _sqlite_readable(name: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_INTERRUPT:
            raise _endless(name) from None
        if code == sqlite3.SQLITE_BUSY:
            raise FileError("another program has locked it", source=name, hint="Close that program.") from None
        damaged = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        what = "the database is damaged, cut off or encrypted" if damaged else "the table cannot be read"
        raise FileError(f"{what} ({error})", source=name, hint="Check it with sqlite3, or export it as CSV.") from None
    except UnicodeError:
        raise FileError("a name in it is not UTF-8", source=name, hint="Export it as CSV.") from None


def _endless(name: str) -> FileError:
    return FileError(
        f"no further rows came within {MAX_SECONDS:g} seconds", source=name,
        hint="If it is a view that never ends or is slow, store its rows as a table.",
    )  # fmt: skip


# DuckDB --------------------------------------------------------------------------------------------------------------


def _duckdb(opened: Opened, path: str, inside: str | None, stack: contextlib.ExitStack) -> RawTable:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError(f"{opened.name}: DuckDB is not installed", "duckdb") from None
    name = opened.name

    @contextlib.contextmanager
    def readable(called: str) -> Iterator[None]:
        try:
            yield
        except duckdb.InterruptException:
            raise _endless(called) from None
        except (duckdb.Error, RuntimeError, UnicodeError) as error:
            first = (str(error).strip() or "unknown error").splitlines()[0]
            raise FileError(
                f"the database is damaged, of another version, or cannot be read ({first})", source=called,
                hint="Check it with duckdb, or export it as CSV.",
            ) from None  # fmt: skip

    settings: dict[str, Any] = {
        "enable_external_access": "false", "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false", "lock_configuration": "true", "memory_limit": _MEMORY, "threads": "2",
    }  # fmt: skip
    with readable(name):
        connection = stack.enter_context(
            contextlib.closing(duckdb.connect(os.path.realpath(path), read_only=True, config=settings))
        )
        known = connection.execute(
            "SELECT table_type, table_schema, table_name FROM information_schema.tables "
            "WHERE table_catalog = current_database() ORDER BY ALL"
        ).fetchall()
    names = {
        (one if schema == "main" else f"{schema}.{one}"): (kind, f"{_quoted(schema)}.{_quoted(one)}")
        for kind, schema, one in known
    }
    views = [one for one, (kind, _) in names.items() if kind == "VIEW"]
    chosen, called = _chosen([one for one in names if one not in views], views, inside, name)
    with readable(called), _interrupting(connection):
        cursor = connection.execute(f"SELECT * FROM {names[chosen][1]}")  # noqa: S608 - a name from the schema, quoted

    def fetch(n_rows: int) -> list[Sequence[Any]]:
        with _interrupting(connection):
            return list(cursor.fetchmany(n_rows))

    return _table(opened, called, [one[0] for one in cursor.description], fetch, readable)


@contextlib.contextmanager
def _interrupting(connection: Any) -> Iterator[None]:
    """Stop a query that takes too long, from another thread: again and again, since it may not have begun."""
    import threading

    done = threading.Event()

    def watch() -> None:
        wait = MAX_SECONDS
        while not done.wait(wait):
            connection.interrupt()
            wait = 0.1

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
