"""``plurivox ask``: put a rating question to language models."""

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plurivox.base.wording import one_line
from plurivox.cli.loading import read_items
from plurivox.cli.options import NoTemperature, Seed, ServerOptions, Text, Texts, asks_server, option, output_option
from plurivox.cli.printing import put, say
from plurivox.cli.running import INTERRUPTED, one_bar, several

if TYPE_CHECKING:
    from plurivox.ask.prompts import Example
    from plurivox.ask.question import Question
    from plurivox.ask.running import Asked, AskingPlan


@asks_server
def ask(
    server: ServerOptions,
    file: Annotated[str, typer.Argument(metavar="ITEMS", help="Table with one row per item.", show_default=False)],
    scale: Annotated[
        str,
        option(
            "The options: a TOML file with labels, question and descriptions, or 0:4, or No,Unsure,Yes.",
            "POINTS",
            show_default=False,
        ),
    ],
    model: Annotated[list[str], option("A model's name. Repeatable.", "NAME", show_default=False)],
    output: Annotated[
        Path,
        output_option("Where answers are stored; naming the same file again continues the run."),
    ] = Path("answers.db"),
    item: Annotated[Text, option("Column with the item.", "COLUMN")] = None,
    text: Annotated[str, option("Column with the text to rate.", "COLUMN")] = "text",
    question: Annotated[
        Text, option("What to ask, unless the TOML file contains it: 'How harmful is this text?'", "TEXT")
    ] = None,
    prompt: Annotated[
        Texts, option("plain (default), described, table, or a file with a Jinja template. Repeatable.", "NAME|FILE")
    ] = None,
    raw_prompt: Annotated[
        Texts,
        option("A file with a Jinja template for the whole message; nothing is added around it. Repeatable.", "FILE"),
    ] = None,
    persona: Annotated[
        Texts, option("Whom the model should answer as: 'a 40-year-old nurse'. Repeatable.", "TEXT")
    ] = None,
    examples: Annotated[Text, option("Table of example texts with their correct answers: text, label.", "FILE")] = None,
    samples: Annotated[int, option("How many times to ask about each item.", min=1)] = 1,
    shuffle: Annotated[bool, option("Show the options in a different order for each item.", None, "--shuffle")] = False,
    mode: Annotated[str, option("text, json (structured answer) or logprobs (a distribution).", "MODE")] = "text",
    temperature: Annotated[float, option("Sampling temperature; 0 for the likeliest answer.", min=0)] = 0.0,
    no_temperature: NoTemperature = False,
    max_tokens: Annotated[int | None, option("Longest answer, in tokens (default: the server's).", "N", min=1)] = None,
    request: Annotated[
        Text, option("Additional fields for every request, as JSON: '{\"safety_settings\": […]}'.", "JSON")
    ] = None,
    max_requests: Annotated[int | None, option("Stop after this many requests.", "N", min=1)] = None,
    durable: Annotated[bool, option("Make every stored answer survive a power failure.", None, "--durable")] = False,
    dry_run: Annotated[
        bool, option("Show one prompt and the number of requests without asking anything.", None, "--dry-run")
    ] = False,
    seed: Seed = 0,
) -> None:
    """Ask language models to rate every item, and store every answer.

    Answers, refusals and failures are stored as they arrive. After an interruption, the same command continues and asks
    nothing twice. The key is read from the environment and never written anywhere.
    """
    from plurivox.ask.running import carry_out, key_for, make_plan

    fields = _fields(request)
    key_for(server.base_url, server.key_variable, model, fields)
    ids, table = read_items(file, item)
    plan = make_plan(
        table.frame(), _question(scale, question), model, item=ids, text=text,
        prompts=prompt or ([] if raw_prompt else ["plain"]), raw_prompts=raw_prompt or (), request=fields,
        personas=persona or (), examples=_examples(examples), samples=samples, shuffle=shuffle, seed=seed,
        mode=mode,  # type: ignore[arg-type]
        temperature=None if no_temperature else temperature, max_tokens=max_tokens, base_url=server.base_url,
        source=table.name,
    )  # fmt: skip
    _announce(plan, max_requests)
    if dry_run:
        first = next(plan.requests())
        for message in first.messages:
            put(f"[{message['role']}]\n{message['content']}\n")
        shown = ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in first.params.items())
        put(f"[to {first.model} as {first.mode}{', ' + shown if shown else ''}]")
        return
    with progress_bar(len(plan)) as told, interruptible():
        found = carry_out(plan, output, **asdict(server), max_requests=max_requests, durable=durable, progress=told)
    _conclude(found)


def _question(scale: str, wording: str | None) -> "Question":
    from plurivox.ask.question import Question
    from plurivox.domain.scale_files import as_scale, load_question

    if not scale.endswith(".toml"):
        return Question(as_scale(scale), wording or "")
    points, written = load_question(scale)
    return Question(points, wording or written)


def _examples(file: str | None) -> "list[Example]":
    from plurivox.ask.prompts import Example
    from plurivox.domain.raw import require_columns
    from plurivox.read.tables import read_table

    if file is None:
        return []
    table = read_table(file)
    require_columns(table.columns, ["text", "label"], table.name)
    return [Example(str(text), str(label)) for text, label in table.frame().select("text", "label").iter_rows()]


def _fields(text: str | None) -> dict[str, Any] | None:
    """Return the extra fields of a request; they may hold a secret, so no error repeats them."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError("a field occurs twice")
        return dict(pairs)

    if text is None:
        return None
    try:
        found = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else error
        raise typer.BadParameter(f"--request is not JSON ({why})") from None
    if not isinstance(found, dict):
        raise typer.BadParameter('--request is not a JSON object; give {"name": value, …}')
    return found


def _announce(plan: "AskingPlan", most: int | None) -> None:
    """Print on standard error what will be asked."""
    asked = {"model": plan.models, "prompt": plan.prompts, "item": plan.items}
    parts = [several(len(ones), what) for what, ones in asked.items()]
    parts += [f"{plan.samples} times"] if plan.samples > 1 else []
    limit = "" if most is None or most >= len(plan) else f"; at most {most:,} now"
    tokens = f"about {plan.estimated_tokens():,} tokens of prompts{limit}"
    say(f"{several(len(plan), 'request')} to {plan.server}: {' × '.join(parts)}; {tokens}")
    raw = [one_line(prompt.name) for prompt in plan.prompts if prompt.raw]
    if raw:
        say(
            f"warning: {', '.join(raw)}: sent without a system message or marks around an item's text, so the text "
            "can pose as an instruction to the model"
        )


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Say on Ctrl-C that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted; every answer received is stored, and the same command continues")
        raise typer.Exit(INTERRUPTED) from None


def progress_bar(total: int) -> "AbstractContextManager[Callable[..., object] | None]":
    """Return a context that yields a function moving a bar with the counts by state, or None if nobody would see it."""
    return one_bar("asking", total, lambda states, of: (states.total(), of, _counted(states) or "asking"))


def _counted(states: Counter[str]) -> str:
    from plurivox.domain.reader import STATES

    return ", ".join(f"{states[state]:,} {state}" for state in STATES if states[state])


def _conclude(found: "Asked") -> None:
    """Report what happened; fail if something could not be asked."""
    for model, problem in found.problems.items():
        say(f"{model}: {problem}")
    now, stored = _counted(found.states), found.states["stored"]
    before = f"; {stored:,} stored before or being asked by another run" if stored else ""
    say(f"{found.asked:,} asked{': ' if now else ''}{now}{before}")
    told = set(found.problems)
    for (model, reason), n in found.reasons.most_common():
        if model not in told:
            say(f"{model}: {several(n, 'request')} failed: {reason}")
            told.add(model)
    if found.without:
        say(f"{several(found.without, 'answer')} came without log-probabilities; not all servers return them")
    say_what_is_left(found.left, "request", found.states["failed"])
    put(found.store)
    if found.problems or found.states["failed"]:
        raise typer.Exit(1)


def say_what_is_left(left: int, what: str, failed: int) -> None:
    """Say what running the same command again would do."""
    if left:
        say(f"{several(left, what)} left; the same command continues")
    if failed:
        say("the same command asks again for what failed")
