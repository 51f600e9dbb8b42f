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
            help="Files to start a study with: ratings or a packed study, and optionally raters, items, population, "
            "reference, predictions or answers, recognised by their names.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        option("Weight raters to a population: a table with attribute, value and share. Use it together with FILES.",
               "FILE"),
    ] = None,
    trim: Annotated[
        float | None, option("Limit each rater's weight to this many times the mean (default 5).", "TIMES", min=1)
    ] = None,
    folder: Annotated[Path | None, option("Folder with the studies (default: one of your own).", "FOLDER")] = None,
    adopt: Annotated[
        bool,
        typer.Option("--adopt", help="Take in studies that are in the folder, but not in its list of studies."),
    ] = False,
    host: Annotated[str, option("Address to listen on; by default, this machine only.", "ADDRESS")] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        option("Name by which browsers may also call this machine, if --host makes it reachable from others.", "NAME"),
    ] = None,
    port: Annotated[int, option("Port to listen on; 0 for any free port.", "N", min=0, max=65535)] = 0,
    max_upload: Annotated[int, option("Largest file accepted, in megabytes.", "MB", min=1)] = 1024,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
) -> None:  # fmt: skip
    """Open a workbench in the browser: drop a file, check what was recognised, explore results, save the report.

    Everything stays on this machine. The printed address contains a key and is valid for one browser. Ctrl-C stops the
    server; your studies are there again the next time you start it.
    """
    import webbrowser

    if weights is not None and not files:
        raise typer.BadParameter("--weights applies to ratings: also name their file")
    if trim is not None and weights is None:
        raise typer.BadParameter("--trim limits weights: also give the population with --weights FILE")
    from plurivox.base.errors import MissingExtraError

    try:
        from plurivox.workbench.server import Address, default_folder
        from plurivox.workbench.server import serve as serving
        from plurivox.workbench.uploads import begin
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] == "plurivox":
            raise
        raise MissingExtraError("the workbench needs Starlette, uvicorn and Jinja", "web") from None
    from plurivox.workbench.store import StudyStore

    store = StudyStore(default_folder() if folder is None else folder, adopt)
    for remark in store.remarks:
        say(remark)
    with contextlib.closing(store):
        path = begin(store, files, weights, trim) if files else "/"
        address = Address.open(host, port, allow_host or ())
        if not address.local:
            say(f"anyone who can reach {host} and has the address below can open your studies; nothing is encrypted")

        if address.nameless:
            say("other machines need a name for this one: start with --allow-host NAME, the name or address they use")

        def ready(first: str) -> None:
            first = first.replace("/?", f"{path}?", 1)
            put(first)
            say(f"studies are in {store.folder}; Ctrl-C stops the server")
            if browser:
                webbrowser.open(first)

        serving(address, store, max_upload << 20, ready)
