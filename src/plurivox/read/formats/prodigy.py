"""Prodigy: one record per task and annotator; the answer is what was accepted.

With options, the score is the id of the accepted one. Without, each label is a question that is answered by accept or
reject. Unnamed sessions are named by the time at which they began, which does not identify a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from plurivox.base.errors import IdError
from plurivox.domain.raw import RawTable
from plurivox.read.formats.record import Export, Platform, Tally
from plurivox.read.formats.unfolding import Record, Row, Unfolded, list_in, object_in, one_of
from plurivox.read.settings import ReadSettings

_ANNOTATOR, _SESSION, _HASH = "_annotator_id", "_session_id", "_input_hash"
_UNNAMED = re.compile(r"(.*-)?\d{4}-\d\d-\d\d[_T ]\d\d[-:]\d\d[-:]\d\d", re.DOTALL)
_LEFT_OUT = {"reject": "rejected tasks", "ignore": "ignored tasks"}
_ACCEPT = "accept"
_HEAD = 1000


def fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
    """Recognise it by column names."""
    return set(columns) >= {"answer", _HASH}


def ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per record that was answered."""
    tally = Tally()
    meta, labels, chosen = _seen(table)
    taken = {*table.columns, *meta.values()}
    unseen = {name for name in (asked.score or "").split(",") if name and name not in {*taken, *labels, _ACCEPT}}
    labels = {label: f"label:{label}" if label in taken else label for label in (*labels, *unseen)}
    rater = _ANNOTATOR if _ANNOTATOR in table.columns or _SESSION not in table.columns else _SESSION
    columns = list(dict.fromkeys([*table.columns, rater, *meta.values(), *labels.values()]))

    def rows(record: Record, place: str) -> Iterator[Row]:
        known = object_in(record.get("meta"), place, table.name, "meta")
        row: Row = {**record, **{meta[name]: value for name, value in known.items() if name in meta}}
        answer, label = record["answer"], record.get("label")
        binary = _is_binary(record)
        if answer != _ACCEPT and not (binary and answer == "reject"):
            tally.left_out[_LEFT_OUT.get(str(answer), "tasks without an answer")] += 1
            return
        if binary and label not in labels:
            tally.left_out[f"answers about '{label}'"] += 1
            return
        if asked.rater in (None, _ANNOTATOR):
            row[rater] = _named(record, place, table)
        row |= {labels[str(label)]: answer} if binary else {_ACCEPT: _accepted(record, place, table.name)}
        yield row

    described = ("text", *meta.values())
    return Export(
        table=Unfolded(table, columns, rows, {labels[name] for name in unseen}).unfolded(),
        item=_HASH,
        rater=rater,
        questions=((_ACCEPT,) if chosen else ()) + tuple(labels.values()),
        item_attributes=tuple(name for name in described if name in columns),
        tally=tally,
    )


def _seen(table: RawTable) -> tuple[dict[str, str], dict[str, str], bool]:
    """Return the fields of meta in the first records, the labels to be accepted, and whether there are options."""
    meta: dict[str, str] = {}
    labels: dict[str, str] = {}
    chosen = False
    for at, record in enumerate(table.first().head(_HEAD).iter_rows(named=True)):
        known = object_in(record.get("meta"), table.locate(at), table.name, "meta")
        meta |= {name: f"meta.{name}" for name in known}
        if _is_binary(record):
            labels[str(record["label"])] = ""
        chosen = chosen or record.get(_ACCEPT) not in (None, "")
    return meta, labels, chosen


def _is_binary(record: Record) -> bool:
    """Return whether a record asks if one label fits all of it."""
    empty: tuple[Any, ...] = (None, "", "[]", [])
    return record.get("label") not in empty and not any(
        record.get(name) not in empty for name in ("options", _ACCEPT, "spans")
    )


def _accepted(record: Record, place: str, source: str) -> str | None:
    return one_of(list_in(record.get(_ACCEPT), place, source, _ACCEPT))


def _named(record: Record, place: str, table: RawTable) -> Any:
    """Return who answered, or raise an error if only a session is known."""
    who = record.get(_ANNOTATOR) or record.get(_SESSION)
    if who is None or _UNNAMED.fullmatch(str(who)):
        raise IdError(
            "raters are missing: the session has no name, only the time at which it began"
            if who else "raters are missing: neither an annotator nor a session is named",
            source=table.name, places=[place],
            hint=f"Use --rater {_SESSION} to count every session as one rater."
            if who and _SESSION in table.columns else "Name with --rater a column that says who answered.",
        )  # fmt: skip
    return who


PLATFORM = Platform(name="prodigy", title="an export of Prodigy", fits=fits, ratings=ratings)
