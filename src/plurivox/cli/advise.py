"""``plurivox advise``: what scores show and what to look at next; what can be asked of a table."""

from typing import TYPE_CHECKING, Annotated

import typer

from plurivox.cli.loading import load, load_reference
from plurivox.cli.options import (
    Against,
    Bootstrap,
    Csv,
    GroupScore,
    InputOptions,
    Json,
    Markdown,
    ReferenceScale,
    ReferenceWhere,
    Seed,
    Threads,
    Threshold,
    Ties,
    one_format,
    reads_ratings,
    tell_compiling,
)

if TYPE_CHECKING:
    from plurivox.actions.plan.result import Plan
    from plurivox.cli.loading import Loaded

TABLES = ("advice", "members", "precision", "pairs")
PLAN_TABLES = ("lenses", "groups", "power", "collect")


@reads_ratings
def advise(
    reading: InputOptions,
    reference: Against = "crowd",
    reference_scale: ReferenceScale = None,
    reference_where: ReferenceWhere = None,
    threshold: Threshold = None,
    group_score: GroupScore = "plurality",
    ties: Ties = "share",
    set_threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A threshold from which on something is called a habit: least_rise=0.1 (docs/acting.md lists all).",
            metavar="NAME=NUMBER",
        ),
    ] = None,
    max_pairs: Annotated[
        int, typer.Option("--max-pairs", help="Pairs of items to list for each rater or group.", min=0, metavar="N")
    ] = 10,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Tell instead which analyses apply, which groups are too small, and what to collect next."
        ),
    ] = False,
    gai: Annotated[float, typer.Option("--gai", help="With --plan: the GAI to detect.", metavar="NUMBER")] = 1.1,
    mpa_width: Annotated[
        float,
        typer.Option("--mpa-width", help="With --plan: the wanted half-width of MPA's interval.", metavar="NUMBER"),
    ] = 0.05,
    simulations: Annotated[
        int,
        typer.Option(
            "--simulations", help="With --plan: simulated studies of each design, 0 for none.", min=0, metavar="N"
        ),
    ] = 100,
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    threads: Threads = None,
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            help=f"Which table --csv prints: {', '.join(TABLES)}; with --plan {', '.join(PLAN_TABLES)}.",
            metavar="NAME",
        ),
    ] = None,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Tell what the scores of raters or groups show, what it may mean, and what to look at next.

    Scores that are hardly used, ends preferred or avoided, ranges over which a higher score does not mean more severe,
    and pairs of an unsafe and a safe item with the same score. --by rater, the default without a by in plurivox.toml,
    takes each rater on their own. --plan tells what can be asked of the table, and how many raters and items an answer
    takes.
    """
    from plurivox.cli.show_advice import plan_tables, show_advice, show_plan, tables
    from plurivox.cli.tables import print_tables

    one_format(json=json, csv=csv, markdown=markdown)
    known = PLAN_TABLES if plan else TABLES
    wanted = known[0] if table is None else table
    if wanted not in known:
        raise typer.BadParameter(f"--table is one of {', '.join(known)}, not {wanted!r}")
    loaded = load(reading)
    if plan:
        found = _planned(loaded, gai=gai, mpa_width=mpa_width, simulations=simulations, seed=seed, threads=threads)
        print_tables(found, wanted, plan_tables, show_plan, json=json, csv=csv, markdown=markdown)
        return
    from plurivox.actions.advise.rules import Thresholds
    from plurivox.actions.advise.run import advise as analyse
    from plurivox.cli.progress import telling
    from plurivox.kernels.responsiveness import permuted_tables

    against = load_reference(reference, reading, loaded.ratings, reference_scale, reference_where)
    tell_compiling(permuted_tables)
    with telling() as progress:
        advice = analyse(
            loaded.ratings,
            against,
            loaded.by or "rater",
            threshold=threshold,
            thresholds=Thresholds(**_numbers(set_threshold or [])),
            group_score=group_score,
            ties=ties,
            bootstrap=bootstrap,
            max_pairs=max_pairs,
            seed=seed,
            several=loaded.several,
            min_group_size=loaded.min_group_size,
            threads=threads,
            progress=progress,
        )
    print_tables(advice, wanted, tables, show_advice, json=json, csv=csv, markdown=markdown)


def _planned(loaded: "Loaded", **options: object) -> "Plan":
    from plurivox.actions.plan.run import plan
    from plurivox.cli.progress import telling

    with telling() as progress:
        return plan(
            loaded.ratings,
            loaded.by or (),
            several=loaded.several,
            min_group_size=loaded.min_group_size,
            progress=progress,
            **options,  # type: ignore[arg-type]
        )


def _numbers(texts: list[str]) -> dict[str, float]:
    """Read ``least_rise=0.1``."""
    from dataclasses import fields

    from plurivox.actions.advise.rules import Thresholds

    known = [one.name for one in fields(Thresholds)]
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in known:
            raise typer.BadParameter(f"--set knows {', '.join(known)}, not {name!r}")
        try:
            found[name] = float(value)
        except ValueError:
            raise typer.BadParameter(f"--set {name} needs a number, not {value!r}") from None
    return found
