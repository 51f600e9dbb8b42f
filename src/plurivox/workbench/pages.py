"""Pages of a study up to its results: the list, the files and how they are read, what is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from plurivox.base.errors import InputError, SelectionError
from plurivox.base.settings import Settings
from plurivox.lenses import lenses
from plurivox.lenses.overview.description import MAX_GROUPS_TO_CROSS
from plurivox.report.settings import ReportSettings
from plurivox.workbench.bench import (
    MOST_FILES,
    Bench,
    environment,
    link_of,
    open_packed,
    packed_nearby,
    places_of,
    roles_of,
    state_of,
    take,
)
from plurivox.workbench.forms import Known, fields_of, read_form
from plurivox.workbench.guard import NONCE
from plurivox.workbench.reading import OPTIONS_OF_FILES, POPULATION, ReadingSettings, held_against
from plurivox.workbench.records import ROLES, StoredRun, StudyRecord, role_in

NAMES = {
    "ratings": "Ratings", "raters": "Raters", "items": "Items", "population": "Population", "reference": "Reference",
    "predictions": "Predictions", "answers": "Answers of models",
}  # fmt: skip
FIRST = ("item", "rater", "score", "scale", "poles", "missing", "duplicates", "trim")
_ELSEWHERE = (
    "rater_attributes", "item_attributes", "bins", "where", "several", "in_memory", "reference",
)  # fmt: skip
"""Settings that have fields of their own, or are set elsewhere."""
LATER = tuple(name for name in ReadingSettings.specs() if name not in (*FIRST, *_ELSEWHERE))
IN_COLUMN = "column:"
"""How a form says that scores are compared with a column of the items."""
DECIDED_FIRST = ("poles", "in_memory", "trim")
DECIDED_LATER = ("recode", "unsafe_from", "reference_column", "reference_scale")
"""What can still be set for ratings that plurivox stored itself."""
Form = Mapping[str, Sequence[str]]


def bench_of(request: Request) -> Bench:
    """Return the bench of the application."""
    found: Bench = request.app.state.bench
    return found


def page(request: Request, template: str, *, status: int = 200, **known: Any) -> HTMLResponse:
    """Return a page."""
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    told = {"nonce": request.scope[NONCE], "here": here, "bare": "hx-request" in request.headers, **known}
    return HTMLResponse(environment().get_template(template).render(**told), status)


def study_page(
    request: Request, template: str, study: StudyRecord, tab: str, run: StoredRun | None = None, **known: Any
) -> HTMLResponse:
    """Return a page of a study, with links to its available pages, and how far the run is that it shows, if any."""
    bench, home = bench_of(request), f"/studies/{study.id}"
    tabs = [("data", "Data", home), ("ask", "Questions", f"{home}/ask")]
    if bench.last_run(study.id) is not None:
        tabs += [(name, label, f"{home}/{name}") for name, label in (
            ("results", "Results"), ("groups", "Groups"), ("compare", "Side by side"), ("items", "Items"),
            ("export", "Take away"))]  # fmt: skip
    if bench.watcher.watches.of(study.id) is not None:
        tabs.insert(2, ("watch", "Watch", f"{home}/watch"))
    progress = None if run is None else bench.jobs.progress(run.id)
    return page(request, template, study=study, tab=tab, tabs=tabs, run=run, progress=progress, **known)


def of_study(
    path: str, answer: Callable[[Request, Bench, StudyRecord], Awaitable[Response]], method: str = "GET"
) -> Route:
    """Return the route to what is about a study, which its address names."""

    async def found(request: Request) -> Response:
        bench = bench_of(request)
        return await answer(request, bench, bench.store.study(request.path_params["study"]))

    return Route(path, found, methods=[method])


async def form_of(request: Request) -> dict[str, list[str]]:
    """Return the texts of a form by the names of its fields."""
    async with request.form(max_files=0, max_fields=2000) as form:
        return {name: [str(one) for one in form.getlist(name)] for name in form}


def one(form: Form, name: str) -> str:
    """Return the text of a field, empty if there is none."""
    return form.get(name, [""])[-1]


def revision(form: Form) -> int | None:
    """Return the revision of a study that a form was made for."""
    text = one(form, "revision")
    return int(text) if text.isascii() and text.isdigit() else None


def go(address: str) -> RedirectResponse:
    """Redirect to another page, whose address begins with one slash."""
    parts = urlsplit(address)
    local = not parts.scheme and not parts.netloc and address.startswith("/") and not address.startswith(("//", "/\\"))
    return RedirectResponse(address if local else "/", 303)


# The list -------------------------------------------------------------------------------------------------------------


async def studies(request: Request) -> Response:
    """Show all studies, and how to add one."""
    bench = bench_of(request)
    nearby = packed_nearby() if bench.local else []
    return page(request, "list.html.j2", studies=bench.store.studies(), local=bench.local, nearby=nearby)


async def add_study(request: Request) -> Response:
    """Add a study with the uploaded files."""
    bench = bench_of(request)
    async with request.form(max_files=MOST_FILES) as form:
        files = roles_of(form.getlist("files"))
        name = str(files["ratings"].filename).replace("\\", "/").rsplit("/", 1)[-1]
        with bench.store.beginning(name.rsplit(".", 1)[0][:200] or "A study") as found:
            for place, file in files.items():
                await take(found.adding(place, str(file.filename)), file)
    return go(f"/studies/{found.id}")


async def add_simulated(request: Request) -> Response:
    """Add the simulated study."""
    return go(f"/studies/{await bench_of(request).simulated()}")


async def add_packed(request: Request) -> Response:
    """Open a packed study in place."""
    bench = bench_of(request)
    path = one(await form_of(request), "path").strip()
    bench.check_local()
    if not path or "\0" in path:
        raise InputError("no folder is named", hint="Name a folder made by plurivox pack, such as study.pvx.")
    return go(f"/studies/{await asyncio.to_thread(open_packed, bench.store, path)}")


async def renew_packed(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Accept a packed study as it is now."""
    if study.packed is None:
        raise SelectionError("this is not a packed study", hint="Replace its files instead.")
    bench.store.link(study.id, await asyncio.to_thread(link_of, study.packed.stored))
    return go(f"/studies/{study.id}")


async def delete_study(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Delete a study and its files."""
    await bench.forget(study.id)
    return go("/")


async def rename_study(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Give a study another name."""
    form = await form_of(request)
    name = one(form, "name").strip()
    if not name:
        raise InputError("a study needs a name", hint="Give it one.")
    bench.store.change_study(study.id, revision(form), name=name[:200])
    return go(f"/studies/{study.id}")


# Files ----------------------------------------------------------------------------------------------------------------


async def add_file(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Add a file to a study, or replace another."""
    async with request.form(max_files=MOST_FILES) as form:
        for place, file in places_of(study, str(form.get("role")), form.getlist("files")).items():
            await take(bench.store.adding(study.id, place, str(file.filename)), file)
    return go(f"/studies/{study.id}")


async def remove_file(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Remove a file from a study."""
    bench.store.remove_file(study.id, request.path_params["role"])
    return go(f"/studies/{study.id}")


async def data(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Show what was recognised in the files, and let it be corrected."""
    reading = ReadingSettings.from_dict(study.reading)
    run = bench.jobs.ask(study, "look", {}) if "ratings" in study.files else None
    look = bench.look(study)
    good = look is not None and not look["problem"]
    known: Mapping[str, Any] = look if look and good else {"raters": (), "items": (), "columns": {}, "layout": "long"}
    head = look["files"].get("ratings", {}) if look else {}
    columns, points = head.get("columns", []), known["scale"] if good else head.get("points", [])
    decided = study.packed is not None or bool(look and look.get("decided"))
    # What plurivox stored already has the attributes of raters and items; weights need a population.
    roles = {role: name for role, name in NAMES.items() if not decided or role not in OPTIONS_OF_FILES}
    first = [name for name in (DECIDED_FIRST if decided else FIRST) if name != "trim" or POPULATION in study.files]
    free = [name for name in columns if name not in known["columns"].values()] if known["layout"] == "long" else []
    numbers = {one["name"]: "" for one in known["raters"] if one["numbers"]}
    numbers |= {name: ",".join(f"{edge:g}" for edge in edges) for name, edges in reading.bins.items()}
    return study_page(
        request, "data.html.j2", study, "data", run, look=look, roles=roles, reading=reading, decided=decided,
        first=first,
        later=DECIDED_LATER if decided else LATER, panel=bench.panel(study), packed=state_of(study.packed),
        unused=next((role for role in roles if role not in study.files), ""),
        name_of=lambda place: NAMES[role_in(place)],
        fields=fields_of(reading, Known(columns=columns, items=[one["name"] for one in known["items"]])),
        points=[] if reading.scale else points, numbers=numbers,
        separated={**{one["name"]: "" for one in known["raters"]}, **reading.several},
        free=[] if decided else free, choices=_choices(known, reading),
        command=bench.commands(study, bench.usual(study, look))["command"],
    )  # fmt: skip


def _choices(look: Mapping[str, Any], reading: ReadingSettings) -> list[tuple[str, str, list[str], list[str]]]:
    """Return the attributes by which raters and items can be selected: whose, name, values and those that are kept."""
    every = {("raters", one["name"]): [name for name, _ in one["groups"]] for one in look["raters"]}
    every |= {("items", one["name"]): one["values"] for one in look["items"]}
    kept: dict[tuple[str, str], list[str]] = {}
    for whose, name, value in reading.where:
        kept.setdefault((whose, name), []).append(value)
    found = []
    for (whose, name), values in {**dict.fromkeys(kept, ()), **every}.items():
        all_values = list(dict.fromkeys([*values, *kept.get((whose, name), [])]))
        if 1 < len(all_values) <= MAX_GROUPS_TO_CROSS or (whose, name) in kept:
            found.append((whose, name, all_values, kept.get((whose, name), [])))
    return found


async def change_reading(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Save how the files are to be read."""
    form = await form_of(request)

    def about(start: str) -> dict[str, str]:
        return {name.removeprefix(start): texts[-1] for name, texts in form.items() if name.startswith(start)}

    given: dict[str, Any] = {name: form[name] for name in (*FIRST, *LATER, *DECIDED_FIRST) if name in form}
    found, bins = read_form(ReadingSettings, given), dict[str, list[float]]()
    for name, text in about("bin:").items():
        try:
            bins[name] = [float(part) for part in text.split(",") if part.strip()]
        except ValueError:
            told = f"the intervals of {name} are {text.strip()!r}"
            raise InputError(told, hint="Give where each starts: 18,30,45.") from None
    changes = {
        "rater_attributes": [name for name, whose in about("about:").items() if whose == "raters"],
        "item_attributes": [name for name, whose in about("about:").items() if whose == "items"],
        "bins": {name: edges for name, edges in bins.items() if edges},
        "where": [[*name.split(":", 2)[1:], value] for name, values in form.items() if name.startswith("keep:")
                  for value in values if value],
        "reference": study.reading.get("reference"),
        "several": {name: text.strip() or text for name, text in about("several:").items() if text},
    }  # fmt: skip
    record = ReadingSettings.from_dict({**found, **changes})
    bench.store.change_study(study.id, revision(form), reading=said_of(record))
    return go(f"/studies/{study.id}")


def said_of(record: Settings) -> dict[str, Any]:
    """Return what a record sets beyond its defaults, as it is stored."""
    usual = type(record)().as_dict()
    return {name: value for name, value in record.as_dict().items() if value != usual.get(name)}


# Questions ------------------------------------------------------------------------------------------------------------


async def questions(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Show the questions that can be asked about a study."""
    look = bench.look(study)
    if look is None or look["problem"]:
        return go(f"/studies/{study.id}")
    asked = bench.usual(study, look)
    record, reading = ReportSettings.from_dict(asked), ReadingSettings.from_dict(study.reading)
    known, chosen = known_of(look), reading.reference_column
    return study_page(
        request, "ask.html.j2", study, "ask", None, fields=fields_of(record, known), single=lenses(),
        reference=held_against(reading, study.files), column=chosen, in_column=IN_COLUMN,
        columns=list(dict.fromkeys([*known.items, *([] if chosen is None else [chosen])])),
        points=reading.reference_scale or "",
        groups=[(one["name"], group) for one in look["raters"] for group, _ in one["groups"]][:200],
        **bench.commands(study, record.as_dict()),
    )  # fmt: skip


def known_of(look: Mapping[str, Any]) -> Known:
    """Return what menus of questions can offer."""
    return Known(
        raters=[one["name"] for one in look["raters"]], points=look["scale"],
        items=[one["name"] for one in look["items"] if one["values"]],
    )  # fmt: skip


async def ask(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Save the settings and the reference, and run the analyses."""
    form = await form_of(request)
    asked = read_form(ReportSettings, form)
    wanted, column = one(form, "reference"), one(form, "reference").removeprefix(IN_COLUMN)
    reading = {name: value for name, value in study.reading.items() if name not in ("reference", "reference_column")}
    if wanted != column:
        reading["reference_column"] = column
    elif wanted and wanted != held_against(ReadingSettings.from_dict(reading), study.files):
        reading["reference"] = wanted
    if "reference_scale" in form:
        reading.pop("reference_scale", None)
        reading |= {"reference_scale": points} if (points := one(form, "reference_scale").strip()) else {}
    reading = said_of(ReadingSettings.from_dict(reading))
    bench.store.change_study(study.id, revision(form), asked=asked, reading=reading)
    run = bench.run(bench.store.study(study.id), asked)
    return go(f"/studies/{study.id}/results?run={run.id}")


async def help_page(request: Request) -> Response:
    """Explain the workbench."""
    bench = bench_of(request)
    return page(request, "help.html.j2", most=bench.max_upload, folder=bench.store.folder.resolve())


ROUTES = [
    Route("/", studies),
    Route("/help", help_page),
    Route("/studies/files", add_study, methods=["POST"]),
    Route("/studies/simulated", add_simulated, methods=["POST"]),
    Route("/studies/packed", add_packed, methods=["POST"]),
    of_study("/studies/{study}", data),
    of_study("/studies/{study}/delete", delete_study, "POST"),
    of_study("/studies/{study}/name", rename_study, "POST"),
    of_study("/studies/{study}/files", add_file, "POST"),
    of_study("/studies/{study}/packed", renew_packed, "POST"),
    of_study("/studies/{study}/files/{role}/delete", remove_file, "POST"),
    of_study("/studies/{study}/reading", change_reading, "POST"),
    of_study("/studies/{study}/ask", questions),
    of_study("/studies/{study}/ask", ask, "POST"),
]
assert set(NAMES) == set(ROLES)
