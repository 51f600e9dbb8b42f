"""``plurivox cohesion``: which groups see things alike."""

from typing import TYPE_CHECKING, Annotated

import typer

from plurivox.cli.loading import load_questions
from plurivox.cli.options import (
    Bootstrap,
    Contrast,
    Correction,
    Csv,
    Json,
    Level,
    Markdown,
    Pairs,
    Permutations,
    Reading,
    Resample,
    Seed,
    Threads,
    Ties,
    Within,
    one_format,
    reads_ratings,
    several_names,
    tell_compiling,
    two_groups,
)

if TYPE_CHECKING:
    from plurivox.lenses.cohesion.result import Cohesion


@reads_ratings
def cohesion(
    reading: Reading,
    level: Level = "nominal",
    permutations: Permutations = 1000,
    bootstrap: Bootstrap = 0,
    resample: Resample = "items",
    within: Within = None,
    correction: Correction = "bh",
    convention: Annotated[
        str, typer.Option("--convention", help="default, or published: as in the GRASP paper.", metavar="NAME")
    ] = "default",
    ties: Ties = "share",
    pairs: Pairs = False,
    contrast: Contrast = None,
    combine: Annotated[
        str | None,
        typer.Option(
            "--combine",
            help="With --score Q1,Q2: also analyse the highest or lowest answer of each rater, or the first of a list "
            "of points (Yes,Unsure,No) that was given.",
            metavar="RULE",
        ),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Tell which groups agree among themselves.

    IRR is agreement within a group, XRR agreement with the rest, GAI their ratio; an axis's DSI is its largest GAI.
    Raters are shuffled between groups to see what chance does: * is p < .05, ** p < .05 after correction.
    """
    from plurivox.cli.progress import telling
    from plurivox.kernels.cohesion import permuted_passes
    from plurivox.lenses.cohesion.run import cohesion as analyse

    one_format(json=json, csv=csv, markdown=markdown)
    questions = load_questions(reading, combine)
    tell_compiling(permuted_passes)
    found = {}
    for question, loaded in questions.items():
        with telling() as progress:
            result = analyse(
                loaded.ratings,
                loaded.axes(),
                level=level,
                permutations=permutations,
                bootstrap=bootstrap,
                resample=resample,
                seed=seed,
                convention=convention,
                within=several_names(within),
                correction=correction,
                ties=ties,
                several=loaded.several,
                pairs=pairs,
                contrast=two_groups(contrast),
                min_group_size=loaded.min_group_size,
                threads=threads,
                progress=progress,
            )
        found[question] = result.of_question(question)
    _print(found, json=json, csv=csv, markdown=markdown)


def _print(found: dict[str, "Cohesion"], *, json: bool, csv: bool, markdown: bool) -> None:
    import polars as pl

    from plurivox.cli.show import console, csv_text, markdown_text
    from plurivox.cli.show_cohesion import show_cohesion, tables

    results = list(found.values())
    if json:
        texts = [result.to_json(draws=False) for result in results]
        print(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    elif csv:
        print(csv_text(pl.concat(result.to_frame() for result in results)), end="")
    else:
        out = console()
        for question, result in found.items():
            title = f"Question {question}" if len(found) > 1 else ""
            if markdown:
                print(f"## {title}\n" if title else "", end="\n" if title else "")
                print(markdown_text(tables(result), result.findings()))
            else:
                out.print(f"{title}\n" if title else "", style="bold", end="\n" if title else "")
                show_cohesion(result, out)
