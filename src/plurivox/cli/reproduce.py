"""``plurivox reproduce``: the tables of a paper beside the same numbers made here."""

from pathlib import Path
from typing import Annotated

import typer

from plurivox.cli.options import Csv, Json, Text, one_format, option
from plurivox.cli.printing import put_csv, put_json, say

PAPERS = ("grasp", "responsiveness", "norms", "soft", "alt-test", "lewidi")


def reproduce(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help=f"{', '.join(PAPERS[:-1])} or {PAPERS[-1]}.", show_default=False)
    ],
    data: Annotated[Text, option("Folder with the files that it takes, or one of them.", "FILE|FOLDER")] = None,
    chart: Annotated[Path | None, option("Draw it: a file that ends in .svg, .png, .html or .json.", "FILE")] = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Print the tables of a paper beside the same numbers made here, with differences, and say where they part.

    Which files a paper takes, and where they are from, is said if they are missing. The exit code is 0 whether numbers
    agree or not.
    """
    import plurivox.reproduce as papers
    from plurivox.cli.show import console, csv_text
    from plurivox.cli.tables import show_tables
    from plurivox.files import will_write
    from plurivox.reproduce.tables import LEGEND, tables

    one_format(json=json, csv=csv, markdown=False)
    if paper not in PAPERS:
        raise typer.BadParameter(f"PAPER is one of {', '.join(PAPERS)}, not {paper!r}")
    will_write(chart)
    found = papers.run(paper, data)
    if chart is not None:
        from plurivox.plots import reproduction, write_chart

        write_chart(reproduction(found), chart)
        say(f"chart: {chart}")
    if json:
        put_json(found.to_json())
    elif csv:
        put_csv(csv_text(found.to_frame()))
    else:
        out = console()
        out.print(found.settings["citation"], style="bold")
        out.print()
        show_tables(tables(found), [], found.findings(), out, LEGEND)
