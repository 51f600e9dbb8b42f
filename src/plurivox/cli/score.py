"""``plurivox score``: how good predicted rating distributions are."""

import sys
from typing import Annotated

import typer

from plurivox.cli.loading import load, read_beside
from plurivox.cli.options import (
    Bootstrap,
    Correction,
    Csv,
    InputOptions,
    Json,
    Markdown,
    Prior,
    Seed,
    Threads,
    one_format,
    read_prior,
    reads_ratings,
)

TABLES = ("values", "comparisons", "sensitivity", "calibration", "pit", "reliability", "prior_weight", "missing")


@reads_ratings
def score(
    reading: InputOptions,
    predictions: Annotated[
        str,
        typer.Argument(
            metavar="PREDICTIONS",
            help="Table with a model, an item, and a column of probabilities named like each point of the scale.",
            show_default=False,
        ),
    ],
    prior: Prior = "1",
    bins: Annotated[
        str | None,
        typer.Option("--bins", help="Numbers of ratings to sort items by: 2-3,4-5,6-10,11+.", metavar="BINS"),
    ] = None,
    floor: Annotated[
        float | None,
        typer.Option("--floor", help="Count no probability as less, in CE and KL: 1e-6. Without it, ∞.", metavar="Q"),
    ] = None,
    unnormalized: Annotated[
        bool, typer.Option("--unnormalized", help="EMD and RPS in steps of the scale, not in its whole length.")
    ] = False,
    train: Annotated[
        str | None,
        typer.Option("--train", help="Ratings of other items, for the marginal prediction and the prior.",
                     metavar="FILE"),
    ] = None,
    min_ratings: Annotated[
        int, typer.Option("--min-ratings", help="Leave out items with fewer ratings.", min=0, metavar="N")
    ] = 0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail if a rated item is not predicted, or a predicted one not rated.")
    ] = False,
    fast: Annotated[bool, typer.Option("--fast", help="Without E[JS] and without the curve over priors.")] = False,
    bootstrap: Bootstrap = 1000,
    correction: Correction = "bh",
    seed: Seed = 0,
    threads: Threads = None,
    table: Annotated[
        str, typer.Option("--table", help=f"Which table --csv prints: {', '.join(TABLES)}.", metavar="NAME")
    ] = "values",
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:  # fmt: skip
    """Score predicted rating distributions, also where an item has few ratings.

    Cross-entropy (CE), Kullback–Leibler (KL) and Jensen–Shannon (JS) divergence, earth mover's distance (EMD) and
    ranked probability score (RPS), against the shares of ratings and, E[…], expected given a prior and the ratings.
    Lower is better. With --by, models are also scored against each group's ratings.
    """
    from plurivox.cli.progress import telling
    from plurivox.cli.show_soft import show_soft, tables
    from plurivox.cli.tables import print_result
    from plurivox.intake.read import read_predictions
    from plurivox.lenses.soft.run import soft_scores
    from plurivox.statistics.soft_blocks import METRICS

    one_format(json=json, csv=csv, markdown=markdown)
    if table not in TABLES:
        raise typer.BadParameter(f"--table is one of {', '.join(TABLES)}, not {table!r}")
    if reading.file == predictions == "-":
        raise typer.BadParameter("only one of the two tables can come from standard input")
    loaded = load(reading)
    ratings = loaded.ratings
    known = read_predictions(predictions, ratings.scale, like=ratings)
    print(f"{known.source}: predictions of {', '.join(known.models)}", file=sys.stderr)
    others = None if train is None else read_beside(train, reading, ratings.scale)
    with telling() as progress:
        found = soft_scores(
            ratings,
            known,
            read_prior(prior),
            bins=bins,
            by=loaded.by or (),
            several=loaded.several,
            metrics=[name for name in METRICS if not (fast and name == "expected_js")],
            floor=floor,
            normalized=not unnormalized,
            train=others,
            min_ratings=min_ratings,
            strict=strict,
            curve=not fast,
            bootstrap=bootstrap,
            correction=correction,
            seed=seed,
            min_group_size=loaded.min_group_size,
            threads=threads,
            progress=progress,
        )
    frame = found.to_frame() if table == "values" else getattr(found, table)()
    print_result(found, frame, tables, show_soft, json=json, csv=csv, markdown=markdown)
