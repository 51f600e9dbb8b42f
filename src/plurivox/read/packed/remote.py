"""Packed studies at an address: a file is fetched when first needed, kept in the cache and mapped there.

An address begins with ``https://``, which Python reads itself, or names an object store that fsspec has (``s3://``,
``gs://``, ``abfs://``). Who may read a store is decided there, never here. Every machine fetches only the parts that it
works on.

A server decides nothing here but the bytes that it sends, of which no more are read than the manifest says: no other
protocol is used, redirects lead only to https, and files in the cache have names of ours.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import os
import re
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import platformdirs

from plurivox.base.errors import FileError, MissingExtraError
from plurivox.base.files import writing
from plurivox.base.wording import short
from plurivox.read.packed.manifest import File

STORES = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "memory")
"""The protocols of object stores; ``memory`` is one within the process."""
TIMEOUT = 30.0
_PIECE = 1 << 20
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")  # a single letter would be a drive
_ODD = re.compile(r"[\s*?\[\]{}#\\]|::")  # what fsspec takes for a pattern or a chain


def is_address(name: str | os.PathLike[str] | bytes) -> bool:
    """Return whether a name is the address of a packed study.

    Examples
    --------
    >>> [is_address(name) for name in ("s3://bucket/study.pvx", "study.pvx", "C:/study.pvx", "s3://bucket/a.csv")]
    [True, False, False, False]
    """
    text = os.fsdecode(name)
    return _ADDRESS.search(text) is not None and text.rstrip("/").endswith(".pvx")


class RemoteFolder:
    """A folder at an address, used instead of a path; made only of addresses that may be read."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        found = _ADDRESS.match(address)
        self._protocol = "" if found is None else found[1].lower()
        allowed = self._protocol in ("https", *STORES) or (self._protocol == "http" and _is_here(self.address))
        if not allowed or _ODD.search(self.address):
            raise FileError(
                "packed studies are not read from such addresses", source=address,
                hint=f"Use https, or an object store ({', '.join(STORES[:-1])}); http only leads to this machine.",
            )  # fmt: skip

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

    def read(self, name: str, most: int) -> bytes:
        """Fetch a file that has at most so many bytes."""
        return b"".join(self._pieces(name, most))

    def place(self, file: File) -> Path:
        """Return where a file is on this machine, after fetching it if it is not there yet."""
        path = self.cache / f"{file.checksum.replace(':', '-')}-{file.size}"
        if not path.is_file() or path.stat().st_size != file.size:
            path.parent.mkdir(parents=True, exist_ok=True)
            with writing(path) as kept:
                for piece in self._pieces(file.name, file.size):
                    kept.write(piece)
        return path

    def _pieces(self, name: str, most: int) -> Iterator[bytes]:
        """Yield a file piece by piece; raise an error if it goes on after the bytes that it may have."""
        left = most
        with self._telling(name):
            stream = self._opened(f"{self.address}/{name}")
        with contextlib.closing(stream):
            while True:
                with self._telling(name):
                    piece = bytes(stream.read(min(_PIECE, left + 1)))
                if not piece:
                    return
                left -= len(piece)
                if left < 0:
                    raise FileError(
                        f"its file {name} goes on after {most:,} bytes", source=self.address,
                        hint="It is not what was packed; do not trust it.",
                    )  # fmt: skip
                yield piece

    def _opened(self, address: str) -> IO[bytes]:
        if self._protocol in ("http", "https"):
            request = urllib.request.Request(address, headers={"User-Agent": "plurivox"})  # noqa: S310 - is allowed
            found: IO[bytes] = urllib.request.build_opener(_Redirects).open(request, timeout=TIMEOUT)
        else:
            try:
                import fsspec  # type: ignore[import-untyped]
            except ImportError:
                raise MissingExtraError("packed studies in an object store need fsspec", "dask") from None
            found = fsspec.open(address, "rb").open()
        return found

    @contextlib.contextmanager
    def _telling(self, name: str) -> Iterator[None]:
        """Turn anything that comes from a store, such as permissions and the network, into an error of ours."""
        try:
            yield
        except (FileError, MissingExtraError):
            raise
        except ImportError as error:
            raise FileError(short(str(error)), source=self.address, hint="Install the package that it names.") from None
        except Exception as error:
            kind, what = type(error).__name__, short(str(error))
            raise FileError(f"its file {name} cannot be fetched ({kind}: {what})", source=self.address) from None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects only to https."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """Return the request that follows, none elsewhere, so that the answer is an error."""
        if not newurl.lower().startswith("https://"):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _is_here(address: str) -> bool:
    """Return whether an address leads to this machine."""
    try:
        host = urllib.parse.urlsplit(address).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
