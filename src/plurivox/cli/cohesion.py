"""``plurivox cohesion``: which groups see things alike."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from plurivox.cli.options import Loaded, Reading, load_questions, reads_ratings

if TYPE_CHECKING:
    from plurivox.lenses.cohesion_result import Cohesion


@reads_ratings
def cohesion(
    reading: Reading,
    level: Annotated[
        str, typer.Option("--level", help="How far apart points are: nominal, ordinal or interval.", metavar="LEVEL")
    ] = "nominal",
    permutations: Annotated[
        int, typer.Option("--permutations", help="How often to shuffle raters; 0 for no p-values.", min=0, metavar="N")
    ] = 1000,
    bootstrap: Annotated[
        int, typer.Option("--bootstrap", help="Draws for 95 % intervals; 0 for none.", min=0, metavar="N")
    ] = 0,
    resample: Annotated[
        str, typer.Option("--resample", help="What the bootstrap draws: items, raters or both.", metavar="WHAT")
    ] = "items",
    within: Annotated[
        str | None,
        typer.Option("--within", help="Shuffle raters only within groups of this attribute.", metavar="ATTRIBUTE"),
    ] = None,
    correction: Annotated[
        str, typer.Option("--correction", help="bh, by, holm, bonferroni or none.", metavar="METHOD")
    ] = "bh",
    convention: Annotated[
        str, typer.Option("--convention", help="default, or published: as in the GRASP paper.", metavar="NAME")
    ] = "default",
    ties: Annotated[
        str, typer.Option("--ties", help="Who gets a tied vote: share, lowest or random.", metavar="RULE")
    ] = "share",
    pairs: Annotated[bool, typer.Option("--pairs", help="Also compare every pair of groups.")] = False,
    contrast: Annotated[
        str | None,
        typer.Option("--contrast", help="Also report the difference of two groups: Man,Woman.", metavar="A,B"),
    ] = None,
    combine: Annotated[
        str | None,
        typer.Option(
            "--combine",
            help="With --score Q1,Q2: also analyse the highest or lowest answer of each rater, or the first of a list "
            "of points (Yes,Unsure,No) that was given.",
            metavar="RULE",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same result.", min=0, metavar="N")] = 0,
    threads: Annotated[
        int | None, typer.Option("--threads", help="How many to use (default: all).", min=1, metavar="N")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, one row per group and statistic.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
) -> None:
    """Tell which groups agree among themselves.

    IRR is agreement within a group, XRR agreement with the rest, GAI their ratio; an axis's DSI is its largest GAI.
    Raters are shuffled between groups to see what chance does: * is p < .05, ** p < .05 after correction.
    """
    from plurivox.cli.progress import telling
    from plurivox.kernels.cohesion import is_compiled
    from plurivox.lenses.cohesion import cohesion as analyse

    if sum((json, csv, markdown)) > 1:
        raise typer.BadParameter("choose one of --json, --csv and --markdown")
    questions = load_questions(reading, combine)
    if not is_compiled():
        print("compiling once, for this and all later runs …", file=sys.stderr)
    found = {}
    for question, loaded in questions.items():
        with telling() as progress:
            result = analyse(
                loaded.ratings,
                _axes(loaded),
                level=level,
                permutations=permutations,
                bootstrap=bootstrap,
                resample=resample,
                seed=seed,
                convention=convention,
                within=tuple(within.split(",")) if within else None,
                correction=correction,
                ties=ties,
                several=loaded.several,
                pairs=pairs,
                contrast=_two(contrast),
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


def _axes(loaded: Loaded) -> list[tuple[str, ...]]:
    if loaded.by:
        return loaded.by
    attributes = loaded.ratings.raters.columns[1:]
    if not attributes:
        raise typer.BadParameter("raters have no attributes to group them by; give them with --raters")
    return [(attribute,) for attribute in attributes]


def _two(contrast: str | None) -> tuple[str, str] | None:
    if contrast is None:
        return None
    first, sign, second = contrast.partition(",")
    if not sign:
        raise typer.BadParameter(f"--contrast needs two groups with a comma between, not {contrast!r}")
    return first.strip(), second.strip()
