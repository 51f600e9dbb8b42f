"""``plurivox answers read``: texts that models wrote, in any table, become readings that can be looked at and used."""

import json as json_text
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from plurivox.base.quoting import one_line, short
from plurivox.cli.loading import read_scale, tell_answers
from plurivox.cli.outputs import Outputs
from plurivox.cli.printing import put, say

if TYPE_CHECKING:
    import polars as pl

    from plurivox.domain.scale import Scale
    from plurivox.infer.view import View

READ = "read"
"""The word that comes before a table."""
ENDINGS = (".csv", ".parquet", ".jsonl")
_MOST_TEXTS = 10  # unreadable ones that are shown


def read_table_of_texts(file: str, given: Mapping[str, Any], output: Path | None, outputs: Outputs) -> None:
    """Read the texts in a table, show how they were read, and write the readings if a file is named."""
    from plurivox.ask.read_answers import read_answers
    from plurivox.base.csv_files import flat, write_frame
    from plurivox.base.files import will_write
    from plurivox.infer.exports import Document

    if output is not None:
        _check_ending(output)
        will_write(output)
    scale = _scale(given["scale"], file)
    found = read_answers(file, scale, **{role: given[role] for role in ("item", "model", "answer")})
    tell_answers(found, f"; scale {scale}")
    frame = found.to_frame()
    if output is not None:
        write_frame(output, frame, flat)
    tables = _tables(frame)
    outputs.deliver(
        show=lambda: _show(tables),
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


def _check_ending(output: Path) -> None:
    from plurivox.base.errors import InputError

    if output.suffix.lower() not in ENDINGS:
        raise InputError(f"{output.name} has an unknown file extension", hint=f"End it with {', '.join(ENDINGS)}.")


def _scale(text: str | None, file: str) -> "Scale":
    """Return the scale given on the command line, or the one in the config next to the table."""
    from plurivox.config import find_config, load_config

    path = None if text else find_config(file)
    scale = read_scale(text) or (load_config(path).scale if path else None)
    if scale is None:
        raise typer.BadParameter(
            "the points of the scale are needed to read texts; give them with --scale: 0:4, No,Unsure,Yes or a TOML "
            "file"
        )
    return scale


def _show(tables: "Iterable[View]") -> None:
    from plurivox.cli.console import console
    from plurivox.cli.tables import print_table

    out = console()
    for shown in tables:
        print_table(shown, out)


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
