"""Servers that send what no server should: one request fails or is stored, the others go on, and no key comes back."""

from __future__ import annotations

import base64
import gzip
import html
import json
import logging
import re
import tracemalloc
import urllib.parse
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from model_server import Answer, Body, ModelServer, completion, say
from plurivox import Scale, ask
from plurivox.ask import client, question, wire
from plurivox.ask.wire import Scrubber
from plurivox.base.errors import InputError
from support import Write, ran, refused, run_cli

pytest.importorskip("openai", reason="the openai client is not installed")

QUESTION = ask.Question(Scale(["never", "sometimes", "always"]), "How often is this right?")
ASKED = ("--question", "How often is this right?")
KEY = "sk-very-secret/0123+456789="
N = 12
BAD = 5
"""Which of the twelve items gets the hostile reply."""

BODY: Body = {"model": "m", "messages": []}
WHOLE = json.dumps(completion(BODY, "B"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "answers.db"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def items(n: int = N) -> pl.DataFrame:
    return pl.DataFrame({"item": [f"i{at:03d}" for at in range(n)], "text": [f"Rule number {at}." for at in range(n)]})


def run_with(bad: Answer, store: Path, **more: Any) -> ask.Asked:
    """Ask about twelve items, of which one gets this answer."""

    def behave(body: Body, number: int) -> Answer:
        return bad if f"Rule number {BAD}." in body["messages"][-1]["content"] else say("A")(body, number)

    with ModelServer(behave) as server:
        given = {"attempts": 1, "concurrency": 4, "timeout": 20.0, **more}
        return ask.run(items(), QUESTION, ["m"], store, base_url=server.base_url, **given)


def packed(name: str, content: bytes) -> Answer:
    return Answer(content, headers={"Content-Encoding": name})


def typed(kind: str, content: bytes = WHOLE.encode()) -> Answer:
    return Answer(content, headers={"Content-Type": kind})


def chosen(message: Any, **more: Any) -> Answer:
    return Answer({"choices": [{"message": message}], **more})


def head(*lines: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode()


CHUNKED = "Transfer-Encoding: chunked"
NO_JSON = "the server sent something that is not JSON"
BROKE_OFF = "the connection was lost"
NO_CHOICES = "the server's answer contained no choices"
TOO_LARGE = "the server's answer has more than 8 MiB"
UNASKED = "the server compressed its answer in a way that was not requested"
UNPACKED = "the server's answer cannot be unpacked"

FAILURES: dict[str, tuple[Answer, str]] = {
    "gzip that is none": (packed("gzip", b"\xff" * 30), UNPACKED),
    "half a gzip": (packed("gzip", gzip.compress(WHOLE.encode())[:-12]), BROKE_OFF),
    "gzip bomb": (packed("gzip", gzip.compress(b" " * (40 * 2**20))), TOO_LARGE),
    "deflate": (packed("deflate", zlib.compress(WHOLE.encode())), UNASKED),
    "brotli": (packed("br", b"\x0b\x02\x80"), UNASKED),
    "zstd": (packed("zstd", b"\x28\xb5\x2f\xfd\x20\x00"), UNASKED),
    "gzip in gzip": (packed("gzip, gzip", gzip.compress(gzip.compress(b"{}"))), UNASKED),
    "a packing of its own": (packed("rot13", WHOLE.encode()), UNASKED),
    "large": (Answer(b'{"a": "' + b"x" * (9 * 2**20) + b'"}'), TOO_LARGE),
    "endless": (Answer(b"x" * 2**16, kind="flood"), TOO_LARGE),
    "a long text": (chosen({"content": "x" * (2**20 + 1)}), "the answer has more than 1,048,576 characters"),
    "long header line": (Answer(head("X-Long: " + "x" * 200_000) + b"{}", kind="raw"), BROKE_OFF),
    "endless headers": (Answer(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000, kind="raw"), BROKE_OFF),
    "no HTTP": (Answer(b"hello\r\n\r\n", kind="raw"), BROKE_OFF),
    "half a chunk": (Answer(head(CHUNKED) + b"40\r\n{", kind="raw"), BROKE_OFF),
    "no last chunk": (Answer(head(CHUNKED) + b"2\r\n{}\r\n", kind="raw"), BROKE_OFF),
    "a chunk without size": (Answer(head(CHUNKED) + b"zz\r\n{}\r\n", kind="raw"), BROKE_OFF),
    "a negative length": (Answer(head("Content-Length: -5") + b"{}", kind="raw"), BROKE_OFF),
    "nothing": (Answer(b""), NO_JSON),
    "status 204": (Answer(head("Content-Length: 0").replace(b"200 OK", b"204 No"), kind="raw"), NO_JSON),
    "half of JSON": (Answer(WHOLE.encode()[:40]), NO_JSON),
    "deep JSON": (Answer(b'{"a":' * 100_000), NO_JSON),
    "a number of 5,000 digits": (Answer(b'{"a": ' + b"7" * 5_000 + b"}"), NO_JSON),
    "UTF-16": (Answer(WHOLE.encode("utf-16")), NO_JSON),
    "NaN": (Answer(b"NaN"), NO_CHOICES),
    "no choices": (Answer({"id": 1}), NO_CHOICES),
    "choices that are none": (Answer({"choices": "B"}), NO_CHOICES),
    "an empty choice": (Answer({"choices": [{}]}), NO_CHOICES),
    "deep error": (Answer(b'{"error":' + b'{"a":' * 900 + b"1" + b"}" * 901), "the server failed (500)"),
    "a large error page": (Answer(b"x" * (9 * 2**20), 500), "the server failed (500): " + "x" * 199 + "…"),
    "an error packed otherwise": (
        Answer(b"\x0b\x02", 503, {"Content-Encoding": "br", "Retry-After": "0"}), "the server was busy (503)",
    ),
}  # fmt: skip


STORED: dict[str, tuple[Answer, str, str]] = {
    "an unknown charset": (typed("application/json; charset=no-such-thing"), "answered", "B"),
    "a charset that is no text": (typed("application/json; charset=zip"), "answered", "B"),
    "a charset of letters": (typed("application/json; charset=rot13"), "answered", "B"),
    "a charset with NUL": (typed("application/json; charset=a\x01b"), "answered", "B"),
    "a wrong charset": (typed("text/plain; charset=utf-16", b'{"choices":[{"message":{"content":"B"}}]}'),
                        "answered", "B"),
    "bytes that are no text": (Answer(b'{"choices":[{"message":{"content":"B \xff\xfe"}}]}'), "answered",
                               "B \ufffd\ufffd"),
    "a byte order mark": (Answer(b"\xef\xbb\xbf" + WHOLE.encode()), "answered", "B"),
    "gzip": (packed("gzip", gzip.compress(WHOLE.encode())), "answered", "B"),
    "half characters": (Answer(b'{"choices":[{"message":{"content":"B \\ud83d"}}]}'), "answered", "B \ufffd"),
    "NUL": (chosen({"content": "B\0"}), "answered", "B\0"),
    "parts": (chosen({"content": [{"type": "text", "text": "B"}, {"type": "image"}, 7]}), "answered", "B"),
    "no text": (chosen({"content": 7}), "unreadable", ""),
    "an object": (chosen({"content": {"answer": "B"}}), "unreadable", ""),
    "huge counts": (chosen({"content": "B"}, usage={"prompt_tokens": 10**40, "completion_tokens": -1}),
                    "answered", "B"),
    "odd fields": (chosen({"content": "B"}, model=["m"] * 1000, usage=[]), "answered", "B"),
    "a refusal that is no text": (chosen({"content": None, "refusal": {"why": [1]}}), "refused", ""),
    "nothing but backslashes": (chosen({"content": "\\" * 2**18}), "unreadable", "\\" * 2**18),
    "beginnings of the key": (chosen({"content": "sk-very-secret/ " * 2**14}), "unreadable",
                              "sk-very-secret/ " * 2**14),
    "many headers": (Answer(WHOLE.encode(), headers={f"X-{n}": "y" * 50 for n in range(1000)}), "answered", "B"),
}  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[ask.Asked, dict[str, dict[str, Any]]]:
    """One run in which every hostile reply comes once, between others that are as they should; its rows by name."""
    sent = {name: answer for name, (answer, _) in FAILURES.items()}
    sent |= {name: answer for name, (answer, *_) in STORED.items()}
    names = [*sent, *(f"fine {n}" for n in range(40))]
    table = pl.DataFrame({"item": names, "text": [f"<{name}>" for name in names]})

    def behave(body: Body, number: int) -> Answer:
        (name,) = re.findall("^<(.*)>$", body["messages"][-1]["content"], re.MULTILINE)
        return sent.get(name) or say("A")(body, number)

    store = tmp_path_factory.mktemp("hostile") / "answers.db"
    with ModelServer(behave) as server:
        shuffled = table.sample(fraction=1, shuffle=True, seed=1)
        found = ask.run(shuffled, QUESTION, ["m"], store, base_url=server.base_url, attempts=1, timeout=60.0)
    return found, {row["item"]: row for row in ask.Store.read(store).frame().to_dicts()}


def test_hostile_replies_end_nothing(hostile: tuple[ask.Asked, dict[str, dict[str, Any]]]) -> None:
    found, rows = hostile
    assert not found.problems
    assert found.states["failed"] == len(FAILURES)
    assert len(rows) == found.total == len(FAILURES) + len(STORED) + 40
    assert all(row["state"] == "answered" for name, row in rows.items() if name.startswith("fine"))
    for name, (_, told) in FAILURES.items():
        assert (rows[name]["state"], rows[name]["error"][: len(told)]) == ("failed", told), name
        assert len(rows[name]["error"]) < 300, name
    for name, (_, state, text) in STORED.items():
        assert (rows[name]["state"], rows[name]["text"]) == (state, text), name
        assert len(rows[name]["version"]) <= client.SHOWN, name


@pytest.mark.parametrize(
    "answer",
    [Answer(b"x" * 2**16, kind="flood"), packed("gzip", gzip.compress(b"[[]," * (40 * 2**20 // 4), 1)),
     Answer(b'{"a": [' + b"{}," * (2**20) + b"{}]}")],
    ids=["flood", "bomb", "many objects"],
)  # fmt: skip
def test_memory_stays_bounded(answer: Answer, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LARGEST", 2**20)  # tracing is slow
    run_with(answer, store, attempts=2, concurrency=1, max_requests=1)  # imports what it needs
    tracemalloc.start()
    try:
        run_with(answer, store)
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_slow_body_ends_with_the_time_for_all_of_it(store: Path) -> None:
    found = run_with(Answer(WHOLE.encode(), kind="trickle"), store, timeout=1.0)
    assert [reason for _, reason in found.reasons] == ["the server did not answer within 1 s"]
    assert found.states == Counter(answered=N - 1, failed=1)


def test_a_redirect_leads_nowhere(store: Path) -> None:
    with ModelServer() as other:
        found = run_with(Answer({}, 307, {"Location": other.base_url + "/chat/completions"}), store, concurrency=1)
        assert not other.requests
    assert "redirects elsewhere (307)" in found.problems["m"]


def test_a_failure_of_our_own_while_reading_ends_nothing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = question.read_reply

    def read(text: str, *more: Any) -> Any:
        if text == "odd":
            raise ZeroDivisionError
        return real(text, *more)

    monkeypatch.setattr("plurivox.ask.running.read_reply", read)
    found = run_with(chosen({"content": "odd"}), store)
    assert found.states == Counter(answered=N - 1, failed=1)
    assert list(found.reasons) == [("m", "its answer could not be read or stored (ZeroDivisionError)")]


# Keys that come back -------------------------------------------------------------------------------------------------
def each(write: Callable[[int], str]) -> Callable[[str], str]:
    return lambda secret: "".join(write(ord(char)) for char in secret)


WAYS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "JSON": each(lambda code: f"\\u{code:04x}"),
    "JSON in JSON": each(lambda code: f"\\\\u{code:04X}"),
    "escaped slash": lambda secret: secret.replace("/", "\\/"),
    "Python": each(lambda code: f"\\x{code:02x}"),
    "octal": each(lambda code: f"\\{code:03o}"),
    "URL": lambda secret: urllib.parse.quote(secret, safe=""),
    "URL, all of it": each(lambda code: f"%{code:02X}"),
    "URL twice": lambda secret: urllib.parse.quote(urllib.parse.quote(secret, safe="")),
    "HTML": each(lambda code: f"&#{code};"),
    "HTML, hexadecimal": each(lambda code: f"&#x{code:X};"),
    "HTML twice": lambda secret: html.escape(each(lambda code: f"&#{code};")(secret)),
    "HTML names": lambda secret: secret.replace("/", "&sol;").replace("+", "&plus;").replace("=", "&equals;"),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64 of a header": lambda secret: base64.b64encode(f"Authorization: Bearer {secret}\r\n".encode()).decode(),
    "base64 of another": lambda secret: base64.urlsafe_b64encode(f"x={secret};".encode()).decode(),
    "base64 in lines": lambda secret: base64.encodebytes(f"{'-' * 40}{secret}".encode()).decode(),
    "base64 in a URL": lambda secret: urllib.parse.quote(base64.b64encode(secret.encode()).decode()),
    "hexadecimal": lambda secret: secret.encode().hex(),
    "hexadecimal, both cases": lambda secret: secret.encode()[:8].hex() + secret.encode()[8:].hex().upper(),
    "hexadecimal, bytes apart": lambda secret: secret.encode().hex(":"),
    "hexadecimal, bytes of a program": lambda secret: ", ".join(map(hex, secret.encode())),
    "Python, eight digits": each(lambda code: f"\\U{code:08x}"),
    "JSON in JSON in JSON in JSON": each(lambda code: 8 * "\\" + f"u{code:04x}"),
    "URL, old": each(lambda code: f"%u{code:04x}"),
    "quoted-printable": each(lambda code: f"={code:02X}"),
    "selectors": "\ufe0f".join,
    "blanks": " ".join,
    "lines": "\n".join,
    "nothing seen": "\u200b".join,
}


def decoded(text: str) -> str:
    """Undo, by means of the standard library, whatever hides a text, three times over, and take out all blanks."""
    seen = text
    for _ in range(3):
        seen = urllib.parse.unquote(html.unescape(seen))
        seen = re.sub(r"\\+U0000|%u", r"\\u", seen)
        seen = re.sub(r"=([0-9a-fA-F]{2})", lambda hit: chr(int(hit[1], 16)), seen)
        seen = re.sub(r"\\+u([0-9a-fA-F]{4})|\\+x([0-9a-fA-F]{2})", lambda hit: chr(int(hit[1] or hit[2], 16)), seen)
        seen = re.sub(r"\\([0-7]{3})", lambda hit: chr(int(hit[1], 8)), seen)
    joined = re.sub(r"[\s\u200b\ufe0f\\]", "", seen)
    texts = [text, seen, joined]
    for found in (*re.findall(r"[A-Za-z0-9+/_-]{16,}", joined), *re.findall(r"[A-Za-z0-9+/_-]{16,}", text)):
        for start in range(4):
            whole = found[start:][: (len(found) - start) // 4 * 4].translate(str.maketrans("-_", "+/"))
            texts.append(base64.b64decode(whole).decode("latin-1"))
    texts += [
        bytes.fromhex(found[: len(found) // 2 * 2]).decode("latin-1")
        for found in re.findall("[0-9a-fA-F]{16,}", re.sub(r"[:,] ?(?:0x)?", "", text))
    ]
    return "\n".join(texts)


CORE = KEY[3:-3]
"""What base64 keeps of a key wherever it stands."""


def test_the_test_would_see_a_key_however_it_is_written() -> None:
    for name, write in WAYS.items():
        assert CORE in decoded(f"before {write(KEY)} after"), name


def spread(text: str) -> Body:
    """A completion that holds a text in every field."""
    made = completion(BODY, f"A {text}", finish=text, refusal=None)
    made |= {"model": text, "id": text, "system_fingerprint": text, text: text}
    made["choices"][0]["message"] |= {"role": text, "tool_calls": [{"function": {"name": text}}]}
    return made


def echoes(echo: str) -> list[Answer]:
    """Replies, refusals, errors, reasons and headers that hold a text."""
    told = json.dumps(echo).encode()
    raw = b'"' + echo.encode() + b'"' if re.fullmatch(r"(\\\\u\w{4}|\\\\/|[\w/+=-])+", echo) else told  # JSON itself
    line = {"X-Echo": echo} if echo.isascii() and "\n" not in echo else {}
    reason = echo if line else "no"
    return [
        Answer(spread(echo), headers=line, reason=reason),
        Answer(b'{"choices":[{"message":{"content":' + raw + b"}}]}"),
        chosen({"content": [{"text": "C "}, {"text": echo[:9]}, {"text": echo[9:]}]}),
        chosen({"content": None, "refusal": f"no: {echo}"}),
        Answer({"error": {"message": f"bad key {echo}", "code": 400}}),
        Answer({"error": {"message": f"bad key {echo}", "code": "content_filter"}}, 400),
        Answer(b'{"error":{"message":' + raw + b"}}", 400, line),
        Answer(f"<p>{echo}</p>".encode(), 500, reason=reason),
        Answer(f"not JSON {echo}".encode(), 429, {"Retry-After": echo} if line else {}),
        Answer(f"{'x' * 190} {echo}".encode(), 418),
    ]


def test_the_key_comes_back_in_no_way(store: Path, write: Write, tmp_path: Path) -> None:
    """All files and all output are looked at, however it was written, and the log beside the store as well."""
    sent = [(name, answer) for name, way in WAYS.items() for answer in echoes(way(KEY))]
    scale, few = ("--scale", "never,sometimes,always"), ("--concurrency", "1", "--attempts", "1")
    with ModelServer(lambda body, number: sent[number][1]) as server:
        table = write("items.csv", items(len(sent)).write_csv())
        done = run_cli("ask", table, *ASKED, *scale, "--model", "m", "--base-url", server.base_url, "-o", store, *few)
        assert len(server.requests) == len(sent)
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    for row, (name, answer) in zip(ask.Store.read(store).frame().iter_rows(named=True), sent, strict=True):
        for column in ("text", "error", "finish", "version"):
            assert CORE not in decoded(row[column] or ""), (name, answer, column)
    for end in ("csv", "jsonl"):
        ran("answers", store, "--export", tmp_path / f"out.{end}", "--prompts")
    said = done.out + done.err + run_cli("answers", store).out + run_cli("answers", store, "--csv").out
    assert "***" in said
    assert CORE not in decoded(said)
    with ask.Store.open(tmp_path / "second.db", QUESTION.about()) as opened:
        opened.beat()
        run_with(chosen({"content": f"B {KEY}"}), tmp_path / "second.db")
        seen = b"".join(Path(f"{tmp_path / 'second.db'}{end}").read_bytes() for end in ("", "-wal"))
        assert b"B ***" in seen
        for path in tmp_path.rglob("*"):
            assert CORE not in decoded(path.read_bytes().decode("latin-1")), path


def test_headers_that_echo_the_key_are_in_no_log(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    names = ["", "openai", "httpx", "httpx2", "httpcore", "httpcore2"]
    telling = [logging.getLogger(f"{name}.http11") for name in ("httpcore", "httpcore2")]
    before = [list(logger.filters) for logger in telling]
    levels = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.DEBUG)
        echo = base64.b64encode(KEY.encode()).decode()
        run_with(Answer(completion(BODY, "A"), headers={"X-Echo": KEY, "X-Other": echo}, reason=KEY), store)
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
    said = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert "x-echo" in said.lower()
    assert CORE not in decoded(said)
    assert [list(logger.filters) for logger in telling] == before


@pytest.mark.parametrize(
    ("login", "secret"), [("me:hunter2/three4five@", "hunter2/three4five"), ("tok-0123456789abc@", "tok-0123456789abc"),
                          ("me:p%40ss%2Fword-0123@", "p@ss/word-0123")],
)  # fmt: skip
def test_what_stands_in_the_address_comes_back_in_no_way(login: str, secret: str, store: Path, tmp_path: Path) -> None:
    """Also not as the server sees it, in a header of basic authorization."""
    echo = "{} {} " + " ".join(write(secret) for write in WAYS.values())

    def behave(body: Body, number: int) -> Answer:
        return Answer(completion(body, echo.format(secret, server.headers[-1]["authorization"])))

    with ModelServer(behave) as server:
        address = server.base_url.replace("//", f"//{urllib.parse.quote(login, safe=':@%')}")
        ask.run(items(1), QUESTION, ["m"], store, base_url=address, key_variable="NO_KEY_AT_ALL")
        assert server.headers[0]["authorization"].startswith("Basic ")
    for path in tmp_path.rglob("*"):
        assert secret[3:-3] not in decoded(path.read_bytes().decode("latin-1"))
    assert "***" in ask.Store.read(store).frame()["text"][0]


def test_an_address_that_holds_the_key_in_another_way_is_refused(store: Path) -> None:
    for way in ("URL", "URL, all of it", "base64", "hexadecimal"):
        with pytest.raises(InputError, match="the server's address holds the key") as told:
            ask.run(items(1), QUESTION, ["m"], store, base_url=f"https://example.org/{WAYS[way](KEY)}/v1")
        assert CORE not in decoded(str(told.value))
    assert not store.exists()


def test_a_model_whose_name_holds_the_key_is_refused(
    store: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write("items.csv", items(1).write_csv())
    with ModelServer() as server:
        given = ["ask", table, *ASKED, "--scale", "0:4", "--base-url", server.base_url, "-o", store, "--model", "m",
                 "--model"]  # fmt: skip
        for more in ([], ["--dry-run"]):
            told = refused(*given, f"openai/{KEY}", *more)
            assert told == "error: the model's name holds the key. Leave it out; it is read from OPENAI_API_KEY."
        with pytest.raises(InputError, match="the model's name holds the key"):
            ask.run(items(1), QUESTION, [KEY], store, base_url=server.base_url)
        assert not server.requests
        assert not store.exists()
        monkeypatch.setenv("OPENAI_API_KEY", "ollama")  # what servers are given that need none
        ran(*given, "ollama/small")


def test_other_texts_stay_as_they_are() -> None:
    scrub = Scrubber([KEY, "hunter2", "ab", ""]).scrub
    for text in ("sk-very", "B) a hunter, 2 of them", "h u n t e r 2", "", "\\u0041 %41 &#65; c2s=", "ab " * 20):
        assert scrub(text) == text
    assert scrub(f"{KEY}{KEY} x") == "****** x"
