"""The one writer of files: whole or not at all, never over what the same call reads, and only to regular files.

A file is written under a temporary name in the same folder and moved into place in one step. So a reader sees the old
file or the new one, never half of one. What the program reads in one call is noted where it is opened, and the writer
refuses to write over it; so no command has to remember.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import operator
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from plurivox.base.errors import FileError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Name = str | os.PathLike[str]
FILE, OTHER = "Name a file to write.", "Name another file to write."
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_SYNCED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)  # on a file system that cannot wait for the disk
_LONGEST = 200  # bytes of a name that its temporary name repeats; file systems allow 255
_ENDS = 2_000  # bytes from either end of a file in which plurivox leaves its mark
_YOUNG = 1.0  # seconds; a file this young may not have been locked yet by its maker
_PARTS: set[Path] = set()  # temporary files that are being written


# What a call reads ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Call:
    """What one call of the program has read so far, and what it is going to write."""

    inputs: dict[str | int, None] = field(default_factory=dict)
    outputs: list[Name] = field(default_factory=list)


_call: _Call | None = None


@contextlib.contextmanager
def one_call() -> Iterator[None]:
    """Note what is read from here on, so that none of it is overwritten; finally remove leftovers."""
    global _call
    before, _call = _call, _Call()
    try:
        yield
    finally:
        _call = before
        _remove_parts()


def note_input(path: Name | int) -> None:
    """Note that a file, or an open descriptor, is read; raise if it is to be written later in the same call."""
    if _call is None:
        return
    for output in _call.outputs:
        if _same(path, output):
            raise _is_read(output)
    _call.inputs[path if isinstance(path, int) else os.path.abspath(path)] = None


def will_write(*paths: Name | None) -> None:
    """Declare early what will be written: raise now, not after minutes of work, if it cannot be."""
    for path in paths:
        if path is not None:
            _Target.of(path)
            if _call is not None:
                _call.outputs.append(path)


def _same(one: Name | int, other: Name) -> bool:
    """Return whether two names lead to one file, also through links of either kind."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _is_read(path: Name) -> FileError:
    return FileError("this file is an input and would be overwritten", source=os.fspath(path), hint=OTHER)


def open_plain(path: Name) -> IO[bytes]:
    """Open a file in a folder of somebody else to read it, or raise an OSError if it is a link or a device."""
    flags = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC"))
    descriptor = os.open(path, functools.reduce(operator.or_, flags, os.O_RDONLY))
    file = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a file")
    return file


@contextlib.contextmanager
def room_for(what: str, folder: Name) -> Iterator[None]:
    """Say where a disk is full, or fails, while something without a name is written; no input is to blame."""
    try:
        yield
    except OSError as error:
        raise FileError(
            f"{what} cannot be written there ({error.strerror or error})", source=os.fspath(folder),
            hint="Free some space there." if error.errno in _FULL else None,
        ) from None  # fmt: skip


# Where a file goes ---------------------------------------------------------------------------------------------------


class _Target(NamedTuple):
    """The file behind a name, links followed; what it is now, None if there is none; and the name as it was given."""

    path: Path
    now: os.stat_result | None
    name: str

    @classmethod
    def of(cls, path: Name, inputs: Iterable[Name] = ()) -> _Target:
        """Return where a file will be written, or raise if none can be."""
        name = os.fspath(path)
        if name == "-" or _stands_for_a_stream(name):
            raise FileError("this is not a file", source=name, hint=FILE)
        try:
            now = os.stat(name)
        except FileNotFoundError:
            now = None
        except (OSError, ValueError) as error:  # the latter for names that no file can have
            reason = getattr(error, "strerror", None) or error
            raise FileError(f"it cannot be written ({reason})", source=name, hint=OTHER) from None
        target = cls(Path(os.path.realpath(name)), now, name)
        if now is not None:
            target._check(now.st_mode)
            for read in (*(() if _call is None else _call.inputs), *inputs):
                if _same(read, name):
                    raise _is_read(name)
        elif not target.path.parent.is_dir():
            folder = target.path.parent if os.path.islink(name) else os.path.dirname(name)
            raise FileError(f"it cannot be written (there is no folder {folder})", source=name, hint="Make it first.")
        return target

    def _check(self, mode: int) -> None:
        kinds = {
            "a directory": stat.S_ISDIR, "a device": stat.S_ISCHR, "a disk": stat.S_ISBLK, "a pipe": stat.S_ISFIFO,
            "a socket": stat.S_ISSOCK,
        }  # fmt: skip
        if not stat.S_ISREG(mode):
            kind = next((f"{word}, " for word, is_it in kinds.items() if is_it(mode)), "")
            raise FileError(f"this is {kind}not a file", source=self.name, hint=FILE)
        if not os.access(self.path, os.W_OK):
            raise FileError("it is write-protected", source=self.name, hint=OTHER)


def _stands_for_a_stream(name: str) -> bool:
    """Return whether a name is that of an open stream, such as /dev/stdout, wherever it leads."""
    folder = os.path.dirname(os.path.abspath(name))
    return folder in ("/dev", "/dev/fd") or folder.startswith("/proc/")


def refuse_others(path: Name, marks: Iterable[bytes], inputs: Iterable[Name] = ()) -> None:
    """Raise if there is a file of this name that plurivox did not write: not empty, and without any of its marks.

    Marks are looked for where files begin and end.
    """
    target = _Target.of(path, inputs)
    if target.now is None or not target.now.st_size:
        return
    ends = b""
    with contextlib.suppress(OSError), target.path.open("rb") as file:
        ends = file.read(_ENDS)
        file.seek(max(target.now.st_size - _ENDS, 0))
        ends += file.read()
    if not any(mark in ends for mark in marks):
        hint = "Name another file, or overwrite it with --force (force=True)."
        raise FileError("it exists and was not written by plurivox", source=target.name, hint=hint)


# Writing -------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def replacing(path: Name, inputs: Iterable[Name] = ()) -> Iterator[Path]:
    """Yield a temporary name next to ``path``; on success the file replaces ``path``, otherwise it is removed.

    Links are followed, the mode of an existing file is kept, and a new one gets the mode that the umask gives. Prepare
    what is to be written beforehand, so that no error in reading is mistaken for one in writing.

    Parameters
    ----------
    path
        Where to write.
    inputs
        Files that must not be overwritten, in addition to what :func:`one_call` has noted.

    Raises
    ------
    FileError
        If the file is read by the same call, is not a regular file, or cannot be written.
    """
    target = _Target.of(path, inputs)
    temporary = _temporary_name(target.path)
    descriptor = -1
    try:
        _PARTS.add(temporary)
        try:
            descriptor = _made(temporary, target)
            yield temporary
            _finish(descriptor, temporary, target)
        except _errors_in_writing() as error:
            named = getattr(error, "filename", None)
            if named is not None and str(named) != str(temporary):
                raise  # something else that happened in the meantime
            raise _not_written(error, target) from None
    finally:
        try:
            if descriptor >= 0:
                os.close(descriptor)
        finally:
            _remove(temporary)


@contextlib.contextmanager
def writing(path: Name, inputs: Iterable[Name] = ()) -> Iterator[IO[bytes]]:
    """Yield an open file that replaces ``path`` on success, for libraries that only accept UTF-8 names."""
    with replacing(path, inputs) as temporary, temporary.open("r+b") as file:
        yield file


def write_text(path: Name, text: str, inputs: Iterable[Name] = ()) -> Path:
    """Write a text as UTF-8, all of it or nothing, and return where."""
    return write_bytes(path, text.encode("utf-8", "replace"), inputs)  # halves of characters come from file names


def write_bytes(path: Name, content: bytes, inputs: Iterable[Name] = ()) -> Path:
    """Write a file, all of it or nothing, and return where."""
    with replacing(path, inputs) as temporary:
        temporary.write_bytes(content)
    return Path(path)


@contextlib.contextmanager
def resuming(path: Name) -> Iterator[IO[bytes]]:
    """Yield the part of a file that already exists, open for appending; it replaces ``path`` on success.

    Unlike :func:`replacing`, it stays if something goes wrong or is interrupted, so that the next call continues it:
    for downloads. It is removed if it is empty at the end. Only one process at a time can use it.

    Raises
    ------
    FileError
        If it cannot be written, or another process is writing it.
    """
    target = _Target.of(path)
    part = resumed(target.path)
    try:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(part, flags, 0o666)
    except OSError as error:
        raise _not_written(error, target) from None
    with os.fdopen(descriptor, "r+b", buffering=0) as file:  # nothing is held back that a full disk could refuse later
        if fcntl is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise FileError("another process is writing it", source=target.name, hint="Wait for it.") from None
            except OSError:  # a file system without locks
                pass
        try:
            file.seek(0, os.SEEK_END)
            yield file
            _finish(descriptor, part, target)
        except _errors_in_writing() as error:
            if getattr(error, "filename", None) not in (None, str(part)):
                raise
            raise _not_written(error, target) from None
        finally:
            with contextlib.suppress(OSError):
                if os.fstat(descriptor).st_size == 0:
                    part.unlink(missing_ok=True)


def resumed(path: Path) -> Path:
    """Return the name of a partial file until the file is whole."""
    return path.with_name(f"{path.name}.partial")


def _temporary_name(target: Path) -> Path:
    """Return a new name next to a file, after removing what a killed process left there under such a name."""
    start = "." + os.fsencode(target.name)[:_LONGEST].decode("utf-8", "ignore")
    _sweep(target.parent, re.compile(re.escape(start) + r"\.[0-9a-f]{8}\.part"))
    return target.with_name(f"{start}.{secrets.token_hex(4)}.part")


def _sweep(folder: Path, name: re.Pattern[str]) -> None:
    """Remove temporary files that nobody is writing any more; a process that is writing holds a lock."""
    if fcntl is None:
        return
    left: list[os.DirEntry[str]] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        left = [entry for entry in entries if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)]
    for entry in left:
        with contextlib.suppress(OSError):
            if time.time() - entry.stat().st_mtime < _YOUNG:
                continue
            descriptor = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(entry.path)
            finally:
                os.close(descriptor)


def _made(temporary: Path, target: _Target) -> int:
    """Make the temporary file, no wider than the old one, and lock it for as long as it is open."""
    mode = 0o666 if target.now is None else 0o600
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def _finish(descriptor: int, temporary: Path, target: _Target) -> None:
    """Move the complete file into place, with the mode of the previous one."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_SYNCED:
            raise
    if target.now is not None and os.name == "posix":
        mode = _mode_for(descriptor, target.now)
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:  # never if all files have the same
            os.fchmod(descriptor, mode)
    os.replace(temporary, target.path)


def _mode_for(descriptor: int, before: os.stat_result) -> int:
    """Return the mode of the old file; without the rights of its group if the new one cannot be given to that."""
    mode, now = stat.S_IMODE(before.st_mode) & 0o777, os.fstat(descriptor)
    if (now.st_uid, now.st_gid) == (before.st_uid, before.st_gid):
        return mode
    for owner in (before.st_uid, -1):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, owner, before.st_gid)
            return mode
    return mode & ~0o070


def _errors_in_writing() -> tuple[type[Exception], ...]:
    from polars.exceptions import PolarsError  # only now: the program starts without it

    return OSError, PolarsError


def _not_written(error: Exception, target: _Target) -> FileError:
    reason = getattr(error, "strerror", None) or str(error).split("\n", 1)[0]
    hint = "Free some space or write elsewhere" if getattr(error, "errno", None) in _FULL else None
    if target.now is not None:
        hint = f"{hint}; the old file is unchanged" if hint else "The old file is unchanged"
    return FileError(f"it cannot be written ({reason})", source=target.name, hint=hint and f"{hint}.")


def _remove(temporary: Path) -> None:
    """Remove a temporary file if it still exists, despite any interruption."""
    interrupted: KeyboardInterrupt | None = None
    while True:  # polars raises one Ctrl-C twice, and the second must not stop the cleaning up
        try:
            temporary.unlink(missing_ok=True)
            _PARTS.discard(temporary)
            break
        except KeyboardInterrupt as error:
            interrupted = error
        except OSError:
            break
    if interrupted is not None:
        raise interrupted


@atexit.register
def _remove_parts() -> None:
    """Remove what interruptions at the worst moment left behind."""
    for temporary in tuple(_PARTS):
        _remove(temporary)
