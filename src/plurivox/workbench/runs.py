"""Pages of a run: progress, results and a closer look at them, how a watched study grows, what can be downloaded."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse

from plurivox.base.errors import InputError, SelectionError
from plurivox.lenses import lenses
from plurivox.report.sections import has_section
from plurivox.report.settings import MOST_LOOKS
from plurivox.workbench.bench import Bench, environment
from plurivox.workbench.charts import at_home
from plurivox.workbench.forms import fields_of, read_form
from plurivox.workbench.guard import NONCE
from plurivox.workbench.jobs import Listener
from plurivox.workbench.making import lens_named
from plurivox.workbench.pages import Form, bench_of, form_of, go, known_of, of_study, one, revision, study_page
from plurivox.workbench.records import DONE, DONE_FILE, StoredRun, StudyRecord, touch
from plurivox.workbench.watches import CHANGED, Watch, changes, summary

ANSWER = "answer"
SECTIONS = ("study", *(lens.name for lens in lenses() if has_section(lens)), "soft", "methods")


def run_of(request: Request, bench: Bench, study: StudyRecord) -> StoredRun:
    """Return the run of a study that an address names."""
    run = bench.store.run(request.path_params["run"])
    if run.study != study.id:
        raise SelectionError("this study has no such run", hint="Choose one of the results.")
    return run


def stream(listening: AbstractContextManager[Listener], first: Callable[[Listener], bytes] = lambda _: b"") -> Response:
    """Return what tells a page about changes, as long as it listens; ``first`` says something at once."""

    async def told() -> AsyncIterator[bytes]:
        with listening as listener:
            if start := first(listener):
                yield start
            async for names in listener.changes():
                yield "".join(f"event: {name}\ndata: {name}\n\n" for name in names).encode() or b": waiting\n\n"

    return StreamingResponse(told(), media_type="text/event-stream")


async def events(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Report a run's progress to a page."""
    return stream(bench.jobs.listening(run_of(request, bench, study).id))


async def progress(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Show a run's progress, as a piece of a page."""
    known = {"nonce": request.scope[NONCE], "here": "", "bare": True}
    macros = environment().get_template("macros.html.j2").make_module(known)
    return HTMLResponse(str(macros.bar(bench.jobs.progress(run_of(request, bench, study).id))))


async def cancel(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """End a run."""
    form = await form_of(request)
    await bench.jobs.cancel(run_of(request, bench, study).id)
    return go(one(form, "back") or "/")


async def again(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Try again what failed or was cancelled."""
    run, form = run_of(request, bench, study), await form_of(request)
    if run.kind == "run":
        bench.run(study, run.asked)
        return go(f"/studies/{study.id}/results")
    bench.jobs.ask(study, run.kind, run.asked, again=True)
    return go(one(form, "back") or "/")


def needed(request: Request, study: StudyRecord, wanted: str | None = None) -> StoredRun:
    """Return the run that a page is based on, or raise if there is none."""
    run = bench_of(request).last_run(study.id, request.query_params.get("run") if wanted is None else wanted)
    if run is None:
        raise SelectionError(
            "no analyses have been run for this study yet", hint="Go to Questions and run the analyses."
        )
    return run


async def results(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Show a part of a run, or its first screen; finished parts are shown while the run continues."""
    run = needed(request, study)
    folder = bench.store.made(study.id) / run.key
    state = bench.jobs.progress(run.id)
    done = run.state == DONE
    touch(folder / DONE_FILE)
    told = bench.jobs.made_by(run if done else None)[1]
    parts = [*([{"id": ANSWER, "title": "In short"}] if done else []), *(told["parts"] if told else state.parts)]
    wanted = request.query_params.get("part") or (parts[0]["id"] if parts else "")
    title = next((part["title"] for part in parts if part["id"] == wanted), "")
    shown = piece(folder / f"{wanted}.html", study, run) if title else ""
    earlier = [other for other in bench.store.runs(study.id, "run", 20) if other.id != run.id]
    watch, nth = bench.watcher.watches.of(study.id), None
    if watch is not None and watch.counted:  # which look at a growing study it is
        number, corrected = sum(at <= run.created for at in watch.looks), run.asked.get("looks", 1) >= watch.planned
        nth = {"number": number, "planned": watch.planned, "corrected": corrected}
    return study_page(
        request, "results.html.j2", study, "results", run, parts=parts, part=wanted, title=title, shown=shown,
        names=SECTIONS, notes=bench.store.notes(study.id), earlier=earlier,
        look=nth, stale=run.key != bench.jobs.key(study, "run", run.asked), **bench.commands(study, run.asked),
    )  # fmt: skip


def piece(path: Path, study: StudyRecord, run: StoredRun | None) -> str:
    """Return a piece of a page made by the library itself, which escapes everything; empty if it is gone.

    Links in its charts lead to pages of the run.
    """
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return at_home(text, f"/studies/{study.id}", None if run is None else run.id)


# Exploring ------------------------------------------------------------------------------------------------------------
#
# A closer look: a group, two groups, items, a single lens; and notes on any of them.


ORDERS = {"item": "by id", "mean": "highest scores first", "entropy": "most disagreement first",
          "n_ratings": "fewest ratings first"}  # fmt: skip
PER_PAGE = 50
MODEL = "model"


def view(
    request: Request, template: str, study: StudyRecord, tab: str, kind: str, asked: Mapping[str, Any] | None,
    place: str = "", **known: Any,
) -> Response:  # fmt: skip
    """Return a page with a view of something, or its progress; if nothing is chosen, with the choices."""
    bench = bench_of(request)
    base = bench.last_run(study.id, request.query_params.get("run"))
    run = None if asked is None else bench.jobs.ask(study, kind, asked)
    folder, told = bench.jobs.made_by(run)
    return study_page(
        request, template, study, tab, run, shown="" if folder is None else piece(folder / "view.html", study, base),
        title=told.get("title", ""), place=place, notes=bench.store.notes(study.id),
        **{"command": "", "python": "", "heading": "", **known},
    )  # fmt: skip


async def groups(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Show one group."""
    run = needed(request, study)
    known = bench.jobs.made_by(run)[1].get("groups", {})  # nothing until it has ended
    axis, group = request.query_params.get("axis", ""), request.query_params.get("group", "")
    chosen = group in known.get(axis, [])
    unknown = f"{axis}: {group}" if group and not chosen and not run.going else ""
    asked = {"asked": run.asked, "axis": axis, "group": group} if chosen else None
    return view(
        request, "groups.html.j2", study, "groups", "group", asked, f"{axis}: {group}" if chosen else "",
        groups=known, axis=axis, group=group, unknown=unknown,
        others=[name for name in known.get(axis, []) if chosen and name != group],
    )  # fmt: skip


async def compare(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Show two groups, or two models, side by side."""
    run = needed(request, study)
    told = bench.jobs.made_by(run)[1]
    known, models = told.get("groups", {}), told.get("models", [])
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


async def items(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """List items, searched, filtered and ordered as the address says."""
    import polars as pl

    needed(request, study)
    run = bench.jobs.ask(study, "items", {})
    folder, told = bench.jobs.made_by(run)
    given = request.query_params
    known: dict[str, Any] = {"q": given.get("q", ""), "orders": ORDERS, "order": given.get("order", "item"),
                             "rows": None, "filters": {}, "chosen": {}}  # fmt: skip
    if folder is not None:
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
    return study_page(request, "items.html.j2", study, "items", run, shown="", command="", **known)


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


async def item(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Show one item."""
    run, wanted = needed(request, study), request.query_params.get("item", "")
    if not wanted:
        raise SelectionError("no item is named", hint="Choose one from the list of items.")
    lens = lens_named("item_view")
    settings = {name: run.asked[name] for name in lens.settings.specs() if name in run.asked}
    return view(
        request, "view.html.j2", study, "items", "item", {"asked": run.asked, "item": wanted}, f"item {wanted}",
        **bench.commands(study, settings, lens, {"item": wanted}),
    )  # fmt: skip


async def lens(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Run one lens, with all its settings; the address is the question."""
    record = lens_named(request.path_params["lens"])
    look = bench.look(study)
    if look is None or look["problem"]:
        return go(f"/studies/{study.id}")
    given = {name: request.query_params.getlist(name) for name in request.query_params}
    usual = bench.usual(study, look)
    asks = "go" in given
    start = {} if asks or "by" not in record.settings.specs() else {"by": usual["by"]}
    settings = record.settings.from_dict({**read_form(record.settings, given), **start})
    fields, item = fields_of(settings, known_of(look)), one(given, "item")
    wanted = [source.name for source in record.inputs if source.options[0].argument]
    lacking = [name for name in wanted if name != "item" and name not in study.files]
    ready = asks and not lacking and (item or "item" not in wanted)
    question = bench.question(study, record, settings, item)
    return view(
        request, "lens.html.j2", study, "ask", "question", question if ready else None,
        record.question if ready else "",
        heading="What was found", lens=record, fields=fields, wanted=wanted, lacking=lacking, item=item,
        changed=asks and any(field.changed for field in fields if field.kind != "axes"),
        **bench.commands(study, settings.as_dict(), record, {"item": item} if item else {}),
    )  # fmt: skip


async def write_note(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Save a note on a result."""
    form = await form_of(request)
    place, text = one(form, "place"), one(form, "text")
    if not place or len(place) > 500 or len(text) > 5000:
        raise InputError(
            "this note cannot be saved", hint="A note belongs to a result and may have up to 5,000 characters."
        )
    bench.store.write_note(study.id, place, text)
    return go(one(form, "back") or f"/studies/{study.id}/results")


# Following ------------------------------------------------------------------------------------------------------------
#
# The page of a study whose files grow: counts as they arrive, and a deliberate look at the tests.


SHOWN = 30
"""Arrivals that a page lists."""


def watch_of(bench: Bench, study: StudyRecord) -> Watch:
    """Return how a study is watched, or raise if it has no file to watch."""
    found = bench.watcher.watches.of(study.id)
    if found is None:
        raise SelectionError(
            "this study has no file to watch", hint="Name the file when you start: plurivox serve ratings.csv."
        )
    return found


async def following(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Show what the files contain now, what arrived when, and which look the tests belong to."""
    watch = watch_of(bench, study)
    look = bench.look(study)
    tested = summary(look) if look is not None and not look["problem"] else None
    arrivals = bench.watcher.watches.arrivals(study.id)
    good = [told for told in arrivals if not told.get("problem")]
    now = good[-1] if good else tested
    newest = bench.watcher.watches.newest(study)
    known = {(axis, name): n for axis, name, n in (tested or {}).get("groups", ())}
    groups = [(axis, name, known.get((axis, name)), n) for axis, name, n in (now or {}).get("groups", ())]
    return study_page(
        request, "watch.html.j2", study, "watch", bench.last_run(study.id), watch=watch, tested=tested, now=now,
        problem_now=arrivals[-1].get("problem") if arrivals else None, log=_log(arrivals), most=MOST_LOOKS,
        new=newest.files != study.files, groups=groups, use=_use(tested, now), shown=_last(arrivals),
    )  # fmt: skip


def _last(arrivals: Sequence[Mapping[str, Any]]) -> str:
    """Return the mark of what arrived last, by which a page tells what it shows."""
    return repr(arrivals[-1]["at"]) if arrivals else ""


def _log(arrivals: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what changed when, the latest first."""
    found: list[dict[str, Any]] = []
    before: Mapping[str, Any] | None = None
    for told in arrivals:
        if told.get("problem"):
            found.append({"at": told["at"], "text": told["problem"]["text"], "bad": True, "end": ""})
            continue
        fewer = before is not None and told["sizes"]["ratings"] < before["sizes"]["ratings"]
        text = changes(before, told) if before is not None else f"At first: {changes(None, told)}"
        end = " — fewer than before: is the file whole?" if fewer else ""
        found.append({"at": told["at"], "text": text, "bad": fewer, "end": end})
        before = told
    return found[::-1][:SHOWN]


def _use(tested: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> list[tuple[str, float | None, float]]:
    """Return the share of each point of the scale, at the last look and now."""
    if now is None or not sum(now["usage"]):
        return []
    n = sum(now["usage"])
    same = tested is not None and tested["scale"] == now["scale"] and sum(tested["usage"])
    old = [100 * k / sum(tested["usage"]) for k in tested["usage"]] if tested and same else [None] * len(now["usage"])
    return [(label, a, 100 * k / n) for label, a, k in zip(now["scale"], old, now["usage"], strict=False)]


def _number(form: Form, name: str) -> int | None:
    text = one(form, name).strip().replace(",", "")
    if text and not (text.isascii() and text.isdigit() and len(text) < 12):
        raise InputError(f"{name} is {text[:40]!r}", hint="Give a whole number.")
    return int(text) if text else None


async def change_watch(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Start or stop watching."""
    form = await form_of(request)
    bench.watcher.watches.change(
        study.id, going=one(form, "going") == "1", planned=_number(form, "planned"), expected=_number(form, "expected")
    )
    return go(f"/studies/{study.id}/watch")


async def run_now(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Accept what arrived, and run the analyses: a look."""
    form = await form_of(request)
    watch_of(bench, study)
    study = bench.watcher.watches.take_in(study.id, revision(form))
    look = bench.look(study)
    if look is None:  # what was shown was read before, and is only recorded again
        await bench.jobs.until_ended(bench.jobs.ask(study, "look", {}, again=True).id)
        look = bench.look(study)
    run = bench.run(study, bench.usual(study, look))
    return go(f"/studies/{study.id}/results?run={run.id}")


async def arrivals_told(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Tell a page when something arrives, and at once if it shows less than there is."""
    watch_of(bench, study)

    def here(listener: Listener) -> bytes:
        if _last(bench.watcher.watches.arrivals(study.id)) != request.query_params.get("shown", ""):
            listener.tell(CHANGED)
        return b": here\n\n"

    return stream(bench.watcher.listening(study.id), here)


# Leaving --------------------------------------------------------------------------------------------------------------
#
# What can be downloaded: the report, tables, and how the study is read, each made on request.


FORMS = ("csv", "parquet", "tex", "html")
REPORTS = {
    "report.html": "The report (HTML)", "report.pdf": "The report (PDF)", "summary.html": "One-page summary (HTML)",
    "summary.pdf": "One-page summary (PDF)",
}  # fmt: skip
PATIENCE = 8.0
"""Seconds that a request for a file waits before a page shows its progress."""


def _report(bench: Bench, study: StudyRecord, based: StoredRun) -> dict[str, Any]:
    return {"asked": based.asked, "notes": bench.store.notes(study.id)}


async def export(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Show what can be downloaded."""
    based = needed(request, study)
    run = bench.jobs.last(study, "report", _report(bench, study, based))
    files = [(name, REPORTS[name]) for name in bench.jobs.made_by(run)[1].get("files", ())]
    return study_page(
        request, "export.html.j2", study, "export", run, based=based, files=files, notes=bench.store.notes(study.id),
        single=[one for one in lenses() if _answerable(one, study)], **bench.commands(study, based.asked),
    )  # fmt: skip


def _answerable(record: Any, study: StudyRecord) -> bool:
    """Return whether a lens is part of a study's report, so that it has tables."""
    wanted = [source.name for source in record.inputs if source.options[0].argument]
    return has_section(record) and all(name in study.files for name in wanted)


async def make_report(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Have the report written."""
    based = needed(request, study, one(await form_of(request), "run"))
    bench.jobs.ask(study, "report", _report(bench, study, based), again=True)
    return go(f"/studies/{study.id}/export?run={based.id}")


async def report_file(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Hand out a file of the report, or how the study is read."""
    based, name = needed(request, study), request.path_params["name"]
    kind, asked = ("config", {}) if name == "plurivox.toml" else ("report", _report(bench, study, based))
    if name not in (*REPORTS, "plurivox.toml"):
        raise SelectionError("there is no such file", hint="Choose one from the list.")
    if kind == "report" and bench.jobs.last(study, kind, asked) is None:
        return go(f"/studies/{study.id}/export?run={based.id}")
    return await _file(request, bench, study, kind, asked, name)


async def table(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Hand out a table of a lens."""
    based, record = needed(request, study), lens_named(request.path_params["lens"])
    name, _, form = request.path_params["name"].rpartition(".")
    known = (*(record.csv_tables or ("values",)), "shown")
    if name not in known or form not in FORMS or not _answerable(record, study):
        raise SelectionError("there is no such table", hint="Choose one from the list.")
    asked = {"asked": based.asked, "lens": record.name, "table": name, "form": form}
    return await _file(request, bench, study, "table", asked, None)


async def _file(
    request: Request, bench: Bench, study: StudyRecord, kind: str, asked: Mapping[str, Any], name: str | None
) -> Response:
    """Hand out a file once it is made; until then, a page shows its progress."""
    run = bench.jobs.ask(study, kind, asked)
    if run.going:
        with contextlib.suppress(TimeoutError):  # most tables are there in a moment
            run = await asyncio.wait_for(bench.jobs.until_ended(run.id), PATIENCE)
    folder, told = bench.jobs.made_by(run)
    files = told.get("files", [])
    title = name or (files[0] if files else request.path_params["name"])
    if folder is not None and "hx-request" not in request.headers:
        if title not in files:
            raise SelectionError("there is no such file", hint="A PDF needs Chromium on this machine.")
        return FileResponse(folder / title, filename=title)
    return study_page(request, "file.html.j2", study, "export", run, title=title)


ROUTES = [
    of_study("/studies/{study}/runs/{run}/events", events),
    of_study("/studies/{study}/runs/{run}/progress", progress),
    of_study("/studies/{study}/runs/{run}/cancel", cancel, "POST"),
    of_study("/studies/{study}/runs/{run}/again", again, "POST"),
    of_study("/studies/{study}/results", results),
    of_study("/studies/{study}/watch", following),
    of_study("/studies/{study}/watch", change_watch, "POST"),
    of_study("/studies/{study}/watch/run", run_now, "POST"),
    of_study("/studies/{study}/watch/events", arrivals_told),
    of_study("/studies/{study}/export", export),
    of_study("/studies/{study}/export/report", make_report, "POST"),
    of_study("/studies/{study}/export/{name}", report_file),
    of_study("/studies/{study}/tables/{lens}/{name}", table),
    of_study("/studies/{study}/groups", groups),
    of_study("/studies/{study}/compare", compare),
    of_study("/studies/{study}/items", items),
    of_study("/studies/{study}/item", item),
    of_study("/studies/{study}/lenses/{lens}", lens),
    of_study("/studies/{study}/notes", write_note, "POST"),
]
