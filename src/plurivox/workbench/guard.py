"""The one outermost layer: nobody gets an answer who does not come from the address that the server printed.

Any page in the same browser can send requests to this machine, and any program on it can try. So every request must
name exactly this host and port (a name that was rebound to this machine does not), must not come from another site,
and must carry a cookie that only the first address gives. What goes out may be neither framed nor cached, and runs no
script but ours.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

TOKEN = "token"  # noqa: S105  the name of the parameter
SAFE = ("GET", "HEAD")
SMALL = 1 << 20
"""Bytes that a request may have, unless it is an upload."""
UPLOADS = re.compile(r"/studies(/\w+)?/files|/api/v1/studies/\w+/files/\w+")
"""Addresses that take files."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
NONCE = "nonce"
"""Where pages find what marks their own scripts, in the scope of a request."""


def policy(nonce: str) -> str:
    """Return what a page may do: nothing but what comes from here, no script or style within a page, no frame."""
    return "; ".join((
        "default-src 'none'", f"script-src 'self' 'nonce-{nonce}'", "style-src 'self'", "img-src 'self' data: blob:",
        "connect-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'",
        "require-trusted-types-for 'script'", "trusted-types htmx",
    ))  # fmt: skip


@dataclass(frozen=True)
class Guard:
    """Wraps an application.

    Attributes
    ----------
    app
        What answers those who may ask.
    port
        Where the server listens.
    hosts
        Names by which it may be called.
    token
        What the first address carries; it holds good once.
    key
        What programs send as ``Authorization: Bearer``; pages show it.
    most
        Bytes that an upload may have.
    """

    app: App
    port: int
    hosts: tuple[str, ...] = LOOPBACK
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    most: int = 1 << 30
    _session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _used: list[bool] = field(default_factory=list)

    @property
    def cookie(self) -> str:
        """The name of the cookie: browsers keep one for all ports of a machine, so that each has its own name."""
        return f"plurivox-{self.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse in a few words that tell nothing."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = _Headers(scope["headers"])
        problem = self._elsewhere(headers) or self._unsaid(scope["method"], headers)
        if problem:
            await _answer(send, *problem)
        elif self._has_key(headers) or self._has_cookie(headers):
            clean = _without_token(scope)
            if clean is None:
                await self._pass(scope, headers, receive, send)
            else:
                await _answer(send, 303, "", {"location": clean})
        else:
            await self._introduce(scope, send)

    def _elsewhere(self, headers: _Headers) -> tuple[int, str] | None:
        """Return why a request is refused that was meant for another host, or comes from another site."""
        names = {f"{host}:{self.port}" for host in self.hosts} | (set(self.hosts) if self.port == 80 else set())
        called = headers.all("host")
        if len(called) != 1 or called[0] not in names:
            return 421, "This address is not the one that plurivox serve printed."
        origins, site = headers.all("origin"), headers.all("sec-fetch-site")
        if (origins and origins != [f"http://{called[0]}"]) or (site and site not in (["same-origin"], ["none"])):
            return 403, "This request comes from another site."
        return None

    def _unsaid(self, method: str, headers: _Headers) -> tuple[int, str] | None:
        """Return why a request is refused that changes something and does not say where it comes from."""
        said = headers.all("origin") or headers.all("sec-fetch-site") == ["same-origin"]
        if method in SAFE or said or self._has_key(headers):
            return None
        return 403, "A request that changes something must say where it comes from, in its header Origin."

    def _has_key(self, headers: _Headers) -> bool:
        """Tell whether a request carries the key of programs."""
        given = headers.all("authorization")
        return len(given) == 1 and given[0].startswith("Bearer ") and _same(given[0].removeprefix("Bearer "), self.key)

    def _has_cookie(self, headers: _Headers) -> bool:
        for line in headers.all("cookie"):
            try:
                found = SimpleCookie(line).get(self.cookie)
            except CookieError:
                continue
            if found is not None and _same(found.value, self._session):
                return True
        return False

    async def _introduce(self, scope: Scope, send: Send) -> None:
        """Give the cookie to whoever has the first address, once, and lead to the same address without the token."""
        given = [value for name, value in _query(scope) if name == TOKEN]
        if scope["method"] != "GET" or len(given) != 1 or not _same(given[0], self.token):
            await _answer(send, 401, "Open the address that plurivox serve printed: it holds a key to this page.")
            return
        if self._used:
            told = "This address was opened before, and holds good once. Go on in the browser that opened it, or start "
            await _answer(send, 401, f"{told}plurivox serve again.")
            return
        self._used.append(True)
        cookie = f"{self.cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
        await _answer(send, 303, "", {"location": _without_token(scope) or "/", "set-cookie": cookie})

    async def _pass(self, scope: Scope, headers: _Headers, receive: Receive, send: Send) -> None:
        """Let the application answer, hold the body to its size, and add what every answer carries."""
        most = self.most if UPLOADS.fullmatch(scope["path"]) else SMALL
        length = headers.all("content-length")
        if length and (not length[0].isdigit() or int(length[0]) > most):
            await _answer(send, 413, _too_large(most))
            return
        nonce = secrets.token_urlsafe(16)
        scope = {**scope, NONCE: nonce}
        taken, started = 0, False

        async def measured() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise TooLargeError(_too_large(most))
            return message

        async def covered(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": [*_without(message["headers"], _ADDED), *_added(nonce)]}
            await send(message)

        try:
            await self.app(scope, measured, covered)
        except TooLargeError as error:
            if not started:
                await _answer(send, 413, str(error))


class TooLargeError(Exception):
    """A request goes on after all that it may have."""


def _too_large(most: int) -> str:
    more = "" if most == SMALL else "; plurivox serve --max-upload says how much"
    return f"This is more than {most:,} bytes, which is as much as is taken here at once{more}"


class _Headers:
    """Headers by their name, several of one name kept apart."""

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        self._pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in pairs]

    def all(self, name: str) -> list[str]:
        """Return all values of a name."""
        return [value for one, value in self._pairs if one == name]


_ADDED = (
    b"content-security-policy", b"x-content-type-options", b"referrer-policy", b"cross-origin-opener-policy",
    b"cross-origin-resource-policy", b"x-frame-options",
)  # fmt: skip


def _added(nonce: str) -> list[tuple[bytes, bytes]]:
    # Without any referrer browsers would also hide the origin of our own forms; nothing is told to other sites.
    values = (policy(nonce), "nosniff", "same-origin", "same-origin", "same-origin", "DENY")
    return [(name, value.encode("ascii")) for name, value in zip(_ADDED, values, strict=True)]


def _without(headers: Iterable[tuple[bytes, bytes]], names: tuple[bytes, ...]) -> list[tuple[bytes, bytes]]:
    """Return the headers without those that are added; what says nothing of caching is not kept by anybody."""
    kept = [(name, value) for name, value in headers if name.lower() not in names]
    if not any(name.lower() == b"cache-control" for name, _ in kept):
        kept.append((b"cache-control", b"no-store"))
    return kept


async def _answer(send: Send, status: int, text: str, more: dict[str, str] | None = None) -> None:
    headers = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(text.encode())), **(more or {})}
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    every = [*_without(pairs, _ADDED), *_added(secrets.token_urlsafe(16))]
    await send({"type": "http.response.start", "status": status, "headers": every})
    await send({"type": "http.response.body", "body": text.encode()})


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _without_token(scope: Scope) -> str | None:
    """Return the address of a request without the token, None where there is none in it."""
    query = _query(scope)
    if scope["method"] != "GET" or not any(name == TOKEN for name, _ in query):
        return None
    rest = urlencode([one for one in query if one[0] != TOKEN])
    path = "/" + scope["path"].lstrip("/\\")  # two slashes would name another host
    return quote(path) + (f"?{rest}" if rest else "")
