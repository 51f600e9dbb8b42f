"""The one downloader: over https only, limited, resumed after interruptions, and checked before a file is put in place.

A part that has arrived is kept next to its destination, with the strong validator (ETag) of its file. The next call
asks for the rest on the condition that the file has not changed (If-Range); if a server sends the whole file, that is
used. Without a strong validator, a download starts again.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import ipaddress
import json
import os
import re
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from plurivox.base.errors import FileError
from plurivox.base.files import resumed, resuming, write_text

LARGEST = 8 << 30
"""The most bytes a file may have, whatever a server says."""
ATTEMPTS = 4
"""How many times an interrupted download is resumed in one call without progress; with progress there is no limit."""
TIMEOUT = 30.0
_CHUNK = 1 << 18
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
Progress = Callable[[str, int, int], object]
"""Called with the name of the file, how many bytes have arrived, and how many there are."""


class DownloadError(FileError):
    """A file cannot be fetched, or is not the requested one."""


def fetch(
    address: str, path: Path, *, sha256: str | None = None, progress: Progress | None = None, largest: int = LARGEST
) -> Path:
    """Fetch a file, continuing with a part of it that is already there.

    Raises
    ------
    DownloadError
        If it cannot be fetched; a part of it stays, and the next call continues. If its checksum is wrong, nothing is
        kept.
    FileError
        If it cannot be written, as on a full disk; the part stays.
    """
    allowed(address)
    note = resumed(path).with_suffix(".partial.json")
    with resuming(path) as file:
        for attempt in range(ATTEMPTS):
            before = file.tell()
            try:
                _go_on(address, file, note, path.name, progress, largest)
                break
            except _Cut as cut:
                if attempt + 1 == ATTEMPTS or (attempt and file.tell() <= before):
                    raise DownloadError(
                        f"the connection was interrupted ({cut}); {file.tell():,} bytes have arrived", source=address,
                        hint="Run the same command again to continue.",
                    ) from None  # fmt: skip
                time.sleep(min(2.0**attempt, 4.0) * _WAIT)
        if sha256 is not None and (found := digest_of(file)) != sha256:
            _start_anew(file, note)
            raise DownloadError(
                f"its SHA-256 is {found}, but the published one of {path.name} is {sha256}", source=address,
                hint="It was changed or damaged in transit; nothing was kept.",
            )  # fmt: skip
    _forget(note)
    return path


_WAIT = 1.0
"""Seconds before an interrupted download is first resumed."""


class _Cut(Exception):  # noqa: N818 - a reason to go on, not an error of a call
    """The connection ended before the file did."""


def allowed(address: str) -> None:
    """Raise unless an address uses https or is on this machine."""
    try:
        parts = urllib.parse.urlsplit(address)
        host = parts.hostname or ""
        good = bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and _is_here(host)))
    except ValueError:
        good = False
    if not good:
        raise DownloadError("only https addresses are fetched", source=address, hint="Fetch it by other means.")


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _HttpsRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects only to https."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """Return the request that follows."""
        try:
            allowed(newurl)
            if urllib.parse.urlsplit(newurl).scheme != "https" and req.type == "https":
                raise DownloadError("it redirects to this machine", source=req.full_url, hint="Do not trust it.")
        except DownloadError:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _go_on(address: str, file: IO[bytes], note: Path, name: str, progress: Progress | None, largest: int) -> None:
    """Ask for what is missing, and add it to the file."""
    have, tag = file.seek(0, os.SEEK_END), _known_tag(note, address)
    headers = {"User-Agent": "plurivox", "Accept-Encoding": "identity"}
    if have and tag:
        headers |= {"Range": f"bytes={have}-", "If-Range": tag}
    with _answer(address, headers) as answer:
        if answer.status == 416:  # the part is at least as long as the file
            _start_anew(file, note)
            raise _Cut("what has arrived no longer matches the file")
        begin, total = _begin_and_total(answer, have)
        if answer.status != 206:
            _start_anew(file, note)
        elif begin != have or answer.headers.get("ETag") != tag:
            _start_anew(file, note)
            raise _Cut("a different part was sent than requested")
        _remember(note, address, answer.headers.get("ETag"))
        try:
            if (total or 0) > largest:
                raise _too_large(address, largest)
            _copy(answer, file, total, address, name, progress, largest)
        except DownloadError:
            _start_anew(file, note)
            raise


def _answer(address: str, headers: dict[str, str]) -> Any:
    request = urllib.request.Request(address, headers=headers)  # noqa: S310 - allowed() has looked at it
    opener = urllib.request.build_opener(_HttpsRedirects)
    try:
        return opener.open(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416:
            return error
        error.close()
        if error.code in (408, 429, 500, 502, 503, 504):
            raise _Cut(f"the server answered {error.code}") from None
        gone = "It was moved or withdrawn; look at the home page of the data set." if error.code in (404, 410) else None
        raise DownloadError(f"the server answered {error.code}", source=address, hint=gone) from None
    except (urllib.error.URLError, OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise DownloadError("its certificate is not valid", source=address) from None
        raise _Cut(str(reason) or type(error).__name__) from None


def _begin_and_total(answer: Any, have: int) -> tuple[int, int | None]:
    """Return the first byte of an answer, and the length of the whole file, if given."""
    if answer.status == 206:
        found = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        return (int(found[1]), None if found[2] == "*" else int(found[2])) if found else (-1, None)
    length = answer.headers.get("Content-Length", "")
    return 0, int(length) if length.isdecimal() else None


def _copy(
    answer: Any, file: IO[bytes], total: int | None, address: str, name: str, progress: Progress | None, largest: int
) -> None:
    done = file.tell()
    while True:
        try:
            chunk = answer.read(_CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise _Cut(str(error) or type(error).__name__) from None
        if not chunk:
            break
        _write(file, chunk)
        done += len(chunk)
        if done > largest:
            raise _too_large(address, largest)
        if progress is not None:
            progress(name, done, max(total or 0, done))
    if total is not None and done != total:
        raise _Cut(f"{done:,} of {total:,} bytes")


def _write(file: IO[bytes], chunk: bytes) -> None:
    """Write all of it: the file is not buffered, and may accept less at once."""
    rest = memoryview(chunk)
    while rest:
        rest = rest[file.write(rest) :]


def _too_large(address: str, largest: int) -> DownloadError:
    return DownloadError(f"it has more than {largest:,} bytes", source=address, hint="Fetch it by other means.")


def _start_anew(file: IO[bytes], note: Path) -> None:
    file.seek(0)
    file.truncate(0)
    _forget(note)


# What a part is a part of ---------------------------------------------------------------------------------------------


def _known_tag(note: Path, address: str) -> str | None:
    """Return the validator of a partial file, None if it belongs to another file or is not strong."""
    try:
        found = json.loads(note.read_bytes())
        return str(found["etag"]) if found["address"] == address else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember(note: Path, address: str, tag: str | None) -> None:
    if tag and re.fullmatch(r'"[\x21\x23-\x7e]*"', tag):  # a weak one begins with W/
        write_text(note, json.dumps({"address": address, "etag": tag}))
    else:
        _forget(note)


def _forget(note: Path) -> None:
    with contextlib.suppress(OSError):
        note.unlink(missing_ok=True)


def digest_of(file: IO[bytes]) -> str:
    """Return the SHA-256 of an open file."""
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # it only reads


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return digest_of(file)
