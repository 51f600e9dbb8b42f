"""``plurivox answers --reader-model``: a model reads what the rules cannot."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from plurivox.ask.running import key_for
from plurivox.ask.second_reader import SecondReading, read_by_model
from plurivox.cli.ask import interruptible, progress_bar, several

_SAID = {"answered": "answered", "refused": "refused", "unreadable": "still unreadable", "failed": "failed"}


def have_read(store: Path, model: str, **options: Any) -> None:
    """Put unreadable answers to a model, and say what came of it."""
    key_for(options["base_url"], options["key_variable"])
    with progress_bar(0) as told, interruptible():
        found = read_by_model(store, model, progress=told, **options)
    if not found.n:
        print("there is no unreadable answer; nothing was asked", file=sys.stderr)
    else:
        _conclude(found, model)
    print(found.store)
    if found.states["failed"] or found.states["left"]:
        raise typer.Exit(1)


def _conclude(found: SecondReading, model: str) -> None:
    asked = found.asked
    assert asked is not None
    for problem in asked.problems.values():
        print(f"{model}: {problem}", file=sys.stderr)
    if not asked.problems:
        for (_, reason), n in asked.reasons.most_common(1):
            print(f"{model}: {several(n, 'request')} failed: {reason}", file=sys.stderr)
    counts = ", ".join(f"{found.states[state]:,} {said}" for state, said in _SAID.items())
    before = f" ({asked.states['stored']:,} of them before)" if asked.states["stored"] else ""
    n = found.n - found.states["left"]
    print(f"{several(n, 'unreadable answer')} put to {model}{before}: {counts}", file=sys.stderr)
    if found.states["left"]:
        print(f"{several(found.states['left'], 'answer')} left; the same command goes on", file=sys.stderr)
    if found.states["failed"]:
        print("the same command asks again what failed", file=sys.stderr)
    if found.states["changed"]:
        print(
            f"{several(found.states['changed'], 'answer')} had been changed meanwhile and stay as they are",
            file=sys.stderr,
        )
    print(f"its replies are in {found.replies}", file=sys.stderr)
