"""Stores of answers to test with, and a look into them without the store."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from plurivox import Scale, ask
from plurivox.ask.question import Reply, Request, as_shown, read_reply, shuffled

LABELS = ["never", "sometimes", "often"]
QUESTION = ask.Question(Scale(LABELS), "How often is this right?")
DESCRIBED = ask.Question(QUESTION.scale, QUESTION.wording, ("at no time", "now and then", "most of the time"))


def a_request(item: object, order: Sequence[int] = (0, 1, 2), model: str = "m", prompt: str = "plain") -> Request:
    messages = ({"role": "user", "content": f"The secret item {item} of {prompt}"},)
    return Request("http://localhost:1", model, prompt, str(item), 0, tuple(order), messages)


def fill(
    path: Path, texts: Iterable[str], question: ask.Question = QUESTION, *, shuffle: bool = False, model: str = "m"
) -> list[Request]:
    """Store these texts as they are read now, as answers about the items 0, 1, 2, …"""
    requests = []
    n = len(question.scale)
    with ask.Store.open(path, question.about()) as store:
        for item, text in enumerate(texts):
            order = shuffled(n, 0, str(item), 0) if shuffle else tuple(range(n))
            request = a_request(item, order, model)
            found = read_reply(text, "", as_shown(question, order), order)
            store.put(request, Reply(text), state=found.state, point=found.point, rule=found.rule, span=found.span)
            requests.append(request)
    return requests


def rows(path: Path, what: str = "*", rest: str = "") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(
            f"SELECT {what} FROM answers {rest} ORDER BY model, CAST(item AS INTEGER), key"
        ).fetchall()


def names(folder: Path) -> list[str]:
    """The files in a folder, without those that SQLite keeps beside a store."""
    return sorted(entry.name for entry in folder.iterdir() if not entry.name.endswith(("-wal", "-shm")))


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


TEXTS = ["A", "B", "C", "B) sometimes", "I cannot answer that.", "qqq zzz"]
READING = "state, point, rule, span_start, span_end"
FORGET = "UPDATE answers SET state = 'unreadable', point = NULL, rule = 'old rule', span_start = NULL, span_end = NULL"


def synthetic(path: Path, parts: Iterable[tuple[str, str, str, int]], text: str = "B", backwards: bool = False) -> None:
    """Make a store of so many answers of each state, rule and model."""
    ask.Store.open(path, QUESTION.about()).close()
    made = [
        (hashlib.sha256(f"{model} {rule} {n}".encode()).hexdigest(), model, rule, f"{rule} {n}", state,
         1 if state == "answered" else None, text, 0 if state == "answered" else None)
        for state, rule, model, size in parts
        for n in range(size)
    ]  # fmt: skip
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO answers (key, model, rule, item, state, point, text, span_start, span_end, prompt, sample, "
            "order_json, refusal, run, asked_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 'plain', 0, '[0, 1, 2]', '', 1, '')",
            made[::-1] if backwards else made,
        )
