"""``plurivox report``: one file that shows what a rating study says."""

import inspect
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plurivox.cli.lens import parameters_of, settings_given
from plurivox.cli.loading import answers_beside, described_answers, load, load_reference, predictions_beside
from plurivox.cli.options import CONTEXT, InputOptions, parameter, reads_ratings
from plurivox.cli.printing import put, say
from plurivox.infer.inputs import REFERENCE
from plurivox.infer.lens import Option
from plurivox.report.settings import ReportSettings

if TYPE_CHECKING:
    from plurivox.cli.loading import Loaded

OPTIONS = (
    replace(
        REFERENCE.options[0],
        default=None,
        help="What scores are compared with, as in plurivox responsiveness (default: the rest of the crowd).",
    ),
    *REFERENCE.options[1:],
    Option(
        name="predictions",
        help="Predicted rating distributions to score, as in plurivox score. Repeatable.",
        metavar="FILE",
        several=True,
    ),
    Option(
        name="answers",
        help="Answers of language models: a store of plurivox ask, a table, or a log of another program.",
        metavar="FILE",
    ),
)
Output = Annotated[Path, typer.Option("--output", "-o", help="Where to write the report.", metavar="FILE")]
Summary = Annotated[
    bool, typer.Option("--summary", help="Also write a one-page summary to email, and as PDF if Chromium is installed.")
]
Pdf = Annotated[bool, typer.Option("--pdf", help="Also print the whole report as PDF; needs Chromium.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that plurivox did not write.")]


def _report(reading: InputOptions, **given: Any) -> None:
    """Write one HTML file that shows what the ratings say.

    It contains findings in sentences, charts with the numbers behind them, the items to look at, and what every number
    means. It needs no network and names no raters; the same input and seed give the same file.
    """
    from plurivox.base.files import refuse_others, will_write
    from plurivox.cli.progress import telling
    from plurivox.report import make_report
    from plurivox.report.build import MARKS

    targets = _targets(given)
    will_write(*targets)
    loaded = load(reading)
    asked = {"title": f"What the ratings in {Path(reading.file).name} say", **settings_given(ReportSettings, given)}
    inputs = _inputs(reading, loaded, given)
    named = [
        reading.file,
        loaded.reading.raters,
        loaded.reading.items,
        loaded.reading.weights,
        *(given[one] for one in inputs if one != "predictions"),
    ]
    named += given["predictions"] or []
    files = {Path(name).name: name for name in named if name and name != "-" and Path(name).is_file()}
    if "prior" in asked and not isinstance(asked["prior"], str):
        from plurivox.statistics.checks import prior_of

        prior_of(asked["prior"], len(loaded.ratings.scale))  # fail now rather than after minutes
    for path in () if given["force"] else targets:
        refuse_others(path, MARKS)
    with telling() as progress:
        made = make_report(
            loaded.ratings,
            loaded.by or [(name,) for name in loaded.ratings.raters.columns[1:]],
            **inputs,
            **asked,
            several=loaded.reading.several,
            min_group_size=loaded.reading.min_group_size,
            command=shlex.join(["plurivox", *sys.argv[1:]]),
            files=files,
            progress=progress,
        )
        old = [(path, path.stat().st_mtime) for path in targets if path.exists()]
        for path, summary in targets.items():
            made.write(path, summary=summary, force=given["force"])
    for path, moment in old:
        say(f"replaced {path.name} of {_day(moment)}")
    for path in targets:
        put(path.resolve())


def _day(moment: float) -> str:
    """Return a day in words, with the year unless it is this one: 3 May."""
    then = time.localtime(moment)
    year = f" {then.tm_year}" if then.tm_year != time.localtime().tm_year else ""
    return f"{then.tm_mday} {time.strftime('%B', then)}{year}"


def _targets(given: dict[str, Any]) -> dict[Path, bool]:
    """Return what to write, and whether it is the summary; raise if there is no browser to print a PDF."""
    from plurivox.report.printing import browser, check_browser

    whole: Path = given["output"]
    found = {whole: False}
    if given["pdf"] or whole.suffix.lower() == ".pdf":
        check_browser()
        found[whole.with_suffix(".pdf")] = False
    if given["summary"]:
        beside = whole.with_name(f"{whole.stem}-summary")
        found |= {beside.with_suffix(kind): True for kind in (".html", *((".pdf",) if browser() else ()))}
    return found


def _inputs(reading: InputOptions, loaded: "Loaded", given: dict[str, Any]) -> dict[str, Any]:
    """Read the report's inputs other than ratings, in the order of its options."""
    found: dict[str, Any] = {}
    if given["reference"] is not None or given["reference_column"] is not None:
        found["reference"] = load_reference(given, reading, loaded)
    if given["predictions"]:
        found["predictions"] = predictions_beside(given["predictions"], loaded)
    if given["answers"] is not None:
        found["answers"] = described_answers(answers_beside(given["answers"], loaded), loaded)
    return found


_own = [
    parameter(CONTEXT, typer.Context),
    parameter("output", Output, Path("report.html")),
    parameter("summary", Summary, False),
    parameter("pdf", Pdf, False),
    parameter("force", Force, False),
    *parameters_of(OPTIONS, ReportSettings),
]
_first = inspect.Parameter("reading", inspect.Parameter.POSITIONAL_OR_KEYWORD)
_report.__signature__ = inspect.Signature([_first, *_own])  # type: ignore[attr-defined]
_report.__name__ = "report"
report = reads_ratings(_report)
