"""``plurivox align``: whose view language models reflect."""

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
    Level,
    Markdown,
    Permutations,
    Prior,
    Seed,
    Threads,
    Within,
    one_format,
    read_prior,
    reads_ratings,
)

TABLES = (
    "values", "accounts", "closest", "standings", "contrasts", "alphas", "stand_ins", "prompts", "stability",
    "positions", "distances", "items",
)  # fmt: skip


@reads_ratings
def align(
    reading: InputOptions,
    answers: Annotated[
        str,
        typer.Argument(
            metavar="ANSWERS",
            help="A store of plurivox ask, a table (model, item, answer), or a log of Inspect or lm-eval.",
            show_default=False,
        ),
    ],
    subset: Annotated[
        str | None,
        typer.Option("--subset", help="Item attribute, by whose values distances are also given.", metavar="COLUMN"),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Column with the model.", metavar="COLUMN")] = None,
    answer: Annotated[str | None, typer.Option("--answer", help="Column with the answer.", metavar="COLUMN")] = None,
    level: Level = "ordinal",
    prior: Prior = "1",
    family: Annotated[
        list[str] | None,
        typer.Option("--family", help="Models of a family: 'gpt=gpt-4o,gpt-3.5'. Repeatable.", metavar="NAME=MODELS"),
    ] = None,
    trained: Annotated[
        str | None,
        typer.Option("--trained", help="Ratings of trained raters, to judge models against (MPA, WRA).",
                     metavar="FILE"),
    ] = None,
    trained_scale: Annotated[
        str | None, typer.Option("--trained-scale", help="Their scale: 0:1, or safe,unsafe.", metavar="POINTS")
    ] = None,
    threshold: Annotated[
        str | None, typer.Option("--threshold", help="Lowest point that means unsafe.", metavar="POINT")
    ] = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="How much a model may fall behind a human and still stand in.")
    ] = 0.1,
    fast: Annotated[bool, typer.Option("--fast", help="Without MPA and WRA and without equal group sizes.")] = False,
    bootstrap: Bootstrap = 1000,
    permutations: Permutations = 1000,
    subsamples: Annotated[
        int, typer.Option("--subsamples", help="How often raters are drawn for equal group sizes.", min=0, metavar="N")
    ] = 200,
    within: Within = None,
    convention: Annotated[
        str, typer.Option("--convention", help="default, or published: alpha with refusals as categories.",
                          metavar="NAME")
    ] = "default",
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
    """Tell whose view language models reflect.

    The distance of answers from the mode of votes (ADA-Met) for all raters and each group, the group of closest
    alignment with its uncertainty, also at equal group sizes, and companions that keep the spread of votes. Refusals
    cost the whole scale, and are counted.
    """
    from plurivox.cli.ask import several
    from plurivox.cli.loading import read_scale
    from plurivox.cli.progress import telling
    from plurivox.cli.show_alignment import show_alignment, tables
    from plurivox.cli.tables import print_result
    from plurivox.intake.read_answers import read_answers
    from plurivox.lenses.alignment.run import alignment

    one_format(json=json, csv=csv, markdown=markdown)
    if table not in TABLES:
        raise typer.BadParameter(f"--table is one of {', '.join(TABLES)}, not {table!r}")
    loaded = load(reading)
    ratings = loaded.ratings
    known = read_answers(answers, ratings.scale, like=ratings, model=model, answer=answer)
    print(f"{known.source}: {several(len(known), 'answer')} of {', '.join(known.models)}", file=sys.stderr)
    with telling() as progress:
        found = alignment(
            ratings,
            known,
            by=loaded.by or (),
            subset=subset,
            several=loaded.several,
            level=level,
            prior=read_prior(prior),
            families=_families(family),
            trained=None if trained is None else read_beside(trained, reading, read_scale(trained_scale)),
            threshold=threshold,
            as_rater=not fast,
            tolerance=tolerance,
            bootstrap=bootstrap,
            permutations=permutations,
            subsamples=0 if fast else subsamples,
            within=within,
            seed=seed,
            convention=convention,
            correction=correction,
            min_group_size=loaded.min_group_size,
            threads=threads,
            progress=progress,
        )
    frame = found.to_frame() if table == "values" else getattr(found, table)()
    print_result(found, frame, tables, show_alignment, json=json, csv=csv, markdown=markdown)


def _families(given: list[str] | None) -> dict[str, list[str]] | None:
    if not given:
        return None
    found = {}
    for text in given:
        name, sign, models = text.partition("=")
        if not sign or not name.strip() or not models.strip():
            raise typer.BadParameter(f"--family is {text!r}; write it as gpt=gpt-4o,gpt-3.5")
        found[name.strip()] = [model.strip() for model in models.split(",") if model.strip()]
    return found
