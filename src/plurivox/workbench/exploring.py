"""Pages for a closer look: a group, two groups, items, a single lens; and notes on any of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from plurivox.base.errors import InputError, SelectionError
from plurivox.workbench.bench import Bench
from plurivox.workbench.forms import fields_of, read_form
from plurivox.workbench.making import lens_named
from plurivox.workbench.pages import form_of, go, known_of, of_study, one, study_page
from plurivox.workbench.records import StoredRun, StudyRecord
from plurivox.workbench.runs import needed, piece

ORDERS = {"item": "by id", "mean": "highest scores first", "entropy": "most disagreement first",
          "n_ratings": "fewest ratings first"}  # fmt: skip
PER_PAGE = 50
MODEL = "model"


def view(
    request: Request, template: str, study: StudyRecord, tab: str, kind: str, asked: Mapping[str, Any] | None,
    place: str = "", **known: Any,
) -> Response:  # fmt: skip
    """Return a page with a view of something, or its progress; if nothing is chosen, with the choices."""
    bench: Bench = request.app.state.bench
    base = bench.last_run(study.id, request.query_params.get("run"))
    run = None if asked is None else bench.jobs.ask(study, kind, asked)
    folder = None if run is None else bench.jobs.made(study.id, run.key)
    title = "" if folder is None else bench.jobs.told(folder).get("title", "")
    return study_page(
        request, template, study, tab, run=run, progress=None if run is None else bench.jobs.progress(run.id),
        shown="" if folder is None else piece(folder / "view.html", study, base), title=title, place=place,
        notes=bench.store.notes(study.id), **{"command": "", "python": "", "heading": "", **known},
    )  # fmt: skip


def _told(bench: Bench, run: StoredRun, name: str) -> Any:
    """Return what a run says about its groups, by axis, or about its models; nothing until it has ended."""
    folder = bench.jobs.made(run.study, run.key)
    return {} if folder is None else bench.jobs.told(folder)[name]


async def groups(request: Request, bench: Bench, study: StudyRecord) -> Response:
    """Show one group."""
    run = needed(request, study)
    known = _told(bench, run, "groups")
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
    known, models = (_told(bench, run, name) for name in ("groups", "models"))
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


ROUTES = [
    of_study("/studies/{study}/groups", groups),
    of_study("/studies/{study}/compare", compare),
    of_study("/studies/{study}/items", items),
    of_study("/studies/{study}/item", item),
    of_study("/studies/{study}/lenses/{lens}", lens),
    of_study("/studies/{study}/notes", write_note, "POST"),
]
