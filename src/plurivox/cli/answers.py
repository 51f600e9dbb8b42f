"""``plurivox answers``: what is in a store of answers, whether it was read well, and reading it again."""

import functools
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plurivox.cli.options import (
    Csv,
    Json,
    Markdown,
    NoTemperature,
    Seed,
    ServerOptions,
    is_said,
    one_format,
    option,
    taking,
)
from plurivox.cli.printing import put, put_csv, put_json

if TYPE_CHECKING:
    import polars as pl

    from plurivox.ask.store import Store
    from plurivox.results.text import Shown


@functools.partial(taking, ServerOptions)
def answers(
    server: ServerOptions,
    context: typer.Context,
    store: Annotated[Path, typer.Argument(metavar="STORE", help="A file that plurivox ask wrote.", show_default=False)],
    export: Annotated[
        Path | None, option("Write all answers as .parquet, .csv or .jsonl, or a new store as .db.", "FILE")
    ] = None,
    prompts: Annotated[bool, typer.Option("--prompts", help="Export the full prompts, too.")] = False,
    refused: Annotated[
        bool, typer.Option("--refused", help="Show the texts that refuse: model, prompt, item, text.")
    ] = False,
    reread: Annotated[
        bool, typer.Option("--reread", help="Read all answers again with the present rules, and show what changes.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Change what --reread shows, without asking first.")] = False,
    audit: Annotated[int | None, option("Draw so many answers for a person to check.", "N", min=1)] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where --audit writes its table: a new .csv file.", metavar="FILE"),
    ] = None,
    seed: Seed = 0,
    audited: Annotated[Path | None, option("Tell how a checked table of --audit turned out.", "FILE")] = None,
    reader_model: Annotated[str | None, option("Put unreadable answers to this model.", "NAME")] = None,
    no_temperature: NoTemperature = False,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Show how many questions were answered, refused, unreadable or failed.

    Or one of these: export every answer; show the texts that refuse; read all of them again; draw some for a person to
    check, and tell what came of it; have a model read what the rules cannot.
    """
    one_format(json=json, csv=csv, markdown=markdown)
    chosen = _one_action(context)
    if chosen not in (None, "export", "refused"):
        from plurivox.cli.answers_check import draw, have_read, read_again, tell_accuracy
    if chosen == "reread":
        read_again(store, yes=yes, json=json, csv=csv, markdown=markdown)
    elif audit is not None:
        draw(store, audit, seed, output)
    elif audited is not None:
        tell_accuracy(store, audited, json=json, csv=csv, markdown=markdown)
    elif reader_model is not None:
        have_read(store, reader_model, temperature=None if no_temperature else 0.0, **asdict(server))
    elif refused:
        _show_refused(store, json=json, csv=csv, markdown=markdown)
    elif export is not None:
        _export(store, export, prompts)
    else:
        _show(store, prompts, json=json, csv=csv, markdown=markdown)


_ACTIONS: dict[str, tuple[str, ...]] = {
    "export": (), "refused": (), "reread": ("yes",), "audit": ("output", "seed"), "audited": (),
    "reader_model": (*(one.name for one in fields(ServerOptions)), "no_temperature"),
}  # fmt: skip
"""What can be done with a store, and the options that belong to it."""
MOST_REFUSED = 100
"""How many refusals a terminal shows; other forms hold all."""
_WITHOUT_TABLE = ("export", "audit", "reader_model")


def _one_action(context: typer.Context) -> str | None:
    """Return what is asked for, None if only to show the store; raise if options do not go together."""
    given = functools.partial(is_said, context)
    chosen = [name for name in _ACTIONS if given(name)]
    if len(chosen) > 1:
        raise typer.BadParameter("choose one of --export, --refused, --reread, --audit, --audited and --reader-model")
    for action, options in _ACTIONS.items():
        for name in options if action not in chosen else ():
            if given(name):
                raise typer.BadParameter(f"{_flag(name)} goes with {_flag(action)}")
    for name in ("json", "csv", "markdown"):
        if chosen and chosen[0] in _WITHOUT_TABLE and given(name):
            raise typer.BadParameter(f"{_flag(name)} does not go with {_flag(chosen[0])}")
    return chosen[0] if chosen else None


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _show(store: Path, prompts: bool, *, json: bool, csv: bool, markdown: bool) -> None:
    import json as text

    from plurivox.ask.store import Store
    from plurivox.cli.printing import say
    from plurivox.cli.show import console, csv_text, markdown_text
    from plurivox.cli.tables import print_table

    with Store.read(store) as opened:
        if csv:
            put_csv(csv_text(_flat(opened.frame(with_prompts=prompts))))
            return
        counts = opened.counts()
        if json:
            listed = [{"model": model, "prompt": prompt, **states} for (model, prompt), states in counts.items()]
            put_json(text.dumps({"kind": "answers", **opened.about, "answers": listed}, ensure_ascii=False))
            return
        shown = _table(opened)
    if not counts:
        say("there is no answer in it yet")
        return
    if markdown:
        put(markdown_text([shown], []))
    else:
        print_table(shown, console())


def _show_refused(store: Path, *, json: bool, csv: bool, markdown: bool) -> None:
    import json as text

    from rich.text import Text

    from plurivox.ask.store import Store
    from plurivox.cli.printing import say
    from plurivox.cli.show import console, csv_text, markdown_text, plain_table
    from plurivox.quoting import one_line, short
    from plurivox.results.text import Shown

    with Store.read(store) as opened:
        found = opened.refused()
    if csv:
        put_csv(csv_text(found))
        return
    if json:
        put_json(text.dumps({"kind": "refusals", "refusals": found.to_dicts()}, ensure_ascii=False))
        return
    if found.is_empty():
        say("no answer in it is a refusal")
        return
    columns = ["model", "prompt", "item", "text"]
    rows = [[one_line(cell) for cell in row] for row in found.select(columns).iter_rows()]
    if markdown:
        put(markdown_text([Shown("Refusals", columns, rows)], []))
        return
    table = plain_table(*columns, left=len(columns))  # the last may wrap
    for *names, told in rows[:MOST_REFUSED]:
        table.add_row(*map(Text, (*names, short(told))))
    console().print(table)
    if len(rows) > MOST_REFUSED:
        say(f"and {len(rows) - MOST_REFUSED:,} more; --csv, --json and --markdown hold all of them, in full")


def _table(opened: "Store") -> "Shown":
    from plurivox.quoting import one_line
    from plurivox.reader import STATES
    from plurivox.results.text import Shown

    tokens = opened.tokens()
    lines = []
    for (model, prompt), states in opened.counts().items():
        used = tokens.get(model, (0, 0))
        counts = (f"{states.get(state, 0):,}" for state in STATES)
        lines.append([model, prompt, *counts, f"{used[0]:,} + {used[1]:,}"])
    title = one_line(str(opened.about.get("question", "")))
    return Shown(title, ["model", "prompt", *STATES, "tokens of the model"], lines)


def _export(store: Path, path: Path, prompts: bool) -> None:
    from plurivox.ask.store import Store
    from plurivox.errors import FileError, InputError
    from plurivox.files import replacing, will_write
    from plurivox.results.files import write_frame

    kind = path.suffix.lower()
    if kind not in (".parquet", ".csv", ".jsonl", ".db"):
        raise InputError(f"{path.name} has no known ending", hint="End it with .parquet, .csv, .jsonl or .db.")
    if kind == ".db" and os.path.lexists(path):
        raise FileError("it exists, and may be a store of answers", source=str(path), hint="Name a new file.")
    will_write(path)
    with Store.read(store) as opened:
        if kind == ".db":
            with replacing(path) as temporary:
                opened.copy_to(temporary)
        else:
            write_frame(path, opened.frame(with_prompts=prompts), _flat)
    put(path)


def _flat(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return a frame whose lists are JSON text, as CSV has none."""
    import polars as pl

    lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    return frame.with_columns(
        pl.when(pl.col(name).is_not_null())
        .then("[" + pl.col(name).cast(pl.List(pl.String)).list.join(", ") + "]")
        .alias(name)
        for name in lists
    )
