"""How fast questions are asked, compared with a bare loop over the openai client, and whether memory stays flat.

``python -m benchmarks.ask``. A local server in a process of its own answers after 50 ms; 32 requests are on their way
at once. Then 100,000 items are asked of a server that answers at once, and the memory of that process is looked at on
the way. Last, servers that are busy, or send something else than JSON, are asked by the openai client with its own
retries and by plurivox. Everything is measured in one run on one machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import polars as pl

from plurivox import Scale, ask
from plurivox.ask.running import AskingPlan

CONCURRENCY, REQUESTS, ITEMS = 32, 3000, 100_000
QUESTION = ask.Question(Scale(["never", "sometimes", "always"]), "How often is this right?")
SERVER = """
import sys, time
sys.path.insert(0, {folder!r})
from model_server import ModelServer, say

class Nothing(list):
    def append(self, one): pass

server = ModelServer(say("A", delay={delay}))
server.requests, server.headers = Nothing(), Nothing()
with server:
    print(server.base_url, flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def served(delay: float) -> Iterator[str]:
    """Run the server of the tests in a process of its own; yield its address."""
    folder = str(Path(__file__).parents[1] / "tests")
    program = SERVER.format(folder=folder, delay=delay)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait()


def items(n: int) -> pl.DataFrame:
    """Return items with texts of a few words."""
    return pl.DataFrame({"item": [str(at) for at in range(n)], "text": [f"Rule number {at}." for at in range(n)]})


def plan_of(n: int, url: str) -> AskingPlan:
    """Return what is asked."""
    return ask.make_plan(items(n), QUESTION, ["m"], base_url=url)


async def bare(requests: list[Any], url: str) -> None:
    """Ask by the openai client alone, and keep nothing."""
    client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0)
    waiting = iter(requests)

    async def work() -> None:
        for request in waiting:
            await client.chat.completions.create(model="m", messages=list(request.messages), temperature=0.0)

    await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
    await client.close()


def throughput() -> None:
    """Print requests per second of both, in turn."""
    with served(0.05) as url, tempfile.TemporaryDirectory() as folder:
        requests = list(plan_of(REQUESTS, url).requests())
        speeds: dict[str, list[float]] = {"bare": [], "plurivox": []}
        for number in range(3):
            start = time.perf_counter()
            asyncio.run(bare(requests, url))
            speeds["bare"].append(REQUESTS / (time.perf_counter() - start))
            start = time.perf_counter()
            found = ask.run(items(REQUESTS), QUESTION, ["m"], f"{folder}/{number}.db", base_url=url,
                            concurrency=CONCURRENCY)  # fmt: skip
            speeds["plurivox"].append(REQUESTS / (time.perf_counter() - start))
            assert found.states["answered"] == REQUESTS
    best = {name: max(values) for name, values in speeds.items()}
    print(
        f"{CONCURRENCY} at once, 50 ms each: bare client {best['bare']:.0f} requests/s, plurivox with its store "
        f"{best['plurivox']:.0f}, {best['plurivox'] / best['bare']:.0%}"
    )


def memory() -> None:
    """Print how memory goes over many items."""
    seen: list[tuple[int, float]] = []

    def look(states: Any, total: int) -> None:
        if states.total() % 10_000 == 0:
            used = float(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) / 1e3
            seen.append((states.total(), used))

    table = items(ITEMS)
    with served(0.0) as url, tempfile.TemporaryDirectory() as folder:
        ask.run(table, QUESTION, ["m"], f"{folder}/a.db", base_url=url, concurrency=CONCURRENCY, progress=look)
    shown = ", ".join(f"{done:,}: {used:.0f} MB" for done, used in seen)
    print(f"memory over {ITEMS:,} items: {shown}")


BUSY = """
import sys, threading, time
sys.path.insert(0, {folder!r})
from model_server import Answer, ModelServer, say

lock, admitted, refused = threading.Lock(), [], [0]

def busy(body, number):  # 20 a second, and a wait of a second for all others
    with lock:
        now = time.monotonic()
        admitted[:] = [at for at in admitted if at > now - 1]
        if len(admitted) < 20:
            admitted.append(now)
            return say("A")(body, number)
        refused[0] += 1
        return Answer({{"error": {{"message": "slow down"}}}}, 429, {{"Retry-After": "1"}})

def odd(body, number):  # every third reply is cut short, with status 200
    if number % 3 == 0:
        refused[0] += 1
        return Answer(b'{{"choices": [', 200)
    return say("A")(body, number)

with ModelServer({behaviour}) as server:
    print(server.base_url, flush=True)
    sys.stdin.readline()
    print(refused[0], flush=True)
    sys.stdin.read()
"""


async def with_its_retries(requests: list[Any], url: str) -> int:
    """Ask by the openai client with its own retries; return how many requests failed."""
    client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=5)
    waiting, failed = iter(requests), []

    async def work() -> None:
        for request in waiting:
            try:
                reply = await client.chat.completions.create(model="m", messages=list(request.messages))
                if not isinstance(reply, openai.types.chat.ChatCompletion):
                    failed.append(request)
            except (openai.OpenAIError, ValueError):
                failed.append(request)

    await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
    await client.close()
    return len(failed)


def patience(behaviour: str, n: int = 200) -> None:
    """Print how many replies a server had to refuse, and how many requests failed for good, for both."""
    for way in ("openai's retries", "plurivox"):
        program = BUSY.format(folder=str(Path(__file__).parents[1] / "tests"), behaviour=behaviour)
        pipe = subprocess.PIPE
        with (
            tempfile.TemporaryDirectory() as folder,
            subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe, text=True) as process,
        ):
            assert process.stdout is not None
            assert process.stdin is not None
            url = process.stdout.readline().strip()
            start = time.perf_counter()
            if way == "plurivox":
                found = ask.run(items(n), QUESTION, ["m"], f"{folder}/a.db", base_url=url, concurrency=CONCURRENCY)
                failed = found.states["failed"]
            else:
                failed = asyncio.run(with_its_retries(list(plan_of(n, url).requests()), url))
            taken = time.perf_counter() - start
            process.stdin.write("\n")
            process.stdin.flush()
            refused = process.stdout.readline().strip()
            print(f"{behaviour} server, {way}: {n} asked, {refused} bad replies, {failed} failed, {taken:.1f} s")


if __name__ == "__main__":
    throughput()
    memory()
    patience("busy")
    patience("odd")
