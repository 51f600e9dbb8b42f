"""``plurivox soft-labels``: the share of raters who gave an item each point, for LeWiDi or as a table."""

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
            help="File to write: _soft.tsv or .json in the format of LeWiDi 2025, or .csv, .parquet or .jsonl for a "
            "table; otherwise CSV is printed.",
            metavar="FILE",
        ),
    ] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Use raters' ids in .json instead of numbers.")] = (False),
) -> None:
    """Turn ratings into soft labels: the share of an item's raters who gave each point.

    With --by, also for each group, on items that enough of its members rated. In .json, every item has its text, its
    annotations and its soft and hard labels; plurivox can read this file back as the same ratings.
    """
    from plurivox.base.csv_files import csv_text
    from plurivox.base.files import will_write
    from plurivox.engine.pool import Running
    from plurivox.lenses.soft import labels
    from plurivox.lenses.soft.settings import SoftLabelsSettings

    if ids and (output is None or output.suffix.lower() != ".json"):
        raise typer.BadParameter("--ids requires -o FILE.json, the only form that shows who rated")
    if output is not None:
        labels.check_file(output, reading.by or ())
        will_write(output)
    loaded = load(reading)
    groups = (loaded.by or ()) if reading.by else ()  # those in the config are for analyses
    given = {"by": groups, "several": loaded.several, "min_group_size": loaded.min_group_size}
    asked = SoftLabelsSettings.from_dict(given)
    found = labels.labels_of.run(loaded.ratings, settings=asked, how=Running())
    if output is None:
        put_csv(csv_text(found.frame))
    else:
        labels.write_labels(loaded.ratings, found.frame, output, ids=ids)
        put(output)
    say(found.told(loaded.ratings, loaded.min_group_size))
