"""What can be downloaded: the report, tables, and how the study is read, each made on request."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from plurivox.base.errors import SelectionError
from plurivox.report.sections import has_section
from plurivox.workbench.bench import Bench, single
from plurivox.workbench.making import lens_named
from plurivox.workbench.pages import bench_of, form_of, go, one, study_of, study_page
from plurivox.workbench.records import StoredRun, StudyRecord
from plurivox.workbench.runs import needed

FORMS = ("csv", "parquet", "tex", "html")
REPORTS = {
    "report.html": "The report (HTML)", "report.pdf": "The report (PDF)", "summary.html": "One-page summary (HTML)",
    "summary.pdf": "One-page summary (PDF)",
}  # fmt: skip
PATIENCE = 8.0
"""Seconds that a request for a file waits before a page shows its progress."""


def _report(bench: Bench, study: StudyRecord, based: StoredRun) -> dict[str, Any]:
    return {"asked": based.asked, "notes": bench.store.notes(study.id)}


async def export(request: Request) -> Response:
    """Show what can be downloaded."""
    bench, study = bench_of(request), study_of(request)
    based = needed(request, study)
    run = bench.jobs.last(study, "report", _report(bench, study, based))
    folder = None if run is None else bench.jobs.made(study.id, run.key)
    files = [] if folder is None else [(name, REPORTS[name]) for name in bench.jobs.told(folder)["files"]]
    shown = [one for one in single() if _answerable(one, study)]
    return study_page(
        request, "export.html.j2", study, "export", run=run, based=based, files=files, single=shown,
        progress=None if run is None else bench.jobs.progress(run.id), notes=bench.store.notes(study.id),
        **bench.commands(study, based.asked),
    )  # fmt: skip


def _answerable(record: Any, study: StudyRecord) -> bool:
    """Return whether a lens is part of a study's report, so that it has tables."""
    wanted = [source.name for source in record.inputs if source.options[0].argument]
    return has_section(record) and all(name in study.files for name in wanted)


async def make_report(request: Request) -> Response:
    """Have the report written."""
    bench, study, form = bench_of(request), study_of(request), await form_of(request)
    based = bench.last_run(study.id, one(form, "run"))
    if based is None:
        raise SelectionError(
            "no analyses have been run for this study yet", hint="Go to Questions and run the analyses."
        )
    bench.jobs.ask(study, "report", _report(bench, study, based), again=True)
    return go(f"/studies/{study.id}/export?run={based.id}")


async def report_file(request: Request) -> Response:
    """Hand out a file of the report, or how the study is read."""
    bench, study = bench_of(request), study_of(request)
    based, name = needed(request, study), request.path_params["name"]
    kind, asked = ("config", {}) if name == "plurivox.toml" else ("report", _report(bench, study, based))
    if name not in (*REPORTS, "plurivox.toml"):
        raise SelectionError("there is no such file", hint="Choose one from the list.")
    if kind == "report" and bench.jobs.last(study, kind, asked) is None:
        return go(f"/studies/{study.id}/export?run={based.id}")
    return await _file(request, study, kind, asked, name)


async def table(request: Request) -> Response:
    """Hand out a table of a lens."""
    study = study_of(request)
    based, record = needed(request, study), lens_named(request.path_params["lens"])
    name, _, form = request.path_params["name"].rpartition(".")
    known = (*(record.csv_tables or ("values",)), "shown")
    if name not in known or form not in FORMS or not _answerable(record, study):
        raise SelectionError("there is no such table", hint="Choose one from the list.")
    asked = {"asked": based.asked, "lens": record.name, "table": name, "form": form}
    return await _file(request, study, "table", asked, None)


async def _file(
    request: Request, study: StudyRecord, kind: str, asked: Mapping[str, Any], name: str | None
) -> Response:  # fmt: skip
    """Hand out a file once it is made; until then, a page shows its progress."""
    bench = bench_of(request)
    run = bench.jobs.ask(study, kind, asked)
    if run.going:
        with contextlib.suppress(TimeoutError):  # most tables are there in a moment
            run = await asyncio.wait_for(bench.jobs.until_ended(run.id), PATIENCE)
    folder = bench.jobs.made(study.id, run.key)
    told = [] if folder is None else bench.jobs.told(folder)["files"]
    title = name or (told[0] if told else request.path_params["name"])
    if folder is not None and "hx-request" not in request.headers:
        if title not in told:
            raise SelectionError("there is no such file", hint="A PDF needs Chromium on this machine.")
        return FileResponse(folder / title, filename=title)
    return study_page(
        request, "file.html.j2", study, "export", run=run, progress=bench.jobs.progress(run.id), title=title
    )


ROUTES = [
    Route("/studies/{study}/export", export),
    Route("/studies/{study}/export/report", make_report, methods=["POST"]),
    Route("/studies/{study}/export/{name}", report_file),
    Route("/studies/{study}/tables/{lens}/{name}", table),
]
