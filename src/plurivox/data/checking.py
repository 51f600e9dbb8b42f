"""Whether a local file matches a data set's record, and what differs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from plurivox.base.errors import FileError, InputError, few
from plurivox.data.download import sha256_of
from plurivox.data.record import (
    Content,
    Dataset,
    SourceTable,
    columns_of,
    content,
    lacking,
    load_from,
    loader_of,
    places,
)
from plurivox.data.sets import catalogue


@dataclass(frozen=True, slots=True)
class Check:
    """What was found about a file or folder.

    Attributes
    ----------
    name
        The data set that it was compared with.
    fits
        Whether it can be loaded as that.
    same
        Whether nothing differs from what is known about the original.
    agrees, differs, wrong
        What agrees, what differs without harm, and what keeps it from being loaded.
    """

    path: str
    name: str
    fits: bool
    same: bool
    agrees: tuple[str, ...]
    differs: tuple[str, ...]
    wrong: tuple[str, ...]

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


def check_path(path: Path, dataset: Dataset | None = None) -> Check:
    """Compare a file or folder with the named data set, or with the one its name, columns or checksum suggest."""
    if not path.exists():
        raise FileError("there is no such file or folder", source=str(path), hint="Check the name.")
    return check_dataset(dataset or _recognised(path), path)


def _recognised(path: Path) -> Dataset:
    """Return the data set to which a file belongs."""
    known = [one for one in catalogue().values() if one.load is not None]
    names = {entry.name for entry in path.iterdir()} if path.is_dir() else {path.name}
    for one in known:
        needed = {table.name for table in one.tables if not table.optional}
        if names & {*needed, *(file.name for file in one.downloads)}:
            return one
    read: dict[str, Content] = {}  # a table of text is the same, whichever data set it is compared with
    alike: dict[str, int] = {}  # how many columns of the original a table has, minus those that it lacks
    for one in known if path.is_file() else ():
        try:
            for name, place in places(one, path).items():
                table = next(table for table in one.tables if table.name == name)
                if table.form not in read or table.form == "jsonl" or place[1] is not None:
                    read[table.form] = content(table, place)
                if not lacking(table, read[table.form]):
                    there, original = set(columns_of(read[table.form])), {*table.columns, *table.more}
                    alike[one.name] = len(there & original) - len(original - there)
        except InputError:
            continue
    if alike:
        return catalogue()[max(alike, key=lambda name: alike[name])]
    raise FileError(
        "its name and columns do not match any data set that plurivox knows", source=str(path),
        hint="plurivox data list shows them; --as NAME compares it with one.",
    )  # fmt: skip


def check_dataset(dataset: Dataset, path: Path) -> Check:
    """Compare a file or folder with one data set: names, columns, counts and checksums."""
    loader_of(dataset, path)  # or an error: there is nothing to compare it with
    agrees: list[str] = []
    differs: list[str] = []
    wrong: list[str] = []
    try:
        where = places(dataset, path)
    except InputError as error:
        return Check(str(path), dataset.name, False, False, (), (), (error.problem,))
    for table in dataset.tables:
        if table.name not in where:
            differs.append(f"{table.name} is missing; the data set loads without it")
            continue
        file, member = where[table.name]
        if member is None:
            (agrees if file.name == table.name else differs).append(_called(table, file))
        try:
            found = content(table, (file, member))
        except InputError as error:
            wrong.append(str(error))
            continue
        there = columns_of(found)
        if absent := lacking(table, found):
            wrong.append(f"{table.name}: there is no column {few(absent)}")
        _columns(table, there, agrees, differs)
        _told(table.name, "rows", len(found), table.rows, agrees, differs)
        if member is None and table.sha256 is not None:
            _sum(table.name, sha256_of(file), table.sha256, agrees, differs)
    for one in dataset.downloads:
        for file in (path / one.name, path):
            if one.sha256 and file.is_file() and file.name == one.name and one.name not in where:
                _sum(one.name, sha256_of(file), one.sha256, agrees, differs)
    if not wrong:
        _counts(dataset, path, agrees, differs, wrong)
    return Check(str(path), dataset.name, not wrong, not wrong and not differs, *map(tuple, (agrees, differs, wrong)))


def _called(table: SourceTable, file: Path) -> str:
    return f"it is called {file.name}" if file.name == table.name else f"it is called {file.name}, not {table.name}"


def _columns(table: SourceTable, there: Sequence[str], agrees: list[str], differs: list[str]) -> None:
    known = {*table.columns, *table.more}
    absent = [one for one in table.more if one not in there]
    if absent:
        differs.append(f"{table.name}: columns of the original are missing: {few(absent)}")
    if table.more and (beyond := [one for one in there if one not in known]):
        differs.append(f"{table.name}: columns that the original lacks: {few(beyond)}")
    if known and not absent and known <= set(there):
        agrees.append(f"{table.name}: {len(known)} columns as described")


def _sum(name: str, found: str, known: str, agrees: list[str], differs: list[str]) -> None:
    same = found == known
    (agrees if same else differs).append(f"{name}: the SHA-256 is {'as known' if same else f'{found}, not {known}'}")


def _told(name: str, what: str, found: int, known: int | None, agrees: list[str], differs: list[str]) -> None:
    if known is not None:
        same = found == known
        (agrees if same else differs).append(f"{name}: {found:,} {what}" + ("" if same else f", not {known:,}"))


def _counts(dataset: Dataset, path: Path, agrees: list[str], differs: list[str], wrong: list[str]) -> None:
    try:
        ratings, _ = load_from(dataset, path)
    except InputError as error:
        wrong.append(error.problem)
        return
    known = dataset.counts
    for what, found, number in (
        ("items", ratings.n_items, known.items),
        ("raters", ratings.n_raters, known.raters),
        ("ratings", len(ratings), known.ratings),
    ):
        _told(dataset.name, what, found, number, agrees, differs)
