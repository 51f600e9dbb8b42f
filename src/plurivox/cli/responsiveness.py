"""``plurivox responsiveness``: whose scores convey severity."""

from typing import Annotated

import typer

from plurivox.cli.loading import load, load_reference
from plurivox.cli.options import (
    Against,
    Bootstrap,
    Contrast,
    Correction,
    Csv,
    GroupScore,
    InputOptions,
    ItemsBy,
    Json,
    Markdown,
    Pairs,
    Permutations,
    ReferenceScale,
    ReferenceWhere,
    Resample,
    Seed,
    Threads,
    Threshold,
    Ties,
    Within,
    attribute_value,
    one_format,
    reads_ratings,
    several_names,
    tell_compiling,
    two_groups,
)

TABLES = ("values", "scores", "boundaries", "correlations", "pairs")


@reads_ratings
def responsiveness(
    reading: InputOptions,
    reference: Against = "crowd",
    reference_scale: ReferenceScale = None,
    reference_where: ReferenceWhere = None,
    threshold: Threshold = None,
    items_by: ItemsBy = None,
    group_score: GroupScore = "plurality",
    ties: Ties = "share",
    permutations: Permutations = 1000,
    bootstrap: Bootstrap = 1000,
    resample: Resample = "items",
    within: Within = None,
    correction: Correction = "bh",
    convention: Annotated[
        str, typer.Option("--convention", help="default, or published: MPA not capped at 0.", metavar="NAME")
    ] = "default",
    pairs: Pairs = False,
    contrast: Contrast = None,
    family: Annotated[
        str | None,
        typer.Option(
            "--family",
            help="Test whether all groups with this value lie below, or above, all others: ethnicity=Latinx.",
            metavar="ATTRIBUTE=VALUE",
        ),
    ] = None,
    psychometrics: Annotated[
        bool,
        typer.Option(
            "--psychometrics",
            help="Also Mokken's H_j and the discrimination of a graded response model, for up to 200 raters or groups "
            "of an axis; plurivox scale has more of both.",
        ),
    ] = False,
    min_support: Annotated[
        float, typer.Option("--min-support", help="Name scores given to fewer items.", min=0, metavar="N")
    ] = 5,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
    table: Annotated[
        str,
        typer.Option("--table", help=f"Which table --csv prints: {', '.join(TABLES)}.", metavar="NAME"),
    ] = "values",
) -> None:
    """Tell whose scores convey severity.

    MPA asks whether each higher score means more severe, WRA whether unsafe items get higher scores than safe ones; HM
    is their harmonic mean. Raters are shuffled between groups to see what chance does: * is p < .05, ** p < .05 after
    correction. --by rater looks at each rater on their own.
    """
    from plurivox.cli.progress import telling
    from plurivox.cli.show_responsiveness import show_responsiveness, tables
    from plurivox.cli.tables import print_result
    from plurivox.kernels.responsiveness import permuted_values
    from plurivox.lenses.responsiveness.run import responsiveness as analyse

    one_format(json=json, csv=csv, markdown=markdown)
    if table not in TABLES:
        raise typer.BadParameter(f"--table is one of {', '.join(TABLES)}, not {table!r}")
    loaded = load(reading)
    against = load_reference(reference, reading, loaded.ratings, reference_scale, reference_where)
    tell_compiling(permuted_values)
    with telling() as progress:
        found = analyse(
            loaded.ratings,
            against,
            loaded.axes(),
            threshold=threshold,
            items_by=items_by,
            group_score=group_score,
            ties=ties,
            permutations=permutations,
            bootstrap=bootstrap,
            resample=resample,
            seed=seed,
            convention=convention,
            within=several_names(within),
            correction=correction,
            several=loaded.several,
            pairs=pairs,
            contrast=two_groups(contrast),
            family=attribute_value(family, "--family"),
            psychometrics=psychometrics,
            min_support=min_support,
            min_group_size=loaded.min_group_size,
            threads=threads,
            progress=progress,
        )
    frame = found.to_frame() if table == "values" else getattr(found, table)()
    print_result(found, frame, tables, show_responsiveness, json=json, csv=csv, markdown=markdown)
