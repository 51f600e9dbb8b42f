"""Open a file: recognise it by its name and its first bytes, and report every way in which that can fail."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, cast, get_args

import polars as pl

from plurivox.base.errors import FileError
from plurivox.base.files import note_input
from plurivox.read.packed.manifest import is_address

Kind = Literal["csv", "tsv", "jsonl", "json", "parquet", "arrow", "excel", "sqlite", "duckdb", "zip"]
"""The kinds of file."""
Packing = Literal["gzip", "zstd"]
KINDS: tuple[Kind, ...] = get_args(Kind)
STDIN = "-"
INSIDE = "::"
"""Separates a file from the name of the part to read: ``study.xlsx::Raters``."""
_STDIN = 0  # its descriptor
MAX_UNPACKED, UNPACKED_PER_BYTE = 1 << 30, 200
"""The most bytes a packed file may have when unpacked, absolutely or as a multiple of its packed size."""
MAX_WHOLE, WHOLE_PER_BYTE = 1 << 28, 100
"""The most unpacked bytes of a file that must be in memory at once, absolutely or as a multiple of its packed size."""
ANSWERS = 0x506C7658
"""The application id that marks an SQLite file as a store of answers: "PlvX"."""
_BUFFER, _CHUNK = 1 << 17, 1 << 22
_ENDINGS: dict[str, Kind] = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".xlsx": "excel",
    ".xlsm": "excel", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".duckdb": "duckdb", ".zip": "zip",
}  # fmt: skip
_PACKED: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_MAGIC = {
    b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"PAR1": "Parquet", b"PK\x03\x04": "zip or Excel",
    b"PK\x05\x06": "zip or Excel", b"SQLite format 3": "SQLite", b"%PDF": "PDF", b"BZh": "bzip2", b"\xfd7zXZ": "xz",
    b"ARROW1": "Arrow", b"\xff\xff\xff\xff": "Arrow", b"\xd0\xcf\x11\xe0": "old Excel", b"FEA1": "old Feather",
}  # fmt: skip
_ARRAY = re.compile(rb"\[\s*(\{|$)")
_DUCKDB, _DUCKDB_AT = b"DUCK", 8
_OF_MAGIC: dict[str, tuple[Kind, ...]] = {
    "Parquet": ("parquet",), "Arrow": ("arrow",), "zip or Excel": ("excel", "zip"), "SQLite": ("sqlite",),
    "DuckDB": ("duckdb",),
}  # fmt: skip
_BINARY: tuple[Kind, ...] = tuple(kind for kinds in _OF_MAGIC.values() for kind in kinds)


@dataclass(frozen=True, slots=True)
class Opened:
    """An open, unpacked stream, what it holds, and the name to use in messages.

    ``path`` is the file if the stream is just its bytes and its name is text, None if it was unpacked or piped.
    ``size`` returns how large the file is, or how many bytes have come from a pipe.
    """

    stream: IO[bytes]
    kind: Kind
    name: str
    path: str | None
    size: Callable[[], int]


@contextlib.contextmanager
def open_source(path: str | os.PathLike[str], kind: Kind | None = None) -> Iterator[Opened]:
    """Open a file or standard input (``-``), unpack it, and make sure that it is what it claims to be."""
    name = "standard input" if os.fspath(path) == STDIN else printable(path)
    raw = _open(path, name)
    plain = os.path.isfile(os.fspath(path)) and not _claims(path)[1] and is_whole(os.fspath(path))
    kept = contextlib.nullcontext(raw) if raw is sys.stdin.buffer else raw
    with kept, open_stream(raw, path, name, kind, os.fspath(path) if plain else None) as opened:
        yield opened


@contextlib.contextmanager
def open_stream(
    raw: IO[bytes], path: str | os.PathLike[str], name: str, kind: Kind | None = None, plain: str | None = None
) -> Iterator[Opened]:
    """Open a stream, such as a member of an archive, in the same way as a file of that name."""
    counted, known = Watched(getattr(raw, "read1", raw.read)), 0
    with contextlib.suppress(OSError, ValueError):  # a stream in memory that stands for standard input
        status = os.fstat(raw.fileno())
        known = status.st_size if stat.S_ISREG(status.st_mode) else 0  # otherwise it is not known
    stream, found = _unpacked(io.BufferedReader(counted), path, name, kind)
    with readable(name):
        yield Opened(stream, found, name, plain, lambda: known or counted.come)


def whole(opened: Opened) -> bytes:
    """Read a file that has to be in memory at once."""
    data = bytearray()
    while chunk := opened.stream.read(_CHUNK):
        data += chunk
        refuse_unpacked(len(data), opened)
    return bytes(data)


def refuse_unpacked(n_bytes: int, opened: Opened) -> None:
    """Raise an error if a file unpacks to far more than its size."""
    if n_bytes > max(MAX_WHOLE, WHOLE_PER_BYTE * opened.size()):
        raise FileError(
            f"its {opened.size():,} bytes unpack to {n_bytes >> 20:,} MiB or more, too much to be a table of ratings",
            source=opened.name,
            hint="Check its content; if it is right, give it as plain CSV.",
        )


def split_name(source: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Return a file, and the name of the sheet, table or file in it that is meant, if any.

    Examples
    --------
    >>> split_name("study.xlsx::Raters"), split_name("ratings.csv")
    (('study.xlsx', 'Raters'), ('ratings.csv', None))
    """
    text = os.fspath(source)
    if os.path.lexists(text) or is_address(text):
        return text, None
    ends = [found.start() for found in re.finditer(INSIDE, text) if text[: found.start()] and text[found.end() :]]
    if not ends:
        return text, None
    end = next((end for end in ends if os.path.lexists(text[:end])), ends[0])
    return text[:end], text[end + len(INSIDE) :]


def printable(path: str | os.PathLike[str]) -> str:
    """Return the name of a file as text that can be printed, for any bytes."""
    return os.fsencode(path).decode(errors="backslashreplace")


def is_whole(text: str) -> bool:
    """Return whether a text has only whole characters: JSON can escape half of a pair, which no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Watched(io.RawIOBase):
    """Reads a stream, counts the bytes that have come from it, and tells a function about each new lot of them."""

    def __init__(
        self, read: Callable[[int], bytes], tell: Callable[[int], object] = int, close: Callable[[], object] = int
    ) -> None:
        self._read, self._tell, self._close = read, tell, close
        self.come = 0

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into a buffer, and return how many there are."""
        chunk = self._read(len(buffer))
        buffer[: len(chunk)] = chunk
        self.come += len(chunk)
        self._tell(len(chunk))
        return len(chunk)

    def close(self) -> None:
        """Close what it reads from, if it was told how."""
        self._close()
        super().close()


@contextlib.contextmanager
def readable(name: str) -> Iterator[None]:
    """Turn the exceptions of damaged compressed data or an unreadable disk into one clear error."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error, _zstd().ZstdError) as error:
        raise FileError(
            f"the compressed data is damaged or cut off ({error})", source=name, hint="Download or compress it again."
        ) from None
    except OSError as error:
        raise FileError(f"it cannot be read ({error.strerror or error})", source=name) from None


def _open(path: str | os.PathLike[str], name: str) -> IO[bytes]:
    if os.fspath(path) == STDIN:
        note_input(_STDIN)
        return sys.stdin.buffer
    target = Path(path)
    if os.path.isdir(target):  # unlike Path.is_dir, also quiet if access is denied
        raise FileError("this is a directory", source=name, hint="Name a file in it.")
    note_input(target)
    try:
        return target.open("rb")
    except FileNotFoundError:
        raise FileError("there is no such file", source=name, hint=_nearby(target)) from None
    except PermissionError:
        raise FileError("no permission to read it", source=name, hint="Check its owner and mode.") from None
    except OSError as error:
        raise FileError(f"it cannot be opened ({error.strerror})", source=name) from None
    except ValueError as error:  # a zero byte
        raise FileError(f"this is not the name of a file ({error})", source=name) from None


def _nearby(target: Path) -> str:
    import difflib

    if not target.parent.is_dir():
        return f"There is no directory {printable(target.parent)} either."
    names = difflib.get_close_matches(target.name, os.listdir(target.parent), n=1)
    return f"Did you mean {printable(names[0])}?" if names else "Check the path."


def _unpacked(
    packed: io.BufferedReader, path: str | os.PathLike[str], name: str, given: Kind | None
) -> tuple[io.BufferedReader, Kind]:
    with readable(name):
        start = packed.peek(64)
    if not start:
        raise FileError("the file is empty", source=name, hint="It needs a header and at least one row.")
    inner, packing = _claims(path)
    found = _looks_like(start)
    if os.fspath(path) == STDIN and found in ("gzip", "zstd"):
        packing = cast(Packing, found)
    if packing != (found if found in ("gzip", "zstd") else None):
        claim = packing or "plain" if inner is None else f"a {'packed ' if packing else ''}{inner}"
        raise FileError(
            f"its name says {claim}, but it starts like {_article(found)}", source=name,
            hint="Give it the right ending, for example .gz or .zst if it is compressed.",
        )  # fmt: skip
    stream = packed
    if packing is not None:
        unpacking = gzip.GzipFile(fileobj=packed, mode="rb") if packing == "gzip" else _zstd().ZstdFile(packed)

        def refuse_much(_: int) -> None:  # once far more comes out than went in
            most = max(MAX_UNPACKED, UNPACKED_PER_BYTE * cast(Watched, packed.raw).come)
            if inflated.come > most:
                raise FileError(
                    f"it unpacks to more than {most >> 20:,} MiB, at least {UNPACKED_PER_BYTE:,} times its size",
                    source=name, hint="Check its content; if it is right, unpack it first.",
                )  # fmt: skip

        inflated = Watched(unpacking.read, refuse_much)
        stream = io.BufferedReader(inflated, _BUFFER)
    with readable(name):
        start = stream.peek(64)
    if not start:
        raise FileError("the file is empty", source=name, hint="It needs a header and at least one row.")
    return stream, _kind(start, given or inner, name)


def _kind(start: bytes, claimed: Kind | None, name: str) -> Kind:
    """Return what a file is, by its first bytes and by what is claimed; raise an error if these disagree."""
    found = _looks_like(start)
    possible = _OF_MAGIC.get(found or "", ())
    if claimed is None and possible:
        return possible[-1]
    kind = claimed or _guess(start)
    if kind in possible or (found is None and kind not in _BINARY):
        return kind
    if kind in ("sqlite", "duckdb") and found is None:
        raise FileError(
            f"it does not start like a database of {kind}", source=name,
            hint="It may be damaged or encrypted; export its content as CSV.",
        )  # fmt: skip
    hint = f"Rename it, name its format with --format ({', '.join(KINDS)}), or export it as CSV."
    if found == "old Excel":
        hint = "Save it as .xlsx, without a password."
    elif found == "old Feather":
        hint = "Write it with a newer version, as .arrow or .parquet."
    raise FileError(f"it should be {kind}, but it starts like {_article(found)}", source=name, hint=hint)


def _claims(path: str | os.PathLike[str]) -> tuple[Kind | None, Packing | None]:
    endings = [ending.lower() for ending in Path(path).suffixes]
    packing = _PACKED.get(endings[-1]) if endings else None
    if packing:
        endings.pop()
    return (_ENDINGS.get(endings[-1]) if endings else None), packing


def ending_of(path: str) -> Kind | None:
    """Return the kind of file that a name claims."""
    return _claims(path)[0]


def _looks_like(start: bytes) -> str | None:
    if start[_DUCKDB_AT:].startswith(_DUCKDB):
        return "DuckDB"
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)


def _article(found: str | None) -> str:
    return "plain text" if found is None else f"{'an' if found[0] in 'Ao' else 'a'} {found} file"


def _guess(start: bytes) -> Kind:
    """Guess the kind of text in a stream whose name says nothing."""
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{") or _ARRAY.match(text):
        return "json"
    line = text.split(b"\n", 1)[0]
    return "tsv" if b"\t" in line and b"," not in line else "csv"


def _zstd() -> Any:
    """Return the zstd module of the standard library, or its backport for Python before 3.14."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def likely(names: Sequence[str]) -> str:
    """Return which of several tables to name as an example: one named like ratings, or the first."""
    return next((name for name in names if re.search("rating|annotation|label", name.casefold())), names[0])


@contextlib.contextmanager
def without_panics() -> Iterator[None]:
    """Keep off the screen what polars prints about damaged data, since it also raises it.

    Anything else written to standard error meanwhile comes out at the end.
    """
    with tempfile.TemporaryFile() as kept:
        screen, panic = os.dup(2), False
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except pl.exceptions.PanicException:
            panic = True
            raise
        finally:
            os.dup2(screen, 2)
            kept.seek(0)
            if not panic and (text := kept.read()):
                os.write(screen, text)
            os.close(screen)
