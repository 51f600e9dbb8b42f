"""Answers of language models, kept in a file so that none is lost and none is asked for twice."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import sqlite3
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

import polars as pl

from plurivox.ask.database import (
    COLUMNS,
    NAME_ANOTHER,
    REFUSED_COLUMNS,
    SMALLEST,
    SQL,
    VERSION,
    Change,
    Stored,
    StoreError,
    alive,
    connect,
    damage_in,
    damaged,
    host_name,
    in_frame,
    make_file,
    plain,
    process,
    salvage,
    target_of,
)
from plurivox.ask.question import Reply, Request
from plurivox.base.errors import DamageWarning, FileError, InputError, PlurivoxError
from plurivox.domain.reader import State
from plurivox.read.opening import ANSWERS

CHUNK = 2_000
FEW = 200  # at a time where texts are read one by one, which may be long
MOST_LOOSE, LONGEST_LOOSE = 100, 2.0  # answers, and seconds, until the log is moved into the file

_REPLACE = SQL["replace"]
_KEEPING_THE_ERROR = _REPLACE.replace(":error", "(SELECT error FROM answers WHERE key = :key)")
_CLAIM = f"""{_KEEPING_THE_ERROR} NOT (state = 'failed' AND run < :run)
    AND NOT (state = 'asking' AND run NOT IN (SELECT id FROM runs)))"""  # noqa: S608 - nothing but text of ours
# A released claim is as before: failed if it had failed, otherwise never asked.
_FAILED_AGAIN = "UPDATE answers SET state = 'failed' WHERE state = 'asking' AND error <> ''"
_FORGOTTEN = "DELETE FROM answers WHERE state = 'asking'"
# A run that was silent for too long may come back with its reply. By then another may have stored an answer, which
# stays, or be asking, in which case an answer is welcome and a failure is not.
_PUT = f"{_REPLACE} run <> :run AND state NOT IN ('asking', 'failed'))"
_PUT_FAILURE = f"{_REPLACE} run <> :run AND state <> 'failed')"
_HOLDS = "SELECT 1 FROM answers WHERE key = ? AND run = ? AND state = 'asking'"
_OTHER = {
    "question": "to another question", "labels": "on another scale", "descriptions": "with other descriptions",
    "templates": "to a prompt of the same name with another template",
}  # fmt: skip
T = TypeVar("T")
_MAY_LACK = ("descriptions", "templates")  # stores did not always hold them, and not every prompt needs them
_OF_REQUEST = ("key", "server", "model", "prompt", "item", "sample", "mode")
_OF_REPLY = ("text", "refusal", "finish", "version", "prompt_tokens", "completion_tokens", "attempts", "seconds")
_OF_READING = ("point", "rule", "span_start", "span_end", "distribution_json", "held", "error")


class Store:
    """A file of answers, which several processes may fill at the same time.

    Every answer is its own transaction: a process that is killed loses none that it had stored. Make one with
    :meth:`open`, or with :meth:`read` to only read it; use it in a ``with`` statement.

    Attributes
    ----------
    path
        The file, as given.
    run
        The number of this run in the file; None if it was opened for reading.

    Examples
    --------
    >>> import tempfile
    >>> request = Request("http://localhost", "small", "plain", "7", 0, (0, 1), ({"role": "user", "content": "Rude?"},))
    >>> with tempfile.TemporaryDirectory() as folder, Store.open(f"{folder}/a.db", {"labels": ["no", "yes"]}) as store:
    ...     claimed = store.claim([request, request])
    ...     stored = store.put(request, Reply("B"), state="answered", point=1)
    ...     len(claimed), store.claim([request]), store.frame()["answer"].to_list()
    (1, [], ['yes'])
    """

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self.path = path
        self.run: int | None = None
        self._connection = connection
        self._lock = threading.RLock()
        self._loose = 0  # answers that are not in the file itself yet
        self._settled_at = time.monotonic()

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], about: Mapping[str, Any] | None = None, *, durable: bool = False,
        create: bool = True,
    ) -> Self:  # fmt: skip
        """Open a store to claim requests and put answers, and register this process as a run of it.

        Parameters
        ----------
        path
            The file.
        about
            What the answers are about: ``{"labels": […], "question": "…"}``. A file holds one question.
        durable
            Wait for the disk after each answer, so that a power cut loses none either.
        create
            Make the file if there is none.

        Raises
        ------
        FileError
            If the file cannot be opened, or is not a store.
        InputError
            If it holds answers to another question, or on another scale.
        StoreError
            If it cannot be written, because the disk is full for example.
        """
        stated = {key: _json(value) for key, value in (about or {}).items()}
        target = target_of(path, create=create)
        if not os.path.exists(target):
            make_file(target, os.fspath(path), stated)
        store = cls._checked(target, os.fspath(path), "mode=rw")
        with store._closed_on_errors():
            with plain(store.path):
                if damage := damage_in(store._connection):
                    raise damaged(store.path, damage)
            store._execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            store._agree(stated)
            store.beat()
        return store

    @contextlib.contextmanager
    def _closed_on_errors(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._connection.close()
            raise

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Open a store for reading, even while others write; if it is damaged, read what can be read.

        Gives a :class:`~plurivox.base.errors.DamageWarning` that says how much could not be read.
        """
        target = target_of(path, create=False)
        try:
            store = cls._checked(target, os.fspath(path), "mode=ro")
        except FileError:
            # SQLite keeps a file next to the database, even for reading. In a read-only folder it has to be told that
            # nobody writes, which is wrong only while there is a log.
            if os.path.exists(f"{target}-wal"):
                raise
            store = cls._checked(target, os.fspath(path), "mode=ro&immutable=1")
        with store._closed_on_errors():
            store._salvage()
        return store

    def _salvage(self) -> None:
        """Continue with what can be read if the file is damaged."""
        with plain(self.path):
            if not damage_in(self._connection):
                self._connection.text_factory = functools.partial(str, encoding="utf-8", errors="replace")
                return
            copy, n_read, n_lost, sure, knows_question = salvage(self._connection)
        if not n_read and not knows_question:
            raise StoreError(
                f"{self.path}: the file is damaged, and nothing in it can be read. Use a backup if you have one."
            )
        self._connection.close()
        self._connection = copy
        lost = f"{'' if sure else 'up to '}{n_lost:,} cannot"
        unknown = "" if knows_question else "; what was asked cannot be read either"
        told = f"{self.path}: the file is damaged; {n_read:,} answers can be read, {lost}{unknown}"
        warnings.warn(told, DamageWarning, stacklevel=4)

    @classmethod
    def _checked(cls, target: Path, path: str, mode: str) -> Self:
        """Connect, and check that it is a store of a known version."""
        with plain(path):
            store = cls(connect(target, mode), path)
        with store._closed_on_errors():
            if mode.startswith("mode=ro"):  # otherwise SQLite reads nothing from a truncated file
                store._execute("PRAGMA writable_schema = ON")
            ((application,),) = store._execute("PRAGMA application_id")
            ((version,),) = store._execute("PRAGMA user_version")
            if application != ANSWERS:
                size = os.path.getsize(target)
                problem = "it is a database of another program" if size > SMALLEST else "it is not a store of answers"
                problem = problem if size else "it is empty"
                raise FileError(problem, source=path, hint=NAME_ANOTHER)
            if version < VERSION:
                problem = f"it has a version that plurivox does not know ({version})"
                raise FileError(problem, source=path, hint=NAME_ANOTHER)
            if version > VERSION:
                problem = f"a newer plurivox wrote it (version {version} of the file; this one knows {VERSION})"
                raise FileError(problem, source=path, hint="Update plurivox, or choose another file with -o.")
        return store

    def _agree(self, stated: Mapping[str, str]) -> None:
        """Adopt what the answers are about, or raise if the file is about something else."""
        with self._transaction() as connection:
            held = dict(connection.execute("SELECT key, value FROM meta"))
            lacking = {key for key in _MAY_LACK if key not in held or key not in stated}
            known = dict(stated)
            for key in sorted({*held, *stated} - lacking) if held and stated else ():
                known[key] = _joined(held.get(key), stated.get(key)) or ""
                if not known[key]:
                    there, here = _told_apart(held.get(key), stated.get(key))
                    raise InputError(
                        f"it holds answers {_OTHER.get(key, f'with another {key}')}: {there}; now it is {here}",
                        source=self.path, hint="Choose another file with -o, or ask as before.",
                    )  # fmt: skip
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", known.items())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # One that nobody closed, as after ``Store.read(path).frame()``, of which Python 3.13 would warn.
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def close(self) -> None:
        """Release what this run has claimed and not answered, end the run, and close the file."""
        with self._lock:
            # On a full disk even this fails; then the claims end with the process.
            with contextlib.suppress(PlurivoxError):
                if self.run is not None:
                    with self._transaction() as connection:
                        for statement in (_FAILED_AGAIN, _FORGOTTEN):
                            connection.execute(f"{statement} AND run = ?", (self.run,))
                        connection.execute("DELETE FROM runs WHERE id = ?", (self.run,))
                    self._settle()
            self._connection.close()

    def beat(self) -> None:
        """Record that this run is alive, and settle what was stored; call it every few seconds."""
        row = (self.run, host_name(), os.getpid(), process(os.getpid())[1], time.time())
        with self._transaction() as connection:
            self.run = connection.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?)", row).lastrowid
        self._settle()

    def _settle(self) -> None:
        """Move what was stored from the log next to the file into the file, unless somebody is reading."""
        if self._loose:
            self._execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._loose, self._settled_at = 0, time.monotonic()

    def claim(self, requests: Sequence[Request]) -> list[Request]:
        """Return the requests that this run should send now, and keep other runs from sending them.

        These were never sent, or failed in an earlier run, or were claimed by a run that has died.
        """
        self.beat()  # even if another run considered this one dead
        asked_at = _instant()
        with self._transaction() as connection:
            runs = connection.execute("SELECT id, host, pid, started_ticks, heartbeat FROM runs").fetchall()
            dead = [(number,) for number, *run in runs if not alive(*run)]
            connection.executemany("DELETE FROM runs WHERE id = ?", dead)
            return [
                request
                for request in requests
                if connection.execute(_CLAIM, self._row(request, None, state="asking", asked_at=asked_at)).rowcount > 0
            ]

    def put(
        self, request: Request, reply: Reply | None, *, state: State, point: int | None = None, rule: str = "",
        span: tuple[int, int] | None = None, distribution: Sequence[float] | None = None, held: float | None = None,
        error: str = "",
    ) -> bool:  # fmt: skip
        """Store the outcome of a request; return whether it was stored, since another run may have been first.

        Parameters
        ----------
        request, reply
            What was sent, and what came back; None if nothing did.
        state, point, rule, span
            How the answer was read; the point is a position on the scale, not among the options as shown.
        distribution, held
            The share of each point of the scale, and how much probability they hold together.
        error
            What went wrong, if it failed.
        """
        start, end = span or (None, None)
        shares = None if distribution is None else _json(list(distribution))
        reading: dict[str, Any] = {"state": state, "point": point, "rule": rule, "span_start": start, "span_end": end}
        reading |= {"distribution_json": shares, "held": held, "error": _storable(error)}
        asked_at = _instant(0.0 if reply is None else reply.seconds)
        statement = _PUT_FAILURE if state == "failed" else _PUT
        with self._lock:
            with self._transaction() as connection:
                row = self._row(request, reply, **reading, asked_at=asked_at)
                stored = connection.execute(statement, row).rowcount > 0
            self._loose += stored
            if self._loose >= MOST_LOOSE or time.monotonic() - self._settled_at > LONGEST_LOOSE:
                self._settle()
        return stored

    def holds(self, request: Request) -> bool:
        """Return whether this run still holds a claimed request; another run takes it over after a long silence."""
        return bool(self._execute(_HOLDS, (request.key, self.run)))

    def _row(self, request: Request, reply: Reply | None, **rest: Any) -> dict[str, Any]:
        """Return the columns of a request and its reply."""
        row: dict[str, Any] = {name: getattr(request, name) for name in _OF_REQUEST}
        row |= {"order_json": _json(request.order), "messages_json": _json([dict(one) for one in request.messages])}
        row |= {"params_json": _json(dict(request.params)), "run": self.run}
        row |= {name: None if reply is None else _storable(getattr(reply, name)) for name in _OF_REPLY}
        return row | dict.fromkeys(_OF_READING) | rest

    def release(self, requests: Sequence[Request]) -> None:
        """Release claims of this run on requests that will not be sent."""
        with self._transaction() as connection:
            rows = [(request.key, self.run) for request in requests]
            for statement in (_FAILED_AGAIN, _FORGOTTEN):
                connection.executemany(f"{statement} AND key = ? AND run = ?", rows)

    @property
    def about(self) -> dict[str, Any]:
        """What the answers are about."""
        try:
            return {key: json.loads(value) for key, value in self._execute("SELECT key, value FROM meta")}
        except (TypeError, ValueError):
            raise damaged(self.path, "what was asked cannot be read") from None

    def counts(self) -> dict[tuple[str, str], dict[str, int]]:
        """Return how many answers there are of each state, per model and prompt."""
        statement = "SELECT model, prompt, state, count(*) FROM answers WHERE state <> 'asking' GROUP BY 1, 2, 3"
        counts: dict[tuple[str, str], dict[str, int]] = {}
        for model, prompt, state, count in sorted(self._execute(statement)):
            counts.setdefault((model, prompt), {})[state] = count
        return counts

    def params(self) -> list[tuple[str, dict[str, Any]]]:
        """Return each model with the sampling parameters and extra fields of requests that it has answered."""
        rows = self._execute("SELECT DISTINCT model, params_json FROM answers WHERE state NOT IN ('asking', 'failed')")
        return list(self._sound(rows, lambda row: (row[0], dict(json.loads(row[1])))))

    def tokens(self) -> dict[str, tuple[int, int]]:
        """Return the tokens of prompts and answers per model, if servers counted them."""
        rows = self._execute(
            "SELECT model, coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0) "
            "FROM answers WHERE state <> 'asking' GROUP BY 1 ORDER BY 1"
        )
        return {model: (sent, received) for model, sent, received in rows}

    def frame(self, with_prompts: bool = False) -> pl.DataFrame:
        """Return the answers, one per row, sorted by model, prompt, item and sample.

        Parameters
        ----------
        with_prompts
            Add the full text of each request, as JSON, in a column ``messages``.
        """
        labels = [str(label) for label in self.about.get("labels", ())]
        schema = dict(list(COLUMNS.items())[: None if with_prompts else -1])
        parts = [pl.DataFrame(schema=schema)]
        with self._lock, plain(self.path):
            cursor = self._connection.execute(SQL["frame"])
            while rows := cursor.fetchmany(CHUNK):
                shown = [made[: len(schema)] for made in self._sound(rows, lambda row: in_frame(row, labels))]
                parts.append(pl.DataFrame(shown, schema=schema, orient="row"))
        return pl.concat(parts)

    def refused(self) -> pl.DataFrame:
        """Return refusals, one per row: whose, to which prompt and item, the rule that found it, and the text.

        If the server refused without an answer of the model, the text is the server's.
        """
        return pl.DataFrame(self._execute(SQL["refused"]), schema=REFUSED_COLUMNS, orient="row")

    def _sound(self, rows: Sequence[tuple[Any, ...]], made: Callable[[tuple[Any, ...]], T]) -> Iterator[T]:
        """Yield what is made from each row, skipping damaged rows."""
        lost = 0
        for row in rows:
            try:
                yield made(row)
            except (TypeError, ValueError, RecursionError):
                lost += 1
        if lost:
            told = f"{self.path}: the file is damaged; {lost:,} answers cannot be read"
            warnings.warn(told, DamageWarning, stacklevel=3)

    def copy_to(self, path: str | os.PathLike[str]) -> None:
        """Write everything readable into a new store, which continues from this one."""
        with self._lock, plain(self.path):
            self._connection.execute("VACUUM INTO ?", (os.fspath(path),))
            with contextlib.closing(connect(Path(path).absolute(), "mode=rw")) as made:
                made.execute("DELETE FROM runs")
                made.execute("PRAGMA journal_mode = WAL")

    def each(self) -> Iterator[Stored]:
        """Yield every answer, in the order of keys, a few at a time; others may write, and so may you."""
        last = ""
        while rows := self._execute(SQL["each"], (last, FEW)):
            yield from self._sound(rows, Stored.from_row)
            last = rows[-1][0]

    def change(self, changes: Iterable[Change]) -> int:
        """Store other readings, all of them or none, except for answers that have changed; return how many."""
        with self._transaction() as connection:
            return connection.executemany(SQL["change"], changes).rowcount

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a short result."""
        with self._lock, plain(self.path):
            return self._connection.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Write everything inside, or nothing."""
        with self._lock, plain(self.path):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def _json(value: Any) -> str:
    """Write a value as JSON, always in the same way."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _storable(value: Any) -> Any:
    """Replace halves of characters, which JSON can contain but files cannot; the length stays the same."""
    return re.sub("[\ud800-\udfff]", "\ufffd", value) if isinstance(value, str) else value


def _instant(ago: float = 0.0) -> str:
    """Return the time this many seconds ago, as text."""
    return datetime.fromtimestamp(time.time() - ago, UTC).isoformat(timespec="seconds")


def _joined(there: str | None, here: str | None) -> str | None:
    """Return what both of two values say, tables joined name by name; None if they contradict each other."""
    if there == here:
        return here
    values = [json.loads(one) for one in (there, here) if one is not None and one.startswith("{")]
    if len(values) < 2 or any(values[0][name] != values[1][name] for name in values[0].keys() & values[1]):
        return None
    return _json(values[0] | values[1])


def _told_apart(*stored: str | None) -> list[str]:
    """Return texts that show two values: their beginnings, or where they differ."""
    values = [None if one is None else json.loads(one) for one in stored]
    full = [", ".join(map(str, one)) if isinstance(one, list) else str(one or "none") for one in values]
    short = [textwrap.shorten(text, 100, placeholder=" …") for text in full]
    if short[0] == short[1]:
        pairs = enumerate(zip(*full, strict=False))
        same = next((at for at, (one, other) in pairs if one != other), min(map(len, full)))
        short = [f"… {text[max(same - 60, 0) : same + 60]}" for text in full]
    return [f"'{text}'" for text in short]
