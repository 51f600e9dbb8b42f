"""``plurivox reproduce``: the tables of a paper next to the numbers computed here."""

from pathlib import Path
from typing import Annotated

import typer

from plurivox.cli.lens import check_picture
from plurivox.cli.options import Text, option
from plurivox.cli.outputs import Csv, Html, Json, Latex, Markdown, Outputs
from plurivox.cli.printing import say

PAPERS = ("grasp", "responsiveness", "norms", "soft", "alt-test", "lewidi")


def reproduce(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help=f"{', '.join(PAPERS[:-1])} or {PAPERS[-1]}.", show_default=False)
    ],
    data: Annotated[Text, option("Folder with the files it needs, or one of them.", "FILE|FOLDER")] = None,
    chart: Annotated[
        Path | None, option("Draw a chart: a file name ending in .svg, .png, .pdf, .html or .json.", "FILE")
    ] = None,
    json: Json = None,
    csv: Csv = None,
    markdown: Markdown = None,
    latex: Latex = None,
    html: Html = None,
) -> None:
    """Print the tables of a paper next to the numbers computed here, and show where they differ.

    If files are missing, the message says which are needed and where to get them. The exit code is 0 whether or not the
    numbers agree.
    """
    import plurivox.reproduce as papers
    from plurivox.cli.console import console
    from plurivox.cli.tables import show_tables
    from plurivox.infer.exports import document_of
    from plurivox.reproduce.tables import LEGEND, tables

    given = {"json": json, "csv": csv, "markdown": markdown, "latex": latex, "html": html, "chart": chart}
    outputs = Outputs.of(given)
    if paper not in PAPERS:
        raise typer.BadParameter(f"PAPER must be one of {', '.join(PAPERS)}, not {paper!r}")
    if chart is not None:
        check_picture(chart)
    found = papers.run(paper, data)
    if chart is not None:
        from plurivox.plots import reproduction, write_chart

        write_chart(reproduction(found), chart)
        say(f"chart: {chart}")

    def show() -> None:
        out = console()
        out.print(found.settings["citation"], style="bold")
        out.print()
        show_tables(tables(found), [], found.statements(), out, LEGEND)

    outputs.deliver(
        show=show, json=found.to_json, csv=found.to_frame,
        documents=lambda: [document_of(found, {}, found.settings["citation"])],
    )  # fmt: skip
