"""Asking: many requests at once, every answer stored as it arrives, nothing asked twice."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from plurivox.ask.client import AskFailed, ChatServer, ModelGone, shown_address
from plurivox.ask.prompts import Example, Prompt, check_models, items_of, same_fields
from plurivox.ask.question import (
    MODES,
    Mode,
    Question,
    Reply,
    Request,
    as_shown,
    distribution_of,
    extra_fields,
    read_reply,
    shuffled,
)
from plurivox.ask.store import Store
from plurivox.ask.wire import LONG, TOP, Scrubber
from plurivox.base.errors import InputError, PlurivoxError

if TYPE_CHECKING:
    from plurivox.ask.rereading import RereadingPlan

DEFAULT_SERVER = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
HOPELESS = 20
"""After this many failures without a single answer, a model is no longer asked."""
_BATCH = 64  # requests claimed at once
_LONG = 50_000  # characters of an answer that is read aside
_BEAT = 3.0  # seconds between signs of life in the store, which also settle what was stored

Told = Callable[[Counter[str], int], object]
"""Progress: how many of each state are done, and how many there are in total."""


@dataclass(slots=True)
class Asked:
    """What a run did.

    Attributes
    ----------
    total
        How many requests were planned.
    states
        How many were answered, refused, unreadable or failed now, and how many were ``"stored"`` before, or are being
        asked by another run.
    problems
        Why a model could not be asked, by its name.
    without
        How many answers came without the requested log-probabilities.
    reasons
        Why requests failed, and how many, by model.
    store
        Where the answers are.
    """

    total: int
    store: Path
    states: Counter[str] = field(default_factory=Counter)
    problems: dict[str, str] = field(default_factory=dict)
    without: int = 0
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def asked(self) -> int:
        """How many requests were sent to a server now."""
        return sum(n for state, n in self.states.items() if state != "stored")

    @property
    def left(self) -> int:
        """How many were skipped, since the run was limited or a model could not be asked."""
        return self.total - self.states.total()


def run(
    items: Any,
    question: Question,
    models: Sequence[str],
    store: str | os.PathLike[str],
    *,
    item: str = "item",
    text: str = "text",
    prompts: Sequence[str] = ("plain",),
    raw_prompts: Sequence[str] = (),
    personas: Sequence[str] = (),
    examples: Sequence[Example] = (),
    samples: int = 1,
    shuffle: bool = False,
    seed: int = 0,
    mode: Mode = "text",
    temperature: float | None = 0.0,
    max_tokens: int | None = None,
    request: Mapping[str, Any] | None = None,
    base_url: str = DEFAULT_SERVER,
    key_variable: str = KEY_VARIABLE,
    concurrency: int = 16,
    rate: float | None = None,
    timeout: float = 120.0,
    attempts: int = 6,
    max_requests: int | None = None,
    durable: bool = False,
    insecure: bool = False,
    progress: Told | None = None,
) -> Asked:
    """Ask language models a question about every item, and store every answer.

    The same call continues where an earlier one ended: only what failed is asked again.

    Parameters
    ----------
    items
        A frame with one row per item.
    question
        What to ask, and the options.
    models
        Names of models as the server knows them.
    store
        The file that holds the answers, made if it does not exist.
    item, text
        The columns of ids and texts.
    prompts
        Built-in prompts (``"plain"``, ``"described"``, ``"table"``) or files with templates.
    raw_prompts
        Files with templates that are the whole message: no system message of ours, and the text of an item as it is,
        which can then pose as an instruction. Asked in addition to ``prompts``, which may be empty.
    personas
        Whom the model should answer as, each in turn.
    examples
        Texts with their correct answers, shown first.
    samples
        How many times to ask about each item; more than one needs a temperature above 0 to differ.
    shuffle, seed
        Whether the order of options differs from item to item, and its seed.
    mode
        ``"text"``, ``"json"`` for a structured answer, or ``"logprobs"`` for a distribution over the options.
    temperature, max_tokens
        Sampling; None leaves them to the server.
    request
        Further fields of every request, such as ``{"safety_settings": […]}``. They are stored with each answer, so they
        must not contain keys.
    base_url, key_variable
        The server, and the environment variable that holds its key.
    concurrency, rate
        How many requests are sent at once, and at most how many start per minute.
    timeout, attempts
        How many seconds to wait for an answer, and how many times to try.
    max_requests
        Stop after this many requests.
    durable
        Whether answers survive a power failure, not only the end of the process; slower.
    insecure
        Whether an unencrypted connection to another machine is allowed.
    progress
        Called with how many of each state are done, and how many there are.
    """
    plan = make_plan(
        items, question, models, item=item, text=text, prompts=prompts, raw_prompts=raw_prompts, personas=personas,
        examples=examples, samples=samples, shuffle=shuffle, seed=seed, mode=mode, temperature=temperature,
        max_tokens=max_tokens, request=request, base_url=base_url,
    )  # fmt: skip
    return carry_out(
        plan, store, base_url=base_url, key_variable=key_variable, concurrency=concurrency, rate=rate, timeout=timeout,
        attempts=attempts, max_requests=max_requests, durable=durable, insecure=insecure, progress=progress,
    )  # fmt: skip


def carry_out(
    plan: AskingPlan | RereadingPlan, store: str | os.PathLike[str], *, base_url: str, key_variable: str,
    concurrency: int, rate: float | None, timeout: float, attempts: int, max_requests: int | None, durable: bool,
    insecure: bool, progress: Told | None,
) -> Asked:  # fmt: skip
    """Ask what was planned; the parameters are those of :func:`run`."""
    key = key_for(base_url, key_variable, plan.models, plan.fields)
    numbers = {"concurrency": concurrency, "attempts": attempts, "timeout": timeout, "rate": rate,
               "max_requests": max_requests}  # fmt: skip
    for name, number in numbers.items():
        if number is not None and not 0 < number < math.inf:
            raise InputError(f"{name} is {number}", hint="Give a number above 0.")
    asked = Asked(len(plan), Path(store))

    def work() -> None:
        server = ChatServer(base_url, key, timeout=timeout, attempts=attempts, rate=rate, insecure=insecure)
        with Store.open(store, plan.about(), durable=durable) as opened:
            same_fields(plan, opened.params(), opened.path)
            asyncio.run(_Run(plan, server, opened, asked, concurrency, max_requests, progress).all())

    _outside_loops(work)
    return asked


def key_for(base_url: str, key_variable: str, models: Sequence[str], fields: Mapping[str, Any] | None = None) -> str:
    """Return the key in the environment; refuse an address, a model's name or fields that hold it: all are stored."""
    key = os.environ.get(key_variable, "").strip()
    scrub = Scrubber([key]).scrub
    stored = [("the model's name holds", name) for name in models]
    stored += [("the extra fields of the request hold", json.dumps(fields, ensure_ascii=False))] if fields else []
    stored = stored if len(key) >= LONG else []  # servers that need no key are given a short word, such as ollama
    for what, text in (("the server's address holds", base_url), *stored):
        if scrub(text) != text:
            raise InputError(f"{what} the key", hint=f"Leave it out; it is read from {key_variable}.")
    return key


CHARACTERS_PER_TOKEN = 4
"""Roughly, of English text; other languages need more tokens."""
_LOOKED_AT = 200  # items from which the length of prompts is estimated


@dataclass(frozen=True, slots=True, eq=False)
class AskingPlan:
    """Everything that will be asked, lazily."""

    question: Question
    prompts: tuple[Prompt, ...]
    models: tuple[str, ...]
    items: pl.Series  # their ids
    texts: pl.Series
    server: str  # the address that all requests go to
    samples: int = 1  # how many times each item is asked about
    shuffle: bool = False  # whether the order of options differs from item to item, as the seed decides
    seed: int = 0
    mode: Mode = "text"  # how answers are wanted
    params: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)  # what else every request has

    def about(self) -> dict[str, Any]:
        """Return the question, and the user's own templates by the names of their prompts."""
        own = {prompt.name: prompt.template for prompt in self.prompts if prompt.own}
        return self.question.about() | ({"templates": own} if own else {})

    def __len__(self) -> int:
        """Return the number of requests."""
        return len(self.models) * len(self.prompts) * len(self.items) * self.samples

    def requests(self) -> Iterator[Request]:
        """Yield every request, models taking turns, so that all of them progress equally."""
        for item, text in zip(self.items, self.texts, strict=True):
            for sample in range(self.samples):
                order = self.order(item, sample)
                for prompt in self.prompts:
                    messages = prompt.messages(text, order)
                    for model in self.models:
                        yield Request(
                            self.server, model, prompt.name, item, sample, order, messages, self.mode,
                            {**self.params, **self.fields},
                        )  # fmt: skip

    def order(self, item: str, sample: int) -> tuple[int, ...]:
        """Return the options in the order in which they are shown."""
        n = len(self.question.scale)
        return shuffled(n, self.seed, item, sample) if self.shuffle else tuple(range(n))

    def estimated_tokens(self) -> int:
        """Return about how many tokens all prompts have, from the first items."""
        looked_at = list(islice(self.requests(), _LOOKED_AT * len(self.models) * len(self.prompts)))
        characters = sum(len(message["content"]) for request in looked_at for message in request.messages)
        return round(characters / CHARACTERS_PER_TOKEN / max(len(looked_at), 1) * len(self))


def make_plan(
    items: Any, question: Question, models: Sequence[str], *, item: str = "item", text: str = "text",
    prompts: Sequence[str] = ("plain",), raw_prompts: Sequence[str] = (), personas: Sequence[str] = (),
    examples: Sequence[Example] = (), samples: int = 1, shuffle: bool = False, seed: int = 0, mode: Mode = "text",
    temperature: float | None = 0.0, max_tokens: int | None = None, request: Mapping[str, Any] | None = None,
    base_url: str = DEFAULT_SERVER, source: str = "items",
) -> AskingPlan:  # fmt: skip
    """Return what :func:`run` would ask; the parameters are its own."""
    if mode not in MODES:
        raise InputError(f"mode is {mode!r}", hint=f"Choose one of {', '.join(MODES)}.")
    if samples < 1:
        raise InputError(f"samples is {samples}", hint="Ask at least once.")
    if mode == "logprobs" and len(question.scale) > TOP:
        raise InputError(
            f"servers give the probabilities of at most {TOP} answers, but there are {len(question.scale)} options",
            hint="Ask in the mode text, with several samples and a temperature above 0.",
        )
    models, prompts, raw, personas = (_listed(given) for given in (models, prompts, raw_prompts, personas))
    if not prompts and not raw:
        raise InputError("there are no prompts to ask with", hint="Name one with --prompt (prompts=).")
    fields = extra_fields(request or {})
    told = question.descriptions if isinstance(question.descriptions, tuple) else chain(*question.descriptions.values())
    for given in (question.wording, *models, *personas, *told):
        check_text(given)
    ids, texts = items_of(items, item=item, text=text, source=source)
    made = tuple(
        Prompt.of(name, question, persona=persona, examples=examples, mode=mode, raw=is_raw)
        for is_raw, names in ((False, prompts), (True, raw))
        for name in names
        for persona in personas or ("",)
    )
    if len({prompt.name for prompt in made}) < len(made):
        raise InputError(
            "two prompts have the same name", hint="Give each prompt once; a template's name is its file's."
        )
    if temperature is not None and not 0 <= temperature < math.inf:
        raise InputError(f"temperature is {temperature}", hint="Give 0, or a little more.")
    params: dict[str, Any] = {} if temperature is None else {"temperature": float(temperature)}
    params |= {} if max_tokens is None else {"max_tokens": int(max_tokens)}
    return AskingPlan(
        question, made, check_models(models), ids, texts, shown_address(base_url), samples, shuffle, seed, mode, params,
        fields,
    )  # fmt: skip


def _listed(given: str | Sequence[str]) -> list[str]:
    """Return a list of names; a single one becomes a list."""
    return [given] if isinstance(given, str) else list(given)


def check_text(text: str) -> None:
    """Raise if a text contains halves of characters, as a command line can."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{text!a} is not text that can be sent", hint="Give it in UTF-8.") from None


class _Run:
    """One run: takes requests from the plan, claims them in the store, asks, and stores."""

    def __init__(
        self, plan: AskingPlan | RereadingPlan, server: ChatServer, store: Store, asked: Asked, concurrency: int,
        limit: int | None, told: Told | None,
    ) -> None:  # fmt: skip
        self.plan, self.server, self.store, self.asked = plan, server, store, asked
        self.concurrency, self.limit, self.told = concurrency, limit, told
        self.planned: Iterator[Request] = plan.requests()
        self.waiting: list[Request] = []
        self.started = 0
        self.claiming, self.reading = asyncio.Lock(), asyncio.Lock()
        self.failures: Counter[str] = Counter()
        self.able: set[str] = set()  # models that have answered

    async def all(self) -> None:
        """Ask everything; stop cleanly if the store cannot be written or the user interrupts."""
        workers = {asyncio.create_task(self._work()) for _ in range(self.concurrency)}
        beating = asyncio.create_task(self._beat())
        waiting = set(workers)
        try:
            while waiting:
                done, left = await asyncio.wait({*waiting, beating}, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()  # raises what went wrong
                waiting = left - {beating}
        finally:
            for task in (beating, *workers):
                task.cancel()
            await asyncio.gather(beating, *workers, return_exceptions=True)
            await self.server.close()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(_BEAT)
            self.store.beat()

    async def _work(self) -> None:
        while (request := await self._next()) is not None:
            await self._one(request)

    async def _next(self) -> Request | None:
        """Return a request that nobody has asked, or None if there is none left."""
        while True:
            if self.limit is not None and self.started >= self.limit:
                return None  # what was claimed is given back when the store is closed
            if not self.waiting:
                async with self.claiming:
                    if not self.waiting and not await self._claim():
                        return None
                continue
            request = self.waiting.pop()
            if request.model in self.asked.problems:
                self.store.release([request])
                continue
            if not self.store.holds(request):  # this run was paused for so long that another took over
                self._count("stored", 1)
                continue
            self.started += 1
            return request

    async def _claim(self) -> bool:
        """Claim some more requests; return whether there were any to consider."""
        batch = list(islice(self.planned, _BATCH))
        if not batch:
            return False
        self.waiting = self.store.claim(batch)[::-1]
        self._count("stored", len(batch) - len(self.waiting))
        await asyncio.sleep(0)  # going through many stored answers must not keep replies waiting
        return True

    async def _one(self, request: Request) -> None:
        """Ask, and store the outcome; whatever goes wrong with this request does not stop the others."""
        try:
            reply = await self.server.ask(request, self.plan.question.letters)
            state = await self._keep(request, reply)
        except ModelGone as gone:
            self.asked.problems.setdefault(request.model, str(gone))
            self.store.release([request])
            self.started -= 1
        except AskFailed as failed:
            self._failed(request, str(failed))
        except PlurivoxError:  # the store cannot be written, for example
            raise
        except Exception as error:
            self._failed(request, f"its answer could not be read or stored ({type(error).__name__})")
        else:
            self.able.add(request.model)
            self._count(state, 1)

    def _failed(self, request: Request, why: str) -> None:
        """Store that a request failed, unless another run has the answer or is asking."""
        if not self.store.put(request, None, state="failed", error=why):
            self._count("stored", 1)
            return
        self._count("failed", 1)
        self.asked.reasons[request.model, why] += 1
        self.failures[request.model] += 1
        if self.failures[request.model] >= HOPELESS and request.model not in self.able:
            self.asked.problems.setdefault(request.model, f"its first {HOPELESS} requests all failed; the last: {why}")

    async def _keep(self, request: Request, reply: Reply) -> str:
        """Read an answer and store it; return its state."""
        options = as_shown(self.plan.question, request.order, request.prompt)
        given = (reply.text, reply.refusal, options, request.order)
        if len(reply.text) <= _LONG:
            reading = read_reply(*given)
        else:  # takes a while, during which other replies arrive; one at a time limits memory
            async with self.reading:
                reading = await asyncio.to_thread(read_reply, *given)
        shares, held = None, None
        found = distribution_of(reply.top, options) if reply.top else None
        self.asked.without += request.mode == "logprobs" and not reply.top
        if found is not None:
            shares, held = [0.0] * len(options), found[1]
            for place, share in zip(request.order, found[0], strict=True):
                shares[place] = share
        stored = self.store.put(
            request, reply, state=reading.state, point=reading.point, rule=reading.rule, span=reading.span,
            distribution=shares, held=held,
        )  # fmt: skip
        return reading.state if stored else "stored"

    def _count(self, state: str, n: int) -> None:
        if n:
            self.asked.states[state] += n
            if self.told is not None:
                self.told(self.asked.states, self.asked.total)


def _outside_loops(work: Callable[[], None]) -> None:
    """Call a function that runs an event loop, in its own thread if one is already running, as in notebooks."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        work()
        return
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
