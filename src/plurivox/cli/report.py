"""``plurivox describe``, ``report`` and ``serve``: what is in a study, shown in a terminal, a file and a browser."""

import contextlib
import inspect
import os
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from plurivox.cli.lens import parameters_of, settings_given
from plurivox.cli.loading import (
    LoadedStudy,
    answers_beside,
    described_answers,
    load,
    load_questions,
    predictions_beside,
    reference,
)
from plurivox.cli.options import CONTEXT, InputOptions, option, output_option, parameter, reads_ratings
from plurivox.cli.outputs import Json, Outputs, json_of
from plurivox.cli.printing import put, say
from plurivox.infer.lens import REFERENCE, Option
from plurivox.report.settings import ReportSettings


@reads_ratings
def describe(
    reading: InputOptions,
    ids: Annotated[bool, option("Show raters' ids instead of numbers.", None, "--ids")] = False,
    json: Json = None,
    write_config: Annotated[
        bool, option("Also write a plurivox.toml next to FILE with what was recognised.", None, "--write-config")
    ] = False,
) -> None:
    """Show what a table of ratings contains.

    Sizes, design, use of the scale, groups of raters, missing values, and anything else noticed while reading.
    """
    from plurivox.cli.console import console
    from plurivox.cli.tables import show_description
    from plurivox.lenses.overview.description import describe as describe_ratings

    outputs = Outputs.of({"json": json})
    questions = load_questions(reading)
    if write_config and len(questions) > 1:
        raise typer.BadParameter("--write-config describes one question; choose it with --score")
    found = {
        question: describe_ratings(
            one.ratings, one.by, several=one.reading.several, min_group_size=one.reading.min_group_size
        )
        for question, one in questions.items()
    }

    def show() -> None:
        out = console()
        for question, one in found.items():
            out.print(f"Question {question}\n" if len(found) > 1 else "", style="bold", end="")
            show_description(one, out, ids=ids, sizes=questions[question].by is not None)

    outputs.deliver(show=show, json=lambda: json_of([one.to_json() for one in found.values()]))
    if write_config:
        _write_config(reading, next(iter(questions.values())))


def _write_config(reading: InputOptions, loaded: LoadedStudy) -> None:
    from plurivox.base.errors import ConfigError
    from plurivox.base.files import write_text
    from plurivox.config import FILE_NAME, config_text

    folder = Path() if reading.file == "-" else Path(reading.file).parent
    path = folder / FILE_NAME
    if path.exists():
        raise ConfigError("it already exists", source=str(path), hint="Move it away first, or edit it.")

    def beside(file: str | None) -> str | None:
        return None if file is None else os.path.relpath(file, folder)

    files = {name: beside(getattr(loaded.reading, name)) for name in ("raters", "items", "weights")}
    text = config_text(loaded.ratings, loaded.reading.replace(**files), recoding=loaded.recoding)
    say(f"wrote {write_text(path, text)}")


_COMPARED = "What scores are compared with, as in plurivox responsiveness (default: the rest of the crowd)."
_SCORED = "Predicted rating distributions to score, as in plurivox score. Repeatable."
_ANSWERS = "Answers of language models: a store of plurivox ask, a table, or a log of another program."
OPTIONS = (
    replace(REFERENCE.options[0], default=None, help=_COMPARED),
    *REFERENCE.options[1:],
    Option(name="predictions", help=_SCORED, metavar="FILE", several=True),
    Option(name="answers", help=_ANSWERS, metavar="FILE"),
)
Summary = Annotated[
    bool, option("Also write a one-page summary to email, and as PDF if Chromium is installed.", None, "--summary")
]
Pdf = Annotated[bool, option("Also print the whole report as PDF; needs Chromium.", None, "--pdf")]
Force = Annotated[bool, option("Overwrite a file that plurivox did not write.", None, "--force")]


def _report(reading: InputOptions, **given: Any) -> None:
    """Write one HTML file that shows what the ratings say.

    It contains findings in sentences, charts with the numbers behind them, the items to look at, and what every number
    means. It needs no network and names no raters; the same input and seed give the same file.
    """
    from plurivox.base.files import refuse_others, will_write
    from plurivox.cli.running import telling
    from plurivox.report import make_report
    from plurivox.report.build import MARKS

    targets = _targets(given)
    will_write(*targets)
    loaded = load(reading)
    asked = {"title": f"What the ratings in {Path(reading.file).name} say", **settings_given(ReportSettings, given)}
    inputs: dict[str, Any] = {}
    if given["reference"] is not None or given["reference_column"] is not None:
        inputs["reference"] = reference(given, reading, loaded)
    if given["predictions"]:
        inputs["predictions"] = predictions_beside(given["predictions"], loaded)
    if given["answers"] is not None:
        inputs["answers"] = described_answers(answers_beside(given["answers"], loaded), loaded)
    named = [reading.file, *(getattr(loaded.reading, name) for name in ("raters", "items", "weights"))]
    named += [*(given[one] for one in inputs if one != "predictions"), *(given["predictions"] or ())]
    files = {Path(name).name: name for name in named if name and name != "-" and Path(name).is_file()}
    if "prior" in asked and not isinstance(asked["prior"], str):
        from plurivox.statistics.checks import prior_of

        prior_of(asked["prior"], len(loaded.ratings.scale))  # fail now rather than after minutes
    for path in () if given["force"] else targets:
        refuse_others(path, MARKS)
    with telling() as progress:
        made = make_report(
            loaded.ratings,
            loaded.axes(needed=False), **inputs, **asked, several=loaded.reading.several,
            min_group_size=loaded.reading.min_group_size, command=shlex.join(["plurivox", *sys.argv[1:]]),
            files=files, progress=progress,
        )  # fmt: skip
        old = [(path, path.stat().st_mtime) for path in targets if path.exists()]
        for path, summary in targets.items():
            made.write(path, summary=summary, force=given["force"])
    for path, moment in old:
        then = time.localtime(moment)
        year = f" {then.tm_year}" if then.tm_year != time.localtime().tm_year else ""
        say(f"replaced {path.name} of {then.tm_mday} {time.strftime('%B', then)}{year}")
    for path in targets:
        put(path.resolve())


def _targets(given: dict[str, Any]) -> dict[Path, bool]:
    """Return what to write, and whether it is the summary; raise if there is no browser to print a PDF."""
    from plurivox.report.render import browser, check_browser

    whole: Path = given["output"]
    found = {whole: False}
    if given["pdf"] or whole.suffix.lower() == ".pdf":
        check_browser()
        found[whole.with_suffix(".pdf")] = False
    if given["summary"]:
        beside = whole.with_name(f"{whole.stem}-summary")
        found |= {beside.with_suffix(kind): True for kind in (".html", *((".pdf",) if browser() else ()))}
    return found


_own = [
    parameter(CONTEXT, typer.Context),
    parameter("output", Annotated[Path, output_option("Where to write the report.")], Path("report.html")),
    parameter("summary", Summary, False),
    parameter("pdf", Pdf, False),
    parameter("force", Force, False),
    *parameters_of(OPTIONS, ReportSettings),
]
_first = inspect.Parameter("reading", inspect.Parameter.POSITIONAL_OR_KEYWORD)
_report.__signature__ = inspect.Signature([_first, *_own])  # type: ignore[attr-defined]
_report.__name__ = "report"
report = reads_ratings(_report)


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
        option("Take in studies that are in the folder, but not in its list of studies.", None, "--adopt"),
    ] = False,
    host: Annotated[str, option("Address to listen on; by default, this machine only.", "ADDRESS")] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        option("Name by which browsers may also call this machine, if --host makes it reachable from others.", "NAME"),
    ] = None,
    port: Annotated[int, option("Port to listen on; 0 for any free port.", "N", min=0, max=65535)] = 0,
    max_upload: Annotated[int, option("Largest file accepted, in megabytes.", "MB", min=1)] = 1024,
    browser: Annotated[bool, option("Open the page in a browser.", None, "--open/--no-open")] = True,
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
        from plurivox.workbench.bench import begin
        from plurivox.workbench.server import Address, default_folder
        from plurivox.workbench.server import serve as serving
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
