"""Taking in studies that are in the folder but not in the list of studies, by what their own folders say."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from plurivox.base.errors import FileError, few
from plurivox.workbench.manifest import MANIFEST, Manifest, read_manifest
from plurivox.workbench.marking import STUDIES

if TYPE_CHECKING:
    from plurivox.workbench.store import Store

SHOWN = 10
"""Folders that a sentence names."""


def unlisted(store: Store) -> list[str]:
    """Return the names of folders among the studies that are not in the list of studies."""
    known = {row["id"] for row in store.rows("select id from studies")}
    return sorted(
        entry.name for entry in os.scandir(store.folder / STUDIES) if entry.is_dir() and entry.name not in known
    )


def remarks_on(store: Store, adopted: bool) -> list[str]:
    """Return what to say about folders that are not in the list of studies; ``adopted`` if those that can be, were."""
    names = unlisted(store)
    ours = [name for name in names if os.path.lexists(store.folder / STUDIES / name / MANIFEST)]
    others = [name for name in names if name not in ours]
    told = []
    if ours and not adopted:
        start, them = (f"1 folder in {STUDIES}/ is", "it") if len(ours) == 1 else (_many(ours), "them")
        told.append(f"{start} not in the list of studies: {few(ours, SHOWN)}; plurivox serve --adopt takes {them} in")
    if others:
        if len(others) == 1:
            told.append(f"1 folder in {STUDIES}/ is not a study, and is left alone: {few(others)}")
        else:
            told.append(f"{_many(others)} not studies, and are left alone: {few(others, SHOWN)}")
    return told


def _many(names: Sequence[str]) -> str:
    return f"{len(names):,} folders in {STUDIES}/ are"


def adopt(store: Store) -> list[str]:
    """Take in what the folders of studies say, unless the list of studies is newer; return what to say about it."""
    told, taken, new = [], [], unlisted(store)
    known = {one.id: one for one in store.studies()}
    for study in (*new, *known):
        if not os.path.lexists(store.folder / STUDIES / study / MANIFEST):
            continue
        try:
            found = read_manifest(store.folder, study)
        except FileError as error:
            told += [f"{STUDIES}/{study} was not taken in: {error}"] if study in new else []
            continue
        listed = known.get(study)
        if listed is not None and listed.revision > found.revision:
            continue
        with store.changing() as base:
            _take(base, study, found)
        if listed is None:
            taken.append(found.name)
        elif store.study(study).files != listed.files:
            told.append(f"files of {found.name} were no longer in the list of studies, and were taken in again")
    if taken:
        told.insert(
            0, f"{len(taken):,} {'study was' if len(taken) == 1 else 'studies were'} taken in: {few(taken, SHOWN)}"
        )
    return told


def _take(base: sqlite3.Connection, study: str, found: Manifest) -> None:
    """Add what is not there yet; a file that grows is no longer watched, but looks at its tests count."""
    row = (study, found.name, found.created, time.time(), json.dumps(found.reading), json.dumps(found.asked), 0)
    base.execute("insert or ignore into studies values (?, ?, ?, ?, ?, ?, ?)", row)
    base.execute("insert or ignore into ours values (?, '')", (study,))
    for one in found.files:
        line = "insert or replace into files values (?, ?, ?, ?, ?, ?)"
        base.execute(line, (study, one.role, one.shown, one.stored, one.size, one.sha256))
        base.execute("insert or ignore into ours values (?, ?)", (study, one.stored))
    for place, text in found.notes.items():
        base.execute("insert or ignore into notes values (?, ?, ?, ?)", (study, place, text, time.time()))
    if found.planned is not None:
        base.execute("insert or ignore into watches values (?, 0, ?, ?)", (study, found.planned, found.expected))
        for data, at in found.looks.items():
            base.execute("insert or ignore into looks values (?, ?, ?)", (study, data, at))
