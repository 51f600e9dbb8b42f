"""``plurivox answers``, the parts about reading: reading again, checking by a person, reading by a model."""

from __future__ import annotations

import json as text
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import typer
from rich.padding import Padding
from rich.text import Text

from plurivox.ask.auditing import CHECKED_STATES, draw_audit
from plurivox.ask.auditing import audited as read_checked
from plurivox.ask.rereading import ChangeKind, Rereading, read_by_model, reread
from plurivox.ask.running import key_for
from plurivox.base.csv_files import csv_text
from plurivox.base.errors import FileError, InputError
from plurivox.base.files import replacing, will_write
from plurivox.base.wording import harmless, one_line
from plurivox.cli.ask import interruptible, progress_bar, say_what_is_left
from plurivox.cli.console import console
from plurivox.cli.outputs import Outputs
from plurivox.cli.printing import put, say
from plurivox.cli.running import several, telling
from plurivox.cli.tables import ACCENT, plain_table, print_sentences, print_table
from plurivox.infer.exports import Document
from plurivox.infer.view import View

if TYPE_CHECKING:
    from rich.console import Console


MOST_KINDS = 40
"""How many kinds of changes a terminal shows."""
WITH_EXAMPLES = 5
"""For how many of them it shows texts."""
_SAID = {"answered": "answered", "refused": "refused", "unreadable": "still unreadable", "failed": "failed"}
_LIKE_A_NUMBER = r"^[0-9]+(e[0-9]+)?$"  # ids that spreadsheets would rewrite


def read_again(store: Path, outputs: Outputs, *, yes: bool) -> None:
    """Show what changes when all answers are read again, and apply the changes if the user agrees."""
    with telling() as tell:
        found = reread(store, progress=tell and (lambda done, total: tell("reading", done, total)))
    n, wanted = found.n_changed + found.n_renamed, yes
    lines = [
        [*map(one_line, (kind.model, kind.prompt, *_from_to(kind), kind.old_rule, kind.new_rule)), f"{number:,}"]
        for kind, number in found.kinds.items()
    ]
    shown = View("What changes", ["model", "prompt", "from", "to", "old rule", "new rule", "answers"], lines)
    said = [
        f"{several(found.n_read, 'answer')} read again: {found.n_same + found.n_renamed:,} stay, "
        f"{found.n_changed:,} change"
    ]
    if found.n_renamed:
        said.append(
            f"{found.n_renamed:,} of those that stay were read by a renamed rule, or from another place in the text"
        )
    if not outputs:
        _print_changes(found, shown, said, console())
        wanted = yes or (n > 0 and _in_terminal() and typer.confirm("Apply these changes?"))
    applied = found.apply() if wanted else found
    outputs.deliver(
        show=lambda: None,
        json=lambda: text.dumps(_as_json(applied, wanted), ensure_ascii=False, allow_nan=False),
        csv=lambda: _frame(found),
        documents=lambda: [Document([shown] if shown.rows else [], said)],
    )
    if not n:
        say("nothing to change")
    elif not wanted:
        say("nothing was changed; add --yes to change the store")
    else:
        say(f"{several(applied.n_stored, 'answer')} changed in {applied.store}")
        if applied.n_stored < n:
            say(f"{n - applied.n_stored:,} changed in the meantime; left as found")


def _in_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _from_to(kind: ChangeKind) -> tuple[str, str]:
    return (
        f"{kind.from_state}: {kind.from_answer}" if kind.from_answer is not None else kind.from_state,
        f"{kind.to_state}: {kind.to_answer}" if kind.to_answer is not None else kind.to_state,
    )


def _frame(found: Rereading) -> pl.DataFrame:
    schema = {name: pl.Int64 if name == "n" else pl.String for name in (*ChangeKind._fields, "n")}
    return pl.DataFrame([(*kind, n) for kind, n in found.kinds.items()], schema=schema, orient="row")


def _as_json(found: Rereading, wanted: bool) -> dict[str, object]:
    changes = [
        {**kind._asdict(), "n": n, "examples": [harmless(one) for one in found.examples[kind]]}
        for kind, n in found.kinds.items()
    ]
    return {
        "kind": "rereading", "n_read": found.n_read, "n_same": found.n_same, "n_changed": found.n_changed,
        "n_renamed": found.n_renamed, "applied": wanted, "n_stored": found.n_stored, "changes": changes,
    }  # fmt: skip


def _print_changes(found: Rereading, shown: View, said: list[str], out: Console) -> None:
    if shown.rows:
        out.print(Text(shown.title, style=f"bold {ACCENT}"))
        table = plain_table(*shown.header, left=len(shown.header) - 1)
        for line in shown.rows[:MOST_KINDS]:
            table.add_row(*map(Text, line))
        out.print(Padding(table, (0, 0, 1, 2)))
    if len(shown.rows) > MOST_KINDS:
        out.print(Text(f"• and {len(shown.rows) - MOST_KINDS:,} more kinds of change; see --csv"))
    for kind in list(found.kinds)[:WITH_EXAMPLES]:
        before, after = map(one_line, _from_to(kind))
        out.print(Text(f"• {before} → {after}, by {one_line(kind.new_rule)}:"))
        for example in found.examples[kind]:
            out.print(Text(f"    {one_line(example)}"))
    print_sentences(said, out)


def draw(store: Path, n: int, seed: int, output: Path | None) -> None:
    """Write a sample of answers into a table for a person to check."""
    if output is None:
        raise typer.BadParameter("--audit needs a file to write: -o check.csv")
    if output.suffix.lower() != ".csv":
        raise InputError(f"{output.name} must end in .csv", hint="Use a name such as check.csv.")
    _refuse_existing(output)
    will_write(output)
    frame = draw_audit(store, n, seed)
    kept = ("answer", "item")  # labels and ids, by which the table is found again
    texts = [name for name, kind in frame.schema.items() if kind == pl.String and name not in kept]
    written = frame.with_columns(
        *(pl.col(name).map_elements(harmless, return_dtype=pl.String) for name in texts),
        weight=pl.col("weight").map_elements(lambda weight: f"{weight:.12g}", return_dtype=pl.String),
    ).with_columns(
        id=pl.when(pl.col("id").str.contains(_LIKE_A_NUMBER)).then("'" + pl.col("id")).otherwise(pl.col("id"))
    )
    content = csv_text(written).encode()
    with replacing(output) as temporary:
        temporary.write_bytes(content)
        _refuse_existing(output)  # somebody else's, made meanwhile
    counts = dict(frame["state"].value_counts().iter_rows())
    drawn = ", ".join(f"{counts[state]:,} {state}" for state in CHECKED_STATES if state in counts)
    only = "" if frame.height == n else "; these are all there are"
    say(f"{several(frame.height, 'answer')} drawn: {drawn}{only}")
    say("enter yes or no in the column correct, then run --audited")
    put(output)


def _refuse_existing(output: Path) -> None:
    if os.path.lexists(output):
        raise FileError(
            "it exists and may hold somebody's work", source=str(output), hint="Name another file, or move it away."
        )


def tell_accuracy(store: Path, file: Path, outputs: Outputs) -> None:
    """Show how often answers were read correctly, from a checked table."""
    found = read_checked(store, file)

    states, rules = [], []
    for row in found.rows:
        cells = [one_line(row.name), f"{row.n:,}", f"{row.correct:,}", f"{row.accuracy:.1%}"]
        if row.of == "rule":
            rules.append(cells)
        else:
            states.append([*cells, f"[{row.ci_low:.1%}, {row.ci_high:.1%}]"])
    header = ["state", "checked", "correct", "accuracy", "95 % interval"]
    tables = [
        View("Answers read correctly, weighted to all that are stored", header, [*states[1:], states[0]]),
        View("By rule, as drawn", ["rule", *header[1:4]], rules),
    ]
    remarks = [f"{several(found.n_unchecked, 'row')} not checked yet"] if found.n_unchecked else []
    if found.n_changed:
        remarks.append(
            f"{several(found.n_changed, 'answer')} read differently since the table was drawn; judged as in the table"
        )

    def show() -> None:
        out = console()
        print_table(*tables, out=out)
        print_sentences(remarks, out)

    def json() -> str:
        rows = found.to_frame()
        all_, own, by = (rows.filter(of=name).drop("of").to_dicts() for name in ("all", "state", "rule"))
        told = {
            "kind": "audit", "n_checked": found.overall.n, "n_unchecked": found.n_unchecked,
            "n_changed": found.n_changed, "all": all_[0], "states": own, "rules": by,
        }  # fmt: skip
        return text.dumps(told, ensure_ascii=False, allow_nan=False)

    outputs.deliver(show=show, json=json, csv=found.to_frame, documents=lambda: [Document(tables, remarks)])


def have_read(store: Path, model: str, **options: Any) -> None:
    """Have a model read the unreadable answers, and report what it made of them."""
    key_for(options["base_url"], options["key_variable"], [model])
    with progress_bar(0) as told, interruptible():
        found = read_by_model(store, model, progress=told, **options)
    if found.asked is None:
        say("there are no unreadable answers; nothing was asked")
    else:
        asked = found.asked
        for problem in asked.problems.values():
            say(f"{model}: {problem}")
        for (_, reason), n in asked.reasons.most_common(0 if asked.problems else 1):
            say(f"{model}: {several(n, 'request')} failed: {reason}")
        counts = ", ".join(f"{found.states[state]:,} {said}" for state, said in _SAID.items())
        before = f" ({asked.states['stored']:,} of them before)" if asked.states["stored"] else ""
        say(f"{several(found.n - found.states['left'], 'unreadable answer')} put to {model}{before}: {counts}")
        say_what_is_left(found.states["left"], "answer", found.states["failed"])
        if found.states["changed"]:
            say(f"{several(found.states['changed'], 'answer')} changed in the meantime; left as found")
        say(f"its replies are stored in {found.replies}")
    put(found.store)
    if found.states["failed"] or found.states["left"]:
        raise typer.Exit(1)
