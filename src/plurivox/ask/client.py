"""Asking a server that speaks OpenAI's chat completions: politely, patiently, and without leaking the key.

Anything a server can do wrong ends in one of four ways: a :class:`Reply`, a Reply that is a refusal,
:class:`AskFailed` for this one request, or :class:`ModelGone` for all requests to this model.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import ipaddress
import json
import logging
import math
import os
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from plurivox.ask.question import Reply, Request
from plurivox.ask.wire import (
    ENCODINGS,
    LARGEST_ERROR,
    Scrubber,
    ScrubbingFilter,
    Unwanted,
    bounded_client,
    error_parts,
    get,
    reply_of,
    request_body,
    retry_after,
)
from plurivox.base.errors import InputError, MissingExtraError, PlurivoxError

LONGEST_BACKOFF = 60.0
LONGEST_CONNECT = 10.0
LONGEST_TEXT = 2**20
"""How many characters an answer may have."""
SHOWN = 200
"""How many characters of a server's own message are passed on."""

_SENT = ("host", "content-type", "content-length", "connection", "accept", "user-agent")
_TELL_HEADERS = ("httpcore.http11", "httpcore2.http11")  # loggers that record the headers of replies
_BUSY = frozenset({408, 409, 425, 429, 503, 529})
_FILTERED = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})
_SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_PAGE = "the server answered with a web page, not JSON: is the address right? It usually ends in /v1"
_NO_MODEL = re.compile(r"\bmodel\b.*(not found|not exist)|(unknown|invalid|no such|not a valid) model\b", re.IGNORECASE)

_now = time.monotonic
_sleep = asyncio.sleep


class AskFailed(PlurivoxError):  # noqa: N818
    """One request got no answer, after all attempts; the next may."""


class ModelGone(PlurivoxError):  # noqa: N818
    """No request to this model can succeed: the key, the model's name or the address is wrong."""


@dataclass(frozen=True, slots=True)
class _Problem:
    """Why an attempt got no reply: in words, with the server's message, and how long it asks to wait."""

    text: str
    detail: str = ""
    final: bool = False
    gone: bool = False
    page: bool = False
    retry_after: float | None = None


class Pace:
    """When the next request may be sent: evenly spaced if there is a rate, and not while a busy server asks to wait."""

    def __init__(self, rate: float | None = None) -> None:
        self._spacing = 60 / rate if rate else 0.0
        self._slot = self._held = -math.inf

    def hold(self, seconds: float) -> None:
        """Hold all requests for this long."""
        self._held = max(self._held, _now() + seconds)

    async def turn(self) -> None:
        """Wait for the next free slot; taken at once, so that no two callers get the same."""
        while True:
            now = _now()
            slot = max(now, self._held, self._slot)
            self._slot = slot + self._spacing
            if slot > now:
                await _sleep(slot - now)
            if self._held <= slot:  # otherwise the server has asked for more time
                return


class ChatServer:
    """A server that speaks OpenAI's chat completions.

    Parameters
    ----------
    base_url
        Its address, which usually ends in ``/v1``. A name and password in it are sent if there is no key.
    key
        The key; empty if it needs none.
    timeout, attempts, rate, insecure
        As in :func:`~plurivox.ask.run`; the timeout is for all of one attempt.
    backoff
        The longest wait before the second attempt, in seconds; it doubles with each.
    rng
        Draws the waits.

    Raises
    ------
    InputError
        If the address or the key cannot be used.
    MissingExtraError
        Without the ``openai`` package.
    """

    def __init__(
        self, base_url: str, key: str, *, timeout: float = 120.0, attempts: int = 6, rate: float | None = None,
        insecure: bool = False, backoff: float = 1.0, rng: random.Random | None = None,
    ) -> None:  # fmt: skip
        url = _address(base_url, insecure)
        key = key.strip()
        if not (key.isascii() and key.isprintable()):
            raise InputError(
                "the key contains characters that cannot be part of a key", hint="Check how it was copied."
            )
        login = f"{unquote(url.username or '')}:{unquote(url.password or '')}" if "@" in url.netloc else ""
        password = url.password or url.username or ""  # a name alone is a token
        self._scrubber = Scrubber([key, unquote(key), password, unquote(password)])
        self._scrub, self._filter = self._scrubber.scrub, ScrubbingFilter(self._scrubber)
        self.address = self._scrub(_without_login(url))
        self.timeout, self.attempts, self.backoff = timeout, max(attempts, 1), backoff
        self.pace = Pace(rate)
        self._rng = rng or random.Random()  # noqa: S311
        encoded = base64.b64encode(login.encode()).decode()
        self._authorization = f"Basic {encoded}" if login and not key else f"Bearer {key or 'none'}"
        self._openai = _load_openai()
        self._client = self._connect(_without_login(url), key)

    def __repr__(self) -> str:
        return f"<Server: {self.address}>"

    def _connect(self, address: str, key: str) -> Any:
        """Make openai's client, without its retries and without settings from the environment."""
        own_certificates = any(os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
        http = bounded_client(
            self._openai,
            own_certificates,
            follow_redirects=False,  # otherwise the texts could end up anywhere, unencrypted
            event_hooks={"request": [self._only_needed_headers]},
        )
        for name in _TELL_HEADERS:
            logging.getLogger(name).addFilter(self._filter)
        timeout = self._openai.Timeout(self.timeout, connect=min(self.timeout, LONGEST_CONNECT))
        return self._openai.AsyncOpenAI(
            api_key=key or "none", base_url=address, max_retries=0, timeout=timeout, http_client=http
        )

    async def _only_needed_headers(self, sent: Any) -> None:
        """Drop organisation, project, platform and whatever OPENAI_CUSTOM_HEADERS adds; no server needs them."""
        kept = {name: value for name, value in sent.headers.items() if name in _SENT}
        added = {"accept-encoding": ENCODINGS, "authorization": self._authorization}
        sent.headers = type(sent.headers)({**kept, **added})

    async def close(self) -> None:
        """Close all connections."""
        for name in _TELL_HEADERS:
            logging.getLogger(name).removeFilter(self._filter)
        await self._client.close()

    async def ask(self, request: Request, letters: Sequence[str] = ()) -> Reply:
        """Send one request, as often as needed.

        Parameters
        ----------
        request
            What to ask.
        letters
            The letters of the options, which the mode ``"json"`` allows as answers.

        Raises
        ------
        AskFailed
            When the attempts are used up, or the server does not accept the request.
        ModelGone
            When no other request to this model would succeed.
        """
        body = request_body(request, letters)
        problems = [*self._unwritable(body)]
        if problems:
            raise _failure(problems)
        while len(problems) < self.attempts:
            if problems:
                await _sleep(self._wait(problems[-1], len(problems)))
            await self.pace.turn()
            outcome = await self._attempt(body)
            if isinstance(outcome, Reply):
                return replace(outcome, attempts=len(problems) + 1)
            problems.append(outcome)
            if outcome.retry_after:
                self.pace.hold(outcome.retry_after)
            if outcome.final:
                break
        # Raised outside of any except block: no __context__ carries the request, and with it the key.
        raise _failure(problems)

    def _unwritable(self, body: Mapping[str, Any]) -> Iterator[_Problem]:
        """Yield why a request cannot be sent, if it cannot."""
        try:
            json.dumps(body, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            yield _Problem(f"the request could not be written: {self._shorten(error)}", final=True)

    def _wait(self, problem: _Problem, failed: int) -> float:
        """Full jitter: anything up to backoff × 2^(failed − 1), but at least what the server asks for."""
        longest = min(LONGEST_BACKOFF, self.backoff * 2 ** min(failed - 1, 30))
        return max(self._rng.uniform(0, longest), problem.retry_after or 0.0)

    async def _attempt(self, body: Mapping[str, Any]) -> Reply | _Problem:
        """Send it once; whatever goes wrong affects only this attempt."""
        try:
            return await self._send(body)
        except Exception as error:  # a server can send anything, and three packages read it before we do
            return _Problem(f"the server's answer could not be read ({type(error).__name__})")

    async def _send(self, body: Mapping[str, Any]) -> Reply | _Problem:
        """Send it, and return the outcome."""
        start = _now()
        try:
            async with asyncio.timeout(self.timeout):  # httpx's own timeout restarts with every byte
                text = await self._client.post("/chat/completions", cast_to=str, body=dict(body))
        except self._openai.APIStatusError as error:
            return self._status_problem(error.status_code, error.body, str(body["model"]), error.response.headers)
        except (TimeoutError, self._openai.APITimeoutError) as error:
            if type(error.__cause__).__name__ == "ConnectTimeout":
                return _Problem(f"the server at {self.address} could not be reached")
            return _Problem(f"the server did not answer within {self.timeout:g} s")
        except (self._openai.OpenAIError, OSError, Unwanted) as error:
            cause = error.__cause__ or error
            if isinstance(cause, Unwanted):
                return _Problem(str(cause), final=cause.final)
            if "Connect" in type(cause).__name__:
                return _Problem(f"the server at {self.address} could not be reached", self._shorten(cause))
            return _Problem("the connection was lost")
        outcome = self._read(text, str(body["model"]))
        return replace(outcome, seconds=_now() - start) if isinstance(outcome, Reply) else outcome

    def _read(self, text: str, model: str) -> Reply | _Problem:
        """Read a reply with status 200, which may still be wrong."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            if text.lstrip().startswith("<"):
                return _Problem("the server answered with a web page", page=True)
            return _Problem("the server sent something that is not JSON")
        if isinstance(data, dict) and data.get("error") and not data.get("choices"):
            code = get(data["error"], "code")  # OpenRouter sends the status in here
            status = code if isinstance(code, int) and 400 <= code < 600 else 500
            return self._status_problem(status, data["error"], model, {})
        reply = reply_of(data)
        if reply is None:
            return _Problem("the server's answer contained no choices")
        if max(len(reply.text), len(reply.refusal)) > LONGEST_TEXT:
            return _Problem(f"the answer has more than {LONGEST_TEXT:,} characters", final=True)
        # Secrets go from everything that a server wrote, now that it is decoded; messages about it are short.
        return replace(
            reply, text=self._scrub(reply.text), refusal=self._scrub(reply.refusal),
            finish=self._shorten(reply.finish), version=self._shorten(reply.version),
            top=tuple((self._scrub(token), p) for token, p in reply.top),
        )  # fmt: skip

    def _status_problem(self, status: int, body: Any, model: str, headers: Mapping[str, str]) -> Reply | _Problem:
        """Say what a status means."""
        message, codes = error_parts(body)
        page = message.lstrip().startswith("<")
        detail = "" if page else self._shorten(message)
        if status < 500 and codes & _FILTERED:
            return Reply("", refusal=detail or "the server's content filter refused", finish="content_filter")
        if gone := _gone(status, codes, message, model, page):
            return _Problem(self._scrub(gone), final=True, gone=True)
        if status in _BUSY or status >= 500:
            what = "was busy" if status in _BUSY else "failed"
            return _Problem(f"the server {what} ({status})", detail, retry_after=retry_after(headers))
        return _Problem(f"the server did not accept the request ({status})", detail, final=True)

    def _shorten(self, message: object) -> str:
        """One printable line without secrets; they go first, so that none is cut in half.

        Only the beginning is used, so that a secret cut off at the end of the reply is out of sight.
        """
        whole = self._scrub(str(message)[:LARGEST_ERROR])[: LARGEST_ERROR // 8]
        text = "".join(char if char.isprintable() else " " for char in whole)
        line = " ".join(text.split())
        return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def _load_openai() -> Any:
    """Import openai, or say how to get it."""
    try:
        return importlib.import_module("openai")
    except ImportError:
        raise MissingExtraError("asking language models needs the openai client", "ask") from None


def _address(base_url: str, insecure: bool) -> SplitResult:
    """Check an address, and remove what people copy along with it."""
    hint = "Give an address such as https://example.org/v1."
    try:
        url = urlsplit(base_url.strip())
        usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InputError("the server's address is not an http or https address", hint=hint)
    if url.query or url.fragment:
        raise InputError("the server's address must end before any ? or #", source=_without_login(url), hint=hint)
    if url.scheme == "http" and not insecure and not _is_loopback(url.hostname or ""):
        raise InputError(
            "plain http would let anyone along the way read the key and all texts", source=_without_login(url),
            hint="Use https, or add --insecure if the network is yours.",
        )  # fmt: skip
    return url._replace(path=url.path.rstrip("/").removesuffix("/chat/completions"))


def _without_login(url: SplitResult) -> str:
    return urlunsplit((url.scheme, url.netloc.rpartition("@")[2], url.path, "", ""))


def shown_address(base_url: str) -> str:
    """Return an address that may be shown and stored: without a name and password.

    Examples
    --------
    >>> shown_address("http://me:secret@127.0.0.1:8000/v1/")
    'http://127.0.0.1:8000/v1'
    """
    return _without_login(_address(base_url, insecure=True))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.rstrip(".") == "localhost" or host.rstrip(".").endswith(".localhost")


def _gone(status: int, codes: frozenset[str], message: str, model: str, page: bool) -> str:
    """Say why no request to a model can succeed; empty if one may."""
    if status in (401, 403):
        return f"the key was refused ({status}): check the key"
    if status == 402 or codes & _SPENT:
        return f"the account has no credit left ({status})"
    if status in (400, 422) and ("model_not_found" in codes or _NO_MODEL.search(message)):
        return f"the server does not know the model '{model}'"
    if 300 <= status < 400:
        return f"the server redirects elsewhere ({status}): is the address right? It usually ends in /v1"
    if status == 404 and page:
        return _PAGE
    if status == 404:
        unsure = "" if "model" in message.lower() else ", or the address is wrong: it usually ends in /v1"
        return f"the server does not know the model '{model}'{unsure}"
    return ""


def _failure(problems: Sequence[_Problem]) -> PlurivoxError:
    """Put the problems of all attempts into one sentence."""
    last, n = problems[-1], len(problems)
    if last.gone:
        return ModelGone(last.text)
    if all(problem.page for problem in problems):
        return ModelGone(_PAGE)
    text = last.text
    if n > 1 and not last.final:
        if all(problem.text == last.text for problem in problems):
            text += f"{'' if text.endswith(')') else ','} {n} times"
        else:
            text = f"the last of {n} attempts failed: {text}"
    return AskFailed(f"{text}: {last.detail}" if last.detail else text)
