"""``plurivox item``: one item, who gave it which score, and which groups stand apart."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plurivox.cli.loading import load
from plurivox.cli.options import (
    Csv,
    Json,
    Markdown,
    Permutations,
    Reading,
    Seed,
    one_format,
    reads_ratings,
    tell_compiling,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from plurivox.lenses.item.result import ItemView
    from plurivox.results.text import Shown

TABLES = ("groups", "distribution", "use", "attributes")
MAX_TEXT = 4000
MAX_POINTS = 25
MAX_TIED = 4
MAX_LABEL = 20
_HEADER = ["group", "ratings", "plurality", "mean", "difference", "distance", "chance", "p", "p corrected"]
LEGEND = (
    "difference: a group's mean less that of the item's other raters on the axis; distance: earth mover's, 1 is the "
    "length of the scale; chance: its median when raters are shuffled"
)


@reads_ratings
def item(
    reading: Reading,
    wanted: Annotated[str, typer.Argument(metavar="ITEM", help="The item's id.", show_default=False)],
    permutations: Permutations = 1000,
    seed: Seed = 0,
    chart: Annotated[
        Path | None,
        typer.Option("--chart", help="Also draw it: a name that ends with .svg, .png or .html.", metavar="FILE"),
    ] = None,
    table: Annotated[
        str, typer.Option("--table", help=f"Which table --csv prints: {', '.join(TABLES)}.", metavar="NAME")
    ] = "groups",
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Show one item: which scores it got, from which groups, and which groups stand apart.

    Each group is compared with the item's other raters by the distance between their distributions, and raters are
    shuffled between groups to see what chance does. Without --by, groups are those of every attribute of the raters.
    """
    from plurivox.cli.show import console, csv_text, markdown_text
    from plurivox.lenses.item.run import item_view

    one_format(json=json, csv=csv, markdown=markdown)
    if table not in TABLES:
        raise typer.BadParameter(f"--table is one of {', '.join(TABLES)}, not {table!r}")
    if chart is not None:
        _check_picture(chart)
    loaded = load(reading)
    by = loaded.by or [(name,) for name in loaded.ratings.raters.columns[1:]]
    if permutations and by and loaded.ratings.has_raters:
        from plurivox.kernels.shuffling import permute

        tell_compiling(permute)
    found = item_view(
        loaded.ratings,
        wanted,
        by,
        several=loaded.several,
        permutations=permutations,
        seed=seed,
        min_group_size=loaded.min_group_size,
    )
    if chart is not None:
        _draw(found, chart)
    if json:
        print(found.to_json())
    elif csv:
        print(csv_text(found.table(table)), end="")
    elif markdown:
        shown = [one._replace(title=_escaped(one.title)) for one in _tables(found)]
        print(markdown_text(shown, [_escaped(_line(sentence)) for sentence in found.findings()]))
    else:
        _show(found, console())


def _check_picture(path: Path) -> None:
    """Raise before minutes of work if the name is that of no picture."""
    from plurivox.plots.writing import FORMATS

    if path.suffix.lower() not in FORMATS:
        raise typer.BadParameter(f"--chart is a name that ends with one of {', '.join(FORMATS)}, not {str(path)!r}")


def _draw(found: "ItemView", path: Path) -> None:
    from plurivox.plots.item_views import item_groups
    from plurivox.plots.writing import write_chart

    print(f"chart: {write_chart(item_groups(found), path)}", file=sys.stderr)


def _show(found: "ItemView", out: "Console") -> None:
    from rich.padding import Padding
    from rich.text import Text

    from plurivox.cli.show import ACCENT, printable
    from plurivox.cli.tables import print_table

    out.print(Text(_line(f"Item {found.settings['item']}"), style="bold"))
    for name, value in found.table("attributes").iter_rows():
        text = value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}…"
        out.print(Padding(Text(f"{_line(name)}: {printable(text)}"), (0, 0, 0, 2)))
    out.print()
    out.print(Text("Scores of all raters, beside all items of the study", style=f"bold {ACCENT}"))
    out.print(Padding(_bars(found), (0, 0, 1, 2)))
    groups = _group_tables(found)
    for shown in groups:
        print_table(shown, out)
    if groups:
        out.print(Text(LEGEND))
        out.print()
    for sentence in found.findings():
        out.print(Text(f"• {_line(sentence)}"))


def _bars(found: "ItemView") -> "Table":
    """Return the use of the scale with a small bar for each point; of a long scale the two ends."""
    from rich.text import Text

    from plurivox.cli.show import ACCENT, BAR_WIDTH, plain_table

    table = plain_table("point", "ratings", "share", "all items", "")
    table.columns[-1].justify = "left"
    top = max(found.table("use")["n_ratings"])
    for line, n in _use_rows(found):
        bar = "" if n is None else "█" * round(BAR_WIDTH * n / top) or ("▏" if n else "")
        table.add_row(*map(Text, line), Text(bar, ACCENT))
    return table


def _use_rows(found: "ItemView") -> list[tuple[list[str], int | None]]:
    """Return point, ratings, share and share of the study as text, and the ratings as a number."""
    rows: list[tuple[list[str], int | None]] = [
        ([_line(point), f"{n:,}", f"{share:.1%}", f"{usual:.1%}"], n)
        for point, n, share, usual in found.table("use").iter_rows()
    ]
    half = MAX_POINTS // 2
    return rows if len(rows) <= MAX_POINTS else [*rows[:half], (["…", "", "", ""], None), *rows[-half:]]


def _tables(found: "ItemView") -> "list[Shown]":
    """Return all that the terminal shows as tables of text."""
    from plurivox.results.text import Shown

    known = [[_line(name), _line(value[:MAX_TEXT])] for name, value in found.table("attributes").iter_rows()]
    title = _line(f"Item {found.settings['item']}")
    about = [Shown(title, ["attribute", "value"], known)] if known else []
    lines = [line for line, _ in _use_rows(found)]
    use = Shown(
        "Scores of all raters, beside all items of the study", ["point", "ratings", "share", "all items"], lines
    )
    return [*about, use, *_group_tables(found)]


def _group_tables(found: "ItemView") -> "list[Shown]":
    """Return a table for each axis."""
    from plurivox.results.text import Shown

    parts = found.table("distribution").partition_by("axis", "group", as_dict=True)
    points = found.settings["points"]
    header = [*_HEADER, "distribution"] if len(points) <= MAX_POINTS else _HEADER
    shown = []
    for axis, n_withheld in found.settings["withheld"].items():
        rows = found.to_frame()[1:].filter(axis=axis).iter_rows(named=True)
        lines = [_group_line(row, points, parts[axis, row["group"]]["n_ratings"].to_list()) for row in rows]
        withheld = f", {n_withheld:,} withheld" if n_withheld else ""
        shown.append(Shown(f"{_line(axis)}{withheld}", header, [line[: len(header)] for line in lines]))
    return shown


def _group_line(row: dict[str, Any], points: list[str], counts: list[int]) -> list[str]:
    from plurivox.cli.show import BARS
    from plurivox.results.text import p_cell

    top = max(counts)
    tied = [_cut(point) for point, n in zip(points, counts, strict=True) if n == top]
    plurality = ", ".join(tied) if len(tied) <= MAX_TIED else f"{len(tied)} tied"
    bars = "".join("·" if n == 0 else BARS[-(-8 * n // top) - 1] for n in counts)
    return [
        _line(row["group"]), f"{row['n_ratings']:,}", plurality, f"{row['mean']:.2f}",
        _number(row["difference"], "+.2f"), _number(row["value"], ".3f"), _number(row["null_median"], ".3f"),
        p_cell(row["p_value"]), p_cell(row["p_adjusted"]), bars,
    ]  # fmt: skip


def _number(value: float | None, form: str) -> str:
    return "–" if value is None or value != value else format(value + 0.0, form)


def _escaped(text: str) -> str:
    """Return a text that starts no HTML in Markdown."""
    return text.replace("<", "&lt;")


def _cut(text: str) -> str:
    line = _line(text)
    return line if len(line) <= MAX_LABEL else f"{line[: MAX_LABEL - 1].rstrip()}…"


def _line(text: str) -> str:
    """Return a text of the data on one line, without what could steer a terminal."""
    from plurivox.cli.show import printable

    return " ".join(printable(text).split())
