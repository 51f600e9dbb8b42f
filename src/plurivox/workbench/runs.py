"""Pages of running work: its progress, and the results of a run as they arrive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from plurivox.base.errors import SelectionError
from plurivox.report.sections import has_section
from plurivox.workbench.bench import Bench, environment, single
from plurivox.workbench.charts import at_home
from plurivox.workbench.guard import NONCE
from plurivox.workbench.keeping import DONE_FILE, touch
from plurivox.workbench.pages import bench_of, form_of, go, one, study_of, study_page
from plurivox.workbench.records import DONE, StoredRun, StudyRecord

ANSWER = "answer"
SECTIONS = ("study", *(lens.name for lens in single() if has_section(lens)), "soft", "methods")


def run_of(request: Request) -> StoredRun:
    """Return the run and the study named in an address."""
    study, run = study_of(request), bench_of(request).store.run(request.path_params["run"])
    if run.study != study.id:
        raise SelectionError("this study has no such run", hint="Choose one of the results.")
    return run


async def events(request: Request) -> Response:
    """Report a run's progress to a page, as long as it listens."""
    jobs, run = bench_of(request).jobs, run_of(request)

    async def told() -> AsyncIterator[bytes]:
        with jobs.listening(run.id) as listener:
            async for names in listener.changes():
                yield "".join(f"event: {name}\ndata: {name}\n\n" for name in names).encode() or b": waiting\n\n"

    return StreamingResponse(told(), media_type="text/event-stream")


async def progress(request: Request) -> Response:
    """Show a run's progress, as a piece of a page."""
    macros = (
        environment()
        .get_template("macros.html.j2")
        .make_module({"nonce": request.scope[NONCE], "here": "", "bare": True})
    )
    return HTMLResponse(str(macros.bar(bench_of(request).jobs.progress(run_of(request).id))))


async def cancel(request: Request) -> Response:
    """End a run."""
    form = await form_of(request)
    await bench_of(request).jobs.cancel(run_of(request).id)
    return go(one(form, "back") or "/")


async def again(request: Request) -> Response:
    """Try again what failed or was cancelled."""
    bench, run, form = bench_of(request), run_of(request), await form_of(request)
    if run.kind == "run":
        bench.run(study_of(request), run.asked)
    else:
        bench.jobs.ask(study_of(request), run.kind, run.asked, again=True)
    back = one(form, "back")
    if run.kind == "run":
        back = f"/studies/{run.study}/results"
    return go(back or "/")


def needed(request: Request, study: StudyRecord) -> StoredRun:
    """Return the run that a page is based on, or raise if there is none."""
    run = bench_of(request).last_run(study.id, request.query_params.get("run"))
    if run is None:
        raise SelectionError(
            "no analyses have been run for this study yet", hint="Go to Questions and run the analyses."
        )
    return run


async def results(request: Request) -> Response:
    """Show a part of a run, or its first screen; finished parts are shown while the run continues."""
    bench, study = bench_of(request), study_of(request)
    run = needed(request, study)
    folder = bench.store.made(study.id) / run.key
    state = bench.jobs.progress(run.id)
    done = run.state == DONE
    touch(folder / DONE_FILE)
    parts = bench.jobs.told(folder)["parts"] if done and bench.jobs.made(study.id, run.key) else state.parts
    parts = [*([{"id": ANSWER, "title": "In short"}] if done else []), *parts]
    wanted = request.query_params.get("part") or (parts[0]["id"] if parts else "")
    title = next((part["title"] for part in parts if part["id"] == wanted), "")
    shown = piece(folder / f"{wanted}.html", study, run) if title else ""
    earlier = [other for other in bench.store.runs(study.id, "run", 20) if other.id != run.id]
    return study_page(
        request, "results.html.j2", study, "results", run=run, parts=parts, part=wanted, title=title, shown=shown,
        progress=state, names=SECTIONS, notes=bench.store.notes(study.id), earlier=earlier,
        look=look_of(bench, study, run),
        stale=run.key != bench.jobs.key(study, "run", run.asked), **bench.commands(study, run.asked),
    )  # fmt: skip


def look_of(bench: Bench, study: StudyRecord, run: StoredRun) -> dict[str, Any] | None:
    """Return which look at a growing study a run is; None for a study that is not watched."""
    watch = bench.watcher.watches.of(study.id)
    if watch is None or not watch.counted:
        return None
    number = sum(at <= run.created for at in watch.looks)
    return {"number": number, "planned": watch.planned, "corrected": run.asked.get("looks", 1) >= watch.planned}


def piece(path: Path, study: StudyRecord, run: StoredRun | None) -> str:
    """Return a piece of a page made by the library itself, which escapes everything; empty if it is gone.

    Links in its charts lead to pages of the run.
    """
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return at_home(text, f"/studies/{study.id}", None if run is None else run.id)


ROUTES = [
    Route("/studies/{study}/runs/{run}/events", events),
    Route("/studies/{study}/runs/{run}/progress", progress),
    Route("/studies/{study}/runs/{run}/cancel", cancel, methods=["POST"]),
    Route("/studies/{study}/runs/{run}/again", again, methods=["POST"]),
    Route("/studies/{study}/results", results),
]
