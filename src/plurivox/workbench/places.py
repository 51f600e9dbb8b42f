"""Places for connections: those who say nothing, or nothing that lets them in, cannot take the places of the others.

A connection must say within some seconds what it asks for. Until it has shown that it belongs to the browser or a
program that was let in, it is a stranger's: there are few places for strangers, the one that has been silent for
longest makes room for the next, and each is closed as soon as it has been answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from plurivox.workbench.guard import Message, Receive, Scope, Send, answer

WITHIN = 10.0
"""Seconds in which a request must say what it asks for."""
STRANGERS, KNOWN = 100, 200
"""Connections at the same time, of strangers and of those who were let in."""


class Connections:
    """Who is connected; ``knows`` tells from a request whether whoever sent it was let in."""

    def __init__(self, knows: Callable[[Scope], bool]) -> None:
        self._knows = knows
        self._strangers: dict[Any, None] = {}  # the one who came first comes first
        self._known: set[Any] = set()

    def enter(self, one: Any) -> None:
        """Give a new connection a place; if there is none, the stranger who has been silent for longest leaves."""
        silent = next((other for other in self._strangers if other.silent), None)
        if len(self._strangers) >= STRANGERS and silent is not None:
            self.leave(silent)
            silent.transport.close()
        self._strangers[one] = None

    def leave(self, one: Any) -> None:
        """Free the place of a connection."""
        self._strangers.pop(one, None)
        self._known.discard(one)

    async def answer(self, one: Any, app: Any, scope: Scope, receive: Receive, send: Send) -> None:
        """Have a request answered; the connection stays open only for those who were let in."""

        async def last(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
            await send(message)

        if not self._knows(scope):
            await app(scope, receive, last)
        elif one not in self._known and len(self._known) >= KNOWN:
            await answer(last, 503, "There are too many connections. Close some pages and try again.")
        else:
            self._strangers.pop(one, None)
            self._known.add(one)
            await app(scope, receive, send)


def connections(places: Connections) -> type[asyncio.Protocol]:
    """Return what the server makes for each connection, so that it has a place and says in time what it asks for."""

    class Connection(H11Protocol):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            app = self.app
            self.app: Any = lambda *request: places.answer(self, app, *request)
            self._late: asyncio.TimerHandle | None = None

        @property
        def silent(self) -> bool:
            """Whether no request has been made, or is being answered."""
            return self.conn.their_state is h11.IDLE

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            places.enter(self)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            places.leave(self)
            if self._late is not None:
                self._late.cancel()
            super().connection_lost(exc)

        def _wait(self) -> None:
            """Close the connection in time, unless it has said what it asks for."""
            if self._late is not None and not self.silent:
                self._late.cancel()
                self._late = None
            elif self._late is None and self.silent:
                self._late = self.loop.call_later(WITHIN, self.transport.close)

    return Connection
