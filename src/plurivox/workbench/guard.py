"""The outermost layer: only those who come from the address that the server printed get an answer.

Any page in the same browser can send requests to this machine, and any program on it can try. So every request must
name exactly this host and port (a name that was rebound to this machine does not), must not come from another site, and
must carry a cookie that only the first address gives. Responses may be neither framed nor cached, and run only our own
scripts.
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
"""The most bytes a request may have, unless it is an upload."""
UPLOADS = re.compile(r"/studies(/\w+)?/files|/api/v1/studies/\w+/files/\w+")
"""Addresses that accept files."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
NONCE = "nonce"
"""Where pages find the mark of their own scripts, in the scope of a request."""


def policy(nonce: str) -> str:
    """Return what a page may do: load only what comes from here, with no inline script or style and no frame."""
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
        The application that answers permitted requests.
    port
        Where the server listens.
    hosts
        Host names by which it may be addressed.
    token
        The token in the first address; valid once.
    key
        What programs send as ``Authorization: Bearer``; pages show it.
    most
        The most bytes an upload may have.
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
        """The name of the cookie: browsers share cookies between the ports of a machine, so each has its own name."""
        return f"plurivox-{self.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse in a few words that reveal nothing."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        problem = self._elsewhere(scope) or self._unsaid(scope)
        if problem:
            await answer(send, *problem)
        elif self._has_key(scope) or self._has_cookie(scope):
            clean = _without_token(scope)
            if clean is None:
                await self._pass(scope, receive, send)
            else:
                await answer(send, 303, "", {"location": clean})
        else:
            await self._introduce(scope, send)

    def knows(self, scope: Scope) -> bool:
        """Return whether a request comes from the browser or a program that was let in."""
        return self._elsewhere(scope) is None and (self._has_key(scope) or self._has_cookie(scope))

    def _elsewhere(self, scope: Scope) -> tuple[int, str] | None:
        """Return why a request for another host, or from another site, is refused."""
        names = {f"{host}:{self.port}" for host in self.hosts} | (set(self.hosts) if self.port == 80 else set())
        called = _all(scope, "host")
        if len(called) != 1 or called[0] not in names:
            return 421, "This address is not the one that plurivox serve printed."
        origins, site = _all(scope, "origin"), _all(scope, "sec-fetch-site")
        if (origins and origins != [f"http://{called[0]}"]) or (site and site not in (["same-origin"], ["none"])):
            return 403, "This request comes from another site."
        return None

    def _unsaid(self, scope: Scope) -> tuple[int, str] | None:
        """Return why a request that changes something without saying where it comes from is refused."""
        said = _all(scope, "origin") or _all(scope, "sec-fetch-site") == ["same-origin"]
        if scope["method"] in SAFE or said or self._has_key(scope):
            return None
        return 403, "A request that changes something must say where it comes from in its Origin header."

    def _has_key(self, scope: Scope) -> bool:
        """Return whether a request carries the key for programs."""
        given = _all(scope, "authorization")
        return len(given) == 1 and given[0].startswith("Bearer ") and _same(given[0].removeprefix("Bearer "), self.key)

    def _has_cookie(self, scope: Scope) -> bool:
        for line in _all(scope, "cookie"):
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
            await answer(send, 401, "Open the address that plurivox serve printed: it contains a key to this page.")
            return
        if self._used:
            told = "This address was already opened and is valid only once. Continue in the browser that opened it"
            await answer(send, 401, f"{told}, or start plurivox serve again.")
            return
        self._used.append(True)
        cookie = f"{self.cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
        await answer(send, 303, "", {"location": _without_token(scope) or "/", "set-cookie": cookie})

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer, limit the size of the body, and add the headers of every answer."""
        most = self.most if UPLOADS.fullmatch(scope["path"]) else SMALL
        length = _all(scope, "content-length")
        if length and (not length[0].isdigit() or int(length[0]) > most):
            await answer(send, 413, _too_large(most))
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
                await answer(send, 413, str(error))


class TooLargeError(Exception):
    """A request is larger than allowed."""


def _too_large(most: int) -> str:
    more = "" if most == SMALL else "; plurivox serve --max-upload changes the limit"
    return f"This is more than {most:,} bytes, the largest size accepted here{more}"


def _all(scope: Scope, name: str) -> list[str]:
    """Return all values of a header; several with the same name are kept separate."""
    return [value.decode("latin-1") for one, value in scope["headers"] if one.decode("latin-1").lower() == name]


_ADDED = (
    b"content-security-policy", b"x-content-type-options", b"referrer-policy", b"cross-origin-opener-policy",
    b"cross-origin-resource-policy", b"x-frame-options",
)  # fmt: skip


def _added(nonce: str) -> list[tuple[bytes, bytes]]:
    # Without any referrer browsers would also hide the origin of our own forms; nothing is told to other sites.
    values = (policy(nonce), "nosniff", "same-origin", "same-origin", "same-origin", "DENY")
    return [(name, value.encode("ascii")) for name, value in zip(_ADDED, values, strict=True)]


def _without(headers: Iterable[tuple[bytes, bytes]], names: tuple[bytes, ...]) -> list[tuple[bytes, bytes]]:
    """Return the headers without those that are added; responses are not cached unless they say so."""
    kept = [(name, value) for name, value in headers if name.lower() not in names]
    if not any(name.lower() == b"cache-control" for name, _ in kept):
        kept.append((b"cache-control", b"no-store"))
    return kept


async def answer(send: Send, status: int, text: str, more: dict[str, str] | None = None) -> None:
    """Send a short text, covered as every answer is."""
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
    """Return the address of a request without the token, None if it has none."""
    query = _query(scope)
    if scope["method"] != "GET" or not any(name == TOKEN for name, _ in query):
        return None
    rest = urlencode([one for one in query if one[0] != TOKEN])
    path = "/" + scope["path"].lstrip("/\\")  # two slashes would name another host
    return quote(path) + (f"?{rest}" if rest else "")
