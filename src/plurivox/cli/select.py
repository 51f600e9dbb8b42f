"""``plurivox select``: the most responsive raters of every group."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from plurivox.cli.loading import load, load_reference
from plurivox.cli.options import (
    Against,
    Bootstrap,
    Json,
    Markdown,
    Reading,
    ReferenceScale,
    ReferenceWhere,
    Seed,
    Threads,
    Threshold,
    one_format,
    reads_ratings,
    tell_compiling,
)

if TYPE_CHECKING:
    from rich.console import Console

    from plurivox.actions.select.result import Selection
    from plurivox.results.text import Shown

TABLES = ("chosen", "groups", "candidates")


@reads_ratings
def select(
    reading: Reading,
    reference: Against = "crowd",
    reference_scale: ReferenceScale = None,
    reference_where: ReferenceWhere = None,
    threshold: Threshold = None,
    per_group: Annotated[
        int, typer.Option("--per-group", help="How many raters to choose of each group.", min=1, metavar="N")
    ] = 3,
    metric: Annotated[
        str,
        typer.Option("--metric", help="What to choose by: hm, or one of its two parts, mpa and wra.", metavar="NAME"),
    ] = "hm",
    order: Annotated[
        str,
        typer.Option(
            "--order",
            help="lower: by the lower end of the 95 % interval, so that luck with few ratings does not win; value: by "
            "the value itself, which finds more where raters differ widely or groups are small.",
            metavar="ORDER",
        ),
    ] = "lower",
    min_ratings: Annotated[
        int,
        typer.Option(
            "--min-ratings",
            help="Choose nobody with fewer ratings of items that have a reference.",
            min=0,
            metavar="N",
        ),
    ] = 20,
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print one table as CSV, one row per group and rater.")] = False,
    markdown: Markdown = False,
    table: Annotated[
        str, typer.Option("--table", help=f"Which table --csv prints: {', '.join(TABLES)}.", metavar="NAME")
    ] = "chosen",
) -> None:
    """Choose the most responsive raters of every group, and name them.

    Every rater is held against the reference on their own: MPA asks whether each higher score means more severe, WRA
    whether unsafe items get higher scores than safe ones, and HM is their harmonic mean. The first few of each group
    are chosen. Every group appears, also one of which nobody is eligible; only groups too small to show are withheld.
    """
    from plurivox.actions.select.run import select_raters
    from plurivox.cli.progress import telling
    from plurivox.cli.tables import print_tables
    from plurivox.kernels.responsiveness import rater_draws

    one_format(json=json, csv=csv, markdown=markdown)
    if table not in TABLES:
        raise typer.BadParameter(f"--table is one of {', '.join(TABLES)}, not {table!r}")
    loaded = load(reading)
    against = load_reference(reference, reading, loaded.ratings, reference_scale, reference_where)
    tell_compiling(rater_draws)
    with telling() as progress:
        found = select_raters(
            loaded.ratings,
            against,
            loaded.axes(),
            per_group=per_group,
            metric=metric,
            order=order,
            min_ratings=min_ratings,
            threshold=threshold,
            bootstrap=bootstrap,
            seed=seed,
            several=loaded.several,
            min_group_size=loaded.min_group_size,
            threads=threads,
            progress=progress,
        )
    print_tables(found, table, _tables, _show, json=json, csv=csv, markdown=markdown)


def _tables(found: "Selection") -> "list[Shown]":
    """Return the chosen raters of each axis as text."""
    from plurivox.results.text import Shown
    from plurivox.statistics.registry import LABELS

    metric = found.settings["metric"]
    others = [name for name in ("mpa", "wra", "hm") if name != metric]
    header = [
        "group", "rank", "rater", f"{LABELS[metric]} [95 %]", *(LABELS[name] for name in others), "ratings", "tied",
    ]  # fmt: skip
    lines: dict[str, list[list[str]]] = {}
    for row in found.to_frame().iter_rows(named=True):
        line = [row["group"], "–", "nobody", *["–"] * (2 + len(others)), ""]
        if row["rater"] is not None:
            values = [_value(row), *(f"{row[name]:.3f}" for name in others)]
            line = [row["group"], str(row["rank"]), row["rater"], *values, f"{row['n_ratings']:,}"]
            line.append("yes" if row["tied"] else "")
        lines.setdefault(row["axis"], []).append(line)
    return [Shown(f"The most responsive raters by {axis}", header, rows) for axis, rows in lines.items()]


def _show(found: "Selection", out: "Console") -> None:
    """Print a selection."""
    from rich.text import Text

    from plurivox.cli.tables import print_notes, print_table

    for table in _tables(found):
        print_table(table, out)
    ties = found.to_frame().filter("tied").select("group", "rater", "note").rows()
    print_notes([f"{group}, {rater}: {note}" for group, rater, note in ties], out)
    if ties:
        out.print()
    for sentence in found.findings():
        out.print(Text(f"• {sentence}"))


def _value(row: dict[str, Any]) -> str:
    """Return a value with its interval, where there is one."""
    low, high = row["ci_low"], row["ci_high"]
    known = low is not None and low == low  # NaN differs from itself
    return f"{row['value']:.3f} [{low:.2f}, {high:.2f}]" if known else f"{row['value']:.3f}"
