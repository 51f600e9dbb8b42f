"""Packed studies in an object store: a file is fetched when first needed, kept in the cache and mapped there.

An address is anything that fsspec understands: ``s3://bucket/study.pvx``, ``gs://…``, ``abfs://…``, ``https://…``. Who
may read it is decided there, never here. Every machine fetches only the parts that it works on.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import platformdirs

from plurivox.errors import FileError, MissingExtraError
from plurivox.files import write_bytes
from plurivox.quoting import short

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # a single letter would be a drive


def is_address(name: str | os.PathLike[str] | bytes) -> bool:
    """Return whether a name is the address of a packed study in an object store.

    Examples
    --------
    >>> [is_address(name) for name in ("s3://bucket/study.pvx", "study.pvx", "C:/study.pvx", "s3://bucket/a.csv")]
    [True, False, False, False]
    """
    text = os.fsdecode(name)
    return _ADDRESS.match(text) is not None and text.rstrip("/").endswith(".pvx")


class RemoteFolder:
    """A folder in an object store, used instead of a path."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")

    def __fspath__(self) -> str:
        return self.address

    def __str__(self) -> str:
        return self.address

    def absolute(self) -> RemoteFolder:
        """Return the same address, since it is absolute."""
        return self

    @property
    def cache(self) -> Path:
        """Where its files are kept on this machine."""
        name = hashlib.blake2b(self.address.encode(), digest_size=12).hexdigest()
        return platformdirs.user_cache_path("plurivox") / "packed" / name

    @property
    def log(self) -> Path:
        """Where finished work is logged."""
        self.cache.parent.mkdir(parents=True, exist_ok=True)
        return self.cache.with_suffix(".log")

    def read(self, name: str) -> bytes:
        """Fetch a file."""
        fsspec = _fsspec()
        try:
            with fsspec.open(f"{self.address}/{name}", "rb") as file:
                return bytes(file.read())
        except ImportError as error:
            raise FileError(short(str(error)), source=self.address, hint="Install the package that it names.") from None
        except Exception as error:  # anything from a store: permissions, missing files, the network
            kind, what = type(error).__name__, short(str(error))
            raise FileError(f"its file {name} cannot be fetched ({kind}: {what})", source=self.address) from None

    def place(self, name: str, size: int, crc: int) -> Path:
        """Return where a file is on this machine, after fetching it if it is not there yet."""
        path = self.cache / f"{crc:08x}-{size}-{name}"
        if not path.is_file() or path.stat().st_size != size:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, self.read(name))
        return path


def _fsspec() -> Any:
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError("packed studies in an object store need fsspec", "dask") from None
    return fsspec
