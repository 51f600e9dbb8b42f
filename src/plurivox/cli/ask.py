"""``plurivox ask``: put a rating question to language models."""

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plurivox.cli.loading import read_items
from plurivox.cli.options import (
    Attempts,
    BaseUrl,
    Concurrency,
    Insecure,
    KeyVariable,
    NoTemperature,
    Rate,
    Seed,
    Timeout,
)

if TYPE_CHECKING:
    from plurivox.ask.planning import Plan
    from plurivox.ask.prompts import Example
    from plurivox.ask.question import Question
    from plurivox.ask.running import Asked


def ask(
    file: Annotated[str, typer.Argument(metavar="ITEMS", help="Table with one row per item.", show_default=False)],
    scale: Annotated[
        str,
        typer.Option(
            "--scale",
            help="The options: a TOML file with labels, question and descriptions, or 0:4, or No,Unsure,Yes.",
            metavar="POINTS",
            show_default=False,
        ),
    ],
    model: Annotated[
        list[str], typer.Option("--model", help="A model's name. Repeatable.", metavar="NAME", show_default=False)
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where answers are kept; the same file goes on.", metavar="FILE")
    ] = Path("answers.db"),
    item: Annotated[str | None, typer.Option("--item", help="Column with the item.", metavar="COLUMN")] = None,
    text: Annotated[str, typer.Option("--text", help="Column with the text to rate.", metavar="COLUMN")] = "text",
    question: Annotated[
        str | None, typer.Option("--question", help="The wording, if the TOML file has none.", metavar="TEXT")
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            "--prompt",
            help="plain (default), described, table, or a file with a Jinja template. Repeatable.",
            metavar="NAME|FILE",
        ),
    ] = None,
    persona: Annotated[
        list[str] | None,
        typer.Option("--persona", help="Whom to answer as: 'a nurse of 40'. Repeatable.", metavar="TEXT"),
    ] = None,
    examples: Annotated[
        str | None,
        typer.Option("--examples", help="Table of texts and their right answers: text, label.", metavar="FILE"),
    ] = None,
    samples: Annotated[int, typer.Option("--samples", help="How often to ask about each item.", min=1)] = 1,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Show options in an order that differs from item to item.")
    ] = False,
    mode: Annotated[
        str, typer.Option("--mode", help="text, json (structured answer) or logprobs (a distribution).", metavar="MODE")
    ] = "text",
    temperature: Annotated[float, typer.Option("--temperature", help="0 for the likeliest answer.", min=0)] = 0.0,
    no_temperature: NoTemperature = False,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", help="Longest answer (default: the server's).", min=1, metavar="N")
    ] = None,
    base_url: BaseUrl = "https://api.openai.com/v1",
    key_variable: KeyVariable = "OPENAI_API_KEY",
    concurrency: Concurrency = 16,
    rate: Rate = None,
    timeout: Timeout = 120.0,
    attempts: Attempts = 6,
    max_requests: Annotated[
        int | None, typer.Option("--max-requests", help="Stop after so many.", min=1, metavar="N")
    ] = None,
    durable: Annotated[bool, typer.Option("--durable", help="Keep answers also through a loss of power.")] = False,
    insecure: Insecure = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show one prompt and the number of requests, and ask nothing.")
    ] = False,
    seed: Seed = 0,
) -> None:
    """Put a rating question about every item to language models, and keep every answer.

    Answers, refusals and failures are stored as they arrive; the same command goes on where it was interrupted and asks
    nothing twice. The key is read from the environment and never written anywhere.
    """
    from plurivox.ask.running import carry_out, key_for, make_plan

    key_for(base_url, key_variable)
    ids, table = read_items(file, item)
    plan = make_plan(
        table.frame(), _question(scale, question), model, item=ids, text=text, prompts=prompt or ["plain"],
        personas=persona or (), examples=_examples(examples), samples=samples, shuffle=shuffle, seed=seed,
        mode=mode,  # type: ignore[arg-type]
        temperature=None if no_temperature else temperature, max_tokens=max_tokens, base_url=base_url,
        source=table.name,
    )  # fmt: skip
    _announce(plan, max_requests)
    if dry_run:
        _show_prompt(plan)
        return
    with progress_bar(len(plan)) as told, interruptible():
        found = carry_out(
            plan, output, base_url=base_url, key_variable=key_variable, concurrency=concurrency, rate=rate,
            timeout=timeout, attempts=attempts, max_requests=max_requests, durable=durable, insecure=insecure,
            progress=told,
        )  # fmt: skip
    _conclude(found)


def _question(scale: str, wording: str | None) -> "Question":
    from plurivox.ask.question import WORDING, Question
    from plurivox.config import load_question
    from plurivox.scale import Scale

    if not scale.endswith(".toml"):
        return Question(Scale.parse(scale), wording or WORDING)
    points, written, descriptions = load_question(scale)
    return Question(points, wording or written or WORDING, descriptions)


def _examples(file: str | None) -> "list[Example]":
    from plurivox.ask.prompts import Example
    from plurivox.intake.read import read_table
    from plurivox.ratings import require_columns

    if file is None:
        return []
    table = read_table(file)
    require_columns(table.columns, ["text", "label"], table.name)
    return [Example(str(text), str(label)) for text, label in table.frame().select("text", "label").iter_rows()]


def _announce(plan: "Plan", most: int | None) -> None:
    """Say on standard error what will be asked."""
    parts = [
        several(len(plan.models), "model"), several(len(plan.prompts), "prompt"), several(len(plan.items), "item"),
    ]  # fmt: skip
    if plan.samples > 1:
        parts.append(f"{plan.samples} times")
    tokens = plan.estimated_tokens()
    limit = "" if most is None or most >= len(plan) else f"; at most {most:,} now"
    print(
        f"{several(len(plan), 'request')} to {plan.server}: {' × '.join(parts)}; about {tokens:,} tokens of prompts"
        f"{limit}",
        file=sys.stderr,
    )


def several(n: int, what: str) -> str:
    """Return ``1 answer`` or ``2 answers``."""
    return f"1 {what}" if n == 1 else f"{n:,} {what}s"


def _show_prompt(plan: "Plan") -> None:
    from plurivox.results.text import printable

    request = next(plan.requests())
    for message in request.messages:
        print(f"[{message['role']}]\n{printable(message['content'])}\n")
    shown = ", ".join(f"{name} {value}" for name, value in request.params.items())
    print(f"[to {request.model} as {request.mode}{', ' + shown if shown else ''}]")


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Say upon Ctrl-C that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        print("interrupted; every answer that came is stored, and the same command goes on", file=sys.stderr)
        raise typer.Exit(130) from None


@contextlib.contextmanager
def progress_bar(total: int) -> Iterator[Callable[[Counter[str], int], object] | None]:
    """Yield what moves a bar with the number of each state, None if nobody would see it."""
    from plurivox.cli.progress import bars_shown
    from plurivox.reader import STATES

    with bars_shown() as bars:
        if bars is None:
            yield None
            return
        task = bars.add_task("asking", total=total)

        def told(states: Counter[str], total: int) -> None:
            words = ", ".join(f"{states[state]:,} {state}" for state in STATES if states[state])
            bars.update(task, completed=states.total(), total=total, description=words or "asking")

        yield told


def _conclude(found: "Asked") -> None:
    """Say what happened; fail if something could not be asked."""
    from plurivox.reader import STATES

    for model, problem in found.problems.items():
        print(f"{model}: {problem}", file=sys.stderr)
    now = ", ".join(f"{found.states[state]:,} {state}" for state in STATES if found.states[state])
    stored = (
        f"; {found.states['stored']:,} stored before or being asked by another run" if found.states["stored"] else ""
    )
    print(f"{found.asked:,} asked{': ' if now else ''}{now}{stored}", file=sys.stderr)
    told = set(found.problems)
    for (model, reason), n in found.reasons.most_common():
        if model not in told:
            print(f"{model}: {several(n, 'request')} failed: {reason}", file=sys.stderr)
            told.add(model)
    if found.without:
        print(f"{several(found.without, 'answer')} came without log-probabilities: not all servers give them",
              file=sys.stderr)  # fmt: skip
    if found.left:
        print(f"{several(found.left, 'request')} left; the same command goes on", file=sys.stderr)
    if found.states["failed"]:
        print("the same command asks again what failed", file=sys.stderr)
    print(found.store)
    if found.problems or found.states["failed"]:
        raise typer.Exit(1)
