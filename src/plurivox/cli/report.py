"""``plurivox report``: one file that shows what a rating study says."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from plurivox.cli.loading import load, load_reference
from plurivox.cli.options import (
    Bootstrap,
    ItemsBy,
    Permutations,
    Prior,
    Reading,
    ReferenceScale,
    ReferenceWhere,
    Seed,
    Threshold,
    read_prior,
    reads_ratings,
)


@reads_ratings
def report(
    reading: Reading,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the report.", metavar="FILE")] = Path(
        "report.html"
    ),
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            help="What scores are held against, as in plurivox responsiveness (default: the rest of the crowd).",
            metavar="FILE|ATTRIBUTE=VALUE|crowd",
        ),
    ] = None,
    reference_scale: ReferenceScale = None,
    reference_where: ReferenceWhere = None,
    threshold: Threshold = None,
    items_by: ItemsBy = None,
    predictions: Annotated[
        str | None,
        typer.Option(
            "--predictions", help="Predicted rating distributions to score, as in plurivox score.", metavar="FILE"
        ),
    ] = None,
    prior: Prior = "1",
    answers: Annotated[
        str | None,
        typer.Option(
            "--answers",
            help="What language models answered: a store of plurivox ask, a table, or a log of another program.",
            metavar="FILE",
        ),
    ] = None,
    title: Annotated[str, typer.Option("--title", help="The heading of the report.", metavar="TEXT")] = "",
    permutations: Permutations = 1000,
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
) -> None:
    """Write one HTML file that shows what the ratings say.

    It holds findings in sentences, charts with the numbers behind them, the items to look at, and what every number
    means. It needs no network, names no rater, and the same input and seed make the same file.
    """
    from plurivox.cli.progress import telling
    from plurivox.intake.read import read_predictions
    from plurivox.report import write_report
    from plurivox.statistics.checks import prior_of

    loaded = load(reading)
    against = None
    if reference is not None:
        against = load_reference(reference, reading, loaded.ratings, reference_scale, reference_where)
    ratings, weights = loaded.ratings, read_prior(prior)
    if not isinstance(weights, str):
        prior_of(weights, len(ratings.scale))  # rather now than after minutes
    known = None
    if predictions is not None:
        known = read_predictions(predictions, ratings.scale, like=ratings)
    said = None
    if answers is not None:
        from plurivox.intake.read_answers import read_answers

        said = read_answers(answers, ratings.scale, like=ratings)
    named = [reading.file, loaded.raters_file, loaded.items_file, reference, predictions, answers]
    files = {Path(name).name: name for name in named if name and name != "-" and Path(name).is_file()}
    by = loaded.by or [(name,) for name in ratings.raters.columns[1:]]
    with telling() as progress:
        path = write_report(
            output,
            ratings,
            by,
            reference=against,
            threshold=threshold,
            items_by=items_by,
            several=loaded.several,
            permutations=permutations,
            bootstrap=bootstrap,
            seed=seed,
            min_group_size=loaded.min_group_size,
            title=title or f"What the ratings in {Path(reading.file).name} say",
            command=shlex.join(["plurivox", *sys.argv[1:]]),
            files=files,
            predictions=known,
            prior=weights,
            answers=said,
            progress=progress,
        )
    print(path.resolve())
