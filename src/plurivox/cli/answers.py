"""``plurivox answers``: what is in a store of answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plurivox.cli.options import Csv, Json, Markdown, one_format

if TYPE_CHECKING:
    import polars as pl

    from plurivox.ask.store import Store
    from plurivox.cli.tables import Shown


def answers(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="A file that plurivox ask wrote.", show_default=False)],
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Write all answers as .parquet, .csv or .jsonl.", metavar="FILE"),
    ] = None,
    prompts: Annotated[bool, typer.Option("--prompts", help="Export the full prompts, too.")] = False,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Show how many questions were answered, refused, unreadable or failed, and export every answer."""
    import json as text

    from plurivox.ask.store import Store
    from plurivox.cli.show import console, csv_text, markdown_text
    from plurivox.cli.tables import print_table

    one_format(json=json, csv=csv, markdown=markdown)
    with Store.read(store) as opened:
        if export is not None:
            if export.resolve() == store.resolve():
                raise typer.BadParameter("--export would overwrite the store; name another file")
            _export(opened.frame(with_prompts=prompts), export)
            print(export)
            return
        if csv:
            print(csv_text(_flat(opened.frame(with_prompts=prompts))), end="")
            return
        counts = opened.counts()
        if json:
            listed = [{"model": model, "prompt": prompt, **states} for (model, prompt), states in counts.items()]
            print(text.dumps({"kind": "answers", **opened.about, "answers": listed}, ensure_ascii=False))
            return
        shown = _table(opened)
    if markdown:
        print(markdown_text([shown], []))
    else:
        print_table(shown, console())


def _table(opened: "Store") -> "Shown":
    from plurivox.cli.show import printable
    from plurivox.cli.tables import Shown
    from plurivox.reader import STATES

    tokens = opened.tokens()
    lines = []
    for (model, prompt), states in opened.counts().items():
        used = tokens.get(model, (0, 0))
        lines.append(
            [model, prompt, *(f"{states.get(state, 0):,}" for state in STATES), f"{used[0]:,} + {used[1]:,}"]
        )  # fmt: skip
    title = printable(str(opened.about.get("question", "")))
    return Shown(title, ["model", "prompt", *STATES, "tokens of the model"], lines)


def _export(frame: "pl.DataFrame", path: Path) -> None:
    from plurivox.cli.show import csv_text
    from plurivox.errors import InputError
    from plurivox.io.writing import replacing

    kind = path.suffix.lower()
    if kind not in (".parquet", ".csv", ".jsonl"):
        raise InputError(f"{path.name} has no known ending", hint="End it with .parquet, .csv or .jsonl.")
    with replacing(path) as temporary:
        if kind == ".parquet":
            frame.write_parquet(temporary)
        elif kind == ".jsonl":
            frame.write_ndjson(temporary)
        else:
            temporary.write_text(csv_text(_flat(frame)), encoding="utf-8")


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
