"""``plurivox data``, ``pack`` and ``reproduce``: public data sets, packed studies, and published tables made again."""

import functools
import json as to_json
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from plurivox.base.errors import InputError
from plurivox.cli.lens import check_picture
from plurivox.cli.loading import config_beside, grouped_by, settings_of, tell_read
from plurivox.cli.options import InputOptions, Text, option, output_option, reads_ratings
from plurivox.cli.outputs import FORMS, Outputs, in_forms
from plurivox.cli.printing import put, say
from plurivox.cli.running import INTERRUPTED
from plurivox.read.settings import ReadSettings

if TYPE_CHECKING:
    from plurivox.data.record import Dataset


Action = Literal["list", "info", "get", "check"]


@in_forms
def data(
    forms: Mapping[str, Any],
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
    source: Annotated[Path | None, option("Use this local copy instead of fetching.", "FILE", "--from")] = None,
    accept_licence: Annotated[
        bool, option("Accept the licence without being asked.", None, "--accept-licence")
    ] = False,
    name: Annotated[Text, option("The data set that FILE should contain.", "NAME", "--as")] = None,
) -> None:
    """List, fetch and check public data sets with ratings by several people.

    Files are saved in the user's cache directory once their licence has been shown and accepted; an interrupted
    download continues where it stopped. In Python, pv.data.load(NAME) reads them.
    """
    _refuse_what_is_ignored(action, what, source=source, accept_licence=accept_licence, name=name, **forms)
    outputs = Outputs.of(forms)
    if action == "list":
        _list(outputs)
        return
    from plurivox.data.sets import dataset

    assert what is not None
    if action == "info":
        one = dataset(what)
        outputs.deliver(show=lambda: _tell(one), json=lambda: to_json.dumps(_record(one), ensure_ascii=False))
    elif action == "get":
        _get(dataset(what), source, accept_licence, outputs)
    else:
        from plurivox.data import check_path

        found = check_path(Path(what), None if name is None else dataset(name))

        def show() -> None:
            verdict = "is" if found.same else "can be loaded as" if found.fits else "is not"
            put(f"{found.path} {verdict} {found.name}")
            for sign, remarks in (("=", found.agrees), ("≠", found.differs), ("!", found.wrong)):
                put(*(f"  {sign} {one}" for one in remarks)) if remarks else None

        outputs.deliver(show=show, json=found.to_json)
        if not found.fits:
            raise typer.Exit(1)


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
    from plurivox.data import is_held
    from plurivox.data.sets import catalogue
    from plurivox.infer.exports import Document
    from plurivox.infer.view import View

    known, header = catalogue().values(), ["name", "items", "raters", "ratings", "scale", "here"]
    rows = []
    for one in known:
        points = one.scale.split(" < ")
        scale = one.scale if len(one.scale) <= 20 else f"{points[0]} … {points[-1]}"
        sizes = ("" if count is None else f"{count:,}" for count in _sizes(one))
        rows.append([one.name, *sizes, scale, "yes" if is_held(one) else ""])
    shown = View("Data sets", header, rows)

    def show() -> None:
        print_table(shown, out=console())
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


def _record(one: "Dataset") -> dict[str, Any]:
    """Return a data set as it appears in JSON."""
    from plurivox.data import folder_of, held

    found = asdict(replace(one, load=None))
    del found["load"]
    return {
        **found, "can_be_loaded": one.load is not None, "folder": str(folder_of(one)),
        "here": [path.name for path in held(one)],
    }  # fmt: skip


def _tell(one: "Dataset") -> None:
    from plurivox.data import folder_of, is_held

    sizes = zip(_sizes(one), ("items", "raters", "ratings"), strict=True)
    counts = ", ".join(f"{count:,} {what}" for count, what in sizes if count)
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
    from plurivox.cli.running import telling
    from plurivox.data import put_into_cache

    say(f"{one.title}. Licence: {one.licence}", f"Cite: {one.citation}")
    if not accepted and not (_in_terminal() and _agreed()):
        raise InputError(
            "the licence was not accepted, so nothing was fetched", hint="Use --accept-licence, or answer yes."
        )
    try:
        with telling() as progress:
            paths = put_into_cache(one, source, progress)
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


FILES = Annotated[
    list[str],
    typer.Argument(
        metavar="FILES", help="Ratings, in any form that commands accept; several files must have the same columns.",
        show_default=False,
    ),
]  # fmt: skip


@functools.partial(reads_ratings, file=FILES)
def pack(
    reading: InputOptions,
    output: Annotated[Path | None, output_option("The folder to make, such as study.pvx.", "FOLDER")] = None,
    append: Annotated[
        list[str] | None,
        option("Add this file to the packed study given as FILES. Repeatable.", "FILE", "--append"),
    ] = None,
    memory: Annotated[str, option("How much memory may be used.", "SIZE", "--memory")] = "2GB",
) -> None:
    """Pack any number of ratings into a folder that every command accepts as FILE.

    The files may be larger than memory. Analyses that are sums over items read the folder part by part and give the
    same numbers to the last bit; others report that they need the ratings in memory.
    """
    from plurivox.read.packed.folder import named
    from plurivox.read.packed.making import pack as packed

    if append and (output is not None or len(reading.file) > 1):
        raise typer.BadParameter("--append adds to one packed study: plurivox pack --append new.csv study.pvx")
    if not append and output is None:
        raise typer.BadParameter("name the folder to write: -o study.pvx")
    for name, spec in ReadSettings.specs().items():
        if spec.stage and name in reading.said:
            raise typer.BadParameter(f"{spec.option} belongs to an analysis: give it when you analyse the packed study")
    sources, folder = (append, Path(reading.file[0])) if append else (reading.file, output)
    assert folder is not None
    config = config_beside(reading, sources[0])
    asked = settings_of(reading, config)
    kept: dict[str, Any] = {name: getattr(asked, name) for name, spec in asked.specs().items() if not spec.stage}
    kept["by"] = [*asked.attributes(), *(() if "by" in reading.said else grouped_by(config))]
    if append:  # what is not given stays as it was when the study was packed
        kept = {name: value for name, value in kept.items() if value and name in reading.said}
    ratings = packed(sources, folder, memory=memory, append=bool(append), **kept)
    tell_read(ratings, config)
    name = named(folder).name
    put(f"{name}: {len(ratings):,} ratings of {ratings.n_items:,} items by {ratings.n_raters:,} raters")
    said = "Its SHA-256 has changed; to demand" if append else "To demand"
    put(f"{said} exactly this study, write {name}#sha256={ratings.sha256}")


PAPERS = ("grasp", "responsiveness", "norms", "soft", "alt-test", "lewidi")


@in_forms
def reproduce(
    forms: Mapping[str, Any],
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help=f"{', '.join(PAPERS[:-1])} or {PAPERS[-1]}.", show_default=False)
    ],
    data: Annotated[Text, option("Folder with the files it needs, or one of them.", "FILE|FOLDER")] = None,
    chart: Annotated[
        Path | None, option("Draw a chart: a file name ending in .svg, .png, .pdf, .html or .json.", "FILE")
    ] = None,
) -> None:
    """Print the tables of a paper next to the numbers computed here, and show where they differ.

    If files are missing, the message says which are needed and where to get them. The exit code is 0 whether or not the
    numbers agree.
    """
    import plurivox.reproduce as papers
    from plurivox.cli.console import console
    from plurivox.cli.tables import show_tables
    from plurivox.infer.exports import document_of
    from plurivox.reproduce import LEGEND, tables

    outputs = Outputs.of({**forms, "chart": chart})
    if paper not in PAPERS:
        raise typer.BadParameter(f"PAPER must be one of {', '.join(PAPERS)}, not {paper!r}")
    if chart is not None:
        check_picture(chart)
    found = papers.run(paper, data)
    if chart is not None:
        from plurivox.plots.studies import reproduction
        from plurivox.plots.writing import write_chart

        say(f"chart: {write_chart(reproduction(found), chart)}")

    def show() -> None:
        out = console()
        out.print(found.settings["citation"], style="bold")
        out.print()
        show_tables(tables(found), [], found.statements(), out, LEGEND)

    outputs.deliver(
        show=show, json=found.to_json, csv=found.to_frame,
        documents=lambda: [document_of(found, {}, found.settings["citation"])],
    )  # fmt: skip
