"""What is kept of a study whose files grow: where they are, what was read last, and how often tests were looked at.

Only files that were named on the command line are watched; nothing that a browser sends becomes one of them. New
ratings are kept separately until somebody runs the analyses: until then every page, and every test, shows the ratings
of the last look.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from plurivox.base.errors import InputError
from plurivox.report.settings import MOST_LOOKS
from plurivox.workbench.making import digest_of
from plurivox.workbench.records import StoredFile, StudyRecord
from plurivox.workbench.store import StudyStore

PLANNED = 5
"""The default number of planned looks."""
MOST_EXPECTED = 1_000_000_000
KEPT = 200
"""Arrivals that are kept."""


@dataclass(frozen=True, slots=True)
class Watch:
    """How a study is watched: whether now, how many looks were planned, how many ratings are expected.

    ``sources`` holds the paths of its files by role, ``marks`` the marks of the versions read last, and ``looks`` when
    the tests of new data were looked at.
    """

    study: str
    going: bool
    planned: int
    expected: int | None
    counted: bool
    sources: dict[str, str]
    marks: dict[str, str]
    looks: tuple[float, ...]

    @property
    def spent(self) -> bool:
        """Whether all planned looks have been made."""
        return len(self.looks) >= self.planned


def data_of(files: Mapping[str, StoredFile]) -> str:
    """Return the fingerprint of the content of files."""
    return digest_of({role: one.sha256 for role, one in files.items()})


class Watches:
    """What a store knows about files that grow."""

    def __init__(self, store: StudyStore) -> None:
        self._store = store

    def add_sources(self, study: str, sources: Mapping[str, tuple[str, str]]) -> None:
        """Note where the files of a study are, and the marks of its versions."""
        with self._store.changing() as base:
            for role, (path, mark) in sources.items():
                base.execute("insert or replace into sources values (?, ?, ?, ?)", (study, role, path, mark))

    def of(self, study: str) -> Watch | None:
        """Return how a study is watched; None if it never had files on this machine."""
        known = self._store.rows("select * from watches where study = ?", study)
        sources = self._store.rows("select * from sources where study = ?", study)
        if not known and not sources:
            return None
        looks = tuple(row["at"] for row in self._store.rows("select at from looks where study = ? order by at", study))
        said: Any = known[0] if known else {"going": 0, "planned": PLANNED, "expected": None}
        return Watch(
            study, bool(said["going"]) and bool(sources), said["planned"], said["expected"], bool(known),
            {row["role"]: row["path"] for row in sources}, {row["role"]: row["mark"] for row in sources}, looks,
        )  # fmt: skip

    def going(self) -> list[Watch]:
        """Return all that is watched now."""
        rows = self._store.rows("select study from watches where going")
        return [found for row in rows if (found := self.of(row["study"])) is not None and found.going]

    def same_sources(self, paths: Iterable[str]) -> str | None:
        """Return the study that watches just these files, the newest if there are several."""
        wanted = set(paths)
        every = [one for one in self.going() if set(one.sources.values()) == wanted]
        return max(every, key=lambda one: self._store.study(one.study).created).study if every else None

    def change(self, study: str, *, going: bool, planned: int | None = None, expected: int | None = None) -> None:
        """Start or stop watching; the number of planned looks cannot be changed once one has been made.

        Tests that were looked at before anybody planned looks are the first.
        """
        with self._store.changing() as base:
            known = self.of(study)
            if known is None or (going and not known.sources):
                raise InputError(
                    "this study has no file to watch", hint="Name the file when you start: plurivox serve ratings.csv."
                )
            planned = known.planned if planned is None else planned
            if not 1 <= planned <= MOST_LOOKS:
                raise InputError(f"{planned} looks are planned", hint=f"Give a number from 1 to {MOST_LOOKS}.")
            if expected is not None and not 1 <= expected <= MOST_EXPECTED:
                raise InputError("the number of ratings expected is out of range", hint="Give at least 1, or nothing.")
            if known.looks and planned != known.planned:
                hint = "A plan that is changed after a look offers no protection."
                raise InputError(f"{known.planned} looks were planned, and the first has been made", hint=hint)
            base.execute("insert or replace into watches values (?, ?, ?, ?)", (study, going, planned, expected))
            if not known.counted and self._store.runs(study, "run", 1):
                self.look(study)

    # What arrives -----------------------------------------------------------------------------------------------------

    def newest(self, study: StudyRecord) -> StudyRecord:
        """Return a study with the files that arrived last in place of those of the last look."""
        rows = self._store.rows("select * from arrived where study = ?", study.id)
        files = {row["role"]: StoredFile(*(row[name] for name in StoredFile.__slots__)) for row in rows}
        return replace(study, files={**study.files, **files})

    def settle(
        self, watch: Watch, marks: Mapping[str, str], files: Mapping[str, StoredFile], told: Mapping[str, Any] | None
    ) -> None:
        """Note, all at once, which versions were read, the files that can be used from now on, and what is in them."""
        study, old = watch.study, []
        with self._store.changing() as base:
            for role, mark in marks.items():
                base.execute(
                    "update sources set mark = ? where study = ? and role = ? and path = ?",
                    (mark, study, role, watch.sources[role]),
                )
            for role, one in files.items():
                if not self._store.rows("select 1 from sources where study = ? and role = ?", study, role):
                    old.append(one.stored)  # another file has replaced it in the meantime
                    continue
                before = self._store.rows("select stored from arrived where study = ? and role = ?", study, role)
                old += [row["stored"] for row in before]
                row = (study, role, one.shown, one.stored, one.size, one.sha256)
                base.execute("insert or replace into arrived values (?, ?, ?, ?, ?, ?)", row)
            if told is not None:
                base.execute("insert into arrivals values (?, ?, ?)", (study, time.time(), json.dumps(told)))
                base.execute(
                    "delete from arrivals where study = ?1 and rowid not in"
                    " (select rowid from arrivals where study = ?1 order by rowid desc limit ?2)", (study, KEPT),
                )  # fmt: skip
        for stored in old:
            self._store.discard(study, stored)

    def arrivals(self, study: str) -> list[dict[str, Any]]:
        """Return what was found in the files, the first first, each with when."""
        rows = self._store.rows("select at, told from arrivals where study = ? order by rowid", study)
        return [{"at": row["at"], **json.loads(row["told"])} for row in rows]

    # Looks at tests ---------------------------------------------------------------------------------------------------

    def take_in(self, study: str, revision: int | None) -> StudyRecord:
        """Make what arrived last the data of the study, which is a look at its tests; return the study."""
        with self._store.changing() as base:
            self._store.change_study(study, revision)
            before = self._store.study(study)
            newest = self.newest(before)
            new = [one for role, one in newest.files.items() if one != before.files.get(role)]
            for one in new:
                self._store.put_in(base, study, one)
            base.execute("delete from arrived where study = ?", (study,))
            self.look(study)
        for one in new:
            if one.role in before.files:
                self._store.discard(study, before.files[one.role].stored)
        return self._store.study(study)

    def look(self, study: str) -> int:
        """Count a look at the tests of a study, unless these data were looked at; return for how many to correct.

        Raises
        ------
        InputError
            If all planned looks have been made.
        """
        with self._store.changing() as base:
            known = self.of(study)
            if known is None or not known.counted:
                return 1
            data = data_of(self._store.study(study).files)
            if not self._store.rows("select 1 from looks where study = ? and data = ?", study, data):
                if known.spent:
                    raise InputError(
                        f"all {known.planned} planned looks have been made: nothing more can be claimed at 5 %",
                        hint="The counts continue. To test a claim again, collect a new study.",
                    )
                base.execute("insert into looks values (?, ?, ?)", (study, data, time.time()))
            return known.planned


# In words -------------------------------------------------------------------------------------------------------------


def summary(look: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of the files' content: only counts, nothing that is tested."""
    return {
        "sizes": {name: n for name, n in look["sizes"].items() if name != "raters" or look["has_raters"]},
        "groups": [[one["name"], name, n] for one in look["raters"] for name, n in one["groups"]],
        "scale": look["scale"], "usage": look["usage"],
    }  # fmt: skip


def changes(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> str:
    """Return in words what changed between two arrivals.

    Examples
    --------
    >>> old = {"sizes": {"ratings": 1204, "items": 40}, "groups": [["gender", "Woman", 40]]}
    >>> new = {"sizes": {"ratings": 1310, "items": 43}, "groups": [["gender", "Woman", 44], ["gender", "Man", 5]]}
    >>> changes(old, new)
    'ratings 1,204 → 1,310 · items 40 → 43 · gender Woman 40 → 44 · gender Man new, 5'
    >>> changes(new, new)
    'other values, the same counts'
    """
    if before is None:
        return " · ".join(f"{n:,} {name}" for name, n in after["sizes"].items())
    parts = [
        f"{name} {before['sizes'].get(name, 0):,} → {n:,}"
        for name, n in after["sizes"].items()
        if n != before["sizes"].get(name, 0)
    ]
    known = {(axis, name): n for axis, name, n in before["groups"]}
    for axis, name, n in after["groups"]:
        old = known.pop((axis, name), None)
        if old != n:
            parts.append(f"{axis} {name} {'new, ' if old is None else f'{old:,} → '}{n:,}")
    parts += [f"{axis} {name} no longer shown" for axis, name in known]
    return " · ".join(parts) or "other values, the same counts"
