"""The application and the server: routes, error pages, places for connections, and the loop that runs it all."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import re
import secrets
import socket
import sys
import tempfile
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from plurivox.base.errors import FileError, InputError, PlurivoxError, SelectionError
from plurivox.workbench import api, pages, runs
from plurivox.workbench.bench import Bench
from plurivox.workbench.guard import LOOPBACK, Guard, Message, Receive, Scope, Send, TooLargeError, answer
from plurivox.workbench.jobs import Jobs
from plurivox.workbench.making import problem_in_words, problem_of
from plurivox.workbench.pages import page
from plurivox.workbench.records import INCOMING, ChangedError
from plurivox.workbench.store import StudyStore
from plurivox.workbench.watches import Watcher

ASSETS = {
    "report.css": ("plurivox.report", "text/css"), "report.js": ("plurivox.report", "text/javascript"),
    "workbench.css": ("plurivox.workbench", "text/css"), "workbench.js": ("plurivox.workbench", "text/javascript"),
    "theme.js": ("plurivox.workbench", "text/javascript"), "htmx.min.js": ("plurivox.workbench", "text/javascript"),
    "hx-sse.min.js": ("plurivox.workbench", "text/javascript"),
    "hx-csp.min.js": ("plurivox.workbench", "text/javascript"),
}  # fmt: skip
MAX_UPLOAD = 1 << 30
EVERYWHERE = ("", "0.0.0.0", "[::]")  # noqa: S104  what is refused as a name
_HOST = re.compile(r"[a-z0-9]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]*[a-z0-9])?)*")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The system's errors if there is no room."""


async def asset(request: Request) -> Response:
    """Hand out a style or a script; no other file."""
    name = request.path_params["name"]
    if name not in ASSETS:
        raise HTTPException(404)
    package, kind = ASSETS[name]
    content = (resources.files(package) / "assets" / name).read_bytes()
    return Response(content, media_type=kind, headers={"cache-control": "no-cache"})


def status_of(error: Exception) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, HTTPException):
        return error.status_code
    full = isinstance(error, FileError) and "cannot be written" in error.problem
    if full or (isinstance(error, OSError) and error.errno in FULL):
        return 507
    kinds = ((TooLargeError, 413), (ChangedError, 409), (SelectionError, 404), (PlurivoxError, 400), (Exception, 500))
    return next(status for kind, status in kinds if isinstance(error, kind))


HEADINGS = {404: "Not found", 405: "Not found", 409: "Changed in the meantime", 413: "Too large",
            507: "The disk is full", 500: "Something went wrong"}  # fmt: skip


async def failed(request: Request, error: Exception) -> Response:
    """Say in one page, or one object, what is wrong and what to do, without internals."""
    status = status_of(error)
    if status == 500:
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, HTTPException):
        text = {404: "There is nothing at this address.", 405: "This address does not accept such a request."}.get(
            status, str(error.detail)
        )
        told = problem_in_words(text)
    else:
        told = problem_in_words(str(error)) if status == 413 else problem_of(error)
        if status == 507 and told["hint"] is None:
            told["hint"] = "Free some space and try again; nothing was changed."
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": {"status": status, **told}}, status)
    study = request.path_params.get("study")
    known = isinstance(study, str) and any(one.id == study for one in request.app.state.bench.store.studies())
    back = f"/studies/{study}" if known else "/"
    heading = HEADINGS.get(status, "This does not work")
    return page(request, "error.html.j2", status=status, told=told, heading=heading, back=back)


def guarded(
    store: StudyStore, port: int, hosts: tuple[str, ...] = LOOPBACK, max_upload: int = MAX_UPLOAD, local: bool = True
) -> Guard:
    """Return the application that answers requests, with the guard around it that decides who may ask."""
    jobs, key = Jobs(store), secrets.token_urlsafe(32)

    @contextlib.asynccontextmanager
    async def living(app: Starlette) -> AsyncIterator[None]:
        watcher = Watcher(store, jobs)
        app.state.bench = Bench(store, jobs, watcher, key, max_upload, local)
        watching = asyncio.create_task(watcher.run())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await jobs.close()

    routes = [Route("/assets/{name}", asset), *pages.ROUTES, *runs.ROUTES, *api.ROUTES]
    handlers: dict[Any, Any] = dict.fromkeys((PlurivoxError, HTTPException, TooLargeError, OSError, Exception), failed)
    handlers[ClientDisconnect] = gone
    app: Any = Starlette(routes=routes, lifespan=living, exception_handlers=handlers)
    return Guard(app, port, hosts, key=key, most=max_upload)


async def gone(request: Request, error: Exception) -> Response:
    """Say nothing to a client that left in the middle of a request."""
    return Response(status_code=400)


@dataclass(frozen=True)
class Address:
    """Where to listen: an open socket, the host names by which it may be addressed, and whether others were allowed."""

    listening: socket.socket
    hosts: tuple[str, ...]
    renamed: bool = False

    @property
    def port(self) -> int:
        """The port."""
        return int(self.listening.getsockname()[1])

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it; a name that was allowed may lead here from elsewhere."""
        return self._ip.is_loopback and not self.renamed

    @property
    def nameless(self) -> bool:
        """Whether other machines can reach it, but have no name for it."""
        return self._ip.is_unspecified and not self.renamed

    @property
    def _ip(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
        return ipaddress.ip_address(self.listening.getsockname()[0])

    @classmethod
    def open(cls, host: str, port: int, names: Sequence[str] = ()) -> Address:
        """Open a port on a host, any free one if it is 0; browsers may also call the host by other ``names``."""
        hosts = hosts_of(host, names)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen(2048)  # who is told the address can come at once, and waits until the loop runs
        except (OSError, OverflowError) as error:
            listening.close()
            told = getattr(error, "strerror", None) or str(error)
            hint = "Choose another port with --port, or 0 for any free one."
            raise InputError(f"cannot listen on {host}, port {port} ({told})", hint=hint) from None
        bound = listening.getsockname()[0]  # "0" and "::0" are everywhere, too
        return cls(listening, hosts_of(bound, names) if bound in ("0.0.0.0", "::") else hosts, bool(names))  # noqa: S104


def hosts_of(host: str, names: Sequence[str] = ()) -> tuple[str, ...]:
    """Return by which names browsers may call a host; the first one is printed."""
    named = f"[{host}]" if ":" in host else host
    others = tuple(name_of_host(name) for name in names)
    if named in EVERYWHERE:  # where to listen, but nothing that a browser calls
        return tuple(dict.fromkeys((*others, *LOOPBACK)))
    return tuple(dict.fromkeys((named, *others, *(LOOPBACK if named in LOOPBACK else ()))))


def name_of_host(name: str) -> str:
    """Return a host name, or an address, as browsers send it."""
    plain = name.lower()
    try:
        found = ipaddress.ip_address(plain[1:-1] if plain.startswith("[") and plain.endswith("]") else plain)
    except ValueError:
        if len(plain) <= 253 and _HOST.fullmatch(plain):
            return plain
    else:
        if not found.is_unspecified:
            return f"[{found}]" if found.version == 6 else str(found)
    hint = "Give only the name that stands in the address: --allow-host lab.example.org."
    raise InputError(f"--allow-host: {name!r} is not the name of a host", hint=hint)


def serve(address: Address, store: StudyStore, max_upload: int, ready: Callable[[str], object]) -> None:
    """Serve studies until stopped; ``ready`` is called with the first address."""
    import uvicorn

    guard = guarded(store, address.port, address.hosts, max_upload, address.local)
    incoming = store.folder / INCOMING
    incoming.mkdir(exist_ok=True)
    tempfile.tempdir = str(incoming)  # uploads go where there is room for studies, not to a disk in memory
    config = uvicorn.Config(
        guard, log_level="warning", access_log=False, server_header=False, date_header=False, lifespan="on",
        timeout_graceful_shutdown=3, http=connections(Connections(guard.knows)), ws="none",
    )  # fmt: skip
    app: Any = guard.app

    class WorkbenchServer(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.state.bench.watcher.end()  # otherwise streams are waited for, and cut off
            await app.state.bench.jobs.close()
            await super().shutdown(sockets)

    server = WorkbenchServer(config)
    ready(f"http://{address.hosts[0]}:{address.port}/?token={guard.token}")
    try:
        server.run(sockets=[address.listening])
    finally:
        tempfile.tempdir = None


def default_folder() -> Path:
    """Return the default folder of studies."""
    import platformdirs

    return Path(platformdirs.user_data_dir("plurivox", appauthor=False)) / "workbench"


# Places ---------------------------------------------------------------------------------------------------------------
#
# Places for connections: those who say nothing, or nothing that lets them in, cannot take the places of the others.
#
# A connection must say within some seconds what it asks for. Until it has shown that it belongs to the browser or a
# program that was let in, it is a stranger's: there are few places for strangers, the one that has been silent for
# longest makes room for the next, and each is closed as soon as it has been answered.


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
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

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
