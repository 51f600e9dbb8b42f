"""Folders and ZIP archives: their only table, or one table over all of their files with the same columns.

Nothing is unpacked to disk. What is in a ZIP is unpacked piece by piece and counted, since the sizes in its directory
may be wrong. Files that are not tables, such as a README or pictures, are skipped and listed.
"""

from __future__ import annotations

import bisect
import contextlib
import io
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO

import polars as pl

from plurivox.base.errors import FileError, few
from plurivox.base.wording import counted
from plurivox.domain.attributes import Locate, as_categories
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import FILE, MEMBER, RawTable, refuse_columns
from plurivox.read.opening import (
    INSIDE,
    MAX_UNPACKED,
    UNPACKED_PER_BYTE,
    Kind,
    Opened,
    Watched,
    ending_of,
    likely,
    open_source,
    open_stream,
    printable,
)

MAX_MEMBERS = 10_000
"""The most files that a ZIP or a folder may hold."""
_MAX_DIRECTORY = 1 << 24
_ENCRYPTED = 1
DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, RuntimeError, NotImplementedError, ValueError,
    OverflowError, IndexError, KeyError,
)  # fmt: skip
"""What a damaged, encrypted or exotic archive may raise."""


class _Bounded(io.BufferedIOBase):
    """A file from which large reads are refused: zipfile reads the whole directory, however large it claims to be."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > _MAX_DIRECTORY:
            raise zipfile.BadZipFile(f"its directory has {size:,} bytes")
        return self._stream.read(-1 if size is None else size)


class Archive:
    """An open ZIP, and how much of it has been unpacked so far.

    Parameters
    ----------
    stream
        The file, which must be seekable.
    name, size
        Its name in messages, and how many bytes it has.
    most, per_byte
        How much of it may be unpacked in total: a number of bytes, or a multiple of its size.
    """

    def __init__(
        self, stream: IO[bytes], name: str, size: int, most: int = MAX_UNPACKED, per_byte: int = UNPACKED_PER_BYTE
    ) -> None:
        self.name, self.size = name, size
        self._most = max(most, per_byte * size)
        self._left = self._most
        with self.readable():
            self._file = zipfile.ZipFile(_Bounded(stream))
        if len(self._file.infolist()) > MAX_MEMBERS:
            raise FileError(
                f"it contains {len(self._file.infolist()):,} files, but at most {MAX_MEMBERS:,} can be read",
                source=name, hint="Put what belongs together into one table.",
            )  # fmt: skip

    def members(self) -> list[zipfile.ZipInfo]:
        """Return the files in it, in their order there; if two have the same name, the last one."""
        found = {one.filename: one for one in self._file.infolist() if not one.is_dir()}
        return list(found.values())

    @contextlib.contextmanager
    def readable(self) -> Iterator[None]:
        """Turn anything a damaged archive raises into one clear error."""
        try:
            yield
        except FileError:
            raise
        except DAMAGED as error:
            raise FileError(
                f"the ZIP is damaged or cut off, or packed in an unknown way ({error})", source=self.name,
                hint="Download or make the file again.",
            ) from None  # fmt: skip

    def open(self, member: zipfile.ZipInfo) -> IO[bytes]:
        """Open a file in it; what is read from there is counted, and too much raises an error."""
        if member.flag_bits & _ENCRYPTED:
            raise FileError(
                "it is encrypted", source=f"{self.name}::{member.filename}", hint="Unpack it with its password first."
            )
        with self.readable():
            stream = self._file.open(member)

        def read(size: int) -> bytes:
            with self.readable():
                return stream.read(size)

        return io.BufferedReader(Watched(read, self.count, stream.close))

    def count(self, n_bytes: int) -> None:
        """Raise an error if more was unpacked than a file of this size can hold."""
        self._left -= n_bytes
        if self._left < 0:
            raise FileError(
                f"its {self.size:,} bytes unpack to more than {self._most >> 20:,} MiB", source=self.name,
                hint="Check its content; if it is right, unpack it first.",
            )  # fmt: skip

    def close(self) -> None:
        """Close it."""
        self._file.close()


Read = Callable[[Opened, str | None, str, ExitStack], RawTable | Ratings]
"""Returns the table in an open file."""
_ASIDE = ("readme", "license", "licence", "copying", "notice", "changelog", "requirements")
_NOT_PACKED: tuple[Kind, ...] = ("sqlite", "duckdb", "zip")
_JSON: tuple[Kind | None, ...] = ("json", "jsonl")
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class _Member:
    """A file in a folder or an archive: its path there, what its name claims, and how to open it."""

    path: str
    kind: Kind | None
    open: Callable[[], AbstractContextManager[Opened]]

    @property
    def stem(self) -> str:
        """Its name without the endings for its format."""
        name = PurePosixPath(self.path).name
        return name.split(".", 1)[0] if self.kind else PurePosixPath(name).stem


def read_folder(
    folder: str, inside: str | None, kind: Kind | None, encoding: str, stack: ExitStack, read: Read
) -> RawTable | Ratings:
    """Return the table in a folder, or one over all of its files."""
    name = printable(folder)
    members, aside, size = [], [], 0
    for path, full in _walked(folder, name):
        if _is_table(path):
            members.append(_Member(path, ending_of(path), lambda full=full: open_source(full, kind)))  # type: ignore[misc]
            size += os.path.getsize(full)
        else:
            aside.append(path)
    return _Members(name, size, members, aside, encoding, read).table(inside, stack)


def read_files(
    paths: Sequence[str], kind: Kind | None, encoding: str, stack: ExitStack, read: Read
) -> RawTable | Ratings:
    """Return one table over several files, in the order of their names."""
    members = [_Member(printable(one), ending_of(one), lambda one=one: open_source(one, kind)) for one in paths]  # type: ignore[misc]
    size = sum(os.path.getsize(one) for one in paths if os.path.isfile(one))
    name = printable(paths[0]) + (f" and {counted(len(paths) - 1, 'more file')}" if len(paths) > 1 else "")
    return _Members(name, size, members, [], encoding, read).table(None, stack)


def _walked(folder: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the files of a folder, except hidden ones, by their path in it."""

    def refuse(error: OSError) -> None:
        raise FileError(f"it cannot be read ({error.strerror})", source=name, hint="Check its owner and mode.")

    n_files = 0
    for home, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [one for one in folders if not _is_hidden(one)]
        for one in files:
            full = os.path.join(home, one)
            if _is_hidden(one) or not os.path.isfile(full):
                continue
            n_files += 1
            if n_files > MAX_MEMBERS:
                raise FileError(
                    f"it contains more than {MAX_MEMBERS:,} files", source=name, hint="Name a file or a smaller folder."
                )
            yield printable(os.path.relpath(full, folder)).replace(os.sep, "/"), full


def read_archive(opened: Opened, inside: str | None, encoding: str, stack: ExitStack, read: Read) -> RawTable | Ratings:
    """Return the table in a ZIP, or one over all of its files."""
    if opened.path is None:
        raise FileError(
            "a ZIP can only be read from a file of its own", source=opened.name, hint="Unpack or save it first."
        )
    stream = stack.enter_context(Path(opened.path).open("rb"))  # noqa: SIM115 - the stack closes it
    archive = Archive(stream, opened.name, opened.size())
    stack.callback(archive.close)
    members, aside = [], []
    for one in archive.members():
        path = one.filename
        if any(map(_is_hidden, path.split("/"))):
            continue
        if _is_table(path):
            called = f"{opened.name}{INSIDE}{path}"
            known = lambda one=one, path=path, called=called: open_stream(archive.open(one), path, called)  # noqa: E731
            members.append(_Member(path, ending_of(path), known))
        else:
            aside.append(path)
    found = _Members(opened.name, archive.size, members, aside, encoding, read, packed=True)
    return found.table(inside, stack)


def _is_hidden(name: str) -> bool:
    return (name.startswith(".") and name not in (".", "..")) or name == "__MACOSX"


def _is_table(path: str) -> bool:
    """Return whether a file may be a table, judged by its name."""
    name = PurePosixPath(path).name.casefold()
    if name.startswith(_ASIDE):
        return False
    return ending_of(path) is not None or name.endswith((".txt", ".txt.gz", ".txt.zst", ".db"))


@dataclass(slots=True)
class _Members:
    """The files in a folder or an archive that may be tables."""

    name: str
    size: int
    members: Sequence[_Member]
    aside: Sequence[str]
    encoding: str
    read: Read
    packed: bool = False

    def table(self, inside: str | None, stack: ExitStack) -> RawTable | Ratings:
        """Return the only table, the named one, or one over all files."""
        members, aside = sorted(self.members, key=lambda one: _natural(one.path)), sorted(self.aside)
        if not members:
            left = f" ({few(aside, _SHOWN)})" if aside else ""
            raise FileError(
                f"it contains no table{left}", source=self.name,
                hint="Names of tables end in .csv, .tsv, .json, .jsonl, .parquet, .arrow or .xlsx.",
            )  # fmt: skip
        if inside is not None:
            path, _, deeper = inside.partition(INSIDE)
            return self._alone(self._named(path, members), stack, deeper or None, [])
        remarks = []
        if aside:
            files = counted(len(aside), "file that is not a table", "files that are not tables")
            remarks.append(f"{self.name}: {files}, skipped: {few(aside, _SHOWN)}.")
        return self._alone(members[0], stack, None, remarks) if len(members) == 1 else self._all(members, remarks)

    def _named(self, inside: str, members: Sequence[_Member]) -> _Member:
        for key in (lambda one: one.path, lambda one: PurePosixPath(one.path).name, lambda one: one.stem):
            found = [one for one in members if key(one) == inside]
            if len(found) == 1:
                return found[0]
        paths = [one.path for one in members]
        raise FileError(
            f"it contains no file '{inside}', or several; it has {few(paths)}", source=self.name,
            hint=f"Name one of them: {self.name}{INSIDE}{paths[0]}.",
        )  # fmt: skip

    def _opened(self, member: _Member, stack: ExitStack, inside: str | None = None) -> RawTable | Ratings:
        opened = stack.enter_context(member.open())
        if self.packed and opened.kind in _NOT_PACKED:
            raise FileError(
                f"a file of the kind {opened.kind} cannot be read from inside a ZIP", source=opened.name,
                hint="Unpack it, then give that file.",
            )  # fmt: skip
        return self.read(opened, inside, self.encoding, stack)

    def _alone(
        self, member: _Member, stack: ExitStack, inside: str | None, remarks: Sequence[str]
    ) -> RawTable | Ratings:
        table = self._opened(member, stack, inside)
        if isinstance(table, Ratings):
            return table
        columns = [*table.columns, MEMBER]
        pieces = (piece.with_columns(pl.lit(member.stem).alias(MEMBER)) for piece in table.pieces)
        return replace(table, columns=columns, pieces=pieces, remarks=[*table.remarks, *remarks])

    def _all(self, members: Sequence[_Member], aside: Sequence[str]) -> RawTable:
        """Return one table over all files if they have the same columns, or are JSON with similar keys."""
        heads: list[tuple[_Member, list[str], pl.Schema | None]] = []
        remarks = [
            f"{self.name}: {len(members):,} files are read as one table; --rater {FILE} makes each file a rater."
        ]
        for member in members:
            with ExitStack() as stack:
                table = self._opened(member, stack)
                if isinstance(table, Ratings):
                    raise FileError(
                        f"'{member.path}' in it holds ratings that plurivox stored, which can only be read alone",
                        source=self.name, hint=f"Read it with {self.name}{INSIDE}{member.path}.",
                    )  # fmt: skip
                heads.append((member, table.columns, None if table.text else table.first().schema))
                remarks += table.remarks
        columns = list(dict.fromkeys(name for _, names, _ in heads for name in names))
        if not _belong(heads, columns):
            shown = [f"{one.path} ({few(names, _SHOWN)})" for one, names, _ in heads]
            raise FileError(
                f"it contains {counted(len(heads), 'table')} with different columns: {few(shown, _SHOWN)}",
                source=self.name,
                hint=f"Name one of them: {self.name}{INSIDE}{likely([one.path for one, _, _ in heads])}.",
            )  # fmt: skip
        refuse_columns(len(columns), self.name)
        typed = all(schema is not None and schema == heads[0][2] for _, _, schema in heads)
        starts: list[tuple[int, str, Locate]] = []

        def locate(position: int) -> str:
            first, path, of_file = starts[bisect.bisect_right(starts, position, key=lambda one: one[0]) - 1]
            return f"{path} {of_file(position - first)}"

        return RawTable(
            self.name, [*columns, MEMBER], self._joined(members, columns, typed, starts), text=not typed, locate=locate,
            size=lambda: self.size, remarks=list(dict.fromkeys([*remarks, *aside])),
        )  # fmt: skip

    def _joined(
        self, members: Sequence[_Member], columns: Sequence[str], typed: bool, starts: list[tuple[int, str, Locate]]
    ) -> Iterator[pl.DataFrame]:
        """Yield the pieces of all files, with the columns in one order and the name of the file."""
        n_rows = 0
        for member in members:
            with ExitStack() as stack:
                table = self._opened(member, stack)
                assert isinstance(table, RawTable)
                starts.append((n_rows, member.path, table.locate))
                for piece in table.pieces:
                    n_rows += piece.height
                    texts = [] if typed else [as_categories(one) for one in piece if one.dtype != pl.String]
                    lacking = [pl.lit(None, dtype=pl.String).alias(one) for one in columns if one not in piece.columns]
                    alike = piece.with_columns(texts).with_columns(lacking).select(columns)
                    yield alike.with_columns(pl.lit(member.stem).alias(MEMBER))


def _belong(heads: Sequence[tuple[_Member, list[str], object]], columns: Sequence[str]) -> bool:
    """Return whether files are parts of one table: the same columns, or JSON, where a file may lack some keys."""
    if all(set(names) == set(columns) for _, names, _ in heads):
        return True
    alike = len({PurePosixPath(one.path).name for one, _, _ in heads}) == 1
    similar = alike or all(2 * len(names) >= len(columns) for _, names, _ in heads)
    return similar and all(one.kind in _JSON for one, _, _ in heads)


def _natural(path: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts names as people do: part2 before part10.

    Examples
    --------
    >>> sorted(["part10.csv", "part2.csv", "Part1.csv"], key=_natural)
    ['Part1.csv', 'part2.csv', 'part10.csv']
    """
    found = re.findall(r"[0-9]+|[^0-9]+", path.casefold())
    return [(0, int(part), "") if len(part) < 1000 and part[0].isdecimal() else (1, 0, part) for part in found]
