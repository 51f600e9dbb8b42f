"""What goes over the wire: requests and replies as JSON, within limits, and without secrets."""

from __future__ import annotations

import base64
import functools
import importlib
import logging
import math
import re
import ssl
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from html.entities import html5
from typing import Any

from plurivox.ask.question import Reply, Request
from plurivox.base.errors import InputError

LONGEST_RETRY_AFTER = 300.0
TOP = 20
"""How many of the most likely tokens are asked for: as many as OpenAI gives."""


def request_body(request: Request, letters: Sequence[str] = ()) -> dict[str, Any]:
    """Write a request for chat completions; its parameters are passed unchanged."""
    body: dict[str, Any] = {}
    if request.mode == "json":
        if not letters:
            raise InputError("the mode json needs the letters of the options")
        answer = {"type": "string", "enum": list(letters)}
        schema = {
            "type": "object", "properties": {"answer": answer}, "required": ["answer"], "additionalProperties": False,
        }  # fmt: skip
        body["response_format"] = {
            "type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema},
        }  # fmt: skip
    elif request.mode == "logprobs":
        body |= {"logprobs": True, "top_logprobs": TOP}
        if "max_completion_tokens" not in request.params:
            body["max_tokens"] = 1
    messages = [dict(message) for message in request.messages]
    return {**body, **request.params, "model": request.model, "messages": messages}


def reply_of(data: Any) -> Reply | None:
    """Read a chat completion leniently, since servers differ; None if nothing was chosen."""
    choice = _first(get(data, "choices"))
    message = get(choice, "message")
    finish = get(choice, "finish_reason")
    if not isinstance(message, dict) or finish == "error":
        return None
    refusal = message.get("refusal") or ""
    if finish == "content_filter" and not refusal:
        refusal = "the server's content filter stopped the answer"
    usage = get(data, "usage")
    return Reply(
        _text(message.get("content")), refusal=str(refusal), finish=str(finish or ""),
        version=str(get(data, "model") or ""), prompt_tokens=_count(get(usage, "prompt_tokens")),
        completion_tokens=_count(get(usage, "completion_tokens")), top=_top(get(get(choice, "logprobs"), "content")),
    )  # fmt: skip


def error_parts(body: Any) -> tuple[str, frozenset[str]]:
    """Find the message of an error, and its codes, wherever this kind of server puts them."""
    body = _first(body) if isinstance(body, list) else body  # Gemini's is a list
    body = body["error"] if isinstance(get(body, "error"), (dict, str)) else body
    if not isinstance(body, dict):
        return str(body or ""), frozenset()
    inner = body.get("innererror") or body.get("inner_error")  # Azure's
    found = {str(part).lower() for part in (body.get("code"), body.get("type"), get(inner, "code")) if part}
    if get(body.get("metadata"), "flagged_input"):  # OpenRouter's
        found.add("content_filter")
    return str(body.get("message") or body.get("detail") or body), frozenset(found)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds a server asks to wait, at most 300, or None if it does not say."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return min(seconds, LONGEST_RETRY_AFTER)
    try:
        seconds = parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time()
    except (KeyError, ValueError, TypeError, OverflowError, OSError):
        return None
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER)


def get(value: Any, name: str) -> Any:
    """Return a field of what should be an object, None if it is not one."""
    return value.get(name) if isinstance(value, dict) else None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**53 else None


def _text(content: Any) -> str:
    """Join what may be a text or a list of parts."""
    if isinstance(content, list):
        return "".join(str(get(part, "text") or "") for part in content)
    return content if isinstance(content, str) else ""


def _top(tokens: Any) -> tuple[tuple[str, float], ...]:
    """Return the most likely tokens where the answer begins: at the first token that is not blank."""
    if not isinstance(tokens, list) or not tokens:
        return ()
    start = next((token for token in tokens if str(get(token, "token") or "").strip()), tokens[0])
    found = get(start, "top_logprobs")
    pairs = [
        (get(token, "token"), get(token, "logprob"))
        for token in (found if isinstance(found, list) and found else [start])
    ]
    return tuple((str(token), float(p)) for token, p in pairs if isinstance(p, (int, float)) and -1e9 < p < 1)


# Transport ------------------------------------------------------------------------------------------------------------
#
# What comes over the wire, within limits: bodies up to a given size, unpacked and decoded here, and few headers.
#
# A server decides what it sends: terabytes, a kilobyte that unpacks to gigabytes, text in an encoding that does not
# exist. Whatever it is, what leaves this module is UTF-8 text of at most :data:`LARGEST` bytes, or an exception.


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
    encoding = received.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise Unwanted("the server compressed its answer in a way that was not requested", final=True)
    gzip = zlib.decompressobj(_GZIP) if "gzip" in encoding else None
    content, sent = bytearray(), 0
    async for piece in received.stream:
        sent += len(piece)
        content += _unpacked(gzip, piece, limit + 1 - len(content))
        if max(sent, len(content)) > limit:
            if received.is_success:
                raise Unwanted(f"the server's answer has more than {LARGEST // 2**20} MiB", final=True)
            return _utf8(bytes(content[:limit]))
    if gzip is not None and not gzip.eof:
        raise Unwanted("the connection was lost")
    return _utf8(bytes(content))


def _utf8(content: bytes) -> bytes:
    return content.decode("utf-8", "replace").removeprefix("\ufeff").encode()


def _unpacked(gzip: Any, piece: bytes, most: int) -> bytes:
    """Unpack the next piece of a body, unless nothing is; what exceeds the limit, or follows the end, is ignored."""
    if gzip is None:
        return piece[:most]
    try:
        unpacked: bytes = b"" if gzip.eof else gzip.decompress(piece, most)
    except zlib.error:
        raise Unwanted("the server's answer cannot be unpacked") from None
    return unpacked


# Scrubbing ------------------------------------------------------------------------------------------------------------
#
# Removing secrets from text, even if they are escaped, encoded, or spaced out with blanks.
#
# A server that is asked with a key may send it back, in an error message for example, and on the way escape it as
# JSON, for an address, for HTML or as base64. All of these can be undone by whoever reads the text, so all of them
# go.


SHORTEST_SECRET = 6
"""A shorter key is not a secret, and could be part of any text."""
LONG = 12
"""A secret of at least this many characters is also found with blanks between its characters; successive words
rarely spell out a secret this long by chance."""
HIDDEN = "***"

# All repetitions are bounded: a text of nothing but backslashes must not take forever.
_BLANKS = r"[\s\x00-\x20\xad\u034f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]{0,64}"
_BETWEEN_BYTES = r"[\s:;,.-]{0,4}(?:0x)?"
_NAMES: dict[str, list[str]] = {}
for _name, _char in html5.items():
    if len(_char) == 1 and _char.isascii() and _name.endswith(";"):
        _NAMES.setdefault(_char, []).append(re.escape(_name))


class Scrubber:
    """Replaces secrets with ``***``.

    Parameters
    ----------
    secrets
        What must not be seen; empty and very short ones are left out.

    Examples
    --------
    >>> scrub = Scrubber(["sk-1234567890"]).scrub
    >>> scrub("sk-1234567890"), scrub("key=sk%2D1234567890;"), scrub("c2stMTIzNDU2Nzg5MA==")
    ('***', 'key=***;', '***A==')
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        kept = sorted({secret for secret in secrets if len(secret) >= SHORTEST_SECRET}, key=len, reverse=True)
        self._secrets = kept
        self._shortest = min((len(form) for secret in kept for form in _written(secret)), default=0)

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        """All ways in which the secrets can be written; slow to make, so made when needed."""
        ways: list[str] = []
        for secret in self._secrets:
            between = _BLANKS if len(secret) >= LONG else ""
            ways += [between.join(_ways(c) for c in form if not c.isspace()) for form in _written(secret)]
        for secret in self._secrets:  # hexadecimal digits in any case, with something between the bytes
            ways.append(f"(?i:{_BETWEEN_BYTES.join(f'{byte:02x}' for byte in secret.encode())})")
        return re.compile("|".join(ways))

    def __repr__(self) -> str:
        return f"<Scrubber of {len(self._secrets)} secrets>"

    def scrub(self, text: str) -> str:
        """Return a text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return self._pattern.sub(HIDDEN, text) if self._secrets and len(text) >= self._shortest else text


class ScrubbingFilter(logging.Filter):
    """Removes secrets from what other packages log, such as the headers of a reply."""

    def __init__(self, scrubber: Scrubber) -> None:
        super().__init__()
        self._scrubber = scrubber

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, scrubbed."""
        said = record.getMessage()
        if (clean := self._scrubber.scrub(said)) != said:
            record.msg, record.args = clean, ()
        return True


def _written(secret: str) -> list[str]:
    """Return what a secret looks like: as it is, in base64 wherever it starts, and as hexadecimal digits."""
    data = secret.encode()
    forms = [secret, data.hex(), data.hex().upper()]
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        # The first and the last digit also hold bits of what surrounds the secret.
        inner = whole[(0, 2, 3)[before] : len(whole) - ((len(data) + before) % 3 > 0)]
        forms += [inner, inner.translate(str.maketrans("+/", "-_"))]
    return [form for form in dict.fromkeys(forms) if len(form) >= SHORTEST_SECRET]


def _ways(char: str) -> str:
    """Return a pattern of all ways in which a character is escaped; each begins with a different literal character."""
    code, plain = ord(char), re.escape(char)
    digits = f"(?i:{code:02x})"
    names = "".join(f"|{name}" for name in _NAMES.get(char, []))
    ways = [
        plain,
        rf"\\{{1,8}}{'' if char == chr(92) else '+'}(?:{plain}|[uU]\{{?0{{0,6}}{digits}\}}?|x{digits}|0?{code:03o})",
        rf"%(?:25){{0,4}}(?:u00)?{digits}",
        rf"={digits}",  # quoted-printable
        rf"&(?:amp;){{0,4}}(?:\#0{{0,6}}{code};?|\#[xX]0{{0,6}}{digits};?{names})",
    ]
    return f"(?:{'|'.join(ways)})"
