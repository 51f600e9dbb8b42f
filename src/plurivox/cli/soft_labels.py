"""``plurivox soft-labels``: which share of its raters gave an item each point, for LeWiDi or as a table."""

from pathlib import Path
from typing import Annotated

import typer

from plurivox.cli.loading import load
from plurivox.cli.options import InputOptions, reads_ratings
from plurivox.cli.printing import put, put_csv, say


@reads_ratings
def soft_labels(
    reading: InputOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write: _soft.tsv or .json as LeWiDi 2025 has them, .csv, .parquet or .jsonl for a table; "
            "else CSV is printed.",
            metavar="FILE",
        ),
    ] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Call raters in .json by their ids; else they are numbered.")] = (
        False
    ),
) -> None:
    """Turn ratings into soft labels: which share of its raters gave an item each point.

    With --by also of each group, on items that enough of its members rated. In .json every item has its text, its
    annotations and its soft and hard label; plurivox reads it as the same ratings.
    """
    from plurivox.engine.running import Running
    from plurivox.files import will_write
    from plurivox.lenses.soft import labels
    from plurivox.lenses.soft.settings import SoftLabelsSettings
    from plurivox.results.files import csv_text

    if ids and (output is None or output.suffix.lower() != ".json"):
        raise typer.BadParameter("--ids goes with -o FILE.json, which alone tells who rated")
    if output is not None:
        labels.check_file(output, reading.by or ())
        will_write(output)
    loaded = load(reading)
    groups = (loaded.by or ()) if reading.by else ()  # those of the config are of analyses
    given = {"by": groups, "several": loaded.several, "min_group_size": loaded.min_group_size}
    asked = SoftLabelsSettings.from_dict(given)
    found = labels.labels_of.run(loaded.ratings, settings=asked, how=Running())
    if output is None:
        put_csv(csv_text(found.frame))
    else:
        labels.write_labels(loaded.ratings, found.frame, output, ids=ids)
        put(output)
    say(found.told(loaded.ratings, loaded.min_group_size))
