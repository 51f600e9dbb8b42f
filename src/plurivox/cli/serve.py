"""``plurivox serve``: studies in the browser."""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from plurivox.cli.options import option
from plurivox.cli.printing import put, say


def serve(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES", show_default=False,
            help="Files to begin a study with: ratings, or a packed study, and beside them raters, items, population, "
            "reference, predictions or answers, told by their names.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        option("Weight raters to a population: a table of attribute, value and share. It begins the study with FILES.",
               "FILE"),
    ] = None,
    trim: Annotated[
        float | None, option("No rater's weight above this many times the mean (default 5).", "TIMES", min=1)
    ] = None,
    folder: Annotated[Path | None, option("Where studies lie (default: a folder of your own).", "FOLDER")] = None,
    host: Annotated[str, option("Address to listen at; only this machine unless you say so.", "ADDRESS")] = "127.0.0.1",
    port: Annotated[int, option("Port to listen at; 0 for any that is free.", "N", min=0, max=65535)] = 0,
    max_upload: Annotated[int, option("Largest file that is taken, in megabytes.", "MB", min=1)] = 1024,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
) -> None:  # fmt: skip
    """Show studies in the browser: drop a file, check what was recognised, look at results, take the report away.

    Everything stays on this machine. The address that is printed holds a key, and holds good for one browser. Ctrl-C
    ends the server; studies are there again when it is started the next time.
    """
    import webbrowser

    if weights is not None and not files:
        raise typer.BadParameter("--weights is about ratings: name their file, too")
    if trim is not None and weights is None:
        raise typer.BadParameter("--trim is about weights: give the population with --weights FILE")
    from plurivox.errors import MissingExtraError

    try:
        from plurivox.workbench.server import Address, default_folder
        from plurivox.workbench.server import serve as serving
        from plurivox.workbench.starting import begin
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] == "plurivox":
            raise
        raise MissingExtraError("the workbench needs Starlette, uvicorn and Jinja", "web") from None
    from plurivox.workbench.store import Store

    store = Store(default_folder() if folder is None else folder)
    with contextlib.closing(store):
        path = begin(store, files, weights, trim) if files else "/"
        address = Address.open(host, port)
        if not address.local:
            say(f"anybody who reaches {host} and has the address below can open your studies; nothing is encrypted")

        def ready(first: str) -> None:
            first = first.replace("/?", f"{path}?", 1)
            put(first)
            say(f"studies are in {store.folder}; Ctrl-C ends the server")
            if browser:
                webbrowser.open(first)

        serving(address, store, max_upload << 20, ready)
