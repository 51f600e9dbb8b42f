"""``plurivox describe``: what a table of ratings holds."""

import os
from pathlib import Path
from typing import Annotated

import typer

from plurivox.cli.loading import Loaded, load
from plurivox.cli.options import InputOptions, reads_ratings
from plurivox.cli.printing import put_json, say


@reads_ratings
def describe(
    reading: InputOptions,
    ids: Annotated[bool, typer.Option("--ids", help="Call raters by their ids; else they are numbered.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    write_config: Annotated[
        bool, typer.Option("--write-config", help="Also write a plurivox.toml beside FILE from what was recognised.")
    ] = False,
) -> None:
    """Show what a table of ratings holds.

    Sizes, design, use of the scale, groups of raters, missing values, and what else was noticed while reading.
    """
    from plurivox.cli.show import console, show_description
    from plurivox.lenses.overview.description import describe as describe_ratings

    loaded = load(reading)
    found = describe_ratings(loaded.ratings, loaded.by, several=loaded.several, min_group_size=loaded.min_group_size)
    if json:
        put_json(found.to_json())
    else:
        show_description(found, console(), ids=ids, sizes=loaded.by is not None)
    if write_config:
        _write_config(reading, loaded)


def _write_config(reading: InputOptions, loaded: Loaded) -> None:
    from plurivox.config import FILE_NAME, config_text
    from plurivox.errors import ConfigError
    from plurivox.files import write_text

    folder = Path() if reading.file == "-" else Path(reading.file).parent
    path = folder / FILE_NAME
    if path.exists():
        raise ConfigError("it is there already", source=str(path), hint="Move it away first, or edit it.")

    def beside(file: str | None) -> str | None:
        return None if file is None else os.path.relpath(file, folder)

    text = config_text(
        loaded.ratings, raters=beside(loaded.raters_file), items=beside(loaded.items_file), recoding=loaded.recoding
    )
    say(f"wrote {write_text(path, text)}")
