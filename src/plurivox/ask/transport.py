"""What comes over the wire, within limits: bodies up to a given size, unpacked and decoded here, and few headers.

A server decides what it sends: terabytes, a kilobyte that unpacks to gigabytes, text in an encoding that does not
exist. Whatever it is, what leaves this module is UTF-8 text of at most :data:`LARGEST` bytes, or an exception.
"""

from __future__ import annotations

import importlib
import ssl
import zlib
from typing import Any

LARGEST = 8 * 2**20
"""How many bytes a reply may have, before and after it is unpacked."""
LARGEST_ERROR = 64 * 2**10
"""How many bytes of an error reply are read; the rest is ignored."""
ENCODINGS = "gzip"
"""How a reply may be compressed: only in a way that can be unpacked piece by piece."""
_PASSED_ON = ("retry-after", "retry-after-ms")
_GZIP = 16 + zlib.MAX_WBITS


class Unwanted(Exception):  # noqa: N818
    """A reply that is not read; the message says why, and repeats nothing that the server sent.

    ``final`` says that another attempt would be pointless.
    """

    def __init__(self, problem: str, *, final: bool = False) -> None:
        super().__init__(problem)
        self.final = final


def bounded_client(openai: Any, own_certificates: bool, **options: Any) -> Any:
    """Return an HTTP client of the kind that this version of openai uses, whose replies are bounded."""
    kind = openai.DefaultAsyncHttpxClient
    base = next(one for one in kind.__mro__ if one.__name__ == "AsyncClient")
    http = importlib.import_module(base.__module__.partition(".")[0])
    inner = http.AsyncHTTPTransport(
        verify=ssl.create_default_context() if own_certificates else True,
        trust_env=False,  # no proxies, no netrc
        limits=http.Limits(max_connections=None, max_keepalive_connections=100),
    )

    class BoundedTransport(http.AsyncBaseTransport):  # type: ignore[misc, name-defined]
        async def handle_async_request(self, request: Any) -> Any:
            received = await inner.handle_async_request(request)
            try:
                # No other headers are needed; cookies, reasons and anything else a server sends stay outside.
                headers = {name: received.headers[name] for name in _PASSED_ON if name in received.headers}
                content = await _body(received)
            except Unwanted:
                if received.is_success:
                    raise
                content = b""  # the status says enough
            finally:
                await received.aclose()
            kind = {"content-type": "application/json; charset=utf-8"}
            return http.Response(received.status_code, headers=headers | kind, content=content)

        async def aclose(self) -> None:
            await inner.aclose()

    return kind(transport=BoundedTransport(), trust_env=False, **options)


async def _body(received: Any) -> bytes:
    """Return what was sent as UTF-8, up to a limit; invalid bytes are replaced."""
    limit = LARGEST if received.is_success else LARGEST_ERROR
    unpack = _unpacking(received.headers.get("content-encoding", ""))
    content, sent = bytearray(), 0
    async for piece in received.stream:
        sent += len(piece)
        content += unpack(piece, limit + 1 - len(content))
        if max(sent, len(content)) > limit:
            if received.is_success:
                raise Unwanted(f"the server's answer has more than {LARGEST // 2**20} MiB", final=True)
            return _utf8(bytes(content[:limit]))
    if not unpack.done:
        raise Unwanted("the connection was lost")
    return _utf8(bytes(content))


def _utf8(content: bytes) -> bytes:
    return content.decode("utf-8", "replace").removeprefix("\ufeff").encode()


class _AsItIs:
    """An uncompressed body."""

    done = True

    def __call__(self, piece: bytes, most: int) -> bytes:
        return piece[:most]


class _Gzip:
    """A body compressed with gzip, unpacked up to a limit."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(_GZIP)

    @property
    def done(self) -> bool:
        """Whether the end was seen."""
        return self._inner.eof

    def __call__(self, piece: bytes, most: int) -> bytes:
        """Unpack the next piece; what exceeds the limit, or follows the end, is ignored."""
        if self._inner.eof:
            return b""
        try:
            return self._inner.decompress(piece, most)
        except zlib.error:
            raise Unwanted("the server's answer cannot be unpacked") from None


def _unpacking(encoding: str) -> _AsItIs | _Gzip:
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return _AsItIs()
    if name in ("gzip", "x-gzip"):
        return _Gzip()
    raise Unwanted("the server compressed its answer in a way that was not requested", final=True)
