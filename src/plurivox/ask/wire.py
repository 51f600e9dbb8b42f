"""OpenAI's chat completions as JSON: writing requests, and reading answers and errors leniently."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from plurivox.ask.requests import Reply, Request
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
        _text(message.get("content")),
        refusal=str(refusal),
        finish=str(finish or ""),
        version=str(get(data, "model") or ""),
        prompt_tokens=_count(get(usage, "prompt_tokens")),
        completion_tokens=_count(get(usage, "completion_tokens")),
        top=_top(get(get(choice, "logprobs"), "content")),
    )


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
