"""Runs against a real local server: nothing lost, nothing asked twice, no key anywhere, and every state told."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from model_server import NAMED, Answer, ModelServer, by_message, completion, say, script, status
from plurivox import Scale, ask
from plurivox.ask.database import StoreError
from plurivox.ask.prompts import Prompt
from plurivox.base.errors import InputError
from support import Write, ran, refused, run_cli

QUESTION = ask.Question(Scale(["never", "sometimes", "always"]), "How often is this right?")
ASKED = ("--question", "How often is this right?")
KEY = "sk-very-secret-0123456789"


def items(n: int) -> pl.DataFrame:
    return pl.DataFrame({"item": [f"i{at:03d}" for at in range(n)], "text": [f"Rule number {at}." for at in range(n)]})


def run(server: ModelServer, store: Path, n: int = 6, models: Any = ("m",), **more: Any) -> ask.Asked:
    return ask.run(items(n), QUESTION, models, store, base_url=server.base_url, **{"attempts": 2, **more})


def stored(store: Path) -> pl.DataFrame:
    return ask.Store.read(store).frame()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "answers.db"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def number_of(body: dict[str, Any]) -> int:
    return int(re.findall(r"Rule number (\d+)\.", body["messages"][-1]["content"])[-1])


def varied(body: dict[str, Any], number: int) -> Answer:
    """Answer by the number of the rule: a letter, a refusal, or nothing that can be read."""
    texts = ["A", "B) sometimes", "C", "I'm sorry, but I can't rate that.", "Hard to say."]
    return say(texts[number_of(body) % 5])(body, number)


# What is stored ------------------------------------------------------------------------------------------------------
def test_every_answer_is_stored_with_its_state_and_nothing_asked_twice(store: Path) -> None:
    with ModelServer(varied) as server:
        found = run(server, store, 10)
        frame = stored(store)
        again = run(server, store, 12)
        assert len(server.requests) == 12
    assert found.states == Counter(answered=6, refused=2, unreadable=2)
    assert (again.asked, again.states["stored"]) == (2, 10)
    assert frame["item"].to_list() == items(10)["item"].to_list()
    assert frame["state"].to_list() == ["answered", "answered", "answered", "refused", "unreadable"] * 2
    assert frame["answer"].to_list() == ["never", "sometimes", "always", None, None] * 2
    assert (frame["text"][1], frame["version"].unique().to_list()) == ("B) sometimes", ["m-2025-01-01"])
    assert (frame["prompt_tokens"] > 10).all()


def test_items_of_the_same_text_have_answers_of_their_own_and_a_number_is_a_number(store: Path) -> None:
    twins = pl.DataFrame({"item": ["x", "y"], "text": ["same", "same"]})
    with ModelServer(say("A")) as server:
        assert ask.run(twins, QUESTION, ["m"], store, base_url=server.base_url).states == Counter(answered=2)
        assert stored(store)["item"].to_list() == ["x", "y"]
        run(server, store, 2, temperature=0)
        assert run(server, store, 2, temperature=0.0, models="m", prompts="plain").asked == 0


@pytest.mark.parametrize(
    "odd",
    [
        {"text": "[" * 100_000}, {"top": [{"token": "A", "logprob": 1000}]}, {"top": 5},
        {"top": [{"token": "A", "logprob": 10**400}]}, {"tokens": 10**30}, {"tokens": -1},
        {"text": "{" * 100_000 + "}"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["json", "logprobs"])
def test_odd_replies_do_not_end_the_run(store: Path, odd: dict[str, Any], mode: Any) -> None:
    def behave(body: dict[str, Any], number: int) -> Answer:
        made, token = completion(body, odd.get("text", "A")), {"token": "A", "logprob": -1}
        made["usage"]["prompt_tokens"] = odd.get("tokens", 7)
        made["choices"][0]["logprobs"] = {"content": [token | {"top_logprobs": odd.get("top", [])}]}
        return Answer(made)

    with ModelServer(behave) as server:
        assert run(server, store, 2, mode=mode).asked == 2
    assert stored(store).height == 2


def test_long_numeric_scales_are_their_own_answers(store: Path) -> None:
    percent = ask.Question(Scale.range(0, 100), "How many of 100 agree?")
    with ModelServer(script(say("50"), say("50%"), say("3.5"), say("101"))) as server:
        given: dict[str, Any] = {"base_url": server.base_url, "shuffle": True, "concurrency": 1}
        ask.run(items(4), percent, ["m"], store, **given)
        with pytest.raises(InputError, match="at most 20 answers"):
            ask.run(items(1), percent, ["m"], store, mode="logprobs", **given)
    assert stored(store)["answer"].to_list() == ["50", "50", None, None]


def test_failures_stay_in_a_run_and_are_replaced_by_the_next_at_the_same_address(store: Path) -> None:
    broken = [True]

    def behave(body: dict[str, Any], number: int) -> Answer:
        return (status(500) if broken[0] else say("B"))(body, number)

    with ModelServer(behave) as server:
        assert run(server, store, 3, attempts=1).states == Counter(failed=3)
        assert run(server, store, 3, attempts=1, max_requests=1, concurrency=1).asked == 1
        frame = stored(store)
        assert (frame["state"].to_list(), frame["answer"].null_count()) == (["failed"] * 3, 3)
        assert frame["error"].str.contains("500").all()
        with ModelServer(say("B")) as other:
            assert run(other, store, 3).states == Counter(answered=3)  # another address is another request …
        assert stored(store)["state"].to_list().count("failed") == 3
        broken[0] = False
        assert run(server, store, 3).states == Counter(answered=3)
    assert stored(store)["state"].to_list() == ["answered"] * 6


def test_shuffled_options_are_mapped_back_to_the_scale(store: Path) -> None:
    def always(body: dict[str, Any], number: int) -> Answer:
        shown = dict(re.findall(r"^([A-C])\) (\w+)$", body["messages"][-1]["content"], re.MULTILINE))
        return say(next(letter for letter, label in shown.items() if label == "always"))(body, number)

    with ModelServer(always) as server:
        run(server, store, 30, shuffle=True, seed=3)
    frame = stored(store)
    assert (frame["answer"].unique().to_list(), frame["point"].unique().to_list()) == (["always"], [2])
    assert len({tuple(order) for order in frame["order"]}) > 3


def test_distributions_are_over_the_scale_whatever_the_order(store: Path) -> None:
    with ModelServer(say("B")) as server:  # .7 on B, .15 on A and C
        run(server, store, 12, mode="logprobs", shuffle=True)
    for order, shares, held, point in stored(store).select("order", "distribution", "held", "point").iter_rows():
        assert (shares[order[1]], held, point) == (pytest.approx(0.7), pytest.approx(1.0), order[1])
        assert sorted(shares) == pytest.approx([0.15, 0.15, 0.7])


def test_servers_without_log_probabilities(store: Path) -> None:
    def plain(body: dict[str, Any], number: int) -> Answer:
        return say("B")({**body, "logprobs": False}, number)

    with ModelServer(plain) as server:
        assert run(server, store, 3, mode="logprobs").without == 3
    frame = stored(store)
    assert frame["distribution"].null_count() == 3
    assert frame["answer"].to_list() == ["sometimes"] * 3


def test_structured_answers(store: Path) -> None:
    with ModelServer(say("C")) as server:
        run(server, store, 2, mode="json")
        form = server.requests[0]["response_format"]["json_schema"]["schema"]
        assert form["properties"]["answer"]["enum"] == ["A", "B", "C"]
    with ModelServer(lambda body, number: Answer(completion(body, '```json\n{"answer": "b"}\n```'))) as server:
        run(server, store, 1, mode="json")
    assert sorted(stored(store)["answer"]) == ["always", "always", "sometimes"]
    assert stored(store)["rule"].unique().to_list() == ["field_or_tag"]


def test_repetitions_personas_and_models(store: Path) -> None:
    async def notebook() -> ask.Asked:  # inside a running loop
        return run(server, store, 2, ["m", "n"], samples=3, temperature=0.7, personas=["a nurse", "a judge"])

    with ModelServer(say("A")) as server:
        found = asyncio.run(notebook())
        assert {body["temperature"] for body in server.requests} == {0.7}
        assert {"a nurse" in body["messages"][-1]["content"] for body in server.requests} == {True, False}
    assert found.total == found.asked == stored(store).select("model", "prompt", "item", "sample").n_unique() == 24
    assert sorted(set(stored(store)["prompt"])) == ["plain, as a judge", "plain, as a nurse"]


# Models that cannot be asked -----------------------------------------------------------------------------------------
def test_a_model_that_is_gone_does_not_stop_the_others(store: Path) -> None:
    def behave(body: dict[str, Any], number: int) -> Answer:
        return (NAMED["unknown model"] if body["model"] == "unknown" else say("A"))(body, number)

    with ModelServer(behave) as server:
        found = run(server, store, 20, ["m", "unknown"], concurrency=4)
    assert (found.states, list(found.problems)) == (Counter(answered=20), ["unknown"])
    assert "does not know the model 'unknown'" in found.problems["unknown"]
    assert found.left == 20
    assert stored(store)["model"].unique().to_list() == ["m"]


def test_a_refused_key_is_said_once_and_without_the_key(store: Path) -> None:
    with ModelServer(status(401, error={"message": f"Incorrect API key provided: {KEY}"})) as server:
        found = run(server, store, 20, concurrency=4)
        assert len(server.requests) <= 8
    assert "the key was refused" in found.problems["m"]
    assert KEY not in str(found)


def test_a_model_that_only_fails_is_given_up_but_not_between_answers(store: Path) -> None:
    with ModelServer(status(400, error={"message": "no response_format here"})) as server:
        found = run(server, store, 100, concurrency=2, mode="json")
        assert 20 <= len(server.requests) <= 22
    assert "its first 20 requests all failed" in found.problems["m"]
    assert "no response_format here" in found.problems["m"]
    assert found.left == 100 - found.states["failed"]
    with ModelServer(lambda body, n: (status(400) if number_of(body) else say("A"))(body, n)) as server:
        found = run(server, store, 60, concurrency=1, attempts=1)
    assert (found.states, found.problems) == (Counter(answered=1, failed=59), {})


def test_a_limit_on_requests(store: Path) -> None:
    with ModelServer(say("A")) as server:
        found = run(server, store, 100, max_requests=7, concurrency=3)
        assert len(server.requests) == found.asked == 7
        assert found.left == 93
        rest = run(server, store, 100)
        assert (rest.asked, rest.states["stored"]) == (93, 7)


def test_retries_are_counted_with_the_answer(store: Path) -> None:
    with ModelServer(script(status(503), say("A"))) as server:
        run(server, store, 1)
    with closing(sqlite3.connect(store)) as opened, opened:
        assert opened.execute("select attempts from answers").fetchall() == [(2,)]


# Stores --------------------------------------------------------------------------------------------------------------
def test_a_store_of_another_question_is_refused(store: Path) -> None:
    with ModelServer(say("A")) as server:
        run(server, store, 1)
        for scale, wording in ((QUESTION.scale, "Is it polite?"), (Scale(["no", "yes"]), QUESTION.wording)):
            other = ask.Question(scale, wording)
            with pytest.raises(InputError, match="another"):
                ask.run(items(1), other, ["m"], store, base_url=server.base_url)
        assert len(server.requests) == 1


def test_a_full_disk_stops_the_run_and_keeps_what_is_there(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, kept = ask.Store.put, [0]

    def put(self: Any, *args: Any, **more: Any) -> None:
        if kept[0] == 5:
            raise StoreError("the disk is full")
        kept[0] += 1
        real(self, *args, **more)

    monkeypatch.setattr(ask.Store, "put", put)
    with ModelServer(say("A")) as server, pytest.raises(StoreError, match="the disk is full"):
        run(server, store, 50, concurrency=4)
    monkeypatch.undo()
    assert stored(store).height == 5


@pytest.mark.parametrize(
    "given",
    [{"concurrency": 0}, {"rate": float("nan")}, {"timeout": -1.0}, {"max_requests": 0}, {"temperature": float("inf")}],
)
def test_numbers_that_make_no_sense(store: Path, given: dict[str, Any]) -> None:
    with ModelServer(say("A")) as server, pytest.raises(InputError, match=f"{next(iter(given))} is"):
        run(server, store, 1, **given)
    assert not store.exists()


# Processes -----------------------------------------------------------------------------------------------------------
def command(server: ModelServer, write: Write, store: Path, n: int, *more: str) -> list[str]:
    table = write("items.csv", items(n).write_csv())
    given = ("--scale", "never,sometimes,always", "--model", "m", "--base-url", server.base_url, "-o", str(store))
    return [sys.executable, "-m", "plurivox", "ask", str(table), *ASKED, *given, *more]


@pytest.mark.slow
def test_a_killed_run_loses_at_most_what_was_on_its_way(store: Path, write: Write) -> None:
    with ModelServer(say("A", delay=0.02)) as server:
        asked = command(server, write, store, 400, "--concurrency", "8")
        process = subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(server.requests) < 60:
            time.sleep(0.01)
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        seen = len(server.requests)
        with closing(sqlite3.connect(store)) as opened, opened:
            assert opened.execute("pragma integrity_check").fetchone() == ("ok",)
            n_stored = opened.execute("select count(*) from answers where state = 'answered'").fetchone()[0]
        assert n_stored >= seen - 8
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
        assert f"{n_stored} stored before" in done.stderr
        assert len(server.requests) <= 400 + 8
    frame = stored(store)
    assert (frame.height, frame["state"].unique().to_list()) == (400, ["answered"])


@pytest.mark.slow
def test_two_processes_share_a_store(store: Path, write: Write) -> None:
    with ModelServer(say("A", delay=0.01)) as server:
        asked = command(server, write, store, 300)
        both = [subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
        assert [process.wait() for process in both] == [0, 0]
        assert Counter(number_of(body) for body in server.requests) == Counter(range(300))
    assert stored(store).height == 300


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_ends_quickly_and_goes_on(store: Path, write: Write, number: int, code: int) -> None:
    with ModelServer(say("A", delay=0.05)) as server:
        asked = command(server, write, store, 200, "--concurrency", "4")
        process = subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while len(server.requests) < 20:
            time.sleep(0.01)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
        assert process.returncode == code
        assert "Traceback" not in err
        with closing(sqlite3.connect(store)) as opened, opened:
            assert opened.execute("select count(*) from answers where state = 'asking'").fetchone() == (0,)
        subprocess.run(asked, check=True, capture_output=True)
    assert stored(store).height == 200


# The commands --------------------------------------------------------------------------------------------------------
@pytest.fixture
def table(write: Write) -> Path:
    return write("items.csv", "id,rot\n1,Be kind.\n2,Never lie.\n")


@pytest.fixture
def given(table: Path, store: Path) -> list[Any]:
    """What a command is given that asks one model on five points."""
    return ["ask", table, "--text", "rot", *ASKED, "--scale", "0:4", "--model", "m", "-o", store]


def nowhere_in(folder: Path, secret: str) -> bool:
    return not [path for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


TOML = """
labels = ["never", "sometimes", "always"]
question = "How often is this right?"
descriptions = ["at no time", "now and then", "at all times"]
"""


def test_ask_and_answers(table: Path, write: Write, store: Path, tmp_path: Path) -> None:
    scale = write("s.toml", TOML)
    with ModelServer(by_message(lambda text: "C" if "kind" in text else "I cannot say.")) as server:
        given = ["ask", table, "--text", "rot", "--scale", scale, "--prompt", "table", "--prompt", "plain", "--model",
                 "m", "--base-url", server.base_url, "-o", store]  # fmt: skip
        done = run_cli(*given)
        assert done.code == 0
        assert done.out == f"{store}\n"
        assert "4 requests to" in done.err
        assert "4 asked: 2 answered, 2 refused" in done.err
    shown = run_cli("answers", store)
    assert re.search(r"m +plain +1 +1 +0 +0", shown.out)
    assert "How often is this right?" in shown.out
    listed = json.loads(run_cli("answers", store, "--json").out)
    assert listed["answers"][0] == {"model": "m", "prompt": "plain", "answered": 1, "refused": 1}
    for name in ("a.parquet", "a.csv", "a.jsonl"):
        assert run_cli("answers", store, "--export", tmp_path / name).out == f"{tmp_path / name}\n"
    frame = pl.read_parquet(tmp_path / "a.parquet")
    assert frame.select("item", "prompt", "state", "answer").rows() == [
        ("1", "plain", "answered", "always"), ("2", "plain", "refused", None),
        ("1", "table", "answered", "always"), ("2", "table", "refused", None),
    ]  # fmt: skip
    assert pl.read_csv(tmp_path / "a.csv")["item"].to_list() == [1, 2, 1, 2]


def test_a_dry_run_asks_nothing_and_shows_a_prompt(given: list[Any], store: Path) -> None:
    with ModelServer(say("A")) as server:
        done = ran(*given, "--base-url", server.base_url, "--dry-run", "--samples", "5")
        assert server.requests == []
    for words, part in ((done.err, "10 requests"), (done.err, "tokens of prompts"), (done.out, "Be kind."),
                        (done.out, "A) 0")):  # fmt: skip
        assert part in words
    assert not store.exists()
    assert KEY not in done.out + done.err


def test_a_raw_prompt_is_the_whole_message_and_mixes_with_no_other(table: Path, write: Write, store: Path) -> None:
    told = "[descriptions]\nmine = ['at no time', 'now and then', 'at all times']\n"
    scale = write("s.toml", f"{TOML.partition('descriptions')[0]}{told}")
    template = write("mine.txt", " How often, {{ persona }}? {{ options[1].description }}\n{{ text }} \n")
    given = ["ask", table, "--text", "rot", "--scale", scale, "--model", "m", "-o", store]
    with ModelServer(say("now and then, I think")) as server:
        given += ["--base-url", server.base_url]
        done = run_cli(*given, "--raw-prompt", template, "--persona", "a nurse", "--persona", "a clerk")
        assert done.code == 0, done.err
        assert done.err.count("warning") == 1
        assert "can pose as an instruction" in done.err
        sent = [request["messages"] for request in server.requests]
        assert all(len(one) == 1 for one in sent)  # no system message
        assert {(one[0]["role"], one[0]["content"]) for one in sent} == {
            ("user", f" How often, {who}? now and then\n{text} ")
            for text in ("Be kind.", "Never lie.")
            for who in ("a nurse", "a clerk")
        }
        assert run_cli(*given, "--prompt", write("mine.txt", "{{ options }} {{ text }}")).code == 0  # another name
        assert len(server.requests[-1]["messages"]) == 2
        for change in ("--prompt", "--raw-prompt"):
            write("mine.txt", "{{ options }}: {{ text }}{{ persona }}")
            more = ["--persona", "a nurse"] if change == "--raw-prompt" else []
            wrong = run_cli(*given, change, template, *more)
            assert wrong.code == 1
            assert "to a prompt of the same name with another template" in wrong.err
    frame = stored(store)  # read by what the prompt told, also behind a persona
    assert set(frame.select("prompt", "state", "answer").rows()) == {
        ("mine", "answered", "sometimes"), ("mine, raw, as a nurse", "answered", "sometimes"),
        ("mine, raw, as a clerk", "answered", "sometimes"),
    }  # fmt: skip
    assert "nothing to change" in run_cli("answers", store, "--reread").err
    for text, persona, lacking in (("Just answer.", "", "text"), ("{{ text }}", "a nurse", "persona")):
        with pytest.raises(InputError, match=f"never uses {lacking}"):
            Prompt.of(str(write("none.txt", text)), QUESTION, persona=persona, raw=True)


def test_extra_fields_go_into_every_request_and_keep_answers_apart(table: Path, store: Path) -> None:
    fields = {"safety_settings": [{"category": "all", "threshold": "none"}], "top_p": 0.5}
    given = ["ask", table, "--text", "rot", *ASKED, "--scale", "0:4", "-o", store]
    with ModelServer(say("A"), models=("m", "n")) as server:
        given += ["--base-url", server.base_url]
        assert run_cli(*given, "--model", "m", "--request", json.dumps(fields)).code == 0
        assert all({name: one[name] for name in fields} == fields for one in server.requests)
        again = run_cli(*given, "--model", "m", "--request", json.dumps(dict(reversed(fields.items()))))
        assert "0 asked; 2 stored before" in again.err
        for more in ([], ["--request", '{"top_p": 0.5}']):
            wrong = run_cli(*given, "--model", "m", *more)
            assert wrong.code == 1
            assert "it holds answers of m to requests with the extra fields" in wrong.err
        assert run_cli(*given, "--model", "n").code == 0  # of another model
        assert len(server.requests) == 4
    assert json.loads(stored(store)["params"][0]) == {"temperature": 0.0, **fields}
    shown = run_cli(*given, "--model", "n", "--dry-run", "--request", '{"top_p": 0.5}').out
    assert "top_p 0.5" in shown


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "--request is not JSON"), ("[1]", "--request is not a JSON object"), ('{"a": 1, "a": 2}', "occurs twice"),
        ('{"a": NaN}', "cannot be written as JSON"), (r'{"a": "\ud800"}', "cannot be written as JSON"),
        ('{"model": "x"}', "Use --model"), ('{"messages": []}', "Use --prompt"), ('{"n": 3}', "Use --samples"),
        ('{"temperature": 1}', "Use --temperature"), ('{"stream": true}', "'stream' of a request cannot be set"),
        ('{"api_key": "sk-1"}', "'api_key' of a request looks like a key"), ('{"key": "sk-1"}', "looks like a key"),
        ('{"provider": [{"X-API-Key": "sk-1"}]}', "'X-API-Key' of a request looks like a key"),
        (json.dumps({"user": f"{KEY}"}), "the extra fields of the request hold the key"),
        (json.dumps({"user": "".join(f"\\u{ord(c):04x}" for c in KEY)}), "hold the key"),
    ],
)  # fmt: skip
def test_extra_fields_that_are_none_are_one_error_without_secrets(given: list[Any], text: str, told: str) -> None:
    said = refused(*given, "--base-url", "http://127.0.0.1:9/v1", "--request", text, "--dry-run", code=None)
    assert told in said
    assert not [secret for secret in (KEY, "sk-1") if secret in said]


def test_the_key_is_nowhere(given: list[Any], tmp_path: Path) -> None:
    echo, few = {"message": f"bad request with {KEY}"}, ("--concurrency", "1", "--samples", "2", "--attempts", "1")
    with ModelServer(script(say("A"), status(400, error=echo), status(401, error=echo))) as server:
        done = run_cli(*given, "--base-url", server.base_url, *few)
        assert any(KEY in headers.get("authorization", "") for headers in server.headers)
    assert done.code == 1
    assert "failed: the server did not accept the request (400)" in done.err or "key was refused" in done.err
    assert KEY not in done.out + done.err
    assert nowhere_in(tmp_path, KEY)


def test_a_server_that_echoes_the_key(given: list[Any], tmp_path: Path) -> None:
    with ModelServer(say(f"A {KEY}")) as server:
        ran(*given, "--base-url", server.base_url)
        told = refused(*given, "--base-url", server.base_url + f"/{KEY}")
    assert "the server's address holds the key" in told
    assert KEY not in told
    assert nowhere_in(tmp_path, KEY)


def test_a_password_in_the_address_is_nowhere(given: list[Any], tmp_path: Path) -> None:
    with ModelServer(say("A")) as server:
        done = ran(*given, "--base-url", server.base_url.replace("://", "://me:hunter2@"))
    assert "hunter2" not in done.out + done.err
    assert nowhere_in(tmp_path, "hunter2")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--base-url", "http://example.org/v1"], "--insecure"), (["--base-url", "ftp://x"], "address"),
        (["--prompt", "nonsense"], "Give one of"), (["--prompt", "table"], "no descriptions"),
        (["--mode", "song"], "mode is 'song'"), (["--item", "nope"], "there is no column 'nope'"),
        (["--persona", "a\udcff"], "not text that can be sent"), (["--text", "nope"], "there is no column 'nope'"),
    ],
)  # fmt: skip
def test_commands_with_bad_input(given: list[Any], store: Path, more: list[str], told: str) -> None:
    there = [] if "--base-url" in more else ["--base-url", "http://127.0.0.1:9/v1"]
    assert told in refused(*given, *there, *more)
    assert not store.exists()


def test_a_store_is_not_written_over_and_other_files_are_none(given: list[Any], write: Write, store: Path) -> None:
    kept = store.with_name("kept.csv")
    with ModelServer(say("A")) as server:
        ran(*given[:-1], kept, "--base-url", server.base_url)
    refused("answers", kept, "--export", kept)
    assert stored(kept).height == 2
    done = run_cli("answers", write("not.db", "hello"))
    assert (done.code, len(done.err.strip().splitlines())) == (1, 1)
    refused("answers", store)


def test_a_server_that_is_not_there(given: list[Any], store: Path) -> None:
    done = run_cli(*given, "--attempts", "1", "--base-url", "http://127.0.0.1:9/v1")
    assert (done.code, "2 failed" in done.err) == (1, True)
    assert "could not be reached" in stored(store)["error"][0]
    assert os.environ["OPENAI_API_KEY"] == KEY
