"""A local server that speaks chat completions, and misbehaves on demand.

::

    with ModelServer(script(status(429, {"Retry-After": "1"}), say("B"))) as server:
        ...  # ask server.base_url; then look at server.requests
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Literal

Kind = Literal["whole", "hang", "drop", "cut", "trickle", "raw", "flood"]
Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server does with one request.

    Attributes
    ----------
    content
        The bytes of the body, or an object to write as JSON; None for a completion that fits the request.
    kind
        Answer as a whole, never, not at all (the connection closes), half, or a byte every 20 ms; or send the content
        as it is, head and all, and close; or send head and content, and the content again without end.
    delay
        Seconds to wait first.
    gate
        Wait first until so many requests are in flight at once.
    """

    content: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    reason: str = "Whatever"
    kind: Kind = "whole"
    delay: float = 0.0
    gate: int = 0


Behaviour = Callable[[Body, int], Answer]
"""What to do with a request, given its parsed body and its number from 0."""


def completion(
    body: Body,
    text: str | None,
    *,
    finish: str = "stop",
    refusal: str | None = None,
    logprobs: Mapping[str, float] | None = None,
) -> Body:
    """A chat completion, as OpenAI writes it; ``logprobs`` are those of its only token."""
    choice: Body = {"index": 0, "finish_reason": finish, "logprobs": None}
    choice["message"] = {"role": "assistant", "content": text, "refusal": refusal}
    if logprobs:
        top = [{"token": token, "logprob": p, "bytes": list(token.encode())} for token, p in logprobs.items()]
        choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}], "refusal": None}
    words = sum(len(str(message["content"]).split()) for message in body["messages"])
    usage = {"prompt_tokens": words, "completion_tokens": 1, "total_tokens": words + 1}
    model = f"{body['model']}-2025-01-01"
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage}


def fitting(body: Body, letter: str = "A") -> Body:
    """A completion that answers this letter in the way that was asked for: JSON, log-probabilities or text."""
    form = body.get("response_format")
    if form:
        letters = form["json_schema"]["schema"]["properties"]["answer"]["enum"]
        return completion(body, json.dumps({"answer": letter if letter in letters else letters[0]}))
    if body.get("logprobs"):
        others = [other for other in "ABC" if other != letter]
        return completion(body, letter, logprobs={letter: math.log(0.7), **dict.fromkeys(others, math.log(0.15))})
    return completion(body, letter)


def say(text: str = "A", **options: Any) -> Behaviour:
    """Answer this text to all."""
    return lambda body, number: Answer(fitting(body, text), **options)


def by_message(choose: Callable[[str], str]) -> Behaviour:
    """Answer by the text of the last message."""
    return lambda body, number: Answer(fitting(body, choose(body["messages"][-1]["content"])))


def always(answer: Answer) -> Behaviour:
    """Do the same with all requests."""
    return lambda body, number: answer


def status(code: int, headers: Mapping[str, str] | None = None, error: Any = None) -> Behaviour:
    """Answer a status, with an error as OpenAI writes it unless another is given."""
    content = {"error": {"message": f"status {code}", "type": "error", "param": None, "code": None}}
    return always(Answer(content if error is None else error, code, headers or {}))


def page(code: int = 200) -> Behaviour:
    """Answer a web page."""
    content = b"<!DOCTYPE html>\n<html><body><h1>Welcome</h1></body></html>"
    return always(Answer(content, code, {"Content-Type": "text/html; charset=utf-8"}))


def script(*steps: Behaviour) -> Behaviour:
    """Do one thing after the other; the last for all further requests."""
    return lambda body, number: steps[min(number, len(steps) - 1)](body, number)


def misbehave(kind: Kind) -> Behaviour:
    """Start to answer as one should, but never, not at all, half, or slowly."""
    return lambda body, number: Answer(fitting(body), kind=kind)


def _error(code: int, message: str, name: str) -> Behaviour:
    return status(code, error={"error": {"message": message, "type": "invalid_request_error", "code": name}})


def _empty(body: Body, number: int) -> Answer:
    return Answer({**completion(body, ""), "choices": []})


NAMED: dict[str, Behaviour] = {
    "fine": say(),
    "slow": say(delay=0.05),
    "busy": status(429, {"Retry-After": "1"}),
    "broken": status(500),
    "unavailable": status(503),
    "hang": misbehave("hang"),
    "drop": misbehave("drop"),
    "cut": misbehave("cut"),
    "trickle": misbehave("trickle"),
    "malformed": always(Answer(b'{"choices": [{"message": {"con')),
    "page": page(),
    "gateway page": page(502),
    "filtered": _error(400, "The prompt was filtered by the content policy.", "content_filter"),
    "stopped": lambda body, number: Answer(completion(body, "Well, ", finish="content_filter")),
    "refusal": lambda body, number: Answer(completion(body, None, refusal="I won't rate this.")),
    "unknown model": lambda body, number: _error(404, f"The model `{body['model']}` does not exist", "model_not_found")(
        body, number
    ),
    "unauthorised": _error(401, "Incorrect API key provided.", "invalid_api_key"),
    "empty": _empty,
}


class ModelServer:
    """A server in a thread, on a free port of this machine, from entering to leaving the context.

    Attributes
    ----------
    base_url
        Its address, with ``/v1``.
    requests, headers
        The parsed body, and the headers by lower-case name, of each request for a completion.
    most_in_flight
        How many it had at once, at most.
    """

    def __init__(self, behaviour: Behaviour | str = "fine", models: tuple[str, ...] = ("m",)) -> None:
        self.behaviour = NAMED[behaviour] if isinstance(behaviour, str) else behaviour
        self.models = models
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.in_flight = self.most_in_flight = 0
        self.base_url = ""
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._stop, self._arrived = asyncio.get_running_loop(), asyncio.Event(), asyncio.Condition()
        self._handlers: set[asyncio.Task[Any]] = set()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=1024)
        self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._handlers:
            task.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            self._handlers.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False if the connection must close."""
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = first.split()
        if (method, path) == ("GET", "/v1/models"):
            listed = {"object": "list", "data": [{"id": model, "object": "model"} for model in self.models]}
            return await self._write(writer, Answer(listed))
        if (method, path) != ("POST", "/v1/chat/completions"):
            return await self._write(writer, Answer({"detail": "Not Found"}, 404))
        return await self._complete(writer, json.loads(content), headers)

    async def _complete(self, writer: asyncio.StreamWriter, body: Body, headers: dict[str, str]) -> bool:
        number = len(self.requests)
        self.requests.append(body)
        self.headers.append(headers)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            answer = self.behaviour(body, number)
            if answer.content is None:
                answer = replace(answer, content=fitting(body))
            if answer.gate:
                async with self._arrived:
                    self._arrived.notify_all()
                    await self._arrived.wait_for(lambda: self.most_in_flight >= answer.gate)
            if answer.delay:
                await asyncio.sleep(answer.delay)
            return await self._write(writer, answer)
        finally:
            self.in_flight -= 1

    async def _write(self, writer: asyncio.StreamWriter, answer: Answer) -> bool:
        content = answer.content if isinstance(answer.content, bytes) else json.dumps(answer.content).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(content)), **answer.headers}
        lines = [f"HTTP/1.1 {answer.status} {answer.reason}", *(f"{name}: {value}" for name, value in headers.items())]
        head = "\r\n".join([*lines, "", ""]).encode("latin-1")
        if answer.kind == "drop":
            return False
        if answer.kind == "hang":
            await asyncio.Event().wait()
        elif answer.kind == "raw":
            writer.write(content)
        elif answer.kind == "flood":
            writer.write(head.replace(b"Content-Length", b"X-Length") + content)
            while True:
                await writer.drain()
                writer.write(content)
        elif answer.kind == "cut":
            writer.write(head + content[: len(content) // 2])
        elif answer.kind == "trickle":
            writer.write(head)
            for byte in content:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.02)
        else:
            writer.write(head + content)
        await writer.drain()
        return answer.kind not in ("cut", "raw")
