"""``plurivox answers``: what is in a store of answers, whether it was read well, and reading it again or any table."""

import functools
import json as json_text
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plurivox.base.wording import one_line, short
from plurivox.cli.loading import tell_answers
from plurivox.cli.options import NoTemperature, Seed, ServerOptions, Text, asks_server, is_said, option, output_option
from plurivox.cli.outputs import FORMS, Outputs, in_forms
from plurivox.cli.printing import put, say
from plurivox.cli.running import several

if TYPE_CHECKING:
    import polars as pl

    from plurivox.infer.view import View


READ = "read"


@asks_server
@in_forms
def answers(
    forms: Mapping[str, Any],
    server: ServerOptions,
    context: typer.Context,
    store: Annotated[
        list[str],
        typer.Argument(
            metavar="STORE | read TABLE",
            help="A store written by plurivox ask; or the word read, followed by a table of texts that models wrote.",
            show_default=False,
        ),
    ],
    scale: Annotated[Text, option("read: the points, such as 0:4 or No,Unsure,Yes, or a TOML file.", "POINTS")] = None,
    item: Annotated[Text, option("read: column with the item.", "COLUMN")] = None,
    model: Annotated[Text, option("read: column with the model's name.", "COLUMN")] = None,
    answer: Annotated[Text, option("read: column with the text.", "COLUMN")] = None,
    export: Annotated[
        Path | None, option("Write all answers as .parquet, .csv or .jsonl, or a new store as .db.", "FILE")
    ] = None,
    prompts: Annotated[bool, option("Also export the full prompts.", None, "--prompts")] = False,
    refused: Annotated[bool, option("Show the refusals: model, prompt, item, text.", None, "--refused")] = False,
    reread: Annotated[
        bool, option("Read all answers again with the current rules, and show what changes.", None, "--reread")
    ] = False,
    yes: Annotated[bool, option("Apply the changes that --reread shows without asking.", None, "--yes")] = False,
    audit: Annotated[int | None, option("Draw this many answers for a person to check.", "N", min=1)] = None,
    output: Annotated[
        Path | None,
        output_option("Where to write: for --audit, a new .csv file; for read, a .csv, .parquet or .jsonl file."),
    ] = None,
    seed: Seed = 0,
    audited: Annotated[Path | None, option("Show the results of a checked --audit table.", "FILE")] = None,
    reader_model: Annotated[str | None, option("Have this model read the unreadable answers.", "NAME")] = None,
    no_temperature: NoTemperature = False,
) -> None:
    """Show how many requests were answered, refused, unreadable or failed.

    Or do one of these: export every answer; show the refusals; read all answers again; draw some for a person to check,
    and show the result; have a model read what the rules cannot.

    plurivox answers read TABLE reads texts that models wrote, one per row, shows how it read them, and writes the
    readings for plurivox align.
    """
    chosen, file = _one_action(context, store)
    outputs = Outputs.of(forms)
    if chosen == READ:
        given = {"scale": scale, "item": item, "model": model, "answer": answer}
        read_table_of_texts(file, given, output, outputs)
        return
    path = Path(file)
    if chosen not in (None, "export", "refused"):
        from plurivox.cli.answers_check import draw, have_read, read_again, tell_accuracy
    if chosen == "reread":
        read_again(path, outputs, yes=yes)
    elif audit is not None:
        draw(path, audit, seed, output)
    elif audited is not None:
        tell_accuracy(path, audited, outputs)
    elif reader_model is not None:
        have_read(path, reader_model, temperature=None if no_temperature else 0.0, **asdict(server))
    elif refused:
        _show_refused(path, outputs)
    elif export is not None:
        _export(path, export, prompts)
    else:
        _show(path, prompts, outputs)


_ACTIONS: dict[str, tuple[str, ...]] = {
    "export": (), "refused": (), "reread": ("yes",), "audit": ("output", "seed"), "audited": (),
    "reader_model": (*(one.name for one in fields(ServerOptions)), "no_temperature"),
    READ: ("scale", "item", "model", "answer", "output"),
}  # fmt: skip
"""What can be done with a store, and the options that belong to it."""
MOST_REFUSED = 100
"""How many refusals a terminal shows; the other forms contain all of them."""
_WITHOUT_TABLE = ("export", "audit", "reader_model")


def _one_action(context: typer.Context, words: list[str]) -> tuple[str | None, str]:
    """Return the action, None to show a store, and the file; raise if options cannot be combined.

    A store whose name is the word itself can be given as ./read.
    """
    given = functools.partial(is_said, context)
    reads = words[0] == READ
    if len(words) != 1 + reads:
        wanted = "plurivox answers read TABLE" if reads else "one store, or read and a table"
        raise typer.BadParameter(f"give {wanted}, not {several(len(words) - reads, 'file')}")
    chosen = [READ] * reads + [name for name in _ACTIONS if name != READ and given(name)]
    if len(chosen) > 1 and reads:
        raise typer.BadParameter(f"{_flag(chosen[1])} applies to a store, not to plurivox answers read TABLE")
    if len(chosen) > 1:
        raise typer.BadParameter("choose one of --export, --refused, --reread, --audit, --audited and --reader-model")
    for action, options in _ACTIONS.items():
        for name in options if action not in chosen else ():
            if given(name) and not any(name in _ACTIONS[one] for one in chosen):
                with_what = "plurivox answers read TABLE" if action == READ else _flag(action)
                raise typer.BadParameter(f"{_flag(name)} requires {with_what}")
    for name in FORMS:
        if chosen and chosen[0] in _WITHOUT_TABLE and given(name):
            raise typer.BadParameter(f"{_flag(name)} cannot be combined with {_flag(chosen[0])}")
    return (chosen[0] if chosen else None), words[-1]


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _show(store: Path, prompts: bool, outputs: Outputs) -> None:
    from plurivox.ask.store import Store
    from plurivox.base.csv_files import flat
    from plurivox.cli.console import console
    from plurivox.cli.tables import print_table
    from plurivox.domain.reader import STATES
    from plurivox.infer.exports import Document
    from plurivox.infer.view import View

    with Store.read(store) as opened:
        counts, tokens = opened.counts(), opened.tokens()
        lines = []
        for (model, prompt), states in counts.items():
            used = tokens.get(model, (0, 0))
            numbers = (f"{states.get(state, 0):,}" for state in STATES)
            lines.append([model, prompt, *numbers, f"{used[0]:,} + {used[1]:,}"])
        title = one_line(str(opened.about.get("question", "")))
        shown = View(title, ["model", "prompt", *STATES, "tokens of the model"], lines)
        if not counts and not {"json", "csv"} & {outputs.printed, *outputs.files}:
            say("it contains no answers yet")
            return
        listed = [{"model": model, "prompt": prompt, **states} for (model, prompt), states in counts.items()]
        outputs.deliver(
            show=lambda: print_table(shown, out=console()),
            json=lambda: json_text.dumps({"kind": "answers", **opened.about, "answers": listed}, ensure_ascii=False),
            csv=lambda: opened.frame(with_prompts=prompts),
            documents=lambda: [Document([shown])],
            flat=flat,
        )


def _show_refused(store: Path, outputs: Outputs) -> None:
    from rich.text import Text

    from plurivox.ask.store import Store
    from plurivox.cli.console import console
    from plurivox.cli.tables import plain_table
    from plurivox.infer.exports import Document
    from plurivox.infer.view import View

    with Store.read(store) as opened:
        found = opened.refused()
    if found.is_empty() and not {"json", "csv"} & {outputs.printed, *outputs.files}:
        say("it contains no refusals")
        return
    columns = ["model", "prompt", "item", "text"]
    rows = [[one_line(cell) for cell in row] for row in found.select(columns).iter_rows()]

    def show() -> None:
        table = plain_table(*columns, left=len(columns))  # the last may wrap
        for *names, told in rows[:MOST_REFUSED]:
            table.add_row(*map(Text, (*names, short(told))))
        console().print(table)
        if len(rows) > MOST_REFUSED:
            say(f"and {len(rows) - MOST_REFUSED:,} more; --csv, --json and --markdown list all of them in full")

    outputs.deliver(
        show=show,
        json=lambda: json_text.dumps({"kind": "refusals", "refusals": found.to_dicts()}, ensure_ascii=False),
        csv=lambda: found,
        documents=lambda: [Document([View("Refusals", columns, rows)])],
    )


def _export(store: Path, path: Path, prompts: bool) -> None:
    from plurivox.ask.store import Store
    from plurivox.base.csv_files import flat, write_frame
    from plurivox.base.errors import FileError, InputError
    from plurivox.base.files import replacing, will_write

    kind = path.suffix.lower()
    if kind not in (".parquet", ".csv", ".jsonl", ".db"):
        raise InputError(
            f"{path.name} has an unknown file extension", hint="End it with .parquet, .csv, .jsonl or .db."
        )
    if kind == ".db" and os.path.lexists(path):
        raise FileError("it exists and may be a store of answers", source=str(path), hint="Name a new file.")
    will_write(path)
    with Store.read(store) as opened:
        if kind == ".db":
            with replacing(path) as temporary:
                opened.copy_to(temporary)
        else:
            write_frame(path, opened.frame(with_prompts=prompts), flat)
    put(path)


ENDINGS = (".csv", ".parquet", ".jsonl")
_MOST_TEXTS = 10  # unreadable ones that are shown


def read_table_of_texts(file: str, given: Mapping[str, Any], output: Path | None, outputs: Outputs) -> None:
    """Read the texts in a table, show how they were read, and write the readings if a file is named."""
    from plurivox.ask.read_answers import read_answers
    from plurivox.base.csv_files import flat, write_frame
    from plurivox.base.errors import InputError
    from plurivox.base.files import will_write
    from plurivox.cli.console import console
    from plurivox.cli.tables import print_table
    from plurivox.config import find_config, load_config
    from plurivox.domain.scale_files import as_scale
    from plurivox.infer.exports import Document

    if output is not None:
        if output.suffix.lower() not in ENDINGS:
            raise InputError(f"{output.name} has an unknown file extension", hint=f"End it with {', '.join(ENDINGS)}.")
        will_write(output)
    path = None if given["scale"] else find_config(file)
    scale = as_scale(given["scale"]) or (load_config(path).said.get("scale") if path else None)
    if scale is None:
        raise typer.BadParameter(
            "the points of the scale are needed to read texts; give them with --scale: 0:4, No,Unsure,Yes or a TOML "
            "file"
        )
    found = read_answers(file, scale, **{role: given[role] for role in ("item", "model", "answer")})
    tell_answers(found, f"; scale {scale}")
    frame = found.to_frame()
    if output is not None:
        write_frame(output, frame, flat)
    tables = _tables(frame)
    outputs.deliver(
        show=lambda: print_table(*tables, out=console()),
        json=lambda: json_text.dumps({"kind": "readings", "answers": frame.to_dicts()}, ensure_ascii=False),
        csv=lambda: frame,
        documents=lambda: [Document(tables)],
        flat=flat,
    )
    lost = frame["state"].eq("unreadable").sum()
    if lost > _MOST_TEXTS and not {"json", "csv"} & {outputs.printed, *outputs.files}:
        say(f"{lost - _MOST_TEXTS:,} more are unreadable; -o FILE and --csv list all of them in full")
    if output is not None:
        say(f"readings: {output}") if outputs else put(output)


def _tables(frame: "pl.DataFrame") -> "list[View]":
    """Return how the texts were read, by which rules, and the first that could not be read."""
    import polars as pl

    from plurivox.domain.reader import STATES
    from plurivox.infer.view import View

    counts = frame.group_by("model", "prompt", maintain_order=True).agg(
        (pl.col("state") == state).sum().alias(state) for state in STATES
    )
    rules = (
        frame.drop_nulls("rule")
        .group_by("rule", "state")
        .len()
        .sort("len", "rule", "state", descending=[True, False, False])
    )
    lost = frame.filter(pl.col("state") == "unreadable").head(_MOST_TEXTS)
    voice = ["model", "prompt"] if (frame["prompt"] != "").any() else ["model"]
    tables = [
        View("How answers were read", [*voice, *STATES], _cells(counts.select(*voice, *STATES).rows())),
        View("By rule", ["rule", "state", "answers"], _cells(rules.select("rule", "state", "len").rows())),
        View("Unreadable", ["item", "model", "text"], _cells(lost.select("item", "model", "text").rows())),
    ]
    return [tables[0], *(one for one in tables[1:] if one.rows)]


def _cells(rows: list[tuple[Any, ...]]) -> list[list[str]]:
    return [[f"{cell:,}" if isinstance(cell, int) else short(one_line(cell or "")) for cell in row] for row in rows]
