"""``plurivox scale``: do raters, or groups, measure one severity."""

from typing import Annotated

import typer

from plurivox.cli.loading import load
from plurivox.cli.options import (
    Csv,
    GroupScore,
    InputOptions,
    ItemsBy,
    Json,
    Markdown,
    Seed,
    one_format,
    reads_ratings,
    tell_compiling,
)

TABLES = ("values", "severity", "thresholds", "curves", "pairs", "checks", "fits")


@reads_ratings
def scale(
    reading: InputOptions,
    items_by: ItemsBy = None,
    group_score: GroupScore = "plurality",
    ties: Annotated[
        str, typer.Option("--ties", help="Which of tied points is a group's score: lowest or random.", metavar="RULE")
    ] = "lowest",
    lower_bound: Annotated[
        float,
        typer.Option("--lower-bound", help="The H_j that raters of one Mokken scale must reach.", metavar="H"),
    ] = 0.3,
    top: Annotated[int, typer.Option("--top", help="How many of the most and least severe items to show.", min=0)] = 5,
    seed: Seed = 0,
    table: Annotated[
        str, typer.Option("--table", help=f"Which table --csv prints: {', '.join(TABLES)}.", metavar="NAME")
    ] = "values",
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Tell whether raters order items alike, and how sharply each does.

    Mokken's H_j asks whether a rater orders items as the others do, the discrimination a of a graded response model how
    sharply scores rise with the severity that all have in common; the model gives every item its severity. --by rater,
    the default without a by in plurivox.toml, takes each rater on their own; other attributes take groups.
    """
    from functools import partial

    from plurivox.cli.progress import telling
    from plurivox.cli.show_scale import show_scale, tables
    from plurivox.cli.tables import print_result
    from plurivox.kernels.graded import information
    from plurivox.lenses.psychometrics.run import psychometrics

    one_format(json=json, csv=csv, markdown=markdown)
    if table not in TABLES:
        raise typer.BadParameter(f"--table is one of {', '.join(TABLES)}, not {table!r}")
    loaded = load(reading)
    tell_compiling(information)
    with telling() as progress:
        found = psychometrics(
            loaded.ratings,
            loaded.by or "rater",
            items_by=items_by,
            group_score=group_score,
            ties=ties,
            lower_bound=lower_bound,
            seed=seed,
            several=loaded.several,
            min_group_size=loaded.min_group_size,
            progress=progress,
        )
    frame = found.to_frame() if table == "values" else getattr(found, table)()
    print_result(
        found, frame, partial(tables, top=top), partial(show_scale, top=top), json=json, csv=csv, markdown=markdown
    )
