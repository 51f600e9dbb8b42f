"""The content of a ZIP, unpacked piece by piece and counted: the sizes in its directory may be wrong."""

from __future__ import annotations

import contextlib
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

from plurivox.base.errors import FileError
from plurivox.read.opening import MAX_UNPACKED, UNPACKED_PER_BYTE

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
            return io.BufferedReader(_Unpacked(self, self._file.open(member)))

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


class _Unpacked(io.RawIOBase):
    """Reads a file in an archive and counts its bytes."""

    def __init__(self, archive: Archive, stream: IO[bytes]) -> None:
        self._archive, self._stream = archive, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._archive.readable():
            chunk = self._stream.read(len(buffer))
        self._archive.count(len(chunk))
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        self._stream.close()
        super().close()
