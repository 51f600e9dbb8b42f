"""``plurivox describe``: what a table of ratings contains."""

import os
from pathlib import Path
from typing import Annotated

import typer

from plurivox.cli.loading import Loaded, load_questions, names_in
from plurivox.cli.options import InputOptions, reads_ratings
from plurivox.cli.outputs import Json, Outputs, json_of
from plurivox.cli.printing import say


@reads_ratings
def describe(
    reading: InputOptions,
    ids: Annotated[bool, typer.Option("--ids", help="Show raters' ids instead of numbers.")] = False,
    json: Json = None,
    write_config: Annotated[
        bool, typer.Option("--write-config", help="Also write a plurivox.toml next to FILE with what was recognised.")
    ] = False,
) -> None:
    """Show what a table of ratings contains.

    Sizes, design, use of the scale, groups of raters, missing values, and anything else noticed while reading.
    """
    from plurivox.cli.console import console
    from plurivox.cli.show import show_description
    from plurivox.lenses.overview.description import describe as describe_ratings

    outputs = Outputs.of({"json": json})
    questions = load_questions(reading)
    if write_config and len(questions) > 1:
        raise typer.BadParameter("--write-config describes one question; choose it with --score")
    found = {
        question: describe_ratings(one.ratings, one.by, several=one.several, min_group_size=one.min_group_size)
        for question, one in questions.items()
    }

    def show() -> None:
        out = console()
        for question, one in found.items():
            out.print(f"Question {question}\n" if len(found) > 1 else "", style="bold", end="")
            show_description(one, out, ids=ids, sizes=questions[question].by is not None)

    outputs.deliver(show=show, json=lambda: json_of([one.to_json() for one in found.values()]))
    if write_config:
        _write_config(reading, next(iter(questions.values())))


def _write_config(reading: InputOptions, loaded: Loaded) -> None:
    from plurivox.base.errors import ConfigError
    from plurivox.base.files import write_text
    from plurivox.config import FILE_NAME, Groups, config_text
    from plurivox.domain.describing import Rules

    folder = Path() if reading.file == "-" else Path(reading.file).parent
    path = folder / FILE_NAME
    if path.exists():
        raise ConfigError("it already exists", source=str(path), hint="Move it away first, or edit it.")

    def beside(file: str | None) -> str | None:
        return None if file is None else os.path.relpath(file, folder)

    rules, config = loaded.rules or Rules(), loaded.config
    columns = names_in(reading.rater_attributes) or config.rater_attributes
    weights = beside(reading.weights or config.weights)
    text = config_text(
        loaded.ratings,
        raters=beside(loaded.raters_file),
        items=beside(loaded.items_file),
        recoding=loaded.recoding,
        groups=Groups(
            loaded.by,
            loaded.bins,
            loaded.several,
            rules.conflicts,
            rules.unknown,
            columns,
            loaded.min_group_size,
            weights,
            reading.trim or config.trim,
        ),
        item_columns=names_in(reading.item_attributes) or config.item_attributes,
        encoding=reading.encoding or config.encoding,
    )
    say(f"wrote {write_text(path, text)}")
