"""``plurivox data``: public data sets, their licences and files; fetching and checking them."""

import json as to_json
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from plurivox.base.errors import InputError
from plurivox.cli.ending import INTERRUPTED
from plurivox.cli.options import Text
from plurivox.cli.outputs import FORMS, Csv, Html, Json, Latex, Markdown, Outputs
from plurivox.cli.printing import put, say

if TYPE_CHECKING:
    from plurivox.data.checking import Check
    from plurivox.data.record import Dataset

Action = Literal["list", "info", "get", "check"]


def data(
    action: Annotated[
        Action,
        typer.Argument(
            metavar="list|info|get|check",
            help="List all data sets, describe one, fetch it, or check a file.",
            show_default=False,
        ),
    ],
    what: Annotated[
        str | None,
        typer.Argument(metavar="NAME|FILE", help="A data set, or a file or folder to check.", show_default=False),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="Use this local copy instead of fetching.", metavar="FILE")
    ] = None,
    accept_licence: Annotated[
        bool, typer.Option("--accept-licence", help="Accept the licence without being asked.")
    ] = False,
    name: Annotated[Text, typer.Option("--as", help="The data set that FILE should contain.", metavar="NAME")] = None,
    json: Json = None,
    csv: Csv = None,
    markdown: Markdown = None,
    latex: Latex = None,
    html: Html = None,
) -> None:
    """List, fetch and check public data sets with ratings by several people.

    Files are saved in the user's cache directory once their licence has been shown and accepted; an interrupted
    download continues where it stopped. In Python, pv.data.load(NAME) reads them.
    """
    forms = {"json": json, "csv": csv, "markdown": markdown, "latex": latex, "html": html}
    _refuse_what_is_ignored(action, what, source=source, accept_licence=accept_licence, name=name, **forms)
    outputs = Outputs.of(forms)
    if action == "list":
        _list(outputs)
        return
    from plurivox.data.catalogue import dataset

    assert what is not None
    if action == "info":
        _info(dataset(what), outputs)
    elif action == "get":
        _get(dataset(what), source, accept_licence, outputs)
    else:
        from plurivox.data.checking import check_path

        _check(check_path(Path(what), None if name is None else dataset(name)), outputs)


_TAKES = {
    "list": tuple(FORMS), "info": ("json",), "get": ("source", "accept_licence", "json"), "check": ("name", "json")
}  # fmt: skip
_CALLED = {"source": "--from", "accept_licence": "--accept-licence", "name": "--as"}


def _refuse_what_is_ignored(action: str, what: str | None, **given: Any) -> None:
    if action == "list" and what is not None:
        raise typer.BadParameter(f"list takes no name; plurivox data info {what} describes one")
    if action != "list" and what is None:
        raise typer.BadParameter(f"{action} needs {'a file' if action == 'check' else 'the name of a data set'}")
    for option_name, value in given.items():
        if value and option_name not in _TAKES[action]:
            raise typer.BadParameter(f"{action} takes no {_CALLED.get(option_name, f'--{option_name}')}")


def _list(outputs: Outputs) -> None:
    import polars as pl

    from plurivox.cli.console import console
    from plurivox.cli.tables import print_table
    from plurivox.data.catalogue import catalogue
    from plurivox.data.store import is_held
    from plurivox.infer.exports import Document
    from plurivox.infer.view import View

    known, header = catalogue().values(), ["name", "items", "raters", "ratings", "scale", "here"]
    rows = [[one.name, *map(_number, _sizes(one)), _points(one.scale), "yes" if is_held(one) else ""] for one in known]
    shown = View("Data sets", header, rows)

    def show() -> None:
        print_table(shown, console())
        put("plurivox data info NAME shows more; plurivox data get NAME fetches it.")

    def frame() -> pl.DataFrame:
        cells = [(one.name, *_sizes(one), one.scale, is_held(one)) for one in known]
        return pl.DataFrame(cells, schema=header, orient="row")

    outputs.deliver(
        show=show, json=lambda: to_json.dumps([_record(one) for one in known], ensure_ascii=False), csv=frame,
        documents=lambda: [Document([shown])],
    )  # fmt: skip


def _sizes(one: "Dataset") -> tuple[int | None, int | None, int | None]:
    return one.counts.items, one.counts.raters, one.counts.ratings


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _points(scale: str) -> str:
    points = scale.split(" < ")
    return scale if len(scale) <= 20 else f"{points[0]} … {points[-1]}"


def _record(one: "Dataset") -> dict[str, Any]:
    """Return a data set as it appears in JSON."""
    from plurivox.data.store import folder_of, held

    found = {key: value for key, value in _fields(one).items() if key != "load"}
    return {
        **found, "can_be_loaded": one.load is not None, "folder": str(folder_of(one)),
        "here": [path.name for path in held(one)],
    }  # fmt: skip


def _fields(one: "Dataset") -> dict[str, Any]:
    from dataclasses import replace

    return asdict(replace(one, load=None))


def _info(one: "Dataset", outputs: Outputs) -> None:
    outputs.deliver(show=lambda: _tell(one), json=lambda: to_json.dumps(_record(one), ensure_ascii=False))


def _tell(one: "Dataset") -> None:
    from plurivox.data.store import folder_of, is_held

    counts = ", ".join(
        f"{count:,} {what}" for what, count in zip(("items", "raters", "ratings"), _sizes(one), strict=True) if count
    )
    said = f" ({one.counts.said_by})" if one.counts.said_by else ""
    lines = {
        "question": one.question, "scale": one.scale, "size": f"{counts}{said}".strip(),
        "raters": ", ".join(one.rater_attributes), "items": ", ".join(one.item_attributes), "reference": one.reference,
        "note": one.note, "licence": one.licence, "cite": one.citation, "home": one.home,
        "loader saw": one.seen, "here": str(folder_of(one)) if is_held(one) else "",
    }  # fmt: skip
    put(one.title, *(f"  {key:<11}{value}" for key, value in lines.items() if value))
    for table in one.tables:
        rows = "" if table.rows is None else f", {table.rows:,} rows"
        known = "" if table.sha256 is None else f", SHA-256 of a copy {table.sha256}"
        put(f"  file       {table.name}{rows}{known}", f"             needs {', '.join(table.columns) or 'nothing'}")
    for file in one.downloads:
        known = "" if file.sha256 is None else f", SHA-256 {file.sha256}"
        put(f"  fetch      {file.address}{known}")
    if not one.downloads:
        then = "" if one.load is None else f", then plurivox data get {one.name} --from FILE"
        put(f"  fetch      cannot be fetched automatically; download it from its home page{then}")


def _get(one: "Dataset", source: Path | None, accepted: bool, outputs: Outputs) -> None:
    from plurivox.cli.progress import telling
    from plurivox.data.store import get

    say(f"{one.title}. Licence: {one.licence}", f"Cite: {one.citation}")
    if not accepted and not (_in_terminal() and _agreed()):
        raise InputError(
            "the licence was not accepted, so nothing was fetched", hint="Use --accept-licence, or answer yes."
        )
    try:
        with telling() as progress:
            paths = get(one, source, progress)
    except KeyboardInterrupt:
        say("interrupted; what has arrived is kept, and the same command continues")
        raise typer.Exit(INTERRUPTED) from None
    outputs.deliver(show=lambda: put(*paths), json=lambda: to_json.dumps([str(path) for path in paths]))


def _in_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _agreed() -> bool:
    if hasattr(signal, "siginterrupt"):  # with polars, Ctrl-C restarts a read and would not end the question
        signal.siginterrupt(signal.SIGINT, True)
    return typer.confirm("Do you accept the licence?", err=True)


def _check(found: "Check", outputs: Outputs) -> None:
    def show() -> None:
        verdict = "is" if found.same else "can be loaded as" if found.fits else "is not"
        put(f"{found.path} {verdict} {found.name}")
        for sign, remarks in (("=", found.agrees), ("≠", found.differs), ("!", found.wrong)):
            put(*(f"  {sign} {one}" for one in remarks)) if remarks else None

    outputs.deliver(show=show, json=found.to_json)
    if not found.fits:
        raise typer.Exit(1)
