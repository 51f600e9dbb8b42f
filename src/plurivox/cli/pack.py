"""``plurivox pack``: turn files of any size into a folder that lenses read part by part."""

import functools
from pathlib import Path
from typing import Annotated, Any

import typer

from plurivox.cli.loading import config_beside, grouped_by, settings_of, tell_read
from plurivox.cli.options import InputOptions, reads_ratings
from plurivox.cli.printing import put
from plurivox.read.settings import ReadSettings

FILES = Annotated[
    list[str],
    typer.Argument(
        metavar="FILES", help="Ratings, in any form that commands accept; several files must have the same columns.",
        show_default=False,
    ),
]  # fmt: skip


@functools.partial(reads_ratings, file=FILES)
def pack(
    reading: InputOptions,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder to make, such as study.pvx.", metavar="FOLDER")
    ] = None,
    append: Annotated[
        list[str] | None,
        typer.Option("--append", help="Add this file to the packed study given as FILES. Repeatable.", metavar="FILE"),
    ] = None,
    memory: Annotated[str, typer.Option("--memory", help="How much memory may be used.", metavar="SIZE")] = "2GB",
) -> None:
    """Pack any number of ratings into a folder that every command accepts as FILE.

    The files may be larger than memory. Analyses that are sums over items read the folder part by part and give the
    same numbers to the last bit; others report that they need the ratings in memory.
    """
    from plurivox.read.packed.folder import named
    from plurivox.read.packed.making import pack as packed

    if append and (output is not None or len(reading.file) > 1):
        raise typer.BadParameter("--append adds to one packed study: plurivox pack --append new.csv study.pvx")
    if not append and output is None:
        raise typer.BadParameter("name the folder to write: -o study.pvx")
    for name, spec in ReadSettings.specs().items():
        if spec.stage and name in reading.said:
            raise typer.BadParameter(f"{spec.option} belongs to an analysis: give it when you analyse the packed study")
    sources, folder = (append, Path(reading.file[0])) if append else (reading.file, output)
    assert folder is not None
    config = config_beside(reading, sources[0])
    asked = settings_of(reading, config)
    kept: dict[str, Any] = {name: getattr(asked, name) for name, spec in asked.specs().items() if not spec.stage}
    kept["by"] = [*asked.attributes(), *(() if "by" in reading.said else grouped_by(config))]
    if append:  # what is not given stays as it was when the study was packed
        kept = {name: value for name, value in kept.items() if value and name in reading.said}
    ratings = packed(sources, folder, memory=memory, append=bool(append), **kept)
    tell_read(ratings, config)
    name = named(folder).name
    put(f"{name}: {len(ratings):,} ratings of {ratings.n_items:,} items by {ratings.n_raters:,} raters")
    said = "Its SHA-256 has changed; to demand" if append else "To demand"
    put(f"{said} exactly this study, write {name}#sha256={ratings.sha256}")
