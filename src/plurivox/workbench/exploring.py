"""Pages of results: parts of a run as they come, a group, two groups, items, a lens on its own, files to take away."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from plurivox.errors import InputError, SelectionError
from plurivox.workbench.bench import Bench, environment, lens_of, single
from plurivox.workbench.forms import fields_of, read_form
from plurivox.workbench.guard import NONCE
from plurivox.workbench.pages import bench_of, form_of, go, known_of, one, study_of, study_page
from plurivox.workbench.records import DONE, Run, StudyRecord

ANSWER = "answer"
SECTIONS = ("study", *(lens.name for lens in single() if lens.section), "soft", "methods")
FORMS = ("csv", "parquet", "tex", "html")
REPORTS = {
    "report.html": "The report (HTML)", "report.pdf": "The report (PDF)", "summary.html": "One-page summary (HTML)",
    "summary.pdf": "One-page summary (PDF)",
}  # fmt: skip
ORDERS = {"item": "by id", "mean": "highest scores first", "entropy": "most disagreement first",
          "n_ratings": "fewest ratings first"}  # fmt: skip
PER_PAGE = 50
MODEL = "model"
PATIENCE = 8.0
"""Seconds that a request for a file waits for it, before a page tells how far it is."""


# Runs -----------------------------------------------------------------------------------------------------------------


def run_of(request: Request) -> Run:
    """Return the run that an address names, of the study that it names."""
    study, run = study_of(request), bench_of(request).store.run(request.path_params["run"])
    if run.study != study.id:
        raise SelectionError("there is no such run of this study", hint="Choose one of the results.")
    return run


async def events(request: Request) -> Response:
    """Tell a page how its run goes, as long as it listens."""
    jobs, run = bench_of(request).jobs, run_of(request)

    async def told() -> AsyncIterator[bytes]:
        with jobs.listening(run.id) as listener:
            async for names in listener.changes():
                yield "".join(f"event: {name}\ndata: {name}\n\n" for name in names).encode() or b": waiting\n\n"

    return StreamingResponse(told(), media_type="text/event-stream")


async def progress(request: Request) -> Response:
    """Show how far a run is, as a piece of a page."""
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
    """Try once more what failed, or was cancelled."""
    bench, run, form = bench_of(request), run_of(request), await form_of(request)
    if run.kind == "run":
        bench.run(study_of(request), run.asked)
    else:
        bench.jobs.ask(study_of(request), run.kind, run.asked, again=True)
    back = one(form, "back")
    if run.kind == "run":
        back = f"/studies/{run.study}/results"
    return go(back or "/")


def needed(request: Request, study: StudyRecord) -> Run:
    """Return the run that a page is based on, or raise if there is none."""
    run = bench_of(request).last_run(study.id, request.query_params.get("run"))
    if run is None:
        raise SelectionError("nothing was asked of this study yet", hint="Go to Questions, and run the analyses.")
    return run


async def results(request: Request) -> Response:
    """Show a part of a run, or its first screen; parts that are there already while the run goes on."""
    bench, study = bench_of(request), study_of(request)
    run = needed(request, study)
    folder = bench.store.made(study.id) / run.key
    state = bench.jobs.progress(run.id)
    done = run.state == DONE
    parts = bench.jobs.told(folder)["parts"] if done and bench.jobs.made(study.id, run.key) else state.parts
    parts = [*([{"id": ANSWER, "title": "In short"}] if done else []), *parts]
    wanted = request.query_params.get("part") or (parts[0]["id"] if parts else "")
    title = next((part["title"] for part in parts if part["id"] == wanted), "")
    shown = _piece(folder / f"{wanted}.html") if title else ""
    earlier = [other for other in bench.store.runs(study.id, "run", 20) if other.id != run.id]
    return study_page(
        request, "results.html.j2", study, "results", run=run, parts=parts, part=wanted, title=title, shown=shown,
        progress=state, names=SECTIONS, notes=bench.store.notes(study.id), earlier=earlier,
        look=look_of(bench, study, run),
        stale=run.key != bench.jobs.key(study, "run", run.asked), **bench.commands(study, run.asked),
    )  # fmt: skip


def look_of(bench: Bench, study: StudyRecord, run: Run) -> dict[str, Any] | None:
    """Return which look at a growing study a run is; None of a study that nobody watches."""
    watch = bench.watcher.watches.of(study.id)
    if watch is None or not watch.counted:
        return None
    number = sum(at <= run.created for at in watch.looks)
    return {"number": number, "planned": watch.planned, "corrected": run.asked.get("looks", 1) >= watch.planned}


def _piece(path: Path) -> str:
    """Return a piece of a page that was made by the library itself, which escapes everything; empty if it is gone."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""


# Views ----------------------------------------------------------------------------------------------------------------


def view(
    request: Request, template: str, study: StudyRecord, tab: str, kind: str, asked: Mapping[str, Any] | None,
    place: str = "", **known: Any,
) -> Response:  # fmt: skip
    """Return a page with a view of something, or how far it is; without anything asked, with what can be chosen."""
    bench = bench_of(request)
    run = None if asked is None else bench.jobs.ask(study, kind, asked)
    folder = None if run is None else bench.jobs.made(study.id, run.key)
    title = "" if folder is None else bench.jobs.told(folder).get("title", "")
    return study_page(
        request, template, study, tab, run=run, progress=None if run is None else bench.jobs.progress(run.id),
        shown="" if folder is None else _piece(folder / "view.html"), title=title, place=place,
        notes=bench.store.notes(study.id), **{"command": "", "python": "", **known},
    )  # fmt: skip


def groups_of(bench: Bench, study: StudyRecord, run: Run) -> dict[str, list[str]]:
    """Return the groups of a run by axis."""
    folder = bench.jobs.made(study.id, run.key)
    found: dict[str, list[str]] = {} if folder is None else bench.jobs.told(folder)["groups"]
    return found


async def groups(request: Request) -> Response:
    """Show one group."""
    bench, study = bench_of(request), study_of(request)
    run = needed(request, study)
    known = groups_of(bench, study, run)
    axis, group = request.query_params.get("axis", ""), request.query_params.get("group", "")
    chosen = group in known.get(axis, [])
    asked = {"asked": run.asked, "axis": axis, "group": group} if chosen else None
    return view(
        request, "groups.html.j2", study, "groups", "group", asked, f"{axis}: {group}" if chosen else "",
        groups=known, axis=axis, group=group, others=[name for name in known.get(axis, []) if chosen and name != group],
    )  # fmt: skip


async def compare(request: Request) -> Response:
    """Show two groups, or two models, side by side."""
    bench, study = bench_of(request), study_of(request)
    run = needed(request, study)
    known, models = groups_of(bench, study, run), models_of(bench, study, run)
    axis, first, other = (request.query_params.get(name, "") for name in ("axis", "one", "other"))
    every = known.get(axis, models if axis == MODEL else [])
    chosen = first in every and other in every and first != other
    asked: dict[str, Any] | None = {"asked": run.asked, "one": first, "other": other} if chosen else None
    kind = "compare" if axis in known else "models"
    if asked is not None and kind == "compare":
        asked["axis"] = axis
    place = f"{axis}: {first} and {other}" if chosen else ""
    choices = {**known, **({MODEL: models} if models and MODEL not in known else {})}
    return view(
        request, "compare.html.j2", study, "compare", kind, asked, place, groups=choices, axis=axis, one=first,
        other=other,
    )  # fmt: skip


def models_of(bench: Bench, study: StudyRecord, run: Run) -> list[str]:
    """Return the models whose answers or predictions a run has."""
    folder = bench.jobs.made(study.id, run.key)
    found: list[str] = [] if folder is None else bench.jobs.told(folder)["models"]
    return found


async def items(request: Request) -> Response:
    """List items, searched, filtered and ordered as the address says."""
    import polars as pl

    bench, study = bench_of(request), study_of(request)
    needed(request, study)
    run = bench.jobs.ask(study, "items", {})
    folder = bench.jobs.made(study.id, run.key)
    given = request.query_params
    known: dict[str, Any] = {"q": given.get("q", ""), "orders": ORDERS, "order": given.get("order", "item"),
                             "rows": None, "filters": {}, "chosen": {}}  # fmt: skip
    if folder is not None:
        told = bench.jobs.told(folder)
        frame = pl.scan_parquet(folder / "items.parquet")
        known["filters"] = told["filters"]
        known["chosen"] = {name: given[f"is:{name}"] for name in told["filters"] if given.get(f"is:{name}")}
        for name, value in known["chosen"].items():
            frame = frame.filter(pl.col(f"is:{name}") == value)
        if known["q"]:
            wanted = known["q"].casefold()
            texts = [pl.col(name).str.to_lowercase().str.contains(wanted, literal=True) for name in ("item", "text")]
            frame = frame.filter(pl.any_horizontal(texts).fill_null(value=False))
        known |= _listed(frame.collect(), known["order"], given, request.url.path)
        known["has_text"] = told["has_text"]
    return study_page(
        request, "items.html.j2", study, "items", run=run, progress=bench.jobs.progress(run.id), shown="", command="",
        **known,
    )  # fmt: skip


def _listed(frame: Any, order: str, given: Mapping[str, str], path: str) -> dict[str, Any]:
    """Return the rows of a page, in order, and the addresses of the pages before and after."""
    order = order if order in ORDERS else "item"
    down = order in ("mean", "entropy")
    frame = frame.sort(order, "place", descending=[down, False], nulls_last=True) if order != "item" else frame
    number = given.get("page", "0")
    at = min(int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0, frame.height // PER_PAGE)
    rest = {name: value for name, value in given.items() if name != "page"}

    def address(page: int) -> str:
        return f"{path}?{urlencode({**rest, 'page': page})}"

    first = at * PER_PAGE
    return {
        "rows": frame.slice(first, PER_PAGE).to_dicts(), "total": frame.height, "first": first,
        "before": address(at - 1) if at else None,
        "after": address(at + 1) if first + PER_PAGE < frame.height else None,
    }  # fmt: skip


async def item(request: Request) -> Response:
    """Show one item."""
    bench, study = bench_of(request), study_of(request)
    run, wanted = needed(request, study), request.query_params.get("item", "")
    if not wanted:
        raise SelectionError("no item is named", hint="Choose one of the list of items.")
    lens = lens_of("item_view")
    settings = {name: run.asked[name] for name in lens.settings.specs() if name in run.asked}
    return view(
        request, "view.html.j2", study, "items", "item", {"asked": run.asked, "item": wanted}, f"item {wanted}",
        **bench.commands(study, settings, lens, {"item": wanted}),
    )  # fmt: skip


async def lens(request: Request) -> Response:
    """Ask one lens, with all the settings that it has; the address is the question."""
    bench, study = bench_of(request), study_of(request)
    record = lens_of(request.path_params["lens"])
    look = bench.look(study)
    if look is None or look["problem"]:
        return go(f"/studies/{study.id}")
    given = {name: request.query_params.getlist(name) for name in request.query_params}
    usual = bench.usual(study, look)
    asks = "go" in given
    start = {} if asks or "by" not in record.settings.specs() else {"by": usual["by"]}
    settings = record.settings.from_dict({**read_form(record.settings, given), **start})
    item = one(given, "item")
    wanted = [source.name for source in record.inputs if source.options[0].argument]
    lacking = [name for name in wanted if name != "item" and name not in study.files]
    ready = asks and not lacking and (item or "item" not in wanted)
    question: dict[str, Any] = {
        "lens": record.name,
        "settings": settings.as_dict(),
        "given": {"item": item} if item else {},
    }
    return view(
        request, "lens.html.j2", study, "ask", "question", question if ready else None,
        record.question if ready else "",
        lens=record, fields=fields_of(settings, known_of(look)), wanted=wanted, lacking=lacking, item=item,
        changed=asks and any(field.changed for field in fields_of(settings, known_of(look)) if field.kind != "axes"),
        **bench.commands(study, settings.as_dict(), record, {"item": item} if item else {}),
    )  # fmt: skip


# Notes ----------------------------------------------------------------------------------------------------------------


async def write_note(request: Request) -> Response:
    """Keep a note beside a result."""
    study, form = study_of(request), await form_of(request)
    place, text = one(form, "place"), one(form, "text")
    if not place or len(place) > 500 or len(text) > 5000:
        raise InputError("this note cannot be kept", hint="It may have 5,000 characters, beside a result.")
    bench_of(request).store.write_note(study.id, place, text)
    return go(one(form, "back") or f"/studies/{study.id}/results")


# Files ----------------------------------------------------------------------------------------------------------------


def _report(bench: Bench, study: StudyRecord, based: Run) -> dict[str, Any]:
    return {"asked": based.asked, "notes": bench.store.notes(study.id)}


async def export(request: Request) -> Response:
    """Show what can be taken away."""
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
    """Tell whether a lens was asked in a report of a study, so that it has tables."""
    wanted = [source.name for source in record.inputs if source.options[0].argument]
    return bool(record.section) and all(name in study.files for name in wanted)


async def make_report(request: Request) -> Response:
    """Have the report written."""
    bench, study, form = bench_of(request), study_of(request), await form_of(request)
    based = bench.last_run(study.id, one(form, "run"))
    if based is None:
        raise SelectionError("nothing was asked of this study yet", hint="Go to Questions, and run the analyses.")
    bench.jobs.ask(study, "report", _report(bench, study, based), again=True)
    return go(f"/studies/{study.id}/export?run={based.id}")


async def report_file(request: Request) -> Response:
    """Hand out a file of the report, or how the study is read."""
    bench, study = bench_of(request), study_of(request)
    based, name = needed(request, study), request.path_params["name"]
    kind, asked = ("config", {}) if name == "plurivox.toml" else ("report", _report(bench, study, based))
    if name not in (*REPORTS, "plurivox.toml"):
        raise SelectionError("there is no such file", hint="Choose one of the list.")
    if kind == "report" and bench.jobs.last(study, kind, asked) is None:
        return go(f"/studies/{study.id}/export?run={based.id}")
    return await _file(request, study, kind, asked, name)


async def table(request: Request) -> Response:
    """Hand out a table of a lens."""
    study = study_of(request)
    based, record = needed(request, study), lens_of(request.path_params["lens"])
    name, _, form = request.path_params["name"].rpartition(".")
    known = (*(record.csv_tables or ("values",)), "shown")
    if name not in known or form not in FORMS or not _answerable(record, study):
        raise SelectionError("there is no such table", hint="Choose one of the list.")
    asked = {"asked": based.asked, "lens": record.name, "table": name, "form": form}
    return await _file(request, study, "table", asked, None)


async def _file(
    request: Request, study: StudyRecord, kind: str, asked: Mapping[str, Any], name: str | None
) -> Response:  # fmt: skip
    """Hand out a file once it is made; until then a page tells how far it is."""
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
    Route("/studies/{study}/runs/{run}/events", events),
    Route("/studies/{study}/runs/{run}/progress", progress),
    Route("/studies/{study}/runs/{run}/cancel", cancel, methods=["POST"]),
    Route("/studies/{study}/runs/{run}/again", again, methods=["POST"]),
    Route("/studies/{study}/results", results),
    Route("/studies/{study}/groups", groups),
    Route("/studies/{study}/compare", compare),
    Route("/studies/{study}/items", items),
    Route("/studies/{study}/item", item),
    Route("/studies/{study}/lenses/{lens}", lens),
    Route("/studies/{study}/notes", write_note, methods=["POST"]),
    Route("/studies/{study}/export", export),
    Route("/studies/{study}/export/report", make_report, methods=["POST"]),
    Route("/studies/{study}/export/{name}", report_file),
    Route("/studies/{study}/tables/{lens}/{name}", table),
]
