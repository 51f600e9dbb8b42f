"""Asking a server, against a real one that misbehaves. Waits are recorded, not waited for, and no time is measured."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import math
import random
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from email.utils import formatdate
from typing import Any, TypeVar

import pytest

from model_server import Answer, Behaviour, ModelServer, always, by_message, completion, page, say, script, status
from plurivox.ask import client, wire
from plurivox.ask.client import AskFailed, ChatServer, ModelGone, Pace
from plurivox.ask.question import Mode, Reply, Request
from plurivox.base.errors import InputError, MissingExtraError, PlurivoxError

pytest.importorskip("openai", reason="the openai client is not installed")

KEY = "sk-very-secret-0123456789"
LIMIT = 0.5
"""Seconds until a request that gets no answer is given up."""


T = TypeVar("T")


class Clock:
    """Time that passes only by sleeping: each sleeper wakes at its own time, and nobody waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        wake = self.now + seconds
        await asyncio.sleep(0)
        self.now = max(self.now, wake)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(client, "_now", lambda: clock.now)
    monkeypatch.setattr(client, "_sleep", clock.sleep)
    return clock


def request(mode: Mode = "text", content: str = "How rude is this?", **params: Any) -> Request:
    return Request("here", "m", "plain", "1", 0, (0, 1), ({"role": "user", "content": content},), mode, params)


def using(base_url: str, use: Callable[[ChatServer], Awaitable[T]], **options: Any) -> T:
    """Use a server and close it."""

    async def run() -> T:
        server = ChatServer(base_url, **{"key": KEY, "timeout": 20, "rng": random.Random(1), **options})
        try:
            return await use(server)
        finally:
            await server.close()

    return asyncio.run(run())


def ask(server: ModelServer, asked: Request | None = None, letters: Sequence[str] = (), **options: Any) -> Reply:
    return using(server.base_url, lambda to: to.ask(asked or request(), letters), **options)


def failure(behaviour: Behaviour | str, **options: Any) -> tuple[PlurivoxError, int]:
    """Return what is raised, and after how many requests."""
    with ModelServer(behaviour) as server, pytest.raises(PlurivoxError) as raised:
        ask(server, **options)
    assert KEY not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None
    return raised.value, len(server.requests)


# What a good answer gives, and what is sent for it
def test_a_text() -> None:
    with ModelServer(by_message(lambda text: "B" if "rude" in text else "A")) as server:
        reply = ask(server, request(temperature=0.5, top_p=0.9, max_tokens=7, seed=3, top_k=40))
    assert replace(reply, seconds=0.0) == Reply("B", "", "stop", "m-2025-01-01", 4, 1)
    messages = [{"role": "user", "content": "How rude is this?"}]
    params = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 7, "seed": 3, "top_k": 40}
    assert server.requests == [{"model": "m", "messages": messages, **params}]


def test_a_structured_answer_can_only_be_a_letter_shown(clock: Clock) -> None:
    with ModelServer() as server:
        reply = ask(server, request("json"), ["C", "D"])
        with pytest.raises(InputError, match="letters"):
            ask(server, request("json"))
        with pytest.raises(AskFailed, match="could not be written"):
            ask(server, request(stop={"a set"}))
    assert json.loads(reply.text) == {"answer": "C"}
    assert not clock.waits  # without a rate nobody waits
    (sent,) = server.requests
    form = sent["response_format"]["json_schema"]
    assert form["strict"] is True
    assert form["schema"] == {
        "type": "object", "properties": {"answer": {"type": "string", "enum": ["C", "D"]}}, "required": ["answer"],
        "additionalProperties": False,
    }  # fmt: skip


def test_log_probabilities() -> None:
    with ModelServer() as server:
        reply = ask(server, request("logprobs"))
        ask(server, request("logprobs", max_tokens=5))
        ask(server, request("logprobs", max_completion_tokens=5))
    assert reply.top == (("A", math.log(0.7)), ("B", math.log(0.15)), ("C", math.log(0.15)))
    assert (server.requests[0]["logprobs"], server.requests[0]["top_logprobs"]) == (True, 20)
    assert [sent.get("max_tokens") for sent in server.requests] == [1, 5, None]


def _tokens(*tokens: Any) -> Any:
    """A completion with these tokens."""
    whole = completion({"model": "m", "messages": []}, "A")
    whole["choices"][0]["logprobs"] = {"content": list(tokens)}
    return whole


def _token(token: str, *top: tuple[str, Any]) -> dict[str, Any]:
    return {"token": token, "logprob": -1.0, "top_logprobs": [{"token": text, "logprob": p} for text, p in top]}


@pytest.mark.parametrize(
    ("tokens", "top"),
    [
        ([_token("\n", ("\n", -0.1)), _token(" A", (" A", -0.2), ("B", -2))], ((" A", -0.2), ("B", -2.0))),
        ([_token("\n", ("\n", -0.1), ("A", -0.3))], (("\n", -0.1), ("A", -0.3))),
        ([_token("A")], (("A", -1.0),)),
        ([_token("A", ("A", -0.2), ("B", None), ("C", -math.inf), ("D", math.nan))], (("A", -0.2),)),
        ([], ()),
        ([None], ()),
    ],
)
def test_probabilities_are_those_of_the_first_token_with_content(tokens: list[Any], top: Any) -> None:
    reply = wire.reply_of(_tokens(*tokens))
    assert reply is not None
    assert reply.top == top


@pytest.mark.parametrize(
    ("content", "text"), [(None, ""), ([{"type": "text", "text": "A"}, {"type": "text", "text": "!"}], "A!"), (7, "")]
)
def test_content_that_is_no_text(content: Any, text: str) -> None:
    reply = wire.reply_of({"choices": [{"message": {"content": content}}], "usage": None, "model": None})
    assert reply == Reply(text)


@pytest.mark.parametrize(
    "data", [None, [], "A", {"choices": {}}, {"choices": [None]}, {"choices": [{"text": "A"}]},
             {"choices": [{"message": {"content": ""}, "finish_reason": "error"}]}],
)  # fmt: skip
def test_no_reply_in_other_json(data: Any) -> None:
    assert wire.reply_of(data) is None


# Refusals
@pytest.mark.parametrize(
    ("behaviour", "text", "refusal"),
    [
        ("refusal", "", "I won't rate this."),
        ("stopped", "Well, ", "the server's content filter stopped the answer"),
        ("filtered", "", "The prompt was filtered by the content policy."),
        (status(400, error={"error": {"code": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"},
                                      "message": "no"}}), "", "no"),
        (status(403, error={"error": {"code": 403, "metadata": {"flagged_input": "…"}, "message": "flagged"}}),
         "", "flagged"),
    ],
)  # fmt: skip
def test_refusals_are_replies(behaviour: Behaviour | str, text: str, refusal: str) -> None:
    with ModelServer(behaviour) as server:
        reply = ask(server)
    assert (reply.text, reply.refusal, reply.attempts) == (text, refusal, 1)


# Trying again
@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("busy", "the server was busy (429) 3 times: status 429"),
        ("broken", "the server failed (500) 3 times: status 500"),
        ("unavailable", "the server was busy (503) 3 times: status 503"),
        ("gateway page", "the server failed (502) 3 times"),
        (status(408), "the server was busy (408) 3 times: status 408"),
        (status(409), "the server was busy (409) 3 times: status 409"),
        pytest.param("hang", "the server did not answer within 0.5 s, 3 times", marks=pytest.mark.slow),
        pytest.param("trickle", "the server did not answer within 0.5 s, 3 times", marks=pytest.mark.slow),
        ("drop", "the connection was lost, 3 times"),
        ("cut", "the connection was lost, 3 times"),
        ("malformed", "the server sent something that is not JSON, 3 times"),
        (always(Answer(b"")), "the server sent something that is not JSON, 3 times"),
        (always(Answer(b"[" * 100_000)), "the server sent something that is not JSON, 3 times"),
        (
            always(Answer(b"\xff\xfe", headers={"Content-Encoding": "gzip"})),
            "the server's answer cannot be unpacked, 3 times",
        ),
        ("empty", "the server's answer contained no choices, 3 times"),
        (always(Answer({"error": {"code": 502, "message": "upstream"}})), "the server failed (502) 3 times: upstream"),
        (always(Answer({"error": "out of memory"})), "the server failed (500) 3 times: out of memory"),
        (script(page(), page(), status(500)), "the last of 3 attempts failed: the server failed (500): status 500"),
    ],
)
def test_given_up_after_all_attempts(behaviour: Behaviour | str, message: str) -> None:
    limit = LIMIT if "did not answer" in message else 20
    error, n = failure(behaviour, attempts=3, timeout=limit)
    assert isinstance(error, AskFailed)
    assert (str(error), n) == (message, 3)


@pytest.mark.parametrize("bad", ["busy", "broken", "drop", "cut", "malformed", "page", "gateway page", "empty"])
def test_trying_again_helps(bad: str) -> None:
    with ModelServer(script(ModelServer(bad).behaviour, ModelServer(bad).behaviour, say("B"))) as server:
        reply = ask(server)
    assert (reply.text, reply.attempts, len(server.requests)) == ("B", 3, 3)


def test_the_wait_doubles_with_full_jitter_up_to_a_minute(clock: Clock) -> None:
    class Longest(random.Random):
        def uniform(self, a: float, b: float) -> float:
            assert a == 0
            return b

    failure("broken", attempts=9, rng=Longest())
    assert clock.waits == [1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7), ({"Retry-After": "0.5"}, 0.5), ({"Retry-After": "86400"}, 300),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, 1.5), ({"Retry-After": "0"}, 0),
        ({"Retry-After": formatdate(1_000_000_000 - 50, usegmt=True)}, 0),
        ({"Retry-After": formatdate(1_000_000_042, usegmt=True)}, 42),
        ({"Retry-After": formatdate(1_000_000_000 + 86400, usegmt=True)}, 300),
        ({"Retry-After": "soon"}, None), ({"Retry-After": "-3"}, None), ({"Retry-After": "nan"}, None), ({}, None),
    ],
)  # fmt: skip
def test_retry_after(headers: dict[str, str], seconds: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_000_000_000.0)
    assert wire.retry_after({name.lower(): value for name, value in headers.items()}) == seconds


@pytest.mark.parametrize("code", [429, 503])
def test_a_server_is_left_alone_as_long_as_it_asks(code: int, clock: Clock) -> None:
    with ModelServer(script(status(code, {"Retry-After": "17"}), say())) as server:
        reply = ask(server, backoff=0.1)
    assert (reply.attempts, clock.waits) == (2, [17])


def test_others_hold_back_as_well(clock: Clock) -> None:
    async def use(server: ChatServer) -> float:
        with pytest.raises(AskFailed):
            await server.ask(request())
        assert not clock.waits
        await server.ask(request())
        return clock.now

    with ModelServer(script(status(429, {"Retry-After": "30"}), say())) as server:
        assert using(server.base_url, use, attempts=1) == 30


# The rate
def test_slots_are_evenly_spaced_over_concurrent_callers_and_idle_time_not_saved_up(clock: Clock) -> None:
    async def run() -> None:
        pace = Pace(rate=120)
        await asyncio.gather(*(pace.turn() for _ in range(6)))
        clock.now = 100.0
        await asyncio.gather(*(pace.turn() for _ in range(3)))

    asyncio.run(run())
    assert clock.waits == [0.5, 1.0, 1.5, 2.0, 2.5, 0.5, 1.0]


def test_a_hold_delays_those_already_waiting_and_keeps_the_spacing(clock: Clock) -> None:
    went: list[float] = []

    async def run() -> None:
        pace = Pace(rate=60)

        async def caller() -> None:
            await pace.turn()
            went.append(clock.now)

        async def server() -> None:
            pace.hold(10)

        await asyncio.gather(*(caller() for _ in range(4)), server())

    asyncio.run(run())
    assert went[0] == 0
    assert min(went[1:]) >= 10
    assert all(later - earlier >= 1 for earlier, later in zip(sorted(went), sorted(went)[1:], strict=False))


def test_attempts_count_towards_the_rate(clock: Clock) -> None:
    with ModelServer(script(status(500), status(500), say())) as server:
        ask(server, rate=6, backoff=0)
    assert clock.now == 20


def test_thirty_two_are_really_in_flight() -> None:
    async def use(server: ChatServer) -> list[Reply]:
        return await asyncio.gather(*(server.ask(request()) for _ in range(32)))

    with ModelServer(say(gate=32)) as server:  # which answers nobody before all 32 are there
        replies = using(server.base_url, use)
    assert [reply.text for reply in replies] == ["A"] * 32
    assert server.most_in_flight == 32


def test_cancelling_is_not_an_attempt() -> None:
    async def use(server: ChatServer) -> None:
        task = asyncio.create_task(server.ask(request()))
        while not local.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with ModelServer("hang") as local:
        using(local.base_url, use)
    assert len(local.requests) == 1


# What no further attempt can help
@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("unauthorised", "the key was refused (401): check the key"),
        (status(403), "the key was refused (403): check the key"),
        ("unknown model", "the server does not know the model 'm'"),
        (status(400, error={"error": {"message": "m is not a valid model ID", "code": 400}}),
         "the server does not know the model 'm'"),
        (status(422, error=[{"error": {"message": "models/m: model is not found", "status": "X"}}]),
         "the server does not know the model 'm'"),
        (status(404, error={"detail": "Not Found"}),
         "the server does not know the model 'm', or the address is wrong: it usually ends in /v1"),
        (page(404), "the server answered with a web page, not JSON: is the address right? It usually ends in /v1"),
        (status(429, error={"error": {"code": "insufficient_quota", "message": "pay"}}),
         "the account has no credit left (429)"),
        (status(402), "the account has no credit left (402)"),
        (status(307, {"Location": "http://elsewhere.example/"}),
         "the server redirects elsewhere (307): is the address right? It usually ends in /v1"),
    ],
)  # fmt: skip
def test_the_model_is_gone_at_once(behaviour: Behaviour | str, message: str) -> None:
    error, n = failure(behaviour)
    assert isinstance(error, ModelGone)
    assert (str(error), n) == (message, 1)


def test_a_web_page_each_time_means_a_wrong_address() -> None:
    error, n = failure("page")
    assert isinstance(error, ModelGone)
    assert str(error).startswith("the server answered with a web page, not JSON: is the address right?")
    assert n == 6


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"error": {"message": "top_logprobs:\n  must be ≤ 5"}}, "top_logprobs: must be ≤ 5"),
        ({"error": "bad\x1b[31m request"}, "bad [31m request"),
        ({"object": "error", "message": "too long"}, "too long"),
        ({"detail": [{"loc": ["body"]}]}, "[{'loc': ['body']}]"),
        ("just text", "just text"),
        ([{"error": {"message": "from a list"}}], "from a list"),
        ({"error": {"message": "x" * 300}}, "x" * 199 + "…"),
    ],
)
def test_other_errors_pass_on_what_the_server_says(error: Any, message: str) -> None:
    raised, n = failure(status(400, error=error))
    assert isinstance(raised, AskFailed)
    assert (str(raised), n) == (f"the server did not accept the request (400): {message}", 1)


# The key


@pytest.mark.parametrize("length", [0, 180, 195])
def test_the_key_is_sent_and_never_comes_back(length: int) -> None:
    error, _ = failure(status(400, error={"error": {"message": "." * length + f" key {KEY} bad"}}))
    assert "sk-very" not in str(error)
    assert KEY not in repr(error)
    with ModelServer(status(400, error={"error": {"code": "content_filter", "message": f"no {KEY}"}})) as server:
        assert ask(server).refusal == "no ***"
        ask(server, key="")
    assert [sent["authorization"] for sent in server.headers] == [f"Bearer {KEY}", "Bearer none"]


def test_the_key_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    names = ["", "openai", "httpx", "httpx2", "httpcore", "httpcore2", "asyncio"]
    levels = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.DEBUG)
        with ModelServer(script(status(401), status(500), ModelServer("cut").behaviour, say())) as server:
            with pytest.raises(ModelGone):
                ask(server)
            ask(server)
            address = server.base_url.replace("http://", "http://me:hunter2@")
            using(address, lambda to: to.ask(request()), key="")
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
    assert any(record.name.startswith("openai") for record in caplog.records)
    assert any(record.name.startswith("httpcore") for record in caplog.records)
    said = caplog.text + "".join(f"{vars(record)}" for record in caplog.records)
    assert KEY not in said
    assert "hunter2" not in said


def test_the_key_is_in_no_repr() -> None:
    async def use(server: ChatServer) -> str:
        return f"{server!r} {server} {server._client!r} {server.pace!r}"

    said = using("https://me:hunter2@example.org/v1", use)
    assert said.startswith("<Server: https://example.org/v1>")
    assert KEY not in said
    assert "hunter2" not in said


def test_nothing_of_the_environment_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "leaked")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: leaked\nX-Mine: leaked")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with ModelServer() as server:
        ask(server)
    sent = server.headers[0]
    assert "leaked" not in str(sent)
    assert sent["authorization"] == f"Bearer {KEY}"
    assert not [name for name in sent if name.startswith("x-")]


def test_a_login_in_the_address_is_sent_if_there_is_no_key() -> None:
    with ModelServer() as server:
        address = server.base_url.replace("http://", "http://me:p%40ss@")
        using(address, lambda to: to.ask(request()), key="")
        using(address, lambda to: to.ask(request()))
    assert [sent["authorization"] for sent in server.headers] == ["Basic bWU6cEBzcw==", f"Bearer {KEY}"]


def test_a_login_in_the_address_is_in_no_message() -> None:
    echo, told = status(400, error={"error": {"message": "hunter2 is no password"}}), []
    with ModelServer(echo) as server:
        address = server.base_url.replace("//", "//me:hunter2@")
        with pytest.raises(AskFailed) as raised:
            using(address, lambda to: to.ask(request()))
        told.append(str(raised.value))
    with pytest.raises(AskFailed) as raised:
        using(address, lambda to: to.ask(request()), attempts=2)
    assert told[0].endswith("(400): *** is no password")
    assert re.match(r"the server at http://127.0.0.1:\d+/v1 could not be reached, 2 times: .", str(raised.value))
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("key", ["sk-\n-x", "sk-é", "sk-\x00"])
def test_a_key_that_cannot_be_one(key: str) -> None:
    with pytest.raises(InputError, match="characters that cannot be part of a key") as raised:
        ChatServer("https://example.org/v1", key)
    assert "sk-" not in str(raised.value)


# The address
@pytest.mark.parametrize(
    "address", ["http://example.org/v1", "http://10.0.0.7:8000/v1", "http://me:hunter2@localhost.evil.org/v1"]
)
def test_plain_http_to_other_machines_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="add --insecure") as raised:
        ChatServer(address, KEY)
    assert "hunter2" not in str(raised.value)
    using(address, _nothing, insecure=True)
    for here in ("http://localhost:8000", "http://127.0.0.1", "http://127.9.9.9", "http://[::1]:8", "https://a.org"):
        using(f"{here}/v1", _nothing)


async def _nothing(server: ChatServer) -> None:
    pass


@pytest.mark.parametrize(
    "address",
    ["", "localhost:8000", "ftp://example.org", "https://", "https://[::1", "https://example.org:port/v1",
     "https://example.org/v1?key=hunter2"],
)  # fmt: skip
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(InputError, match=r"Give an address such as https://example.org/v1\.$") as raised:
        ChatServer(address, KEY)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("tail", ["", "/", "/chat/completions", "/chat/completions/"])
def test_what_people_copy_along_does_no_harm(tail: str) -> None:
    with ModelServer() as server:
        assert using(server.base_url + tail, lambda to: to.ask(request())).text == "A"
        with pytest.raises(ModelGone, match="it usually ends in /v1"):
            using(server.base_url.removesuffix("/v1"), lambda to: to.ask(request()))


def test_without_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"plurivox\[ask\]"):
        ChatServer("https://example.org/v1", KEY)
