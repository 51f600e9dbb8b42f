"""``plurivox items``: items to look at."""

from typing import TYPE_CHECKING, Annotated

import typer

from plurivox.cli.loading import load
from plurivox.cli.options import Csv, Json, Markdown, Prior, Reading, one_format, read_prior, reads_ratings

if TYPE_CHECKING:
    import polars as pl

    from plurivox.lenses.items.run import Items
    from plurivox.results.text import Shown

TABLES = ("uncertain", "divided", "distributions")


@reads_ratings
def items(
    reading: Reading,
    uncertain: Annotated[
        bool,
        typer.Option("--uncertain", help="Only the items that deserve more ratings, not those that divide groups."),
    ] = False,
    prior: Prior = "1",
    precision: Annotated[
        float | None,
        typer.Option(
            "--precision",
            help="Wanted precision of the mean score: ± so many units of the scale (default: a tenth of its length).",
            metavar="UNITS",
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", help="How many items to show; --csv and --json have all.", min=1)] = 20,
    table: Annotated[
        str, typer.Option("--table", help=f"Which table --csv prints: {', '.join(TABLES)}.", metavar="NAME")
    ] = "uncertain",
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """List the items that deserve more ratings, and those that divide groups.

    What one more rating is expected to tell, in nats, orders the first list; with it come the expected mean score with
    its 95 % credible interval, and how many ratings the wanted precision takes. With --by, the second list has the
    items on which two groups differ most clearly.
    """
    import json as text

    from plurivox.cli.show import console, csv_text, markdown_text
    from plurivox.cli.tables import print_table
    from plurivox.lenses.items.run import items as analyse

    one_format(json=json, csv=csv, markdown=markdown)
    if table not in TABLES:
        raise typer.BadParameter(f"--table is one of {', '.join(TABLES)}, not {table!r}")
    loaded = load(reading)
    found = analyse(
        loaded.ratings,
        () if uncertain else loaded.by or (),
        several=loaded.several,
        prior=read_prior(prior),
        precision=precision,
        min_group_size=loaded.min_group_size,
    )
    if json:
        frames = {name: _plain(getattr(found, name)) for name in TABLES[: 1 if uncertain else 2]}
        print(text.dumps({"kind": "items", "settings": found.settings, **frames}, ensure_ascii=False, allow_nan=False))
    elif csv:
        print(csv_text(found.distributions() if table == "distributions" else getattr(found, table)), end="")
    else:
        shown = _tables(found, top, divided=not uncertain and found.divided.height > 0)
        if markdown:
            print(markdown_text(shown, []))
            return
        out = console()
        for one in shown:
            print_table(one, out)


def _plain(frame: "pl.DataFrame") -> list[dict[str, object]]:
    import polars.selectors as cs

    return frame.with_columns(cs.float().fill_nan(None)).to_dicts()


def _tables(found: "Items", top: int, *, divided: bool) -> "list[Shown]":
    from plurivox.results.text import Shown

    precision, total = found.settings["precision"], found.uncertain.height
    first = f"the first {top:,} of {total:,}" if total > top else f"{total:,}"
    lines = [
        [
            row["item"], f"{row['n_ratings']:,}", _number(row["mean"]), _number(row["expected_mean"]),
            f"[{row['ci_low']:.2f}, {row['ci_high']:.2f}]", f"{row['information_gain']:.3f}",
            "∞" if row["ratings_needed"] is None else f"{row['ratings_needed']:,}",
        ]
        for row in found.uncertain.head(top).iter_rows(named=True)
    ]  # fmt: skip
    header = ["item", "ratings", "mean", "expected", "95 % interval", "gain of one more", f"needed for ±{precision:g}"]
    shown = [Shown(f"Items that deserve more ratings, {first}", header, lines)]
    if divided:
        lines = [
            [
                row["item"], row["axis"], f"{row['low_group']} {row['low_mean']:.2f}",
                f"{row['high_group']} {row['high_mean']:.2f}",
                f"{row['difference']:.2f} [{row['ci_low']:.2f}, {row['ci_high']:.2f}]",
            ]
            for row in found.divided.head(top).iter_rows(named=True)
        ]  # fmt: skip
        header = ["item", "axis", "lowest mean", "highest mean", "difference"]
        shown.append(Shown("Items that divide groups most; of many, some do by chance", header, lines))
    return shown


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
